"""A model on OpenAI's wire that takes whatever a program sends it, streamed or not.

The strict server of :mod:`support` refuses what Hermes Agent sends beyond OpenAI's own fields.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

NOTE = {"action": "add", "target": "memory", "content": "The key is in the Oslo safe."}
ANSWER = "The reactor codename is Zirconwhale."


class Model:
    """It remembers what it is told to, and otherwise names the reactor."""

    def __init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self.base_url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._send({"object": "list", "data": [{"id": "gpt-5", "object": "model"}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        message, finish = _reply(body["messages"][-1])
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        base = {"id": "x", "created": 1, "model": "gpt-5", "usage": usage}
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": finish}
            self._send(base | {"object": "chat.completion", "choices": [choice]})
            return
        deltas: list[tuple[Any, Any]] = [(message, None), ({}, finish)]
        lines = [
            base
            | {"object": "chat.completion.chunk"}
            | {"choices": [{"index": 0, "delta": delta, "finish_reason": end}]}
            for delta, end in deltas
        ]
        text = "".join(f"data: {json.dumps(line)}\n\n" for line in lines) + "data: [DONE]\n\n"
        self._write(text.encode(), "text/event-stream")

    def _send(self, data: Any) -> None:
        self._write(json.dumps(data).encode(), "application/json")

    def _write(self, data: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _reply(last: dict[str, Any]) -> tuple[dict[str, Any], str]:
    if last["role"] == "user" and "remember" in json.dumps(last.get("content")):
        function = {"name": "memory", "arguments": json.dumps(NOTE)}
        call = {"index": 0, "id": "call_1", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
    return {"role": "assistant", "content": ANSWER}, "stop"
