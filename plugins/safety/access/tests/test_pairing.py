"""Pairing: a code that expires, no oracle, no flood, and an admin who lets people in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import Clock
from hookline_access import AccessControl
from hookline_hookspecs import Questions

from .conftest import CODE, Chats, MakeChats, Run, code_in

BOSS = {"admins": ["fake:boss"]}


def test_admin_lets_a_person_in(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> list[str | None]:
        code = code_in(await chats.say("ann", "hello"))
        answer = await chats.say("boss", f"/pair {code}")
        welcome = await chats.until("ann", "You have been let in")
        return [answer, welcome.text, await chats.say("ann", "hello")]

    answers = run(chats(model=["hi ann"], **BOSS), story)
    assert answers == ["fake:ann may write now.", "You have been let in. Write again.", "hi ann"]


def test_admin_is_notified_and_answers_by_button(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> Any:
        await chats.say("boss", "hello")
        await chats.say("ann", "hello", "group")
        told = await chats.until("boss", "fake:ann wrote in chat group")
        pressed = await chats.say("boss", "Let in", reply_to=chats.delivered(told))
        return told.choices, pressed, await chats.say("ann", "hello", "group")

    choices, pressed, answer = run(chats(model=["hi boss", "hi ann"], **BOSS), story)
    assert choices == ("Let in", "Block")
    assert (pressed, answer) == ("fake:ann may write now.", "hi ann")


def test_button_blocks_a_person(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> list[str | None]:
        await chats.say("boss", "hello")
        code = code_in(await chats.say("ann", "hello"))
        told = await chats.until("boss", "fake:ann wrote")
        pressed = await chats.say("boss", "Block", reply_to=chats.delivered(told))
        return [pressed, await chats.say("boss", f"/pair {code}")]

    pressed, late = run(chats(model=["hi boss"], **BOSS), story)
    assert pressed.startswith("fake:ann is blocked.")
    assert late.startswith("No open request has this code.")


@pytest.mark.parametrize("spelling", [str.lower, lambda code: f" {code[:4]}-{code[4:]} "])
def test_code_is_read_leniently(chats: MakeChats, run: Run, spelling: Callable[[str], str]) -> None:
    async def story(chats: Chats) -> str | None:
        code = code_in(await chats.say("ann", "hello"))
        return await chats.say("boss", f"/pair {spelling(code)}")

    assert run(chats(**BOSS), story) == "fake:ann may write now."


def test_stranger_gets_one_reply_while_the_code_is_open(
    chats: MakeChats, run: Run, clock: Clock
) -> None:
    async def story(chats: Chats) -> list[str | None]:
        answers = [await chats.say("ann", "hello") for _ in range(3)]
        clock.ahead(601)
        return [*answers, await chats.say("ann", "hello")]

    first, *silence, second = run(chats(**BOSS), story)
    assert silence == [None, None]
    assert code_in(first) != code_in(second)


def test_message_delivered_twice_gets_the_same_code(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> list[str]:
        return [code_in((await chats.judge("ann", "hello")).reason) for _ in range(2)]

    first, again = run(chats(**BOSS), story)
    assert first == again


def test_expired_code_lets_no_one_in(chats: MakeChats, run: Run, clock: Clock) -> None:
    async def story(chats: Chats) -> list[str | None]:
        code = code_in(await chats.say("ann", "hello"))
        clock.ahead(601)
        return [await chats.say("boss", f"/pair {code}"), await chats.say("ann", "hello")]

    late, again = run(chats(**BOSS), story)
    assert late.startswith("No open request has this code.")
    assert "do not know you" in again


@pytest.mark.parametrize("wrong", ["BBBBBBBB", "x", "", "' OR 1=1 --", "B" * 5000])
def test_wrong_code_lets_no_one_in(chats: MakeChats, run: Run, wrong: str) -> None:
    async def story(chats: Chats) -> list[str | None]:
        await chats.say("ann", "hello")
        return [await chats.say("boss", f"/pair {wrong} block"), await chats.say("ann", "hello")]

    assert run(chats(**BOSS), story)[1] is None


def test_codes_per_person_and_day_are_limited(chats: MakeChats, run: Run, clock: Clock) -> None:
    async def story(chats: Chats) -> list[bool]:
        answered = []
        for number in range(8):
            clock.ahead(601 * number)
            answered.append(await chats.say("ann", "hello") is not None)
        clock.ahead(90000)
        return [*answered, await chats.say("ann", "hello") is not None]

    assert run(chats(**BOSS, codes_per_day=5), story) == [*[True] * 5, *[False] * 3, True]


def test_flood_of_strangers_locks_no_one_out(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> list[Any]:
        await chats.say("boss", "hello")
        early = code_in(await chats.say("early", "hello"))
        for number in range(80):
            await chats.say(f"eve{number}", "hello")
        late = code_in(await chats.say("late", "hello"))
        pressed = [await chats.say("boss", f"/pair {code}") for code in (early, late)]
        return [*pressed, await chats.say("early", "hello"), await chats.say("late", "hello")]

    one = chats(model=["hi", "hi early", "hi late"], **BOSS)
    told = ["fake:early may write now.", "fake:late may write now.", "hi early", "hi late"]
    assert run(one, story) == told
    notices = [
        text for text in one.in_chat("boss") if "known here" in text or "More people" in text
    ]
    assert len(notices) == 6


def test_person_without_a_code_is_let_in_by_name(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> list[Any]:
        for number in range(3):
            await chats.say(f"eve{number}", "hello")
        heard = [await chats.say("ann", "hello") for _ in range(3)]
        let_in = await chats.say("boss", "/pair fake:ann")
        return [heard, let_in, await chats.say("ann", "hello")]

    heard, let_in, answer = run(chats(model=["hi ann"], **BOSS, open_codes=3), story)
    assert "fake:ann" in heard[0]
    assert heard[1:] == [None, None]
    assert (let_in, answer) == ("fake:ann may write now.", "hi ann")


@pytest.mark.parametrize("name", ["fake:*", "terminal:default", ":ann", "fake:", "fake:eve"])
def test_invalid_name_lets_no_one_in(chats: MakeChats, run: Run, name: str) -> None:
    async def story(chats: Chats) -> list[Any]:
        await chats.say("boss", "/pair fake:eve block")
        told = await chats.say("boss", f"/pair {name}")
        return [
            told,
            await chats.say("ann", "hello") == "hi",
            await chats.say("eve", "hello") == "hi",
        ]

    told, *let_in = run(chats(model=["hi", "hi"], **BOSS), story)
    assert "may write now" not in told
    assert let_in == [False, False]


def test_flood_of_strangers_fills_neither_store_nor_log(
    chats: MakeChats, run: Run, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    monkeypatch.setattr("hookline_access.pairing.MAX_REQUESTS_PER_CHANNEL", 20)
    monkeypatch.setattr("hookline_access.people.MAX_LOG_ENTRIES", 20)

    async def story(chats: Chats) -> list[int]:
        await chats.say("boss", "/pair fake:ann")
        for number in range(60):
            clock.ahead(601 * number)
            await chats.say(f"eve{number}", "hello")
        requests = await chats.host.storage.fetch("how_many", channel="fake", now=0.0)
        logged = await chats.host.storage.fetch("newest_log", limit=1000)
        kept = [row for row in logged if row["person"] == "fake:ann"]
        return [requests[0]["known"], len(logged), len(kept)]

    known, logged, kept = run(chats(**BOSS), story)
    assert known <= 20
    assert (logged, kept) == (11, 1)


def test_list_of_pairing_requests_is_bounded(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> str | None:
        for number in range(30):
            await chats.say(f"eve{number}", "hello")
        return await chats.say("boss", "/pair")

    listed = run(chats(**BOSS), story)
    assert listed.count("is not known here") == 20
    assert "and 10 more" in listed


def test_blocked_and_unknown_people_get_the_same_replies(
    chats: MakeChats, run: Run, clock: Clock
) -> None:
    async def story(chats: Chats) -> list[list[str]]:
        code = code_in(await chats.say("eve", "hello"))
        await chats.say("boss", f"/pair {code} block")
        heard: dict[str, list[str]] = {"eve": [], "ann": []}
        for number in range(7):
            clock.ahead(300 * number)
            for user, texts in heard.items():
                texts.append(CODE.sub("CODE", str(await chats.say(user, "let me in"))))
        return list(heard.values())

    blocked, unknown = run(chats(**BOSS), story)
    assert blocked == unknown
    assert len(set(unknown)) == 2


def test_code_of_a_blocked_person_lets_no_one_in(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> list[Any]:
        await chats.say("boss", "hello")
        first = code_in(await chats.say("eve", "hello"))
        await chats.say("boss", f"/pair {first} block")
        second = code_in(await chats.say("eve", "hello"))
        waiting = await chats.say("boss", "/pair")
        return [waiting, await chats.say("boss", f"/pair {second}"), await chats.say("eve", "hi")]

    waiting, late, silence = run(chats(model=["hi"], **BOSS), story)
    assert waiting == "No one is waiting to be let in."
    assert late.startswith("No open request has this code.")
    assert silence is None


def test_only_admins_let_people_in(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> list[str | None]:
        code = code_in(await chats.say("ann", "hello"))
        return [
            await chats.say("bob", f"/pair {code}"),
            await chats.say("bob", "/pair"),
            await chats.say("ann", f"/pair {code}"),
            await chats.say("ann", "hello"),
        ]

    answers = run(chats(**BOSS, allow=["fake:bob"]), story)
    refused = "Only an admin may answer this. Nothing was changed."
    assert answers == [refused, refused, None, None]


def test_button_press_by_another_person_is_refused(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> list[str | None]:
        await chats.say("boss", "hello")
        await chats.say("ann", "hello")
        told = await chats.until("boss", "fake:ann wrote")
        pressed = await chats.say("bob", "Let in", "boss", reply_to=chats.delivered(told))
        return [pressed, await chats.say("ann", "hello")]

    answers = run(chats(model=["hi"], **BOSS, allow=["fake:bob"]), story)
    assert answers == ["You may not answer this question. Nothing was changed.", None]


def test_pair_command_run_twice_gives_the_same_reply(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> list[str | None]:
        code = code_in(await chats.say("ann", "hello"))
        return [await chats.say("boss", f"/pair {code}") for _ in range(2)]

    assert run(chats(**BOSS), story) == ["fake:ann may write now."] * 2


def test_paired_person_stays_paired_after_a_restart(
    chats: MakeChats, run: Run, harness: Callable[..., Any]
) -> None:
    one = chats(**BOSS)

    async def story(chats: Chats) -> None:
        code = code_in(await chats.say("ann", "hello"))
        await chats.say("boss", f"/pair {code}")

    run(one, story)
    one.h.close()
    second = Chats(harness(AccessControl, home=one.h.home, model=["hi"], config=BOSS))

    async def later(chats: Chats) -> str | None:
        return await chats.say("ann", "hello", id_="later")

    assert run(second, later) == "hi"


def test_pairing_request_is_a_question_that_any_decision_closes(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> list[Any]:
        await chats.say("boss", "hello")
        code = code_in(await chats.say("ann", "hello"))
        told = await chats.until("boss", "fake:ann wrote")
        questions = chats.host.services[Questions]
        (question,) = await questions.open()
        await chats.say("boss", f"/pair {code}")
        pressed = await chats.say("boss", "Block", kind="press", question=told.question)
        return [question.kind, question.id == told.question, await questions.open(), pressed]

    kind, same, left, pressed = run(chats(model=["hi boss"], **BOSS), story)
    assert (kind, same, left) == ("trust", True, [])
    assert pressed == "fake:boss has already answered: Let in. Nothing was changed."


def test_pairing_button_works_after_a_restart(
    chats: MakeChats, run: Run, harness: Callable[..., Any]
) -> None:
    first = chats(model=["hi boss"], **BOSS)

    async def ask(chats: Chats) -> str:
        await chats.say("boss", "hello")
        await chats.say("ann", "hello")
        return (await chats.until("boss", "fake:ann wrote")).question

    question = run(first, ask)
    first.h.close()
    second = Chats(harness(AccessControl, home=first.h.home, model=["hi ann"], config=BOSS))

    async def answer(chats: Chats) -> list[str | None]:
        pressed = await chats.say("boss", "Let in", id_="p", kind="press", question=question)
        return [pressed, await chats.say("ann", "hello", id_="later")]

    assert run(second, answer) == ["fake:ann may write now.", "hi ann"]
