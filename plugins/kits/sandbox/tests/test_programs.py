"""Folders of installed programs that a sandboxed program sees."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hookline_sandbox.programs import programs


def test_folders_on_path_and_of_version_managers_are_shown(tmp_path: Path) -> None:
    for folder in ("tools/bin", "manager/shims", "work/.venv/bin", "home"):
        (tmp_path / folder).mkdir(parents=True)
    path = os.pathsep.join(
        f"{tmp_path}/{f}" for f in ("tools/bin", "manager/shims", "work/.venv/bin")
    )
    found = programs({"PATH": f"{path}:relative:/usr/bin"}, tmp_path / "work", tmp_path / "home")
    assert {tmp_path / "tools" / "bin", tmp_path / "manager"} <= set(found)
    assert not [place for place in found if place.is_relative_to(tmp_path / "work")]


def test_virtual_environment_on_path_is_shown_as_a_whole(tmp_path: Path) -> None:
    """Without its settings beside ``bin`` its Python does not start."""
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    environment = {"PATH": f"{tmp_path}/venv/bin"}
    found = programs(environment, tmp_path / "work", tmp_path / "home")
    assert tmp_path / "venv" in found


def test_folder_containing_home_or_workspace_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    (tmp_path / "person" / "work").mkdir(parents=True)
    environment = {"PATH": f"{tmp_path}:{tmp_path}/person", "JAVA_HOME": str(tmp_path / "person")}
    found = programs(environment, tmp_path / "person" / "work", tmp_path / "home")
    assert not [place for place in found if place in (tmp_path, tmp_path / "person")]


@pytest.mark.skipif(os.name == "nt" or os.getuid() == 0, reason="root may look everywhere")
def test_unreadable_folder_is_left_out(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    (closed / "bin").mkdir(parents=True)
    closed.chmod(0)
    try:
        assert closed / "bin" not in programs({"PATH": f"{closed}/bin"}, tmp_path / "w", tmp_path)
    finally:
        closed.chmod(0o700)
