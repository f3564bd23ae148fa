"""JSON from outside is read strictly and in linear time."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import suppress
from time import perf_counter

import pytest
from hookline_hookspecs.strict_json import (
    MAX_BYTES_ON_LOOP,
    InvalidJson,
    parse_off_loop,
    read_json,
    read_json_object,
)

MAX_BODY_BYTES = 8_000_000
"""The longest text that a surface passes on: a line of ACP and MCP."""


def text_of(size: int, piece: str, start: str, end: str) -> str:
    count = size // len(piece % 10_000_000)
    return start + "".join([piece % (10_000_000 + i) for i in range(count)]) + end


ONE_KEY_TWICE = ('"%d":0,', "{", '"x":1,"x":2}')
HOSTILE = {
    "one key twice among many": ONE_KEY_TWICE,
    "each key twice": ('"%d":0,"0":0,', "{", '"x":1}'),
    "many objects": ('{"%d":0},', "[", "0]"),
    "many numbers": ("%d.5e3,", "[", "0]"),
    "many escapes": ("\\ud83d\\ude00%d", '["', '"]'),
    "many brackets": ("[%d", "", ""),
    "many blanks": ("   \n%d  ", "[", "]"),
}


def seconds(text: str) -> float:
    start = perf_counter()
    with suppress(InvalidJson):
        read_json(text)
    return perf_counter() - start


@pytest.mark.long
@pytest.mark.parametrize(("piece", "start", "end"), HOSTILE.values(), ids=HOSTILE)
def test_read_json_takes_linear_time_up_to_the_longest_body(
    piece: str, start: str, end: str
) -> None:
    sizes = (MAX_BODY_BYTES // 16, MAX_BODY_BYTES)
    small, large = (text_of(size, piece, start, end) for size in sizes)
    least = min(seconds(small) for _ in range(3))
    assert seconds(large) < 16 * 12 * max(least, 0.005)  # quadratic: 256 times


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"a": 1, "a": 2}', "the key 'a' twice"),
        ('[{"\\ud800": 1, "\\ud800": 2}]', "twice"),
        ('{"a": NaN}', "NaN is not a number"),
        ("1e999", "too large"),
        ("-1e999", "too large"),
        ("9" * 5000, "not JSON"),
        ('"\\ud800"', "surrogate"),
        ('"a\\u0000"', "NUL"),
        ("[" * 66 + "]" * 66, "nested deeper than 64"),
        ("[" * 200_000, "nested deeper"),
        ("[" + "0," * 500_001 + "0]", "more than 500,000 commas"),
        ("", "not JSON"),
        (b"\xff", "not UTF-8"),
        (b"\xef\xbb\xbf{}", "not JSON"),
    ],
)
def test_ambiguous_json_is_refused(text: str | bytes, why: str) -> None:
    with pytest.raises(InvalidJson, match=why):
        read_json(text)


def test_text_that_cannot_be_stored_is_for_the_caller_to_replace_with_any_text() -> None:
    assert read_json('["\\ud800", "a\\u0000"]', any_text=True) == ["\ud800", "a\0"]


def test_only_an_object_is_an_object() -> None:
    assert read_json_object('{"a": [1.5, null, "\\ud83d\\ude00"]}') == {"a": [1.5, None, "😀"]}
    with pytest.raises(InvalidJson, match="not a JSON object"):
        read_json_object("[]")


async def test_long_text_is_read_in_a_thread() -> None:
    def parse(data: bytes) -> tuple[object, int]:
        return read_json(data), threading.get_ident()

    here = threading.get_ident()
    short, long = (json.dumps("x" * size).encode() for size in (10, MAX_BYTES_ON_LOOP))
    assert (await parse_off_loop(parse, short))[1] == here
    assert (await parse_off_loop(parse, long))[1] != here


async def test_loop_answers_while_a_long_text_is_read() -> None:
    body = text_of(MAX_BODY_BYTES // 2, *ONE_KEY_TWICE).encode()
    reading = asyncio.create_task(parse_off_loop(read_json, body))
    ticks = 0
    while not reading.done():
        await asyncio.sleep(0.005)
        ticks += 1
    assert ticks > 2
    with pytest.raises(InvalidJson):
        await reading
