"""Approvals on a channel: the question is written into the chat, and what is typed answers it."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, distribution, entry_points
from typing import Any

import pytest
from hookline.testing import calls
from hookline_approvals import Approvals
from hookline_hookspecs import (
    Ask,
    Plugin,
    Questions,
    Reply,
    StoredQuestion,
    ToolCall,
    hookimpl,
    tool,
)

COMMAND = "cd /srv && rm -rf 'build'"
QUESTION = f"""\
Allow launch? It deletes
```
{COMMAND}

Risky: cd /srv && ⟦rm -rf 'build'⟧
```
1. Allow once
2. Allow in this session
3. Allow always
4. Deny
Answer with a number."""
WAITING = "A question is waiting for an answer"


class Launcher(Plugin):
    """A tool that a guard asks about."""

    once = False

    @tool
    def launch(self, target: str) -> str:
        """Launch something."""
        return f"launched {target}"

    @tool(read_only=True, approval="it looks far")
    def look(self, target: str) -> str:
        """Look at something, maybe beside other calls."""
        return f"saw {target}"

    @hookimpl
    def pre_tool(self, ctx: Any, call: ToolCall) -> Ask | None:
        if call.name != "launch":
            return None
        return Ask("it deletes", call.arguments["target"], self.once, ("rm -rf 'build'",))


class Chat:
    """Ann, an admin, in a chat whose model launches; everyone else may only write."""

    def __init__(self, harness: Callable[..., Any], *model: Any, **options: Any) -> None:
        config = {"access": {"admins": ["fake:ann"], "allow": ["fake:*"]}}
        config |= options.pop("config", {})
        plugins = [Approvals, Launcher]
        if config["access"]:
            plugins.append(access())
        self.said: list[str] = []
        self.h = harness(*plugins, model=list(model or launches()), config=config, **options)

    async def say(self, text: str, user: str = "ann", **more: Any) -> str:
        """Write, and return the first reply to it, or the question that its turn asks."""
        await self.h.aopen()
        id_ = f"said-{len(self.said)}"
        self.said.append(id_)
        asked = [reply.id for reply in self.h.channel.sent if reply.kind == "question"]
        await self.h.channel.say(text, user=user, message_id=id_, **more)
        return (
            await self.until(
                lambda reply: (
                    reply.in_reply_to == id_ or (reply.kind == "question" and reply.id not in asked)
                )
            )
        ).text

    async def until(self, fits: Callable[[Reply], bool], count: int = 1) -> Reply:
        """The newest reply that fits, as soon as there are ``count``."""
        while len(found := [reply for reply in self.h.channel.sent if fits(reply)]) < count:
            await self.h.channel.replies(len(self.h.channel.sent) + 1)
        return found[-1]

    async def heard(self, text: str, count: int = 1) -> None:
        """Wait until ``count`` replies have this text."""
        await self.until(lambda reply: reply.text == text, count)

    async def open(self) -> list[StoredQuestion]:
        """The open questions."""
        found: list[StoredQuestion] = await self.h.plugin(Approvals).host.services[Questions].open()
        return found

    @property
    def ran(self) -> list[bool]:
        """Whether each call that reached its tool succeeded."""
        return [call.result.ok for call in self.h.hooks["tool"]]


def access() -> type[Plugin[Any]]:
    """The plugin that knows who may approve. Skips where it is not installed."""
    try:
        distribution("hookline-access")
    except PackageNotFoundError:
        pytest.skip("hookline-access is not installed")
    found: type[Plugin[Any]] = entry_points(group="hookline.plugins")["access"].load()
    return found


def launches(turns: int = 1) -> list[Any]:
    """The model launches in each turn."""
    return [step for _ in range(turns) for step in (calls("launch", target=COMMAND), "ok")]


@pytest.fixture
def chat(harness: Callable[..., Any]) -> Callable[..., Chat]:
    """Makes chats: what the model says, and options of the harness."""
    return lambda *model, **options: Chat(harness, *model, **options)


MakeChat = Callable[..., Chat]


def told(one: Chat, *texts: str) -> list[str]:
    """Ask for a launch, say each text, wait for the turn's end; the replies to each."""

    async def story() -> list[str]:
        replies = [await one.say(text) for text in ("go", *texts)]
        await one.heard("ok")
        return replies

    replies: list[str] = one.h.run(story())
    return replies


ALLOWING = {
    "1": "Allow once",
    "once": "Allow once",
    "allow ONCE": "Allow once",
    "/approve": "Allow once",
    " 2 ": "Allow in this session",
    "/approve session": "Allow in this session",
    "always": "Allow always",
}


@pytest.mark.long
@pytest.mark.parametrize(("typed", "choice"), ALLOWING.items())
def test_exact_answer_allows_the_call(chat: MakeChat, typed: str, choice: str) -> None:
    one = chat()
    asked, answered = told(one, typed)
    assert asked.startswith(QUESTION)
    assert one.h.channel.sent[0].choices == (
        "Allow once",
        "Allow in this session",
        "Allow always",
        "Deny",
    )
    assert (answered, one.ran) == (f"Answered: {choice}.", [True])


@pytest.mark.parametrize("typed", ["4", "Deny", "no, it is in use", "/deny it is in use"])
def test_denial_and_its_reason_reach_the_model(chat: MakeChat, typed: str) -> None:
    one = chat()
    assert told(one, typed)[1] == "Answered: Deny."
    assert one.ran == []
    assert ("says: it is in use" in str(one.h.model.last.messages)) is ("in use" in typed)


@pytest.mark.long
@pytest.mark.parametrize("typed", ["yes", "5", "１", "once please", "what is that?"])
def test_other_messages_wait_and_answer_nothing(chat: MakeChat, typed: str) -> None:
    one = chat(*launches(), "about that")
    _, waits, answered = told(one, typed, "1")
    assert waits.startswith(WAITING)
    assert (answered, one.ran) == ("Answered: Allow once.", [True])
    one.h.run(one.heard("about that"))


def test_press_answers_its_own_question_once(chat: MakeChat) -> None:
    one = chat(*launches(2))

    async def press(question: str, user: str) -> str:
        return await one.say("Allow once", user, kind="press", question=question)

    async def story() -> None:
        await one.say("go")
        (question,) = await one.open()
        assert (await press(question.id, "bob")).startswith("You may not answer this question.")
        assert await press(question.id, "ann") == "Answered: Allow once."
        await one.heard("ok")
        assert (await one.say("go")).startswith("Allow launch?")
        assert (await press(question.id, "ann")).startswith("fake:ann has already answered")
        assert one.ran == [True]
        assert await one.say("deny") == "Answered: Deny."
        await one.heard("ok", 2)

    one.h.run(story())
    assert one.ran == [True]


def test_others_cannot_answer_and_their_messages_wait(chat: MakeChat) -> None:
    one = chat(*launches(), "hello bob")

    async def story() -> None:
        await one.say("go")
        assert (await one.say("/approve", "bob")).startswith("You may not answer this question.")
        assert (await one.say("1", "bob")).startswith(WAITING)
        assert (await one.say("/approve", chat="other")) == "No approval is waiting in this chat."
        assert one.ran == []
        assert await one.say("1") == "Answered: Allow once."
        await one.heard("ok")
        await one.heard("hello bob")

    one.h.run(story())


@pytest.mark.long
@pytest.mark.parametrize("more", [{"forwarded": "Bob"}, {"kind": "edit"}, {"kind": "reaction"}])
@pytest.mark.parametrize("text", ["1", "/approve", "/questions answer {} 1"])
def test_only_words_written_by_the_person_answer(
    chat: MakeChat, text: str, more: dict[str, str]
) -> None:
    one = chat(*launches(), "?", "?")

    async def story() -> None:
        await one.say("go")
        (question,) = await one.open()
        await one.h.channel.say(text.format(question.id), user="ann", **more)
        assert await one.say("/deny") == "Answered: Deny."
        await one.heard("ok")

    one.h.run(story())
    assert one.ran == []


def test_message_sent_before_the_question_was_readable_answers_nothing(chat: MakeChat) -> None:
    one = chat()

    async def story() -> None:
        await one.say("go")
        unread = await one.say("1", received=1.0)
        assert unread.startswith("That came before the question could be read.")
        assert await one.say("4") == "Answered: Deny."
        await one.heard("ok")

    one.h.run(story())
    assert one.ran == []


def test_several_open_questions_are_answered_by_id_or_reply(chat: MakeChat) -> None:
    one = chat([calls("look", target="moon"), calls("look", target="mars")], "ok")

    async def story() -> None:
        await one.say("go")
        await one.until(lambda reply: bool(reply.choices), 2)
        first, second = await one.open()
        assert first.id in await one.say("1")
        assert second.id in await one.say("/approve")
        listed = (await one.say("/questions")).splitlines()
        assert listed[0] == f"{first.id} · approval · look · fake:chat · 0 min · {{"
        assert len(listed) == 3
        shown = next(n for n, sent in enumerate(one.h.channel.sent) if sent.question == second.id)
        assert await one.say("4", reply_to=f"delivered-{shown + 1}") == "Answered: Deny."
        assert await one.say(f"/questions answer {first.id.lower()} once") == (
            "Answered: Allow once."
        )
        await one.heard("ok")

    one.h.run(story())
    assert [call.result.call.arguments["target"] for call in one.h.hooks["tool"]] == ["moon"]


def test_questions_are_listed_for_their_chat_and_for_the_operator(chat: MakeChat) -> None:
    one = chat()

    async def story() -> None:
        await one.say("go")
        assert "launch" in await one.say("/questions", "bob")
        assert await one.say("/questions", "bob", chat="bob") == "No question is open."
        assert "fake:chat" in (await one.h.asend("/questions")).text
        wrong = await one.say("/questions answer")
        assert wrong.startswith("Write /questions")
        assert (await one.say("/questions answer NOSUCH 1")).startswith("Question not found")
        (question,) = await one.open()
        answered = await one.h.asend(f"/questions answer {question.id} 1")
        assert answered.text == "Answered: Allow once."

    one.h.run(story())


def test_grant_covers_the_same_call_of_its_person(chat: MakeChat) -> None:
    one = chat(*launches(3))

    async def story() -> None:
        assert (await one.say("go")).startswith("Allow launch?")
        await one.say("always")
        await one.heard("ok")
        assert await one.say("go") == "ok"
        assert (await one.say("/grants", "bob")).startswith("No grants")
        assert (await one.say("/grants revoke 1", "bob")).startswith("Grant 1 not found")
        assert "fake:ann" in await one.say("/grants")
        assert (await one.say("/grants revoke 1")).startswith("Grant 1 is revoked")
        assert (await one.say("go")).startswith("Allow launch?")

    one.h.run(story())


@pytest.mark.long
@pytest.mark.parametrize(
    ("typed", "ran"), [("1", [True]), ("/approve", [True]), ("2", []), ("/deny", [])]
)
def test_once_offers_no_lasting_choice(
    chat: MakeChat, monkeypatch: pytest.MonkeyPatch, typed: str, ran: list[bool]
) -> None:
    monkeypatch.setattr(Launcher, "once", True)
    one = chat()
    assert told(one, "/approve always", typed)[1].startswith("'always' is not one of the choices")
    assert one.h.channel.sent[0].choices == ("Allow once", "Deny")
    assert one.ran == ran


def test_expired_question_refuses_the_call(chat: MakeChat) -> None:
    one = chat(*launches(), "what?", config={"approvals": {"expires": 0.2}})
    assert told(one)[0].startswith("Allow launch?")
    assert "no one approved it in time" in str(one.h.model.last.messages)
    assert one.h.run(one.say("/approve")) == "No approval is waiting in this chat."
    assert one.ran == []


def test_stopped_turn_closes_its_question(chat: MakeChat) -> None:
    one = chat()

    async def story() -> None:
        await one.say("go")
        await one.h.channel.say("/stop", user="ann")
        await one.heard("Stopped.")
        assert await one.say("/approve") == "No approval is waiting in this chat."
        assert await one.open() == []

    one.h.run(story())
    assert one.ran == []


def test_no_one_approves_where_nothing_says_who_may(chat: MakeChat) -> None:
    one = chat(config={"access": False})
    assert one.h.run(one.say("go")) == "ok"
    assert one.ran == []
    assert "no one can approve it" in str(one.h.model.last.messages)
