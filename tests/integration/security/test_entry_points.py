"""Every way into a turn passes every guard; a new way in needs its row here."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_hookspecs import (
    Context,
    Deny,
    Inbound,
    ModelRequest,
    Plugin,
    ToolCall,
    WireRequest,
    hookimpl,
    tool,
)

ROOT = Path(__file__).parents[3]
Make = Callable[..., Harness]

WAYS_IN = {
    "plugins/channels/goals/src/hookline_goals/goal_runner.py": {"receive", "run_turn"},
    "plugins/channels/scheduler/src/hookline_scheduler/job_runner.py": {"receive", "run_turn"},
    "plugins/channels/terminal/src/hookline_run/turn.py": {"resume", "submit"},
    "plugins/channels/terminal/src/hookline_terminal/conversation.py": {"receive"},
    "plugins/channels/terminal/src/hookline_terminal/interactive_chat.py": {"resume"},
    "plugins/channels/webhook/src/hookline_webhook/channel.py": {"receive"},
    "plugins/interop/acp/src/hookline_acp/agent.py": {"submit"},
    "plugins/interop/mcp/src/hookline_mcp_server/agent_turns.py": {"submit"},
    "plugins/interop/mcp/src/hookline_mcp_server/plugin_tools.py": {"check_reading"},
    "plugins/kits/channelkit/src/hookline_channelkit/ingest.py": {"receive"},
    "plugins/learning/review/src/hookline_review/plugin.py": {"fork"},
    "plugins/operations/commands/src/hookline_commands/plugin.py": {"receive"},
    "plugins/safety/provenance/src/hookline_provenance/proposals.py": {"fork"},
    "plugins/tools/delegate/src/hookline_delegate/sub_agent.py": {"run_turn"},
    "plugins/web/openai-api/src/hookline_openai_api/endpoints.py": {"receive"},
    "plugins/web/web-ui/src/hookline_web_ui/message_sender.py": {"receive"},
}
"""How each module brings a message or a turn into core: all of these are tried below."""
_CALL = re.compile(
    r"\b(?:_?host|conversations|_conversations|services\[Conversations\])"
    r"\.(receive|submit|run_turn|fork|resume|check_reading)\("
)


def test_every_way_into_a_turn_has_its_row() -> None:
    found: dict[str, set[str]] = {}
    for file in ROOT.glob("plugins/*/*/src/**/*.py"):
        if ways := set(_CALL.findall(file.read_text("utf-8"))):
            found[file.relative_to(ROOT).as_posix()] = ways
    found = {name: ways for name, ways in found.items() if "/hookline_demo/" not in name}
    assert found == WAYS_IN


class Guards(Plugin):
    """One hook of each guard, and a tool that must not run."""

    seen: set[str]
    ran: list[str]

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.seen, self.ran = set(), []

    @tool
    def act(self) -> str:
        """Change something."""
        self.ran.append("act")
        return "done"

    @hookimpl
    def on_message(self, ctx: Context, inbound: Inbound) -> None:
        self.seen.add("on_message")

    @hookimpl
    def pre_model(self, ctx: Context, request: ModelRequest) -> None:
        self.seen.add("pre_model")

    @hookimpl
    def pre_send(self, ctx: Context, wire: WireRequest) -> None:
        self.seen.add("pre_send")

    @hookimpl
    def pre_tool(self, ctx: Context, call: ToolCall) -> Deny:
        self.seen.add("pre_tool")
        return Deny("no")


async def submit(h: Harness) -> None:
    await h.asend("act", session="s")


async def receive(h: Harness) -> None:
    runtime = await h.aopen()
    settled = asyncio.Event()
    runtime.bus.signals.connect("settled", lambda *_, **__: settled.set())
    await runtime.dispatcher.receive(Inbound("chat", "7", "222", "m1", "act"))
    await asyncio.wait_for(settled.wait(), 20)


async def run_turn(h: Harness) -> None:
    host = (await h.aopen()).plugins.host("guards")
    assert host is not None
    await host.run_turn("act", kind="job")


async def fork(h: Harness) -> None:
    runtime = await h.aopen()
    model, h.model.steps[:] = [*h.model.steps], ["hello"]
    await h.asend("hello", session="s")
    h.plugin(Guards).seen.clear()
    h.model.steps[:] = model
    host = runtime.plugins.host("guards")
    assert host is not None
    await host.fork("s", "act")


BY_MESSAGE = {"on_message"}
ALWAYS = {"pre_model", "pre_send", "pre_tool"}
MATRIX: dict[str, tuple[Callable[[Harness], Awaitable[None]], set[str]]] = {
    "submit": (submit, ALWAYS | BY_MESSAGE),
    "receive": (receive, ALWAYS | BY_MESSAGE),
    "run_turn": (run_turn, ALWAYS),
    "fork": (fork, ALWAYS),
}


@pytest.mark.parametrize("way", MATRIX)
def test_every_guard_is_asked_on_every_way_in(harness: Make, way: str) -> None:
    enter, guards = MATRIX[way]
    h = harness(Guards, model=[calls("act"), "done", "done"])
    h.run(enter(h))
    assert guards <= h.plugin(Guards).seen
    assert h.plugin(Guards).ran == []


class Remembers(Plugin):
    """The tool that a client of the MCP server reads memory with."""

    ran = 0

    @tool(name="memory")
    def recall(self, action: str, query: str) -> str:
        """Recall a fact."""
        self.ran += 1
        return "the door code is 4711"


@pytest.mark.parametrize("refusal", ["denied", "needs approval", "guard is missing"])
def test_reading_by_an_mcp_client_passes_the_guards(harness: Make, refusal: str) -> None:
    server = pytest.importorskip("hookline_mcp_server").McpServer
    h = harness(server, Remembers, *([Guards] if refusal == "denied" else []))

    async def read() -> tuple[bool, str]:
        runtime = await h.aopen()
        if refusal == "guard is missing":
            runtime.engine.bus.missing_guards["lost"] = "the guard 'lost' could not be loaded"
        if refusal == "needs approval":
            runtime.engine.tools["memory"].approval = "memory is private"
        tools = h.plugin(server).caller_tools("stdio")
        return await tools.call("memory_recall", {"query": "door"})

    is_ok, text = h.run(read())
    assert not is_ok, text
    assert text.startswith("Error: ")
    assert h.plugin(Remembers).ran == 0


def test_reading_by_an_mcp_client_has_an_audit_row(harness: Make) -> None:
    server = pytest.importorskip("hookline_mcp_server").McpServer
    audit = pytest.importorskip("hookline_audit").AuditPlugin
    h = harness(server, Remembers, audit)

    async def read() -> tuple[bool, str]:
        await h.aopen()
        return await h.plugin(server).caller_tools("http").call("memory_recall", {"query": "door"})

    assert h.run(read()) == (True, "the door code is 4711")
    rows = [json.loads(line) for line in h.cli("audit show --json").stdout.splitlines()]
    found = [(row["object"], row["verdict"], row["actor"]) for row in rows]
    assert found == [("memory_recall", "called", "mcp:http")]
