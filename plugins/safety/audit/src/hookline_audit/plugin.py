"""The plugin: what it hears of, and when rows are handed over.

A row rides on a write that happens anyway: it is handed to the store right before core hands over
what the row tells of, so both are in one transaction and none is added. The places for that are
the last ``pre_prompt`` (the turn begins), the return of ``around_model`` (the response is stored),
and the last ``post_tool`` (the result is stored).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import (
    Context,
    Denial,
    Host,
    Inbound,
    Job,
    Lesson,
    ModelRequest,
    ModelResponse,
    Plugin,
    ProviderError,
    Question,
    Route,
    Session,
    ToolCall,
    ToolResult,
    Turn,
    command,
    hookimpl,
)
from hookline_hookspecs.audit import Audit, Kind
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.prices import Prices

from .config import AuditConfig
from .recorder import Recorder, Row, digest, person_here

if TYPE_CHECKING:
    from hookline_hookspecs.hooks.turn import CallModel, CallTool, ModelMiddleware, ToolMiddleware

    from .service import Service

DAY = 86400.0
KNOWN = 4096
"""Sessions whose person is remembered, for their sub-agents."""
BEGIN = "/schedule begin "
"""What the plugin ``scheduler`` writes in a chat as whose job it is, with the id of a run, which is
the end of its session's."""
_working: ContextVar[Context | None] = ContextVar("hookline_audit_working", default=None)
"""The turn whose tool is running."""


class AuditPlugin(Plugin[AuditConfig]):
    """Writes down who did what."""

    _recorder: Recorder
    service: Service

    @hookimpl(tryfirst=True)
    async def setup(self, host: Host) -> None:
        """Read the keys, and offer the service :class:`hookline_hookspecs.audit.Audit`."""
        from .service import Service

        self._actors: OrderedDict[str, str] = OrderedDict()
        self._jobs: OrderedDict[str, str] = OrderedDict()
        self._asked: dict[str, dict[str, Any]] = {}
        self.service = await Service.open(host, self.config)
        self._recorder = self.service.recorder
        self._prices = Prices.of(host)
        host.services.provide(Audit, self)
        host.signals.connect("on_message", self._heard)
        host.signals.connect("denied", self._denied)
        host.signals.connect("pre_learn", self._learnt)

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """Write and seal what is left, and sign it."""
        await self.service.close()

    @hookimpl
    def register_jobs(self, register: Callable[[Job], None]) -> None:
        """Remove what is older than ``keep_days``."""
        register(Job("prune", self._prune, DAY, at_start=True))

    async def _prune(self) -> None:
        if removed := await self.service.prune():
            self.log.info("%d rows of the audit were older than keep_days", removed)

    @hookimpl
    def register_routes(self, register: Callable[[Route], None]) -> None:
        """Register the page of the audit."""
        from .pages import AuditPage

        AuditPage(self.host, lambda: self.service).register(register)

    @command("/audit", audience="everyone", category="People and schedule")
    async def audit_command(self, ctx: Context, args: str) -> str:
        """Show who did what, for those who may: /audit [words to find]."""
        from .chat import answer

        return await answer(self.host, self.service, ctx, args)

    # The service

    def note(
        self,
        kind: Kind,
        object: str,  # noqa: A002
        verdict: str = "",
        *,
        detail: Mapping[str, Any] | None = None,
        ctx: Context | None = None,
        actor: str = "",
        approver: str = "",
    ) -> None:
        """Add a row; see the protocol."""
        row = self._row(ctx or _working.get(), kind, object, verdict, detail)
        row.actor, row.approver = actor or row.actor or person_here(), approver
        self._recorder.add_from_anywhere(row)
        self.service.sealer_wanted()

    async def config_changed(self, actor: str, what: str) -> None:
        """See ``Audit``."""
        await self.service.note_config(actor, what)

    async def session_deleted(self, session_id: str, channel: str, chat_id: str, by: str) -> None:
        """Note that a session is gone, and destroy the key of a chat without one."""
        verdict, detail = "deleted", {"session": session_id}
        self.note("access", "a session", verdict, detail=detail, actor=by)
        where = {"channel": channel, "chat_id": chat_id}
        if not (await self.host.storage.fetch("sessions_of", **where))[0]["number"]:
            await self.service.erase(f"{channel}:{chat_id}", by)

    def approved(self, session_id: str, approver: str) -> None:
        """Note who answers the open approval of a session."""
        if session_id in self._asked:
            self._asked[session_id]["approver"] = approver

    def _row(
        self,
        ctx: Context | None,
        kind: str,
        object: str,  # noqa: A002
        verdict: str,
        detail: Mapping[str, Any] | None = None,
    ) -> Row:
        row = Row(kind, object, verdict, detail=detail)
        if ctx is not None and ctx.session.id:
            session, turn = ctx.session, ctx.turn
            row.session, row.turn, row.channel = session.id, turn.id, session.channel
            row.chat = f"{session.channel}:{session.chat_id}"
            row.actor = self._actor(ctx, turn.inbound)
        return row

    def _actor(self, ctx: Context, inbound: Inbound) -> str:
        """Whose turn it is; empty where that is not known."""
        return _person(inbound) or self._actors.get(ctx.session.id) or self._beneath(ctx.session)

    def _beneath(self, session: Session) -> str:
        """Whom a session works for that no person writes in: a sub-agent for whom its parent works,
        a run of the schedule for whose job it is, whoever else writes in the chat meanwhile."""
        if session.kind == "schedule":
            return self._jobs.get(session.id.rpartition("-")[2], "")
        return self._actors.get(session.parent_id or "", "")

    def _put(self, row: Row) -> None:
        self._recorder.add(row)
        self._recorder.hand_over()
        self.service.sealer_wanted()

    # Messages

    def _heard(self, inbound: Inbound, ctx: Context | None = None) -> None:
        """A message was let in: its row waits for the beginning of its turn; a command has none."""
        if inbound.text.startswith("/"):
            if inbound.text.startswith(BEGIN):
                _remember(self._jobs, inbound.text.removeprefix(BEGIN), _person(inbound))
            self._put(self._message(ctx, inbound, "command"))

    def _message(self, ctx: Context | None, inbound: Inbound, verdict: str) -> Row:
        said: dict[str, Any] = {"text": digest(inbound.text), "kind": inbound.kind}
        if inbound.attachments:
            said["attachments"] = len(inbound.attachments)
        row = self._row(ctx, "message", inbound.message_id, verdict, said)
        row.channel, row.chat = inbound.channel, f"{inbound.channel}:{inbound.chat_id}"
        row.actor = row.actor or _person(inbound)
        return row

    @hookimpl(trylast=True)
    def pre_prompt(self, ctx: Context, turn: Turn) -> None:
        """A turn begins; core stores that next."""
        actor = _person(turn.inbound) or self._beneath(turn.session)
        if not actor and turn.session.channel == TERMINAL:
            actor = person_here()  # a job of the terminal, which whoever runs this process has made
        _remember(self._actors, turn.session.id, actor)
        self._put(self._message(ctx, turn.inbound, "accepted"))

    def _denied(self, denial: Denial, ctx: Context | None = None) -> None:
        """A gate has refused; what a guard refuses is in the tool's own row."""
        event, told = denial.event, {"by": denial.plugin}
        if denial.hook == "on_message":
            row = self._message(ctx, event, "denied")
            row.detail = {**(row.detail or {}), **told}
            self._put(row)
        elif denial.hook == "pre_learn":
            self._put(self._lesson(ctx, event, "denied", told))
        elif denial.hook == "pre_tool" and ctx is not None:
            ctx.stash[f"denied {event.id}"] = denial.plugin

    def _learnt(self, lesson: Lesson, ctx: Context | None = None) -> None:
        """Something is about to be remembered."""
        self._put(self._lesson(ctx, lesson, "learnt", {}))

    def _lesson(
        self, ctx: Context | None, lesson: Lesson, verdict: str, told: Mapping[str, Any]
    ) -> Row:
        kind = "skill" if lesson.kind == "skill" else "memory"
        detail = {"text": digest(lesson.text), "kind": lesson.kind, **told}
        return self._row(ctx, kind, lesson.source, verdict, detail)

    # Models

    @hookimpl(tryfirst=True)
    def around_model(self, ctx: Context, request: ModelRequest) -> ModelMiddleware:
        """Write down what a request used; core stores the response next."""

        async def measured(request: ModelRequest, call_next: CallModel) -> ModelResponse:
            try:
                response = await call_next(request)
            except ProviderError as error:
                told = {"purpose": request.purpose, "error": error.kind}
                self._put(self._row(ctx, "model", request.model, "failed", told))
                raise
            self._put(
                self._row(
                    ctx, "model", response.model, response.stop, self._used(request, response)
                )
            )
            return response

        return measured

    def _used(self, request: ModelRequest, response: ModelResponse) -> dict[str, Any]:
        usage = response.usage
        tokens = {
            "input": usage.input,
            "cache_read": usage.cache_read,
            "cache_write": usage.cache_write,
            "output": usage.output,
            "reasoning": usage.reasoning,
        }
        cost = self._prices.cost(response.model, usage)
        return {"purpose": request.purpose, **tokens, "cost": cost}

    # Tools

    @hookimpl(tryfirst=True)
    def on_question(self, ctx: Context, question: Question) -> None:
        """Somebody is asked."""
        call = question.call
        name = call.name if call is not None else question.kind
        told: dict[str, Any] = {"kind": question.kind}
        if call is not None:
            told |= {"call": call.id, "arguments": digest(call.arguments)}
            ctx.stash[f"asked {call.id}"] = True
            self._asked[ctx.session.id] = {}
        self._put(self._row(ctx, "ask", name, "asked", told))

    @hookimpl(tryfirst=True)
    def around_tool(self, ctx: Context, call: ToolCall) -> ToolMiddleware:
        """Note that a call is allowed, and in which turn its tool runs."""
        if ctx.stash.pop(f"asked {call.id}", False):
            self._answered(ctx, call, "approved")
        ctx.stash[f"ran {call.id}"] = True

        async def within(call: ToolCall, call_next: CallTool) -> ToolResult:
            token = _working.set(ctx)
            try:
                return await call_next(call)
            finally:
                _working.reset(token)

        return within

    def _answered(self, ctx: Context, call: ToolCall, verdict: str) -> None:
        row = self._row(ctx, "answer", call.name, verdict, {"call": call.id})
        told = self._asked.pop(ctx.session.id, {})
        row.approver = told.get("approver") or row.actor
        self._put(row)

    @hookimpl(trylast=True)
    def post_tool(self, ctx: Context, result: ToolResult) -> None:
        """A call has its result; core stores that next."""
        call, stash = result.call, ctx.stash
        if stash.pop(f"asked {call.id}", False):
            self._answered(ctx, call, "denied")
        told: dict[str, Any] = {"call": call.id, "arguments": digest(call.arguments)}
        told["result"] = digest(result.text)
        told["seconds"] = round(result.seconds, 3)
        if by := stash.pop(f"denied {call.id}", ""):
            told["by"] = by
        if stash.pop(f"ran {call.id}", False):
            verdict = "ran" if result.ok else "failed"
        elif result.ok:
            verdict = "answered"
        else:
            verdict = "denied" if result.text.startswith("Denied: ") else "failed"
        self._put(self._row(ctx, "tool", call.name, verdict, told))


def _person(inbound: Inbound) -> str:
    """Who wrote, as ``CHANNEL:USER``; empty for what no person wrote."""
    return f"{inbound.channel}:{inbound.user_id}" if inbound.user_id else ""


def _remember(known: OrderedDict[str, str], id_: str, person: str) -> None:
    known[id_] = person
    known.move_to_end(id_)
    if len(known) > KNOWN:
        known.popitem(last=False)
