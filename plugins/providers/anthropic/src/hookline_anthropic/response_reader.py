"""Reads a response: the events of a stream, or a message in one piece, as neutral blocks.

Events and messages are plain data, so that a block or event that is newer than this code is skipped
instead of failing the response.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from typing import Any

from hookline_hookspecs import (
    Block,
    Delta,
    DeltaSink,
    ModelResponse,
    ProviderState,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    Usage,
)
from hookline_hookspecs.requests import ModelStop
from hookline_providerkit import (
    LimitExceeded,
    Limits,
    UnreadableArguments,
    read_arguments,
    token_count,
)

STOPS: Mapping[str | None, ModelStop] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tools",
    "max_tokens": "length",
    "refusal": "refusal",
    "pause_turn": "pause",
    "model_context_window_exceeded": "context",
    None: "incomplete",
}
"""The API's ``stop_reason``; an unknown one counts as ``end``."""

_DELTA_FIELDS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "input_json_delta": "partial_json",
}
_CUT_REASONS = ("max_tokens", None)
_SHOWN_KINDS = ("text", "thinking")


class StreamReader:
    """Assembles a message from the events of a stream, and passes its pieces on."""

    def __init__(self, on_delta: DeltaSink, limits: Limits) -> None:
        self._on_delta = on_delta
        self._max_blocks = limits.blocks
        self._message: dict[str, Any] = {}
        self._usage: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._pieces: dict[tuple[int, str], list[str]] = {}

    @property
    def has_message(self) -> bool:
        """Whether a message has started."""
        return bool(self._message)

    def feed(self, event: Any) -> None:
        """Add one event; an unknown one is skipped.

        Raises:
            LimitExceeded: there are more blocks than a response may have.
        """
        if len(self._blocks) > self._max_blocks:
            raise LimitExceeded(f"more than {self._max_blocks} parts")
        match event:
            case {"type": "content_block_delta", "index": int(index), "delta": {"type": str(kind)}}:
                self._add_piece(index, _DELTA_FIELDS.get(kind, ""), event["delta"])
            case {"type": "content_block_start", "index": int(index), "content_block": dict(block)}:
                self._blocks[index] = block
                for name in _SHOWN_KINDS:
                    self._add_piece(index, name, block)
            case {"type": "message_start", "message": dict(message)}:
                self._message = self._message or message
                self._usage |= _present(message.get("usage"))
            case {"type": "message_delta"}:
                self._message |= _present(event.get("delta"))
                self._usage |= _present(event.get("usage"))

    def _add_piece(self, index: int, name: str, holder: Mapping[str, Any]) -> None:
        text = holder.get(name)
        if not isinstance(text, str) or not text or not name:
            return
        self._pieces.setdefault((index, name), []).append(text)
        if name in _SHOWN_KINDS:
            self._blocks.setdefault(index, {"type": name})  # shown, so it belongs to the response
        if name == "text":
            self._on_delta(Delta(text))
        elif name == "thinking":
            self._on_delta(Delta(text, "thinking"))

    def message(self) -> dict[str, Any]:
        """Return the message so far, in the shape of one that was not streamed."""
        content = []
        for index, block in sorted(self._blocks.items()):
            whole = dict(block)
            for name in _DELTA_FIELDS.values():
                pieces = self._pieces.get((index, name))
                if pieces:
                    whole["input" if name == "partial_json" else name] = "".join(pieces)
            content.append(whole)
        return self._message | {"content": content, "usage": self._usage}


def _present(data: Any) -> dict[str, Any]:
    if not isinstance(data, Mapping):
        return {}
    return {key: value for key, value in data.items() if value is not None}


def read_message(message: Mapping[str, Any], model: str) -> ModelResponse:
    """Return a message of the API as a response of ``provider/model``."""
    given = message.get("stop_reason")
    reason = given if isinstance(given, str) else None
    blocks: list[Block] = []
    calls: set[str] = set()
    for number, data in enumerate(message.get("content", ())):
        if isinstance(data, Mapping) and data.get("type") == "tool_use":
            call_id = _call_id(data, calls, f"{message.get('id') or uuid.uuid4()}/{number}")
            calls.add(call_id)
            blocks.append(_call(data, call_id, reason))
        else:
            blocks += _text_blocks(data, model)
    stop = STOPS.get(reason, "end")
    return ModelResponse(
        tuple(blocks), stop, read_usage(message.get("usage")), raw=message, model=model
    )


def _text_blocks(data: Any, model: str) -> list[Block]:
    state = ProviderState(model)
    match data:
        case {"type": "text", "text": str(text)} if text:
            return [TextBlock(text)]
        case {"type": "thinking"}:
            thought, signature = data.get("thinking"), data.get("signature")
            thought = thought if isinstance(thought, str) else ""
            signature = signature if isinstance(signature, str) and signature else None
            return [ThinkingBlock(thought, signature, state=state)]
        case {"type": "redacted_thinking", "data": str(sealed)}:
            return [ThinkingBlock("", redacted=sealed, state=state)]
        case _:
            return []


def _call_id(data: Mapping[str, Any], used: set[str], seed: str) -> str:
    given = data.get("id")
    if isinstance(given, str) and given and given not in used:
        return given
    return "toolu_" + hashlib.sha256(seed.encode("utf-8", "replace")).hexdigest()[:24]


def _call(data: Mapping[str, Any], call_id: str, reason: str | None) -> ToolCall:
    name = data.get("name")
    if not isinstance(name, str) or not name.strip():
        error = "the call named no tool; send it again with the name of a tool"
        return ToolCall(call_id, "", {}, error)
    arguments = data.get("input") or {}
    if isinstance(arguments, str):
        try:
            # Calls that a proxy joined have one id; only the first can be told from a repetition.
            arguments = read_arguments(arguments, cut=reason in _CUT_REASONS)[0]
        except UnreadableArguments as problem:
            return ToolCall(call_id, name, {}, _arguments_error(name, reason, str(problem)))
    if not isinstance(arguments, dict):
        error = f"the arguments of {name} must be a JSON object; send the call again"
        return ToolCall(call_id, name, {}, error)
    return ToolCall(call_id, name, arguments)


def _arguments_error(name: str, reason: str | None, problem: str) -> str:
    if reason in _CUT_REASONS:
        return f"the call of {name} was cut off before its end; send it again, with less in it"
    if "object" in problem:
        return f"the arguments of {name} must be a JSON object; send the call again"
    return f"the arguments of {name} were not valid JSON: they {problem}; send the call again"


def read_usage(usage: Any) -> Usage:
    """Return token counts; ``input`` includes what was read from and written to the cache."""
    read = _count(usage, "cache_read_input_tokens")
    written = _count(usage, "cache_creation_input_tokens")
    counts = usage if isinstance(usage, Mapping) else {}
    details, kept = counts.get("output_tokens_details"), counts.get("cache_creation")
    return Usage(
        input=_count(usage, "input_tokens") + read + written,
        cache_read=read,
        cache_write=written,
        output=_count(usage, "output_tokens"),
        reasoning=_count(details, "thinking_tokens"),
        cache_write_1h=min(written, _count(kept, "ephemeral_1h_input_tokens")),
    )


def _count(data: Any, key: str) -> int:
    value = data.get(key) if isinstance(data, Mapping) else None
    return token_count(value)
