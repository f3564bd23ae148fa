"""The code that Hookline runs may be read, and not written, wherever the workspace is."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hookline.io.paths import PathGuard
from hookline.testing import calls
from hookline_hookspecs.own_code import own_code


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A workspace with a package, and a single module, that are loaded."""
    work = tmp_path / "work"
    (work / "pkg_that_runs").mkdir(parents=True)
    (work / "pkg_that_runs" / "__init__.py").write_text("value = 1\n")
    (work / "module_that_runs.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(str(work))
    for name in ("pkg_that_runs", "module_that_runs"):
        importlib.import_module(name)
    yield work
    for name in ("pkg_that_runs", "module_that_runs"):
        sys.modules.pop(name)


def test_own_code_is_core_plugins_and_the_environment() -> None:
    import hookline
    import hookline_hookspecs

    for needed in (sys.prefix, os.__file__, hookline.__file__, hookline_hookspecs.__file__):
        real = os.path.realpath(needed)
        assert any(Path(real).is_relative_to(place) for place in own_code()), needed
    assert "/usr" not in own_code()


@pytest.mark.parametrize(
    "path",
    [
        "pkg_that_runs/__init__.py",
        "pkg_that_runs/deep/new.py",
        "PKG_that_runs/new.py",
        "link/new.py",
        "module_that_runs.py",
    ],
)
def test_write_to_running_code_is_refused_and_reading_is_not(clone: Path, path: str) -> None:
    (clone / "link").symlink_to("pkg_that_runs")
    guard = PathGuard(clone, [], clone.parent / "home")
    real = guard.resolve(path)
    assert "Hookline runs its code" in (guard.write_refusal(real) or "")
    with pytest.raises(PermissionError, match="edit_own_code"), guard.folder(real):
        pass
    with pytest.raises(PermissionError), guard.open_write(path):
        pass
    with guard.open_read("pkg_that_runs/__init__.py") as file:
        assert file.read() == b"value = 1\n"


def test_other_files_and_a_developers_setting_allow_writing(clone: Path) -> None:
    guard = PathGuard(clone, [], clone.parent / "home")
    assert guard.write_refusal(guard.resolve("pkg_that_runs2/x.py")) is None
    with guard.open_write("other.py") as file:
        file.write(b"1")
    editing = PathGuard(clone, [], clone.parent / "home", edits_own_code=True)
    assert editing.write_refusal(editing.resolve("module_that_runs.py")) is None
    assert editing.read_only_places() == ()


def test_write_file_refuses_running_code_unless_it_is_configured(
    harness: Callable[..., Any], clone: Path
) -> None:
    from hookline_files import Files

    write = calls("write_file", path="pkg_that_runs/__init__.py", content="x")
    for edits, text in ((False, "value = 1\n"), (True, "x")):
        h = harness(
            Files, workspace=clone, core={"paths.edit_own_code": edits}, answers=["Allow once"]
        )
        h.model.steps += [write, "done"]
        result = h.send("go").tool_calls[0]
        assert result.ok is edits
        assert (clone / "pkg_that_runs" / "__init__.py").read_text() == text
