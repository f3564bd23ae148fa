"""Renders a run as a response object and the events of its stream.

The events depend only on the run's log, so that ``starting_after`` returns the same events with the
same numbers again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .api_run import ApiRun, LogEntry
from .errors import turn_failed

PREFIX = "resp_"
_STATES = {"completed": "completed", "failed": "failed", "cancelled": "cancelled"}
_CODES = {"rate": "rate_limit_exceeded"}
Event = dict[str, Any]


def response_usage(used: Mapping[str, int]) -> dict[str, Any]:
    """Return token counts in the format of responses."""
    return {
        "input_tokens": used["input"],
        "input_tokens_details": {"cached_tokens": used["cache_read"], "cache_write_tokens": 0},
        "output_tokens": used["output"],
        "output_tokens_details": {"reasoning_tokens": used["reasoning"]},
        "total_tokens": used["input"] + used["output"],
    }


class ResponseFormat:
    """Renders one run, entry by entry; :attr:`response` is the result so far."""

    def __init__(self, run: ApiRun) -> None:
        self._run = run
        self._number = 0
        self._open: dict[str, Any] | None = None
        self._output: list[dict[str, Any]] = []
        self._end: Mapping[str, Any] | None = None

    @classmethod
    def read(cls, run: ApiRun) -> ResponseFormat:
        """Render a run's log so far."""
        wire = cls(run)
        for entry in run.log:
            for _event in wire.events(entry):
                pass
        return wire

    @property
    def response(self) -> dict[str, Any]:
        """The response so far."""
        run = self._run
        end = self._end
        request = self._run.request
        error = end["error"] if end is not None else None
        cut = end is not None and end["finish"] == "length" and error is None
        status = _STATES[end["state"]] if end is not None else "in_progress"
        made: dict[str, Any] = {
            "id": PREFIX + run.id,
            "object": "response",
            "created_at": run.created,
            "status": "incomplete" if cut and status == "completed" else status,
            "background": bool(request.get("background", False)),
            "error": None,
            "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
            "instructions": request.get("instructions"),
            "metadata": request.get("metadata") or {},
            "model": request.get("model", "hookline"),
            "output": [dict(item) for item in self._output],
            "parallel_tool_calls": True,
            "previous_response_id": request.get("previous_response_id"),
            "store": bool(request.get("store", True)),
            "temperature": None,
            "text": {"format": {"type": "text"}},
            "tool_choice": "auto",
            "tools": [],
            "top_p": None,
            "usage": response_usage(end["usage"]) if end is not None else None,
            "user": request.get("user"),
        }
        if run.session_id:
            made["conversation"] = {"id": run.session_id}
        if error is not None:
            code = _CODES.get(error["kind"], "server_error")
            made["error"] = {"code": code, "message": error["message"]}
        return made

    def final(self) -> dict[str, Any]:
        """Return the response of a finished run. Raises ``ApiError`` if it failed."""
        if self._end is not None and (error := self._end["error"]) is not None:
            raise turn_failed(error["kind"], error["message"])
        return self.response

    def first(self) -> Iterator[Event]:
        """Yield the first events of a stream."""
        yield self._event("response.created", response=self.response)
        yield self._event("response.in_progress", response=self.response)

    def events(self, entry: LogEntry) -> Iterator[Event]:
        """Yield the events of an entry."""
        kind = entry[0]
        if kind == "text":
            yield from self._text(entry[1])
        elif kind in ("think", "note"):
            yield from self._thought(entry[1] if kind == "think" else f"{entry[1]}\n")
        elif kind == "part":
            yield from self._close()
        elif kind == "call":
            yield from self._call(entry)
        elif kind == "result":
            yield from self._result(entry)
        elif kind == "end":
            yield from self._close()
            self._end = entry[1]
            response = self.response
            last = response["status"] if response["status"] != "cancelled" else "incomplete"
            yield self._event(f"response.{last}", response=response)

    def _event(self, kind: str, **fields: Any) -> Event:
        self._number += 1
        return {"type": kind, "sequence_number": self._number - 1, **fields}

    def _begin(self, prefix: str, item: dict[str, Any]) -> Event:
        """Open an item."""
        item = {"id": f"{prefix}_{self._run.id}_{len(self._output)}", **item}
        self._open = item
        self._output.append(item)
        return self._event("response.output_item.added", output_index=self._index, item={**item})

    @property
    def _index(self) -> int:
        return len(self._output) - 1

    def _where(self, item: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        return {"item_id": item["id"], "output_index": self._index, **more}

    def _text(self, words: str) -> Iterator[Event]:
        if self._open is None or self._open["type"] != "message":
            if not words.strip():
                return  # a separator of texts starts no message of its own
            yield from self._close()
            begun = {"type": "message", "role": "assistant", "status": "in_progress", "content": []}
            yield self._begin("msg", begun)
            assert self._open is not None
            part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
            self._open["content"] = [part]
            yield self._event(
                "response.content_part.added",
                **self._where(self._open, content_index=0, part={**part}),
            )
        item = self._open
        item["content"][0]["text"] += words
        yield self._event(
            "response.output_text.delta",
            **self._where(item, content_index=0, delta=words, logprobs=[]),
        )

    def _thought(self, words: str) -> Iterator[Event]:
        if self._open is None or self._open["type"] != "reasoning":
            yield from self._close()
            yield self._begin("rs", {"type": "reasoning", "summary": []})
            assert self._open is not None
            part = {"type": "summary_text", "text": ""}
            self._open["summary"] = [part]
            yield self._event(
                "response.reasoning_summary_part.added",
                **self._where(self._open, summary_index=0, part={**part}),
            )
        item = self._open
        item["summary"][0]["text"] += words
        yield self._event(
            "response.reasoning_summary_text.delta",
            **self._where(item, summary_index=0, delta=words),
        )

    def _close(self) -> Iterator[Event]:
        """Complete the open item."""
        item = self._open
        self._open = None
        if item is None:
            return
        if item["type"] == "message":
            part = {**item["content"][0]}
            where = self._where(item, content_index=0)
            yield self._event("response.output_text.done", **where, text=part["text"], logprobs=[])
            yield self._event("response.content_part.done", **where, part=part)
            item["status"] = "completed"
        else:
            part = {**item["summary"][0]}
            where = self._where(item, summary_index=0)
            yield self._event("response.reasoning_summary_text.done", **where, text=part["text"])
            yield self._event("response.reasoning_summary_part.done", **where, part=part)
        yield self._event("response.output_item.done", output_index=self._index, item={**item})

    def _call(self, entry: LogEntry) -> Iterator[Event]:
        yield from self._close()
        _, call_id, name, arguments = entry
        item = {"type": "function_call", "call_id": call_id, "name": name}
        yield self._begin("fc", {**item, "arguments": "", "status": "in_progress"})
        assert self._open is not None
        made = self._open
        self._open = None
        where = self._where(made)
        yield self._event("response.function_call_arguments.delta", **where, delta=arguments)
        yield self._event(
            "response.function_call_arguments.done", **where, name=name, arguments=arguments
        )
        made |= {"arguments": arguments, "status": "completed"}
        yield self._event("response.output_item.done", output_index=self._index, item={**made})

    def _result(self, entry: LogEntry) -> Iterator[Event]:
        yield from self._close()
        _, call_id, _name, ok, text = entry
        status = "completed" if ok else "incomplete"
        item = {"type": "function_call_output", "call_id": call_id, "output": text}
        yield self._begin("fco", {**item, "status": status})
        made = self._open
        self._open = None
        assert made is not None
        yield self._event("response.output_item.done", output_index=self._index, item={**made})
