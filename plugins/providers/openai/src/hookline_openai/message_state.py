"""What a server attaches to its messages and expects back: signatures and reasoning.

Gemini refuses a request without the ``thought_signature`` of each call, OpenRouter continues the
reasoning of ``reasoning_details``, and DeepSeek and others need ``reasoning_content`` on a message
with calls. All of it is stored with its block and sent back to the model that made it, unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hookline_hookspecs import Message, ProviderState, TextBlock, ThinkingBlock, ToolCall

from .json_values import as_mappings, as_string

MESSAGE_FIELDS = ("extra_content", "provider_specific_fields", "thought_signature")
CALL_FIELDS = MESSAGE_FIELDS
"""Fields of a message and of a call that only their server understands: Gemini's own, and those of
LiteLLM."""
DETAILS = "reasoning_details"
"""OpenRouter's list of reasoning, some of it encrypted or signed."""
REASONING_CONTENT = "reasoning_content"
_JOINED = ("text", "summary")
"""Text of a detail that is streamed in pieces."""


def add_fields(state: dict[str, Any], source: Mapping[str, Any], names: Iterable[str]) -> None:
    """Add the fields ``names`` of ``source`` to ``state``; objects are merged."""
    for name in names:
        value = source.get(name)
        if isinstance(value, dict) and isinstance(state.get(name), dict):
            state[name] = _merged(state[name], value)
        elif value:
            state[name] = value


def _merged(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(first)
    add_fields(merged, second, second)
    return merged


class ReasoningDetails:
    """The ``reasoning_details`` of a response, joined from streamed pieces."""

    def __init__(self) -> None:
        self.details: list[dict[str, Any]] = []

    def add(self, pieces: object) -> str:
        """Add the details of one chunk and return their text."""
        shown = []
        for piece in as_mappings(pieces):
            shown += [text for name in _JOINED if (text := as_string(piece.get(name)))]
            if self.details and _continues(self.details[-1], piece):
                _join(self.details[-1], piece)
            else:
                self.details.append(dict(piece))
        return "".join(shown)


def _continues(last: Mapping[str, Any], piece: Mapping[str, Any]) -> bool:
    """Return whether a piece belongs to the last detail. Encrypted ones come whole."""
    if last.get("type") != piece.get("type") or "data" in last or "data" in piece:
        return False
    return all(
        last.get(name) == piece.get(name) or last.get(name) is None or piece.get(name) is None
        for name in ("index", "id")
    )


def _join(last: dict[str, Any], piece: Mapping[str, Any]) -> None:
    for name, value in piece.items():
        if name in _JOINED and isinstance(value, str) and isinstance(last.get(name), str):
            last[name] += value
        elif value is not None:
            last[name] = value


def own_state(state: ProviderState | None, model: str) -> Mapping[str, Any]:
    """Return the data of ``state`` if ``model`` made it, else nothing."""
    return state.data if state is not None and state.model == model else {}


def call_state(call: ToolCall, model: str) -> Mapping[str, Any]:
    """Return the fields that ``model`` expects back with a call."""
    return own_state(call.state, model)


def message_state(message: Message, model: str, reasoning_field: str | None) -> dict[str, Any]:
    """Return the fields that ``model`` expects back with an assistant message.

    Args:
        message: the message.
        model: the model that gets it.
        reasoning_field: the field of reasoning in a message with calls; None for the one in which
            this model sent it, empty for none.
    """
    fields: dict[str, Any] = {}
    thoughts: list[ThinkingBlock] = []
    for block in message.blocks:
        if isinstance(block, TextBlock | ThinkingBlock):
            add_fields(fields, own_state(block.state, model), (*MESSAGE_FIELDS, DETAILS))
        if isinstance(block, ThinkingBlock) and (block.state is None or block.state.model == model):
            thoughts.append(block)
    if not message.tool_calls:
        return fields
    if reasoning_field is None:
        sent = [block for block in thoughts if own_state(block.state, model).get(REASONING_CONTENT)]
        reasoning_field, thoughts = (REASONING_CONTENT if sent else ""), sent
    if reasoning_field:
        fields[reasoning_field] = "\n\n".join(block.text for block in thoughts)
    return fields
