"""Questions in chats: who answers, what an answer does, and what becomes of a parked turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import entry_points
from typing import Any

import pytest
from hookline.testing import calls
from hookline.testing.harness import EveryoneMayAnswer
from hookline_hookspecs import (
    Ask,
    Deny,
    Inbound,
    Plugin,
    Question,
    Questions,
    ToolCall,
    hookimpl,
    tool,
)
from hookline_hookspecs.forms import FormField
from hookline_hookspecs.gateway import GatewayHost
from hookline_hookspecs.optional_services import Access, ApprovalPolicy
from hookline_hookspecs.questions import (
    ALLOW_ONCE,
    ALLOW_SESSION,
    QuestionClosed,
    QuestionError,
    StoredQuestion,
)
from hookline_hookspecs.tool_results import ToolResult

Make = Callable[..., Any]
CLOSED = "That question is already answered or closed. Nothing was changed."


class UserAndBoss(EveryoneMayAnswer):
    async def may_answer(self, question: StoredQuestion, channel: str, user_id: str) -> bool:
        return user_id in ("user", "boss")


class People(Plugin):
    """Who may answer: user and boss. Questions are shown in the turn's own chat."""

    @hookimpl
    def setup(self, host: Any) -> None:
        host.services.provide(Access, UserAndBoss())


class Work(Plugin):
    """A tool that counts its runs."""

    @hookimpl
    def setup(self, host: Any) -> None:
        self.ran: list[str] = []

    @tool
    def launch(self, target: str) -> str:
        """Launch something."""
        self.ran.append(target)
        return "launched"


class Guard(Plugin):
    """Asks about every launch."""

    @hookimpl
    def pre_tool(self, ctx: Any, call: ToolCall) -> Ask | Deny | None:
        return Ask("it leaves the machine", "launch it") if call.name == "launch" else None


class StrictGuard(Plugin):
    """Refuses every launch."""

    @hookimpl
    def pre_tool(self, ctx: Any, call: ToolCall) -> Ask | Deny | None:
        return Deny("launches are over")


class Asks(Plugin):
    """A tool that ends the turn with a question."""

    @tool(read_only=True)
    def pick(self) -> ToolResult:
        """Ask."""
        data = Question("Which colour?", ("Red", "Blue"))
        return ToolResult(ToolCall("", "", {}), "Asked.", data=data)


LAUNCH = [[calls("launch", target="moon")], "done"]


async def parked(h: Any, *, text: str = "go", **options: Any) -> StoredQuestion:
    """Send a message, and return the question that its turn waits for."""
    await h.aopen()
    await h.runtime.gateway_host.recover()
    await h.channel.say(text, **options)
    await until(lambda: any(one.question for one in h.channel.sent))
    await h.runtime.finish_background(5)
    (question,) = await h.runtime.engine.services[Questions].open()
    assert [one.text for one in h.channel.sent if one.kind == "answer"] == []
    return question


async def until(found: Callable[[], Any], seconds: float = 10.0) -> None:
    async with asyncio.timeout(seconds):
        while not found():
            await asyncio.sleep(0.01)


async def press(h: Any, question: str, label: str, **options: Any) -> None:
    await h.channel.say(label, kind="press", question=question, target="delivered-1", **options)


def told(h: Any) -> str:
    """What the model was told of the call."""
    (block,) = h.model.last.messages[-1].blocks
    return str(block.text)


def texts(h: Any) -> list[str]:
    return [one.text for one in h.channel.sent]


@pytest.mark.parametrize("how", ["button", "number", "label", "button without an id"])
async def test_answer_in_the_chat_runs_the_call_once(harness: Make, how: str) -> None:
    h = harness(People, Work, Guard, model=LAUNCH)
    question = await parked(h)
    assert h.plugin(Work).ran == []
    if how.startswith("button"):
        await press(h, question.id if how == "button" else "", "Allow once")
    else:
        await h.channel.say({"number": "1", "label": "allow once"}[how])
    await until(lambda: "done" in texts(h))
    await press(h, question.id, "Allow once", message_id="later")
    await until(lambda: CLOSED in texts(h) or "has already answered" in texts(h)[-1])
    assert h.plugin(Work).ran == ["moon"]
    assert texts(h).count("done") == 1
    assert texts(h).count("Answered: Allow once.") == 1


async def test_first_of_two_answers_counts(harness: Make) -> None:
    h = harness(People, Work, Guard, model=LAUNCH)
    question = await parked(h)
    await asyncio.gather(
        press(h, question.id, "Allow once", user="boss", message_id="a"),
        press(h, question.id, "Deny", user="user", message_id="b"),
    )
    await until(lambda: "done" in texts(h) and len(texts(h)) >= 4)
    answered = [text for text in texts(h) if text.startswith("Answered: ")]
    refused = [text for text in texts(h) if "has already answered" in text]
    assert (len(answered), len(refused)) == (1, 1)
    assert h.plugin(Work).ran == (["moon"] if answered == ["Answered: Allow once."] else [])


async def test_only_people_who_may_answer_do(harness: Make) -> None:
    h = harness(People, Work, Guard, model=LAUNCH)
    question = await parked(h)
    await press(h, question.id, "Allow once", user="eve")
    await until(lambda: "You may not answer this question. Nothing was changed." in texts(h))
    assert (await h.runtime.engine.services[Questions].get(question.id)).state == "open"
    assert h.plugin(Work).ran == []


async def test_late_answer_does_not_run_the_call(harness: Make, clock: Any) -> None:
    h = harness(People, Work, Guard, model=LAUNCH)
    question = await parked(h)
    clock.ahead(25 * 3600)
    await press(h, question.id, "Allow once")
    await until(lambda: "done" in texts(h))
    assert "That question has expired. Nothing was changed." in texts(h)
    assert h.plugin(Work).ran == []
    assert "no one approved it in time" in told(h)


async def test_stop_ends_the_parked_turn(harness: Make) -> None:
    h = harness(People, Work, Guard, model=[LAUNCH[0], "second"])
    question = await parked(h)
    await h.channel.say("/stop")
    await until(lambda: any("topped" in text for text in texts(h)[1:]))
    await press(h, question.id, "Allow once")
    await until(lambda: CLOSED in texts(h))
    await h.channel.say("next")
    await until(lambda: "second" in texts(h))
    assert h.plugin(Work).ran == []


async def test_messages_wait_in_order_behind_the_question(harness: Make) -> None:
    h = harness(People, Work, Guard, model=[*LAUNCH, "first", "third"])
    question = await parked(h)
    for text in ("one", "two", "three"):
        await h.channel.say(text, message_id=text)
    await until(lambda: len(texts(h)) == 4)
    await h.runtime.gateway_host.recover()
    assert await h.runtime.gateway_host.withdraw("fake", "chat", "two")
    await press(h, question.id, "Allow once")
    await until(lambda: "third" in texts(h))
    answers = [text for text in texts(h) if text in ("done", "first", "third")]
    assert answers == ["done", "first", "third"]
    said = [m.text for m in h.model.last.messages if m.role == "user" and m.text]
    assert said == ["go", "one", "three"]


@pytest.mark.parametrize(
    ("plugins", "ran", "result"),
    [
        ((Work,), ["moon"], "launched"),
        ((Work, StrictGuard), [], "Denied: launches are over"),
        ((Guard,), [], "launch is no longer available"),
    ],
    ids=["guard is gone", "guard denies", "tool is gone"],
)
async def test_changed_configuration_decides_again(
    harness: Make, plugins: tuple[Any, ...], ran: list[str], result: str
) -> None:
    first = harness(People, Work, Guard, model=LAUNCH)
    question = await parked(first)
    await first.aclose()
    h = harness(People, *plugins, model=["done"], home=first.home)
    await h.aopen()
    await h.runtime.gateway_host.recover()
    assert [one.id for one in await h.runtime.engine.services[Questions].open()] == [question.id]
    assert h.model.requests == []
    await press(h, question.id, "Allow once", message_id="press")
    await until(lambda: "done" in texts(h))
    if Work in plugins:
        assert h.plugin(Work).ran == ran
    assert result in told(h)


async def test_answer_of_another_process_continues_the_turn_soon(harness: Make) -> None:
    h = harness(People, Work, Guard, model=LAUNCH)
    question = await parked(h)
    other = harness(People, Work, Guard, model=[], home=h.home)
    await other.aopen()
    questions = other.runtime.engine.services[Questions]
    await questions.answer(question.id, "1", "fake", "boss")
    with pytest.raises(QuestionClosed, match="fake:boss has already answered: Allow once"):
        await questions.answer(question.id, "2", "terminal", "")
    await until(lambda: "done" in texts(h), seconds=5.0)
    assert h.plugin(Work).ran == ["moon"]
    assert f"The question about launch ({question.id}) was answered by fake:boss: Allow once." in (
        texts(h)
    )


async def test_press_on_the_reply_that_asks_becomes_the_answer_once(harness: Make) -> None:
    h = harness(People, Asks, model=[[calls("pick")], "thanks", "later"])
    await h.aopen()
    await h.runtime.gateway_host.recover()
    await h.channel.say("paint")
    (shown,) = await h.channel.replies(1)
    assert shown.question
    assert shown.choices == ("Red", "Blue")
    await press(h, shown.question, "Red", user="eve")
    await press(h, shown.question, "Red", message_id="press")
    await until(lambda: "thanks" in texts(h))
    assert h.model.last.messages[-1].text == "Red"
    await press(h, shown.question, "Blue", message_id="press again")
    await until(lambda: len(texts(h)) == 4)
    assert "You may not answer this question. Nothing was changed." in texts(h)
    assert "has already answered: Red" in texts(h)[-1]
    assert len(h.model.requests) == 2


async def test_press_is_refused_after_the_next_turn_began(harness: Make) -> None:
    h = harness(People, Asks, model=[[calls("pick")], "fine"])
    await h.aopen()
    await h.channel.say("paint")
    (shown,) = await h.channel.replies(1)
    await h.channel.say("something else")
    await h.channel.replies(2)
    await press(h, shown.question, "Red")
    await h.channel.replies(3)
    assert texts(h)[1:] == ["fine", CLOSED]


async def test_press_of_an_unknown_button_is_no_message(harness: Make) -> None:
    h = harness(People, model=[])
    await h.aopen()
    for text in ("", "Red"):
        await h.channel.say(text, kind="press", target="old")
    await h.channel.replies(2)
    assert texts(h) == [CLOSED, CLOSED]


async def test_press_stored_by_a_dead_process_answers(harness: Make) -> None:
    """Its process died between storing it and answering."""
    h = harness(People, Work, Guard, model=LAUNCH)
    question = await parked(h)
    inbound = Inbound(
        "fake", "chat", "user", "p1", "Allow once", kind="press", question=question.id
    )
    _, stored = h.runtime.engine.journal.receive(inbound, durable=True)
    await stored
    await h.aclose()
    other = harness(People, Work, Guard, model=["done"], home=h.home)
    await other.aopen()
    await other.runtime.gateway_host.recover()
    await until(lambda: "done" in texts(other))
    assert other.plugin(Work).ran == ["moon"]


async def test_answer_typed_before_the_kill_is_not_a_message_afterwards(harness: Make) -> None:
    """Its process died between answering and closing the message."""
    h = harness(People, Work, Guard, model=LAUNCH)
    question = await parked(h)
    inbound = Inbound("fake", "chat", "user", "typed", "1")
    _, stored = h.runtime.engine.journal.receive(inbound, durable=True)
    await stored
    service = h.runtime.engine.services[Questions]
    await service.answer(question.id, "1", "fake", "user", message_id="typed")
    await until(lambda: "done" in texts(h))
    await h.runtime.gateway_host.recover()
    await until(lambda: "Answered: Allow once." in texts(h))
    assert h.plugin(Work).ran == ["moon"]
    assert len(h.model.requests) == 2


class Interrupted(Plugin):
    """Keeps a question from being shown until the process ends."""

    @hookimpl
    async def on_question(self, ctx: Any, question: Question) -> None:
        await asyncio.sleep(3600)


class QuickBoss(Plugin):
    """Answers a question while its turn is about to be parked."""

    @hookimpl
    async def on_question(self, ctx: Any, question: Question) -> None:
        await self.host.services.get(Questions).answer(question.id, "1", "fake", "boss")


async def test_answer_before_a_resumed_turn_is_parked_continues_it(harness: Make) -> None:
    first = harness(People, Work, Guard, Interrupted, model=LAUNCH)
    await first.aopen()
    await first.channel.say("go")
    async with asyncio.timeout(10):
        while not await first.runtime.engine.services[Questions].open():
            await asyncio.sleep(0.01)
    await first.aclose()
    h = harness(People, Work, Guard, QuickBoss, model=["done"], home=first.home)
    await h.aopen()
    await h.runtime.gateway_host.recover()
    await until(lambda: "done" in texts(h))
    assert h.plugin(Work).ran == ["moon"]


async def test_host_service_refuses_what_is_no_choice(harness: Make) -> None:
    h = harness(People, Work, Guard, model=LAUNCH)
    question = await parked(h)
    assert GatewayHost in h.runtime.engine.services
    with pytest.raises(QuestionError, match="'perhaps' is not one of the choices"):
        await h.runtime.engine.services[Questions].answer(question.id, "perhaps", "fake", "boss")


class AsksForm(Plugin):
    """A tool that asks for two values."""

    @tool(read_only=True)
    async def book(self, ctx: Any) -> str:
        """Book."""
        fields = (
            FormField("seats", "How many?", "integer", maximum=8),
            FormField("place", "Where?", options=(("in", "Inside"), ("out", "Outside"))),
        )
        question = Question("A table?", ("Decline",), kind="form", fields=fields)
        return str(await ctx.ask(question))


async def _form(harness: Make, *typed: str) -> tuple[Any, list[str]]:
    h = harness
    await h.aopen()
    await h.runtime.gateway_host.recover()
    await h.channel.say("go")
    await until(lambda: any(one.question for one in h.channel.sent))
    (shown,) = [one for one in h.channel.sent if one.question]
    for number, text in enumerate(typed):
        await h.channel.say(text, reply_to=f"delivered-{h.channel.sent.index(shown) + 1}")
        await until(partial(_has_replies, h, 2 + number))
    await until(lambda: any(one.text == "done" for one in h.channel.sent))
    return shown, [one.text for one in h.channel.sent]


def _has_replies(h: Any, count: int) -> bool:
    return len(h.channel.sent) >= count


def test_form_is_one_question_that_a_reply_with_its_values_answers(harness: Make) -> None:
    h = harness(People, AsksForm, model=[[calls("book")], "done"])
    wrong = "seats: 9\nplace: outside"
    shown, texts = h.run(_form(h, wrong, "seats: 2\nplace: outside"))
    assert shown.choices == ("Decline",)
    assert "- seats: How many?\n- place: Where? (1 Inside, 2 Outside)" in shown.text
    assert "Nothing was sent. seats: the maximum is 8." in texts
    assert told(h) == '{"seats": 2, "place": "out"}'


def test_form_is_declined_by_its_button(harness: Make) -> None:
    h = harness(People, AsksForm, model=[[calls("book")], "done"])

    async def story() -> None:
        await h.aopen()
        await h.runtime.gateway_host.recover()
        await h.channel.say("go")
        await until(lambda: any(one.question for one in h.channel.sent))
        (shown,) = [one for one in h.channel.sent if one.question]
        await press(h, shown.question, "Decline")
        await until(lambda: any(one.text == "done" for one in h.channel.sent))

    h.run(story())
    assert told(h) == "Decline"


async def test_stop_of_a_parked_turn_is_one_line(harness: Make) -> None:
    commands = next(one for one in entry_points(group="hookline.plugins") if one.name == "commands")
    h = harness(People, Work, Guard, commands.load(), model=LAUNCH)
    await parked(h)
    await h.channel.say("/stop")
    await until(lambda: "Stopped." in texts(h))
    await h.runtime.finish_background(5)
    assert texts(h)[1:] == ["Stopped."]


class Looks(Plugin):
    """A tool that asks, although it only reads, and is therefore called in parallel."""

    @hookimpl
    def setup(self, host: Any) -> None:
        self.looked = 0
        host.services.provide(ApprovalPolicy, self)

    expires = 3600.0

    async def granted(self, ctx: Any, question: Question) -> str | None:
        return None

    async def scopes(self, ctx: Any, call: ToolCall) -> Sequence[str]:
        return (ALLOW_SESSION,)

    async def remember(self, ctx: Any, question: Question, answer: Any) -> None:
        pass

    @tool(read_only=True)
    def look(self, place: str) -> str:
        """Look."""
        self.looked += 1
        return "seen"

    @hookimpl
    def pre_tool(self, ctx: Any, call: ToolCall) -> Ask | None:
        return Ask("it is private", call.arguments["place"])

    @tool
    def touch(self, place: str) -> str:
        """Touch."""
        self.looked += 1
        return "touched"


async def asked(harness: Make, model: Any, count: int) -> Any:
    """A harness in which ``count`` questions are shown, and no more."""
    h = harness(People, Looks, model=model)
    await h.aopen()
    await h.runtime.gateway_host.recover()
    await h.channel.say("go")
    await until(lambda: len([one for one in h.channel.sent if one.question]) == count)
    assert len(await h.runtime.engine.services[Questions].open()) == count
    return h


async def test_scope_of_an_answer_leaves_the_question_of_another_call_open(harness: Make) -> None:
    h = await asked(harness, [[calls("look", place="a"), calls("look", place="b")], "done"], 2)
    questions = h.runtime.engine.services[Questions]
    first, second = await questions.open()
    await questions.answer(first.id, ALLOW_SESSION, "fake", "user")
    assert [one.id for one in await questions.open()] == [second.id]
    await questions.answer(second.id, "Deny", "fake", "user")
    await until(lambda: "done" in texts(h))
    assert h.plugin(Looks).looked == 1


@pytest.mark.parametrize(("choice", "ran"), [(ALLOW_ONCE, 2), ("Deny", 0)])
@pytest.mark.parametrize("name", ["look", "touch"])
async def test_identical_calls_of_a_response_are_one_question(
    harness: Make, name: str, choice: str, ran: int
) -> None:
    later = [calls(name, place="a")]
    h = await asked(harness, [[calls(name, place="a"), calls(name, place="a")], later, "done"], 1)
    questions = h.runtime.engine.services[Questions]
    (first,) = await questions.open()
    assert first.text.endswith("The model makes this call 2 times; the answer is for all of them.")
    await questions.answer(first.id, choice, "fake", "user")
    await until(lambda: len([one for one in h.channel.sent if one.question]) == 2)
    assert h.plugin(Looks).looked == ran
    (second,) = await questions.open()
    assert second.id != first.id, "an answer is not for a later response"
    await questions.answer(second.id, "Deny", "fake", "user")
    await until(lambda: "done" in texts(h))
    assert h.plugin(Looks).looked == ran


async def test_question_shows_markup_of_the_guard_as_it_is(harness: Make) -> None:
    class Marked(Plugin):
        @hookimpl
        def pre_tool(self, ctx: Any, call: ToolCall) -> Ask:
            return Ask("it is [safe](https://evil.example) **really**\n# Allowed", "launch it")

    h = harness(People, Work, Marked, model=LAUNCH)
    await parked(h)
    shown = texts(h)[0]
    assert r"It is \[safe\](https://evil.example) \*\*really\*\*" in shown
    assert "\n\\# Allowed" in shown
