"""The runtime: everything a process needs, and the way of a message through it."""

from __future__ import annotations

import asyncio
import base64
import logging
import os
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from hookline_hookspecs import (
    Attachment,
    Audio,
    Block,
    Check,
    Deny,
    ImageBlock,
    Inbound,
    Question,
    Refused,
    Reply,
    Session,
    Store,
    TextBlock,
    Tool,
    Turn,
)

from . import clock, crash
from .bus import Bus
from .channels import Channels, Outbox
from .commands import CORE, Commands, CoreCommands, is_command, run_command
from .config import Config, ConfigError, Loaded
from .context import TurnContext, current
from .drivers import find_driver
from .home import make_home
from .host import PluginHost
from .journal import Journal, core_migrations, new_id
from .paths import PathGuard
from .plugins import Plugins
from .prompt import StablePrompt
from .providers import Providers
from .session import SessionState
from .sessions import TERMINAL, Sessions
from .sessions import notices as session_notices
from .storage import prepare_storage
from .turn import Running, new_turn, resume_turn, run_turn

log = logging.getLogger("hookline.runtime")


@dataclass(slots=True)
class Lane:
    """A chat's messages: judged one by one, then worked on one by one."""

    gate: asyncio.Lock = field(default_factory=asyncio.Lock)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0
    state: SessionState | None = None


class Runtime:
    """A running Hookline. Use it as an asynchronous context manager.

    Args:
        loaded: the config.
        home: its folder.
        store: the database; made from config if left out.
        strict: raise plugins' errors (``HOOKLINE_STRICT=1``).
        classes: plugin classes by name that need no entry point.
    """

    def __init__(
        self,
        loaded: Loaded,
        home: Path,
        *,
        store: Store | None = None,
        strict: bool | None = None,
        bus: Bus | None = None,
        classes: Mapping[str, Any] | None = None,
    ) -> None:
        self.loaded = loaded
        self.home = home
        self.strict = os.environ.get("HOOKLINE_STRICT") == "1" if strict is None else strict
        self.config: Config = loaded.config
        self.bus = bus or Bus(strict=self.strict)
        self.store: Store = store or make_store(self.config.store, home)
        self.journal = Journal(self.store)
        self.providers = Providers(loaded)
        self.tools: dict[str, Tool] = {}
        self.commands = Commands()
        self.services: dict[type, Any] = {}
        self.channels = Channels()
        self.outbox = Outbox(self.journal, self.channels)
        self.plugins = Plugins(self, loaded, classes or {})
        self.sessions = Sessions(self)
        self.paths = self._guard(Path(self.config.workspace))
        self.closing = False
        self.chat_session: str | None = None
        """The session that ``hookline chat`` continues."""
        self._lanes: dict[str, Lane] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> Runtime:
        make_home(self.home)
        await self.store.open()
        await self.store.migrate("core", core_migrations(self.store.dialect))
        await prepare_storage(self.store)
        self.bus.watchdog.start()
        CoreCommands(self).register()
        self.plugins.load()
        await self.plugins.setup()
        return self

    async def __aexit__(self, *_exc: object) -> None:
        self.closing = True
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.plugins.teardown()
        await self.providers.aclose()
        if "http" in self.__dict__:
            await self.http.aclose()
        self.bus.watchdog.stop()
        await self.store.close()

    # What hooks and hosts ask for

    @cached_property
    def http(self) -> Any:
        """The guarded client (service ``http``). Raises ``Refused`` if it is not installed."""
        make = find_driver("hookline.services", "http")
        if make is None:
            raise Refused("host.http needs the package hookline-http, which is not installed")
        return make(**self.config.network.model_dump())

    def default_model(self) -> str:
        """``provider/model``. Raises ``NoModel``."""
        return self.providers.default_model()

    def host_of(self, plugin: str) -> PluginHost | None:
        """The host of a plugin."""
        return self.plugins.host(plugin)

    def paths_of(self, state: SessionState) -> PathGuard:
        """The guard of a session's workspace."""
        if state.paths is None:
            state.paths = self._guard(state.workspace)
        return state.paths

    def plugin_checks(self) -> list[tuple[str, Check]]:
        """The plugins' checks for the doctor."""
        found: list[tuple[str, Check]] = []
        self.bus.gather(
            "register_checks", lambda plugin: lambda check: found.append((plugin, check))
        )
        return found

    def _guard(self, workspace: Path) -> PathGuard:
        roots = [Path(root) for root in self.config.paths.allowed_roots]
        return PathGuard(workspace, roots, self.home)

    @staticmethod
    def notices(state: SessionState) -> Sequence[Any]:
        """Core's own context blocks of a turn."""
        return session_notices(state)

    def empty_turn(self, session: Session) -> Turn:
        """What ``ctx.turn`` is between turns."""
        return Turn("", session, Inbound(session.channel, session.chat_id, "", "", ""))

    def idle_context(self, channel: str = "", chat_id: str = "") -> TurnContext:
        """A context outside of any session."""
        record = Session("", channel, chat_id, None, clock.now(), kind="none")
        state = SessionState(record, StablePrompt("", (), ()), "", self.paths.workspace)
        state.paths = self.paths
        return TurnContext(self, state)

    # The way of a message

    async def receive(self, inbound: Inbound) -> bool:
        """Take a channel's message: stored for good when this returns; False for a repeated one."""
        if self.chat_session is not None and inbound.session_id is None:
            inbound = replace(inbound, session_id=self.chat_session)
        crash.point("after-receive")
        inbox_id = await self.journal.receive(inbound)
        crash.point("after-commit")
        if inbox_id is None:
            return False
        self.background(self._answer(inbound, inbox_id))
        return True

    async def _answer(self, inbound: Inbound, inbox_id: str | None) -> None:
        running = await self.process(inbound, inbox_id, "ask")
        await self.outbox.deliver(inbound.channel)
        self.after_reply(running)

    async def take_up(self) -> None:
        """Go on with what a dead process left: unfinished turns, messages, replies."""
        for session_id in await self.journal.unfinished_sessions():
            row = await self.journal.session(session_id)
            if row is not None and row["kind"] == "chat" and row["channel"] != TERMINAL:
                self.background(self._finish_session(session_id))
        for inbox_id, inbound in await self.journal.open_inbox():
            if inbound.channel != TERMINAL:
                self.background(self._answer(inbound, inbox_id))
        for channel in self.channels:
            self.background(self.outbox.deliver(channel.name))
        await self.journal.prune_inbox()

    async def _finish_session(self, session_id: str) -> None:
        async with self.sessions.own(session_id):
            state = await self.sessions.existing(session_id)
            if state is not None:
                await self._finish_open_turns(state, "ask")
        if state is not None:
            await self.outbox.deliver(state.record.channel)

    async def submit(self, inbound: Inbound, mode: str) -> Running:
        """Take a message and work on it to its end; the caller delivers the reply."""
        crash.point("after-receive")
        inbox_id = await self.journal.receive(inbound)
        crash.point("after-commit")
        return await self.process(inbound, inbox_id, mode)

    async def process(self, inbound: Inbound, inbox_id: str | None, mode: str) -> Running:
        """Gate, command or turn. One turn at a time in a chat, in the order of arrival."""
        key = _key(inbound)
        lane = self._lanes.setdefault(key, Lane())
        lane.waiting += 1
        try:
            async with lane.gate:
                lobby = self.idle_context(inbound.channel, inbound.chat_id)
                passed = await self.bus.gate("on_message", lobby, inbound)
                if isinstance(passed, Deny):
                    return await self._no_turn(lobby, inbound, inbox_id, "denied", passed.reason)
                inbound = passed
                found = self.commands.find(inbound.text)
                if found is not None and found[1].immediate:
                    return await self._immediate(lane, lobby, inbound, inbox_id, found)
                mine = asyncio.ensure_future(lane.turn.acquire())
            await mine
            try:
                return await self._own_and_work(lane, inbound, inbox_id, mode)
            finally:
                lane.turn.release()
        finally:
            lane.waiting -= 1
            if not lane.waiting:
                self._lanes.pop(key, None)

    async def _immediate(
        self, lane: Lane, lobby: TurnContext, inbound: Inbound, inbox_id: str | None, found: Any
    ) -> Running:
        plugin, command, args = found
        if lane.state is not None:
            ctx = TurnContext(self, lane.state, lane.state.running)
        elif (session_id := await self.sessions.find(inbound)) is not None:
            ctx = TurnContext(self, await self.sessions.peek(session_id))
        else:
            ctx = lobby
        text = await run_command(ctx, plugin, command, args, inbound)
        return await self._no_turn(ctx, inbound, inbox_id, "command", text)

    async def _own_and_work(
        self, lane: Lane, inbound: Inbound, inbox_id: str | None, mode: str
    ) -> Running:
        async with self.sessions.enter(inbound) as state:
            lane.state = state
            try:
                await self._finish_open_turns(state, mode)
                if is_command(inbound.text):
                    return await self._command(state, inbound, inbox_id)
                return await self._turn(state, inbound, inbox_id, mode)
            finally:
                lane.state = None

    async def _turn(
        self, state: SessionState, inbound: Inbound, inbox_id: str | None, mode: str
    ) -> Running:
        running = new_turn(state, inbound, inbox_id, mode)
        blocks = await self._blocks(TurnContext(self, state, running), inbound)
        try:
            await run_turn(self, running, blocks)
            await self.sessions.touched(state)
        except BaseException:
            # Memory and store may differ now; the next message reads the store.
            self.sessions.forget(state.record.id)
            raise
        return running

    async def _finish_open_turns(self, state: SessionState, mode: str) -> None:
        """Finish what a dead process left in this session."""
        if state.recovered:
            return
        state.recovered = True
        for row in await self.journal.open_turns(state.record.id):
            running = await self.sessions.running_again(state, row, mode)
            await resume_turn(self, running, await self.journal.steps(running.id))
            state.resumed_replies.append(running)

    async def _command(
        self, state: SessionState, inbound: Inbound, inbox_id: str | None
    ) -> Running:
        ctx = TurnContext(self, state)
        found = self.commands.find(inbound.text)
        if found is None:
            name = inbound.text.split(None, 1)[0]
            text = f"There is no command {name}; /help shows those there are."
        else:
            again = await run_command(ctx, *found, inbound)
            text = again
            if found[0] == CORE and found[1].name == "/retry" and state.retry is not None:
                inbound, state.retry = state.retry, None
                return await self._turn(state, inbound, inbox_id, "ask")
        return await self._no_turn(ctx, inbound, inbox_id, "command", text)

    async def _no_turn(
        self, ctx: TurnContext, inbound: Inbound, inbox_id: str | None, stop: Any, text: str
    ) -> Running:
        """An answer without a turn: of a command, or a refusal."""
        running = new_turn(ctx.state, inbound, inbox_id, "no")
        running.stop, running.reply = stop, text
        record = replace(ctx.state.record, channel=inbound.channel, chat_id=inbound.chat_id)
        if text:
            running.sent = Reply(
                record, text, in_reply_to=inbound.message_id, id=f"{running.id}-reply"
            )
            await self.journal.post(running.sent)
        if inbox_id is not None:
            await self.journal.close_inbound(inbox_id, record.id or None)
        return running

    async def _blocks(self, ctx: TurnContext, inbound: Inbound) -> list[Block]:
        """The user message: an open question's choice, words of voice, pictures, files."""
        text = _chosen(ctx.state.question, inbound.text)
        if ctx.state.question is not None:
            await self.sessions.set_question(ctx.state, None)
        texts, images = [text] if text else [], []
        for item in inbound.attachments:
            if isinstance(item, Audio):
                texts.append(await self._words(ctx, item))
                continue
            changed = await self.bus.pipeline("on_attachment", ctx, item)
            if changed.mime in _IMAGES:
                data = base64.b64encode(await asyncio.to_thread(changed.path.read_bytes))
                images.append(ImageBlock(changed.mime, data.decode("ascii")))
            else:
                texts.append(_file_line(changed))
        blocks: list[Block] = [TextBlock("\n\n".join(texts) or "(no text)")]
        return [*blocks, *images]

    async def _words(self, ctx: TurnContext, audio: Audio) -> str:
        words = await self.bus.first("on_voice", ctx, audio, str)
        if words is not None:
            return words
        ctx.notify("The voice message could not be turned into text.")
        return f"(a voice message of {audio.duration:g} s that could not be turned into text)"

    # Around turns

    def after_reply(self, running: Running) -> None:
        """The reply has left: run ``end_of_turn`` in the background."""
        if running.stop in ("command", "denied"):
            return
        ctx = TurnContext(self, running.state, running)
        self.background(self._end_of_turn(ctx, running))

    async def _end_of_turn(self, ctx: TurnContext, running: Running) -> None:
        token = current.set(ctx)
        try:
            await self.bus.observe("end_of_turn", ctx, running.snapshot())
        finally:
            current.reset(token)

    async def delivered(self, running: Running) -> None:
        """The caller of :meth:`submit` has shown the reply."""
        crash.point("after-send")
        if running.sent is not None:
            await self.journal.set_outbox(running.sent.id, "sent")
        self.bus.signals.send("reply_sent", running.sent)
        self.after_reply(running)

    async def finish_background(self, seconds: float) -> None:
        """Wait for background work, at most ``seconds``."""
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=seconds)

    def background(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run work that is cancelled when the runtime closes."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)

        def ended(done: asyncio.Task[Any]) -> None:
            self._tasks.discard(done)
            if not done.cancelled() and (error := done.exception()) is not None:
                log.error("background work failed: %s", error, exc_info=error)

        task.add_done_callback(ended)
        return task

    async def rerun(self, state: SessionState, inbound: Inbound) -> str:
        """Remember a message that is to be run in place of the command at hand."""
        state.retry = inbound
        return ""

    def stop_turn(self, inbound: Inbound) -> bool:
        """Cancel the chat's running turn."""
        lane = self._lanes.get(_key(inbound))
        running = lane.state.running if lane and lane.state else None
        if running is None or running.task is None:
            return False
        running.task.cancel()
        return True

    def steer(self, inbound: Inbound, text: str) -> bool:
        """Speak into the chat's running turn; False if there is none."""
        lane = self._lanes.get(_key(inbound))
        if lane is None or lane.state is None or lane.state.running is None:
            return False
        lane.state.steering.append(text)
        return True

    def waiting(self, inbound: Inbound) -> int:
        """Messages of the chat that wait for their turn."""
        lane = self._lanes.get(_key(inbound))
        return max(0, lane.waiting - 2) if lane else 0

    async def enqueue(self, inbound: Inbound) -> str:
        """Put a message into the chat's queue as if it had just come."""
        stored = await self.receive(replace(inbound, message_id=f"{inbound.message_id}:{new_id()}"))
        return "Queued." if stored else "It was queued already."

    async def answer(self, session_id: str, choice: str, user_id: str) -> bool:
        """Answer a session's open question by a button."""
        row = await self.journal.session(session_id)
        if row is None or not row["question"]:
            return False
        inbound = Inbound(
            row["channel"], row["chat_id"], user_id, new_id(), choice, session_id=session_id
        )
        return await self.receive(inbound)

    async def run_nested(
        self,
        prompt: str,
        *,
        parent: TurnContext | None,
        session_id: str | None,
        tools: Sequence[str] | None,
        system: str | None,
        kind: str,
    ) -> Turn:
        """A turn of a session of its own: a sub-agent, scheduled work, a review."""
        base = parent.state.record if parent else None
        channel, chat_id = (base.channel, base.chat_id) if base else ("terminal", "default")
        session_id = session_id or new_id()
        inbound = Inbound(
            channel,
            chat_id,
            "",
            new_id(),
            prompt,
            received=clock.now(),
            session_id=session_id,
            system=system,
        )
        mode = parent.running.mode if parent and parent.running else "no"
        async with self.sessions.own(session_id):
            state = await self.sessions.existing(session_id) or await self.sessions.create(
                session_id,
                channel,
                chat_id,
                kind=kind,
                parent_id=base.id if base else None,
                tools=tools,
                model=parent.state.model if parent else None,
                workspace=parent.state.workspace if parent else None,
            )
            running = await self._turn(state, inbound, None, mode)
        return running.snapshot()


_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


def make_store(url: str, home: Path) -> Store:
    """The store that ``store:`` names: ``sqlite`` or the scheme of a URL.

    Raises:
        ConfigError: no driver of that name is installed.
    """
    name = url.split(":", 1)[0]
    driver = find_driver("hookline.stores", name)
    if driver is None:
        raise ConfigError(
            f"store: {name!r} is not installed; use `store: sqlite` or install its plugin"
        )
    store: Store = driver(url, home)
    return store


def _key(inbound: Inbound) -> str:
    return inbound.session_id or f"{inbound.channel}\0{inbound.chat_id}"


def _chosen(question: Question | None, text: str) -> str:
    """A number answers an open question with that choice's text."""
    if question is None or not text.strip().rstrip(".").isdecimal():
        return text
    number = int(text.strip().rstrip("."))
    return question.choices[number - 1] if 0 < number <= len(question.choices) else text


def _file_line(item: Attachment) -> str:
    return f"(attached file {item.path}: {item.name}, {item.mime}, {item.size} bytes)"
