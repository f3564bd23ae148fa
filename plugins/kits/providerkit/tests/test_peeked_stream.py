"""Lines of a stream that an SDK fails at, wherever the connection cuts the stream."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hookline_providerkit import PeekedStream


async def read(*chunks):
    async def stream():
        for chunk in chunks:
            yield chunk

    return b"".join([one async for one in PeekedStream(SimpleNamespace(stream=stream())).read()])


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        ([b'data: {"text": "an ', b'error: {\\"a\\": 1}"}\n'], b'data: {"text": "an error: {'),
        ([b"data: 1\n", b'error: {"a": 1}\n'], b'data: 1\ndata: {"a": 1}'),
        ([b"data: 1\r", b'error: {"a": 1}\n'], b'data: 1\rdata: {"a": 1}'),
        ([b'error: {"a": 1}\n'], b'data: {"a": 1}'),
        ([b"data: 1\n", b"data: \n"], b"data: 1\n:\n"),
    ],
)
async def test_only_whole_lines_are_changed(chunks, expected):
    assert (await read(*chunks)).startswith(expected)
