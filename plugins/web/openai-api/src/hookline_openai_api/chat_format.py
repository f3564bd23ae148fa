"""Renders a run as a chat completion, or as its chunks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .api_run import ApiRun, LogEntry
from .errors import turn_failed

MAX_LINE_CHARS = 300
"""Characters shown of a tool's arguments or result."""


def chat_usage(used: Mapping[str, int]) -> dict[str, Any]:
    """Return token counts in the format of chat completions."""
    return {
        "prompt_tokens": used["input"],
        "completion_tokens": used["output"],
        "total_tokens": used["input"] + used["output"],
        "prompt_tokens_details": {"cached_tokens": used["cache_read"]},
        "completion_tokens_details": {"reasoning_tokens": used["reasoning"]},
    }


def reasoning_text(entry: LogEntry) -> str:
    """Return the text of an entry for ``reasoning_content``; empty for other entries."""
    kind = entry[0]
    if kind == "think":
        return str(entry[1])
    if kind == "call":
        return f"→ {entry[2]} {_line(entry[3])}\n"
    if kind == "result":
        return f"{'←' if entry[3] else '✗'} {entry[2]}: {_line(entry[4])}\n"
    if kind == "note":
        return f"· {_line(entry[1])}\n"
    return ""


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_LINE_CHARS else line[: MAX_LINE_CHARS - 1] + "…"


class ChatFormat:
    """Renders one run."""

    def __init__(self, run: ApiRun) -> None:
        self._run = run
        self._base = {
            "id": f"chatcmpl-{run.id}",
            "created": int(run.created),
            "model": run.request.get("model", "hookline"),
        }

    def final(self) -> dict[str, Any]:
        """Return the completion of a finished run. Raises ``ApiError`` if it failed."""
        run = self._run
        end = self._run.end
        assert end is not None
        if end["error"] is not None:
            raise turn_failed(end["error"]["kind"], end["error"]["message"])
        if end["state"] == "cancelled":
            raise turn_failed("stopped", "The turn was stopped.")
        message = {"role": "assistant", "content": end["reply"], "refusal": None}
        if beside := "".join(reasoning_text(entry) for entry in run.log):
            message["reasoning_content"] = beside
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": end["finish"]}
        usage = chat_usage(end["usage"])
        return {**self._base, "object": "chat.completion", "choices": [choice], "usage": usage}

    def first(self) -> dict[str, Any]:
        """Return the first chunk, which has the role."""
        return self._chunk({"role": "assistant", "content": ""})

    def chunks(self, entry: LogEntry, *, include_usage: bool) -> Iterator[dict[str, Any]]:
        """Yield the chunks of an entry."""
        if entry[0] == "text":
            yield self._chunk({"content": entry[1]})
        elif entry[0] == "end":
            yield from self._last(entry[1], include_usage)
        elif text := reasoning_text(entry):
            yield self._chunk({"reasoning_content": text})

    def _last(self, end: Mapping[str, Any], include_usage: bool) -> Iterator[dict[str, Any]]:
        if (error := end["error"]) is not None:
            yield turn_failed(error["kind"], error["message"]).as_json()
            return
        yield self._chunk({}, end["finish"])
        if include_usage:
            yield {**self._chunk({}), "choices": [], "usage": chat_usage(end["usage"])}

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {**self._base, "object": "chat.completion.chunk", "choices": [choice]}
