"""Renders a :class:`ModelRequest` as a :class:`WireRequest` of the Messages API."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hookline_hookspecs import (
    Fragment,
    Message,
    ModelRequest,
    ThinkingBlock,
    ToolCall,
    ToolResultBlock,
    ToolSchema,
    WireRequest,
)

from .encode import list_fragment, message_fragment, own_blocks, wire_id
from .options import Options, default_max_tokens

ANSWER_ROOM = 8192
"""Tokens for the answer where the thinking budget would use up the default ``max_tokens``."""

MAX_SESSIONS = 32
"""Sessions whose encoded system prompt, tools and messages are cached."""

WIRE_KEY = "anthropic"
"""The key of :attr:`Message.wire` for a rendered message."""


@dataclass(frozen=True, slots=True)
class _RenderedMessage:
    fragment: Fragment
    calls: frozenset[str]
    has_results: bool


@dataclass(slots=True)
class _SentMessages:
    """The messages of a session's last request and their bytes; the next request continues them."""

    messages: tuple[Message, ...] = ()
    fragments: list[bytes] = field(default_factory=list)
    model: str = ""
    seen: set[str] = field(default_factory=set)
    renames: dict[str, str] = field(default_factory=dict)

    def add(self, messages: tuple[Message, ...]) -> None:
        """Render what follows :attr:`messages`, which ``messages`` begin with."""
        for message in messages[len(self.messages) :]:
            key = (WIRE_KEY, self.model)
            known: _RenderedMessage | None = message.wire.get(key)
            if known is None:
                known = message.wire[key] = _render_message(message, {}, self.model)
            if known.calls:
                # Some servers number calls anew in each response; the API requires unique ids.
                used = not self.seen.isdisjoint(known.calls)
                self.renames = _new_ids(known.calls, self.seen) if used else {}
                self.seen |= known.calls
                self.seen |= set(self.renames.values())
            if self.renames and (known.calls or known.has_results):
                known = _render_renamed(message, self.renames, self.model)
            self.fragments.append(known.fragment)
        self.messages = messages


class Renderer:
    """Renders requests for one provider, and caches what stays the same."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._stable: OrderedDict[Any, tuple[tuple[ToolSchema, ...], dict[str, bytes]]]
        self._stable = OrderedDict()
        self._sent: OrderedDict[tuple[str, str, str], _SentMessages] = OrderedDict()

    def render(self, request: ModelRequest) -> WireRequest:
        """Return the request: fields, the stable parts, and one fragment a message."""
        provider, _, model = request.model.partition("/")
        return WireRequest(
            provider=provider,
            fields=self._fields(request, model),
            fragments=self._fragments(request),
            stable=self._stable_parts(request.system, request.tools),
            model=request.model,
            session_id=request.session_id,
        )

    def _fields(self, request: ModelRequest, model: str) -> dict[str, Any]:
        params = request.params
        thinking, max_tokens = self._thinking(request, model)
        fields: dict[str, Any] = {
            "model": model,
            "max_tokens": max_tokens,
            "stream": bool(self._options.stream and params.get("stream", True)),
        }
        if request.tools and params.get("tool_choice", "auto") != "auto":
            fields["tool_choice"] = {"type": params["tool_choice"]}
        if thinking is not None:
            fields["thinking"] = thinking
        output = dict(self._options.output_config)
        if params.get("schema"):
            output["format"] = {"type": "json_schema", "schema": params["schema"]}
        if output:
            fields["output_config"] = output
        if request.ephemeral.strip():
            fields["system"] = [{"type": "text", "text": request.ephemeral}]
        return fields

    def _thinking(self, request: ModelRequest, model: str) -> tuple[Mapping[str, Any] | None, int]:
        thinking = self._options.thinking
        requested = request.params.get("max_tokens")
        max_tokens = requested or self._options.max_tokens or default_max_tokens(model)
        budget = (thinking or {}).get("budget_tokens", 0)
        if not thinking or not budget:
            return thinking, max_tokens
        # A fixed budget must be smaller than max_tokens, and a tool loop must have started with
        # thinking. A short auxiliary call, or a loop that another provider started, goes without.
        if (requested and budget >= requested) or not _loop_started_with_thinking(request):
            return None, max_tokens
        return thinking, max_tokens if max_tokens > budget else budget + ANSWER_ROOM

    def _stable_parts(self, system: str, tools: tuple[ToolSchema, ...]) -> dict[str, bytes]:
        key = (system, *map(id, tools))
        known = self._stable.get(key)
        if known is None:
            # The schemas are kept beside their bytes, so that no other object gets their ids.
            known = self._stable[key] = (tools, _stable(system, tools))
            if len(self._stable) > MAX_SESSIONS:
                self._stable.popitem(last=False)
        else:
            self._stable.move_to_end(key)
        return known[1]

    def _fragments(self, request: ModelRequest) -> tuple[bytes, ...]:
        """Return the encoded messages; those of the session's last request are reused."""
        key, messages = (request.session_id, request.purpose, request.model), request.messages
        sent = self._sent.get(key)
        if sent is None or messages[: len(sent.messages)] != sent.messages:
            sent = self._sent[key] = _SentMessages(model=request.model)
        sent.add(messages)
        self._sent.move_to_end(key)
        if len(self._sent) > MAX_SESSIONS:
            self._sent.popitem(last=False)
        return tuple(sent.fragments)


def _stable(system: str, tools: tuple[ToolSchema, ...]) -> dict[str, bytes]:
    schemas = (
        {"name": t.name, "description": t.description, "input_schema": t.parameters} for t in tools
    )
    sections = [{"type": "text", "text": system}] if system.strip() else []
    return {
        "tools": list_fragment(schemas, b"[", b"]"),
        "system": list_fragment(sections, b"[", b"]"),
    }


def _render_message(message: Message, renames: Mapping[str, str], model: str) -> _RenderedMessage:
    message = replace(message, blocks=own_blocks(message, model))
    return _RenderedMessage(
        message_fragment(message, renames),
        frozenset(wire_id(call.id, {}) for call in message.tool_calls),
        any(isinstance(block, ToolResultBlock) for block in message.blocks),
    )


def _new_ids(calls: frozenset[str], seen: set[str]) -> dict[str, str]:
    renames: dict[str, str] = {}
    for call_id in sorted(calls & seen):
        number = 2
        while f"{call_id}_{number}" in seen | calls:
            number += 1
        renames[call_id] = f"{call_id}_{number}"
    return renames


def _render_renamed(message: Message, renames: Mapping[str, str], model: str) -> _RenderedMessage:
    key = (WIRE_KEY, model, tuple(sorted(renames.items())))
    known: _RenderedMessage | None = message.wire.get(key)
    if known is None:
        known = message.wire[key] = _render_message(message, renames, model)
    return known


def _loop_started_with_thinking(request: ModelRequest) -> bool:
    for message in reversed(request.messages):
        if message.role == "assistant":
            blocks = own_blocks(message, request.model)
            first = next((block for block in blocks if _is_sent(block)), None)
            calls = any(isinstance(block, ToolCall) for block in message.blocks)
            return not calls or isinstance(first, ThinkingBlock)
        if not any(isinstance(block, ToolResultBlock) for block in message.blocks):
            return True
    return True


def _is_sent(block: Any) -> bool:
    if isinstance(block, ThinkingBlock):
        return bool(block.signature or block.redacted)
    return not hasattr(block, "text") or bool(block.text.strip())
