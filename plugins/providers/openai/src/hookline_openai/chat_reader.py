"""Reads a response of ``/chat/completions``, from a stream of chunks or in one piece."""

from __future__ import annotations

from typing import Any

from hookline_hookspecs import Block, Delta, DeltaSink, ModelResponse, TextBlock, ThinkingBlock
from hookline_hookspecs.requests import ModelStop
from hookline_providerkit import ErrorInResponse

from .json_values import as_mappings, as_string
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
DeepSeek ``insufficient_system_resource``, OpenRouter ``error``, GLM ``sensitive``). Any other value
means ``end``."""


class ChatReader:
    """Collects a response and passes each piece to ``sink`` as it comes."""

    def __init__(self, sink: DeltaSink | None) -> None:
        self._sink = sink
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._refused = False
        self._calls = ToolCallAssembler()
        self._finish = ""
        self._usage: object = None
        self._id = ""

    def add(self, chunk: Any) -> None:
        """Add one chunk of a stream; anything else is skipped.

        Raises:
            ErrorInResponse: the chunk is an error.
        """
        if not isinstance(chunk, dict):
            return
        if chunk.get("error"):
            raise ErrorInResponse(chunk["error"])
        self._usage = chunk.get("usage") or self._usage
        choices = as_mappings(chunk.get("choices"))
        if not choices:
            return
        choice = choices[0]
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
        if not isinstance(body, dict) or not (body.get("choices") or body.get("error")):
            raise ErrorInResponse(body)
        self.add(body)
        # A response in one piece is complete, even if the server does not say so.
        self._finish = self._finish or "stop"

    def response(self, model: str, raw: Any) -> ModelResponse:
        """Return what was collected, as a response of ``model``."""
        calls = read_calls(self._calls.calls, self._id, self._finish in ("", "length"))
        blocks: list[Block] = []
        if self._thinking:
            blocks.append(ThinkingBlock("".join(self._thinking)))
        if self._text:
            blocks.append(TextBlock("".join(self._text)))
        blocks += calls
        usage = read_usage(self._usage)
        return ModelResponse(tuple(blocks), self._stop(bool(calls)), usage, raw, model)

    def _stop(self, calls: bool) -> ModelStop:
        stop = STOPS.get(self._finish, "end") if self._finish else "incomplete"
        if stop == "incomplete":
            return stop  # tool calls may be missing
        if calls:
            return "tools"
        return "refusal" if self._refused else stop

    def _add_delta(self, delta: dict[str, Any]) -> None:
        if thinking := delta.get("reasoning_content") or delta.get("reasoning"):
            self._add_thinking(thinking)
        if content := delta.get("content"):
            self._add_text(content)
        if refusal := delta.get("refusal"):
            self._refused = True
            self._add_text(refusal)

    def _add_text(self, content: Any) -> None:
        if isinstance(content, str):
            self._text.append(content)
            if self._sink is not None:
                self._sink(Delta(content))
        elif isinstance(content, list):
            for part in as_mappings(content):
                self._add_part(part)

    def _add_part(self, part: dict[str, Any]) -> None:
        """Add a content part, as Mistral's reasoning models send them."""
        if part.get("type") == "thinking":
            for thought in as_mappings(part.get("thinking")):
                self._add_thinking(thought.get("text"))
        elif text := as_string(part.get("text")):
            self._add_text(text)

    def _add_thinking(self, text: Any) -> None:
        if isinstance(text, str) and text:
            self._thinking.append(text)
            if self._sink is not None:
                self._sink(Delta(text, "thinking"))
