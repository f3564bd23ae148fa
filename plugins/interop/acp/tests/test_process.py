"""``hookline acp`` as an editor starts it: its standard output, and how it ends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from acp import schema, spawn_agent_process

from .conftest import LINE, Editor

WORDS = ("-m", "hookline", "acp")
MODEL = """
steps:
  - {when: "write it", tools: [{name: write_file, arguments: {path: a.txt, content: "one\\n"}}]}
  - {when: "sleep", tools: [{name: bash, arguments: {command: "echo begun > begun; sleep 600"}}]}
  - {when: "find", tools: [{name: mcp_find, arguments: {query: "save a note"}}]}
  - when: "mcp__notes__save"
    tools: [{name: mcp_call, arguments: {tool: mcp__notes__save, arguments: {}}}]
  - {text: "Done.", repeat: true}
"""
LOUD = """
import os, sys, threading, time

def shout():
    while not os.path.sameopenfile(1, 2):
        time.sleep(0.001)
    print("printed", flush=True)
    os.system("echo echoed")

if "acp" in sys.orig_argv:
    threading.Thread(target=shout, daemon=True).start()
"""
SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        said = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "notes", "version": "1"}}
    elif asked.get("method") == "tools/list":
        said = {"tools": [{"name": "save", "description": "Save a note.",
                           "inputSchema": {"type": "object"}}]}
    elif asked.get("method") == "tools/call":
        said = {"content": [{"type": "text", "text": "saved for good"}]}
    elif "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"],
                          "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": said}), flush=True)
"""


class AcpProcess:
    """A home without the plugin in its config, and a workspace."""

    def __init__(self, folder: Path) -> None:
        self.home, self.workspace = folder / "home", (folder / "workspace").resolve()
        self.home.mkdir(mode=0o700)
        self.workspace.mkdir()
        (folder / "model.yaml").write_text(MODEL, "utf-8")
        self.config = f"model: scripted/{folder / 'model.yaml'}\n"
        (self.home / "config.yaml").write_text(self.config, "utf-8")

    @property
    def env(self) -> dict[str, str]:
        """What the command is started with."""
        return os.environ | {"HOOKLINE_HOME": str(self.home)}

    def started(self) -> subprocess.Popen[bytes]:
        """The command, with pipes."""
        return subprocess.Popen(
            [sys.executable, *WORDS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.env,
            cwd=self.workspace,
        )

    def talk(self, work: Any, editor: Editor) -> Any:
        """What ``work`` does with the SDK's own client and the process."""

        async def inside() -> Any:
            client = spawn_agent_process(
                editor,  # type: ignore[arg-type]
                sys.executable,
                *WORDS,
                env=self.env,
                cwd=self.workspace,
                transport_kwargs={"limit": LINE, "stderr": None, "shutdown_timeout": 60.0},
                use_unstable_protocol=True,
            )
            async with client as (agent, process):
                editor.agent = agent
                return await work(process)

        return asyncio.run(inside())


@pytest.fixture
def acp_process(tmp_path: Path) -> Iterator[AcpProcess]:
    """An empty home, with a model that plays a script."""
    return AcpProcess(tmp_path)


def request_line(method: str, number: int | None = None, **params: Any) -> bytes:
    """A message as a line."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
    return json.dumps(message | ({} if number is None else {"id": number})).encode() + b"\n"


HELLO = request_line("initialize", 1, protocolVersion=1)


def answers(output: bytes) -> dict[Any, dict[str, Any]]:
    """What was answered, by id; every line is the protocol's."""
    lines = [json.loads(line) for line in output.splitlines()]
    assert all(one["jsonrpc"] == "2.0" for one in lines)
    return {one.get("id"): one for one in lines if "method" not in one}


@pytest.mark.long
def test_editor_starts_agent_and_approves_change(acp_process: AcpProcess) -> None:
    editor = Editor()

    async def work(process: Any) -> Any:
        hello = await editor.agent.initialize(protocol_version=1)
        session = await editor.begin(acp_process.workspace)
        await editor.agent.set_session_mode(session_id=session, mode_id="ask")
        return hello, await editor.say(session, "write it")

    hello, done = acp_process.talk(work, editor)
    assert hello.agent_info.name == "hookline"
    assert hello.agent_capabilities.load_session
    assert done.stop_reason == "end_turn"
    assert (acp_process.workspace / "a.txt").read_text("utf-8") == "one\n"
    ((question, _),) = editor.asked
    assert question.content[1].new_text == "one\n"
    assert editor.states("Write `a.txt`") == ["pending", "in_progress", "completed"]
    assert editor.said == "Done."


@pytest.mark.slow
def test_invalid_input_gets_error_codes(acp_process: AcpProcess) -> None:
    deep = b"[" * 100_000
    lines = [
        b"this is no JSON\n",
        b"\xff\xfe\x00\n",
        deep + b"\n",
        b"[1, 2]\n",
        b'"text"\n',
        b"\n",
        b'{"jsonrpc": "2.0", "id": {"a": 1}, "method": "initialize"}\n',
        b'{"jsonrpc": "2.0", "id": 3, "method": 4}\n',
        b'{"jsonrpc": "2.0", "id": [1], "result": {}}\n',
        b'{"jsonrpc": "2.0", "id": 99, "result": {}}\n',
        b'{"jsonrpc": "2.0", "id": 98, "error": "?"}\n',
        b"{}\n",
        HELLO,
        request_line("session/destroy", 10),
        request_line("initialize", 11, protocolVersion={"a": 1}),
        request_line("session/new", 12),
        request_line("session/new", 13, cwd=["x"], mcpServers="y" * 100_000),
        request_line(
            "session/new",
            14,
            cwd=str(acp_process.workspace),
            mcpServers=[],
            _meta={"cwd": 3, "self": 4},
        ),
        request_line(
            "session/prompt", 15, sessionId="\ud800", prompt=[{"type": "text", "text": "x"}]
        ),
        request_line("session/load", 16, sessionId="../../x", cwd="/", mcpServers=[]),
        request_line("session/cancel", sessionId=7),
        request_line("session/list", 17, cursor="nan~\x00"),
        request_line("_private/thing", 18, x=1),
        request_line("session/fork", 19, sessionId="x", cwd="/"),
        request_line("session/list", 20),
    ]
    started = acp_process.started()
    output, errors = started.communicate(b"".join(lines), timeout=120)
    found = answers(output)
    assert started.returncode == 0, errors
    codes = {number: one.get("error", {}).get("code") for number, one in found.items()}
    assert codes[1] is codes[11] is codes[14] is codes[20] is None
    assert codes[10] == codes[18] == codes[19] == -32601
    assert codes[12] == codes[13] == codes[17] == -32602
    assert codes[15] == codes[16] == -32002
    assert codes[3] == -32600
    assert len(output) < 100_000  # an error does not repeat what was sent
    assert b"Traceback" not in errors


@pytest.mark.slow
def test_too_long_line_is_skipped(acp_process: AcpProcess) -> None:
    started = acp_process.started()
    output, _ = started.communicate(b"x" * 70_000_000 + b"\n" + HELLO, timeout=300)
    found = answers(output)
    assert found[None]["error"]["code"] == -32700
    assert found[1]["result"]["protocolVersion"] == 1
    assert started.returncode == 0


@pytest.mark.slow
def test_prints_do_not_reach_the_protocol(acp_process: AcpProcess) -> None:
    site = acp_process.home.parent / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(LOUD, "utf-8")
    environment = acp_process.env | {"PYTHONPATH": str(site)}
    done = subprocess.run(
        [sys.executable, *WORDS],
        input=HELLO + request_line("session/list", 2),
        capture_output=True,
        env=environment,
        timeout=120,
        check=True,
    )
    assert set(answers(done.stdout)) == {1, 2}
    assert b"printed" in done.stderr
    assert b"echoed" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("way", ["stdin", "stdout", signal.SIGTERM, signal.SIGKILL])
def test_session_can_be_loaded_after_editor_dies(acp_process: AcpProcess, way: Any) -> None:
    started = acp_process.started()
    assert started.stdin is not None
    assert started.stdout is not None
    assert started.stderr is not None
    begun = HELLO + request_line("session/new", 2, cwd=str(acp_process.workspace), mcpServers=[])
    started.stdin.write(begun)
    started.stdin.flush()
    session = ""
    while not session:
        message = json.loads(started.stdout.readline())
        session = (message.get("result") or {}).get("sessionId", "")
    prompt = [{"type": "text", "text": "sleep"}]
    started.stdin.write(request_line("session/prompt", 3, sessionId=session, prompt=prompt))
    started.stdin.flush()
    while True:
        message = json.loads(started.stdout.readline())
        if message.get("params", {}).get("update", {}).get("status") == "in_progress":
            break
    if way == "stdin":
        started.stdin.close()
    elif way == "stdout":
        started.stdout.close()
        started.stdin.write(request_line("session/list", 4))  # the answer is not read
        started.stdin.flush()
    else:
        started.send_signal(way)
    code = started.wait(120)
    assert code == (-9 if way == signal.SIGKILL else 0), started.stderr.read()
    for stream in (started.stdin, started.stdout, started.stderr):
        stream.close()

    editor = Editor()

    async def again(process: Any) -> Any:
        await editor.agent.load_session(cwd=str(acp_process.workspace), session_id=session)
        return list(editor.updates), await editor.say(session, "and now?")

    updates, done = acp_process.talk(again, editor)
    calls = [one for one in updates if one.session_update == "tool_call_update"]
    assert done.stop_reason == "end_turn"
    assert "Done." in editor.said
    assert way == signal.SIGKILL or [one.status for one in calls] == ["failed"]


@pytest.mark.slow
def test_mcp_server_of_editor_is_approved_and_called(acp_process: AcpProcess) -> None:
    (acp_process.workspace / "server.py").write_text(SERVER, "utf-8")
    (acp_process.home / "config.yaml").write_text(
        acp_process.config + "plugins: {mcp: true}\n", "utf-8"
    )
    editor = Editor(lambda asked: "choice-0" if "question" in asked.tool_call_id else "Allow once")
    server = schema.McpServerStdio(
        name="notes",
        command=sys.executable,
        args=[str(acp_process.workspace / "server.py")],
        env=[],
    )

    async def work(process: Any) -> Any:
        session = await editor.begin(acp_process.workspace, mcp_servers=[server])
        return await editor.say(session, "find it")

    done = acp_process.talk(work, editor)
    assert done.stop_reason == "end_turn"
    titles = [question.title for question, _ in editor.asked]
    assert titles[0] == "Start the MCP server notes of your editor?"
    assert titles[1] == "Let the model use 1 tool of the MCP server notes?"
    assert titles[2] == "mcp__notes__save"
    assert "saved for good" in str(editor.call("mcp__notes__save")[-1].content)
