"""A person is blocked, or loses the admin role, during their turn."""

from __future__ import annotations

from typing import Any

import pytest
from hookline.testing import calls

from .conftest import LAUNCH, Chats, MakeChats, Run
from .test_cli import pairing
from .test_groups import Slow, slow

OPEN = {"admins": ["fake:boss"], "allow": ["fake:*"]}


def test_turn_of_a_blocked_person_calls_no_more_tools(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> Any:
        answer = await chats.begin("ann", "work")
        await slow(chats).begun.wait()
        await chats.say("boss", "/pair fake:ann block")
        slow(chats).go_on.set()
        await answer

    one = chats(Slow, model=[calls("wait"), calls("rank"), "done"], **OPEN)
    run(one, story)
    assert [call.result.call.name for call in one.h.hooks["tool"]] == ["wait"]
    assert "may no longer write here" in str(one.h.model.last.messages)


def test_approval_does_not_help_a_blocked_person(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> Any:
        await chats.say("boss", "hello")
        await chats.begin("ann", "launch it")
        await chats.until("boss", "For fake:ann")
        await chats.say("boss", "/pair fake:ann block")
        assert await chats.say("boss", "1") == "Answered: Allow once."
        await chats.until("ann", "done")

    one = chats(model=["hi", *LAUNCH], **OPEN)
    run(one, story)
    assert one.h.hooks["tool"] == []


@pytest.mark.slow
@pytest.mark.parametrize("chat", ["ann", "group"])
def test_removed_admin_cannot_approve(chats: MakeChats, run: Run, chat: str) -> None:
    """Ann was asked as an admin, about a call of her own."""

    async def story(chats: Chats) -> Any:
        await pairing(chats, "approve", "fake:ann", admin=True)
        await chats.begin("ann", "launch it", chat)
        await chats.until(chat, "Allow launch?")
        await pairing(chats, "revoke", "fake:ann")
        return await chats.say("ann", "Allow once", chat)

    one = chats(model=LAUNCH, **OPEN)
    told = run(one, story)
    assert told == "You may not answer this question. Nothing was changed."
    assert one.h.hooks["tool"] == []


IDS = ["\u0661\u0661\u0661", "\uff11\uff11\uff11", "111 ", "0111", "+111", "111\u200b", "@ann"]


@pytest.mark.long
@pytest.mark.parametrize("user", IDS)
def test_lookalike_of_an_admin_id_is_a_stranger(chats: MakeChats, run: Run, user: str) -> None:
    async def story(chats: Chats) -> list[Any]:
        return [await chats.say(user, text, sender="ann") for text in ("hello", "/pair")]

    hello, pair = run(chats(model=["hi"], admins=["fake:111", "fake:ann"]), story)
    assert hello.startswith("I do not know you yet.")
    assert pair is None
