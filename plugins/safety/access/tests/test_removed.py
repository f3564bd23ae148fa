"""Somebody is taken off the list, or is no admin any more, while their turn is under way."""

from __future__ import annotations

from typing import Any

import pytest
from hookline.testing import calls

from .conftest import LAUNCH, MakeTown, Run, Town, installed
from .test_cli import pairing
from .test_groups import Slow, slow

OPEN = {"admins": ["fake:boss"], "allow": ["fake:*"]}


def test_turn_of_a_blocked_person_calls_no_more_tools(town: MakeTown, run: Run) -> None:
    async def story(town: Town) -> Any:
        answer = await town.begin("ann", "work")
        await slow(town).begun.wait()
        await town.say("boss", "/pair fake:ann block")
        slow(town).go_on.set()
        await answer

    one = town(Slow, model=[calls("wait"), calls("rank"), "done"], **OPEN)
    run(one, story)
    assert [call.result.call.name for call in one.h.hooks["tool"]] == ["wait"]
    assert "may no longer write here" in str(one.h.model.last.messages)


@pytest.mark.parametrize("approvals", [True, False])
def test_approval_does_not_help_a_blocked_person(town: MakeTown, run: Run, approvals: bool) -> None:
    async def story(town: Town) -> Any:
        await town.say("boss", "hello")
        answer = await town.begin("ann", "launch it")
        question = await town.until("boss", "For fake:ann")
        await town.say("boss", "/pair fake:ann block")
        await town.say("boss", f"{question.text.split()[-2]} always")
        await answer

    beside = [installed("approvals")] if approvals else []
    one = town(*beside, model=["hi", *LAUNCH], **OPEN)
    run(one, story)
    assert one.h.hooks["tool"] == []


@pytest.mark.slow
@pytest.mark.parametrize("chat", ["ann", "group"])
def test_removed_admin_cannot_approve(town: MakeTown, run: Run, chat: str) -> None:
    """Ann was asked as an admin, about a call of her own."""

    async def story(town: Town) -> Any:
        await pairing(town, "approve", "fake:ann", admin=True)
        answer = await town.begin("ann", "launch it", chat)
        await town.until(chat, "Allow launch?")
        await pairing(town, "revoke", "fake:ann")
        told = await town.say("ann", "Once", chat)
        await answer
        return told

    one = town(installed("approvals"), model=LAUNCH, **OPEN)
    told = run(one, story)
    assert told == "Denied, because you may not approve this any more."
    assert one.h.hooks["tool"] == []


IDS = ["\u0661\u0661\u0661", "\uff11\uff11\uff11", "111 ", "0111", "+111", "111\u200b", "@ann"]


@pytest.mark.parametrize("user", IDS)
def test_lookalike_of_an_admin_id_is_a_stranger(town: MakeTown, run: Run, user: str) -> None:
    async def story(town: Town) -> list[Any]:
        return [await town.say(user, text, sender="ann") for text in ("hello", "/pair")]

    hello, pair = run(town(model=["hi"], admins=["fake:111", "fake:ann"]), story)
    assert hello.startswith("I do not know you yet.")
    assert pair is None
