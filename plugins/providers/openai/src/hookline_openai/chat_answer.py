"""The answer of ``/chat/completions``, from a stream of chunks or in one piece."""

from __future__ import annotations

from typing import Any

from hookline_hookspecs import Block, Delta, DeltaSink, ModelResponse, TextBlock, ThinkingBlock
from hookline_hookspecs.requests import ModelStop
from hookline_providerkit import ServerSaid

from .calls import CallPieces, read_calls
from .shapes import mappings, string
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
"""``finish_reason`` of OpenAI and of the servers that have words of their own (Mistral
``model_length``, DeepSeek ``insufficient_system_resource``, OpenRouter ``error``, GLM
``sensitive``). A word that is not here means ``end``."""


class ChatAnswer:
    """Collects an answer and tells ``sink`` each piece as it comes."""

    def __init__(self, sink: DeltaSink | None) -> None:
        self._sink = sink
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._refused = False
        self._calls = CallPieces()
        self._finish = ""
        self._usage: object = None
        self._id = ""

    def add(self, chunk: Any) -> None:
        """Take one chunk of a stream. What is no chunk is passed over.

        Raises:
            ServerSaid: the chunk is an error.
        """
        if not isinstance(chunk, dict):
            return
        if chunk.get("error"):
            raise ServerSaid(chunk["error"])
        self._usage = chunk.get("usage") or self._usage
        choices = mappings(chunk.get("choices"))
        if not choices:
            return
        choice = choices[0]
        self._id = self._id or string(chunk.get("id"))
        if isinstance(delta := choice.get("delta"), dict):
            if pieces := delta.get("tool_calls"):
                self._calls.add(pieces)
            self._take(delta)
        elif isinstance(message := choice.get("message"), dict):
            self._calls.add_whole(message.get("tool_calls"))
            self._take(message)
        self._finish = string(choice.get("finish_reason")) or self._finish
        self._usage = choice.get("usage") or self._usage

    def whole(self, body: Any) -> None:
        """Take an answer that was not streamed.

        Raises:
            ServerSaid: the body is an error, or no answer at all.
        """
        if not isinstance(body, dict) or not (body.get("choices") or body.get("error")):
            raise ServerSaid(body)
        self.add(body)
        # What came in one piece came to its end, also where the server does not say so.
        self._finish = self._finish or "stop"

    def response(self, model: str, raw: Any) -> ModelResponse:
        """What was collected, as a response of ``model``."""
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
            return stop  # a call may be missing, or one of several
        if calls:
            return "tools"
        return "refusal" if self._refused else stop

    def _take(self, delta: dict[str, Any]) -> None:
        if thinking := delta.get("reasoning_content") or delta.get("reasoning"):
            self._think(thinking)
        if content := delta.get("content"):
            self._say(content)
        if refusal := delta.get("refusal"):
            self._refused = True
            self._say(refusal)

    def _say(self, content: Any) -> None:
        if isinstance(content, str):
            self._text.append(content)
            if self._sink is not None:
                self._sink(Delta(content))
        elif isinstance(content, list):
            for part in mappings(content):
                self._part(part)

    def _part(self, part: dict[str, Any]) -> None:
        """A content part, as Mistral's reasoning models send them."""
        if part.get("type") == "thinking":
            for thought in mappings(part.get("thinking")):
                self._think(thought.get("text"))
        elif text := string(part.get("text")):
            self._say(text)

    def _think(self, text: Any) -> None:
        if isinstance(text, str) and text:
            self._thinking.append(text)
            if self._sink is not None:
                self._sink(Delta(text, "thinking"))
