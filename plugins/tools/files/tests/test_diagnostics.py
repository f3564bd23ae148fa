"""Notes of a language server on the results of edit_file and write_file."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_files import Files, FilesConfig
from hookline_files.diagnostics import DEADLINE
from hookline_sandbox import Found, Method
from pydantic import ValidationError

FAKE = Path(__file__).with_name("fake_language_server.py")
RUFF = Path(sysconfig.get_path("scripts"), "ruff")
Make = Callable[..., Harness]
Server = Callable[[str], dict[str, Any]]


def edit(path: str, old: str, new: str) -> Any:
    return calls("edit_file", path=path, old_string=old, new_string=new)


def write(path: str, content: str) -> Any:
    return calls("write_file", path=path, content=content)


@pytest.fixture
def server(tmp_path: Path) -> Server:
    """The config of a language server that behaves as named."""
    folder = tmp_path / "server"
    folder.mkdir()
    shutil.copy(FAKE, folder / "fake.py")

    def config(behaviour: str) -> dict[str, Any]:
        program = f"{sys.executable} {folder}/fake.py {behaviour} {tmp_path}/started"
        return {"diagnostics": {"python": program}}

    return config


@pytest.fixture
def no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fake server and its log are in a folder that no sandbox shows."""
    monkeypatch.setattr("hookline_sandbox.found", lambda: Found(Method.NONE, "in a test"))


def notes_of(make: Make, root: Path, config: dict[str, Any], *steps: Any) -> list[tuple[str, ...]]:
    """The notes on each call's result; every call must have succeeded."""
    root.mkdir(exist_ok=True)
    h = make(Files, workspace=root, config=config, model=[*steps, "done"])
    outcome = h.send("go")
    assert [result.ok for result in outcome.tool_calls] == [True] * len(steps)
    h.close()
    return [result.notes for result in outcome.tool_calls]


@pytest.mark.long
def test_edit_notes_what_a_real_server_finds(harness: Make, tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    (root / "a.py").write_text("import os\n\nprint(1)\n")
    found = notes_of(
        harness,
        root,
        {"diagnostics": {"python": f"{RUFF} server"}},
        edit("a.py", "print(1)", "print(undefined_name)"),
        edit("a.py", "undefined_name", "2"),
        write("b.py", "import sys\n"),
        write("c.txt", "undefined_name"),
    )
    assert len(found[0]) == 1
    assert found[0][0].startswith("a.py:3:7: ")
    assert "undefined_name" in found[0][0]
    assert found[1] == ()
    assert "`sys` imported but unused" in found[2][0]
    assert found[3] == ()


def test_only_new_errors_and_warnings_are_noted(
    harness: Make, tmp_path: Path, server: Server, no_sandbox: None
) -> None:
    root = tmp_path / "work"
    root.mkdir()
    (root / "a.py").write_text("bad old\nx\n")
    many = "".join(f"bad {number}\n" for number in range(14))
    found = notes_of(
        harness, root, server("good"), edit("a.py", "x", "y\nbad new"), write("b.py", many)
    )
    assert found[0] == ("a.py:3:1: error: bad bad new",)
    assert len(found[1]) == 11
    assert found[1][-1] == "b.py: 4 more errors and warnings"
    assert (tmp_path / "started").read_text() == "started\n"


@pytest.mark.parametrize(
    ("behaviour", "why"),
    [
        ("dies", "it ended"),
        ("garbage", "it does not speak the protocol"),
        ("floods", "it does not speak the protocol"),
    ],
)
def test_broken_server_is_noted_once_and_spoils_no_edit(
    harness: Make, tmp_path: Path, server: Server, no_sandbox: None, behaviour: str, why: str
) -> None:
    steps = [write(f"{name}.py", "bad\n") for name in "abc"]
    found = notes_of(harness, tmp_path / "work", server(behaviour), *steps)
    told = [note for notes in found for note in notes]
    assert len(told) == 1
    assert told[0].startswith(f"The language server for python is not used: {why}")
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == ["a.py", "b.py", "c.py"]


@pytest.mark.long
def test_silent_server_delays_an_edit_by_its_deadline_only(
    harness: Make, tmp_path: Path, server: Server, no_sandbox: None
) -> None:
    root = tmp_path / "work"
    root.mkdir()
    for name in "ab":
        (root / f"{name}.py").write_text("x\n")
    started = time.monotonic()
    steps = [edit("a.py", "x", "y"), edit("b.py", "x", "y"), edit("b.py", "y", "z")]
    found = notes_of(harness, root, server("silent"), *steps)
    assert time.monotonic() - started < 3 * DEADLINE + 8
    told = [note for notes in found for note in notes]
    assert told == [
        "The language server for python is not used: it did not answer within 3 s, 3 times."
    ]


def test_missing_server_is_noted_once(harness: Make, tmp_path: Path) -> None:
    config = {"diagnostics": {"python": "no-such-language-server --stdio"}}
    found = notes_of(harness, tmp_path / "work", config, write("a.py", "x"), write("b.py", "x"))
    assert len(found[0]) == 1
    assert "no-such-language-server" in found[0][0]
    assert found[1] == ()


def test_server_in_the_workspace_is_not_started(
    harness: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_sandbox: None
) -> None:
    root = tmp_path / "work"
    (root / "bin").mkdir(parents=True)
    program = root / "bin" / "sneaky-server"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{root}/bin", prepend=os.pathsep)
    found = notes_of(
        harness, root, {"diagnostics": {"python": "sneaky-server"}}, write("a.py", "x")
    )
    assert "sneaky-server not found outside the workspace" in found[0][0]
    assert not (tmp_path / "started").exists()


def test_hints_are_not_noted(
    harness: Make, tmp_path: Path, server: Server, no_sandbox: None
) -> None:
    assert notes_of(harness, tmp_path / "work", server("hints"), write("a.py", "bad")) == [()]


def test_server_ends_with_the_process(
    harness: Make, tmp_path: Path, server: Server, no_sandbox: None
) -> None:
    mark = str(tmp_path / "started")
    notes_of(harness, tmp_path / "work", server("good"), write("a.py", "x"))
    assert not [line for line in processes() if mark in line]


def test_unknown_language_is_refused() -> None:
    with pytest.raises(ValidationError, match="expected one of c, cpp"):
        FilesConfig(diagnostics={"pythn": "pyright-langserver --stdio"})


def processes() -> list[str]:
    """The command lines of all processes."""
    return subprocess.run(
        ["ps", "-eo", "args"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
