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
    Ask,
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
    "plugins/interop/bundles/src/hookline_bundles/slash_commands.py": {"check_outside_turn"},
    "plugins/interop/mcp/src/hookline_mcp_server/agent_turns.py": {"submit"},
    "plugins/interop/mcp/src/hookline_mcp_server/caller_tools.py": {"check_outside_turn"},
    "plugins/interop/mcp/src/hookline_mcp_server/plugin_tools.py": {"check_outside_turn"},
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
    r"\.(receive|submit|run_turn|fork|resume|check_outside_turn)\("
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


class CommandTool(Plugin):
    """The tool that programs in a bundle's command stand for."""

    @tool
    def bash(self, command: str) -> str:
        """Run a command."""
        return "ran"


def bundle(h: Harness, hook: str = "", command: str = "") -> None:
    """Install a bundle with one hook of tool calls, or with the command ``/go``."""
    folder = h.home / "made"
    (folder / ".claude-plugin").mkdir(parents=True)
    (folder / ".claude-plugin/plugin.json").write_text('{"name": "made"}')
    if hook:
        handler = {"hooks": [{"type": "command", "command": hook}]}
        (folder / "hooks").mkdir()
        (folder / "hooks/hooks.json").write_text(json.dumps({"hooks": {"PreToolUse": [handler]}}))
    (folder / "commands").mkdir()
    (folder / "commands/go.md").write_text(command or "act")
    assert h.cli(f"bundles add {folder} --yes").exit_code == 0


@pytest.mark.parametrize("way", MATRIX)
def test_bundle_hook_that_allows_overrules_no_guard(harness: Make, way: str) -> None:
    bundles = pytest.importorskip("hookline_bundles").Bundles
    enter, guards = MATRIX[way]
    h = harness(bundles, Guards, model=[calls("act"), "done", "done"])
    answer = {"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {}}}
    bundle(h, hook=f"echo '{json.dumps(answer)}'")
    h.run(enter(h))
    assert guards <= h.plugin(Guards).seen
    assert h.plugin(Guards).ran == []


class Acts(Plugin):
    """A tool that must not run, and a name under which a way in finds its host."""

    ran = 0

    @tool
    def act(self) -> str:
        """Change something."""
        self.ran += 1
        return "done"


@pytest.mark.parametrize("way", ["submit", "receive"])
def test_bundle_hook_is_asked_on_every_way_in(harness: Make, way: str) -> None:
    bundles = pytest.importorskip("hookline_bundles").Bundles
    h = harness(bundles, Acts, model=[calls("act"), "done", "done"])
    bundle(h, hook="echo no >&2; exit 2")
    h.run(MATRIX[way][0](h))
    assert h.plugin(Acts).ran == 0


def test_bundle_hook_is_asked_in_turns_of_plugins(harness: Make) -> None:
    bundles = pytest.importorskip("hookline_bundles").Bundles
    h = harness(bundles, Acts, model=["hello", calls("act"), "done", calls("act"), "done"])
    bundle(h, hook="echo no >&2; exit 2")
    h.send("hello", session="s")

    async def both() -> None:
        host = (await h.aopen()).plugins.host("acts")
        assert host is not None
        await host.run_turn("act", kind="job")
        await host.fork("s", "act")

    h.run(both())
    assert h.plugin(Acts).ran == 0


def test_command_of_a_bundle_passes_the_guards(harness: Make) -> None:
    bundles = pytest.importorskip("hookline_bundles").Bundles
    h = harness(bundles, Guards, model=[calls("act"), "done"])
    bundle(h)
    h.send("/go")
    assert {"pre_model", "pre_send", "pre_tool", "on_message"} <= h.plugin(Guards).seen
    assert h.plugin(Guards).ran == []


def test_program_in_a_command_of_a_bundle_passes_the_guards(harness: Make) -> None:
    bundles = pytest.importorskip("hookline_bundles").Bundles
    h = harness(bundles, Guards, CommandTool, model=["done"])
    h.workspace.mkdir(parents=True, exist_ok=True)
    bundle(h, command="Look: !`touch made-by-bundle`")
    h.send("/go")
    assert "not run yet" in str(h.model.requests[0].messages[-1])
    assert not (h.workspace / "made-by-bundle").exists()


class Remembers(Plugin):
    """The tool that a client of the MCP server reads memory with."""

    ran = 0

    @tool(name="memory")
    def recall(self, action: str, query: str) -> str:
        """Recall a fact."""
        self.ran += 1
        return "the door code is 4711"


SERVED: dict[str, dict[str, str]] = {
    "sessions_list": {},
    "messages_read": {"session": "s"},
    "session_search": {"query": "door"},
    "memory_recall": {"query": "door"},
    "skills_list": {},
    "skill_view": {"name": "doors"},
    "events_wait": {},
    "ask_agent": {"prompt": "act"},
    "messages_send": {"session": "s", "text": "door"},
    "permissions_respond": {"question": "1", "choice": "Deny"},
}
"""Every tool that the MCP server can offer, and a call of it."""


class AsksAll(Plugin):
    """Would ask a person about each call."""

    @hookimpl
    def pre_tool(self, ctx: Context, call: ToolCall) -> Ask:
        return Ask("somebody should look")


def test_every_tool_for_mcp_clients_has_its_row(harness: Make) -> None:
    h, tools = mcp_tools(harness)
    h.run(h.aopen())
    assert {one.name for one in tools().tools()} == SERVED.keys()


@pytest.mark.parametrize("name", SERVED)
@pytest.mark.parametrize("refusal", ["denied", "needs approval", "guard is missing"])
def test_call_by_an_mcp_client_passes_the_guards(harness: Make, name: str, refusal: str) -> None:
    guard = {"denied": Guards, "needs approval": AsksAll}.get(refusal)
    h, tools = mcp_tools(harness, *([guard] if guard else []), Remembers)

    async def call() -> tuple[bool, str]:
        runtime = await h.aopen()
        if refusal == "guard is missing":
            runtime.engine.bus.missing_guards["lost"] = "the guard 'lost' could not be loaded"
        return await tools().call(name, SERVED[name])

    is_ok, text = h.run(call())
    assert not is_ok
    reasons = {"denied": "no", "needs approval": f"{name} needs the approval of a person"}
    expected = reasons.get(refusal, "the guard 'lost' could not be loaded")
    assert text == f"Error: {expected}"
    assert h.plugin(Remembers).ran == 0
    assert h.model.requests == []


def test_tool_behind_an_mcp_tool_passes_the_guards(harness: Make) -> None:
    h, tools = mcp_tools(harness, Remembers)

    async def read() -> tuple[bool, str]:
        runtime = await h.aopen()
        runtime.engine.tools["memory"].approval = "memory is private"
        return await tools().call("memory_recall", {"query": "door"})

    assert h.run(read()) == (False, "Error: memory needs the approval of a person")
    assert h.plugin(Remembers).ran == 0


@pytest.mark.parametrize("mode", ["auto", "ask", "plan"])
def test_mode_does_not_stop_reading_by_an_mcp_client(harness: Make, mode: str) -> None:
    permissions = pytest.importorskip("hookline_permissions").Permissions
    h, tools = mcp_tools(harness, permissions, Remembers, permissions={"mode": mode})

    async def call(name: str) -> tuple[bool, str]:
        await h.aopen()
        return await tools().call(name, SERVED[name])

    for name in ("sessions_list", "memory_recall", "events_wait"):
        is_ok, text = h.run(call(name))
        assert is_ok, text
    _, text = h.run(call("messages_send"))
    assert ("unknown session" in text) == (mode == "auto"), text


def test_permission_rule_names_a_tool_of_mcp_clients(harness: Make) -> None:
    permissions = pytest.importorskip("hookline_permissions").Permissions
    h, tools = mcp_tools(harness, permissions, permissions={"deny": ["sessions_list"]})

    async def call(name: str) -> tuple[bool, str]:
        await h.aopen()
        return await tools().call(name, SERVED[name])

    is_ok, text = h.run(call("sessions_list"))
    assert not is_ok
    assert "sessions_list" in text
    assert h.run(call("events_wait"))[0]


def mcp_tools(harness: Make, *plugins: Any, **config: Any) -> tuple[Harness, Callable[[], Any]]:
    """A harness with the MCP server, and its tools once the harness is open."""
    server = pytest.importorskip("hookline_mcp_server").McpServer
    allow = {"allow": ["messages_send", "permissions_respond"]}
    h = harness(server, *plugins, config={"mcp-server": allow, **config})
    return h, lambda: h.plugin(server).caller_tools("stdio")


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
