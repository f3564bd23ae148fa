"""Pairing: one code, good for a while, no oracle, no flood, let in by an admin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import Clock
from hookline_access import AccessControl

from .conftest import CODE, MakeTown, Run, Town, code_in

BOSS = {"admins": ["fake:boss"]}


def test_admin_lets_a_person_in(town: MakeTown, run: Run) -> None:
    async def story(town: Town) -> list[str | None]:
        code = code_in(await town.say("ann", "hello"))
        answer = await town.say("boss", f"/pair {code}")
        welcome = await town.until("ann", "You have been let in")
        return [answer, welcome.text, await town.say("ann", "hello")]

    answers = run(town(model=["hi ann"], **BOSS), story)
    assert answers == ["fake:ann may write now.", "You have been let in. Write again.", "hi ann"]


def test_admin_is_notified_and_answers_by_button(town: MakeTown, run: Run) -> None:
    async def story(town: Town) -> Any:
        await town.say("boss", "hello")
        await town.say("ann", "hello", "group")
        told = await town.until("boss", "fake:ann wrote in chat group")
        pressed = await town.say("boss", "Let in", reply_to=town.delivered(told))
        return told.choices, pressed, await town.say("ann", "hello", "group")

    choices, pressed, answer = run(town(model=["hi boss", "hi ann"], **BOSS), story)
    assert choices == ("Let in", "Block")
    assert (pressed, answer) == ("fake:ann may write now.", "hi ann")


def test_button_blocks_a_person(town: MakeTown, run: Run) -> None:
    async def story(town: Town) -> list[str | None]:
        await town.say("boss", "hello")
        code = code_in(await town.say("ann", "hello"))
        told = await town.until("boss", "fake:ann wrote")
        pressed = await town.say("boss", "Block", reply_to=town.delivered(told))
        return [pressed, await town.say("boss", f"/pair {code}")]

    pressed, late = run(town(model=["hi boss"], **BOSS), story)
    assert pressed.startswith("fake:ann is blocked.")
    assert late.startswith("No open request has this code.")


@pytest.mark.parametrize("spelling", [str.lower, lambda code: f" {code[:4]}-{code[4:]} "])
def test_code_is_read_leniently(town: MakeTown, run: Run, spelling: Callable[[str], str]) -> None:
    async def story(town: Town) -> str | None:
        code = code_in(await town.say("ann", "hello"))
        return await town.say("boss", f"/pair {spelling(code)}")

    assert run(town(**BOSS), story) == "fake:ann may write now."


def test_stranger_gets_one_reply_while_the_code_is_open(
    town: MakeTown, run: Run, clock: Clock
) -> None:
    async def story(town: Town) -> list[str | None]:
        answers = [await town.say("ann", "hello") for _ in range(3)]
        clock.ahead(601)
        return [*answers, await town.say("ann", "hello")]

    first, *silence, second = run(town(**BOSS), story)
    assert silence == [None, None]
    assert code_in(first) != code_in(second)


def test_message_delivered_twice_gets_the_same_code(town: MakeTown, run: Run) -> None:
    async def story(town: Town) -> list[str]:
        return [code_in((await town.judge("ann", "hello")).reason) for _ in range(2)]

    first, again = run(town(**BOSS), story)
    assert first == again


def test_expired_code_lets_no_one_in(town: MakeTown, run: Run, clock: Clock) -> None:
    async def story(town: Town) -> list[str | None]:
        code = code_in(await town.say("ann", "hello"))
        clock.ahead(601)
        return [await town.say("boss", f"/pair {code}"), await town.say("ann", "hello")]

    late, again = run(town(**BOSS), story)
    assert late.startswith("No open request has this code.")
    assert "do not know you" in again


@pytest.mark.parametrize("wrong", ["BBBBBBBB", "x", "", "' OR 1=1 --", "B" * 5000])
def test_wrong_code_lets_no_one_in(town: MakeTown, run: Run, wrong: str) -> None:
    async def story(town: Town) -> list[str | None]:
        await town.say("ann", "hello")
        return [await town.say("boss", f"/pair {wrong} block"), await town.say("ann", "hello")]

    assert run(town(**BOSS), story)[1] is None


def test_codes_per_person_and_day_are_limited(town: MakeTown, run: Run, clock: Clock) -> None:
    async def story(town: Town) -> list[bool]:
        answered = []
        for number in range(8):
            clock.ahead(601 * number)
            answered.append(await town.say("ann", "hello") is not None)
        clock.ahead(90000)
        return [*answered, await town.say("ann", "hello") is not None]

    assert run(town(**BOSS, codes_per_day=5), story) == [*[True] * 5, *[False] * 3, True]


def test_flood_of_strangers_locks_no_one_out(town: MakeTown, run: Run) -> None:
    async def story(town: Town) -> list[Any]:
        await town.say("boss", "hello")
        early = code_in(await town.say("early", "hello"))
        for number in range(80):
            await town.say(f"eve{number}", "hello")
        late = code_in(await town.say("late", "hello"))
        pressed = [await town.say("boss", f"/pair {code}") for code in (early, late)]
        return [*pressed, await town.say("early", "hello"), await town.say("late", "hello")]

    one = town(model=["hi", "hi early", "hi late"], **BOSS)
    told = ["fake:early may write now.", "fake:late may write now.", "hi early", "hi late"]
    assert run(one, story) == told
    notices = [
        text for text in one.in_chat("boss") if "known here" in text or "More people" in text
    ]
    assert len(notices) == 6


def test_person_without_a_code_is_let_in_by_name(town: MakeTown, run: Run) -> None:
    async def story(town: Town) -> list[Any]:
        for number in range(3):
            await town.say(f"eve{number}", "hello")
        heard = [await town.say("ann", "hello") for _ in range(3)]
        let_in = await town.say("boss", "/pair fake:ann")
        return [heard, let_in, await town.say("ann", "hello")]

    heard, let_in, answer = run(town(model=["hi ann"], **BOSS, open_codes=3), story)
    assert "fake:ann" in heard[0]
    assert heard[1:] == [None, None]
    assert (let_in, answer) == ("fake:ann may write now.", "hi ann")


@pytest.mark.parametrize("name", ["fake:*", "terminal:default", ":ann", "fake:", "fake:eve"])
def test_invalid_name_lets_no_one_in(town: MakeTown, run: Run, name: str) -> None:
    async def story(town: Town) -> list[Any]:
        await town.say("boss", "/pair fake:eve block")
        told = await town.say("boss", f"/pair {name}")
        return [
            told,
            await town.say("ann", "hello") == "hi",
            await town.say("eve", "hello") == "hi",
        ]

    told, *let_in = run(town(model=["hi", "hi"], **BOSS), story)
    assert "may write now" not in told
    assert let_in == [False, False]


def test_flood_of_strangers_fills_neither_store_nor_log(
    town: MakeTown, run: Run, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    monkeypatch.setattr("hookline_access.pairing.MAX_REQUESTS_PER_CHANNEL", 20)
    monkeypatch.setattr("hookline_access.people.MAX_LOG_ENTRIES", 20)

    async def story(town: Town) -> list[int]:
        await town.say("boss", "/pair fake:ann")
        for number in range(60):
            clock.ahead(601 * number)
            await town.say(f"eve{number}", "hello")
        requests = await town.host.storage.fetch("how_many", channel="fake", now=0.0)
        logged = await town.host.storage.fetch("newest_log", limit=1000)
        kept = [row for row in logged if row["person"] == "fake:ann"]
        return [requests[0]["known"], len(logged), len(kept)]

    known, logged, kept = run(town(**BOSS), story)
    assert known <= 20
    assert (logged, kept) == (11, 1)


def test_list_of_pairing_requests_is_bounded(town: MakeTown, run: Run) -> None:
    async def story(town: Town) -> str | None:
        for number in range(30):
            await town.say(f"eve{number}", "hello")
        return await town.say("boss", "/pair")

    listed = run(town(**BOSS), story)
    assert listed.count("is not known here") == 20
    assert "and 10 more" in listed


def test_blocked_and_unknown_people_get_the_same_replies(
    town: MakeTown, run: Run, clock: Clock
) -> None:
    async def story(town: Town) -> list[list[str]]:
        code = code_in(await town.say("eve", "hello"))
        await town.say("boss", f"/pair {code} block")
        heard: dict[str, list[str]] = {"eve": [], "ann": []}
        for number in range(7):
            clock.ahead(300 * number)
            for user, texts in heard.items():
                texts.append(CODE.sub("CODE", str(await town.say(user, "let me in"))))
        return list(heard.values())

    blocked, unknown = run(town(**BOSS), story)
    assert blocked == unknown
    assert len(set(unknown)) == 2


def test_code_of_a_blocked_person_lets_no_one_in(town: MakeTown, run: Run) -> None:
    async def story(town: Town) -> list[Any]:
        await town.say("boss", "hello")
        first = code_in(await town.say("eve", "hello"))
        await town.say("boss", f"/pair {first} block")
        second = code_in(await town.say("eve", "hello"))
        waiting = await town.say("boss", "/pair")
        return [waiting, await town.say("boss", f"/pair {second}"), await town.say("eve", "hi")]

    waiting, late, silence = run(town(model=["hi"], **BOSS), story)
    assert waiting == "No one is waiting to be let in."
    assert late.startswith("No open request has this code.")
    assert silence is None


def test_only_admins_let_people_in(town: MakeTown, run: Run) -> None:
    async def story(town: Town) -> list[str | None]:
        code = code_in(await town.say("ann", "hello"))
        return [
            await town.say("bob", f"/pair {code}"),
            await town.say("bob", "/pair"),
            await town.say("ann", f"/pair {code}"),
            await town.say("ann", "hello"),
        ]

    answers = run(town(**BOSS, allow=["fake:bob"]), story)
    refused = "Only an admin may answer this. Nothing was changed."
    assert answers == [refused, refused, None, None]


def test_button_press_by_another_person_is_refused(town: MakeTown, run: Run) -> None:
    async def story(town: Town) -> list[str | None]:
        await town.say("boss", "hello")
        await town.say("ann", "hello")
        told = await town.until("boss", "fake:ann wrote")
        pressed = await town.say("bob", "Let in", "boss", reply_to=town.delivered(told))
        return [pressed, await town.say("ann", "hello")]

    answers = run(town(model=["hi"], **BOSS, allow=["fake:bob"]), story)
    assert answers == ["Only an admin may answer this. Nothing was changed.", None]


def test_pair_command_run_twice_gives_the_same_reply(town: MakeTown, run: Run) -> None:
    async def story(town: Town) -> list[str | None]:
        code = code_in(await town.say("ann", "hello"))
        return [await town.say("boss", f"/pair {code}") for _ in range(2)]

    assert run(town(**BOSS), story) == ["fake:ann may write now."] * 2


def test_paired_person_stays_paired_after_a_restart(
    town: MakeTown, run: Run, harness: Callable[..., Any]
) -> None:
    one = town(**BOSS)

    async def story(town: Town) -> None:
        code = code_in(await town.say("ann", "hello"))
        await town.say("boss", f"/pair {code}")

    run(one, story)
    one.h.close()
    second = Town(harness(AccessControl, home=one.h.home, model=["hi"], config=BOSS))

    async def later(town: Town) -> str | None:
        return await town.say("ann", "hello", id_="later")

    assert run(second, later) == "hi"
