"""A rewind of the conversation, alone or with the files; the note of ``/undo`` about files."""

from __future__ import annotations

import re

import pytest
from hookline.testing import calls
from hookline_checkpoints import Checkpoints
from hookline_hookspecs import Conversations

from .conftest import Hands, WorkspaceChat, undo_of

HASH = "^([0-9a-f]{10})  "


def _three(chat: WorkspaceChat) -> list[str]:
    """Three turns, the last two of which write; the hashes before those, oldest first."""
    chat.put("n.txt", "0")
    chat.harness.model.steps.append("Hello.")
    chat.say("greet")
    for number in "12":
        chat.turn(f"Step {number}", lambda number=number: chat.put("n.txt", number))
    return chat.hashes()[::-1]


def _said(chat: WorkspaceChat) -> list[str]:
    """The person's messages in the next request."""
    chat.harness.model.steps.append("ok")
    chat.say("next")
    texts = [m.text for m in chat.harness.model.last.messages if m.role == "user" and m.text]
    return [text.split("\n")[0] for text in texts]


@pytest.mark.long
@pytest.mark.parametrize(
    ("answer", "content", "said"),
    [
        ("Files and conversation", "0", ["greet", "next"]),
        ("Files only", "0", ["greet", "Step 1", "Step 2", "next"]),
        ("Conversation only", "2", ["greet", "next"]),
        ("Cancel", "2", ["greet", "Step 1", "Step 2", "next"]),
    ],
)
def test_person_chooses_between_files_and_conversation(
    chat: WorkspaceChat, answer: str, content: str, said: list[str]
) -> None:
    first, _ = _three(chat)
    chat.harness.answers.append(answer)
    told = chat.say(f"/rewind {first}").text
    (question,) = chat.harness.questions
    assert question.choices[-1] == "Cancel"
    assert "before “Step 1”" in question.text
    assert "loses 2 turns" in question.preview
    assert (chat.work / "n.txt").read_text() == content
    assert _said(chat) == said
    assert ("Nothing was put back." in told) == (answer == "Cancel")
    assert ("Removed from the conversation: 2 turns." in told) == ("onversation" in answer)


def test_rewind_argument_skips_the_question(chat: WorkspaceChat) -> None:
    _, second = _three(chat)
    told = chat.rewind(f"{second} both")
    assert not chat.harness.questions
    assert (chat.work / "n.txt").read_text() == "1"
    chat.rewind(f"{undo_of(told)} files")
    assert (chat.work / "n.txt").read_text() == "2"
    assert _said(chat) == ["greet", "Step 1", "next"]
    assert "not in this conversation" in chat.rewind(f"{second} conversation")


def test_rewind_restores_files_if_no_one_can_be_asked(chat: WorkspaceChat) -> None:
    first, _ = _three(chat)
    chat.say(f"/rewind {first}", approve="no")
    assert not chat.harness.questions
    assert (chat.work / "n.txt").read_text() == "0"


def test_dismissed_question_restores_nothing(chat: WorkspaceChat) -> None:
    first, _ = _three(chat)
    answer = chat.say(f"/rewind {first}").text  # nobody answers, as after Esc
    assert answer.startswith("Nothing was put back.")
    assert f"/rewind {first} files" in answer
    assert (chat.work / "n.txt").read_text() == "2"


def test_checkpoint_of_another_session_names_that_session(chat: WorkspaceChat) -> None:
    first, _ = _three(chat)
    answer = chat.say(f"/rewind {first} both", session="other").text
    assert "/resume test goes there first" in answer
    assert (chat.work / "n.txt").read_text() == "2"


def test_undo_says_how_to_restore_the_files(chat: WorkspaceChat) -> None:
    _, second = _three(chat)
    answer = chat.say("/undo").text
    assert answer.endswith(f"/rewind {second} files puts them back.")
    chat.rewind(f"{second} files")
    assert (chat.work / "n.txt").read_text() == "1"


@pytest.mark.long
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("", ["{1}", "{0}", "diff"]),
        ("{0}", ["{0}"]),
        ("diff ", ["diff {1}", "diff {0}"]),
        ("{0} ", [f"{{0}} {word}" for word in ("files", "all", "conversation", "both", "history")]),
        ("{0} f", ["{0} files"]),
        ("{0} files ", []),
    ],
)
def test_completion_offers_hashes_with_time_and_title(
    chat: WorkspaceChat, typed: str, offered: list[str]
) -> None:
    hashes = _three(chat)
    commands = chat.harness.plugin(Checkpoints).host.services[Conversations].commands()
    complete = next(one.complete for one in commands if one.name == "/rewind")
    found = chat.harness.run(complete("test", typed.format(*hashes)))
    assert [text for text, _ in found] == [text.format(*hashes) for text in offered]
    if typed == "":
        assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d, before “Step 2”", found[0][1])
    assert chat.harness.run(complete("another", "")) == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("args", "answer", "content", "told"),
    [
        ("", "Allow once", "0", "The files are back"),
        ("", "Deny", "1", "Nothing was put back. It was not approved."),
        ("", None, "1", "Nothing was put back. No one could be asked"),
        (" files", "Deny", "1", "Nothing was put back."),
        (" both", "Allow once", "0", "Removed from the conversation: 1 turn."),
        (" conversation", "Deny", "1", "Nothing was put back."),
        (" -- n.txt", "Deny", "1", "Nothing was put back."),
    ],
)
def test_rewind_on_a_network_channel_needs_approval(
    chat: WorkspaceChat, args: str, answer: str | None, content: str, told: str
) -> None:
    chat.put("n.txt", "0")
    Hands.todo = staticmethod(lambda: chat.put("n.txt", "1"))
    h = chat.harness
    h.model.steps += [calls("act"), "done"]

    async def talk() -> str:
        await h.aopen()
        channel = h.channel
        await channel.say("Step 1")
        await channel.replies(1)
        await channel.say("/rewind")
        hash_ = re.findall(HASH, (await channel.replies(2))[-1].text, re.MULTILINE)[0]
        h.answers[:] = [answer] if answer else []
        await channel.say(f"/rewind {hash_}{args}")
        return str((await channel.replies(3))[-1].text)

    assert told in h.run(talk())
    assert (chat.work / "n.txt").read_text() == content
    (question,) = h.questions
    assert (question.kind, question.choices) == ("approval", ("Allow once", "Deny"))
    assert question.call is not None
    assert ("~ n.txt" in question.preview) == (args != " conversation")
