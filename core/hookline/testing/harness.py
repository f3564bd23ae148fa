"""Runs the plugins of a test in the real core."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from hookline_hookspecs import (
    Attachment,
    Audio,
    Channel,
    Check,
    CheckResult,
    Context,
    Failure,
    Host,
    Inbound,
    Job,
    Notice,
    Plugin,
    Question,
    QuestionAnswer,
    Route,
    ToolResult,
    Turn,
    Usage,
    hookimpl,
)
from hookline_hookspecs.optional_services import Access, QuestionChat
from hookline_hookspecs.plugin import NoConfig
from hookline_hookspecs.questions import StoredQuestion

from hookline.bus.bus import Bus
from hookline.config import PluginEntry, load
from hookline.plugins.discovery import installed
from hookline.runtime import Runtime
from hookline.sessions.context import TurnContext
from hookline.text import new_id

from .channel import FakeChannel
from .model import ScriptedModel, Step
from .recorder import HookRecorder
from .store import store_url

if TYPE_CHECKING:
    from .clock import Clock
    from .command_line import CliResult

T = TypeVar("T")
MODEL = "test/model"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a message."""

    text: str
    stop: str
    turn: Turn
    notices: tuple[Notice, ...]
    failure: Failure | None = None
    """Why the turn failed, with its ``kind``; None if it did not."""

    @property
    def tool_calls(self) -> tuple[ToolResult, ...]:
        """The results of the turn's tool calls."""
        return self.turn.tool_calls

    @property
    def usage(self) -> Usage:
        """The turn's tokens."""
        return self.turn.usage


class Harness:
    """Core with only the given plugins and, if it is installed, ``commands``.

    Args:
        plugins: plugin classes, outermost first.
        config: the settings of the only plugin, or settings by plugin name, where ``False``
            switches a plugin off. ``KIND:NAME`` is one of several plugins of a kind.
        model: the model's answers, in order, or a ``ScriptedModel``.
        core: core settings by dotted key, such as ``{"max_iterations": 3}``.
        strict: raise errors of plugins; ``False`` to test isolation.
        home: the home folder; harnesses may share one.
        workspace: where tools work. Default: a folder in the home.
        deadlines: seconds by hook, overriding those of the specs.
        answers: the person's answers to questions, in order; None leaves a question to others, such
            as the channel that it is then shown in.
        questions: ``channel`` shows questions in the channel from which the turn came, such as
            ``h.channel``, where a person answers them; ``answers`` is then not used.
        migrations: the last migration of the first plugin that is applied, to test an upgrade by
            a second harness with the same home; all of them by default.
        clock: the clock of the runtime, ``h.clock``; the fixture ``clock``.
    """

    def __init__(
        self,
        *plugins: type[Plugin[Any]],
        home: Path,
        config: Mapping[str, Any] | None = None,
        model: ScriptedModel | Sequence[Step] = (),
        core: Mapping[str, Any] | None = None,
        strict: bool = True,
        workspace: Path | None = None,
        deadlines: dict[str, float | None] | None = None,
        answers: Sequence[str | QuestionAnswer | None] = (),
        questions: Literal["person", "channel"] = "person",
        migrations: int | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.home = home
        self._clock = clock
        self.workspace = workspace or home / "workspace"
        self.model = model if isinstance(model, ScriptedModel) else ScriptedModel(model)
        self.answers = list(answers)
        self.questions: list[Question] = []
        self.asks_channel = questions == "channel"
        self.notices: list[Notice] = []
        self.failures: list[Failure] = []
        self._classes = {plugin_name(plugin): plugin for plugin in plugins}
        self._settings = _settings(list(self._classes), config or {})
        self._core = dict(core or {})
        self._last_migrations = (
            {next(iter(self._classes)): migrations} if migrations is not None else {}
        )
        self._strict = strict
        self._deadlines = deadlines
        self._runner: asyncio.Runner | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._opened: Runtime | None = None
        self._hooks: HookRecorder | None = None
        self._channel: FakeChannel | None = None

    # Sending messages

    def send(self, text: str, **options: Any) -> Outcome:
        """Send ``text`` as a person and run the whole turn, including background hooks."""
        return self.run(self.asend(text, **options))

    async def asend(
        self,
        text: str,
        *,
        session: str | None = "test",
        approve: str = "ask",
        attachments: Sequence[Attachment | Audio] = (),
        system: str | None = None,
        message_id: str | None = None,
    ) -> Outcome:
        """Like :meth:`send`, in a running event loop."""
        runtime = await self.aopen()
        notice_count, failure_count = len(self.notices), len(self.failures)
        inbound = Inbound(
            channel="terminal",
            chat_id="default",
            user_id="tester",
            message_id=message_id or new_id(),
            text=text,
            attachments=tuple(attachments),
            session_id=session,
            system=system,
        )
        submission = await runtime.dispatcher.submit(inbound, approve)
        await submission.mark_delivered()
        await runtime.finish_background(30.0)
        turn = submission.turn
        failure = next(iter(self.failures[failure_count:]), None)
        return Outcome(turn.reply, turn.stop, turn, tuple(self.notices[notice_count:]), failure)

    def cli(
        self,
        arguments: str,
        input: str = "",  # noqa: A002
        commands: Mapping[str, Any] | None = None,
    ) -> CliResult:
        """Run ``hookline ARGUMENTS`` with the commands of the harness's plugins.

        Args:
            arguments: what follows ``hookline``, quoted as in a shell.
            input: what the command reads from standard input.
            commands: Typer apps or functions by name, for commands whose package is not installed;
                they belong to the first plugin.
        """
        from .command_line import run_line

        return run_line(self, arguments, input, commands or {})

    async def acli(
        self,
        arguments: str,
        input: str = "",  # noqa: A002
        commands: Mapping[str, Any] | None = None,
    ) -> CliResult:
        """Like :meth:`cli`, in a running event loop."""
        from .command_line import run_line

        await self.aopen()
        return await asyncio.to_thread(run_line, self, arguments, input, commands or {})

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the harness's event loop; may also be called from its threads."""
        if self._loop is not None and self._loop.is_running():
            return asyncio.run_coroutine_threadsafe(work, self._loop).result()
        if self._runner is None:
            self._runner = asyncio.Runner()
        return self._runner.run(work)

    # Inspecting

    @property
    def runtime(self) -> Runtime:
        """The running core, opened if necessary."""
        if self._opened is None:
            self.run(self.aopen())
        assert self._opened is not None
        return self._opened

    @property
    def hooks(self) -> HookRecorder:
        """The recorded calls of hooks: ``h.hooks["pre_tool"]``."""
        self.runtime  # noqa: B018
        assert self._hooks is not None
        return self._hooks

    @property
    def channel(self) -> FakeChannel:
        """A network channel named ``fake``, for testing delivery."""
        self.runtime  # noqa: B018
        assert self._channel is not None
        return self._channel

    def plugin(self, kind: type[T]) -> T:
        """Return the instance of a plugin class. Raises ``KeyError`` if it is not on."""
        for status in self.runtime.plugins.statuses.values():
            if isinstance(status.plugin, kind):
                return status.plugin
        raise KeyError(f"{kind.__name__} is not on: {self.states()}")

    def states(self) -> dict[str, tuple[str, str]]:
        """Return the state and reason of each plugin."""
        found = self.runtime.plugins.statuses
        return {n: (s.state, s.reason) for n, s in found.items() if n in self._settings}

    # Opening and closing

    async def aopen(self) -> Runtime:
        """Open the runtime in the running event loop, once."""
        if self._opened is None:
            self._loop = asyncio.get_running_loop()
            self._opened = await self._open()
        return self._opened

    def _runtime(self) -> Runtime:
        overrides = {
            "model": MODEL,
            "workspace": str(self.workspace),
            "store": store_url(),
            **self._core,
        }
        loaded = load(self.home, {}, overrides)
        # Loaded through its entry point, so that /new, /stop and so on exist in every test.
        entries = {"commands": PluginEntry("commands")}
        entries |= {name: _entry(name, settings) for name, settings in self._settings.items()}
        person = _person(self)
        entries["person"] = PluginEntry("person")
        return Runtime(
            replace(loaded, plugins=entries),
            self.home,
            strict=self._strict,
            bus=Bus(strict=self._strict, deadlines=self._deadlines),
            classes={**self._classes, "person": person},
        )

    async def _open(self) -> Runtime:
        self.workspace.mkdir(parents=True, exist_ok=True)
        runtime = self._runtime()
        runtime.engine.last_migrations.update(self._last_migrations)
        runtime.engine.providers.add("test", self.model)
        self._hooks = HookRecorder(runtime.bus)
        runtime.bus.signals.connect("notice", self._notice)
        try:
            await runtime.__aenter__()
        except BaseException:
            await runtime.__aexit__(None, None, None)
            raise
        self._channel = FakeChannel(runtime)
        runtime.channels.register(self._channel, "person")
        return runtime

    @property
    def clock(self) -> Clock:
        """The clock of the runtime. Raises ``RuntimeError`` without one."""
        if self._clock is None:
            raise RuntimeError("this harness was made without the fixture `harness`")
        return self._clock

    def job(self, name: str) -> None:
        """Run a plugin's job now and raise what it raises. Raises ``KeyError`` if none has it."""
        jobs = {job.name: job for _, job in self.runtime.bus.registered(Job)}
        if name not in jobs:
            raise KeyError(f"no plugin registered the job {name!r}, only {list(jobs)}")
        self.run(_finished(jobs[name]))

    def check(self, name: str = "") -> CheckResult:
        """Run a check of ``hookline doctor`` and return its result.

        Raises:
            KeyError: no plugin has a check of this name, or, without a name, not exactly one.
        """
        found = [check for _, check in self.checks() if name in ("", check.name)]
        if len(found) != 1:
            raise KeyError(f"found the checks {[check.name for _, check in self.checks()]}")
        return self.run(_result_of(found[0]))

    def checks(self) -> list[tuple[str, Check]]:
        """Return the plugins' checks for `hookline doctor`, each with its plugin's name."""
        found: list[tuple[str, Check]] = []
        self.runtime.bus.gather(
            "register_checks", lambda plugin: lambda check: found.append((plugin, check))
        )
        return found

    def routes(self) -> list[Route]:
        """Return the plugins' routes, as a web server receives them."""
        found: list[Route] = []
        self.runtime.bus.gather("register_routes", lambda plugin: found.append)
        return found

    def registered_channel(self, name: str) -> Channel:
        """Return a channel that a plugin registered. Raises ``KeyError`` if there is none."""
        channel = self.runtime.channels.get(name)
        if channel is None:
            raise KeyError(f"no plugin registered the channel {name}: {self.states()}")
        return channel

    def _notice(self, event: Notice, ctx: TurnContext | None = None) -> None:
        self.notices.append(event)

    async def aclose(self) -> None:
        """Close the runtime; the home is kept."""
        if self._opened is not None:
            runtime, self._opened = self._opened, None
            await runtime.__aexit__(None, None, None)

    def close(self) -> None:
        """Close the runtime from synchronous code."""
        if self._runner is not None:
            self._runner.run(self.aclose())
            self._runner.close()
            self._runner = None
        elif self._loop is not None and not self._loop.is_closed():
            self._loop.run_until_complete(self.aclose())


def plugin_name(kind: type[Plugin[Any]]) -> str:
    """Return the name a class is registered under in tests.

    This is the name of the entry point that refers to the class, if its dist is installed;
    otherwise it is derived from the class name: ``PromptCache`` → ``prompt-cache``.
    """
    package = kind.__module__.partition(".")[0]
    for name, values in installed().items():
        for value in values:
            module, _, attribute = value.partition(":")
            if attribute == kind.__qualname__ and module.partition(".")[0] == package:
                return name
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", kind.__name__).lower().lstrip("_")


def _settings(names: list[str], config: Mapping[str, Any]) -> dict[str, Any]:
    several = {
        key: value for key, value in config.items() if key.partition(":")[0] in names and ":" in key
    }
    by_name = isinstance(config.get(names[0]), (Mapping, bool)) if names else False
    if len(names) == 1 and not by_name and not several:
        return {names[0]: config}
    kinds = {name.partition(":")[0] for name in several}
    return {
        name: config.get(name, {}) for name in names if name in config or name not in kinds
    } | several


def _entry(name: str, settings: Any) -> PluginEntry:
    if settings is False:
        return PluginEntry(name, enabled=False, named=True)
    return PluginEntry(name, settings=dict(settings), named=True)


class EveryoneMayAnswer(Access):
    """Shows each question in the chat of its turn, and lets everyone answer it."""

    async def may_write(self, channel: str, user_id: str) -> bool:
        """Accept everyone's messages."""
        return True

    def is_operator(self, inbound: Inbound) -> bool:
        """Treat nobody as an operator."""
        return False

    async def may_approve(self, channel: str, user_id: str) -> bool:
        """Let everyone approve."""
        return True

    async def may_answer(self, question: StoredQuestion, channel: str, user_id: str) -> bool:
        """Let everyone answer."""
        return True

    async def chats_to_ask(self, question: StoredQuestion) -> Sequence[QuestionChat]:
        """Ask in the chat of the turn."""
        return [QuestionChat(question.channel, question.chat_id, question.asker)]


def _person(harness: Harness) -> type[Plugin[Any]]:
    """Create the person at the terminal, who answers questions from ``harness.answers``."""

    class Person(Plugin[NoConfig]):
        @hookimpl
        def setup(self, host: Host) -> None:
            if harness.asks_channel:
                host.services.provide(Access, EveryoneMayAnswer())

        @hookimpl(trylast=True)
        def on_question(self, ctx: Context, question: Question) -> str | QuestionAnswer | None:
            harness.questions.append(question)
            if harness.asks_channel:
                return None
            return harness.answers.pop(0) if harness.answers and ctx.interactive else None

        @hookimpl
        def on_error(self, ctx: Context, error: Failure) -> None:
            harness.failures.append(error)

    return Person


async def _finished(job: Job) -> None:
    await job.run()


async def _result_of(check: Check) -> CheckResult:
    options = {"offline": True} if "offline" in inspect.signature(check.run).parameters else {}
    result = check.run(**options)
    return await result if inspect.isawaitable(result) else result
