"""A chat without buttons: the question is written into it, and what is typed answers it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hookline.testing import calls
from hookline_approvals import Approvals
from hookline_hookspecs import Ask, Inbound, Plugin, Question, ToolCall, hookimpl, tool

Make = Callable[..., Any]
COMMAND = "cd /srv && rm -rf 'build'"
WHOLE = f"""\
Allow launch? `rm -rf build` deletes
```
{COMMAND}

Risky: cd /srv && ⟦rm -rf 'build'⟧
```
1. Once
2. This session
3. Always
4. Deny
Answer with a number, or with the words."""


class Launcher(Plugin):
    """A tool that a guard asks about."""

    @tool
    def launch(self, target: str) -> str:
        """Launch something."""
        return f"launched {target}"

    @hookimpl
    def pre_tool(self, ctx: Any, call: ToolCall) -> Ask | None:
        if call.name != "launch":
            return None
        return Ask("`rm -rf build` deletes", call.arguments["target"])


class Cautious(Launcher):
    """The same, where an answer holds for one call."""

    once = True

    @hookimpl
    def pre_tool(self, ctx: Any, call: ToolCall) -> Ask | None:
        return Ask("it leaves the machine", call.arguments["target"], once=self.once)


class Chat:
    """A person in a chat whose model wants to launch."""

    def __init__(
        self,
        harness: Make,
        *plugins: Any,
        turns: int = 1,
        tool: type[Launcher] = Launcher,
        **options: Any,
    ) -> None:
        model = [step for _ in range(turns) for step in (calls("launch", target=COMMAND), "ok")]
        self.h = harness(Approvals, *plugins, tool, model=model, **options)

    def talk(self, *texts: str, user: str = "ann", more: int = 1) -> list[str]:
        """Say each text when the one before has been answered; all replies, one for each text
        and ``more``, which is the turn's own."""
        return self.h.run(self._talk([(text, user) for text in texts], more))

    def press(self, *said: tuple[str, str, str | None], more: int = 1) -> list[str]:
        """As :meth:`talk_as`, with the platform's id of the message that each text answers."""
        return self.h.run(self._talk(said, more))

    def talk_as(self, *said: tuple[str, str]) -> list[str]:
        """The same with the person for each text."""
        return self.h.run(self._talk(said, 1))

    async def _talk(self, said: Sequence[tuple[str | None, ...]], more: int) -> list[str]:
        await self.h.aopen()
        for text, user, *answers in said:
            before = len(self.h.channel.sent)
            await self.h.channel.say(text, user=user, reply_to=answers[0] if answers else None)
            await self.h.channel.replies(before + 1)
        return [reply.text for reply in await self.h.channel.replies(len(said) + more)]

    @property
    def ran(self) -> list[bool]:
        """Whether each call was allowed."""
        return [call.result.ok for call in self.h.hooks["tool"]]


@pytest.fixture
def chat(harness: Make) -> Callable[..., Chat]:
    """Makes chats."""
    return lambda *plugins, **options: Chat(harness, *plugins, **options)


def test_the_question_is_written_whole(chat: Callable[..., Chat]) -> None:
    assert chat().talk("go", more=0) == [WHOLE]


@pytest.mark.parametrize(
    "typed",
    [
        "1",
        "2",
        "3",
        "once",
        "Allow once",
        " this session ",
        "ALWAYS",
        "/approve",
        "/approve session",
    ],
)
def test_an_exact_answer_allows(chat: Callable[..., Chat], typed: str) -> None:
    one = chat()
    _, answered, reply = one.talk("go", typed)
    assert answered.startswith("Allowed: ")
    assert reply == "ok"
    assert one.ran == [True]


@pytest.mark.parametrize("typed", ["4", "deny", "No", "/deny", "/deny it"])
def test_an_exact_answer_denies(chat: Callable[..., Chat], typed: str) -> None:
    one = chat()
    assert one.talk("go", typed)[1:] == ["Denied.", "ok"]
    assert one.ran == []


VAGUE = ["yes", "0", "5", "11", "1 2", "one", "１", "once please", "don't", "/approve all of it"]


@pytest.mark.parametrize("typed", VAGUE)
def test_a_vague_answer_is_asked_for_again(chat: Callable[..., Chat], typed: str) -> None:
    one = chat()
    _, again, allowed, reply = one.talk("go", typed, "1")
    assert again.startswith("That is none of the choices")
    assert "4. Deny" in again
    assert (allowed, reply) == ("Allowed: once.", "ok")


def test_a_second_vague_answer_is_a_refusal(chat: Callable[..., Chat]) -> None:
    one = chat()
    *_, denied, reply = one.talk("go", "yes", "yes!")
    assert denied.startswith("Denied, because neither")
    assert reply == "ok"
    assert one.ran == []


def test_a_blank_message_allows_nothing(chat: Callable[..., Chat]) -> None:
    one = chat()
    assert one.talk("go", "  \n ", " ")[-1] == "ok"
    assert one.ran == []


CLOSED = "That question is answered, or its time is over. Nothing was changed."


def test_the_question_has_buttons_and_a_press_answers_it(chat: Callable[..., Chat]) -> None:
    one = chat()
    told = one.press(("go", "ann", None), ("Allow once", "ann", "delivered-1"))
    assert one.h.channel.sent[0].choices == (
        "Allow once",
        "Allow in this session",
        "Allow always",
        "Deny",
    )
    assert told[1:] == ["Allowed: once.", "ok"]


def test_a_press_of_somebody_else_is_told_so_and_changes_nothing(chat: Callable[..., Chat]) -> None:
    one = chat()
    asked, presses = (
        ("go", "ann", None),
        [(w, "bob", "delivered-1") for w in ("Allow always", "Deny")],
    )
    told = one.press(asked, *presses, ("Deny", "ann", "delivered-1"))
    refused = "Only the person whose request this is may answer."
    assert told[1:] == [refused, refused, "Denied.", "ok"]
    assert one.ran == []


def test_a_press_answers_its_own_question_alone(chat: Callable[..., Chat]) -> None:
    one = chat(turns=2)
    first = [("go", "ann", None), ("Allow once", "ann", "delivered-1")]  # 1, 2 and, of the turn, 3
    one.press(*first)
    told = one.press(("go", "ann", None), ("Allow once", "ann", "delivered-1"), more=3)
    assert told[4:] == [CLOSED]
    assert one.ran == [True]
    assert one.press(("Deny", "ann", "delivered-4"), more=6)[5:] == ["Denied.", "ok"]
    assert one.ran == [True]


def test_a_press_of_a_message_from_before_a_restart_answers_nothing_else(
    chat: Callable[..., Chat],
) -> None:
    """Buttons outlive a process; what they asked is not known any more, and another question is
    open now."""
    one = chat()
    assert one.talk("go", more=0) == [WHOLE]
    one.h.run(
        one.h.channel.say("Allow always", user="ann", kind="press", reply_to="old", target="old")
    )
    assert one.talk("deny", more=2)[1:3] == ["Denied.", "ok"]
    assert one.ran == []


def test_a_press_when_nothing_waits_is_no_message(chat: Callable[..., Chat]) -> None:
    one = chat()
    one.press(("go", "ann", None), ("Allow once", "ann", "delivered-1"))
    assert one.press(("Allow once", "ann", "delivered-1"), more=3)[3:] == [CLOSED]
    assert len(one.h.model.requests) == 2


def test_what_was_typed_is_remembered(chat: Callable[..., Chat]) -> None:
    one = chat(turns=2)
    assert one.talk("go", "always", "go")[3:] == ["ok"]
    assert one.ran == [True, True]


def test_another_person_neither_answers_nor_is_heard(chat: Callable[..., Chat]) -> None:
    one = chat(turns=2)
    said = [("go", "ann"), ("/approve", "bob"), ("/deny", "bob"), ("2", "ann")]
    _, *told, allowed, reply = one.talk_as(*said)
    assert told == ["Only the person whose request this is may answer."] * 2
    assert (allowed, reply) == ("Allowed: this session.", "ok")


def test_another_persons_message_waits_for_its_own_turn(harness: Make) -> None:
    one = Chat(harness)
    one.h.model.steps.append("hello bob")

    async def talk() -> list[str]:
        await one.h.aopen()
        say = one.h.channel.say
        await say("go", user="ann")
        await one.h.channel.replies(1)
        await say("1", user="bob")
        await say("4", user="ann")
        return [reply.text for reply in await one.h.channel.replies(4)]

    assert one.h.run(talk())[1:] == ["Denied.", "ok", "hello bob"]
    assert one.h.model.last.messages[-1].text == "1"


def test_another_chat_is_not_touched(harness: Make) -> None:
    one = Chat(harness)
    one.h.model.steps.insert(1, "hello")

    async def talk() -> list[tuple[str, str]]:
        await one.h.aopen()
        await one.h.channel.say("go", chat="a")
        await one.h.channel.replies(1)
        await one.h.channel.say("1", chat="b")
        await one.h.channel.replies(2)
        await one.h.channel.say("/approve", chat="b")
        sent = await one.h.channel.replies(3)
        return [(reply.session.chat_id, reply.text) for reply in sent[1:]]

    assert one.h.run(talk()) == [("b", "hello"), ("b", "Nothing waits for approval in this chat.")]


def test_a_command_is_still_a_command(chat: Callable[..., Chat]) -> None:
    one = chat()
    _, who, allowed, _ = one.talk("go", "/whoami", "1")
    assert who.startswith("fake:ann")
    assert allowed == "Allowed: once."


def test_the_question_can_be_shown_again(chat: Callable[..., Chat]) -> None:
    first, again, *_ = chat().talk("go", "/approve ?", "1")
    assert first == again


def test_a_press_of_a_button_answers(chat: Callable[..., Chat]) -> None:
    """A channel with buttons can hand in the choice as a message."""
    one = chat()
    assert one.talk("go", "Allow in this session")[1] == "Allowed: this session."


def test_a_late_answer_is_an_ordinary_message(harness: Make) -> None:
    one = Chat(harness, config={"approvals": {"timeout": 0.05}})
    one.h.model.steps.append("what do you mean?")
    assert one.talk("go")[1:] == ["ok"]
    assert one.talk("1", more=2)[2:] == ["what do you mean?"]
    assert one.ran == []


def test_nobody_is_asked_where_nobody_is_known(harness: Make) -> None:
    one = Chat(harness)
    assert one.talk("go", user="", more=0) == ["ok"]
    assert one.ran == []


class Admin(Plugin):
    """Asks an admin elsewhere; the test is the admin."""

    asked: asyncio.Event
    said: asyncio.Event

    @hookimpl
    def setup(self, host: Any) -> None:
        self.asked, self.said = asyncio.Event(), asyncio.Event()

    @hookimpl
    async def on_question(self, ctx: Any, question: Question) -> str:
        self.asked.set()
        await self.said.wait()
        return "Allow once"


def test_what_an_admin_is_asked_the_person_may_only_refuse(harness: Make) -> None:
    one = Chat(harness, Admin)

    async def talk() -> list[str]:
        await one.h.aopen()
        say, heard = one.h.channel.say, one.h.channel.replies
        await say("go", user="ann")
        await one.h.plugin(Admin).asked.wait()
        await say("/approve", user="ann")
        await heard(1)
        one.h.plugin(Admin).said.set()
        return [reply.text for reply in await heard(2)]

    assert one.h.run(talk()) == [
        "This question is asked elsewhere; it is approved where it is shown.",
        "ok",
    ]
    assert one.ran == [True]


def test_a_person_sees_and_revokes_their_own_grants_alone(chat: Callable[..., Chat]) -> None:
    one = chat()
    said = [("go", "ann"), ("3", "ann"), ("/grants", "bob"), ("/grants revoke 1", "bob")]
    *_, seen, revoked = [*one.talk_as(*said)]
    assert seen.startswith("No grants")
    assert revoked.startswith("There is no grant 1 here")
    assert "fake:ann" in one.h.send("/grants").text
    assert one.h.send("/grants revoke 1").text.startswith("Grant 1 is revoked")


def test_a_stranger_in_a_session_of_the_same_id_cannot_answer(harness: Make) -> None:
    """A message that names another chat's session carries no right to answer there."""
    one = Chat(harness)

    async def talk() -> str:
        runtime = await one.h.aopen()
        await one.h.channel.say("go", user="ann")
        await one.h.channel.replies(1)
        (session,) = await one.h.plugin(Approvals).host.sessions(channel="fake")
        stranger = Inbound("fake", "other", "eve", "e1", "/approve", session_id=session.id)
        await runtime.dispatcher.receive(stranger)
        return (await one.h.channel.replies(2))[1].text

    assert one.h.run(talk()) == "Only the person whose request this is may answer."
    assert one.ran == []


async def _open_question(one: Chat) -> None:
    await one.h.aopen()
    await one.h.channel.say("go", user="ann")
    await one.h.channel.replies(1)


@pytest.mark.parametrize(
    "more", [{"forwarded": "Bob"}, {"kind": "edit"}, {"kind": "reaction"}], ids=str
)
@pytest.mark.parametrize("text", ["1", "Allow once"])
def test_only_the_asker_s_own_words_answer(
    chat: Callable[..., Chat], text: str, more: dict[str, str]
) -> None:
    one = chat(turns=2)

    async def talk() -> None:
        await _open_question(one)
        await one.h.channel.say(text, user="ann", reply_to="delivered-1", **more)
        await one.h.channel.say("/deny", user="ann")
        await one.h.channel.replies(3)

    one.h.run(talk())
    assert one.ran == []


def test_another_s_flood_changes_nothing(chat: Callable[..., Chat]) -> None:
    one = chat()

    async def talk() -> list[str]:
        await _open_question(one)
        for text in ("/approve ?", "/deny", "/approve always", "/approve ?") * 5:
            await one.h.channel.say(text, user="bob")
        told = [reply.text for reply in await one.h.channel.replies(21)][1:]
        await one.h.channel.say("1", user="ann", reply_to="delivered-1")
        await one.h.channel.replies(23)
        return told

    assert set(one.h.run(talk())) == {"Only the person whose request this is may answer."}
    assert one.ran == [True]


def test_once_offers_two_choices_and_numbers_them(chat: Callable[..., Chat]) -> None:
    one = chat(tool=Cautious)
    asked, denied, reply = one.talk("go", "2")
    assert asked.splitlines()[-3:-1] == ["1. Once", "2. Deny"]
    assert one.h.channel.sent[0].choices == ("Allow once", "Deny")
    assert (denied, reply, one.ran) == ("Denied.", "ok", [])


@pytest.mark.parametrize("typed", ["1", "once", "/approve", "/approve once"])
def test_once_allows_this_call_and_the_next_is_asked_for(
    chat: Callable[..., Chat], typed: str
) -> None:
    one = chat(tool=Cautious, turns=2)
    one.talk("go", typed)
    assert one.ran == [True]
    before = len(one.h.channel.sent)
    assert one.talk("go", "2", more=1 + before)[before:][1:] == ["Denied.", "ok"]
    assert one.ran == [True]
    assert "No grants" in one.h.send("/grants").text


@pytest.mark.parametrize(
    "typed", ["always", "this session", "3", "4", "/approve always", "/approve session"]
)
def test_once_takes_no_lasting_answer(chat: Callable[..., Chat], typed: str) -> None:
    one = chat(tool=Cautious)
    _, again, denied, _ = one.talk("go", typed, "deny")
    assert again.splitlines()[1:3] == ["1. Once", "2. Deny"]
    assert (denied, one.ran) == ("Denied.", [])


def test_an_earlier_grant_does_not_answer_once(
    chat: Callable[..., Chat], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = chat(tool=Cautious, turns=2)
    with monkeypatch.context() as patch:
        patch.setattr(Cautious, "once", False)
        one.talk("go", "always")
    assert one.talk("go", "2", more=4)[4:] == ["Denied.", "ok"]
    assert one.ran == [True]


@pytest.mark.parametrize("typed", ["1", "once", "/approve", "/approve always"])
def test_what_was_sent_before_the_question_was_delivered_allows_nothing(
    chat: Callable[..., Chat], typed: str
) -> None:
    one = chat()
    h = one.h

    async def talk() -> None:
        await h.aopen()
        channel, showing, shown = h.channel, asyncio.Event(), asyncio.Event()
        send = channel.send

        async def slow(reply: Any) -> str:
            if not showing.is_set():
                showing.set()
                await shown.wait()
            return str(await send(reply))

        channel.send = slow
        await channel.say("go", user="ann")
        await showing.wait()
        on_its_way = time.time()
        await channel.say(typed, user="ann", received=on_its_way)
        shown.set()
        await channel.replies(2)
        await channel.say(typed, user="ann", received=on_its_way)
        await channel.replies(3)
        await channel.say("/deny", user="ann", received=time.time())
        await channel.replies(5)
        await h.runtime.finish_background(5)

    h.model.steps += ["more"] * 4
    h.run(talk())
    assert one.ran == []
    said = [reply.text for reply in h.channel.sent]
    assert sum(text.startswith("That came before the question") for text in said) == 2
    assert "Denied." in said


def test_a_press_that_core_was_told_of_early_counts(chat: Callable[..., Chat]) -> None:
    """The platform shows a button before it confirms that the message was sent."""
    one = chat()

    async def talk() -> None:
        await one.h.aopen()
        before = time.time()
        await one.h.channel.say("go", user="ann")
        await one.h.channel.replies(1)
        pressed = {"reply_to": "delivered-1", "kind": "press", "received": before}
        await one.h.channel.say("Allow once", user="ann", **pressed)
        await one.h.channel.replies(3)

    one.h.run(talk())
    assert one.ran == [True]
