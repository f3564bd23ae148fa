"""Makes a response safe to store, to show and to send again.

After :func:`sanitize_response` the text is valid Unicode without NUL, ids are present and unique,
arguments are valid JSON, and counts are whole numbers from 0.
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

from .limits import LimitExceeded, Limits

MAX_NAME_CHARS = 200
"""Characters of a tool's name or a call's id; the APIs allow 64 at most."""
MAX_TOKENS = 10**12
"""The largest count of tokens that is accepted; no request has a millionth of it."""
_REPLACED = "\ufffd"


def sanitize_text(text: str) -> str:
    """Join surrogate pairs, and replace lone surrogates and NULs by U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\0", _REPLACED) if "\0" in text else text


def token_count(value: object) -> int:
    """Read a server's count of tokens: from 0 to :data:`MAX_TOKENS`, 0 for anything odd."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return 0
    return int(min(max(value, 0), MAX_TOKENS))


class SinkError(Exception):
    """``on_delta`` failed; ``error`` is what it raised."""

    def __init__(self, error: Exception) -> None:
        super().__init__("showing a piece of the response failed")
        self.error = error


class SanitizingSink:
    """Sanitizes pieces of text, passes them on and keeps them.

    Half of a surrogate pair is held until the other half arrives.

    Args:
        sink: receives the pieces; None to only keep them.
        limits: after ``characters`` of them, ``LimitExceeded`` is raised.
    """

    def __init__(self, sink: DeltaSink | None, limits: Limits) -> None:
        self._sink = sink
        self._max = self._left = limits.characters
        self._high_surrogate = ""
        self._texts: list[str] = []
        self.has_shown = False
        """Whether a piece of the response has come."""

    @property
    def text(self) -> str:
        """The text so far, without thinking."""
        return "".join(self._texts)

    def __call__(self, delta: Delta) -> None:
        if delta.kind in ("waiting", "restart", "notice"):
            self._show(delta)  # not part of the response
            return
        self.has_shown = self.has_shown or bool(delta.text)
        text = self._high_surrogate + delta.text
        self._high_surrogate = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        text = sanitize_text(text.removesuffix(self._high_surrogate))
        self._left -= len(text)
        if self._left < 0:
            raise LimitExceeded(f"longer than {self._max:,} characters")
        if delta.kind == "text":
            self._texts.append(text)
        if text:
            self._show(delta if text == delta.text else replace(delta, text=text))

    def _show(self, delta: Delta) -> None:
        if self._sink is None:
            return
        try:
            self._sink(delta)
        except Exception as error:
            raise SinkError(error) from error


def sanitize_response(response: ModelResponse, limits: Limits) -> ModelResponse:
    """Return the response sanitized.

    Raises:
        LimitExceeded: the response exceeds ``limits``.
    """
    calls = sum(isinstance(block, ToolCall) for block in response.blocks)
    if calls > limits.calls:
        raise LimitExceeded(f"{calls:,} tool calls, more than {limits.calls}")
    if len(response.blocks) > limits.blocks:
        raise LimitExceeded(f"more than {limits.blocks} parts")
    if sum(map(_characters, response.blocks)) > limits.characters:
        raise LimitExceeded(f"longer than {limits.characters:,} characters")
    blocks = _sanitize_blocks(response.blocks, limits)
    return replace(response, blocks=blocks, model=sanitize_text(response.model))


def _characters(block: Block) -> int:
    if isinstance(block, TextBlock):
        return len(block.text)
    if isinstance(block, ThinkingBlock):
        return len(block.text) + len(block.signature or "") + len(block.redacted or "")
    return 0


def _sanitize_blocks(blocks: Sequence[Block], limits: Limits) -> tuple[Block, ...]:
    taken: set[str] = set()
    made: list[Block] = []
    for number, block in enumerate(blocks):
        if isinstance(block, TextBlock):
            block = replace(block, text=sanitize_text(block.text))
        elif isinstance(block, ThinkingBlock):
            block = _sanitize_thinking(block)
        elif isinstance(block, ToolCall):
            block = _sanitize_call(block, number, taken, limits)
            taken.add(block.id)
        made.append(block)
    return tuple(made)


def _sanitize_thinking(block: ThinkingBlock) -> ThinkingBlock:
    """Sanitize thinking. A signature that is not valid Unicode proves nothing and is dropped."""
    signature, redacted = block.signature, block.redacted
    if signature is not None and sanitize_text(signature) != signature:
        signature = None
    if redacted is not None and sanitize_text(redacted) != redacted:
        redacted = None
    return replace(block, text=sanitize_text(block.text), signature=signature, redacted=redacted)


def _sanitize_call(call: ToolCall, number: int, taken: set[str], limits: Limits) -> ToolCall:
    call_id = sanitize_text(call.id)
    if not call_id.strip() or call_id in taken or len(call_id) > MAX_NAME_CHARS:
        seed = f"{call_id}/{number}/{len(taken)}"
        call_id = "call_" + hashlib.sha256(seed.encode()).hexdigest()[:24]
    name, error = (
        sanitize_text(call.name)[:MAX_NAME_CHARS],
        call.error and sanitize_text(call.error),
    )
    try:
        arguments = _sanitize_json(call.arguments, limits.depth)
    except ValueError as fault:
        arguments = {}
        error = error or f"the arguments of {name} {fault}; send the call again"
    return replace(call, id=call_id, name=name, arguments=arguments, error=error)


def _sanitize_json(value: Any, depth: int) -> Any:
    """Return an argument's value, sanitized at any depth with its keys. Raises ``ValueError``."""
    if isinstance(value, str):
        return sanitize_text(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("hold a number that is too large")
    if isinstance(value, dict | list) and not depth:
        raise ValueError("are nested too deep")
    if isinstance(value, dict):
        return {
            sanitize_text(str(key)): _sanitize_json(inner, depth - 1)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_sanitize_json(inner, depth - 1) for inner in value]
    return value
