"""Commands still work with broken files in the home.

``init``, ``config``, ``doctor`` and ``plugins`` do their work, the others say in a sentence which
file it is, and what stands in its place stays as it is. The quick tests are a part of the matrix.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from support.machine import Finished, Machine

BOMB = b"a: &a [x, x]\nb: &b [*a, *a, *a]\nc: [*b, *b, *b]\n"


def bytes_of(data: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(data)


def folder(path: Path) -> None:
    path.mkdir()
    (path / "mine").write_text("kept")


NO_FILE: dict[str, Callable[[Path], object]] = {
    "a folder": folder,
    "a pipe": os.mkfifo,
    "a link to nothing": lambda path: path.symlink_to("gone/away"),
    "a link to itself": lambda path: path.symlink_to(path.name),
}
NO_TEXT = {
    "binary": bytes_of(b"\x7fELF\x00\x01\xff\xfe" * 100),
    "Latin-1": bytes_of("model: Grüße/b\n".encode("latin-1")),
    "ten megabytes": bytes_of(b"x: yyyyyyy\n" * 1_000_000),
}
NO_YAML = {
    "zeros": bytes_of(b"model: a/\x00b\n"),
    "a bomb": bytes_of(BOMB),
    "tabs": bytes_of(b"plugins:\n\tfiles: true\n"),
    "wrong types": bytes_of(b"plugins: [1]\nsession: no\nmax_iterations: lots\n"),
    "a key twice": bytes_of(b"trace: true\ntrace: false\n"),
    "a list": bytes_of(b"- a\n- b\n"),
    "words": bytes_of(b"hello there\n"),
    "a page": bytes_of(b"<html><body>404</body></html>\n"),
    "nesting": bytes_of(b"a: " + b"[" * 5000),
}
STOPPING = {
    **{("config.yaml", how): make for how, make in (NO_FILE | NO_TEXT | NO_YAML).items()},
    **{(".env", how): make for how, make in (NO_FILE | NO_TEXT).items()},
}
QUICK = (("config.yaml", "a pipe"), (".env", "a folder"))
SLOW = [pytest.param(*at, marks=pytest.mark.slow) for at in STOPPING if at not in QUICK]
NEED_CONFIG = ("run hi", "chat", "sessions list", "config get model")
OTHERS = (
    *("SOUL.md", "memories/MEMORY.md", "skills/x/SKILL.md", "chats/terminal/default/USER.md"),
    *("context/a.md", "openai-servers.json", "plugins.lock", "prices.yaml"),
)
"""Files that a start can do without."""


def state_of(path: Path) -> object:
    """What is at ``path``, without following links."""
    kind = path.lstat().st_mode
    if stat.S_ISDIR(kind):
        return kind, [(one.name, one.read_bytes()) for one in path.iterdir()]
    if stat.S_ISLNK(kind):
        return path.readlink()
    return path.read_bytes() if stat.S_ISREG(kind) else stat.S_IFMT(kind)


def assert_orderly_exit(done: Finished, command: str) -> Finished:
    """Assert that a command ended with an exit code and no stack trace."""
    assert done.code in (0, 1, 2), (command, done)
    assert "Traceback" not in done.err, (command, done.err)
    assert "failed in" not in done.err, (command, done.err)
    return done


@pytest.mark.slow
@pytest.mark.parametrize(("name", "how"), [*QUICK, *SLOW])
def test_commands_work_with_a_file_that_prevents_a_start(
    hello_machine: Machine, name: str, how: str
) -> None:
    path = hello_machine.home / name
    hello_machine.home.mkdir(mode=0o700)
    STOPPING[name, how](path)
    was = state_of(path)

    def told(command: str) -> Finished:
        done = assert_orderly_exit(
            hello_machine.run(*command.split(), env={"EDITOR": "true"}), command
        )
        assert state_of(path) == was, command
        return done

    for command in NEED_CONFIG:
        done = told(command)
        assert (done.code, str(path) in done.err) == (2, True), (command, done)
    for command in ("plugins list", "--help"):
        assert told(command).code == 0, command
    check = told("config check")
    assert (check.code, str(path) in check.err) == (2, True), check
    doctor = told("doctor --offline --fix")
    assert (doctor.code, str(path) in doctor.out) == (1, True), doctor
    init = told("init")
    assert str(path) in init.out + init.err, init
    if name != "config.yaml":
        assert told("config set max_iterations 7").code == 0
        assert told("plugins disable titles").code == 0
    elif how != "wrong types":  # which it may mend, one after the other
        for command in ("config set max_iterations 7", "plugins disable titles", "config edit"):
            done = told(command)
            assert (done.code, str(path) in done.err) == (2, True), (command, done)


@pytest.mark.slow
@pytest.mark.parametrize(
    "how",
    ["a pipe", *(pytest.param(how, marks=pytest.mark.slow) for how in ("a folder", "binary"))],
)
def test_other_broken_files_prevent_nothing(hello_machine: Machine, how: str) -> None:
    paths = [hello_machine.home / name for name in OTHERS] + [hello_machine.workspace / "AGENTS.md"]
    for path in paths:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        (NO_FILE | NO_TEXT)[how](path)
    was = [state_of(path) for path in paths]
    done = assert_orderly_exit(hello_machine.run("run", "hi"), "run hi")
    assert (done.code, done.out) == (0, "hello\n"), done
    for command in ("doctor --offline", "plugins list", "skills list", "insights"):
        assert_orderly_exit(hello_machine.run(*command.split()), command)
    assert [state_of(path) for path in paths] == was
