"""Traces go on in the servers that a tool calls."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from hookline.testing import calls
from hookline_mcp.plugin import Mcp
from hookline_otel import Otel
from support.serving import serving

SERVER = """
import json, sys

def answer(message):
    if message["method"] == "initialize":
        about = {"name": "small", "version": "1"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about}
    if message["method"] == "tools/list":
        return {"tools": [{"name": "meta", "inputSchema": {"type": "object"}}]}
    text = json.dumps(message["params"].get("_meta", {}))
    return {"content": [{"type": "text", "text": text}]}

for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = {"jsonrpc": "2.0", "id": message["id"], "result": answer(message)}
        print(json.dumps(result), flush=True)
"""
OTEL = {"endpoint": "http://127.0.0.1:9"}


def test_mcp_server_receives_the_trace_of_the_tool(
    harness: Callable[..., Any], tmp_path: Path
) -> None:
    program = tmp_path / "server.py"
    program.write_text(SERVER)
    command = {"command": sys.executable, "args": ["-I", "-S", str(program)]}
    server = {**command, "sandbox": False, "approval": "never"}
    settings = {"mcp": {"servers": {"small": server}}}
    home = tmp_path / "home"
    approving = harness(Mcp, home=home, config=settings)
    assert approving.cli("mcp approve small --yes").exit_code == 0
    approving.close()
    call = calls("mcp__small__meta")
    without = harness(Mcp, home=home, config=settings, model=[call, "done"])
    assert "traceparent" not in without.send("go").tool_calls[0].text
    without.close()
    settings = {**settings, "otel": OTEL}
    h = harness(Mcp, Otel, home=home, config=settings, model=[call, call, "done"])
    first, second = h.send("go", session="traced").tool_calls
    assert '"traceparent": "00-' in first.text
    assert first.text.split("-")[1] == second.text.split("-")[1]
    assert first.text.split("-")[2] != second.text.split("-")[2]


class WebServer(BaseHTTPRequestHandler):
    """The same over streamable HTTP; the tool answers with the headers of its request."""

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if message.get("method") == "initialize":
            about = {"name": "web", "version": "1"}
            result = {"capabilities": {"tools": {}}, "serverInfo": about}
            result["protocolVersion"] = "2025-11-25"
        elif message.get("method") == "tools/list":
            result = {"tools": [{"name": "headers", "inputSchema": {"type": "object"}}]}
        else:
            found = {name.lower(): value for name, value in self.headers.items()}
            meta = message.get("params", {}).get("_meta", {})
            text = json.dumps([found.get("traceparent"), meta.get("traceparent")])
            result = {"content": [{"type": "text", "text": text}]}
        body = json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "result": result}).encode()
        self.send_response(200 if "id" in message else 202)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body) if "id" in message else 0))
        self.end_headers()
        self.wfile.write(body if "id" in message else b"")

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def test_server_over_http_receives_the_trace_in_a_header(
    harness: Callable[..., Any], tmp_path: Path
) -> None:
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), WebServer)) as site:
        server = {"url": f"http://127.0.0.1:{site.server_address[1]}/mcp", "approval": "never"}
        settings = {"mcp": {"servers": {"web": server}}}
        core = {"network.allow_hosts": ["127.0.0.1"]}
        home = tmp_path / "home"
        approving = harness(Mcp, home=home, config=settings, core=core)
        assert approving.cli("mcp approve web --yes").exit_code == 0
        approving.close()
        call = calls("mcp__web__headers")
        without = harness(Mcp, home=home, config=settings, core=core, model=[call, "done"])
        assert json.loads(without.send("go").tool_calls[0].text) == [None, None]
        without.close()
        settings = {**settings, "otel": OTEL}
        h = harness(Mcp, Otel, home=home, config=settings, core=core, model=[call, "done"])
        header, meta = json.loads(h.send("go").tool_calls[0].text)
        assert header == meta
        assert header.startswith("00-")
        h.close()
