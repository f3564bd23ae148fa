"""A group shares one session: who may stop a turn in it, and who may change the session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_access import AccessControl
from hookline_hookspecs import Plugin, command, tool

from .conftest import Chats, MakeChats, Run, installed

GROUP = {"admins": ["fake:boss"], "allow": ["fake:*"]}
TURN = "Only the person who started the turn, or an admin"
SESSION = "Only the person who began this session"


class Slow(Plugin):
    """A tool that waits until it is let go, and commands of other plugins."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        import asyncio

        self.begun, self.go_on = asyncio.Event(), asyncio.Event()

    @tool(read_only=True)
    async def wait(self) -> str:
        """Wait."""
        self.begun.set()
        await self.go_on.wait()
        return "waited"

    @command("/compact", audience="session", aliases=("/compress",))
    def compact(self, ctx: Any, args: str) -> str:
        """Compact."""
        return "compacted"

    @command("/mode", audience="session")
    def mode(self, ctx: Any, args: str) -> str:
        """Mode."""
        return "moded"

    @command("/undeclared")
    def undeclared(self, ctx: Any, args: str) -> str:
        """Say nothing about who may."""
        return "done"


def slow(chats: Chats) -> Slow:
    return chats.h.plugin(Slow)


async def working(chats: Chats, user: str) -> Any:
    """Start a turn of a person in the group."""
    answer = await chats.begin(user, "work", "group")
    await slow(chats).begun.wait()
    return answer


WORK = [calls("wait"), "worked"]
STOPS = ["/stop", "/STOP", "/steer say that bob is right", "/ſtop"]
CHANGES = ["/new", "/reset", "/compact", "/compress", "/mode auto", "/title x", "/model a/b"]
CHANGES += ["/resume 1", "/undo", "/retry"]


@pytest.mark.long
@pytest.mark.parametrize("text", [*STOPS, *CHANGES])
@pytest.mark.parametrize("owner", ["boss", "ann"])
def test_member_cannot_stop_or_change_another_members_turn(
    chats: MakeChats, run: Run, text: str, owner: str
) -> None:
    installed("commands")

    async def story(chats: Chats) -> list[Any]:
        answer = await working(chats, owner)
        told = await chats.say("bob", text, "group")
        slow(chats).go_on.set()
        return [told, await answer]

    one = chats(Slow, model=WORK, **GROUP)
    told, answer = run(one, story)
    assert told.startswith((TURN, SESSION))
    assert told.endswith("Nothing was changed.")
    assert answer == "worked"
    assert "bob" not in str(one.h.model.last.messages)


@pytest.mark.parametrize("who", ["ann", "boss"])
def test_turn_can_be_stopped_by_its_author_and_admins(chats: MakeChats, run: Run, who: str) -> None:
    installed("commands")

    async def story(chats: Chats) -> list[Any]:
        answer = await working(chats, "ann")
        told = await chats.say(who, "/stop", "group")
        return [told, await answer]

    told, answer = run(chats(Slow, model=WORK, **GROUP), story)
    assert told == "Stopping."
    assert answer != "worked"


@pytest.mark.parametrize("text", ["/undo", "/retry", "/new", "/title mine"])
def test_finished_turn_and_session_still_belong_to_their_author(
    chats: MakeChats, run: Run, text: str
) -> None:
    installed("commands")

    async def story(chats: Chats) -> list[Any]:
        await chats.say("boss", "hello", "group")
        return [await chats.say(who, text, "group") for who in ("bob", "boss")]

    bob, boss = run(chats(Slow, model=["hi", "hi again"], **GROUP), story)
    assert bob.startswith((TURN, SESSION))
    assert not boss.startswith((TURN, SESSION))


def test_last_turn_can_be_undone_by_its_author(chats: MakeChats, run: Run) -> None:
    installed("commands")

    async def story(chats: Chats) -> list[Any]:
        await chats.say("boss", "hello", "group")
        await chats.say("bob", "hello", "group")
        return [await chats.say("bob", text, "group") for text in ("/undo", "/new", "/stop")]

    undone, new, stopped = run(chats(Slow, model=["hi", "hi bob"], **GROUP), story)
    assert undone == "Removed the last turn (“hello”) from the conversation."
    assert new.startswith(SESSION)
    assert stopped == "Nothing is running."


def test_undo_is_refused_while_another_members_message_is_queued(
    chats: MakeChats, run: Run
) -> None:
    """Bob's own turn runs, ann's message waits behind it, and /undo would hit ann's turn."""
    installed("commands")

    async def story(chats: Chats) -> list[Any]:
        bob = await working(chats, "bob")
        ann = await chats.begin("ann", "hello", "group")
        told = await chats.say("bob", "/undo", "group")
        slow(chats).go_on.set()
        return [told, await bob, await ann]

    told, *answers = run(chats(Slow, model=[*WORK, "hi ann"], **GROUP), story)
    assert told.startswith(TURN)
    assert answers == ["worked", "hi ann"]


def test_session_owner_is_known_after_a_restart(
    chats: MakeChats, run: Run, harness: Callable[..., Harness]
) -> None:
    installed("commands")

    async def story(chats: Chats) -> Any:
        return await chats.say("boss", "hello", "group")

    one = chats(model=["hi"], **GROUP)
    run(one, story)
    one.h.close()
    second = Chats(harness(AccessControl, home=one.h.home, model=["hi"], config=GROUP))

    async def later(chats: Chats) -> list[Any]:
        return [await chats.say("bob", text, "group", id_=text) for text in ("/new", "/undo")]

    new, undo = run(second, later)
    assert new.startswith(SESSION)
    assert undo.startswith(TURN)


@pytest.mark.parametrize("more", [{}, {"private": True}])
def test_all_commands_are_allowed_in_a_private_chat(
    chats: MakeChats, run: Run, more: dict[str, Any]
) -> None:
    installed("commands")
    chat = "bob" if not more else "room"

    async def story(chats: Chats) -> list[Any]:
        await chats.say("bob", "hello", chat, **more)
        return [await chats.say("bob", text, chat, **more) for text in ("/title x", "/new")]

    title, new = run(chats(model=["hi"], **GROUP), story)
    assert title == "Title: x"
    assert new.startswith("New session.")


def test_commands_for_everyone_are_answered_during_another_turn(chats: MakeChats, run: Run) -> None:
    installed("commands")

    async def asked(chats: Chats) -> list[Any]:
        answer = await working(chats, "boss")
        told = [await chats.say("bob", text, "group") for text in ("/whoami", "/queue")]
        slow(chats).go_on.set()
        await answer
        return told

    assert run(chats(Slow, model=WORK, **GROUP), asked) == [
        "fake:bob in chat group",
        "0 messages are queued.",
    ]


@pytest.mark.parametrize("text", ["/approve", "/questions answer {} 1", "1", "Allow once"])
def test_forwarded_message_does_not_answer_a_question(
    chats: MakeChats, run: Run, text: str
) -> None:
    """An admin forwards another person's message while a question is open."""

    async def story(chats: Chats) -> None:
        await chats.say("boss", "hello")
        await chats.begin("ann", "launch it", "group")
        question = await chats.until("boss", "For fake:ann")
        forwarded = text.format(question.question)
        reply_to = chats.delivered(question)
        await chats.say("boss", forwarded, forwarded="Eve", reply_to=reply_to)
        assert await chats.say("boss", "Deny") == "Answered: Deny."
        await chats.until("group", "done")

    model = ["hi", calls("launch", target="x"), "done", "done"]
    one = chats(installed("approvals"), model=model, **GROUP)
    run(one, story)
    assert one.h.hooks["tool"] == []


@pytest.mark.parametrize(
    ("user", "chat", "answer"),
    [
        ("ann", "group", "Only an admin can use /undeclared here. Nothing was changed."),
        ("boss", "group", "done"),
        ("ann", "ann", "done"),
    ],
)
def test_command_without_audience_is_for_admins_in_a_group(
    chats: MakeChats, run: Run, user: str, chat: str, answer: str
) -> None:
    async def story(chats: Chats) -> Any:
        return await chats.say(user, "/undeclared", chat)

    assert run(chats(Slow, **GROUP), story) == answer
