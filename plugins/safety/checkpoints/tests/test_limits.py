"""Limits of number, age and size of checkpoints, and which chat they belong to."""

from __future__ import annotations

import asyncio
import fcntl
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Clock, FakeChannel, calls
from hookline_checkpoints import Checkpoints
from hookline_hookspecs import Context, Job, Plugin, tool
from hookline_hookspecs.plugin import NoConfig

from .conftest import Hands, WorkspaceChat

DAY = 86_400.0


class Boss(Plugin[NoConfig]):
    """Has a sub-agent do the work."""

    @tool(read_only=True)
    async def hand_over(self, ctx: Context) -> str:
        """Let a sub-agent work."""
        return (await ctx.host.run_turn("the part of it", parent=ctx)).reply


def room(chat: WorkspaceChat) -> int:
    """Bytes of the store's objects."""
    objects = chat.home / "checkpoints/store/objects"
    return sum(path.stat().st_size for path in objects.rglob("*") if path.is_file())


def git(chat: WorkspaceChat, *words: str) -> str:
    command = ["git", f"--git-dir={chat.home}/checkpoints/store", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def work_off(chat: WorkspaceChat) -> None:
    """Run the plugin's job."""
    jobs: list[Job] = []
    chat.harness.plugin(Checkpoints).register_jobs(jobs.append)
    chat.harness.run(jobs[0].run())  # type: ignore[arg-type]


@pytest.mark.slow
def test_only_newest_checkpoints_are_kept(make_chat: Callable[..., WorkspaceChat]) -> None:
    chat = make_chat(config={"max_snapshots": 3})
    for number in range(6):
        chat.turn(f"turn {number}", lambda number=number: chat.put("a", f"{number}"))
    assert [line.split()[-1] for line in chat.rewind().splitlines()[1:]] == ["5", "4", "3"]
    assert len(git(chat, "for-each-ref", "refs/checkpoints").splitlines()) == 3
    chat.rewind(chat.hashes()[2])
    assert (chat.work / "a").read_text() == "2"


@pytest.mark.slow
def test_twenty_checkpoints_are_kept_by_default(chat: WorkspaceChat) -> None:
    for number in range(22):
        chat.turn(f"turn {number}", lambda number=number: chat.put("a", f"{number}"))
    assert len(chat.hashes()) == 20


@pytest.mark.slow
def test_checkpoints_are_dropped_after_seven_days(chat: WorkspaceChat, clock: Clock) -> None:
    chat.turn("old", lambda: chat.put("a", os.urandom(50_000)))
    chat.turn("older than nothing", lambda: chat.put("a", "1"))
    old = chat.hashes()
    clock.ahead(6.9 * DAY)
    work_off(chat)
    assert chat.hashes() == old
    clock.ahead(7.1 * DAY)
    assert chat.hashes() == []
    assert "There is no checkpoint" in chat.rewind(old[0])
    work_off(chat)
    assert room(chat) == 0
    assert not list((chat.home / "checkpoints/folders").glob("*/changes/*"))
    chat.turn("new", lambda: chat.put("a", "2"))
    chat.rewind(chat.hashes()[0])
    assert (chat.work / "a").read_text() == "1"


@pytest.mark.slow
def test_store_stays_within_its_size(make_chat: Callable[..., WorkspaceChat]) -> None:
    chat = make_chat(config={"max_store_mb": 1})
    contents = [os.urandom(300_000) for _ in range(8)]
    for number, content in enumerate(contents):
        chat.put("a", content)
        chat.turn(f"turn {number}")
        assert room(chat) <= 1_350_000
    work_off(chat)
    assert room(chat) <= 1_000_000
    hashes = chat.hashes()
    assert 1 <= len(hashes) <= 3
    chat.put("a", "last")
    chat.rewind(f"{hashes[-1]} all")
    assert (chat.work / "a").read_bytes() == contents[-len(hashes)]


def test_dropped_checkpoint_is_deleted_from_disk(make_chat: Callable[..., WorkspaceChat]) -> None:
    chat = make_chat(config={"max_snapshots": 1})
    chat.put("a", "the first content of all")
    oid = git_hash("the first content of all")
    chat.turn("one", lambda: chat.put("a", "1"))
    objects = git(chat, "cat-file", "--batch-check", "--batch-all-objects")
    assert oid in objects
    chat.turn("two", lambda: chat.put("a", "2"))
    work_off(chat)
    assert oid not in git(chat, "cat-file", "--batch-check", "--batch-all-objects")
    chat.rewind(chat.hashes()[0])
    assert (chat.work / "a").read_text() == "1"


def git_hash(text: str) -> str:
    command = ["git", "hash-object", "--stdin"]
    done = subprocess.run(command, input=text, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.mark.slow
def test_many_turns_leave_few_files_in_the_store(make_chat: Callable[..., WorkspaceChat]) -> None:
    chat = make_chat(config={"max_snapshots": 2})
    for number in range(40):
        chat.turn(f"turn {number}", lambda number=number: chat.put("a", f"{number}"))
    assert len(list((chat.home / "checkpoints/store/objects").rglob("*.pack"))) <= 31


@pytest.mark.slow
def test_pruning_is_skipped_during_a_snapshot(chat: WorkspaceChat) -> None:
    """A running snapshot shares the lock that pruning needs exclusively."""
    chat.turn("one", lambda: chat.put("a", "1"))
    with (chat.home / "checkpoints/lock").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        packs = set((chat.home / "checkpoints/store/objects/pack").iterdir())
        chat.turn("two", lambda: chat.put("a", "2"))
        assert packs <= set((chat.home / "checkpoints/store/objects/pack").iterdir())
    assert len(chat.hashes()) == 2


# Chats


async def talk(channel: FakeChannel, *said: tuple[str, str]) -> list[str]:
    """The replies to messages ``(chat, text)``, sent one after the other."""
    answers = []
    for number, (chat, text) in enumerate(said, 1):
        await channel.say(text, chat=chat)
        answers.append((await channel.replies(number))[-1].text)
    return answers


def test_checkpoints_of_another_chat_cannot_be_reached(
    make_chat: Callable[..., WorkspaceChat], tmp_path: Path
) -> None:
    chat = make_chat()
    chat.put("a", "0")
    chat.turn("mine", lambda: chat.put("a", "1"))
    (mine,) = chat.hashes()
    channel = chat.harness.channel
    answers = chat.harness.run(
        talk(channel, ("c", "/rewind"), ("c", f"/rewind {mine}"), ("c", f"/rewind diff {mine}"))
    )
    assert "no checkpoint in this chat" in answers[0]
    assert f"There is no checkpoint {mine} in this chat" in answers[1]
    assert f"There is no checkpoint {mine} in this chat" in answers[2]
    assert (chat.work / "a").read_text() == "1"


def test_network_chat_rewinds_its_own_workspace(make_chat: Callable[..., WorkspaceChat]) -> None:
    chat = make_chat()
    steps: list[Any] = [calls("act"), "done"]
    chat.harness.model.steps += steps
    made: list[Path] = []

    def act() -> None:
        for folder in (chat.home / "chats").glob("fake/*/work"):
            (folder / "made").write_text("x")
            made.append(folder)
        (chat.work / "made").write_text("x")

    Hands.todo = staticmethod(act)
    channel = chat.harness.channel

    async def work() -> list[str]:
        answers = await talk(channel, ("c", "make it"), ("c", "/rewind"))
        hash_ = answers[1].splitlines()[1].split()[0]
        chat.harness.answers[:] = ["Allow once"]
        await channel.say(f"/rewind {hash_}", chat="c")
        return [*answers, (await channel.replies(3))[-1].text]

    answers = chat.harness.run(asyncio.wait_for(work(), 60))
    assert answers[0] == "done"
    assert "make it" in answers[1]
    assert "1 file removed" in answers[2]
    folder = made[0] if made else chat.work
    assert not (folder / "made").exists()


def test_sub_agent_writes_are_in_checkpoints_of_the_chat(
    make_chat: Callable[..., WorkspaceChat],
) -> None:
    chat = make_chat(plugins=(Boss,))
    chat.put("a", "0")
    Hands.todo = staticmethod(lambda: chat.put("a", "1"))
    chat.harness.model.steps += [calls("hand_over"), calls("act"), "part done", "all done"]
    assert chat.say("the whole").text == "all done"
    (line,) = chat.rewind().splitlines()[1:]
    assert line.endswith("the part of it")
    chat.rewind(line.split()[0])
    assert (chat.work / "a").read_text() == "0"
