"""Gateways with the page in real processes, and a client that behaves like the page."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2

PATIENCE = 60
"""Seconds until a test gives up; none waits for it to pass."""
OFF = (
    *("files", "web", "skills", "osv", "demo", "delegate", "titles", "memory", "insights"),
    *("user-model", "session-search", "review", "checkpoints", "context-files", "budget"),
)
"""Plugins that cost time and do nothing here."""
LONG = " ".join(f"slow{number}" for number in range(400))
"""An answer whose words come one after the other."""
REMOVE = "cd /tmp && rm -rf nothing-there"
"""A command of which a part is risky."""
_STEP = {"text": "Say [hello](http://evil.example)"}
SCRIPT = [
    {
        "when": "^plan please",
        "tools": [{"name": "plan", "arguments": {"steps": [_STEP | {"state": "open"}]}}],
    },
    {
        "when": "Plan: 0 of 1",
        "tools": [{"name": "plan", "arguments": {"steps": [_STEP | {"state": "done"}]}}],
    },
    {"when": "Plan: 1 of 1", "text": "planned"},
    {"when": "long please", "text": LONG, "repeat": True},
    {"when": "huge please", "text": "word " * 50_000, "repeat": True},
    {
        "when": "remove it",
        "text": "I remove it.",
        "tools": [{"name": "bash", "arguments": {"command": REMOVE}}],
        "repeat": True,
    },
    {
        "when": "look twice",
        "text": "First this.",
        "tools": [{"name": "bash", "arguments": {"command": "echo seen"}}],
        "repeat": True,
    },
    {
        "when": "ask me",
        "tools": [{"name": "clarify", "arguments": {"question": "Tea?", "choices": ["Yes", "No"]}}],
        "repeat": True,
    },
    {"when": ".", "text": "answered", "repeat": True},
]
DOOR = """
import asyncio, io, json, os, wave
from dataclasses import replace
import hookline_scripted.provider as scripted
import hookline_web_ui.api as api
import hookline_web_server.passkeys as passkeys
import hookline_web_ui.shared_page as shared_page
from hookline_hookspecs import Ask, Attachment, Audio, BadRequest, Delta
from hookline_hookspecs import GatewayService, Plugin, hookimpl
from hookline_hookspecs.web import WebServer

PEOPLE = {"owner": "operator", "mia": "person", "ben": "person", "eve": "person"}


async def speak(text, on_delta):
    if on_delta is None:
        return
    for word in scripted._WORDS.findall(text):
        if word.strip() == "BREAKS":
            error = BadRequest("The line went dead.")
            error.partial = text.partition("BREAKS")[0]
            raise error
        if word.strip() == "HOLDS":  # until the turn is stopped
            await asyncio.Event().wait()
        on_delta(Delta(word))
        await asyncio.sleep(0.006 if word.startswith("slow") else 0)


scripted._stream_text = speak
api.MAX_POSTS_PER_MINUTE = 10_000  # every test's owner is one and the same
if seconds := os.environ.get("PASSKEY_CHALLENGE_SECONDS"):
    passkeys.CHALLENGE_SECONDS = float(seconds) - 1
if not os.environ.get("VIEWS_ARE_LIMITED"):
    shared_page.MAX_VIEWS_PER_MINUTE = 10_000  # all readers have one address


class Extra(Plugin):
    needs_no_channel = False
    runs_turns = False

    @hookimpl
    def setup(self, host):
        host.services.add(GatewayService, self)
        if os.environ.get("SPEAKS"):
            from hookline_hookspecs.speech import Speaker, Transcriber

            host.services.provide(Speaker, self)
            host.services.provide(Transcriber, self)

    max_chars = 4000

    async def speak(self, text, *, voice=None, format="mp3"):
        from hookline_hookspecs.speech import KINDS, Spoken

        self.host.log.warning("spoken: %s", text)
        made = io.BytesIO()
        with wave.open(made, "wb") as file:
            file.setparams((1, 2, 8000, 0, "NONE", ""))
            file.writeframes(bytes(16000))
        return Spoken(made.getvalue(), KINDS["wav"])

    async def transcribe(self, path, *, language=None):
        return "words that were heard" if path.stat().st_size > 500 else ""

    async def gateway_up(self, channels):
        server = self.host.services[WebServer]
        links = {name: await server.link(name, role) for name, role in PEOPLE.items()}
        codes = {name: link.code for name, link in links.items()}
        (self.host.home / "codes.json").write_text(json.dumps(codes))

    async def gateway_stopping(self):
        pass

    preserves_streaming = True

    @hookimpl
    def on_voice(self, ctx, audio):
        if os.environ.get("SPEAKS"):
            return None
        return f"words of {audio.duration:g} s"

    @hookimpl
    def pre_reply(self, ctx, reply):
        came = any(isinstance(one, Audio) for one in ctx.turn.inbound.attachments)
        if not came or os.environ.get("SPEAKS"):
            return None
        path = self.host.storage.dir / "spoken.ogg"
        path.write_bytes(b"OggS spoken")
        spoken = Audio(path, "audio/ogg", 2.5, origins=())
        table = Attachment(path, "text/csv", "table.csv", 11, "the table", origins=())
        return replace(reply, attachments=(spoken, table))

    @hookimpl
    def pre_tool(self, ctx, call):
        command = call.arguments.get("command", "")
        risky = "`rm -rf` deletes", command
        return Ask(*risky, marks=("rm -rf",)) if "rm " in command else None
"""


@dataclass
class Gateway:
    """``hookline gateway`` processes with the page, on one home, one after the other."""

    folder: Path
    port: int = 0
    running: list[subprocess.Popen[str]] = field(default_factory=list)
    cookies: dict[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def configure(self, script: Any = SCRIPT, **plugins: Any) -> None:
        """Write ``config.yaml``, what the model says, and the plugin that admits people."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.home.mkdir(mode=0o700)
        model = self.folder / "model.yaml"
        model.write_text(json.dumps({"steps": script}))
        chosen = {
            **dict.fromkeys(OFF, False),
            "access": {},
            "web-server": {"listen": f"127.0.0.1:{self.port}"},
            "web-ui": True,
            "door": True,
            **plugins,
        }
        config = {"model": f"scripted/{model}", "plugins": chosen}
        (self.home / "config.yaml").write_text(json.dumps(config))
        site = self.folder / "site"
        info = site / "extra_door-1.0.dist-info"
        info.mkdir(parents=True)
        (site / "extra_door.py").write_text(DOOR)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: extra-door\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[hookline.plugins]\ndoor = extra_door:Extra\n")

    def spawn(self, *arguments: str, **env: str) -> subprocess.Popen[str]:
        """Start ``hookline``."""
        base = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LANG": "C.UTF-8"}
        more = {"HOOKLINE_HOME": str(self.home), "PYTHONPATH": str(self.folder / "site")}
        process = subprocess.Popen(
            [sys.executable, "-m", "hookline", *arguments],
            cwd=self.folder,
            env=base | more | env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if arguments[0] != "gateway" else subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.running.append(process)
        return process

    def start(self, **env: str) -> subprocess.Popen[str]:
        """Start a gateway, and return it when it is ready."""
        process = self.spawn("gateway", **env)
        assert process.stderr is not None
        lines: list[str] = []
        for line in process.stderr:
            lines.append(line)
            if line == "ready\n":
                return process
        raise AssertionError(f"the gateway ended: {''.join(lines)}")

    def end(self, process: subprocess.Popen[str], number: int = signal.SIGTERM) -> str:
        """Send a signal and wait for the end; what was still said."""
        process.send_signal(number)
        _, err = process.communicate(timeout=PATIENCE)
        return str(err)

    async def person(self, name: str = "owner") -> Person:
        """Somebody's browser, logged in."""
        client = httpx2.AsyncClient(
            base_url=self.url,
            timeout=PATIENCE,
            trust_env=False,
            headers={"Origin": self.url, "Sec-Fetch-Site": "same-origin"},
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None),
        )
        if name not in self.cookies:
            code = json.loads((self.home / "codes.json").read_text())[name]
            answer = await client.post("/login", json={"code": code})
            assert answer.status_code == 200, answer.text
            self.cookies[name] = answer.headers["set-cookie"].partition(";")[0]
        client.headers["Cookie"] = self.cookies[name]
        return Person(client)

    def close(self) -> None:
        for process in self.running:
            process.kill()
            process.communicate()


@dataclass
class Person:
    """The browser of a person who is logged in."""

    client: httpx2.AsyncClient

    async def ask(self, method: str, path: str, status: int = 200, **options: Any) -> Any:
        """Send a request, and return the JSON of the answer, which has this status."""
        answer = await self.client.request(method, f"/api{path}", **options)
        assert answer.status_code == status, (answer.status_code, answer.text)
        return answer.json()

    async def get(self, path: str, status: int = 200) -> Any:
        return await self.ask("GET", path, status)

    async def say(self, session: str, text: str, status: int = 202, **more: Any) -> Any:
        """Send a message, with an id of its own if none is given."""
        body = {"message_id": str(uuid4()), "text": text, **more}
        return await self.ask("POST", f"/sessions/{session}/messages", status, json=body)

    async def until(self, session: str, fits: Callable[[Any], bool]) -> Any:
        """Return the first snapshot of a session that fits."""
        ends = time.monotonic() + PATIENCE
        while time.monotonic() < ends:
            answer = await self.client.get(f"/api/sessions/{session}")
            if answer.status_code == 200 and fits(found := answer.json()):
                return found
            await asyncio.sleep(0.02)
        raise AssertionError(answer.text)

    async def settled(self, session: str, turns: int = 1) -> Any:
        """Return the snapshot of a session after so many turns, with none under way."""

        def fits(found: Any) -> bool:
            over = found["turn"] is None and not found["queue"]
            return (
                over and found["session"]["turns"] >= turns and found["session"]["state"] == "idle"
            )

        return await self.until(session, fits)

    @asynccontextmanager
    async def events(self, sessions: str = "", **headers: str) -> AsyncIterator[AsyncIterator[Any]]:
        """The events of a stream, each with its ``cursor``."""
        path = f"/api/events?sessions={sessions}"
        async with self.client.stream("GET", path, headers=headers) as answer:
            assert answer.status_code == 200, await answer.aread()
            lines = answer.aiter_lines()
            assert (await anext(lines)).startswith((":", "id:"))
            yield _events(lines)

    async def close(self) -> None:
        await self.client.aclose()


async def _events(lines: AsyncIterator[str]) -> AsyncIterator[Any]:
    cursor = ""
    async for line in lines:
        if line.startswith("id: "):
            cursor = line[4:]
        elif line.startswith("data: "):
            yield {**json.loads(line[6:]), "cursor_": cursor}


@dataclass
class Chat:
    """What a page holds of one session: the rules of the README, and nothing else."""

    person: Person
    session: str
    cursor: str = ""
    messages: dict[int, Any] = field(default_factory=dict)
    turn: str | None = None
    attempt: int = -1
    text: dict[int, tuple[int, str]] = field(default_factory=dict)
    stored: set[tuple[str, int]] = field(default_factory=set)
    results: list[Any] = field(default_factory=list)
    lost: bool = False

    async def load(self) -> None:
        """Get the snapshot, as a page does that is opened."""
        found = await self.person.get(f"/sessions/{self.session}")
        self.cursor, self.lost = found["cursor"], False
        self._store(found["messages"])
        turn = found["turn"]
        self.turn = turn["id"] if turn else None
        self.text = {p["part"]: (p["n"], p["text"]) for p in turn["parts"]} if turn else {}
        self.attempt = turn["attempt"] if turn else -1

    def _store(self, messages: Any) -> None:
        for one in messages:
            self.messages[one["seq"]] = one
            if "part" in one:
                self.stored.add((one["turn"], one["part"]))

    def apply(self, event: Any) -> None:
        """Take an event."""
        self.cursor = event["cursor_"]
        if event["type"] == "resync":
            self.lost = True
        elif event["session"] != self.session:
            return
        elif event["type"] == "start" and event["attempt"] >= self.attempt:
            self.turn, self.attempt, self.text = event["turn"], event["attempt"], {}
        elif event["type"] == "delta" and event["turn"] == self.turn:
            self._delta(event)
        elif event["type"] == "part" and event["turn"] == self.turn and event["text"] is not None:
            self.text[event["part"]] = (0, event["text"])
        elif event["type"] == "result":
            self._store(event["messages"])
            self.results.append(event)
            if event["turn"] == self.turn:
                self.text = {}

    def _delta(self, event: Any) -> None:
        if event["attempt"] < self.attempt or (event["turn"], event["part"]) in self.stored:
            return
        n, text = self.text.get(event["part"], (0, ""))
        if event["n"] == n:
            self.text[event["part"]] = (n + 1, text + event["text"])
        elif event["n"] > n:
            self.lost = True

    @property
    def said(self) -> str:
        """All of the assistant's text that the page shows now."""
        shown = [text_of(one) for one in self.messages.values() if one["role"] == "assistant"]
        live = [
            text for part, (_, text) in self.text.items() if (self.turn, part) not in self.stored
        ]
        return "\n".join([*shown, *live])


def text_of(message: Any) -> str:
    """The text of a message."""
    return "".join(block["text"] for block in message["blocks"] if block["type"] == "text")


def new() -> str:
    """The id of a new chat, message or file."""
    return str(uuid4())
