"""Failures of git, the disk or the process: the turn goes on, the store stays usable."""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import calls

from .conftest import Hands, WorkspaceChat, undo_of

GIT = shutil.which("git") or "git"
OTHER = Path(__file__).with_name("other_process.py")


@pytest.fixture
def fake_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts a shell script in git's place; ``$GIT`` is the real one."""

    def fake(script: str) -> None:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        (folder / "git").write_text(f'#!/bin/sh\nGIT="{GIT}"\n{script}\n')
        (folder / "git").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    return fake


def other(desk_home: Path, work: Path, *words: str, **environment: str) -> Any:
    """A finished process of ``other_process.py``."""
    return subprocess.run(
        [sys.executable, str(OTHER), str(desk_home), str(work), *words],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def sound(chat: WorkspaceChat) -> bool:
    """Nothing that a ref keeps is missing from the store or damaged."""
    command = [GIT, f"--git-dir={chat.home}/checkpoints/store", "fsck", "--full", "--strict"]
    return subprocess.run(command, capture_output=True).returncode == 0


def left_over(chat: WorkspaceChat) -> list[Path]:
    """Files of a git that did not come to its end."""
    store = chat.home / "checkpoints/store"
    return [*store.glob("fast_import_crash_*"), *store.rglob("tmp_*"), *store.rglob("*.lock")]


# Without git, or with a bad one


def test_nothing_is_saved_or_reported_without_git(
    chat: WorkspaceChat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    outcome = chat.turn("one", lambda: chat.put("a", "1"))
    assert chat.warnings(outcome) == []
    assert outcome.tool_calls[0].ok
    assert (chat.work / "a").read_text() == "1"
    answer = chat.rewind()
    assert answer.startswith("No files can be restored: git is not installed. Install git 2.31")
    assert "conversation alone goes back with /undo" in answer


@pytest.mark.slow
def test_hanging_git_is_killed_and_not_retried(
    make_chat: Callable[..., WorkspaceChat], tmp_path: Path, fake_git: Callable[[str], None]
) -> None:
    fake_git(
        'case "$*" in *version*) exec "$GIT" "$@";; esac\n'
        f"echo $$ >> {tmp_path}/pids; exec sleep 1000"
    )
    chat = make_chat(config={"timeout_seconds": 0.5})
    chat.put("a", "1")
    outcome = chat.turn("one")
    assert outcome.tool_calls[0].ok
    assert "took longer than 0.5 s" in chat.warnings(outcome)[0]
    assert chat.warnings(chat.turn("two")) == []
    (pid,) = (tmp_path / "pids").read_text().split()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)


def test_git_error_is_quoted(chat: WorkspaceChat, fake_git: Callable[[str], None]) -> None:
    fake_git(
        'case "$*" in *fast-import*) echo "fatal: out of luck" >&2; exit 128;; esac\n'
        'exec "$GIT" "$@"'
    )
    chat.put("a", "1")
    outcome = chat.turn("one")
    assert outcome.tool_calls[0].ok
    assert "git fast-import failed: fatal: out of luck" in chat.warnings(outcome)[0]


def test_full_disk_is_reported(chat: WorkspaceChat, fake_git: Callable[[str], None]) -> None:
    """git may write no more than 1,024 bytes to a file."""
    chat.put("small", "1")
    chat.turn("before", lambda: chat.put("small", "2"))
    fake_git('ulimit -f 2; exec "$GIT" "$@"')
    chat.put("large", os.urandom(100_000))
    outcome = chat.turn("while full", lambda: chat.put("small", "3"))
    assert outcome.tool_calls[0].ok
    assert "the disk is full (git fast-import was killed (SIGXFSZ))" in chat.warnings(outcome)[0]
    assert left_over(chat) == []
    fake_git('exec "$GIT" "$@"')
    chat.turn("after", lambda: chat.put("small", "4"))
    assert sound(chat)
    newest, oldest = chat.hashes()
    chat.rewind(newest)
    assert (chat.work / "small").read_text() == "3"
    chat.rewind(oldest)
    assert (chat.work / "small").read_text() == "1"


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True
    )
    if made.returncode != 0:
        pytest.skip("only root may mount a small file system")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_full_file_system_is_reported(chat: WorkspaceChat, tiny_disk: Path) -> None:
    chat.home.mkdir(exist_ok=True)
    (chat.home / "checkpoints").symlink_to(tiny_disk)
    chat.put("small", "1")
    chat.turn("before", lambda: chat.put("small", "2"))
    chat.put("large", os.urandom(1_500_000))
    outcome = chat.turn("while full", lambda: chat.put("small", "3"))
    assert outcome.tool_calls[0].ok
    assert "the disk is full (git fast-import failed: " in chat.warnings(outcome)[0]
    assert left_over(chat) == []
    (chat.work / "large").unlink()
    chat.turn("after", lambda: chat.put("small", "4"))
    assert sound(chat)
    assert len(chat.hashes()) == 2
    first = chat.hashes()[-1]
    assert "changed by the agent and by someone else): small" in chat.rewind(first)
    chat.rewind(f"{first} all")
    assert (chat.work / "small").read_text() == "1"


def test_full_workspace_during_a_rewind_is_reported(
    make_chat: Callable[..., WorkspaceChat], tiny_disk: Path
) -> None:
    chat = make_chat(work=tiny_disk / "work")
    for number in range(4):
        chat.put(f"file-{number}", os.urandom(150_000))
    before = chat.tree

    def act() -> None:
        for number in range(4):
            (chat.work / f"file-{number}").unlink()
        (tiny_disk / "filler").write_bytes(b"x" * 700_000)

    chat.turn("remove", act)
    hash_ = chat.hashes()[0]
    answer = chat.rewind(hash_)
    assert "Left as it is (No space left on device)" in answer
    (tiny_disk / "filler").unlink()
    chat.rewind(hash_)
    assert chat.tree == before


# Others at work


@pytest.mark.slow
def test_locked_folder_is_waited_for_briefly(make_chat: Callable[..., WorkspaceChat]) -> None:
    chat = make_chat(config={"timeout_seconds": 0.5})
    chat.turn("one", lambda: chat.put("a", "1"))
    (lock,) = (chat.home / "checkpoints/folders").glob("*/lock")
    with lock.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        outcome = chat.turn("two", lambda: chat.put("a", "2"))
    assert "took longer" in chat.warnings(outcome)[0]
    assert (chat.work / "a").read_text() == "2"


@pytest.mark.slow
def test_two_sessions_on_one_workspace_have_their_own_checkpoints(chat: WorkspaceChat) -> None:
    """Each has a checkpoint from before its own first write."""
    for number in range(50):
        chat.put(f"file-{number}", "0")
    Hands.todo = staticmethod(lambda: chat.put("shared", "1"))
    chat.harness.model.steps += [*[calls("act")] * 4, *["done"] * 4]

    async def both() -> list[Any]:
        asking = [chat.harness.asend(f"turn {n}", session=f"s{n}") for n in range(4)]
        return await asyncio.gather(*asking)

    outcomes = chat.harness.run(both())
    assert [one.text for one in outcomes] == ["done"] * 4
    assert [one for outcome in outcomes for one in chat.warnings(outcome)] == []
    assert sound(chat)
    chat.rewind(chat.hashes()[-1])
    assert not (chat.work / "shared").exists()


@pytest.mark.slow
def test_two_processes_on_one_workspace_keep_the_store_sound(
    make_chat: Callable[..., WorkspaceChat],
) -> None:
    chat = make_chat()
    chat.put("seed", "0")
    before = chat.tree
    command = [sys.executable, str(OTHER), str(chat.home), str(chat.work)]
    running = [
        subprocess.Popen(
            [*command, f"s{number}", "write", f"p{number}", "x", "20"],
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(3)
    ]
    assert [process.communicate(timeout=120)[0] for process in running] == ["done\n"] * 3
    assert sound(chat)
    chat.rewind(chat.hashes()[-1])
    assert chat.tree == before


# Killed in the middle


@pytest.mark.slow
def test_kill_during_a_snapshot_keeps_the_store_usable(
    make_chat: Callable[..., WorkspaceChat],
) -> None:
    chat = make_chat()
    for number in range(30):
        chat.put(f"file-{number}", os.urandom(20_000))
    chat.turn("first", lambda: chat.put("first", "1"))
    first = chat.hashes()
    chat.harness.close()
    for number in range(30):
        chat.put(f"file-{number}", os.urandom(20_000))
    killed = other(
        *(chat.home, chat.work, "doomed", "write", "new", "x", "3"),
        HOOKLINE_CRASH_AT="mid-checkpoint:2",
    )
    assert killed.returncode == -signal.SIGKILL
    assert not (chat.work / "new-0").exists()
    before = chat.tree
    again = make_chat()
    assert again.hashes() == first
    Hands.todo = staticmethod(lambda: again.put("file-1", "changed"))
    again.harness.model.steps += [calls("act"), "done"]
    outcome = again.say("second", session="fresh")
    assert again.warnings(outcome) == []
    assert sound(again)
    again.rewind(again.hashes()[0])
    assert again.tree == before
    again.rewind(first[0])
    assert not (again.work / "first").exists()


@pytest.mark.parametrize("passing", [1, 7, 20])
@pytest.mark.slow
def test_kill_during_a_rewind_loses_nothing(
    make_chat: Callable[..., WorkspaceChat], passing: int
) -> None:
    chat = make_chat()
    for number in range(12):
        chat.put(f"file-{number}", "old")
    before = chat.tree

    def act() -> None:
        for number in range(12):
            chat.put(f"file-{number}", "new")
            chat.put(f"added-{number}", "new")

    chat.turn("change", act)
    after = chat.tree
    (hash_,) = chat.hashes()
    chat.harness.close()
    killed = other(
        *(chat.home, chat.work, "doomed", "say", "/rewind", hash_, "files"),
        HOOKLINE_CRASH_AT=f"mid-rewind:{passing}",
    )
    assert killed.returncode == -signal.SIGKILL
    mixed = chat.tree
    assert mixed not in (before, after)
    again = make_chat()
    note = again.rewind().splitlines()[-1]
    assert note.startswith(f"A rewind was interrupted: /rewind {hash_} completes it, /rewind ")
    undo = note.split("/rewind ")[2].split()[0]
    again.rewind(undo)
    assert again.tree == after
    again.rewind(hash_)
    assert again.tree == before
    assert "interrupted" not in again.rewind()
    assert sound(again)


@pytest.mark.slow
def test_rewind_interrupted_by_a_kill_can_be_completed(
    make_chat: Callable[..., WorkspaceChat],
) -> None:
    chat = make_chat()
    for number in range(6):
        chat.put(f"file-{number}", "old")
    before = chat.tree
    chat.turn("change", lambda: [chat.put(f"file-{n}", "new") for n in range(6)])
    (hash_,) = chat.hashes()
    chat.harness.close()
    crash = {"HOOKLINE_CRASH_AT": "mid-rewind:3"}
    killed = other(chat.home, chat.work, "doomed", "say", "/rewind", hash_, "files", **crash)
    assert killed.returncode == -signal.SIGKILL
    again = make_chat()
    again.rewind(hash_)
    assert again.tree == before


# Damage and change


@pytest.mark.slow
def test_damaged_state_file_is_rebuilt(chat: WorkspaceChat) -> None:
    chat.put("a", "0")
    chat.turn("one", lambda: chat.put("a", "1"))
    (state,) = (chat.home / "checkpoints/folders").glob("*/state.json")
    for number, damage in enumerate(
        (b"", b"{", b"[]", b'[1,"x"]', b"\xff", b"[1,2,3,4,5,6,7,8,9]")
    ):
        state.write_bytes(damage)
        chat.turn("next", lambda number=number: chat.put("a", f"{number} more"))
    state.unlink()
    chat.turn("last", lambda: chat.put("a", "x"))
    chat.rewind(chat.hashes()[0])
    assert (chat.work / "a").read_text() == "5 more"
    chat.rewind(chat.hashes()[-1])
    assert (chat.work / "a").read_text() == "0"


def test_missing_store_is_recreated(chat: WorkspaceChat) -> None:
    chat.put("a", "0")
    chat.turn("one", lambda: chat.put("a", "1"))
    shutil.rmtree(chat.home / "checkpoints/store")
    assert chat.warnings(chat.turn("two", lambda: chat.put("a", "2"))) == []
    (hash_,) = chat.hashes()
    chat.rewind(hash_)
    assert (chat.work / "a").read_text() == "1"


def test_locks_of_a_killed_git_are_removed(chat: WorkspaceChat) -> None:
    chat.turn("one", lambda: chat.put("a", "1"))
    store = chat.home / "checkpoints/store"
    (present,) = (store / "refs/present").iterdir()
    for left in (present.with_name(present.name + ".lock"), store / "packed-refs.lock"):
        left.touch()
    assert chat.warnings(chat.turn("two", lambda: chat.put("a", "2"))) == []
    assert len(chat.hashes()) == 2


@pytest.mark.slow
def test_change_of_equal_size_and_time_is_noticed(chat: WorkspaceChat) -> None:
    """A file whose size and time are those of the saved one is still read again."""
    for number in range(8):
        chat.put("a", f"{number}")
        os.utime(chat.work / "a", ns=(10**18, 10**18))
        chat.turn(f"turn {number}")
    hashes = chat.hashes()
    assert len(hashes) == 8
    chat.rewind(f"{hashes[3]} all")
    assert (chat.work / "a").read_text() == "4"


@pytest.mark.slow
def test_file_written_during_the_snapshot_is_saved_consistently(chat: WorkspaceChat) -> None:
    """A process writes all the time: each checkpoint holds a state that existed."""
    script = (
        "import sys\n"
        "print('ready', flush=True)\n"
        "n = 0\n"
        "while True:\n"
        "    with open(sys.argv[1], 'w') as f: f.write('x' * (n % 5000))\n"
        "    n += 1\n"
    )
    chat.put("busy", "x")
    chat.put("calm", "0")
    writer = subprocess.Popen(
        [sys.executable, "-c", script, str(chat.work / "busy")], stdout=subprocess.PIPE, text=True
    )
    try:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        for number in range(5):
            outcome = chat.turn(f"turn {number}", lambda n=number: chat.put("calm", f"{n + 1}"))
            assert chat.warnings(outcome) == []
    finally:
        writer.kill()
        writer.communicate()
    chat.rewind(chat.hashes()[2])
    assert (chat.work / "calm").read_text() == "2"
    assert set((chat.work / "busy").read_text()) <= {"x"}


def test_change_during_a_rewind_is_not_overwritten(
    chat: WorkspaceChat, fake_git: Callable[[str], None]
) -> None:
    """A file is saved by hand after the undo snapshot and before it is replaced."""
    chat.put("a", "old")
    chat.put("b", "old")

    def act() -> None:
        chat.put("a", "new")
        chat.put("b", "new")

    chat.turn("change", act)
    hash_ = chat.hashes()[0]
    fake_git(
        f'case "$*" in *"cat-file --batch"*) printf mine > "{chat.work}/a";; esac; exec "$GIT" "$@"'
    )
    answer = chat.rewind(hash_)
    assert (chat.work / "a").read_text() == "mine"
    assert (chat.work / "b").read_text() == "old"
    assert "Left as it is (it was changed meanwhile; rewind again): a" in answer
    undo_of(answer)


def test_doctor_check_reports_git(
    chat: WorkspaceChat,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fake_git: Callable[[str], None],
) -> None:
    ((plugin, check),) = chat.harness.checks()
    assert (plugin, check.name) == ("checkpoints", "git")
    result: Any = chat.harness.run(check.run())  # type: ignore[arg-type]
    assert (result.ok, result.hint) == (True, False)
    assert result.detail.startswith("git works")
    fake_git("echo git version 2.7.4")
    result = chat.harness.run(check.run())  # type: ignore[arg-type]
    assert (result.ok, result.hint) == (True, True)
    assert "too old" in result.detail
    (tmp_path / "nothing").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    result = chat.harness.run(check.run())  # type: ignore[arg-type]
    assert (result.ok, result.hint) == (True, True)
    assert "Install git" in result.fix


def test_unreadable_file_is_left_alone(chat: WorkspaceChat) -> None:
    chat.put("closed", "x", 0o000)
    if os.access(chat.work / "closed", os.R_OK):
        pytest.skip("who runs this can read everything")
    chat.put("a", "1")
    assert chat.warnings(chat.turn("one", lambda: chat.put("a", "2"))) == []
    chat.rewind(chat.hashes()[0])
    assert (chat.work / "a").read_text() == "1"
    assert stat.S_IMODE((chat.work / "closed").stat().st_mode) == 0


def test_git_of_the_workspace_is_never_run(
    chat: WorkspaceChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = chat.work / ".venv/bin"
    ran = chat.home / "ran"

    def plant() -> None:
        chat.put(".venv/bin/git", f'#!/bin/sh\ntouch "{ran}"\nexec {GIT} "$@"\n', 0o755)

    chat.put("kept", "before")
    chat.turn("write a program", plant)
    monkeypatch.setenv("PATH", f"{planted}:{os.environ['PATH']}")
    chat.turn("change a file", lambda: chat.put("kept", "after"))
    assert chat.hashes()
    assert not ran.exists()
