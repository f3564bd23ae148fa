"""A temporary home, and Hookline as a real process: in a pipe or on a terminal of its own."""

from __future__ import annotations

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.terminal import TerminalScreen

HOOKLINE = [sys.executable, "-m", "hookline"]
WAIT_TIMEOUT = 60.0
"""Seconds to wait for something that should be shown."""
_CODES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_=>])|\r")


class OnTerminal:
    """A process whose stdin, stdout and stderr are a terminal that the test reads and types on."""

    def __init__(self, argv: list[str], env: dict[str, str], cwd: Path) -> None:
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 100, 0, 0))
        self._process = subprocess.Popen(
            argv,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=env,
            cwd=cwd,
            start_new_session=True,
            # It becomes the process's controlling terminal, whose Ctrl-C is a signal.
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        self._raw = b""
        self._mark = 0

    @property
    def text(self) -> str:
        """All that was written so far, without colours and cursor movements."""
        return _CODES.sub("", self._raw.decode("utf-8", "replace"))

    @property
    def new(self) -> str:
        """What came after what was last waited for."""
        return self.text[self._mark :]

    @property
    def raw(self) -> bytes:
        """All that was written so far."""
        return self._raw

    def wait_for(self, words: str) -> str:
        """Read on until ``words`` appear; what came before them."""
        until = time.monotonic() + WAIT_TIMEOUT
        while words not in self.new:
            if not self._read(until - time.monotonic()):
                pytest.fail(f"{words!r} did not appear; what did:\n{self.new}")
        start = self.text.index(words, self._mark)
        before = self.text[self._mark : start]
        self._mark = start + len(words)
        return before

    def type(self, keys: str) -> None:
        """Press keys; ``\\r`` is Enter."""
        os.write(self._master, keys.encode())

    def type_until(self, keys: str, words: str) -> None:
        """Press keys again each second until ``words`` appear.

        For Ctrl-C while Python's ``input`` reads: a signal that comes between the prompt and the
        read is not seen before the next key.
        """
        until = time.monotonic() + WAIT_TIMEOUT
        while words not in self.new and time.monotonic() < until:
            self.type(keys)
            pause = time.monotonic() + 1.0
            while words not in self.new and (left := pause - time.monotonic()) > 0:
                self._read(left)
        self.wait_for(words)

    def end(self) -> int:
        """Read to the end; the exit code."""
        until = time.monotonic() + WAIT_TIMEOUT
        while self._read(until - time.monotonic()):
            pass
        return self._process.wait(WAIT_TIMEOUT)

    def _read(self, seconds: float) -> bool:
        if not select.select([self._master], [], [], max(0.0, seconds))[0]:
            return False
        try:
            data = os.read(self._master, 65_536)
        except OSError:  # Linux's way to say that the other end is closed
            return False
        self._raw += data
        return bool(data)

    def kill(self) -> None:
        """End the process without a chance to tidy up."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
        self._process.wait(WAIT_TIMEOUT)

    def close(self) -> None:
        """Kill what is left."""
        self.kill()
        os.close(self._master)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty home."""
    return tmp_path / "home"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """An empty folder to start commands in."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def env(home: Path) -> dict[str, str]:
    """An environment without anybody's keys and settings."""
    kept = {name: value for name, value in os.environ.items() if _harmless(name)}
    return kept | {
        "HOOKLINE_HOME": str(home),
        "HOOKLINE_STRICT": "1",
        "TERM": "xterm-256color",
        "PROMPT_TOOLKIT_NO_CPR": "1",
        "PYTHONIOENCODING": "utf-8",
    }


def _harmless(name: str) -> bool:
    return not name.startswith("HOOKLINE") and not name.endswith(("_KEY", "_TOKEN", "_URL"))


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], str]:
    """Writes a scenario; returns the model's name."""

    def write(steps: str) -> str:
        file = tmp_path / "scenario.yaml"
        file.write_text(f"steps:\n{steps}", "utf-8")
        return f"scripted/{file}"

    return write


ASKER = '''
from hookline_hookspecs import Ask, Plugin, Question, command, hookimpl, tool

class Asker(Plugin):
    @tool
    def launch(self, target: str) -> str:
        """Launch something."""
        return f"launched {target}"

    @tool
    async def choose(self, ctx, among: list[str]) -> str:
        """Let a person choose."""
        return f"chosen {await ctx.ask(Question('Which one?', tuple(among)))}"

    @hookimpl
    def pre_tool(self, ctx, call):
        if call.name == "launch":
            text = f"launch {call.arguments['target']}"
            return Ask("it cannot be undone", text, marks=("--unmanned",))

    @command("/hush")
    def hush(self, ctx, args):
        """Say nothing."""
'''


@pytest.fixture
def asker(tmp_path: Path, home: Path, env: dict[str, str]) -> None:
    """Installs and switches on a plugin whose tools ask."""
    install_plugin("asker", ASKER, tmp_path / "site", home, env)


def install_plugin(name: str, source: str, folder: Path, home: Path, env: dict[str, str]) -> None:
    """Install and switch on a plugin; its class has its name, in title case."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / f"{name}.py").write_text(source, "utf-8")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", "utf-8")
    entry = f"[hookline.plugins]\n{name} = {name}:{name.title()}\n"
    (info / "entry_points.txt").write_text(entry, "utf-8")
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text(f"plugins: {{{name}: true}}\n", "utf-8")
    env["PYTHONPATH"] = str(folder)


Piped = Callable[..., "subprocess.CompletedProcess[str]"]
Started = Callable[..., OnTerminal]


@pytest.fixture
def piped(env: dict[str, str], work: Path) -> Piped:
    """Runs ``hookline ARGUMENTS`` with ``stdin`` as text, to its end."""

    def run(*arguments: str, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*HOOKLINE, *arguments],
            input=stdin,
            env=env | more,
            cwd=work,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
        )

    return run


@pytest.fixture
def terminal(env: dict[str, str], work: Path) -> Iterator[Started]:
    """Starts ``hookline ARGUMENTS`` on a terminal."""
    started: list[OnTerminal] = []

    def start(*arguments: str, **more: str) -> OnTerminal:
        # PYTHONPATH is for what Python imports at its start, so such a process is not forked.
        own = [sys.executable, "-B", *HOOKLINE[1:]] if "PYTHONPATH" in more else HOOKLINE
        started.append(OnTerminal([*own, *arguments], env | more, work))
        return started[-1]

    yield start
    for process in started:
        process.close()


OnScreen = Callable[..., TerminalScreen]


@pytest.fixture
def screen(env: dict[str, str], work: Path) -> Iterator[OnScreen]:
    """Starts ``hookline ARGUMENTS`` on a terminal whose screen is read; ``answers``, ``columns``
    and ``rows`` are the terminal's."""
    started: list[TerminalScreen] = []
    quiet = {name: value for name, value in env.items() if name != "PROMPT_TOOLKIT_NO_CPR"}

    def start(*arguments: str, **more: Any) -> TerminalScreen:
        started.append(TerminalScreen([*HOOKLINE, *arguments], env=quiet, cwd=work, **more))
        return started[-1]

    yield start
    for one in started:
        one.close()
