"""Every request under way: told what its turn does by the signals, and stored when it ends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from hookline_hookspecs import (
    Context,
    Conversations,
    Delta,
    Denial,
    Failure,
    Host,
    Inbound,
    ModelRequest,
    ModelResponse,
    Notice,
    Reply,
    ToolResult,
    Transaction,
    Turn,
)

from .asked import linked
from .content import Content
from .keys import CHANNEL
from .others import Others
from .run import Run

GRACE = 1.0
"""Seconds after which a turn that nobody follows any more is stopped."""
REPLAYED = 600.0
"""Seconds for which a request that is sent again is answered from the store."""
RETRIED = 86_400.0
"""Seconds for which an ``Idempotency-Key`` is known."""


class Runs:
    """The runs of this process, by the id of their message."""

    def __init__(self, host: Host, keep_seconds: float) -> None:
        self._host = host
        self._keep = keep_seconds
        self._open: dict[str, Run] = {}
        self._by_session: dict[str, Run] = {}
        self._loading = asyncio.Lock()
        self.others = Others(host, self)
        self.closing = False
        """The listener stops; whose stream ends now has not gone away."""

    def listen(self) -> None:
        """Hear of turns."""
        receivers: dict[str, Callable[..., None]] = {
            "start_of_turn": self._started,
            "delta": self._delta,
            "post_model": self._answered,
            "post_tool": self._called,
            "notice": self._noticed,
            "denied": self._denied,
            "on_error": self._failed,
            "settled": self._settled,
        }
        for name, receiver in receivers.items():
            self._host.signals.connect(name, receiver)

    def open(self, run_id: str) -> Run | None:
        """Return a run that is under way and known here."""
        return self._open.get(run_id)

    def all_open(self) -> list[Run]:
        """Return the runs that are under way and known here."""
        return list(self._open.values())

    # Finding

    async def add(self, run: Run, digest: str) -> None:
        """Store a new run. Raises ``StoreError``."""
        run.created = self._host.now()
        row = {
            "id": run.id,
            "owner": run.owner,
            "kind": run.kind,
            "session_id": run.session_id,
            "digest": digest,
            "retry": run.retry,
            "chain": run.chain,
            "request": json.dumps(run.request, ensure_ascii=False),
        }
        await self._host.storage.execute(
            "add_run", **row, now=run.created, expires=run.created + self._keep
        )
        self._open[run.id] = run

    async def load(self, run_id: str) -> Run | None:
        """Return a run, under way or stored, or None."""
        async with self._loading:
            if (run := self._open.get(run_id)) is not None:
                return run
            rows = await self._host.storage.fetch("run", id=run_id)
            if not rows:
                return None
            run = _from_row(rows[0])
            if run.end is None:
                self._open[run_id] = run
            return run

    async def retried(self, owner: str, retry: str) -> tuple[str, str] | None:
        """Return the id and the body's digest of the request with this key, or None."""
        since = self._host.now() - RETRIED
        rows = await self._host.storage.fetch("run_retried", owner=owner, retry=retry, since=since)
        if rows:
            return rows[0]["id"], rows[0]["digest"]
        await self.forget_retry(owner, retry)
        return None

    async def forget_retry(self, owner: str, retry: str) -> None:
        """Free an ``Idempotency-Key`` for another request."""
        await self._host.storage.execute("forget_retry", owner=owner, retry=retry)

    async def repeated(self, owner: str, digest: str) -> str | None:
        """Return the newest request with this body that runs or has just ended, or None."""
        now = self._host.now()
        rows = await self._host.storage.fetch(
            "run_repeated", owner=owner, digest=digest, since=now - REPLAYED, before=now - RETRIED
        )
        return rows[0]["id"] if rows else None

    async def delete(self, run: Run) -> None:
        """Forget a run; who follows it still sees its end."""
        run.request["store"] = False
        await self._host.storage.execute("delete_run", id=run.id, owner=run.owner)

    async def prune(self) -> None:
        """Forget what nobody may ask for any more."""
        await self._host.storage.execute("prune_runs", now=self._host.now())

    # Ending

    async def finish(self, run: Run, reply: str, attached: list[str]) -> None:
        """The reply is there: store how the run ended, then tell who follows it.

        Raises ``StoreError``.
        """
        if run.end is not None:
            return
        kind, said = run.failure or ("", "")
        if run.stopping and not run.failure:
            state = "cancelled"
        else:
            state = "failed" if run.failure else "completed"
        if state == "completed" and (rest := run.rest_of(reply)):
            run.grow(rest) if not run.text() else run.add("text", rest)
        for name in attached:
            run.add("note", f"The answer has a file: {name}")
        end = {
            "state": state,
            "reply": reply,
            "usage": run.usage,
            "finish": run.finish,
            "error": {"kind": kind, "message": said} if run.failure else None,
            "turn": run.turn,
        }
        run.request.pop("system", None)
        await self._store(run, state, [*run.log, ["end", end]], reply)
        run.add("end", end)
        self.forget(run)

    async def _store(self, run: Run, state: str, log: list[Any], reply: str) -> None:
        now = self._host.now()
        streamed = bool(run.request.get("stream")) or run.kind == "response"
        text = run.text(run.left) if streamed else reply
        head = linked(run.chain, "assistant", Content(text)) if run.chain else ""
        kept = run.created + RETRIED if run.retry else now + REPLAYED
        if run.kind == "response" and run.request.get("store", True):
            kept = run.created + self._keep

        def work(tx: Transaction) -> None:
            tx.execute(
                "end_run",
                id=run.id,
                state=state,
                log=json.dumps(log, ensure_ascii=False),
                request=json.dumps(run.request, ensure_ascii=False),
                now=now,
                expires=max(kept, now + REPLAYED),
            )
            tx.execute("move_session", id=run.session_id, head=head, now=now)

        await self._host.storage.transact(work)

    def forget(self, run: Run) -> None:
        """A run is over, or another process knows how it goes on."""
        self._open.pop(run.id, None)
        for session_id in [s for s, one in self._by_session.items() if one is run]:
            del self._by_session[session_id]

    # Stopping

    def gone(self, run: Run) -> None:
        """A follower has gone; if it was the last one the turn is stopped after a moment."""
        if run.left is None:
            run.left = len(run.log)
        if run.end is None and not run.followers and not self.closing:
            self._host.spawn(self._stop_soon(run), "stop")

    async def _stop_soon(self, run: Run) -> None:
        await asyncio.sleep(GRACE)
        if not run.followers and not self.closing:
            await self.stop(run)

    async def stop(self, run: Run) -> None:
        """Stop the run's turn, at once or as soon as it begins."""
        if run.end is not None:
            return
        run.stopping = True
        await self.stop_here(run)
        self.others.stop(run)

    async def stop_here(self, run: Run) -> None:
        """Stop the run's turn if it is under way in this process."""
        if run.started and run.inbound is not None:
            await self._host.services[Conversations].stop(run.inbound)

    # Signals

    def _of(self, ctx: Context | None) -> Run | None:
        """The run that a context's turn works for; None for sub-agents and other channels."""
        if ctx is None or ctx.session.channel != CHANNEL or ctx.session.kind != "chat":
            return None
        run = self._by_session.get(ctx.session.id)
        if run is None and (run := self._open.get(ctx.turn.inbound.message_id)) is not None:
            self._by_session[ctx.session.id] = run
            run.started, run.inbound, run.turn = True, ctx.turn.inbound, ctx.turn.id
        return run

    async def take_up(self, turn: Turn) -> None:
        """A turn begins, or goes on after its process has died: know its run, and what was heard
        of it. Raises ``StoreError``."""
        if turn.session.channel != CHANNEL or turn.session.kind != "chat":
            return
        run = await self.load(turn.inbound.message_id)
        if run is not None and run.end is None:
            run.recall(turn.messages)

    def completed(self, ctx: Context, request: ModelRequest) -> ModelRequest | None:
        """Return a request of a turn that goes on with the system text of its client, which core
        does not store."""
        if (run := self._of(ctx)) is None or request.purpose != "turn":
            return None
        run.recall(ctx.turn.messages)
        system = run.request.get("system")
        return replace(request, ephemeral=system) if system and not request.ephemeral else None

    def _started(self, turn: Turn, ctx: Context | None = None) -> None:
        run = self._open.get(turn.inbound.message_id)
        if run is None or turn.session.channel != CHANNEL or turn.session.kind != "chat":
            return
        self._by_session[turn.session.id] = run
        run.started, run.inbound, run.turn = True, turn.inbound, turn.id
        self.others.show("begin", run, turn.id)
        if run.stopping:
            self._host.spawn(self.stop(run), "stop")

    def _delta(self, delta: Delta, ctx: Context | None = None) -> None:
        run = self._of(ctx)
        if run is None:
            return
        if delta.kind == "text":
            run.grow(delta.text)
            self.others.show("text", run, delta.text)
        elif delta.kind == "restart":
            run.restart()
            self.others.show("restart", run)
        elif delta.text:
            self._add(run, "think" if delta.kind == "thinking" else "note", delta.text)

    def _add(self, run: Run, *entry: Any) -> None:
        run.add(*entry)
        self.others.show("add", run, *entry)

    def _answered(self, response: ModelResponse, ctx: Context | None = None) -> None:
        run = self._of(ctx)
        if run is None or ctx is None:
            return
        used = ctx.turn.usage
        run.usage = {name: getattr(used, name) for name in run.usage}
        run.finish = "length" if response.stop in ("length", "context") else "stop"
        calls = response.message.tool_calls
        run.close_part(bool(calls))
        for call in calls:
            run.call(call)
        told = run.log[len(run.log) - len(calls) :]
        self.others.show("answered", run, run.usage, run.finish, told, now=True)

    def _called(self, result: ToolResult, ctx: Context | None = None) -> None:
        if (run := self._of(ctx)) is not None:
            run.result(result.call.id, result.call.name, result.ok, result.text)
            self.others.show("add", run, *run.log[-1])

    def _noticed(self, notice: Notice, ctx: Context | None = None) -> None:
        if (run := self._of(ctx)) is not None:
            self._add(run, "note", notice.text)

    def asked(self, ctx: Context, name: str) -> None:
        """A call waits for somebody to approve it."""
        if (run := self._of(ctx)) is not None:
            self._add(run, "note", f"{name} waits for approval.")

    def _denied(self, denial: Denial, ctx: Context | None = None) -> None:
        if isinstance(denial.event, Inbound) and denial.event.channel == CHANNEL:
            run = self._open.get(denial.event.message_id)
            why = ("denied", denial.reason or "You may not write here any more.")
            if run is not None:
                run.failure = why
            self.others.show("failure", denial.event.message_id, *why, now=True)

    def _failed(self, failure: Failure, ctx: Context | None = None) -> None:
        if (run := self._of(ctx)) is not None:
            run.failure = (failure.kind, failure.text)
            self.others.show("failure", run, *run.failure, now=True)

    def _settled(self, inbound: Inbound, ctx: Context | None = None) -> None:
        """A message without a reply is over too."""
        if inbound.channel != CHANNEL:
            return
        run = self._open.get(inbound.message_id)
        if self.others.are_served:
            self.others.show("settled", inbound.message_id, now=True)
            if run is not None:
                self.forget(run)  # who serves its client stores how it ended
        elif run is not None and run.end is None:
            self._host.spawn(self.end_without_reply(run), "end")

    async def end_without_reply(self, run: Run) -> None:
        """A message has led to no reply: its run is over, too. Raises ``StoreError``."""
        if run.end is None:
            run.failure = run.failure or ("internal", "There was no answer.")
            await self.finish(run, "", [])

    async def take(self, reply: Reply) -> bool:
        """A reply is delivered; return False if no client has asked for it. Raises
        ``StoreError``."""
        run = await self.load(reply.in_reply_to or "")
        if run is None or reply.kind == "notice":
            return False
        await self.others.await_whole(run)
        await self.finish(run, reply.text, [_name(item) for item in reply.attachments])
        return True


def _name(item: Any) -> str:
    return str(getattr(item, "name", "") or item.path.name)


def _from_row(row: Mapping[str, Any]) -> Run:
    request = json.loads(row["request"])
    run = Run(row["id"], row["owner"], row["kind"], row["session_id"], request)
    run.chain, run.created, run.retry = row["chain"], row["created"], row["retry"]
    run.log = json.loads(row["log"])
    return run
