"""Sessions over one home whose model uses the tool ``memory``."""

from __future__ import annotations

import re
import shlex
import sys
import time
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Clock, Harness, calls
from hookline_hookspecs import (
    Context,
    Deny,
    Excerpt,
    Job,
    Lesson,
    Message,
    Plugin,
    Rewrite,
    ToolCall,
    ToolResult,
    command,
    hookimpl,
)
from hookline_hookspecs.plugin import NoConfig
from hookline_memory import Memory

DAY = 86_400.0
RECALLED = re.compile(r"<recalled-context>(.*?)</recalled-context>", re.DOTALL)


class Gates(Plugin[NoConfig]):
    """Stands in for what redacts and scans: `SECRET…` becomes a placeholder, `EVIL` is refused."""

    def __init__(self, config: NoConfig, host: Any) -> None:
        super().__init__(config, host)
        self.learnt: list[Lesson] = []
        self.read: list[Excerpt] = []
        self.learns_all = False

    @hookimpl
    def pre_learn(self, ctx: Any, lesson: Lesson) -> Lesson | Deny:
        """Redact or refuse."""
        self.learnt.append(lesson)
        if "EVIL" in lesson.text and not self.learns_all:
            return Deny("it gives orders")
        text = re.sub(r"SECRET\w*", "[REDACTED:token]", lesson.text)
        return Lesson(lesson.kind, lesson.source, text)

    @command("/shrink")
    async def shrink(self, ctx: Context, args: str) -> str:
        """Compact the session: its first turn becomes a summary."""
        short = (Message.user("summary"), Message.assistant("yes"))
        return f"{len(await ctx.rewrite([Rewrite(0, 2, short)]))} messages"

    @hookimpl
    def pre_read(self, ctx: Any, excerpt: Excerpt) -> Deny | None:
        """Refuse."""
        self.read.append(excerpt)
        return Deny("it gives orders") if "EVIL" in excerpt.text else None


class MemorySessions:
    """Sessions over one home; ``call`` is a turn in which the model calls the tool."""

    def __init__(self, make: Callable[..., Harness], home: Path, config: dict[str, Any]) -> None:
        self._make = make
        self.home = home
        self._config = config
        self._count = 0
        self.open()

    def open(self) -> None:
        """A process on the home."""
        self.harness = self._make(
            Gates, Memory, home=self.home, config={"memory": self._config, "gates": {}}
        )

    def restart(self) -> None:
        """A new process on the same home."""
        self.harness.close()
        self.open()

    @property
    def notes(self) -> Path:
        """The global notes."""
        return self.home / "memories" / "MEMORY.md"

    @property
    def gates(self) -> Gates:
        """The plugin that redacts and refuses."""
        return self.harness.plugin(Gates)

    def call(self, action: str, session: str = "test", **arguments: Any) -> ToolResult:
        """The result of one call."""
        return self.calls(calls("memory", action=action, **arguments), session=session)[0]

    def calls(self, *asked: ToolCall, session: str = "test") -> list[ToolResult]:
        """The results of calls made one after the other in one turn."""
        self.harness.model.steps += [*([call] for call in asked), "done"]
        return list(self.harness.send("go", session=session).tool_calls)

    def text(self, action: str, **arguments: Any) -> str:
        """The text of a call that must succeed."""
        result = self.call(action, **arguments)
        assert result.ok, result.text
        return result.text

    def error(self, action: str, **arguments: Any) -> str:
        """The text of a call that must fail."""
        result = self.call(action, **arguments)
        assert not result.ok, result.text
        return result.text

    def new_session(self) -> str:
        """The name of a session that there was not yet."""
        self._count += 1
        return f"session-{self._count}"

    def prompt(self) -> str:
        """The system prompt of a new session."""
        self.harness.model.steps.append("hello")
        self.harness.send("hi", session=self.new_session())
        return self.harness.model.last.system

    def told(self, message: str, session: str | None = None) -> list[str]:
        """The facts that a turn with ``message`` gets by itself, without date and category."""
        self.harness.model.steps.append("hello")
        self.harness.send(message, session=session or self.new_session())
        return facts_in(self.harness.model.last.messages[-1].context)

    def write(self, text: str | bytes) -> None:
        """Write the notes by hand."""
        self.notes.parent.mkdir(parents=True, exist_ok=True)
        self.notes.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))

    def job(self) -> None:
        """Run the plugin's job."""
        found = self.harness.plugin(Memory).host.registered(Job)
        (job,) = [job for plugin, job in found if plugin == "memory"]
        self.harness.run(_run(job))

    def entries(self) -> list[str]:
        """The entries in the global notes' file."""
        if not self.notes.exists():
            return []
        text = self.notes.read_text("utf-8-sig")
        return [entry.strip() for entry in text.split("\n§\n") if entry.strip()]

    def cli(self, _capsys: pytest.CaptureFixture[str], name: str, **options: Any) -> str:
        """What ``hookline memory NAME`` prints; an option ``number`` is the argument."""
        number = options.pop("number", None)
        words = [
            f"--{key}" if value is True else f"--{key}={value}" for key, value in options.items()
        ]
        words += ["--", str(number)] if number is not None else []
        done = self.harness.cli(shlex.join(["memory", name, *words]))
        if done.exit_code:
            sys.stderr.write(done.stderr)
            raise SystemExit(done.exit_code)
        return done.stdout


async def _run(job: Job) -> None:
    await job.run()


def facts_in(context: str) -> list[str]:
    """The facts in a rendered context."""
    lines = [line for block in RECALLED.findall(context) for line in unescape(block).split("\n")]
    return [re.sub(r" \[[^\[\]]*\]$", "", line[2:]) for line in lines if line.startswith("- ")]


@pytest.fixture
def make_memory(harness: Callable[..., Harness], tmp_path: Path) -> Callable[..., MemorySessions]:
    """Makes sessions with settings of their own."""
    return lambda **config: MemorySessions(harness, tmp_path / "home", config)


@pytest.fixture
def memory(make_memory: Callable[..., MemorySessions]) -> MemorySessions:
    """Sessions with the default settings."""
    return make_memory()


@pytest.fixture
def clock(clock: Clock) -> Callable[[float], None]:
    """Stops the clock that expiry and age use some seconds from now."""
    began = time.time()
    return lambda seconds: clock.stop(began + seconds)
