"""Any JSON of a server gives an answer or an error sentence."""

from __future__ import annotations

import pytest
from hookline_hookspecs import Block, ModelResponse, ProviderError
from hookline_openai.chat_reader import ChatReader
from hookline_openai.responses_reader import (
    ARGUMENTS_EVENT,
    END_EVENTS,
    TEXT_EVENTS,
    THINKING_EVENTS,
    ResponsesReader,
)
from hookline_providerkit import ErrorInResponse, Failures
from hypothesis import given
from hypothesis import strategies as st

KEYS = """type text id summary content refusal status output error reason arguments name call_id
    index delta function code message thinking finish_reason usage incomplete_details"""
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS.split()), inner, max_size=4)
    ),
    max_leaves=8,
)


def record(**known):
    """An object with some of the known keys, or anything else."""
    return st.fixed_dictionaries({}, optional=known) | JSON


DELTA = record(content=JSON, reasoning=JSON, reasoning_content=JSON, refusal=JSON, tool_calls=JSON)
CHOICE = record(delta=DELTA, message=DELTA, finish_reason=JSON, usage=JSON)
CHUNK = record(id=JSON, choices=st.lists(CHOICE, max_size=2) | JSON, usage=JSON, error=JSON)
KINDS = st.sampled_from(["message", "reasoning", "function_call", "new"])
ITEM = record(type=KINDS, content=JSON, summary=JSON, arguments=JSON, name=JSON, call_id=JSON)
RESPONSE = record(
    status=st.sampled_from(["completed", "incomplete", "failed"]) | JSON,
    output=st.lists(ITEM, max_size=3) | JSON,
    usage=JSON,
    error=JSON,
    incomplete_details=JSON,
)
ITEM_EVENTS = ["response.output_item.added", "response.output_item.done", "error"]
EVENTS = [*TEXT_EVENTS, *THINKING_EVENTS, ARGUMENTS_EVENT, *END_EVENTS, *ITEM_EVENTS]
EVENT = record(
    type=st.sampled_from(
        [*TEXT_EVENTS, *THINKING_EVENTS, ARGUMENTS_EVENT, *END_EVENTS, *ITEM_EVENTS]
    )
    | JSON,
    output_index=st.integers(0, 2) | JSON,
    delta=JSON,
    item=ITEM,
    response=RESPONSE,
    error=JSON,
)


def read(make, pieces, whole) -> ModelResponse | ProviderError:
    """The outcome of a stream, or of a whole response if there are no pieces."""
    shown: list[str] = []
    answer = make(lambda delta: shown.append(delta.text))
    try:
        for piece in pieces:
            answer.add(piece)
        if not pieces:
            answer.add_whole(whole)
    except ErrorInResponse as error:
        fields = {"name": "local", "model": "llama", "key": "LLAMA_KEY"}
        return Failures(fields).from_body(error.body)
    assert all(shown)
    return answer.response("local/llama", None)


@pytest.mark.parametrize(("make", "piece", "whole"), [
    (ChatReader, CHUNK, CHUNK), (ResponsesReader, EVENT, RESPONSE),
])  # fmt: skip
def test_reader_never_crashes_on_any_json(make, piece, whole):
    @given(st.lists(piece, max_size=4), whole)
    def check(pieces, body):
        result = read(make, pieces, body)
        if isinstance(result, ProviderError):
            assert "local" in str(result)
            assert "llama" in str(result)
        else:
            assert all(isinstance(block, Block) for block in result.blocks)
            assert result.usage.input >= 0

    check()
