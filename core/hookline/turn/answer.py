"""What a model answered, before anything is made of it: whole, within bounds, and storable."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import Any, cast, get_args

from hookline_hookspecs.errors import BadRequest, NetworkError, ProviderError
from hookline_hookspecs.messages import Block, TextBlock, ThinkingBlock, ToolCall
from hookline_hookspecs.requests import ModelResponse, ModelStop

from ..text import clean_json, new_id

MOST_CALLS = 256
"""Tool calls of one response."""
LONGEST_TEXT = 4_000_000
"""Characters of text and thinking of one response."""
_WHOLE = frozenset(get_args(ModelStop)) - {"incomplete"}


def require_complete(model: str, response: ModelResponse) -> ModelResponse:
    """The response, if it has come to its end and is not larger than any answer.

    Raises:
        NetworkError: it has not; ``partial`` is its text.
        BadRequest: it is; likewise.
    """
    calls = len(response.message.tool_calls)
    texts = [
        block.text for block in response.blocks if isinstance(block, (TextBlock, ThinkingBlock))
    ]
    if response.stop not in _WHOLE:
        error: ProviderError = NetworkError(
            f"{model} broke off its answer before its end; try again"
        )
    elif calls > MOST_CALLS or sum(map(len, texts)) > LONGEST_TEXT:
        error = BadRequest(
            f"the answer of {model} is too large ({calls} tool calls); choose another model"
        )
    else:
        return response
    error.partial = response.text[:LONGEST_TEXT]
    raise error


def sanitize_response(response: ModelResponse, used: Set[str] = frozenset()) -> ModelResponse:
    """The response with storable text and a tool call id for each call that is not in ``used``."""
    seen = set(used)

    def stored(block: Any) -> Block:
        try:
            made: Any = replace(
                block,
                **{n: clean_json(getattr(block, n)) for n in block.__slots__ if n != "origins"},
            )
        except ValueError as error:
            return stored(
                replace(block, arguments={}, error=f"the arguments {error}; send the call again")
            )
        if isinstance(made, ToolCall):
            made = made if made.id and made.id not in seen else replace(made, id=f"call_{new_id()}")
            seen.add(made.id)
        elif isinstance(made, ThinkingBlock) and made != block:
            return ThinkingBlock(made.text)  # what is opaque would be refused if it were changed
        return cast("Block", made)

    return replace(response, blocks=tuple(map(stored, response.blocks)))
