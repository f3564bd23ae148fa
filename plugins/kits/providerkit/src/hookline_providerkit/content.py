"""What an answer holds, made safe to store, to show and to send again.

A response that has passed :func:`within` has text that is valid Unicode without NUL, ids that are
present and differ, arguments that JSON can hold, and counts that are whole numbers from 0.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hookline_hookspecs import (
    Block,
    Delta,
    DeltaSink,
    ModelResponse,
    TextBlock,
    ThinkingBlock,
    ToolCall,
)

from .limits import Exceeded, Limits

LONGEST_NAME = 200
"""Characters of a tool's name or a call's id; the APIs allow 64 at most."""
MOST_COUNT = 10**12
"""Tokens a count can say; no request has a millionth of them."""
_REPLACED = "\ufffd"


def clean(text: str) -> str:
    """``text`` with surrogate pairs joined; lone surrogates and NULs are replaced by U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\0", _REPLACED) if "\0" in text else text


def count(value: object) -> int:
    """A count of tokens as a server tells it: from 0 to :data:`MOST_COUNT`, 0 for anything odd."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return 0
    return int(min(max(value, 0), MOST_COUNT))


class SinkFault(Exception):
    """Who is shown an answer failed; ``error`` is what it raised."""

    def __init__(self, error: Exception) -> None:
        super().__init__("showing a piece of the answer failed")
        self.error = error


class CleanSink:
    """Shows pieces of text cleaned, and keeps them. Half a character waits for its other half.

    Args:
        sink: receives the pieces; None if nobody does.
        limits: ``characters`` is how many are taken; ``Exceeded`` is raised after that.
    """

    def __init__(self, sink: DeltaSink | None, limits: Limits) -> None:
        self._sink = sink
        self._left = limits.characters
        self._half = ""
        self._said: list[str] = []

    @property
    def said(self) -> str:
        """The text so far, without thinking."""
        return "".join(self._said)

    def __call__(self, delta: Delta) -> None:
        if delta.kind in ("waiting", "restart"):
            self._show(delta)  # no part of the answer
            return
        text = self._half + delta.text
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        text = clean(text.removesuffix(self._half))
        self._left -= len(text)
        if self._left < 0:
            raise Exceeded("its answer is longer than any that is taken")
        if delta.kind == "text":
            self._said.append(text)
        if text:
            self._show(delta if text == delta.text else replace(delta, text=text))

    def _show(self, delta: Delta) -> None:
        if self._sink is None:
            return
        try:
            self._sink(delta)
        except Exception as error:
            raise SinkFault(error) from error


def within(response: ModelResponse, limits: Limits) -> ModelResponse:
    """The response with everything in it cleaned.

    Raises:
        Exceeded: there is more in it than ``limits`` allow.
    """
    calls = sum(isinstance(block, ToolCall) for block in response.blocks)
    if calls > limits.calls:
        raise Exceeded(f"its answer holds {calls:,} tool calls; at most {limits.calls} are taken")
    if len(response.blocks) > limits.blocks:
        raise Exceeded(f"its answer holds more than {limits.blocks} parts")
    if sum(map(_characters, response.blocks)) > limits.characters:
        raise Exceeded(f"its answer is longer than {limits.characters:,} characters")
    return replace(response, blocks=_blocks(response.blocks, limits), model=clean(response.model))


def _characters(block: Block) -> int:
    if isinstance(block, TextBlock):
        return len(block.text)
    if isinstance(block, ThinkingBlock):
        return len(block.text) + len(block.signature or "") + len(block.redacted or "")
    return 0


def _blocks(blocks: Sequence[Block], limits: Limits) -> tuple[Block, ...]:
    taken: set[str] = set()
    made: list[Block] = []
    for number, block in enumerate(blocks):
        if isinstance(block, TextBlock):
            block = replace(block, text=clean(block.text))
        elif isinstance(block, ThinkingBlock):
            block = _thought(block)
        elif isinstance(block, ToolCall):
            block = _call(block, number, taken, limits)
            taken.add(block.id)
        made.append(block)
    return tuple(made)


def _thought(block: ThinkingBlock) -> ThinkingBlock:
    """A signature is opaque: one that is not valid Unicode proves nothing, and is left out."""
    signature, redacted = block.signature, block.redacted
    if signature is not None and clean(signature) != signature:
        signature = None
    if redacted is not None and clean(redacted) != redacted:
        redacted = None
    return replace(block, text=clean(block.text), signature=signature, redacted=redacted)


def _call(call: ToolCall, number: int, taken: set[str], limits: Limits) -> ToolCall:
    call_id = clean(call.id)
    if not call_id.strip() or call_id in taken or len(call_id) > LONGEST_NAME:
        seed = f"{call_id}/{number}/{len(taken)}"
        call_id = "call_" + hashlib.sha256(seed.encode()).hexdigest()[:24]
    name, error = clean(call.name)[:LONGEST_NAME], call.error and clean(call.error)
    try:
        arguments = _value(call.arguments, limits.depth)
    except ValueError as fault:
        arguments = {}
        error = error or f"the arguments of {name} {fault}; send the call again"
    return replace(call, id=call_id, name=name, arguments=arguments, error=error)


def _value(value: Any, depth: int) -> Any:
    """A value of the arguments, cleaned at any depth, keys too. Raises ``ValueError``."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("hold a number that is too large")
    if isinstance(value, dict | list) and not depth:
        raise ValueError("are nested too deep")
    if isinstance(value, dict):
        return {clean(str(key)): _value(inner, depth - 1) for key, inner in value.items()}
    if isinstance(value, list):
        return [_value(inner, depth - 1) for inner in value]
    return value
