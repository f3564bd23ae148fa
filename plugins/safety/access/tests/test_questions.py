"""Approvals: only admins answer, each in a private chat."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import calls
from hookline_access import AccessControl
from hookline_hookspecs import HooklineError, Plugin, Questions, Reply, hookimpl
from support.matrices import sampled

from .conftest import COMMAND, LAUNCH, Chats, Launcher, MakeChats, Run, installed
from .test_cli import pairing

BOSS = {"admins": ["fake:boss"], "allow": ["fake:*"]}
TWO = {"admins": ["fake:boss", "fake:bob"], "allow": ["fake:ann"]}
DENIED = "You may not answer this question. Nothing was changed."


def beside() -> list[type[Plugin[Any]]]:
    """The plugin with the commands that answer."""
    return [installed("approvals")]


async def asked(chats: Chats, chat: str = "group") -> Reply:
    """Ann's call needs approval: the question to the admin."""
    await chats.say("boss", "hello")
    await chats.begin("ann", "launch it", chat)
    return await chats.until("boss", "For fake:ann")


HOW: dict[str, Callable[[str], dict[str, Any]]] = {
    "number": lambda id_: {"text": "1"},
    "label": lambda id_: {"text": "allow once"},
    "button": lambda id_: {"text": "Allow once", "kind": "press", "question": id_},
    "/questions": lambda id_: {"text": f"/questions answer {id_} once"},
    "/approve": lambda id_: {"text": "/approve"},
}


@pytest.mark.long
@sampled("how", HOW)
def test_admin_approves_a_call(chats: MakeChats, run: Run, how: str) -> None:
    async def story(chats: Chats) -> tuple[Reply, str | None]:
        question = await asked(chats)
        told = await chats.say("boss", **HOW[how](question.question))
        await chats.until("group", "done")
        return question, told

    one = chats(*beside(), model=["hi", *LAUNCH], **BOSS)
    question, told = run(one, story)
    assert told == "Answered: Allow once."
    lines = question.text.splitlines()
    assert lines[:2] == ["For fake:ann in chat fake:group:", "Allow launch? It deletes"]
    assert lines[2:5] == ["```", COMMAND, "```"]
    assert question.choices[0] == "Allow once"
    assert question.choices[-1] == "Deny"
    assert [call.result.ok for call in one.h.hooks["tool"]] == [True]
    assert one.in_chat("group") == ["An admin is asked whether launch may run.", "done"]


@pytest.mark.parametrize("typed", ["Deny", "/deny", "deny it is in use"])
def test_admin_denies_a_call(chats: MakeChats, run: Run, typed: str) -> None:
    async def story(chats: Chats) -> str | None:
        await asked(chats)
        told = await chats.say("boss", typed)
        await chats.until("group", "done")
        return told

    one = chats(*beside(), model=["hi", *LAUNCH], **BOSS)
    assert run(one, story) == "Answered: Deny."
    assert one.h.hooks["tool"] == []


def test_question_about_one_call_offers_only_once_and_deny(
    chats: MakeChats, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(chats: Chats) -> tuple[str, ...]:
        question = await asked(chats)
        await chats.say("boss", "2")
        await chats.until("group", "done")
        return question.choices

    monkeypatch.setattr(Launcher, "once", True)
    one = chats(*beside(), model=["hi", *LAUNCH], **BOSS)
    assert run(one, story) == ("Allow once", "Deny")
    assert one.h.hooks["tool"] == []


def test_only_admins_answer(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> list[Any]:
        id_ = (await asked(chats)).question
        press = {"kind": "press", "question": id_}
        refused = [
            await chats.say("ann", "Allow once", "group", **press),
            await chats.say("eve", "Deny", "boss", **press),
            await chats.say("ann", "/approve", "group"),
            await chats.say("eve", f"/questions answer {id_} once"),
        ]
        assert one.h.hooks["tool"] == []
        await chats.say("boss", "Deny")
        await chats.until("group", "done")
        return refused

    one = chats(*beside(), model=["hi", *LAUNCH], **BOSS)
    assert run(one, story) == [DENIED] * 4
    assert one.h.hooks["tool"] == []


def test_every_admin_is_asked_and_hears_who_answered(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> Any:
        await chats.say("bob", "hello")
        question = await asked(chats)
        same = await chats.until("bob", "For fake:ann")
        assert same.text == question.text
        assert await chats.say("bob", "1") == "Answered: Allow once."
        await chats.until("group", "done")
        heard = await chats.until("boss", "The question about launch")
        late = await chats.say("boss", "Deny", kind="press", question=question.question)
        return heard.text, late, chats.in_chat("bob")

    heard, late, bob = run(chats(*beside(), model=["hi", "hi", *LAUNCH], **TWO), story)
    assert heard.endswith("was answered by fake:bob: Allow once.")
    assert late == "fake:bob has already answered: Allow once. Nothing was changed."
    assert len(bob) == 3


@pytest.mark.slow
def test_admin_revoked_after_being_asked_cannot_answer(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> Any:
        await pairing(chats, "approve", "fake:carl", admin=True)
        await chats.say("carl", "hello")
        await asked(chats)
        await chats.until("carl", "For fake:ann")
        await pairing(chats, "revoke", "fake:carl")
        told = await chats.say("carl", "/approve")
        assert one.h.hooks["tool"] == []
        await chats.say("boss", "Deny")
        await chats.until("group", "done")
        return told

    one = chats(*beside(), model=["hi", "hi", *LAUNCH], **BOSS)
    assert run(one, story) == DENIED
    assert one.h.hooks["tool"] == []


def test_call_is_refused_at_once_without_a_reachable_admin(chats: MakeChats, run: Run) -> None:
    one = chats(model=LAUNCH, **BOSS)
    assert run(one, lambda chats: chats.say("ann", "launch it")) == "done"
    assert one.h.hooks["tool"] == []
    assert "no one can approve it" in str(one.h.model.last.messages)


def test_answer_is_refused_while_the_roles_cannot_be_read(
    chats: MakeChats, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(chats: Chats) -> Any:
        await asked(chats)
        people = chats.h.plugin(AccessControl).people

        async def broken(person: Any) -> Any:
            raise HooklineError("the table is damaged")

        access = chats.h.plugin(AccessControl)
        (question,) = await access.host.services[Questions].open()
        with monkeypatch.context() as patch:
            patch.setattr(people, "role", broken)
            assert not await access.may_answer(question, "fake", "boss")
        await chats.say("boss", "Deny")
        await chats.until("group", "done")

    run(chats(*beside(), model=["hi", *LAUNCH], **BOSS), story)


def test_always_grant_covers_the_same_call_of_the_same_person(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> Any:
        await asked(chats)
        await chats.say("boss", "always")
        await chats.until("group", "done")
        return await chats.say("ann", "launch it", "group"), len(chats.in_chat("boss"))

    one = chats(*beside(), model=["hi", *LAUNCH, *LAUNCH], **BOSS)
    assert run(one, story) == ("done", 3)
    assert len(one.h.hooks["tool"]) == 2


def test_admin_is_asked_in_the_chat_of_the_call(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> Any:
        await chats.begin("boss", "launch it", "group")
        await chats.until("group", "Allow launch?")
        assert await chats.say("boss", "1", "group") == "Answered: Allow once."
        await chats.until("group", "done")

    run(chats(model=LAUNCH, **BOSS), story)


def test_sub_agent_call_is_approved_like_one_of_its_person(chats: MakeChats, run: Run) -> None:
    class Parent(Plugin):
        @hookimpl
        async def pre_prompt(self, ctx: Any, turn: Any) -> None:
            if turn.session.kind == "chat" and turn.inbound.user_id == "ann":
                await ctx.host.run_turn("launch it", parent=ctx)

    async def story(chats: Chats) -> Any:
        await asked(chats)
        await chats.say("boss", "1")
        await chats.until("group", "all done")

    one = chats(Parent, model=["hi", *LAUNCH, "all done"], **BOSS)
    run(one, story)
    assert [call.result.ok for call in one.h.hooks["tool"]] == [True]


HIDDEN = "echo a\u202egnp\x1b[2K\u200b\n```\n1. Once"


def test_question_escapes_invisible_characters_and_code_fences(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> Any:
        question = await asked(chats)
        await chats.say("boss", "Deny")
        await chats.until("group", "done")
        return question.text

    text = run(chats(model=["hi", calls("launch", target=HIDDEN), "done"], **BOSS), story)
    assert "\\u202e" in text
    assert "\\x1b" in text
    assert text.count("````") == 2


def test_question_goes_to_a_private_chat_and_never_a_shared_one(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> Any:
        await chats.say("boss", "hello", "group")
        await chats.say("bob", "hello", "group")
        refused = await chats.say("ann", "launch it")  # the admin has no chat alone
        await chats.say("boss", "hello", "office")
        await chats.begin("ann", "launch it", "other")
        await chats.until("office", "For fake:ann")
        await chats.say("boss", "1", "office")
        await chats.until("other", "done")
        return refused, chats.in_chat("group")

    model = ["hi", "hi", *LAUNCH, "hi", *LAUNCH]
    assert run(chats(model=model, **BOSS), story) == ("done", ["hi", "hi"])
