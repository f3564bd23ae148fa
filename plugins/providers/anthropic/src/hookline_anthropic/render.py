"""A :class:`ModelRequest` as a :class:`WireRequest` of the Messages API."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
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

from .encode import list_fragment, message_fragment, wire_id
from .options import Options, default_max_tokens

ANSWER_ROOM = 8192
"""Tokens left for the answer where the thinking budget would fill the default ``max_tokens``."""

STABLE_KEPT = 32
"""How many live sessions' encoded system prompt and tools, and last messages, are kept."""

CACHE = "anthropic"
"""Key of :attr:`Message.wire` under which a rendered message is kept."""


@dataclass(frozen=True, slots=True)
class _Rendered:
    fragment: Fragment
    calls: frozenset[str]
    answers: bool


@dataclass(slots=True)
class _Sent:
    """The messages of a request and what was made of them, for the next one to go on from."""

    messages: tuple[Message, ...] = ()
    fragments: list[bytes] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    renames: dict[str, str] = field(default_factory=dict)

    def add(self, messages: tuple[Message, ...]) -> None:
        """Render what follows :attr:`messages`, which ``messages`` begin with."""
        for message in messages[len(self.messages) :]:
            known: _Rendered | None = message.wire.get(CACHE)
            if known is None:
                known = message.wire[CACHE] = _rendered(message, {})
            if known.calls:
                # Some servers count their calls anew in each answer; the API wants ids used once.
                used = not self.seen.isdisjoint(known.calls)
                self.renames = _new_ids(known.calls, self.seen) if used else {}
                self.seen |= known.calls
                self.seen |= set(self.renames.values())
            if self.renames and (known.calls or known.answers):
                known = _renamed(message, self.renames)
            self.fragments.append(known.fragment)
        self.messages = messages


class Renderer:
    """Renders requests for one provider and keeps what stays the same."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._stable: OrderedDict[Any, tuple[tuple[ToolSchema, ...], dict[str, bytes]]]
        self._stable = OrderedDict()
        self._sent: OrderedDict[tuple[str, str], _Sent] = OrderedDict()

    def render(self, request: ModelRequest) -> WireRequest:
        """The request: fields, the stable parts, and one fragment a message."""
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
        asked = request.params.get("max_tokens")
        max_tokens = asked or self._options.max_tokens or default_max_tokens(model)
        budget = (thinking or {}).get("budget_tokens", 0)
        if not thinking or not budget:
            return thinking, max_tokens
        # A fixed budget must be smaller than max_tokens, and a tool loop must have begun with
        # thinking; a short auxiliary call or a loop taken over from another provider goes without.
        if (asked and budget >= asked) or not _loop_began_with_thinking(request.messages):
            return None, max_tokens
        return thinking, max_tokens if max_tokens > budget else budget + ANSWER_ROOM

    def _stable_parts(self, system: str, tools: tuple[ToolSchema, ...]) -> dict[str, bytes]:
        key = (system, *map(id, tools))
        known = self._stable.get(key)
        if known is None:
            # The schemas are kept beside their bytes, so that no other object gets their ids.
            known = self._stable[key] = (tools, _stable(system, tools))
            if len(self._stable) > STABLE_KEPT:
                self._stable.popitem(last=False)
        else:
            self._stable.move_to_end(key)
        return known[1]

    def _fragments(self, request: ModelRequest) -> tuple[bytes, ...]:
        """The encoded messages; those of the session's last request are not looked at again."""
        key, messages = (request.session_id, request.purpose), request.messages
        sent = self._sent.get(key)
        if sent is None or messages[: len(sent.messages)] != sent.messages:
            sent = self._sent[key] = _Sent()
        sent.add(messages)
        self._sent.move_to_end(key)
        if len(self._sent) > STABLE_KEPT:
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


def _rendered(message: Message, renames: Mapping[str, str]) -> _Rendered:
    return _Rendered(
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


def _renamed(message: Message, renames: Mapping[str, str]) -> _Rendered:
    key = (CACHE, tuple(sorted(renames.items())))
    known: _Rendered | None = message.wire.get(key)
    if known is None:
        known = message.wire[key] = _rendered(message, renames)
    return known


def _loop_began_with_thinking(messages: tuple[Message, ...]) -> bool:
    for message in reversed(messages):
        if message.role == "assistant":
            first = next((b for b in message.blocks if _is_sent(b)), None)
            calls = any(isinstance(block, ToolCall) for block in message.blocks)
            return not calls or isinstance(first, ThinkingBlock)
        if not any(isinstance(block, ToolResultBlock) for block in message.blocks):
            return True
    return True


def _is_sent(block: Any) -> bool:
    if isinstance(block, ThinkingBlock):
        return bool(block.signature or block.redacted)
    return not hasattr(block, "text") or bool(block.text.strip())
