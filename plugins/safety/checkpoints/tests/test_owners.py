"""A rewind takes back what the agent changed, and leaves the changes of others alone."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hookline.testing import calls
from hookline_hookspecs import Context, Plugin, tool
from hookline_hookspecs.plugin import NoConfig

from .conftest import Hands, WorkspaceChat, undo_of
from .test_failures import other

FILES, EVERYTHING = "Files only", "All files, also those not changed by the agent"
LEAVE, OVERWRITE = "Leave them as they are", "Put them back too"


def read(chat: WorkspaceChat) -> dict[str, str]:
    """The files of the workspace by name, without hidden ones."""
    found = [path for path in chat.work.rglob("[!.]*") if path.is_file()]
    return {path.name: path.read_text() for path in found}


def edited(chat: WorkspaceChat) -> str:
    """A turn with changes of the agent, of the person, and of both; the checkpoint before it."""
    for name in ("agent", "gone", "person", "both"):
        chat.put(name, "0")

    def act() -> None:
        chat.put("agent", "by the agent")
        chat.put("both", "by the agent")
        chat.put("new", "by the agent")
        (chat.work / "gone").unlink()

    chat.turn("Improve", act)
    chat.put("person", "by the person")
    chat.put("both", "by the person")
    chat.put("notes", "by the person")
    return chat.hashes()[0]


LEFT = {"person": "by the person", "notes": "by the person"}


def test_rewind_leaves_the_persons_edits_alone(chat: WorkspaceChat) -> None:
    hash_ = edited(chat)
    after = chat.tree
    answer = chat.rewind(hash_)
    assert read(chat) == {"agent": "0", "gone": "0", "both": "by the person", **LEFT}
    assert "Removed, because they were created since: new" in answer
    assert "Left as it is (not changed by the agent): notes, person" in answer
    assert "Left as it is (changed by the agent and by someone else): both" in answer
    assert f"To put these back too: /rewind {hash_} all" in answer
    chat.rewind(undo_of(answer))
    assert chat.tree == after
    chat.rewind(f"{hash_} all")
    assert read(chat) == dict.fromkeys(("agent", "gone", "person", "both"), "0")


@pytest.mark.long
@pytest.mark.parametrize(
    ("answers", "after"),
    [
        ([FILES, LEAVE], {"agent": "0", "gone": "0", "both": "by the person", **LEFT}),
        ([FILES, OVERWRITE], {"agent": "0", "gone": "0", "both": "0", **LEFT}),
        ([FILES, "Cancel"], None),
        ([EVERYTHING], dict.fromkeys(("agent", "gone", "person", "both"), "0")),
        (["Cancel"], None),
        ([], None),
    ],
)
def test_question_lists_changes_by_owner_and_asks_about_conflicts(
    chat: WorkspaceChat, answers: Sequence[str], after: dict[str, str] | None
) -> None:
    hash_ = edited(chat)
    before = read(chat)
    chat.harness.answers[:] = answers
    chat.say(f"/rewind {hash_}")
    assert read(chat) == (before if after is None else after)
    assert chat.harness.questions[0].preview.splitlines()[:10] == [
        *("Changed by the agent, put back:", "  ~ agent", "  − gone", "  + new"),
        *("Not changed by the agent, left as it is:", "  + notes", "  ~ person"),
        "Changed by the agent and by someone else, left unless you say otherwise:",
        *("  ~ both", "The conversation loses 1 turn; files can be restored again."),
    ]
    if answers[:1] == [FILES]:
        assert chat.harness.questions[1].preview == "  ~ both"


def test_named_file_is_restored_even_if_the_person_changed_it(chat: WorkspaceChat) -> None:
    hash_ = edited(chat)
    chat.rewind(f"{hash_} -- both")
    assert read(chat)["both"] == "0"
    assert read(chat)["agent"] == "by the agent"


class Colleague(Plugin[NoConfig]):
    """A read-only tool, during which the person edits something."""

    edit: Callable[[], Any] = staticmethod(lambda: None)

    @tool(read_only=True)
    def ponder(self) -> str:
        """Think."""
        type(self).edit()
        return "thought"


def test_edit_between_two_calls_of_a_turn_is_the_persons(
    make_chat: Callable[..., WorkspaceChat],
) -> None:
    chat = make_chat(plugins=(Colleague,))
    numbers = iter("12")
    Hands.todo = staticmethod(lambda: chat.put("a", next(numbers)))
    Colleague.edit = staticmethod(lambda: chat.put("mine", "x"))
    chat.harness.model.steps += [calls("act"), calls("ponder"), calls("act"), "done"]
    chat.say("go")
    chat.rewind(chat.hashes()[0])
    assert read(chat) == {"mine": "x"}


def test_turns_on_a_file_that_the_person_edited_in_between_conflict(chat: WorkspaceChat) -> None:
    chat.put("a", "0")
    chat.turn("one", lambda: chat.put("a", "1"))
    chat.put("a", "1 and mine")
    chat.turn("two", lambda: chat.put("a", "2"))
    newest, oldest = chat.hashes()
    assert "changed by the agent and by someone else): a" in chat.rewind(oldest)
    chat.rewind(newest)
    assert read(chat) == {"a": "1 and mine"}


def test_changes_of_another_chat_are_left_alone(chat: WorkspaceChat) -> None:
    chat.put("a", "0")
    chat.turn("mine", lambda: chat.put("a", "1"))
    Hands.todo = staticmethod(lambda: chat.put("theirs", "2"))
    chat.harness.model.steps += [calls("act"), "done"]

    async def talk() -> None:
        await chat.harness.aopen()
        await chat.harness.channel.say("write it")
        await chat.harness.channel.replies(1)

    chat.harness.run(talk())
    answer = chat.rewind(chat.hashes()[-1])
    assert read(chat) == {"a": "0", "theirs": "2"}
    assert "Left as it is (not changed by the agent): theirs" in answer


def test_ignored_file_that_a_tool_names_is_restored(chat: WorkspaceChat) -> None:
    chat.put(".gitignore", "*.local\n/data/\n")
    ignored = ["a.local", "b.local", "data/x", "data/new"]
    for name in (*ignored[:-1], "unnamed.local"):
        chat.put(name, "0")
    names: list[str] = []
    Hands.todo = staticmethod(lambda: [chat.put(names.pop(0), "1"), chat.put("unnamed.local", "1")])
    for turn in (["a.local"], ["b.local", "data/x", "data/new"]):
        names += turn
        chat.harness.model.steps += [*(calls("act", path=name) for name in turn), "done"]
        chat.say("write")
    newest, oldest = chat.hashes()
    answer = chat.rewind(newest)
    before_second_turn = {"a.local": "1", "b.local": "0", "x": "0", "unnamed.local": "1"}
    assert read(chat) == before_second_turn
    assert "Removed, because they were created since: data/new" in answer
    chat.rewind(undo_of(answer))
    assert read(chat) == dict.fromkeys(("a.local", "b.local", "x", "new", "unnamed.local"), "1")
    chat.rewind(oldest)
    assert read(chat) == before_second_turn | {"a.local": "0"}


@pytest.mark.slow
def test_changes_of_a_killed_call_are_left_unless_the_person_says_otherwise(
    make_chat: Callable[..., WorkspaceChat],
) -> None:
    chat = make_chat()
    chat.put("file-0", "0")
    chat.harness.close()
    killed = other(
        *(chat.home, chat.work, "doomed", "write", "file", "1", "1"),
        HOOKLINE_CRASH_AT="before-tool",
    )
    assert killed.returncode == -signal.SIGKILL
    chat.put("file-0", "perhaps by the call")
    again = make_chat()
    answer = again.rewind(again.hashes()[0])
    assert "changed by the agent and by someone else): file-0" in answer
    again.rewind(f"{again.hashes()[-1]} all")
    assert read(again) == {"file-0": "0"}


def test_changes_of_a_turn_that_was_not_saved_are_left(
    make_chat: Callable[..., WorkspaceChat],
) -> None:
    chat = make_chat()
    chat.put("a", "0")
    chat.turn("saved", lambda: chat.put("a", "1"))
    too_small = make_chat(config={"max_files": 1})
    chat.put("b", "0")
    assert too_small.warnings(too_small.turn("unsaved", lambda: chat.put("b", "1"))) != []
    answer = chat.rewind(chat.hashes()[0])
    assert "changed by the agent and by someone else): b" in answer
    assert read(chat) == {"a": "0", "b": "1"}


class Pair(Plugin[NoConfig]):
    """A tool that writes while the same tool of another chat does."""

    begun = threading.Event()
    meeting = threading.Barrier(2, timeout=30)

    @tool
    def note(self, ctx: Context, path: str = "", note: str = "") -> str:
        """Write a file."""
        self.begun.set()
        self.meeting.wait()
        (ctx.paths.workspace / (path or note)).write_text("1")
        self.meeting.wait()
        return "noted"


@pytest.mark.parametrize(
    ("argument", "left", "reason"),
    [
        ("path", {"theirs": "1"}, "not changed by the agent): theirs"),
        ("note", {"theirs": "1", "mine": "1"}, "by the agent and by someone else): mine, theirs"),
    ],
)
def test_changes_of_chats_that_work_at_the_same_time_are_told_apart_if_named(
    make_chat: Callable[..., WorkspaceChat], argument: str, left: dict[str, str], reason: str
) -> None:
    chat = make_chat(plugins=(Pair,))
    h = chat.harness

    def step(request: Any) -> Any:
        """The model writes what the person says."""
        return calls("note", **{argument: request.messages[-1].text.split()[0]})

    h.model.steps += [step, step, "done", "done"]

    async def talk() -> None:
        await h.aopen()
        Pair.begun.clear()
        theirs = asyncio.create_task(h.channel.say("theirs"))
        await asyncio.to_thread(Pair.begun.wait, 30)
        await h.asend("mine")  # its checkpoint is younger than their call
        await theirs
        await h.channel.replies(1)

    h.run(talk())
    answer = chat.rewind(chat.hashes()[-1])
    assert reason in answer
    assert read(chat) == left
