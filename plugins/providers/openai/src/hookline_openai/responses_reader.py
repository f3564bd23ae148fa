"""Reads a response of ``/responses``, from a stream of events or in one piece."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from hookline_hookspecs import (
    Block,
    Delta,
    DeltaSink,
    ModelResponse,
    ProviderState,
    TextBlock,
    ThinkingBlock,
)
from hookline_hookspecs.requests import ModelStop
from hookline_providerkit import ErrorInResponse, LimitExceeded, Limits

from .json_values import as_mapping, as_mappings, as_string
from .tool_calls import PartialCall, add_arguments, read_calls
from .usage import read_usage

TEXT_EVENTS = ("response.output_text.delta", "response.refusal.delta")
THINKING_EVENTS = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")
ARGUMENTS_EVENT = "response.function_call_arguments.delta"
END_EVENTS = ("response.completed", "response.incomplete", "response.failed")

MAX_ITEMS = Limits().blocks
REASONS: dict[str, ModelStop] = {"max_output_tokens": "length", "content_filter": "refusal"}
"""``incomplete_details.reason``; any other value means ``incomplete``."""


class ResponsesReader:
    """Collects a response and passes each piece to ``sink`` as it comes."""

    def __init__(
        self, sink: DeltaSink | None, _tools: Mapping[str, Mapping[str, Any]] | None = None
    ) -> None:
        self._sink = sink
        self._items: dict[int, dict[str, Any]] = {}
        self._pieces: dict[int, list[str]] = {}
        self._final: Mapping[str, Any] = {}
        self._id = ""

    def add(self, event: Any) -> None:
        """Add one event of a stream; an unknown one is skipped.

        Raises:
            LimitExceeded: there are more items than a response may have.
            ErrorInResponse: the event is an error, or says that the response failed.
        """
        if not isinstance(event, dict):
            return
        kind, index = event.get("type"), event.get("output_index")
        if not isinstance(index, int):
            index = 0
        if len(self._items) > MAX_ITEMS or len(self._pieces) > MAX_ITEMS:
            raise LimitExceeded(f"more than {MAX_ITEMS} parts")
        if kind in TEXT_EVENTS:
            self._add_piece(index, as_string(event.get("delta")), "text")
        elif kind in THINKING_EVENTS:
            self._add_piece(index, as_string(event.get("delta")), "thinking")
        elif kind == ARGUMENTS_EVENT:
            self._pieces.setdefault(index, []).append(as_string(event.get("delta")))
        elif kind == "response.output_item.added":
            self._items[index] = as_mapping(event.get("item"))
        elif kind == "response.output_item.done":
            self._items[index] = as_mapping(event.get("item"))
            self._pieces.pop(index, None)
        elif kind in END_EVENTS:
            self._end(as_mapping(event.get("response")))
        elif kind == "error" or event.get("error"):
            raise ErrorInResponse(event.get("error") or event)

    def add_whole(self, body: Any) -> None:
        """Add a response that was not streamed.

        Raises:
            ErrorInResponse: the body is an error, or not a response.
        """
        if not isinstance(body, dict) or not isinstance(body.get("output"), list):
            error = body.get("error") if isinstance(body, dict) else None
            raise ErrorInResponse(error or body)
        self._end(body)
        if self._sink is not None:
            for block in self.response("", None).blocks:
                if isinstance(block, ThinkingBlock):
                    self._sink(Delta(block.text, "thinking"))
                elif isinstance(block, TextBlock):
                    self._sink(Delta(block.text))

    def end(self, complete: bool) -> None:
        """Take the end of the stream, which this API marks with an event of its own."""

    def response(self, model: str, raw: Any) -> ModelResponse:
        """Return what was collected, as a response of ``model``."""
        items = as_mappings(self._final.get("output")) or self._collected()
        found = [block for item in items for block in _blocks(item, model)]
        partials = [block for block in found if isinstance(block, PartialCall)]
        cut = self._final.get("status") != "completed"
        calls = read_calls(partials, as_string(self._final.get("id")), cut, model)
        blocks: list[Block] = [block for block in found if not isinstance(block, PartialCall)]
        blocks += calls
        usage = read_usage(self._final.get("usage"))
        return ModelResponse(tuple(blocks), self._stop(items, bool(partials)), usage, raw, model)

    def _add_piece(self, index: int, text: str, kind: Literal["text", "thinking"]) -> None:
        if text:
            self._pieces.setdefault(index, []).append(text)
            # What was shown belongs to the response, whatever type the item had.
            item = "message" if kind == "text" else "reasoning"
            self._items.setdefault(index, {"type": item})
            if self._sink is not None:
                self._sink(Delta(text, kind))

    def _end(self, response: Mapping[str, Any]) -> None:
        self._final = response
        if response.get("status") == "failed":
            raise ErrorInResponse(response.get("error") or "the response failed")

    def _collected(self) -> list[dict[str, Any]]:
        """Return the items of a stream that ended early, as far as they came."""
        return [
            _completed(item, "".join(self._pieces.get(index, ())))
            for index, item in sorted(self._items.items())
        ]

    def _stop(self, items: Iterable[dict[str, Any]], calls: bool) -> ModelStop:
        ended: ModelStop
        done = self._final.get("status") == "completed"
        details = as_mapping(self._final.get("incomplete_details"))
        ended = "end" if done else REASONS.get(as_string(details.get("reason")), "incomplete")
        if ended == "incomplete":
            return ended  # tool calls may be missing
        if calls:
            return "tools"
        if any(
            part.get("type") == "refusal"
            for item in items
            for part in as_mappings(item.get("content"))
        ):
            return "refusal"
        return ended


def _completed(item: dict[str, Any], text: str) -> dict[str, Any]:
    if not text:
        return item
    match item.get("type"):
        case "function_call":
            return item | {"arguments": text}
        case "reasoning":
            return item | {"summary": [{"type": "summary_text", "text": text}]}
        case _:
            return item | {"content": [{"type": "output_text", "text": text}]}


def _blocks(item: dict[str, Any], model: str) -> list[TextBlock | ThinkingBlock | PartialCall]:
    match item.get("type"):
        case "message":
            parts = as_mappings(item.get("content"))
            text = "".join(as_string(p.get("text")) or as_string(p.get("refusal")) for p in parts)
            return [TextBlock(text)] if text else []
        case "reasoning":
            thoughts = as_mappings(item.get("summary")) + as_mappings(item.get("content"))
            text = "\n\n".join(filter(None, (as_string(t.get("text")) for t in thoughts)))
            # Only an encrypted item can be sent back, because nothing is stored at the provider.
            sealed = item if item.get("encrypted_content") else {}
            state = ProviderState(model, _without_status(sealed))
            return [ThinkingBlock(text, state=state)] if text or sealed else []
        case "function_call":
            call = PartialCall(as_string(item.get("call_id")), as_string(item.get("name")))
            add_arguments(call, item.get("arguments"))
            return [call]
    return []


def _without_status(item: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key != "status" and value is not None}
