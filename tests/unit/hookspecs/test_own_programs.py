"""Programs that Hookline starts itself are never among the files that tools write."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hookline_hookspecs.own_programs import add_writable_folder, own_path, own_program


def program(folder: Path, name: str = "hookline-tool") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    add_writable_folder(folder)
    return folder


def path_of(*folders: object) -> str:
    return os.pathsep.join(map(str, folders))


def test_program_of_the_workspace_is_passed_over(workspace: Path, tmp_path: Path) -> None:
    planted = program(workspace / ".venv/bin")
    real = program(tmp_path / "bin")
    path = path_of(planted.parent, real.parent)
    assert own_program("hookline-tool", path) == str(real)
    assert own_path(path) == str(real.parent)
    assert own_program("hookline-tool", str(planted.parent)) is None


def test_link_into_the_workspace_is_passed_over(workspace: Path, tmp_path: Path) -> None:
    planted = program(workspace / "bin")
    (tmp_path / "linked").symlink_to(planted.parent)
    links = tmp_path / "links"
    links.mkdir()
    (links / "hookline-tool").symlink_to(planted)
    assert own_program("hookline-tool", path_of(tmp_path / "linked", links)) is None


@pytest.mark.parametrize("entry", ["", ".", "bin", "node_modules/.bin"])
def test_relative_entry_of_path_is_passed_over(
    entry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / entry)
    monkeypatch.chdir(tmp_path)
    assert own_program("hookline-tool", entry) is None
    assert entry not in own_path(path_of(entry, "/usr/bin")).split(os.pathsep)


def test_folder_that_everyone_may_write_is_passed_over(tmp_path: Path) -> None:
    planted = program(tmp_path / "shared")
    planted.parent.chmod(0o1777)
    assert own_program("hookline-tool", str(planted.parent)) is None


def test_workspace_that_is_added_later_takes_its_programs_along(tmp_path: Path) -> None:
    planted = program(tmp_path / "project/bin")
    assert own_program("hookline-tool", str(planted.parent)) == str(planted)
    add_writable_folder(tmp_path / "project")
    assert own_program("hookline-tool", str(planted.parent)) is None


def test_program_is_searched_for_once(tmp_path: Path) -> None:
    path = path_of(tmp_path / "first", tmp_path / "second")
    second = program(tmp_path / "second")
    assert own_program("hookline-tool", path) == str(second)
    program(tmp_path / "first")
    assert own_program("hookline-tool", path) == str(second)


def test_system_folders_stay_even_if_the_workspace_is_the_root(tmp_path: Path) -> None:
    assert own_program("sh", "/bin") == "/bin/sh"
    assert own_program("../bin/sh", "/bin") is None
    assert own_program("/bin/sh") == "/bin/sh"
