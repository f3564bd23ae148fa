"""Reads a response of ``/chat/completions``, from a stream of chunks or in one piece."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

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
from hookline_providerkit import ErrorInResponse, hidden_error

from .json_values import as_mappings, as_string
from .message_state import DETAILS, MESSAGE_FIELDS, REASONING_CONTENT, ReasoningDetails, add_fields
from .text_tool_calls import HeldText, find_calls, find_marked_calls
from .thinking_tags import Part, ThinkingTags, split_at_lone_end
from .tool_calls import ToolCallAssembler, read_calls
from .usage import read_usage

STOPS: dict[str, ModelStop] = {
    "stop": "end",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refusal",
    "refusal": "refusal",
    "safety": "refusal",
    "sensitive": "refusal",
    "recitation": "refusal",
    "prohibited_content": "refusal",
    "blocklist": "refusal",
    "spii": "refusal",
    "guardrail_intervened": "refusal",
    "pause": "pause",
    "pause_turn": "pause",
    "context": "context",
    "context_length": "context",
    "model_length": "context",
    "model_context_window_exceeded": "context",
    "insufficient_system_resource": "incomplete",
    "error": "incomplete",
}
"""``finish_reason`` of OpenAI, and of servers with values of their own (Mistral ``model_length``,
DeepSeek ``insufficient_system_resource``, OpenRouter ``error``, GLM ``sensitive``, Google's in
lower case). Any other value means ``end``."""


def _stop_of(reason: str) -> ModelStop:
    """Return what a reason means, also one with a detail, as ``content_filter: SAFETY``."""
    return STOPS.get(reason.partition(":")[0].strip().lower(), "end")


class ChatReader:
    """Collects a response and passes each piece to ``sink`` as it comes.

    Args:
        sink: receives the pieces.
        tools: the JSON schema of each offered tool by name, if calls written as text count.
    """

    def __init__(
        self, sink: DeltaSink | None, tools: Mapping[str, Mapping[str, Any]] | None = None
    ) -> None:
        self._sink = sink
        self._tools = tools or {}
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._tags = ThinkingTags()
        self._held = HeldText(tools) if tools else None
        self._details = ReasoningDetails()
        self._thinking_state: dict[str, Any] = {}
        self._text_state: dict[str, Any] = {}
        self._refused = False
        self._calls = ToolCallAssembler()
        self._old_call = ToolCallAssembler()
        self._finish = ""
        self._usage: object = None
        self._id = ""

    def add(self, chunk: Any) -> None:
        """Add one chunk of a stream; anything else is skipped.

        Raises:
            ErrorInResponse: the chunk is an error.
        """
        if isinstance(chunk, list):
            chunk = next(iter(chunk), None)  # Google sends its errors in a list
        if not isinstance(chunk, dict):
            return
        if (error := hidden_error(chunk)) is not None:
            raise ErrorInResponse(error)
        self._refused |= (
            chunk.get("input_sensitive") is True or chunk.get("output_sensitive") is True
        )
        self._usage = chunk.get("usage") or self._usage
        choices = as_mappings(chunk.get("choices"))
        if not choices:
            return
        choice = choices[0]
        if error := choice.get("error"):
            raise ErrorInResponse(error)
        self._id = self._id or as_string(chunk.get("id"))
        if isinstance(delta := choice.get("delta"), dict):
            if pieces := delta.get("tool_calls"):
                self._calls.add(pieces)
            self._add_delta(delta)
        elif isinstance(message := choice.get("message"), dict):
            self._calls.add_whole(message.get("tool_calls"))
            self._add_delta(message)
        self._finish = as_string(choice.get("finish_reason")) or self._finish
        self._usage = choice.get("usage") or self._usage

    def add_whole(self, body: Any) -> None:
        """Add a response that was not streamed.

        Raises:
            ErrorInResponse: the body is an error, or not a response.
        """
        if not isinstance(body, dict) or not (body.get("choices") or hidden_error(body)):
            raise ErrorInResponse(body)
        self.add(body)
        # A response in one piece is complete, even if the server does not say so.
        self.end(complete=True)

    def end(self, complete: bool) -> None:
        """Take the end of the response; ``complete`` if the server marked it as such.

        A marked end stands for a missing reason, unless it came before any content.
        """
        self._add_parts(self._tags.finish())
        # Servers that send a call in both forms mean one.
        self._calls = self._calls if self._calls.calls else self._old_call
        if complete and (self._text or self._calls.calls):
            self._finish = self._finish or "stop"
        self._take_lone_end()
        if self._held is not None:
            self._take_text_calls(self._held.rest())

    def response(self, model: str, raw: Any) -> ModelResponse:
        """Return what was collected, as a response of ``model``."""
        calls = read_calls(self._calls.calls, self._id, self._finish in ("", "length"), model)
        blocks: list[Block] = []
        thinking_state = dict(self._thinking_state)
        if self._details.details:
            thinking_state[DETAILS] = self._details.details
        if not self._text:
            thinking_state |= self._text_state
        if self._thinking or thinking_state:
            state = ProviderState(model, thinking_state)
            blocks.append(ThinkingBlock("".join(self._thinking), state=state))
        if self._text:
            own = ProviderState(model, self._text_state) if self._text_state else None
            blocks.append(TextBlock("".join(self._text), state=own))
        blocks += calls
        usage = read_usage(self._usage)
        return ModelResponse(tuple(blocks), self._stop(bool(calls)), usage, raw, model)

    def _stop(self, calls: bool) -> ModelStop:
        stop = _stop_of(self._finish) if self._finish else "incomplete"
        if stop == "incomplete":
            return stop  # tool calls may be missing
        if calls:
            return "tools"
        return "refusal" if self._refused else stop

    def _add_delta(self, delta: dict[str, Any]) -> None:
        add_fields(self._text_state, delta, MESSAGE_FIELDS)
        if call := delta.get("function_call"):
            self._old_call.add([{"index": 0, "function": call}])
        details = self._details.add(delta.get(DETAILS))
        if delta.get(REASONING_CONTENT):
            self._thinking_state[REASONING_CONTENT] = True
        thinking = delta.get(REASONING_CONTENT) or delta.get("reasoning") or details
        if thinking:
            self._add_thinking(thinking)
        if content := delta.get("content"):
            self._add_content(content)
        if refusal := delta.get("refusal"):
            self._refused = True
            self._add_content(refusal)

    def _add_content(self, content: Any) -> None:
        if isinstance(content, str):
            self._add_parts(self._tags.add(content))
        elif isinstance(content, list):
            for part in as_mappings(content):
                self._add_part(part)

    def _add_part(self, part: dict[str, Any]) -> None:
        """Add a content part, as Mistral's reasoning models send them."""
        if part.get("type") == "thinking":
            for thought in as_mappings(part.get("thinking")):
                self._add_thinking(thought.get("text"))
        elif text := as_string(part.get("text")):
            self._add_content(text)

    def _add_parts(self, parts: Iterable[Part]) -> None:
        for kind, text in parts:
            if kind == "thinking":
                self._add_thinking(text)
            else:
                self._add_text(text)

    def _add_text(self, text: str) -> None:
        self._text.append(text)
        self._show(self._held.add(text) if self._held is not None else text)

    def _add_thinking(self, text: Any) -> None:
        if isinstance(text, str) and text:
            self._thinking.append(text)
            if self._sink is not None:
                self._sink(Delta(text, "thinking"))

    def _show(self, text: str) -> None:
        if text and self._sink is not None:
            self._sink(Delta(text))

    def _take_lone_end(self) -> None:
        """Move text before an end tag of thinking whose beginning was in the prompt."""
        if self._thinking:
            return
        thought, answer = split_at_lone_end("".join(self._text))
        if thought:
            self._thinking, self._text = [thought], [answer] if answer else []

    def _take_text_calls(self, held: str) -> None:
        """Make calls of those that the model wrote as text, or show the text that was held."""
        if self._finish and not self._calls.calls:
            rest, calls = find_calls("".join(self._text), self._tools)
            if not calls and not rest.strip():  # some models forget to end their thinking
                _, calls = find_marked_calls("".join(self._thinking), self._tools)
            if calls:
                self._text = [rest] if rest else []
                self._calls.add_whole(
                    [{"function": {"name": name, "arguments": given}} for name, given in calls]
                )
                return
        self._show(held)
