"""Approvals: only an admin answers, in a chat of the admin's own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import calls
from hookline_hookspecs import GatewayHost, Plugin, Reply, WorkDistribution, hookimpl
from support.matrices import sampled

from .conftest import COMMAND, LAUNCH, Launcher, MakeTown, Run, Town, installed

BOSS = {"admins": ["fake:boss"], "allow": ["fake:*"]}
WITH = pytest.mark.parametrize("approvals", [True, False], ids=["with approvals", "alone"])


def beside(approvals: bool) -> list[type[Plugin[Any]]]:
    return [installed("approvals")] if approvals else []


def code_of(question: Reply) -> str:
    """The code of a question."""
    return question.text.split()[-2]


async def asked(town: Town) -> tuple[Reply, Any]:
    """The admin says hello, ann wants to launch: the question, and ann's answer to come."""
    await town.say("boss", "hello")
    answer = await town.begin("ann", "launch it", "group")
    return await town.until("boss", "For fake:ann"), answer


HOW: dict[str, Callable[[str], str]] = {
    "code and number": lambda code: f"{code} 1",
    "code and word": lambda code: f"{code.lower()} once",
    "/answer": lambda code: f"/answer {code} once",
    "/approve": lambda code: f"/approve {code}",
    "/approve once": lambda code: f"/approve {code} once",
}


@WITH
@sampled("how", HOW)
def test_admin_approves_a_call(town: MakeTown, run: Run, how: str, approvals: bool) -> None:
    async def story(town: Town) -> list[Any]:
        question, answer = await asked(town)
        told = await town.say("boss", HOW[how](code_of(question)))
        return [question, told, await answer]

    one = town(*beside(approvals), model=["hi", *LAUNCH], **BOSS)
    question, told, answer = run(one, story)
    assert (told, answer) == ("Allowed: once.", "done")
    assert question.choices == ("Once", "This session", "Always", "Deny")
    lines = question.text.splitlines()
    assert lines[0] == "For fake:ann in chat group:"
    assert lines[1] == "Allow launch? it deletes"
    assert lines[2:5] == ["```", COMMAND, "```"]
    assert lines[5:9] == ["1. Once", "2. This session", "3. Always", "4. Deny"]
    assert [call.result.ok for call in one.h.hooks["tool"]] == [True]
    assert one.in_chat("group")[0] == "An admin is asked whether launch may run."


@WITH
@pytest.mark.parametrize("typed", ["{} 4", "{} deny", "/deny {}", "/answer {} no"])
def test_admin_denies_a_call(town: MakeTown, run: Run, typed: str, approvals: bool) -> None:
    async def story(town: Town) -> list[Any]:
        question, answer = await asked(town)
        return [await town.say("boss", typed.format(code_of(question))), await answer]

    one = town(*beside(approvals), model=["hi", *LAUNCH], **BOSS)
    assert run(one, story) == ["Denied.", "done"]
    assert one.h.hooks["tool"] == []


@WITH
@pytest.mark.parametrize(
    ("typed", "told", "runs"),
    [("{} 1", "Allowed: once.", 1), ("{} 2", "Denied.", 0), ("/deny {}", "Denied.", 0)],
)
def test_question_takes_one_answer(
    town: MakeTown,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    typed: str,
    told: str,
    runs: int,
    approvals: bool,
) -> None:
    async def story(town: Town) -> list[Any]:
        question, answer = await asked(town)
        assert question.choices == ("Once", "Deny")
        code = code_of(question)
        lasting = [f"/answer {code} {word}" for word in ("always", "3", "session")]
        refused = [await town.say("boss", text) for text in lasting]
        assert refused == [f"Write /answer {code} and once or deny."] * 3
        return [await town.say("boss", typed.format(code)), await answer]

    monkeypatch.setattr(Launcher, "once", True)
    one = town(*beside(approvals), model=["hi", *LAUNCH], **BOSS)
    assert run(one, story) == [told, "done"]
    assert len(one.h.hooks["tool"]) == runs


def test_button_answers_a_question(town: MakeTown, run: Run) -> None:
    async def story(town: Town) -> list[Any]:
        question, answer = await asked(town)
        pressed = await town.say("boss", "Once", reply_to=town.delivered(question))
        return [pressed, await answer]

    assert run(town(model=["hi", *LAUNCH], **BOSS), story) == ["Allowed: once.", "done"]


def test_button_pressed_before_the_message_is_recorded_answers(town: MakeTown, run: Run) -> None:
    """Where another process has shown it: here one process plays both."""

    class Divides(Plugin):
        is_shared = True
        runs_turns_here = True

        @hookimpl
        def setup(self, host: Any) -> None:
            host.services.provide(WorkDistribution, self)

        def sends(self, channel: str) -> bool:
            return True

        def received(self, channel: str, chat_id: str, answer: Any) -> None:
            self.host.spawn(self.host.services[GatewayHost].recover(channel, chat_id), "work")

        def replied(self, channel: str, chat_id: str) -> None: ...

    async def story(town: Town) -> list[Any]:
        await town.h.aopen()
        send = town.h.channel.send

        async def slowly(reply: Reply) -> Any:
            sent = await send(reply)
            await asyncio.sleep(1.7 if reply.choices else 0)
            return sent

        town.h.channel.send = slowly  # type: ignore[method-assign]
        question, answer = await asked(town)
        pressed = await town.say("boss", "Once", reply_to=town.delivered(question), kind="press")
        return [pressed, await answer]

    one = town(Divides, model=["hi", *LAUNCH], **BOSS)
    assert run(one, story) == ["Allowed: once.", "done"]


@WITH
def test_only_admins_answer_a_question(town: MakeTown, run: Run, approvals: bool) -> None:
    async def story(town: Town) -> list[Any]:
        question, answer = await asked(town)
        code = code_of(question)
        refused = [
            await town.say("eve", f"{code} 1"),
            await town.say("eve", f"/answer {code} once", "boss"),
            await town.say("ann", f"/approve {code}", "group"),
            await town.say("eve", "Once", "boss", reply_to=town.delivered(question)),
        ]
        open_still = not answer.done()
        await town.say("boss", f"{code} 4")
        return [refused, open_still, await answer]

    one = town(*beside(approvals), model=["hi", *LAUNCH], **BOSS)
    refused, open_still, answer = run(one, story)
    told = ["Only an admin may answer this. Nothing was changed."] * 4
    told[1] = "Only an admin can use /answer here. Nothing was changed."
    assert refused == told
    assert open_still
    assert answer == "done"
    assert one.h.hooks["tool"] == []


def test_author_of_the_turn_may_deny_but_not_approve(town: MakeTown, run: Run) -> None:
    async def story(town: Town) -> list[Any]:
        _question, answer = await asked(town)
        return [
            await town.say("ann", "/approve", "group"),
            await town.say("ann", "/deny", "group"),
            await answer,
        ]

    one = town(*beside(True), model=["hi", *LAUNCH], **BOSS)
    approve, deny, answer = run(one, story)
    assert approve == "This question is asked elsewhere; it is approved where it is shown."
    assert (deny, answer) == ("Denied.", "done")
    assert one.h.hooks["tool"] == []


VAGUE = ["1", "once", "yes", "{} yes", "{} 5", "{}", "x {} 1", "Once", "{} 1 2", "Hello 1"]


@sampled("typed", VAGUE)
def test_vague_message_of_an_admin_approves_nothing(town: MakeTown, run: Run, typed: str) -> None:
    async def story(town: Town) -> Any:
        question, answer = await asked(town)
        said = await town.say("boss", typed.format(code_of(question)))
        open_still = not answer.done()
        await town.say("boss", f"{code_of(question)} 4")
        return said, open_still, await answer

    model = ["hi", LAUNCH[0], "an ordinary message", LAUNCH[1]]
    said, open_still, answer = run(town(*beside(True), model=model, **BOSS), story)
    assert (said, open_still, answer) == ("an ordinary message", True, "done")


def test_late_answer_gets_an_error_sentence(town: MakeTown, run: Run) -> None:
    async def story(town: Town) -> Any:
        question, answer = await asked(town)
        code = code_of(question)
        await town.say("boss", f"{code} 4")
        await answer
        return await town.say("boss", f"/answer {code} once")

    late = run(town(model=["hi", *LAUNCH], **BOSS), story)
    assert late.endswith("is open; it may have been answered.")


@WITH
def test_call_is_denied_without_a_reachable_admin(
    town: MakeTown, run: Run, approvals: bool
) -> None:
    async def story(town: Town) -> Any:
        return await town.say("ann", "launch it")

    one = town(*beside(approvals), model=LAUNCH, **BOSS)
    assert run(one, story) == "done"
    assert one.h.hooks["tool"] == []
    assert "No admin can be reached, so launch was refused." in [n.text for n in one.h.notices]


@WITH
def test_unanswered_question_denies_the_call(town: MakeTown, run: Run, approvals: bool) -> None:
    async def story(town: Town) -> Any:
        await town.say("boss", "hello")
        return await town.say("ann", "launch it")

    one = town(*beside(approvals), model=["hi", *LAUNCH], **BOSS, timeout=0.05)
    assert run(one, story) == "done"
    assert one.h.hooks["tool"] == []


def test_failure_while_asking_denies_the_call(
    town: MakeTown, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(town: Town) -> Any:
        await town.say("boss", "hello")
        from hookline_access.questions import AdminQuestions

        monkeypatch.setattr(AdminQuestions, "show", lambda *_, **__: 1 / 0)
        return await town.say("ann", "launch it")

    one = town(*beside(True), model=["hi", *LAUNCH], **BOSS)
    assert run(one, story) == "done"
    assert one.h.hooks["tool"] == []


def test_always_grant_covers_the_same_call_of_the_same_person(town: MakeTown, run: Run) -> None:
    async def story(town: Town) -> Any:
        question, answer = await asked(town)
        await town.say("boss", f"{code_of(question)} always")
        await answer
        return await town.say("ann", "launch it", "group"), len(town.in_chat("boss"))

    one = town(*beside(True), model=["hi", *LAUNCH, *LAUNCH], **BOSS)
    assert run(one, story) == ("done", 3)
    assert len(one.h.hooks["tool"]) == 2


def test_admin_is_asked_in_the_chat_of_the_call(town: MakeTown, run: Run) -> None:
    async def story(town: Town) -> Any:
        answer = await town.begin("boss", "launch it")
        await town.until("boss", "Allow launch?")
        return await town.say("boss", "1"), await answer

    assert run(town(*beside(True), model=LAUNCH, **BOSS), story) == ("Allowed: once.", "done")


def test_sub_agent_call_is_approved_like_one_of_its_person(town: MakeTown, run: Run) -> None:
    class Parent(Plugin):
        @hookimpl
        async def pre_prompt(self, ctx: Any, turn: Any) -> None:
            if turn.session.kind == "chat" and turn.inbound.user_id == "ann":
                await ctx.host.run_turn("launch it", parent=ctx)

    async def story(town: Town) -> Any:
        question, answer = await asked(town)
        await town.say("boss", f"{code_of(question)} 1")
        return await answer

    one = town(*beside(True), Parent, model=["hi", *LAUNCH, "all done"], **BOSS)
    assert run(one, story) == "all done"
    assert [call.result.ok for call in one.h.hooks["tool"]] == [True]


def test_all_admins_are_asked_and_the_first_answer_counts(town: MakeTown, run: Run) -> None:
    async def story(town: Town) -> Any:
        await town.say("bob", "hello")
        question, answer = await asked(town)
        same = await town.until("bob", "For fake:ann")
        first = await town.say("bob", f"{code_of(same)} 1")
        await answer
        return same.text == question.text, first, await town.say("boss", f"{code_of(same)} 4")

    access = {"admins": ["fake:boss", "fake:bob"], "allow": ["fake:ann"]}
    same, first, _second = run(town(model=["hi", "hi", *LAUNCH, "hm?"], **access), story)
    assert same
    assert first == "Allowed: once."


HIDDEN = "echo a\u202egnp\x1b[2K\u200b\n```\n1. Once"


def test_question_escapes_invisible_characters_and_code_fences(town: MakeTown, run: Run) -> None:
    async def story(town: Town) -> Any:
        question, answer = await asked(town)
        await town.say("boss", f"{code_of(question)} 4")
        await answer
        return question.text

    model = ["hi", calls("launch", target=HIDDEN), "done"]
    text = run(town(model=model, **BOSS), story)
    assert "\\u202e" in text
    assert "\\x1b" in text
    assert text.count("````") == 2


def test_question_goes_to_a_private_chat_and_never_a_shared_one(town: MakeTown, run: Run) -> None:
    async def story(town: Town) -> Any:
        await town.say("boss", "hello", "group")
        await town.say("bob", "hello", "group")
        answer = await town.say("ann", "launch it")  # refused: the admin has no chat alone
        await town.say("boss", "hello", "office")
        second = await town.begin("ann", "launch it")
        question = await town.until("office", "For fake:ann")
        await town.say("boss", f"{code_of(question)} 1", "office")
        return answer, await second, town.in_chat("group")

    model = ["hi", "hi", *LAUNCH, "hi", *LAUNCH]
    first, second, group = run(town(model=model, **BOSS), story)
    assert (first, second) == ("done", "done")
    assert group == ["hi", "hi"]
