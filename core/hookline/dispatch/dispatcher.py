"""The way of a message: stored, judged, a command or a turn, one at a time in each chat."""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import StoreError, crash
from hookline_hookspecs.events import Attachment, Audio, Deny, Inbound, Question, Reply, Turn
from hookline_hookspecs.messages import Block, ImageBlock, TextBlock

from .. import clock
from ..dispatch.commands import is_command, run_command
from ..sessions.active_turn import Running, new_turn
from ..sessions.context import TERMINAL, TurnContext, current
from ..sessions.manager import named
from ..store.journal import new_id
from ..text import clean
from ..turn.loop import resume_turn, run_turn

if TYPE_CHECKING:
    from ..runtime import Runtime
    from ..sessions.state import SessionState


log = logging.getLogger("hookline.intake")
STORE_PAUSE = 10.0
"""Seconds after which a store that failed is tried again."""


@dataclass(slots=True)
class Lane:
    """A chat's messages: judged one by one, then worked on one by one."""

    gate: asyncio.Lock = field(default_factory=asyncio.Lock)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0
    state: SessionState | None = None


class Intake:
    """Takes messages from channels and callers and works on them to their end."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._lanes: dict[str, Lane] = {}
        self._received: set[str] = set()

    async def receive(self, inbound: Inbound) -> bool:
        """Take a channel's message: stored for good when this returns; False for a repeated one."""
        inbound = replace(inbound, text=clean(inbound.text))
        crash.point("after-receive")
        inbox_id, write = self._runtime.journal.receive(inbound, durable=True)
        self._received.add(inbox_id)
        stored = 0
        try:
            stored = await write
        finally:
            if not stored:
                self._received.discard(inbox_id)
        if stored:
            crash.point("after-commit")
            self._runtime.background(self._answer(inbound, inbox_id))
        return bool(stored)

    async def _answer(self, inbound: Inbound, inbox_id: str | None) -> None:
        try:
            running = await self.process(inbound, inbox_id, "ask")
            await self._runtime.outbox.deliver(inbound.channel, inbound.chat_id)
            self.after_reply(running)
        finally:
            self._runtime.bus.signals.send("settled", inbound)

    async def take_up(self) -> None:
        """Go on with what a dead process left, or a failing store: unfinished turns, messages,
        replies. What this process works on is let be."""
        for session_id in await self._runtime.journal.unfinished_sessions():
            row = await self._runtime.journal.session(session_id)
            idle = getattr(self._runtime.sessions.loaded(session_id), "running", None) is None
            if idle and row and row["kind"] == "chat" and row["channel"] != TERMINAL:
                self._runtime.background(self._finish_session(session_id))
        # Read twice: what is finished between two looks is open no more at the second.
        left = {key for key, _ in await self._runtime.journal.open_inbox()} - self._received
        for inbox_id, inbound in await self._runtime.journal.open_inbox():
            if inbound.channel != TERMINAL and inbox_id in left - self._received:
                self._runtime.background(self._answer(inbound, inbox_id))
        for channel in [one for one in self._runtime.channels if one.network]:
            self._runtime.background(self._runtime.outbox.deliver_all(channel.name))
        await self._runtime.journal.prune()

    async def _finish_session(self, session_id: str) -> None:
        async with self._runtime.sessions.own(session_id):
            state = await self._runtime.sessions.existing(session_id)
            if state is not None:
                await self._recover(state, "ask")
        if state is not None:
            await self._runtime.outbox.deliver(state.record.channel, state.record.chat_id)

    async def submit(self, inbound: Inbound, mode: str) -> Running:
        """Take a message and work on it to its end; the caller delivers the reply."""
        return await self.process(replace(inbound, text=clean(inbound.text)), None, mode)

    async def process(self, inbound: Inbound, inbox_id: str | None, mode: str) -> Running:
        """Gate, command or turn. One turn at a time in a chat, in the order of arrival."""
        key = _key(inbound)
        lane = self._lanes.setdefault(key, Lane())
        lane.waiting += 1
        try:
            async with lane.gate:
                lobby = self._runtime.idle_context(inbound.channel, inbound.chat_id)
                await self._runtime.config_watch.look(lobby)
                passed = await self._runtime.bus.gate("on_message", lobby, inbound)
                if isinstance(passed, Deny):
                    return await self._no_turn(lobby, inbound, inbox_id, "denied", passed.reason)
                inbound = passed
                found = self._runtime.commands.find(inbound.text)
                if found is not None and found[1].immediate:
                    return await self._immediate(lane, lobby, inbound, inbox_id, found)
                mine = asyncio.ensure_future(lane.turn.acquire())
            await mine
            try:
                return await self._at_last(lane, inbound, inbox_id, mode)
            finally:
                lane.turn.release()
        finally:
            lane.waiting -= 1
            if inbox_id is not None:
                self._received.discard(inbox_id)
            if not lane.waiting:
                self._lanes.pop(key, None)

    async def _immediate(
        self, lane: Lane, lobby: TurnContext, inbound: Inbound, inbox_id: str | None, found: Any
    ) -> Running:
        plugin, command, args = found
        if lane.state is not None:
            ctx = TurnContext(self._runtime, lane.state, lane.state.running)
        elif (session_id := await self._runtime.sessions.find(inbound)) is not None:
            ctx = TurnContext(self._runtime, await self._runtime.sessions.peek(session_id))
        else:
            ctx = lobby
        text = await run_command(ctx, plugin, command, args, inbound)
        return await self._no_turn(ctx, inbound, inbox_id, "command", text)

    async def _at_last(
        self, lane: Lane, inbound: Inbound, inbox_id: str | None, mode: str
    ) -> Running:
        """Work on a message of a network channel until the store works; the chat's others wait."""
        again = False
        while True:
            try:
                return await self._own_and_work(lane, inbound, inbox_id, mode, again)
            except StoreError as error:
                if inbox_id is None or inbound.channel == TERMINAL:
                    raise
                log.error("a message by %s waits for the store: %s", inbound.channel, error)
            again = True
            await asyncio.sleep(STORE_PAUSE)

    async def _own_and_work(
        self, lane: Lane, inbound: Inbound, inbox_id: str | None, mode: str, again: bool
    ) -> Running:
        async with self._runtime.sessions.enter(inbound) as (state, known):
            lane.state = state
            try:
                await self._recover(state, mode)
                if again:  # what the store did keep of it has just been finished
                    known = inbox_id not in dict(await self._runtime.journal.open_inbox())
                if known and (again or inbox_id is None):
                    idle = self._runtime.idle_context().state
                    return replace(new_turn(idle, inbound, None, mode), stop="denied")
                inbox_id = inbox_id or await self._take(state, inbound)
                return await self._work(state, inbound, inbox_id, mode)
            finally:
                lane.state = None

    async def _take(self, state: SessionState, inbound: Inbound) -> str:
        """Store what :meth:`submit` brings; its turn waits for the write.

        The session's owner does it: so an open message is a dead process's, and nobody works on
        one that still waits for its turn. Nobody is told that it was taken before the answer is
        there, which is durable; so it has to survive the death of the process, not a power cut.
        """
        crash.point("after-receive")
        inbox_id, write = self._runtime.journal.receive(inbound, durable=False)
        state.writes.append(write)
        if crash.armed("after-commit"):
            await write
        crash.point("after-commit")
        return inbox_id

    async def _turn(
        self, state: SessionState, inbound: Inbound, inbox_id: str | None, mode: str
    ) -> Running:
        running = new_turn(state, inbound, inbox_id, mode)
        blocks = await self._blocks(TurnContext(self._runtime, state, running), inbound)
        try:
            await run_turn(self._runtime, running, blocks)
        except BaseException:
            # Memory and store may differ now; the next message reads the store.
            self._runtime.sessions.forget(state.record.id)
            raise
        return running

    async def _work(
        self, state: SessionState, inbound: Inbound, inbox_id: str | None, mode: str
    ) -> Running:
        if is_command(inbound.text):
            return await self._command(state, inbound, inbox_id, mode)
        return await self._turn(state, inbound, inbox_id, mode)

    async def _recover(self, state: SessionState, mode: str) -> None:
        """Finish what a dead process left in this session: turns, then messages in the inbox."""
        if state.recovered:
            return
        runtime, record = self._runtime, state.record
        runtime.sessions.forget(record.id)  # if this fails, the next message reads the store
        # Nobody has granted beforehand what a dead process was about to ask.
        mode = "no" if mode == "yes" else mode
        for row in await runtime.journal.open_turns(record.id):
            running = await runtime.sessions.running_again(state, row, mode)
            await resume_turn(runtime, running, await runtime.journal.steps(running.id))
            self.after_reply(running)
        for inbox_id, inbound in await runtime.journal.open_inbox():
            mine = inbound.session_id in (record.id, named(record.id))
            if mine and inbox_id not in self._received:
                lobby = self._runtime.idle_context(inbound.channel, inbound.chat_id)
                passed = await self._runtime.bus.gate("on_message", lobby, inbound)
                if isinstance(passed, Deny):
                    await self._no_turn(lobby, inbound, inbox_id, "denied", passed.reason)
                else:
                    self.after_reply(await self._work(state, passed, inbox_id, mode))
        if record.channel == TERMINAL:
            rows = await runtime.journal.open_outbox(TERMINAL)
            state.unshown = [row for row in rows if row["session_id"] == record.id]
        state.recovered = True
        await runtime.sessions.keep(state)

    async def _command(
        self, state: SessionState, inbound: Inbound, inbox_id: str | None, mode: str
    ) -> Running:
        ctx = TurnContext(self._runtime, state)
        await self._runtime.sessions.store(state)
        found = self._runtime.commands.find(inbound.text)
        if found is None:
            name = inbound.text.split(None, 1)[0]
            text = f"There is no command {name}; /help shows those there are."
            return await self._no_turn(ctx, inbound, inbox_id, "command", text)
        said = await run_command(ctx, *found, inbound)
        if state.retry is not None:
            inbound, state.retry = state.retry, None
            return await self._turn(state, inbound, inbox_id, mode)
        return await self._no_turn(ctx, inbound, inbox_id, "command", said)

    async def _no_turn(
        self, ctx: TurnContext, inbound: Inbound, inbox_id: str | None, stop: Any, said: Any
    ) -> Running:
        """An answer without a turn: of a command, or a refusal."""
        text, choices = (said.text, said.choices) if isinstance(said, Question) else (said, ())
        running = new_turn(ctx.state, inbound, inbox_id, "no")
        running.stop, running.reply = stop, text
        here = replace(ctx.state.record, channel=inbound.channel, chat_id=inbound.chat_id)
        if text:
            running.sent = Reply(here, text, (), inbound.message_id, f"{running.id}-reply", choices)
        await self._runtime.journal.close_inbound(inbox_id, here.id or None, running.sent)
        await running.settle()
        return running

    async def _blocks(self, ctx: TurnContext, inbound: Inbound) -> list[Block]:
        """The user message: an open question's choice, words of voice, pictures, files."""
        text = _chosen(ctx.state.question, inbound.text)
        if ctx.state.question is not None:
            await self._runtime.sessions.set_question(ctx.state, None)
        texts, images = [text] if text else [], []
        for item in inbound.attachments:
            if isinstance(item, Audio):
                texts.append(await self._words(ctx, item))
                continue
            changed = await self._runtime.bus.pipeline("on_attachment", ctx, item)
            if changed.mime in _IMAGES:
                try:
                    data = base64.b64encode(await asyncio.to_thread(changed.path.read_bytes))
                except OSError as error:
                    texts.append(f"{_file_line(changed)[:-1]}, cannot be read: {error.strerror})")
                    continue
                images.append(ImageBlock(changed.mime, data.decode("ascii")))
            else:
                texts.append(_file_line(changed))
        blocks: list[Block] = [TextBlock("\n\n".join(texts) or "(no text)")]
        return [*blocks, *images]

    async def _words(self, ctx: TurnContext, audio: Audio) -> str:
        words = await self._runtime.bus.first("on_voice", ctx, audio, str)
        if words is not None:
            return words
        ctx.notify("The voice message could not be turned into text.")
        return f"(a voice message of {audio.duration:g} s that could not be turned into text)"

    def after_reply(self, running: Running) -> None:
        """The reply has left: run ``end_of_turn`` in the background."""
        ctx = TurnContext(self._runtime, running.state, running)
        self._runtime.background(self._end_of_turn(ctx, running))

    async def _end_of_turn(self, ctx: TurnContext, running: Running) -> None:
        await running.settle()
        if running.stop in ("command", "denied"):
            return
        token = current.set(ctx)
        try:
            await self._runtime.bus.observe("end_of_turn", ctx, running.snapshot())
            await self._runtime.keep_failures()
        finally:
            current.reset(token)

    async def delivered(self, running: Running) -> None:
        """The caller of :meth:`submit` has shown the reply."""
        crash.point("after-send")
        shown = [row["id"] for row in running.state.unshown]
        running.state.unshown = []
        for reply_id in [*shown, running.sent.id] if running.sent is not None else shown:
            # Not waited for: whoever is killed before it is stored shows the reply again.
            running.later(self._runtime.journal.set_outbox(reply_id, "sent"))
        self._runtime.bus.signals.send("reply_sent", running.sent)
        self.after_reply(running)

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
        running.stopping = True
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
        row = await self._runtime.journal.session(session_id)
        if row is None or not row["question"]:
            return False
        channel, chat_id = row["channel"], row["chat_id"]
        active = await self._runtime.journal.active_session(channel, chat_id)
        named = None if active == session_id else session_id
        inbound = Inbound(channel, chat_id, user_id, new_id(), choice, session_id=named)
        return await self.receive(inbound)

    async def run_fork(
        self,
        session_id: str,
        prompt: str,
        *,
        model: str | None = None,
        kind: str = "review",
        max_iterations: int | None = None,
    ) -> Turn:
        """Run a turn that goes on from a copy of a session."""
        state = await self._runtime.sessions.fork(session_id, model, kind)
        state.max_iterations = max_iterations
        async with self._runtime.sessions.own(state.record.id):
            running = await self._nested(state, prompt, "no")
        self._runtime.sessions.forget(state.record.id)
        return running.snapshot()

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
        """A turn of a session of its own: a sub-agent, scheduled work."""
        base = parent.state.record if parent else None
        session_id = session_id or new_id()
        mode = parent.running.mode if parent and parent.running else "no"
        async with self._runtime.sessions.own(session_id):
            state = await self._runtime.sessions.existing(
                session_id
            ) or await self._runtime.sessions.create(
                session_id,
                base.channel if base else TERMINAL,
                base.chat_id if base else "default",
                kind=kind,
                parent_id=base.id if base else None,
                tools=tools,
                model=parent.state.model if parent else None,
                workspace=parent.state.workspace if parent else None,
            )
            running = await self._nested(state, prompt, mode, system)
        if parent is not None and parent.running is not None:
            parent.running.usage += running.usage
        return running.snapshot()

    async def _nested(
        self, state: SessionState, prompt: str, mode: str, system: str | None = None
    ) -> Running:
        chat = (state.record.channel, state.record.chat_id)
        inbound = Inbound(*chat, "", new_id(), prompt, system=system, session_id=state.record.id)
        running = await self._turn(state, replace(inbound, received=clock.now()), None, mode)
        self.after_reply(running)
        return running


_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


def _key(inbound: Inbound) -> str:
    return inbound.session_id or f"{inbound.channel}\0{inbound.chat_id}"


def _chosen(question: Question | None, text: str) -> str:
    """A number answers an open question with that choice's text."""
    number = text.strip().rstrip(".")
    if question is None or not question.choices or not number.isdecimal() or len(number) > 9:
        return text
    choices = (*question.choices, "Other")
    return choices[int(number) - 1] if 0 < int(number) <= len(choices) else text


def _file_line(item: Attachment) -> str:
    return f"(attached file {item.path}: {item.name}, {item.mime}, {item.size} bytes)"
