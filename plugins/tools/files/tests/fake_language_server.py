"""A language server that misbehaves in the way its argument names."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path


def send(message: dict[str, object]) -> None:
    data = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
    sys.stdout.buffer.flush()


def receive() -> dict[str, object]:
    length = 0
    while (line := sys.stdin.buffer.readline().strip()) != b"":
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    if not length:
        sys.exit(0)
    return dict(json.loads(sys.stdin.buffer.read(length)))


def diagnostic(line: int, message: str, severity: int = 1) -> dict[str, object]:
    place = {"line": line, "character": 0}
    return {"range": {"start": place, "end": place}, "severity": severity, "message": message}


def publish(document: dict[str, object], text: str, behaviour: str) -> None:
    found = [diagnostic(n, f"bad {w}") for n, w in enumerate(text.split("\n")) if "bad" in w]
    if behaviour == "hints":
        found = [diagnostic(0, "only a hint", 4)]
    send(
        {
            "method": "textDocument/publishDiagnostics",
            "params": {"uri": document["uri"], "diagnostics": found},
        }
    )


def main(behaviour: str, started: str) -> None:
    with Path(started).open("a", encoding="utf-8") as file:
        file.write("started\n")
    while True:
        message = receive()
        method = message.get("method")
        if method == "initialize":
            if behaviour == "silent":
                time.sleep(60)
            send({"id": message["id"], "result": {"capabilities": {}}})
            send({"id": 1, "method": "workspace/configuration", "params": {"items": [{}]}})
        elif method in ("textDocument/didOpen", "textDocument/didChange"):
            if behaviour == "dies":
                sys.exit(3)
            if behaviour == "garbage":
                sys.stdout.write("hello, I am a server\r\n\r\n" * 10)
                sys.stdout.flush()
            if behaviour == "floods":
                sys.stdout.buffer.write(b"Content-Length: 99999999999\r\n\r\n")
                while True:
                    sys.stdout.buffer.write(b"x" * 65536)
            params = message["params"]
            assert isinstance(params, dict)
            document = params["textDocument"]
            changes = params.get("contentChanges")
            text = changes[0]["text"] if changes else document["text"]
            publish(document, text, behaviour)


main(*sys.argv[1:])
