"""The first admin: a claim code in the terminal, valid once, briefly and for a few attempts."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hookline.testing import Clock
from hookline_hookspecs import GatewayService

from .conftest import CLAIM, Chats, MakeChats, Run

YES = "You are the first admin now. /help lists the commands."


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The claim codes in the terminal since the last look."""
    return CLAIM.findall(capsys.readouterr().err)


def test_first_message_prints_a_claim_code_that_makes_its_sender_admin(
    chats: MakeChats, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    async def story(chats: Chats) -> list[str | None]:
        await chats.say("ann", "hello")
        (code,) = printed(capsys)
        claimed = await chats.say("ann", code)
        return [claimed, await chats.say("ann", "/pair"), await chats.say("ann", code)]

    claimed, pair, again = run(chats(model=["what is this?"]), story)
    assert (claimed, pair, again) == (YES, "No one is waiting to be let in.", "what is this?")


async def gateway_up(chats: Chats) -> None:
    """What a gateway does once its channels are connected."""
    for work in chats.host.services.all(GatewayService):
        await work.gateway_up(["fake"])


def test_claim_code_is_printed_when_a_channel_connects(
    chats: MakeChats, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    async def story(chats: Chats) -> str | None:
        await chats.h.aopen()
        await gateway_up(chats)
        codes: list[str] = []
        while not codes:
            await asyncio.sleep(0)
            codes = printed(capsys)
        return await chats.say("ann", codes[0].lower().replace("-", " "))

    assert run(chats(), story) == YES


@pytest.mark.parametrize("is_up", [True, False])
def test_claim_code_is_not_printed_if_there_is_an_admin(
    chats: MakeChats, run: Run, capsys: pytest.CaptureFixture[str], is_up: bool
) -> None:
    async def story(chats: Chats) -> None:
        await chats.h.aopen()
        if is_up:
            await gateway_up(chats)
        await chats.say("eve", "hello")

    run(chats(admins=["fake:boss"]), story)
    assert printed(capsys) == []


@pytest.mark.parametrize("entry", ["fake:*", "fake:boss\0", "fake:\ud800", "fake:", "boss"])
def test_invalid_admins_entry_does_not_prevent_a_claim(
    chats: MakeChats, run: Run, capsys: pytest.CaptureFixture[str], entry: str
) -> None:
    async def story(chats: Chats) -> str | None:
        await chats.say("ann", "hello")
        (code,) = printed(capsys)
        return await chats.say("ann", code)

    assert run(chats(admins=[entry]), story) == YES


def test_claim_code_works_once(
    chats: MakeChats, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    async def story(chats: Chats) -> list[str | None]:
        await chats.say("ann", "hello")
        (code,) = printed(capsys)
        return [await chats.say(user, code) for user in ("ann", "eve")]

    first, second = run(chats(), story)
    assert first == YES
    assert "do not know you" in str(second)


def test_concurrent_claims_make_one_admin(
    chats: MakeChats, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    async def story(chats: Chats) -> list[str | None]:
        await chats.say("ann", "hello")
        (code,) = printed(capsys)
        waiting = [await chats.begin(f"u{number}", code) for number in range(8)]
        return [await one for one in waiting]

    assert run(chats(), story).count(YES) == 1


def test_claim_code_expires(
    chats: MakeChats, run: Run, capsys: pytest.CaptureFixture[str], clock: Clock
) -> None:
    async def story(chats: Chats) -> Any:
        await chats.say("ann", "hello")
        (code,) = printed(capsys)
        clock.ahead(3601)
        late = await chats.say("ann", code)
        (new,) = printed(capsys)
        return late, new != code, await chats.say("ann", new)

    late, is_new, claimed = run(chats(), story)
    assert late != YES
    assert is_new
    assert claimed == YES


def test_claim_attempts_per_person_are_limited(
    chats: MakeChats, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    async def story(chats: Chats) -> list[str | None]:
        await chats.say("eve", "hello")
        (code,) = printed(capsys)
        for number in range(2, 7):
            await chats.say("eve", str(number) * 12)
        return [await chats.say("eve", code), await chats.say("ann", code)]

    assert run(chats(), story) == [None, YES]


@pytest.mark.slow
def test_flood_of_wrong_codes_locks_no_one_out(
    chats: MakeChats, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    async def story(chats: Chats) -> str | None:
        await chats.say("ann", "hello")
        (code,) = printed(capsys)
        for person in range(30):
            for number in range(2, 9):
                await chats.say(f"eve{person}", str(number) * 12)
        return await chats.say("ann", code)

    assert run(chats(), story) == YES


def test_claim_attempts_are_restored_with_time(
    chats: MakeChats, run: Run, capsys: pytest.CaptureFixture[str], clock: Clock
) -> None:
    async def story(chats: Chats) -> list[str | None]:
        await chats.say("ann", "hello")
        for number in range(2, 9):
            await chats.say("ann", str(number) * 12)
        clock.ahead(3601)
        await chats.say("eve", "hello")
        *_, code = printed(capsys)
        return [await chats.say("ann", code)]

    assert run(chats(), story) == [YES]


@pytest.mark.parametrize("more", [{"forwarded": "Boss"}, {"kind": "edit"}, {"kind": "reaction"}])
def test_forward_edit_or_reaction_with_the_code_does_not_claim(
    chats: MakeChats, run: Run, capsys: pytest.CaptureFixture[str], more: dict[str, Any]
) -> None:
    async def story(chats: Chats) -> list[str | None]:
        await chats.say("ann", "hello")
        (code,) = printed(capsys)
        return [await chats.say("eve", code, **more), await chats.say("ann", code)]

    passed_on, claimed = run(chats(), story)
    assert (passed_on != YES, claimed) == (True, YES)


def test_wrong_code_gets_the_same_reply_as_any_text(
    chats: MakeChats, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    async def story(chats: Chats) -> tuple[Any, Any]:
        return (
            [await chats.say("ann", text) for text in ("hello", "BBBB-BBBB-BBBB", "hello")],
            [await chats.say("eve", text) for text in ("hello", "what?", "hello")],
        )

    tried, asked = run(chats(), story)
    assert tried[1:] == asked[1:] == [None, None]


def test_claim_message_delivered_twice_gets_the_same_reply(
    chats: MakeChats, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    """A message is judged again after a crash; its answer must be the same."""

    async def story(chats: Chats) -> list[str]:
        await chats.say("ann", "hello")
        (code,) = printed(capsys)
        return [(await chats.judge("ann", code)).reason for _ in range(2)]

    assert run(chats(), story) == [YES, YES]


def test_doctor_warns_if_there_is_no_admin(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> list[Any]:
        await chats.h.aopen()
        found = []
        for _, check in chats.h.checks():
            if check.name == "admin":
                found.append(await check.run())  # type: ignore[misc]
        return found

    (without,) = run(chats(), story)
    assert (without.ok, without.hint) == (False, True)
    assert "no admin to approve anything on fake" in without.detail
    assert "claim" in without.fix
    (having,) = run(chats(admins=["fake:boss"]), story)
    assert having.ok
