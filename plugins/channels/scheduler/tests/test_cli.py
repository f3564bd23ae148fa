"""``hookline cron`` and real processes: a gateway that is killed in the middle of a run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SCRIPT = """
steps:
  - {when: letter, text: "The letter is sent.", repeat: true}
  - {when: nothing, text: "[SILENT]", repeat: true}
  - {text: "Hello.", repeat: true}
"""
CONFIG = """
model: scripted/{folder}/model.yaml
workspace: {folder}
plugins:
  scheduler: {{timezone: UTC, look_every: 0.1}}
  titles: false
  review: false
"""
WAIT = 120.0


class Installation:
    """A home of its own, and the command line on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir(mode=0o700)
        (folder / "model.yaml").write_text(SCRIPT)
        (self.home / "config.yaml").write_text(CONFIG.format(folder=folder))
        self.started: list[subprocess.Popen[str]] = []

    def environment(self, **more: str) -> dict[str, str]:
        """What a process sees; no key of a real provider."""
        kept = {k: v for k, v in os.environ.items() if not k.endswith(("_API_KEY", "_BASE_URL"))}
        return {**kept, "HOOKLINE_HOME": str(self.home), "HOOKLINE_STRICT": "0", **more}

    def __call__(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        command = [sys.executable, "-m", "hookline", *words]
        environment = self.environment(**more)
        return subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            timeout=WAIT,
            check=False,
            cwd=self.folder,
        )

    def json(self, *words: str) -> Any:
        """What a command prints as JSON."""
        done = self(*words, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def start(self, *words: str, **more: str) -> subprocess.Popen[str]:
        """A process that lives."""
        pipe = subprocess.PIPE
        command = [sys.executable, "-m", "hookline", *words]
        process = subprocess.Popen(
            command,
            env=self.environment(**more),
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            text=True,
            cwd=self.folder,
        )
        self.started.append(process)
        return process

    def end(self) -> None:
        """Kill what a failed test has left."""
        for process in self.started:
            process.kill()
            process.communicate()


@pytest.fixture
def hookline(tmp_path: Path) -> Iterator[Installation]:
    """The command line on a home of its own."""
    made = Installation(tmp_path)
    yield made
    made.end()


def line_with(stream: Any, part: str) -> str:
    """The first line that holds ``part``."""
    timer = threading.Timer(WAIT, stream.close)
    timer.daemon = True
    timer.start()
    try:
        return next(line for line in stream if part in line)
    finally:
        timer.cancel()


@pytest.mark.slow
def test_cron_commands_add_list_pause_resume_and_run(hookline: Installation) -> None:
    added = hookline.json("cron", "add", "every day 9:00", "Send the letter.")
    job = added["id"]
    assert added["when"] == "0 9 * * *"
    assert added["timezone"] == "UTC"
    assert added["next"].endswith("T09:00:00+00:00")
    assert hookline("cron", "pause", job).stdout == f"Job {job} is paused.\n"
    ran = hookline.json("cron", "run", job)
    assert ran == {"id": job, "outcome": "ok", "text": "The letter is sent."}
    row = hookline.json("cron", "list")[0]
    assert (row["id"], row["state"], row["next"]) == (job, "paused", None)
    assert row["last"]["outcome"] == "ok"
    assert f"Job {job}: 0 9 * * *, next" in hookline("cron", "resume", job).stdout
    assert f"{job} · 0 9 * * * · next" in hookline("cron", "list").stdout
    assert hookline("cron", "remove", job).stdout == f"Job {job} is removed.\n"


@pytest.mark.slow
def test_cron_add_rejects_bad_time_and_chat(hookline: Installation) -> None:
    for words, part in [
        (["add", "soon", "x"], "hookline: 'soon' is not a time; write a cron"),
        (["add", "every 2h", "x", "--chat", "telegram:1"], "these channels: none is on"),
    ]:
        done = hookline("cron", *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert part in done.stderr


@pytest.mark.slow
def test_kill_during_run_pauses_one_shot_and_reports_it(hookline: Installation) -> None:
    job = hookline.json("cron", "add", "in 1 minute", "Send the letter.")["id"]
    later = {"HOOKLINE_CLOCK_OFFSET": "600"}
    killed = hookline("gateway", HOOKLINE_CRASH_AT="before-model", **later)
    assert killed.returncode == -signal.SIGKILL
    gateway = hookline.start("gateway", **later)
    line_with(gateway.stderr, "ready")
    row = hookline.json("cron", "list")[0]
    while row["state"] == "running":
        row = hookline.json("cron", "list")[0]
    assert (row["id"], row["state"], row["last"]["outcome"]) == (job, "paused", "interrupted")
    gateway.send_signal(signal.SIGTERM)
    assert gateway.wait(WAIT) == 0
    # The person gets the notice where they talk next.
    chat = hookline.start("chat", **later)
    assert chat.stdin is not None
    chat.stdin.write("hi\n")
    chat.stdin.flush()
    assert f"Scheduled job {job}" in line_with(chat.stderr, "was interrupted")
    out, err = chat.communicate(timeout=WAIT)
    assert out == "Hello.\n"
    assert "was interrupted" not in err
    # Only a person runs it again.
    assert hookline("cron", "run", job).stdout == "The letter is sent.\n"
    assert hookline.json("cron", "list") == []


@pytest.mark.slow
def test_unstarted_run_of_killed_gateway_runs_late_in_next_process(hookline: Installation) -> None:
    """Another process on the home runs it, late."""
    hookline.json("cron", "add", "in 1 minute", "Send the letter.")
    chat = hookline.start("chat", HOOKLINE_CLOCK_OFFSET="600")
    assert chat.stdin is not None
    chat.stdin.write("hi\n")
    chat.stdin.flush()
    assert "(Late: this was due" in line_with(chat.stderr, "From session")
    line_with(chat.stderr, "The letter is sent.")
    chat.communicate(timeout=WAIT)
    assert hookline.json("cron", "list") == []
