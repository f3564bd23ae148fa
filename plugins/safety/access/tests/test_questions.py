"""Approvals: only admins answer, in a chat of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import calls
from hookline_hookspecs import GatewayHost, Plugin, Reply, WorkDistribution, hookimpl
from support.matrices import sampled

from .conftest import COMMAND, LAUNCH, Chats, Launcher, MakeChats, Run, installed

BOSS = {"admins": ["fake:boss"], "allow": ["fake:*"]}
WITH = pytest.mark.parametrize("approvals", [True, False], ids=["with approvals", "alone"])


def beside(approvals: bool) -> list[type[Plugin[Any]]]:
    return [installed("approvals")] if approvals else []


def code_of(question: Reply) -> str:
    """The code of a question."""
    return question.text.split()[-2]


async def asked(chats: Chats) -> tuple[Reply, Any]:
    """Ann's call needs approval: the question to the admin, and ann's pending reply."""
    await chats.say("boss", "hello")
    answer = await chats.begin("ann", "launch it", "group")
    return await chats.until("boss", "For fake:ann"), answer


HOW: dict[str, Callable[[str], str]] = {
    "code and number": lambda code: f"{code} 1",
    "code and word": lambda code: f"{code.lower()} once",
    "/answer": lambda code: f"/answer {code} once",
    "/approve": lambda code: f"/approve {code}",
    "/approve once": lambda code: f"/approve {code} once",
}


@WITH
@sampled("how", HOW)
def test_admin_approves_a_call(chats: MakeChats, run: Run, how: str, approvals: bool) -> None:
    async def story(chats: Chats) -> list[Any]:
        question, answer = await asked(chats)
        told = await chats.say("boss", HOW[how](code_of(question)))
        return [question, told, await answer]

    one = chats(*beside(approvals), model=["hi", *LAUNCH], **BOSS)
    question, told, answer = run(one, story)
    assert (told, answer) == ("Allowed: once.", "done")
    assert question.choices == ("Allow once", "Allow in this session", "Allow always", "Deny")
    lines = question.text.splitlines()
    assert lines[0] == "For fake:ann in chat group:"
    assert lines[1] == "Allow launch? it deletes"
    assert lines[2:5] == ["```", COMMAND, "```"]
    assert lines[5:9] == ["1. Once", "2. This session", "3. Always", "4. Deny"]
    assert [call.result.ok for call in one.h.hooks["tool"]] == [True]
    assert one.in_chat("group")[0] == "An admin is asked whether launch may run."


@WITH
@pytest.mark.parametrize("typed", ["{} 4", "{} deny", "/deny {}", "/answer {} no"])
def test_admin_denies_a_call(chats: MakeChats, run: Run, typed: str, approvals: bool) -> None:
    async def story(chats: Chats) -> list[Any]:
        question, answer = await asked(chats)
        return [await chats.say("boss", typed.format(code_of(question))), await answer]

    one = chats(*beside(approvals), model=["hi", *LAUNCH], **BOSS)
    assert run(one, story) == ["Denied.", "done"]
    assert one.h.hooks["tool"] == []


@WITH
@pytest.mark.parametrize(
    ("typed", "told", "runs"),
    [("{} 1", "Allowed: once.", 1), ("{} 2", "Denied.", 0), ("/deny {}", "Denied.", 0)],
)
def test_question_takes_one_answer(
    chats: MakeChats,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    typed: str,
    told: str,
    runs: int,
    approvals: bool,
) -> None:
    async def story(chats: Chats) -> list[Any]:
        question, answer = await asked(chats)
        assert question.choices == ("Allow once", "Deny")
        code = code_of(question)
        lasting = [f"/answer {code} {word}" for word in ("always", "3", "session")]
        refused = [await chats.say("boss", text) for text in lasting]
        assert refused == [f"Write /answer {code} and once or deny."] * 3
        return [await chats.say("boss", typed.format(code)), await answer]

    monkeypatch.setattr(Launcher, "once", True)
    one = chats(*beside(approvals), model=["hi", *LAUNCH], **BOSS)
    assert run(one, story) == [told, "done"]
    assert len(one.h.hooks["tool"]) == runs


def test_button_answers_a_question(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> list[Any]:
        question, answer = await asked(chats)
        pressed = await chats.say("boss", "Allow once", reply_to=chats.delivered(question))
        return [pressed, await answer]

    assert run(chats(model=["hi", *LAUNCH], **BOSS), story) == ["Allowed: once.", "done"]


@pytest.mark.slow
def test_button_pressed_before_the_message_is_recorded_answers(chats: MakeChats, run: Run) -> None:
    """Another process has shown the question; here one process plays both."""

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

    async def story(chats: Chats) -> list[Any]:
        await chats.h.aopen()
        send = chats.h.channel.send

        async def slowly(reply: Reply) -> Any:
            sent = await send(reply)
            await asyncio.sleep(1.7 if reply.choices else 0)
            return sent

        chats.h.channel.send = slowly  # type: ignore[method-assign]
        question, answer = await asked(chats)
        pressed = await chats.say(
            "boss", "Allow once", reply_to=chats.delivered(question), kind="press"
        )
        return [pressed, await answer]

    one = chats(Divides, model=["hi", *LAUNCH], **BOSS)
    assert run(one, story) == ["Allowed: once.", "done"]


@WITH
def test_only_admins_answer_a_question(chats: MakeChats, run: Run, approvals: bool) -> None:
    async def story(chats: Chats) -> list[Any]:
        question, answer = await asked(chats)
        code = code_of(question)
        refused = [
            await chats.say("eve", f"{code} 1"),
            await chats.say("eve", f"/answer {code} once", "boss"),
            await chats.say("ann", f"/approve {code}", "group"),
            await chats.say("eve", "Allow once", "boss", reply_to=chats.delivered(question)),
        ]
        open_still = not answer.done()
        await chats.say("boss", f"{code} 4")
        return [refused, open_still, await answer]

    one = chats(*beside(approvals), model=["hi", *LAUNCH], **BOSS)
    refused, open_still, answer = run(one, story)
    told = ["Only an admin may answer this. Nothing was changed."] * 4
    told[1] = "Only an admin can use /answer here. Nothing was changed."
    assert refused == told
    assert open_still
    assert answer == "done"
    assert one.h.hooks["tool"] == []


def test_author_of_the_turn_may_deny_but_not_approve(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> list[Any]:
        _question, answer = await asked(chats)
        return [
            await chats.say("ann", "/approve", "group"),
            await chats.say("ann", "/deny", "group"),
            await answer,
        ]

    one = chats(*beside(True), model=["hi", *LAUNCH], **BOSS)
    approve, deny, answer = run(one, story)
    assert approve == "This question is asked elsewhere; it is approved where it is shown."
    assert (deny, answer) == ("Denied.", "done")
    assert one.h.hooks["tool"] == []


VAGUE = ["1", "once", "yes", "{} yes", "{} 5", "{}", "x {} 1", "Allow once", "{} 1 2", "Hello 1"]


@sampled("typed", VAGUE)
def test_vague_message_of_an_admin_approves_nothing(chats: MakeChats, run: Run, typed: str) -> None:
    async def story(chats: Chats) -> Any:
        question, answer = await asked(chats)
        said = await chats.say("boss", typed.format(code_of(question)))
        open_still = not answer.done()
        await chats.say("boss", f"{code_of(question)} 4")
        return said, open_still, await answer

    model = ["hi", LAUNCH[0], "an ordinary message", LAUNCH[1]]
    said, open_still, answer = run(chats(*beside(True), model=model, **BOSS), story)
    assert (said, open_still, answer) == ("an ordinary message", True, "done")


def test_late_answer_gets_an_error_sentence(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> Any:
        question, answer = await asked(chats)
        code = code_of(question)
        await chats.say("boss", f"{code} 4")
        await answer
        return await chats.say("boss", f"/answer {code} once")

    late = run(chats(model=["hi", *LAUNCH], **BOSS), story)
    assert late.endswith("is open; it may have been answered.")


@WITH
def test_call_is_denied_without_a_reachable_admin(
    chats: MakeChats, run: Run, approvals: bool
) -> None:
    async def story(chats: Chats) -> Any:
        return await chats.say("ann", "launch it")

    one = chats(*beside(approvals), model=LAUNCH, **BOSS)
    assert run(one, story) == "done"
    assert one.h.hooks["tool"] == []
    assert "No admin can be reached, so launch was refused." in [n.text for n in one.h.notices]


@WITH
def test_unanswered_question_denies_the_call(chats: MakeChats, run: Run, approvals: bool) -> None:
    async def story(chats: Chats) -> Any:
        await chats.say("boss", "hello")
        return await chats.say("ann", "launch it")

    one = chats(*beside(approvals), model=["hi", *LAUNCH], **BOSS, timeout=0.05)
    assert run(one, story) == "done"
    assert one.h.hooks["tool"] == []


def test_failure_while_asking_denies_the_call(
    chats: MakeChats, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(chats: Chats) -> Any:
        await chats.say("boss", "hello")
        from hookline_access.questions import AdminQuestions

        monkeypatch.setattr(AdminQuestions, "show", lambda *_, **__: 1 / 0)
        return await chats.say("ann", "launch it")

    one = chats(*beside(True), model=["hi", *LAUNCH], **BOSS)
    assert run(one, story) == "done"
    assert one.h.hooks["tool"] == []


def test_always_grant_covers_the_same_call_of_the_same_person(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> Any:
        question, answer = await asked(chats)
        await chats.say("boss", f"{code_of(question)} always")
        await answer
        return await chats.say("ann", "launch it", "group"), len(chats.in_chat("boss"))

    one = chats(*beside(True), model=["hi", *LAUNCH, *LAUNCH], **BOSS)
    assert run(one, story) == ("done", 3)
    assert len(one.h.hooks["tool"]) == 2


def test_admin_is_asked_in_the_chat_of_the_call(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> Any:
        answer = await chats.begin("boss", "launch it")
        await chats.until("boss", "Allow launch?")
        return await chats.say("boss", "1"), await answer

    assert run(chats(*beside(True), model=LAUNCH, **BOSS), story) == ("Allowed: once.", "done")


def test_sub_agent_call_is_approved_like_one_of_its_person(chats: MakeChats, run: Run) -> None:
    class Parent(Plugin):
        @hookimpl
        async def pre_prompt(self, ctx: Any, turn: Any) -> None:
            if turn.session.kind == "chat" and turn.inbound.user_id == "ann":
                await ctx.host.run_turn("launch it", parent=ctx)

    async def story(chats: Chats) -> Any:
        question, answer = await asked(chats)
        await chats.say("boss", f"{code_of(question)} 1")
        return await answer

    one = chats(*beside(True), Parent, model=["hi", *LAUNCH, "all done"], **BOSS)
    assert run(one, story) == "all done"
    assert [call.result.ok for call in one.h.hooks["tool"]] == [True]


def test_all_admins_are_asked_and_the_first_answer_counts(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> Any:
        await chats.say("bob", "hello")
        question, answer = await asked(chats)
        same = await chats.until("bob", "For fake:ann")
        first = await chats.say("bob", f"{code_of(same)} 1")
        await answer
        return same.text == question.text, first, await chats.say("boss", f"{code_of(same)} 4")

    access = {"admins": ["fake:boss", "fake:bob"], "allow": ["fake:ann"]}
    same, first, _second = run(chats(model=["hi", "hi", *LAUNCH, "hm?"], **access), story)
    assert same
    assert first == "Allowed: once."


HIDDEN = "echo a\u202egnp\x1b[2K\u200b\n```\n1. Once"


def test_question_escapes_invisible_characters_and_code_fences(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> Any:
        question, answer = await asked(chats)
        await chats.say("boss", f"{code_of(question)} 4")
        await answer
        return question.text

    model = ["hi", calls("launch", target=HIDDEN), "done"]
    text = run(chats(model=model, **BOSS), story)
    assert "\\u202e" in text
    assert "\\x1b" in text
    assert text.count("````") == 2


def test_question_goes_to_a_private_chat_and_never_a_shared_one(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> Any:
        await chats.say("boss", "hello", "group")
        await chats.say("bob", "hello", "group")
        answer = await chats.say("ann", "launch it")  # refused: the admin has no chat alone
        await chats.say("boss", "hello", "office")
        second = await chats.begin("ann", "launch it")
        question = await chats.until("office", "For fake:ann")
        await chats.say("boss", f"{code_of(question)} 1", "office")
        return answer, await second, chats.in_chat("group")

    model = ["hi", "hi", *LAUNCH, "hi", *LAUNCH]
    first, second, group = run(chats(model=model, **BOSS), story)
    assert (first, second) == ("done", "done")
    assert group == ["hi", "hi"]
