"""Limits of a platform: length as it counts, tables, edits, rates by kind and scope."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from hookline_channelkit import Limits, Rate, RetryAfter, next_piece
from hookline_channelkit.rate_limiter import RateLimiter
from hookline_hookspecs import Choice, Reply
from hypothesis import given
from hypothesis import strategies as st

from .conftest import SMALL, Platform, until

WORDS = st.sampled_from(
    ["word ", "“quoted” ", "\n", "\n\n", "```py\ncode()\n```\n", "ü\u0000\\", "👩‍👩‍👧 ", "|"]
)
TABLE = "| a | b |\n|---|---|\n| 1 | 2 |\n\n"
TEXTS = st.lists(WORDS | st.just(TABLE), max_size=60).map("".join)


def encoded(text: str) -> int:
    """As a platform counts that limits the bytes of the JSON of a message with blocks."""
    blocks = [{"type": "text", "text": line} for line in text.split("\n\n")]
    return len(json.dumps({"blocks": blocks}).encode())


def pieces(text: str, limits: Limits, frame: str = "") -> list[Any]:
    found, start = [], 0
    while start < len(text):
        found.append(next_piece(text, limits, start, frame=frame))
        assert found[-1].end > start
        start = found[-1].end
    return found


@given(TEXTS, st.integers(400, 2000), st.sampled_from([None, 1, 3]))
def test_next_piece_fits_the_limits(text: str, most: int, tables: int | None) -> None:
    limits = Limits(text=most, measure=encoded, tables=tables)
    found = pieces(text, limits, "(mark)\n")
    assert "".join(piece.source for piece in found) == text
    assert all(encoded("(mark)\n" + piece.text) <= most for piece in found)
    assert [piece.is_last for piece in found] == [False] * (len(found) - 1) + [True] * bool(found)


@given(st.integers(1, 7), st.integers(1, 4), TEXTS)
def test_next_piece_limits_tables(count: int, most: int, between: str) -> None:
    between = between.replace("|", "").replace("-", "").replace("```", "")
    text = f"\n{between}\n\n".join([TABLE] * count)
    for piece in pieces(text, Limits(text=100_000, tables=most)):
        assert piece.text.count("|---|---|") <= most


def test_next_piece_ignores_tables_in_code() -> None:
    text = f"```\n{TABLE * 5}```\n"
    assert len(pieces(text, Limits(text=10_000, tables=1))) == 1


@pytest.mark.slow
async def test_stream_moves_on_before_edits_run_out(start_channel: Any, platform: Platform) -> None:
    platform.limits = replace(SMALL, edits=4, text=4000)
    answer = " ".join(f"word{n}" for n in range(60))
    one = await start_channel(platform, {"": answer}, pause=0.03)
    await one.say("hi")
    await one.idle()
    assert platform.texts("c") == [answer]
    assert "delete" in [name for name, _ in platform.requests]
    assert all(len(shown.texts) <= 5 for shown in platform.shown.values())


@pytest.mark.slow
async def test_stream_counts_edits_across_processes(start_channel: Any, platform: Platform) -> None:
    platform.limits = replace(SMALL, edits=6, text=4000)
    answer = " ".join(f"word{n}" for n in range(60))
    one = await start_channel(platform, {"": answer}, pause=0.03)
    for _ in range(3):
        await one.say("hi")
        await until(lambda: any(len(shown.texts) > 2 for shown in platform.shown.values()))
        one = await one.again()
    await one.idle()
    assert platform.texts("c") == [answer]
    assert all(len(shown.texts) <= 7 for shown in platform.shown.values())
    await one.close()


@pytest.mark.slow
async def test_stream_moves_on_before_it_is_too_old(start_channel: Any, platform: Platform) -> None:
    platform.limits = replace(SMALL, edit_seconds=0.4, text=4000)
    answer = " ".join(f"word{n}" for n in range(60))
    one = await start_channel(platform, {"": answer}, pause=0.03)
    await one.say("hi")
    await one.idle()
    assert platform.texts("c") == [answer]
    assert "delete" in [name for name, _ in platform.requests]


async def test_rate_limiter_paces_kinds_separately() -> None:
    limits = Limits(text=100, per_chat=0.001, overall=0, rates={"edit": Rate(0, 0)})
    rates = RateLimiter(limits)
    assert await rates.try_acquire("c", "text")
    assert not await rates.try_acquire("c", "file")  # shares the pace of texts
    assert [await rates.try_acquire("c", "edit") for _ in range(3)] == [True] * 3
    assert [await rates.try_acquire("c", "typing") for _ in range(3)] == [True] * 3
    overall = RateLimiter(replace(limits, rates={"edit": Rate(0, 0.001)}))
    assert [await overall.try_acquire(chat, "edit") for chat in "ab"] == [True, False]


async def test_rate_limiter_pauses_by_kind_and_scope() -> None:
    rates = RateLimiter(Limits(text=100, per_chat=0, overall=0))
    rates.pause("a", RetryAfter(60, kind="edit"))
    assert rates.is_paused("a", "edit")
    assert not rates.is_paused("a", "text")
    assert not rates.is_paused("b", "edit")
    rates.pause("a", RetryAfter(60, "workspace", "file"))
    assert rates.is_paused("b", "file")
    assert not rates.is_paused("b", "text")
    async with asyncio.timeout(5):
        await rates.acquire("b", "text")
    rates.pause("b", RetryAfter(60))
    assert rates.is_paused("b", "text")
    assert rates.is_paused("c", "text")  # a second chat was refused


async def test_client_can_pause_requests(start_channel: Any, platform: Platform) -> None:
    one = await start_channel(platform, {"": "the answer"}, stream=False)
    one.client.pause_requests("c", RetryAfter(0.3, kind="text"))
    begin = asyncio.get_running_loop().time()
    await one.say("hi")
    await until(lambda: platform.texts("c"))
    assert asyncio.get_running_loop().time() - begin >= 0.3


async def test_too_many_choices_have_no_buttons(start_channel: Any, platform: Platform) -> None:
    platform.limits = replace(SMALL, choices=2)
    one = await start_channel(platform, {"": "the answer"}, stream=False)
    await one.say("hi")
    await one.idle()
    (session,) = await one.kit.host.sessions()
    for count in (2, 3):
        labels = tuple(Choice(f"c{n}") for n in range(count))
        await one.kit.send(Reply(session, "Which?", id=f"q{count}", choices=labels))
    assert [len(shown.choices) for shown in platform.chat("c")[1:]] == [2, 0]


@pytest.mark.parametrize("private", ["dm:ann", None])
async def test_reply_for_one_person_is_never_public(
    start_channel: Any, platform: Platform, private: str | None
) -> None:
    one = await start_channel(platform, {"": "the answer"}, stream=False)

    async def private_chat(person: str) -> str | None:
        assert person == "ann"
        return private

    one.client.private_chat = private_chat
    await one.say("hi")
    await one.idle()
    (session,) = await one.kit.host.sessions()
    sent = await one.kit.send(Reply(session, "for you alone", id="r9", audience="ann"))
    assert platform.texts("c") == ["the answer"]
    assert platform.texts("dm:ann") == (["for you alone"] if private else [])
    assert len(sent) == bool(private)
