"""Attacks on the code that Hookline runs, where it lies in the workspace, as in a clone."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hookline_shell import Shell

ATTACKS = {
    "append": "echo 'import os' >> src/running_code/__init__.py",
    "new module": "echo 'import os' > src/running_code/json.py",
    "replace": "echo 'import os' > x; mv -f x src/running_code/late.py",
    "delete": "rm -rf src/running_code",
    "move the folder": "mv src/running_code aside; mkdir src/running_code; "
    "echo 'import os' > src/running_code/__init__.py",
    "move a folder above": "mv src aside; mkdir -p src/running_code; "
    "echo 'import os' > src/running_code/__init__.py",
    "link": "ln src/running_code/late.py x && echo 'import os' > x",
    "chmod": "chmod -R u+w src; python3 -c \"open('src/running_code/late.py', 'w').write('x')\"",
}


@pytest.fixture(
    params=["sandboxes", pytest.param("namespaces", marks=pytest.mark.slow), "landlock"]
)
def each_sandbox(request: pytest.FixtureRequest) -> str:
    """Each kind of sandbox in turn."""
    request.getfixturevalue(request.param)
    return str(request.param)


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A workspace with a package that is loaded, and other files."""
    package = tmp_path / "work" / "src" / "running_code"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "late.py").write_text("")
    (tmp_path / "work" / "src" / "other.py").write_text("")
    monkeypatch.syspath_prepend(str(package.parent))
    importlib.import_module("running_code")
    yield tmp_path / "work"
    sys.modules.pop("running_code")


def code(clone: Path) -> dict[str, str]:
    """The source files of the package."""
    package = clone / "src" / "running_code"
    return {file.name: file.read_text() for file in package.glob("*.py")}


@pytest.mark.long
@pytest.mark.parametrize("attack", ATTACKS)
async def test_running_code_cannot_be_changed(
    make_plugin: Callable[..., Shell],
    make_context: Callable[..., Any],
    clone: Path,
    each_sandbox: str,
    attack: str,
) -> None:
    await make_plugin().bash(make_context(clone), ATTACKS[attack])
    assert code(clone) == {"__init__.py": "", "late.py": ""}


async def test_other_files_around_running_code_stay_writable(
    make_plugin: Callable[..., Shell],
    make_context: Callable[..., Any],
    clone: Path,
    each_sandbox: str,
) -> None:
    done = await make_plugin().bash(make_context(clone), "echo 1 > src/other.py; cat src/*/late.py")
    assert done.ok, done.text
    assert (clone / "src" / "other.py").read_text() == "1\n"
    if each_sandbox != "landlock":
        assert (await make_plugin().bash(make_context(clone), "echo > new; mkdir src/new")).ok


async def test_refusal_says_why_and_what_to_do(
    make_plugin: Callable[..., Shell],
    make_context: Callable[..., Any],
    clone: Path,
    each_sandbox: str,
) -> None:
    done = await make_plugin().bash(make_context(clone), "touch src/running_code/x.py")
    assert any("Hookline runs its code from it" in note for note in done.notes)
    assert any("python3 -m venv" in note and "edit_own_code" in note for note in done.notes)


async def test_running_code_can_be_changed_by_those_who_develop_it(
    make_plugin: Callable[..., Shell],
    make_context: Callable[..., Any],
    clone: Path,
    each_sandbox: str,
) -> None:
    ctx = make_context(clone)
    ctx.paths.read_only_places = lambda: ()
    assert (await make_plugin().bash(ctx, "echo '# 1' >> src/running_code/late.py")).ok
    assert code(clone)["late.py"] == "# 1\n"
