"""The running requests: signals update their logs, and they are stored when they end."""

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

from .api_request import extend_chain
from .api_run import ApiRun
from .keys import CHANNEL
from .message_content import MessageContent
from .remote_runs import RemoteRuns

STOP_DELAY = 1.0
"""Seconds after which a turn without followers is stopped."""
REPLAY_SECONDS = 600.0
"""Seconds for which a repeated request is answered from the store."""
IDEMPOTENCY_SECONDS = 86_400.0
"""Seconds for which an ``Idempotency-Key`` is remembered."""


class ActiveRuns:
    """The runs of this process, by message id."""

    def __init__(self, host: Host, keep_seconds: float) -> None:
        self._host = host
        self._keep = keep_seconds
        self._open: dict[str, ApiRun] = {}
        self._by_session: dict[str, ApiRun] = {}
        self._loading = asyncio.Lock()
        self.remote = RemoteRuns(host, self)
        self.closing = False
        """True while the listener stops: ending streams are not disconnects."""

    def listen(self) -> None:
        """Connect the signals of turns."""
        receivers: dict[str, Callable[..., None]] = {
            "start_of_turn": self._on_start,
            "delta": self._on_delta,
            "post_model": self._on_response,
            "post_tool": self._on_tool_result,
            "notice": self._on_notice,
            "denied": self._on_denial,
            "on_error": self._on_error,
            "settled": self._on_settled,
        }
        for name, receiver in receivers.items():
            self._host.signals.connect(name, receiver)

    def open(self, run_id: str) -> ApiRun | None:
        """Return a running run of this process."""
        return self._open.get(run_id)

    def all_open(self) -> list[ApiRun]:
        """Return all running runs of this process."""
        return list(self._open.values())

    async def add(self, run: ApiRun, digest: str) -> None:
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

    async def load(self, run_id: str) -> ApiRun | None:
        """Return a running or stored run, or None."""
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

    async def find_by_retry_key(self, owner: str, retry: str) -> tuple[str, str] | None:
        """Return run id and body digest of the request with this key, or None."""
        since = self._host.now() - IDEMPOTENCY_SECONDS
        rows = await self._host.storage.fetch("run_retried", owner=owner, retry=retry, since=since)
        if rows:
            return rows[0]["id"], rows[0]["digest"]
        await self.forget_retry(owner, retry)
        return None

    async def forget_retry(self, owner: str, retry: str) -> None:
        """Forget an ``Idempotency-Key``."""
        await self._host.storage.execute("forget_retry", owner=owner, retry=retry)

    async def find_recent(self, owner: str, digest: str) -> str | None:
        """Return the newest running or just ended run with this body, or None."""
        now = self._host.now()
        rows = await self._host.storage.fetch(
            "run_repeated",
            owner=owner,
            digest=digest,
            since=now - REPLAY_SECONDS,
            before=now - IDEMPOTENCY_SECONDS,
        )
        return rows[0]["id"] if rows else None

    async def delete(self, run: ApiRun) -> None:
        """Delete a run; its followers still receive its end."""
        run.request["store"] = False
        await self._host.storage.execute("delete_run", id=run.id, owner=run.owner)

    async def prune(self) -> None:
        """Delete expired runs."""
        await self._host.storage.execute("prune_runs", now=self._host.now())

    async def finish(self, run: ApiRun, reply: str, attached: list[str]) -> None:
        """Store the end of a run, then add it to the log. Raises ``StoreError``."""
        if run.end is not None:
            return
        kind, message = run.failure or ("", "")
        if run.stopping and not run.failure:
            state = "cancelled"
        else:
            state = "failed" if run.failure else "completed"
        if state == "completed" and (rest := run.unsent_part(reply)):
            run.append_text(rest) if not run.text() else run.add("text", rest)
        for name in attached:
            run.add("note", f"Attached file: {name}")
        end = {
            "state": state,
            "reply": reply,
            "usage": run.usage,
            "finish": run.finish,
            "error": {"kind": kind, "message": message} if run.failure else None,
            "turn": run.turn,
        }
        run.request.pop("system", None)
        await self._store(run, state, [*run.log, ["end", end]], reply)
        run.add("end", end)
        self.forget(run)

    async def _store(self, run: ApiRun, state: str, log: list[Any], reply: str) -> None:
        now = self._host.now()
        streamed = bool(run.request.get("stream")) or run.kind == "response"
        text = run.text(run.seen_entries) if streamed else reply
        head = extend_chain(run.chain, "assistant", MessageContent(text)) if run.chain else ""
        kept = run.created + IDEMPOTENCY_SECONDS if run.retry else now + REPLAY_SECONDS
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
                expires=max(kept, now + REPLAY_SECONDS),
            )
            tx.execute("move_session", id=run.session_id, head=head, now=now)

        await self._host.storage.transact(work)

    def forget(self, run: ApiRun) -> None:
        """Remove a run that ended, or that another process continues."""
        self._open.pop(run.id, None)
        for session_id in [s for s, one in self._by_session.items() if one is run]:
            del self._by_session[session_id]

    def follower_left(self, run: ApiRun) -> None:
        """Stop the turn after a moment if the last follower has disconnected."""
        if run.seen_entries is None:
            run.seen_entries = len(run.log)
        if run.end is None and not run.followers and not self.closing:
            self._host.spawn(self._stop_soon(run), "stop")

    async def _stop_soon(self, run: ApiRun) -> None:
        await asyncio.sleep(STOP_DELAY)
        if not run.followers and not self.closing:
            await self.stop(run)

    async def stop(self, run: ApiRun) -> None:
        """Stop the run's turn, at once or as soon as it starts."""
        if run.end is not None:
            return
        run.stopping = True
        await self.stop_here(run)
        self.remote.stop(run)

    async def stop_here(self, run: ApiRun) -> None:
        """Stop the run's turn if it is running in this process."""
        if run.started and run.inbound is not None:
            await self._host.services[Conversations].stop(run.inbound)

    def _run_of(self, ctx: Context | None) -> ApiRun | None:
        """Return the run of a context's turn; None for sub-agents and other channels."""
        if ctx is None or ctx.session.channel != CHANNEL or ctx.session.kind != "chat":
            return None
        run = self._by_session.get(ctx.session.id)
        if run is None and (run := self._open.get(ctx.turn.inbound.message_id)) is not None:
            self._by_session[ctx.session.id] = run
            run.started = True
            run.inbound = ctx.turn.inbound
            run.turn = ctx.turn.id
        return run

    async def resume(self, turn: Turn) -> None:
        """Load the run of a starting or resumed turn, with its messages so far.

        Raises ``StoreError``.
        """
        if turn.session.channel != CHANNEL or turn.session.kind != "chat":
            return
        run = await self.load(turn.inbound.message_id)
        if run is not None and run.end is None:
            run.add_missing(turn.messages)

    def restore_system_text(self, ctx: Context, request: ModelRequest) -> ModelRequest | None:
        """Return a resumed turn's request with the client's system text, which core does not
        store."""
        if (run := self._run_of(ctx)) is None or request.purpose != "turn":
            return None
        run.add_missing(ctx.turn.messages)
        system = run.request.get("system")
        return replace(request, ephemeral=system) if system and not request.ephemeral else None

    def _on_start(self, turn: Turn, ctx: Context | None = None) -> None:
        run = self._open.get(turn.inbound.message_id)
        if run is None or turn.session.channel != CHANNEL or turn.session.kind != "chat":
            return
        self._by_session[turn.session.id] = run
        run.started = True
        run.inbound = turn.inbound
        run.turn = turn.id
        self.remote.show("begin", run, turn.id)
        if run.stopping:
            self._host.spawn(self.stop(run), "stop")

    def _on_delta(self, delta: Delta, ctx: Context | None = None) -> None:
        run = self._run_of(ctx)
        if run is None:
            return
        if delta.kind == "text":
            run.append_text(delta.text)
            self.remote.show("text", run, delta.text)
        elif delta.kind == "restart":
            run.restart()
            self.remote.show("restart", run)
        elif delta.text:
            self._add_entry(run, "think" if delta.kind == "thinking" else "note", delta.text)

    def _add_entry(self, run: ApiRun, *entry: Any) -> None:
        run.add(*entry)
        self.remote.show("add", run, *entry)

    def _on_response(self, response: ModelResponse, ctx: Context | None = None) -> None:
        run = self._run_of(ctx)
        if run is None or ctx is None:
            return
        used = ctx.turn.usage
        run.usage = {name: getattr(used, name) for name in run.usage}
        run.finish = "length" if response.stop in ("length", "context") else "stop"
        calls = response.message.tool_calls
        run.end_response(bool(calls))
        for call in calls:
            run.add_call(call)
        calls_added = run.log[len(run.log) - len(calls) :]
        self.remote.show("answered", run, run.usage, run.finish, calls_added, now=True)

    def _on_tool_result(self, result: ToolResult, ctx: Context | None = None) -> None:
        if (run := self._run_of(ctx)) is not None:
            run.add_result(result.call.id, result.call.name, result.ok, result.text)
            self.remote.show("add", run, *run.log[-1])

    def _on_notice(self, notice: Notice, ctx: Context | None = None) -> None:
        if (run := self._run_of(ctx)) is not None:
            self._add_entry(run, "note", notice.text)

    def note_approval(self, ctx: Context, name: str) -> None:
        """Note that a call waits for approval."""
        if (run := self._run_of(ctx)) is not None:
            self._add_entry(run, "note", f"{name} waits for approval.")

    def _on_denial(self, denial: Denial, ctx: Context | None = None) -> None:
        if isinstance(denial.event, Inbound) and denial.event.channel == CHANNEL:
            run = self._open.get(denial.event.message_id)
            why = ("denied", denial.reason or "You may no longer write here.")
            if run is not None:
                run.failure = why
            self.remote.show("failure", denial.event.message_id, *why, now=True)

    def _on_error(self, failure: Failure, ctx: Context | None = None) -> None:
        if (run := self._run_of(ctx)) is not None:
            run.failure = (failure.kind, failure.text)
            self.remote.show("failure", run, *run.failure, now=True)

    def _on_settled(self, inbound: Inbound, ctx: Context | None = None) -> None:
        """End the run of a message without a reply."""
        if inbound.channel != CHANNEL:
            return
        run = self._open.get(inbound.message_id)
        if self.remote.serves_elsewhere:
            self.remote.show("settled", inbound.message_id, now=True)
            if run is not None:
                self.forget(run)  # the serving process stores its end
        elif run is not None and run.end is None:
            self._host.spawn(self.end_without_reply(run), "end")

    async def end_without_reply(self, run: ApiRun) -> None:
        """End the run of a message without a reply. Raises ``StoreError``."""
        if run.end is None:
            run.failure = run.failure or ("internal", "The turn ended without an answer.")
            await self.finish(run, "", [])

    async def deliver(self, reply: Reply) -> bool:
        """Finish the run that a reply belongs to; return False if there is none.

        Raises ``StoreError``.
        """
        run = await self.load(reply.in_reply_to or "")
        if run is None or reply.kind == "notice":
            return False
        await self.remote.wait_for_last_text(run)
        await self.finish(run, reply.text, [_file_name(item) for item in reply.attachments])
        return True


def _file_name(item: Any) -> str:
    return str(getattr(item, "name", "") or item.path.name)


def _from_row(row: Mapping[str, Any]) -> ApiRun:
    request = json.loads(row["request"])
    run = ApiRun(row["id"], row["owner"], row["kind"], row["session_id"], request)
    run.chain = row["chain"]
    run.created = row["created"]
    run.retry = row["retry"]
    run.log = json.loads(row["log"])
    return run
