"""The client under test of `@modelcontextprotocol/conformance`: an agent and its person.

``python conformance.py URL``. A server of config.yaml is logged in to where the scenario wants
that, approved, and its tools are called by a scripted model; the person opens every page that they
are asked to open, and accepts what a server suggests. The scenario's name and context come in the
environment.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import urllib.request
from pathlib import Path
from typing import Any

from hookline.testing import Harness, calls
from hookline_hookspecs import Context, HooklineError, Plugin, Question, hookimpl
from hookline_mcp import Mcp
from hookline_mcp.login import log_in

SCENARIO = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
CONTEXT = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
ARGUMENTS = {"add_numbers": {"a": 5, "b": 3}}
EXAMPLES = {"string": "x", "number": 1, "integer": 1, "boolean": True, "object": {}, "array": []}
CLIENT = "https://conformance-test.local/client-metadata.json"


def opened(url: str) -> None:
    """What a browser does: it follows the provider back to this machine."""

    def go() -> None:
        with urllib.request.urlopen(url, timeout=60) as answer:
            answer.read()

    threading.Thread(target=go, daemon=True).start()


class Browser(Plugin):
    """The person."""

    @hookimpl
    def on_question(self, ctx: Context, question: Question) -> str | None:
        """Open the page of a question, and choose what is first."""
        if question.preview.startswith("http"):
            opened(question.preview)
        return question.choices[0] if question.choices else ""


def config(url: str) -> dict[str, Any]:
    """The server's entry."""
    entry: dict[str, Any] = {"url": url, "approval": "never", "connect_timeout": 120}
    if SCENARIO.startswith("auth/"):
        names = ("client_id", "client_secret")
        given = {name: CONTEXT[name] for name in names if name in CONTEXT}
        entry |= {"auth": "oauth", "oauth": given or {"client_metadata_url": CLIENT}}
    return {"servers": {"conformance": entry}}


def agent(home: Path, url: str, model: Any = ()) -> Harness:
    """An agent that starts now."""
    network = {"network": {"allow_hosts": ["localhost", "127.0.0.1", "::1"]}}
    return Harness(Browser, Mcp, home=home, config={"mcp": config(url)}, model=model, core=network)


def said(text: str) -> None:
    """What the command line prints; the person opens an address."""
    print(text, file=sys.stderr)
    if (url := text.rpartition("\n")[2]).startswith("http"):
        opened(url)


def arguments(name: str, wires: dict[str, Any]) -> dict[str, Any]:
    """What a tool is called with: all that it requires."""
    if name == "json_schema_echo":
        other = next(one for one in wires if one != name)
        return {"schema": wires[other]["inputSchema"]}
    schema = wires[name]["inputSchema"]
    needed = {
        one: EXAMPLES[schema["properties"][one].get("type", "string")]
        for one in schema.get("required", ())
    }
    return ARGUMENTS.get(name, needed)


def main(home: Path, url: str) -> None:
    """Log in, approve, and call every tool."""
    first = agent(home, url)
    plugin = first.plugin(Mcp)
    server = plugin.servers.servers["conformance"]
    if server.config.auth:
        print(first.run(log_in(server, plugin.host, paste=False, say=said)), file=sys.stderr)
    done = first.cli("mcp approve conformance --yes")
    print(done, file=sys.stderr)
    first.close()
    if done.exit_code:
        raise SystemExit(done.exit_code)
    second = agent(home, url)
    pins = second.plugin(Mcp).catalog.entries()["conformance"].tools
    wires: dict[str, Any] = {name: pin.wire for name, pin in pins.items()}
    second.close()
    asked = CONTEXT.get("toolCalls") or [
        {"name": name, "arguments": arguments(name, wires)} for name in wires
    ]
    steps = [calls(f"mcp__conformance__{one['name']}", **one["arguments"]) for one in asked]
    third = agent(home, url, [*steps, "done"])
    for result in third.send("go").tool_calls:
        print(result.call.name, result.text[:300], file=sys.stderr)
    third.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "home"
        place.mkdir(mode=0o700)
        try:
            main(place, sys.argv[-1])
        except HooklineError as error:
            raise SystemExit(str(error)) from None
