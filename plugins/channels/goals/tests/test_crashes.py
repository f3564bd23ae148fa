"""Real gateways are killed at every point of a goal: it continues, and nothing is done twice."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

PATIENCE = 120.0
"""Seconds until a test gives up; none waits for it to pass."""
SECRET = "a secret of this test alone"
OFF = (
    *("files", "web", "skills", "osv", "demo", "delegate", "titles", "memory", "insights"),
    *("user-model", "session-search", "review", "checkpoints", "context-files", "prompt-cache"),
)
"""Plugins that cost time and do nothing here."""
TURNS = 16
"""Turns for which the model has words; with the third it is done."""


class GoalGateways:
    """Gateways on one home, and a webhook to talk through."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder, folder / "home"
        self.home.mkdir(mode=0o700)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.running: list[subprocess.Popen[bytes]] = []

    def configure(self, steps: list[dict[str, object]]) -> None:
        """Write ``config.yaml`` and what the model says."""
        model = self.folder / "model.yaml"
        model.write_text(json.dumps({"steps": steps}))
        plugins = {
            **dict.fromkeys(OFF, False),
            "access": {"allow": ["webhook:*"]},
            "webhook": {"listen": f"127.0.0.1:{self.port}", "secret": SECRET},
            "goals": {"look_every": 0.3},
        }
        config = {"model": f"scripted/{model}", "plugins": plugins}
        (self.home / "config.yaml").write_text(json.dumps(config))

    def start(self, **env: str) -> subprocess.Popen[bytes]:
        """A gateway; it may be dead before it is ready."""
        base = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LANG": "C.UTF-8"}
        with (self.folder / f"{len(self.running):03}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "hookline", "gateway"],
                cwd=self.folder,
                env=base | {"HOOKLINE_HOME": str(self.home)} | env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.running.append(process)
        self.until(lambda: "ready\n" in self.log or process.poll() is not None)
        return process

    @property
    def log(self) -> str:
        """The output of the newest gateway."""
        return (self.folder / f"{len(self.running) - 1:03}.log").read_text()

    def say(self, text: str) -> None:
        """Send a message until it is accepted."""
        body = json.dumps({"id": "m1", "chat": "c", "user": "ann", "text": text}).encode()
        sign = "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        headers = {"X-Hookline-Signature": sign, "Content-Type": "application/json"}
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/webhook", data=body, headers=headers
        )
        urllib.request.urlopen(request, timeout=PATIENCE).read()

    def until(self, true: object) -> None:
        """Wait until the condition holds."""
        end = time.monotonic() + PATIENCE
        while not true():  # type: ignore[operator]
            assert time.monotonic() < end, self.log
            time.sleep(0.05)

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        """What is stored."""
        path = self.home / "hookline.db"
        if not path.exists():
            return []
        base = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)
        try:
            return base.execute(sql).fetchall()
        except sqlite3.OperationalError:
            return []
        finally:
            base.close()

    @property
    def state(self) -> str:
        """The state of the only goal."""
        rows = self.rows("SELECT state FROM goals_goals")
        return str(rows[0][0]) if rows else ""

    @property
    def replies(self) -> list[str]:
        """The text of every reply in the outbox."""
        rows = self.rows("SELECT body FROM outbox ORDER BY created, id")
        return [str(json.loads(str(row[0]))["text"]) for row in rows]

    @property
    def is_reported(self) -> bool:
        """Whether the end was reported to the chat."""
        return any("· reached ·" in text for text in self.replies)

    def close(self) -> None:
        """Kill what runs."""
        for process in self.running:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait(PATIENCE)


@pytest.fixture
def gateways(tmp_path: Path) -> Iterator[GoalGateways]:
    made = GoalGateways(tmp_path)
    yield made
    made.close()


def bash(command: str) -> list[dict[str, object]]:
    """A call of the tool."""
    return [{"name": "bash", "arguments": {"command": command}}]


def writing() -> list[dict[str, object]]:
    """The model's words: in each turn it appends a line of that turn to a file, and says so."""
    steps: list[dict[str, object]] = []
    for turn in range(TURNS):
        word = "done" if turn >= 3 else "continue"
        said = json.dumps({"verdict": word, "reason": f"w{turn} is there"})
        steps.append({"when": rf"<answer>\s*Written: w{turn}\.", "text": said})
    for turn in range(1, TURNS):
        begun = "^Goal: Write three" if turn == 1 else f"turn {turn} of at most"
        steps.append({"when": begun, "tools": bash(f"echo w{turn} >> lines; echo w{turn}")})
    steps.append({"when": "^Interrupted", "tools": bash("tail -n 1 lines || echo w0")})
    for turn in range(TURNS):
        steps.append({"when": rf"\bw{turn}\b", "text": f"Written: w{turn}."})
    return [{**step, "repeat": True} for step in steps]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["goal", "background"])
def test_goal_continues_after_kills_at_any_time(gateways: GoalGateways, kind: str) -> None:
    """Killed again and again, at moments that the clock chooses."""
    gateways.configure(writing())
    gateways.start()
    gateways.say(f"/{kind} Write three lines")
    kills = 0
    while gateways.state not in ("done", "blocked", "over", "paused") and kills < 12:
        time.sleep(0.15 + 0.17 * (kills % 5))
        gateways.running[-1].send_signal(signal.SIGKILL)
        gateways.running[-1].wait(PATIENCE)
        kills += 1
        gateways.start()
    gateways.until(lambda: gateways.is_reported)
    check(gateways)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["goal", "background"])
@pytest.mark.parametrize(
    "point",
    [
        *("after-receive:2", "after-commit:2", "after-commit:3", "after-model:1", "after-model:3"),
        *("before-model:2", "before-model:4", "before-reply:1", "before-reply:2", "after-send:2"),
    ],
)
def test_goal_continues_after_a_kill_at_a_point(
    gateways: GoalGateways, kind: str, point: str
) -> None:
    gateways.configure(writing())
    dying = gateways.start(HOOKLINE_CRASH_AT=point)
    with contextlib.suppress(OSError):  # it may die over this very message
        gateways.say(f"/{kind} Write three lines")
    gateways.until(lambda: dying.poll() is not None or gateways.is_reported)
    if dying.poll() is not None:
        gateways.start()
        if not gateways.state and not gateways.rows("SELECT id FROM inbox"):
            gateways.say(f"/{kind} Write three lines")
    gateways.until(lambda: gateways.is_reported)
    check(gateways)


def check(gateways: GoalGateways) -> None:
    """Every turn was begun once, its line was written once, and the report was made once."""
    (file,) = gateways.home.glob("chats/**/lines")
    lines = file.read_text().split()
    assert len(lines) == len(set(lines)), lines
    assert lines == sorted(lines, key=lambda word: int(word[1:])), lines
    stored = gateways.rows("SELECT body FROM messages WHERE role = 'user' ORDER BY seq")
    texts = [str(json.loads(str(row[0]))["blocks"][0].get("text", "")) for row in stored]
    begun = [text for text in texts if "Write three lines" in text]
    assert len(begun) == len(set(begun)), begun
    assert len([text for text in gateways.replies if "· reached ·" in text]) == 1, gateways.replies
    said = [text for text in gateways.replies if text.startswith("Written: ")]
    assert len(said) == len(set(said)), said
