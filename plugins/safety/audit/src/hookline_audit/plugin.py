"""The plugin: the events that are recorded, and when their rows are written.

A row is submitted to the store right before core submits the event itself, so both are in one
transaction and no transaction is added. This happens in the last ``pre_prompt`` (the turn starts),
when ``around_model`` returns (the response is stored), and in the last ``post_tool`` (the result is
stored). An answer to a question is recorded right after it is stored.
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
    StoredQuestion,
    ToolCall,
    ToolResult,
    Turn,
    command,
    hookimpl,
)
from hookline_hookspecs.audit import Audit, Kind
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.prices import Prices
from hookline_hookspecs.questions import DENY

from .config import AuditConfig
from .recorder import AuditRow, Recorder, digest, person_here

if TYPE_CHECKING:
    from hookline_hookspecs.hooks.turn import CallModel, CallTool, ModelMiddleware, ToolMiddleware

    from .service import AuditService

DAY = 86400.0
MAX_REMEMBERED_ACTORS = 4096
"""Sessions whose actor is remembered, for their sub-agents and runs."""
RUN_START_PREFIX = "/schedule begin "
"""The plugin ``scheduler`` sends this in the name of the owner of a job, followed by the id of the
run, which is also the end of the id of the run's session."""
_tool_context: ContextVar[Context | None] = ContextVar("hookline_audit_tool_context", default=None)
"""The context of the tool that is running."""


class AuditPlugin(Plugin[AuditConfig]):
    """Records who did what."""

    _recorder: Recorder
    service: AuditService

    @hookimpl(tryfirst=True)
    async def setup(self, host: Host) -> None:
        """Read the keys and provide the service :class:`hookline_hookspecs.audit.Audit`."""
        from .service import AuditService

        self._actors: OrderedDict[str, str] = OrderedDict()
        self._run_owners: OrderedDict[str, str] = OrderedDict()
        self.service = await AuditService.open(host, self.config)
        self._recorder = self.service.recorder
        self._prices = Prices.of(host)
        host.services.provide(Audit, self)
        host.signals.connect("on_message", self._record_message)
        host.signals.connect("denied", self._record_denial)
        host.signals.connect("pre_tool", self._note_arguments)
        host.signals.connect("pre_learn", self._record_learning)
        host.signals.connect("question_closed", self._record_closed_question)

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """Write, seal and sign the remaining rows."""
        await self.service.close()

    @hookimpl
    def register_jobs(self, register: Callable[[Job], None]) -> None:
        """Register the job that removes rows older than ``keep_days``."""
        register(Job("prune", self._prune, DAY, at_start=True))

    async def _prune(self) -> None:
        if removed := await self.service.prune():
            self.log.info("removed %d audit rows older than keep_days", removed)

    @hookimpl
    def register_routes(self, register: Callable[[Route], None]) -> None:
        """Register the page ``/audit``."""
        from .pages import AuditPage

        AuditPage(self.host, lambda: self.service).register(register)

    @command("/audit", audience="everyone", category="People and schedule")
    async def audit_command(self, ctx: Context, args: str) -> str:
        """Show who did what: /audit [TEXT TO FIND]."""
        from .chat_command import audit_reply

        return await audit_reply(self.host, self.service, ctx, args)

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
        row = self._row(ctx or _tool_context.get(), kind, object, verdict, detail)
        row.actor, row.approver = actor or row.actor or person_here(), approver
        self._recorder.add_from_anywhere(row)
        self.service.wake_sealer()

    async def config_changed(self, actor: str, what: str) -> None:
        """See ``Audit``."""
        await self.service.note_config(actor, what)

    async def session_deleted(self, session_id: str, channel: str, chat_id: str, by: str) -> None:
        """Record that a session was deleted; destroy the key of a chat without sessions."""
        verdict, detail = "deleted", {"session": session_id}
        self.note("access", "a session", verdict, detail=detail, actor=by)
        rows = await self.host.storage.fetch("sessions_of", channel=channel, chat_id=chat_id)
        if not rows[0]["number"]:
            await self.service.erase(f"{channel}:{chat_id}", by)

    def _row(
        self,
        ctx: Context | None,
        kind: str,
        object: str,  # noqa: A002
        verdict: str,
        detail: Mapping[str, Any] | None = None,
    ) -> AuditRow:
        row = AuditRow(kind, object, verdict, detail=detail)
        if ctx is not None and ctx.session.id:
            session, turn = ctx.session, ctx.turn
            row.session, row.turn, row.channel = session.id, turn.id, session.channel
            row.chat = f"{session.channel}:{session.chat_id}"
            row.actor = self._actor(ctx, turn.inbound)
        return row

    def _actor(self, ctx: Context, inbound: Inbound) -> str:
        """Who caused the turn; empty if unknown."""
        return (
            _person(inbound)
            or self._actors.get(ctx.session.id)
            or self._inherited_actor(ctx.session)
        )

    def _inherited_actor(self, session: Session) -> str:
        """The actor of a session without a person: of a sub-agent that of its parent, of a
        scheduled run the owner of the job.
        """
        if session.kind == "schedule":
            return self._run_owners.get(session.id.rpartition("-")[2], "")
        return self._actors.get(session.parent_id or "", "")

    def _put(self, row: AuditRow) -> None:
        self._recorder.add(row)
        self._recorder.submit()
        self.service.wake_sealer()

    # Messages

    def _record_message(self, inbound: Inbound, ctx: Context | None = None) -> None:
        """Record a slash command. Other messages are recorded when their turn starts."""
        if inbound.text.startswith("/"):
            if inbound.text.startswith(RUN_START_PREFIX):
                _remember(
                    self._run_owners, inbound.text.removeprefix(RUN_START_PREFIX), _person(inbound)
                )
            self._put(self._message(ctx, inbound, "command"))

    def _message(self, ctx: Context | None, inbound: Inbound, verdict: str) -> AuditRow:
        detail: dict[str, Any] = {"text": digest(inbound.text), "kind": inbound.kind}
        if inbound.attachments:
            detail["attachments"] = len(inbound.attachments)
        row = self._row(ctx, "message", inbound.message_id, verdict, detail)
        row.channel, row.chat = inbound.channel, f"{inbound.channel}:{inbound.chat_id}"
        row.actor = row.actor or _person(inbound)
        return row

    @hookimpl(trylast=True)
    def pre_prompt(self, ctx: Context, turn: Turn) -> None:
        """Record the message of a turn; core stores the turn next."""
        actor = _person(turn.inbound) or self._inherited_actor(turn.session)
        if not actor and turn.session.channel == TERMINAL:
            actor = person_here()  # a job of the terminal, created by the owner of this process
        _remember(self._actors, turn.session.id, actor)
        self._put(self._message(ctx, turn.inbound, "accepted"))

    def _record_denial(self, denial: Denial, ctx: Context | None = None) -> None:
        """Record a refusal. That of a tool call is part of the row of the tool."""
        event, refused_by = denial.event, {"by": denial.plugin}
        if denial.hook == "on_message":
            row = self._message(ctx, event, "denied")
            row.detail = {**(row.detail or {}), **refused_by}
            self._put(row)
        elif denial.hook == "pre_learn":
            self._put(self._lesson(ctx, event, "denied", refused_by))
        elif denial.hook == "pre_tool" and ctx is not None:
            ctx.stash[f"denied {event.id}"] = denial.plugin

    def _note_arguments(self, call: ToolCall, ctx: Context | None = None) -> None:
        """Note the arguments as they are checked last: a middleware may have changed them."""
        if ctx is not None and call.id:
            ctx.stash[f"arguments {call.id}"] = digest(call.arguments)

    def _record_learning(self, lesson: Lesson, ctx: Context | None = None) -> None:
        """Record a text that is about to be remembered."""
        self._put(self._lesson(ctx, lesson, "learnt", {}))

    def _lesson(
        self, ctx: Context | None, lesson: Lesson, verdict: str, extra: Mapping[str, Any]
    ) -> AuditRow:
        kind = "skill" if lesson.kind == "skill" else "memory"
        detail = {"text": digest(lesson.text), "kind": lesson.kind, **extra}
        return self._row(ctx, kind, lesson.source, verdict, detail)

    # Models

    @hookimpl(tryfirst=True)
    def around_model(self, ctx: Context, request: ModelRequest) -> ModelMiddleware:
        """Record what a request used; core stores the response next."""

        async def record_call(request: ModelRequest, call_next: CallModel) -> ModelResponse:
            try:
                response = await call_next(request)
            except ProviderError as error:
                failure = {"purpose": request.purpose, "error": error.kind}
                self._put(self._row(ctx, "model", request.model, "failed", failure))
                raise
            usage = self._usage_detail(request, response)
            self._put(self._row(ctx, "model", response.model, response.stop, usage))
            return response

        return record_call

    def _usage_detail(self, request: ModelRequest, response: ModelResponse) -> dict[str, Any]:
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
        """Record a question."""
        call = question.call
        name = call.name if call is not None else question.kind
        detail: dict[str, Any] = {"kind": question.kind}
        if question.id:
            detail["question"] = question.id
        if call is not None:
            detail |= {"call": call.id, "arguments": digest(call.arguments)}
            if not question.id:  # only plugins are asked, and no question is closed later
                ctx.stash[f"asked {call.id}"] = True
        self._put(self._row(ctx, "ask", name, "asked", detail))

    @hookimpl(tryfirst=True)
    def around_tool(self, ctx: Context, call: ToolCall) -> ToolMiddleware:
        """Record that a plugin approved a call; remember the context while its tool runs."""
        if ctx.stash.pop(f"asked {call.id}", False):
            self._record_answer(ctx, call, "approved")
        ctx.stash[f"ran {call.id}"] = True

        async def run_with_context(call: ToolCall, call_next: CallTool) -> ToolResult:
            token = _tool_context.set(ctx)
            try:
                return await call_next(call)
            finally:
                _tool_context.reset(token)

        return run_with_context

    def _record_answer(self, ctx: Context, call: ToolCall, verdict: str) -> None:
        row = self._row(ctx, "answer", call.name, verdict, {"call": call.id})
        row.approver = row.actor
        self._put(row)

    def _record_closed_question(self, question: StoredQuestion, ctx: Context | None = None) -> None:
        """Record an answer, or why there is none, in the process where the question was closed."""
        detail = {"kind": question.kind, "question": question.id}
        if question.answer is not None and question.kind in ("approval", "trust"):
            detail["choice"] = str(question.answer.choice)
        verdict = _closing_verdict(question)
        row = AuditRow("answer", question.tool or question.kind, verdict, detail=detail)
        row.channel, row.chat = question.channel, question.chat
        row.session, row.turn = question.session, question.turn
        asker = f"{question.channel}:{question.asker}" if question.asker else ""
        row.actor = asker or self._actors.get(question.session, "")
        if question.answer is not None:
            row.approver = question.answer.by or self._local_person(question.channel, row.actor)
        self._put(row)

    def _local_person(self, channel: str, person: str) -> str:
        """``person`` on a channel of this machine, where the person who writes also answers."""
        network = [known.network for known in self.host.channels() if known.name == channel]
        return "" if any(network) else person

    @hookimpl(trylast=True)
    def post_tool(self, ctx: Context, result: ToolResult) -> None:
        """Record the result of a call; core stores it next."""
        call, stash = result.call, ctx.stash
        if stash.pop(f"asked {call.id}", False):
            self._record_answer(ctx, call, "denied")
        arguments = stash.pop(f"arguments {call.id}", None) or digest(call.arguments)
        detail: dict[str, Any] = {"call": call.id, "arguments": arguments}
        detail["result"] = digest(result.text)
        detail["seconds"] = round(result.seconds, 3)
        if by := stash.pop(f"denied {call.id}", ""):
            detail["by"] = by
        if stash.pop(f"ran {call.id}", False):
            verdict = "ran" if result.ok else "failed"
        elif result.ok:
            verdict = "answered"
        else:
            verdict = "denied" if result.text.startswith("Denied: ") else "failed"
        self._put(self._row(ctx, "tool", call.name, verdict, detail))


def _closing_verdict(question: StoredQuestion) -> str:
    """``approved`` or ``denied`` for an approval, ``answered``, or the state without an answer."""
    if question.answer is None or question.kind != "approval":
        return question.state
    return "denied" if question.answer.choice == DENY else "approved"


def _person(inbound: Inbound) -> str:
    """Who wrote, as ``CHANNEL:USER``; empty if no person did."""
    return f"{inbound.channel}:{inbound.user_id}" if inbound.user_id else ""


def _remember(known: OrderedDict[str, str], id_: str, person: str) -> None:
    known[id_] = person
    known.move_to_end(id_)
    if len(known) > MAX_REMEMBERED_ACTORS:
        known.popitem(last=False)
