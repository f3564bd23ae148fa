"""A stream is cut into its events wherever its pieces begin and end."""

from __future__ import annotations

import itertools

import httpx2
import pytest
from hookline_providerkit import ServerSaid, read_events
from hookline_providerkit.events import Events
from hypothesis import given
from hypothesis import strategies as st

LINES = [
    "event: first",
    'data: {"n": 1}',
    "",
    ": a comment",
    "",
    "data: one",
    "data:two",
    "id: 7",
    "",
    "event:second",
    "data:  with \u2028 a space",
    "retry: 3",
    "",
    "data: cut off",
]
EXPECTED = [("first", '{"n": 1}'), ("", ""), ("", "one\ntwo"), ("second", " with \u2028 a space")]


@given(st.lists(st.integers(0, 150), max_size=8), st.sampled_from(["\n", "\r\n", "\r"]))
def test_pieces_may_end_anywhere(cuts: list[int], newline: str) -> None:
    stream = newline.join(LINES).encode()
    places = [0, *sorted(cuts), len(stream)]
    pieces = [stream[begin:end] for begin, end in itertools.pairwise(places)]
    events = Events()
    assert [event for piece in pieces for event in events.feed(piece)] == EXPECTED


def test_bytes_one_by_one() -> None:
    events, stream = Events(), "\r\n".join(LINES).encode()
    assert [e for i in range(len(stream)) for e in events.feed(stream[i : i + 1])] == EXPECTED


async def read(stream: bytes) -> list[object]:
    async with httpx2.AsyncClient(transport=Bytes(stream)) as client:
        taken: list[object] = []
        async with client.stream("GET", "http://server/") as response:
            try:
                await read_events(response, taken.append)
            finally:
                assert response.is_closed
        return taken


class Bytes(httpx2.AsyncBaseTransport):
    """Answers with a stream."""

    def __init__(self, stream: bytes) -> None:
        self._stream = stream

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        async def pieces():
            yield self._stream

        return httpx2.Response(200, content=pieces())


async def test_data_is_decoded_until_done() -> None:
    stream = b'data: {"a": 1}\n\nevent: ping\n\ndata: [DONE]\n\ndata: not JSON\n\n'
    assert await read(stream) == [{"a": 1}]


@pytest.mark.parametrize(("data", "body"), [('{"message": "no"}', {"message": "no"}), ("no", "no")])
async def test_an_event_that_is_an_error(data: str, body: object) -> None:
    with pytest.raises(ServerSaid) as raised:
        await read(f"event: error\ndata: {data}\n\n".encode())
    assert raised.value.body == body
