"""The fake Slack, and gateways in real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fakes import nursery

from .fake_slack import APP_TOKEN, BOT_TOKEN, PATIENCE, Slack

ANN, BOSS = "U0ANN", "U0BOSS"
"""People; Ann may write, the boss is admin."""
ECHO = 'steps: [{when: ".", text: "answered", repeat: true}]\n'
OFF = (
    *("files", "shell", "web", "skills", "osv", "demo", "delegate", "titles", "memory", "insights"),
    *("user-model", "session-search", "review", "checkpoints", "context-files", "budget"),
)
"""Plugins that cost time and do nothing here."""


@dataclass
class Gateways:
    """``hookline gateway`` on one home, again and again."""

    folder: Path
    slack: Slack
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def configure(
        self, script: Any = ECHO, access: Any = None, slack: Any = None, **plugins: Any
    ) -> None:
        """Write ``config.yaml`` and what the model says."""
        self.home.mkdir(mode=0o700, exist_ok=True)
        model = self.folder / "model.yaml"
        model.write_text(
            script if isinstance(script, str) else json.dumps(script, ensure_ascii=False)
        )
        allowed = {"admins": [f"slack:{BOSS}"], "allow": [f"slack:{ANN}"]}
        chosen = {
            **dict.fromkeys(OFF, False),
            "access": access if access is not None else allowed,
            "slack": slack is not False and {"api_url": self.slack.api_url, **(slack or {})},
            **plugins,
        }
        config = {"model": f"scripted/{model}", "plugins": chosen}
        (self.home / "config.yaml").write_text(json.dumps(config))

    @property
    def said(self) -> str:
        """What the processes have said and logged so far."""
        found = [*self.folder.glob("*.log"), *self.home.glob("logs/*.log")]
        return "".join(path.read_text() for path in found)

    def wait_for_log(self, wanted: str) -> None:
        """Return when this was logged."""
        until = time.monotonic() + PATIENCE
        while wanted not in self.said:
            assert time.monotonic() < until, self.said
            time.sleep(0.05)

    def spawn(self, *arguments: str, **env: str) -> subprocess.Popen[bytes]:
        """Start ``hookline``."""
        base = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LANG": "C.UTF-8"}
        base |= {"HOOKLINE_HOME": str(self.home), "TMPDIR": str(self.folder)}
        base |= {"SLACK_BOT_TOKEN": BOT_TOKEN, "SLACK_APP_TOKEN": APP_TOKEN}
        with (self.folder / f"{len(self.running):03}.log").open("wb") as log:
            process = nursery.Popen(
                [sys.executable, "-m", "hookline", *arguments],
                cwd=self.folder,
                env=base | env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.running.append(process)
        return process

    def start(self, **env: str) -> subprocess.Popen[bytes]:
        """A gateway that is ready."""
        process = self.spawn("gateway", **env)
        self.says("ready\n", process)
        return process

    def says(self, wanted: str, process: subprocess.Popen[bytes] | None = None) -> None:
        """Return when the process (the newest) has said this."""
        process = process or self.running[-1]
        log = self.folder / f"{self.running.index(process):03}.log"
        until = time.monotonic() + PATIENCE
        while wanted not in log.read_text():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.05)

    def run(self, *arguments: str, **env: str) -> tuple[int, str]:
        """``hookline`` to its end: code, and what it said."""
        process = self.spawn(*arguments, **env)
        code = process.wait(timeout=PATIENCE)
        return code, (self.folder / f"{len(self.running) - 1:03}.log").read_text()

    def close(self) -> None:
        for process in self.running:
            process.kill()
            process.wait()


def end(process: subprocess.Popen[bytes], number: int = signal.SIGTERM) -> int:
    """Send a signal and wait for the end; the return code."""
    process.send_signal(number)
    return process.wait(timeout=PATIENCE)


@pytest.fixture
def slack() -> Iterator[Slack]:
    made = Slack()
    yield made
    made.close()


@pytest.fixture
def gateways(tmp_path: Path, slack: Slack) -> Iterator[Gateways]:
    made = Gateways(tmp_path, slack)
    yield made
    made.close()
    assert "a-secret" not in made.said, "a token was shown"
