"""The first admin: a code in the terminal, once, for a while, for a few attempts."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hookline.testing import Clock
from hookline_hookspecs import GatewayService

from .conftest import CLAIM, MakeTown, Run, Town

YES = "You are the first admin now. /help lists the commands."


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The claim codes in the terminal since the last look."""
    return CLAIM.findall(capsys.readouterr().err)


def test_first_message_prints_a_claim_code_that_makes_its_sender_admin(
    town: MakeTown, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    async def story(town: Town) -> list[str | None]:
        await town.say("ann", "hello")
        (code,) = printed(capsys)
        claimed = await town.say("ann", code)
        return [claimed, await town.say("ann", "/pair"), await town.say("ann", code)]

    claimed, pair, again = run(town(model=["what is this?"]), story)
    assert (claimed, pair, again) == (YES, "No one is waiting to be let in.", "what is this?")


async def gateway_up(town: Town) -> None:
    """What a gateway does once its channels are up."""
    for work in town.host.services.all(GatewayService):
        await work.gateway_up(["fake"])


def test_claim_code_is_printed_when_a_channel_connects(
    town: MakeTown, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    async def story(town: Town) -> str | None:
        await town.h.aopen()
        await gateway_up(town)
        codes: list[str] = []
        while not codes:
            await asyncio.sleep(0)
            codes = printed(capsys)
        return await town.say("ann", codes[0].lower().replace("-", " "))

    assert run(town(), story) == YES


@pytest.mark.parametrize("is_up", [True, False])
def test_claim_code_is_not_printed_if_there_is_an_admin(
    town: MakeTown, run: Run, capsys: pytest.CaptureFixture[str], is_up: bool
) -> None:
    async def story(town: Town) -> None:
        await town.h.aopen()
        if is_up:
            await gateway_up(town)
        await town.say("eve", "hello")

    run(town(admins=["fake:boss"]), story)
    assert printed(capsys) == []


@pytest.mark.parametrize("entry", ["fake:*", "fake:boss\0", "fake:\ud800", "fake:", "boss"])
def test_invalid_admins_entry_does_not_prevent_a_claim(
    town: MakeTown, run: Run, capsys: pytest.CaptureFixture[str], entry: str
) -> None:
    async def story(town: Town) -> str | None:
        await town.say("ann", "hello")
        (code,) = printed(capsys)
        return await town.say("ann", code)

    assert run(town(admins=[entry]), story) == YES


def test_claim_code_works_once(
    town: MakeTown, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    async def story(town: Town) -> list[str | None]:
        await town.say("ann", "hello")
        (code,) = printed(capsys)
        return [await town.say(user, code) for user in ("ann", "eve")]

    first, second = run(town(), story)
    assert first == YES
    assert "do not know you" in str(second)


def test_concurrent_claims_make_one_admin(
    town: MakeTown, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    async def story(town: Town) -> list[str | None]:
        await town.say("ann", "hello")
        (code,) = printed(capsys)
        waiting = [await town.begin(f"u{number}", code) for number in range(8)]
        return [await one for one in waiting]

    assert run(town(), story).count(YES) == 1


def test_claim_code_expires(
    town: MakeTown, run: Run, capsys: pytest.CaptureFixture[str], clock: Clock
) -> None:
    async def story(town: Town) -> Any:
        await town.say("ann", "hello")
        (code,) = printed(capsys)
        clock.ahead(3601)
        late = await town.say("ann", code)
        (new,) = printed(capsys)
        return late, new != code, await town.say("ann", new)

    late, is_new, claimed = run(town(), story)
    assert late != YES
    assert is_new
    assert claimed == YES


def test_claim_attempts_per_person_are_limited(
    town: MakeTown, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    async def story(town: Town) -> list[str | None]:
        await town.say("eve", "hello")
        (code,) = printed(capsys)
        for number in range(2, 7):
            await town.say("eve", str(number) * 12)
        return [await town.say("eve", code), await town.say("ann", code)]

    assert run(town(), story) == [None, YES]


def test_flood_of_wrong_codes_locks_no_one_out(
    town: MakeTown, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    async def story(town: Town) -> str | None:
        await town.say("ann", "hello")
        (code,) = printed(capsys)
        for person in range(30):
            for number in range(2, 9):
                await town.say(f"eve{person}", str(number) * 12)
        return await town.say("ann", code)

    assert run(town(), story) == YES


def test_claim_attempts_are_restored_with_time(
    town: MakeTown, run: Run, capsys: pytest.CaptureFixture[str], clock: Clock
) -> None:
    async def story(town: Town) -> list[str | None]:
        await town.say("ann", "hello")
        for number in range(2, 9):
            await town.say("ann", str(number) * 12)
        clock.ahead(3601)
        await town.say("eve", "hello")
        *_, code = printed(capsys)
        return [await town.say("ann", code)]

    assert run(town(), story) == [YES]


@pytest.mark.parametrize("more", [{"forwarded": "Boss"}, {"kind": "edit"}, {"kind": "reaction"}])
def test_forward_edit_or_reaction_with_the_code_does_not_claim(
    town: MakeTown, run: Run, capsys: pytest.CaptureFixture[str], more: dict[str, Any]
) -> None:
    async def story(town: Town) -> list[str | None]:
        await town.say("ann", "hello")
        (code,) = printed(capsys)
        return [await town.say("eve", code, **more), await town.say("ann", code)]

    passed_on, claimed = run(town(), story)
    assert (passed_on != YES, claimed) == (True, YES)


def test_wrong_code_gets_the_same_reply_as_any_text(
    town: MakeTown, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    async def story(town: Town) -> tuple[Any, Any]:
        return (
            [await town.say("ann", text) for text in ("hello", "BBBB-BBBB-BBBB", "hello")],
            [await town.say("eve", text) for text in ("hello", "what?", "hello")],
        )

    tried, asked = run(town(), story)
    assert tried[1:] == asked[1:] == [None, None]


def test_claim_message_delivered_twice_gets_the_same_reply(
    town: MakeTown, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    """A message is judged again after a crash; its answer must be the same."""

    async def story(town: Town) -> list[str]:
        await town.say("ann", "hello")
        (code,) = printed(capsys)
        return [(await town.judge("ann", code)).reason for _ in range(2)]

    assert run(town(), story) == [YES, YES]


def test_doctor_warns_if_there_is_no_admin(town: MakeTown, run: Run) -> None:
    async def story(town: Town) -> list[Any]:
        await town.h.aopen()
        found = []
        for _, check in town.h.checks():
            if check.name == "admin":
                found.append(await check.run())  # type: ignore[misc]
        return found

    (without,) = run(town(), story)
    assert (without.ok, without.hint) == (False, True)
    assert "fake is on, but there is no admin" in without.detail
    assert "claim" in without.fix
    (having,) = run(town(admins=["fake:boss"]), story)
    assert having.ok
