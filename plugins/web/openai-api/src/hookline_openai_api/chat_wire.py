"""A run as chat completion objects and chunks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .errors import failed
from .run import Entry, Run

LONGEST_LINE = 300
"""Characters that are shown of a tool's arguments or result."""


def usage_of(used: Mapping[str, int]) -> dict[str, Any]:
    """Return tokens as a chat completion tells them."""
    return {
        "prompt_tokens": used["input"],
        "completion_tokens": used["output"],
        "total_tokens": used["input"] + used["output"],
        "prompt_tokens_details": {"cached_tokens": used["cache_read"]},
        "completion_tokens_details": {"reasoning_tokens": used["reasoning"]},
    }


def told(entry: Entry) -> str:
    """Return what an entry says beside the answer, for ``reasoning_content``; may be empty."""
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
    return line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 1] + "…"


class ChatWire:
    """Makes objects of one run."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._base = {
            "id": f"chatcmpl-{run.id}",
            "created": int(run.created),
            "model": run.request.get("model", "hookline"),
        }

    def whole(self) -> dict[str, Any]:
        """Return the completion of a run that is over. Raises ``ApiError`` if it failed."""
        run, end = self._run, self._run.end
        assert end is not None
        if end["error"] is not None:
            raise failed(end["error"]["kind"], end["error"]["message"])
        if end["state"] == "cancelled":
            raise failed("stopped", "The turn was stopped.")
        message = {"role": "assistant", "content": end["reply"], "refusal": None}
        if beside := "".join(told(entry) for entry in run.log):
            message["reasoning_content"] = beside
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": end["finish"]}
        usage = usage_of(end["usage"])
        return {**self._base, "object": "chat.completion", "choices": [choice], "usage": usage}

    def first(self) -> dict[str, Any]:
        """Return the first chunk, which names the role."""
        return self._chunk({"role": "assistant", "content": ""})

    def chunks(self, entry: Entry, *, include_usage: bool) -> Iterator[dict[str, Any]]:
        """Yield the chunks of an entry."""
        if entry[0] == "text":
            yield self._chunk({"content": entry[1]})
        elif entry[0] == "end":
            yield from self._last(entry[1], include_usage)
        elif text := told(entry):
            yield self._chunk({"reasoning_content": text})

    def _last(self, end: Mapping[str, Any], include_usage: bool) -> Iterator[dict[str, Any]]:
        if (error := end["error"]) is not None:
            yield failed(error["kind"], error["message"]).as_json()
            return
        yield self._chunk({}, end["finish"])
        if include_usage:
            yield {**self._chunk({}), "choices": [], "usage": usage_of(end["usage"])}

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {**self._base, "object": "chat.completion.chunk", "choices": [choice]}
