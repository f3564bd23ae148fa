"""Decides what a conversation that has read from outside may do."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import (
    Ask,
    CommandEffects,
    Context,
    Deny,
    Effect,
    Handle,
    Host,
    Job,
    Lesson,
    Message,
    ModelRequest,
    ModelResponse,
    OfferedScope,
    Origin,
    Plugin,
    Question,
    Route,
    Session,
    TextBlock,
    Tool,
    ToolCall,
    ToolResult,
    ToolResultBlock,
    command,
    hookimpl,
    merge_origins,
)
from hookline_hookspecs.bound_files import BoundFile
from hookline_hookspecs.file_origins import FileOrigins
from hookline_hookspecs.questions import QuestionHandler
from pydantic import BaseModel, Field

from .descriptions import Descriptions
from .judge import CallJudge, Finding
from .known_values import KnownValues, Met
from .marks import is_telling
from .named_files import executed_files, may_name_files, named_files
from .outcomes import Outcome
from .proposals import Proposals
from .question_text import (
    GRAVITY,
    described,
    details,
    literal,
    proposal_text,
    reason,
    shown_value,
    sources,
)
from .taint import charge, is_trusted, outside
from .trust import Trust, TrustSettings
from .writes import Writes

if TYPE_CHECKING:
    from .chat_commands import ChatCommands

MAX_INLINE_CHARS = 50_000
"""Characters of a conversation up to which it is looked through on the event loop."""
PERMITTED = "permitted recipients"
"""The key of the turn's stash under which allowed recipients are kept."""
FORGET_INTERVAL = 86_400.0


class ProvenanceConfig(BaseModel):
    """Who is trusted, and how long proposals are kept."""

    trust: TrustSettings = Field(
        default_factory=TrustSettings,
        title="Trusted sources and recipients",
        description="Who may receive messages without asking, and whose text is trusted.",
    )
    proposal_days: float = Field(
        default=14.0,
        gt=0,
        title="Proposal lifetime (days)",
        description="Days after which a proposal expires.",
    )


class Provenance(Plugin[ProvenanceConfig]):
    """Asks a person before a session that has read from outside does what lasts or leaves."""

    def __init__(self, config: ProvenanceConfig, host: Host) -> None:
        super().__init__(config, host)
        self.proposals = Proposals(host, config.proposal_days)
        self.trust = Trust(host, config.trust)
        self.writes = Writes(host)
        self._descriptions = Descriptions()

    @hookimpl
    def setup(self, host: Host) -> None:
        """Offer what is known of files to other plugins, and act on answered proposals."""
        host.services.provide(FileOrigins, self.writes)
        host.services.add(QuestionHandler, self.proposals)

    # The verdict

    @hookimpl
    async def pre_tool(self, ctx: Context, call: ToolCall) -> Ask | Deny | None:
        """Ask about what would outlive a session that has read from outside, or leave it."""
        if self.proposals.is_making(ctx):
            changed = await self.proposals.changed_file(ctx)
            told = f"{changed} has changed since this was proposed; reject it, and ask for it anew"
            return Deny(told) if changed else None
        await self._look_ahead(ctx, call)
        strangers = await self._behind(ctx, call)
        if not strangers:
            return None
        findings = await self._findings(ctx, call)
        found = _concerns(findings)
        if not found:
            return None
        text = reason(strangers, found, attended=ctx.interactive)
        # The same tests are run again and again, so that a person may say yes to them for good.
        once = any(effect.kind != "execute" for effect in found)
        scopes = self._scopes(ctx, findings)
        return Ask(text, once=once, scopes=scopes, details=details(findings))

    async def _behind(self, ctx: Context, call: ToolCall) -> Sequence[Origin]:
        """What from outside may be behind a call: the conversation, or a tool's description."""
        strangers = await self._strangers(ctx, ctx.origins)
        if strangers or not call.arguments:
            return strangers
        tools = self._descriptions.matching(self.host.tools(), call)
        if not tools:
            return ()
        return self._descriptions.origins(tools, await self.trust.names(_chat(ctx)))

    async def _strangers(self, ctx: Context, origins: Sequence[Origin]) -> Sequence[Origin]:
        if not any(origin.kind in ("outside", "person") for origin in origins):
            return ()
        trusted = await self.trust.names(_chat(ctx))
        return outside(origins, charge(origins, _person(ctx)), trusted)

    async def _findings(self, ctx: Context, call: ToolCall) -> Sequence[Finding]:
        """The values that decide a call, and where each was met."""
        tool = ctx.tool or next((one for one in self.host.tools() if one.name == call.name), None)
        if tool is None:
            return [Finding("unknown", "target", "", Met("composed"), "ask")]
        trusted = await self.trust.names(_chat(ctx))

        def trusts(host: str) -> bool:
            return is_trusted(Origin("outside", f"//{host}"), trusted)

        effects, previewed = ctx.effects(call), self._previewed(ctx, tool, call)
        known, workspace = self._known(ctx, trusted), ctx.paths.workspace

        def judge() -> list[Finding]:
            return CallJudge(known(), trusts, workspace).findings(tool, call, effects, previewed)

        read = sum(len(block.text) for message in ctx.history for block in _texts(message))
        found = judge() if read < MAX_INLINE_CHARS else await asyncio.to_thread(judge)
        for effect in effects:
            # What is read from such a file may be what is run: `cat page | sh`, `cp page x; sh x`.
            if effect.kind == "execute":
                strange = call.id in ctx.stash or await self._is_from_outside(ctx, effect)
                verdict: Outcome = "ask" if strange else "pass"
                met = Met("outside" if strange else "trusted")
                found.append(Finding("execute", "code", effect.target, met, verdict))
        return found

    def _known(self, ctx: Context, trusted: Collection[str]) -> Callable[[], KnownValues]:
        """Return what looks through the conversation, in any thread: it does not use ``ctx``."""
        session, people = ctx.session, charge(ctx.origins, _person(ctx))

        def is_outside(origin: Origin) -> bool:
            return bool(outside([origin], people, trusted))

        history = ctx.history
        kept = {
            block.call_id
            for message in history[-2:]
            for block in message.blocks
            if isinstance(block, ToolResultBlock)
        }
        return partial(
            KnownValues,
            history,
            [result for result in ctx.turn.tool_calls if result.call.id not in kept],
            people,
            {tool.name: tool for tool in self.host.tools()},
            is_outside,
            spoken=session.parent_id is None and session.kind == "chat",
            trusted=[*self.trust.recipients(_chat(ctx)), *ctx.stash.get(PERMITTED, ())],
        )

    def _previewed(self, ctx: Context, tool: Tool, call: ToolCall) -> Mapping[str, Handle]:
        """What the tool says that the ids in a call stand for."""
        if tool.preview is None:
            return {}
        try:
            found = tool.preview(ctx, call)
            return {name: one for name, one in found.items() if isinstance(one, Handle)}
        except Exception as error:  # without it, an id is looked up in what was read
            self.host.log.warning("the preview of %s failed: %s", tool.name, error)
            return {}

    def _scopes(self, ctx: Context, findings: Sequence[Finding]) -> tuple[OfferedScope, ...]:
        """Offer the recipients for the turn, if nothing else is asked about."""
        asked = [one for one in findings if one.outcome == "ask"]
        declared = [one.argument for one in asked if one.effect == "send"]
        if not asked or not all(declared) or any(one.sink != "recipient" for one in asked):
            return ()
        if len(declared) < len(asked):
            return ()
        names = list(dict.fromkeys(one.value for one in asked))

        async def remember() -> None:
            ctx.stash[PERMITTED] = (*ctx.stash.get(PERMITTED, ()), *names)

        many = len(names) > 1
        label = f"Allow {'these recipients' if many else 'this recipient'} in this turn"
        covers = f"Sending to {', '.join(map(shown_value, names))} until the turn ends."
        return (OfferedScope(label, (), covers, "turn", remember),)

    async def _is_from_outside(self, ctx: Context, effect: Effect) -> bool:
        if not effect.target:
            return False
        files = executed_files(effect, ctx.paths.workspace)
        return bool(await self.writes.of(files, programs=True))

    async def _look_ahead(self, ctx: Context, call: ToolCall) -> None:
        """Note the origins of the files that a call names, before it moves or changes them."""
        if ctx.tool is None or ctx.tool.read_only:
            return
        effects = ctx.effects(call)
        if not may_name_files(call, effects):
            return  # the session's workspace is found only where it is needed
        files = named_files(call, effects, _folder(ctx, call))
        if files and (origins := await self.writes.of(files)):
            ctx.stash[call.id] = origins
        if isinstance(call.arguments.get("command"), str):
            ctx.stash[f"read {call.id}"] = await self._readable(ctx, call)

    async def _readable(self, ctx: Context, call: ToolCall) -> tuple[Origin, ...]:
        """The origins of the files that a command can read, as far as from outside.

        If these cannot be known, all files of its folders count, and of a repository those that
        were deleted too.
        """
        reader = self.host.services.get(CommandEffects)
        known = reader.files_read(call, ctx.paths) if reader is not None else None
        if known is not None:
            return await self.writes.of(known)
        return await self.writes.readable(
            _folders(ctx, call),
            lambda path: ctx.paths.check_path(path) is None,
            deleted="git" in call.arguments["command"],
        )

    @hookimpl
    async def pre_learn(self, ctx: Context, lesson: Lesson) -> Deny | None:
        """Refuse to learn from outside without a tool, whose call would have been asked about."""
        if ctx.tool is not None or self.proposals.is_making(ctx):
            return None
        strangers = await self._strangers(ctx, lesson.origins)
        if not strangers:
            return None
        return Deny(f"it was made from what came from outside ({sources(strangers)})")

    # Proposals

    @hookimpl(tryfirst=True)
    async def on_question(self, ctx: Context, question: Question) -> str | None:
        """Approve an accepted proposal; keep the call as a proposal if no one can be asked."""
        if question.kind != "approval" or question.call is None:
            return None
        if self.proposals.is_making(ctx):
            return question.choices[0]
        if not ctx.interactive:
            await self._keep(ctx, question.call, question.files)
        return None

    async def _keep(self, ctx: Context, call: ToolCall, files: tuple[BoundFile, ...]) -> None:
        strangers = await self._behind(ctx, call)
        findings = await self._findings(ctx, call) if strangers else ()
        found = _concerns(findings)
        if found:
            text = proposal_text(strangers, found)
            shown = "\n".join([*details(findings), "", f"{call.name}:", literal(call)])
            kept = await self.proposals.keep(ctx, call, text, shown, files)
            ctx.notify(
                f"Kept as proposal {kept.id}: {described(call, found)}. "
                f"`hookline questions show {kept.id}` shows all of it and how to accept it."
            )

    @hookimpl
    def around_model(self, ctx: Context, request: ModelRequest) -> Any:
        """Answer with the accepted call, in the model's place."""
        if not self.proposals.is_making(ctx):
            return None

        async def played(
            request: ModelRequest, call_next: Callable[[ModelRequest], Awaitable[ModelResponse]]
        ) -> ModelResponse:
            return self.proposals.response(ctx, request.model)

        return played

    # What is read and written

    @hookimpl(trylast=True)
    def around_tool(self, ctx: Context, call: ToolCall) -> Any:
        """Note when a call that may write begins; hooks before and after it may take any time."""
        if ctx.tool is None or ctx.tool.read_only:
            return None

        async def timed(
            call: ToolCall, call_next: Callable[[ToolCall], Awaitable[ToolResult]]
        ) -> ToolResult:
            ctx.stash[f"began {call.id}"] = time.time()
            return await call_next(call)

        return timed

    @hookimpl
    async def post_tool(self, ctx: Context, result: ToolResult) -> ToolResult | None:
        """Add the origins of files that were read, and note when a marked session writes.

        If that fails, the result counts as from outside.
        """
        try:
            return await self._with_origins(ctx, result)
        except Exception as error:
            self.host.log.warning("files of %s were not looked at: %s", result.call.name, error)
            unchecked = Origin("outside", f"unchecked files of {result.call.name}")
            return replace(result, origins=merge_origins(result.origins, (unchecked,)))

    async def _with_origins(self, ctx: Context, result: ToolResult) -> ToolResult | None:
        tool = ctx.tool
        if tool is None:
            return None
        effects = ctx.effects(result.call)
        paths = [
            ctx.paths.workspace / effect.target
            for effect in effects
            if effect.kind == "read" and effect.target
        ]
        before = ctx.stash.pop(result.call.id, ())
        readable = ctx.stash.pop(f"read {result.call.id}", None)
        if readable is not None:
            paths = []  # of a command, all that it can read was looked at before
        ran = before if any(effect.kind == "execute" for effect in effects) else ()
        read = merge_origins(
            await self.writes.of(paths) if paths else (),
            ran,
            readable or (),
            await self.writes.names_in(result.text, fresh=bool(paths) or not tool.read_only),
        )
        origins = merge_origins(result.origins, read)
        if not tool.read_only:
            known = merge_origins(ctx.origins, origins, before)
            strangers = await self._strangers(ctx, known)
            if strangers:
                began = ctx.stash.pop(f"began {result.call.id}", time.time() - result.seconds)
                folders = _written(ctx, result.call, effects)
                await self.writes.note(ctx.session, began, strangers, folders)
        return replace(result, origins=origins) if read else None

    # Commands, pages and jobs

    @command("/proposals", audience="operator", category="Model and safety")
    async def proposals_(self, ctx: Context, args: str) -> str:
        """Show actions held for approval; /proposals accept ID or reject ID."""
        return await self._chat_commands().proposals(ctx, args)

    @command("/provenance", audience="operator", category="Model and safety")
    async def provenance_(self, ctx: Context, args: str) -> str:
        """Show files marked as from outside; /provenance clear PATH removes one mark."""
        return await self._chat_commands().provenance(ctx, args)

    @command("/trust", audience="operator", category="Model and safety")
    async def trust_(self, ctx: Context, args: str) -> str:
        """Show who is trusted; /trust add HOST or PERSON, /trust remove WHAT."""
        return await self._chat_commands().trust(ctx, args)

    def _chat_commands(self) -> ChatCommands:
        from .chat_commands import ChatCommands

        return ChatCommands(self.proposals, self.trust, self.writes)

    @hookimpl
    def register_routes(self, register: Callable[[Route], None]) -> None:
        """Register the page of trusted sources."""
        from .pages import TrustPage

        TrustPage(self.host, self.trust).register(register)

    @hookimpl(trylast=True)
    async def end_of_session(self, ctx: Context, session: Session) -> None:
        """Mark what background commands wrote last."""
        await self.writes.look_again()

    @hookimpl
    def register_jobs(self, register: Callable[[Job], None]) -> None:
        """Forget what has expired."""
        register(Job("forget", self._forget, every=FORGET_INTERVAL, at_start=True))

    async def _forget(self) -> None:
        await self.proposals.forget()
        await self.writes.forget()


def _concerns(findings: Sequence[Finding]) -> Sequence[Effect]:
    """The effects that need a person's word, the gravest first."""
    asked = [Effect(one.effect, one.value) for one in findings if one.outcome == "ask"]
    return sorted(dict.fromkeys(asked), key=lambda effect: GRAVITY.index(effect.kind))


def _texts(message: Message) -> Iterator[TextBlock | ToolResultBlock]:
    return (one for one in message.blocks if isinstance(one, TextBlock | ToolResultBlock))


def _chat(ctx: Context) -> str:
    inbound = ctx.turn.inbound
    return f"{inbound.channel}:{inbound.chat_id}"


def _person(ctx: Context) -> str:
    inbound = ctx.turn.inbound
    return f"{inbound.channel}:{inbound.user_id}" if inbound.user_id else ""


def _folders(ctx: Context, call: ToolCall) -> list[Path]:
    """The folders that a command can read and write: the workspace, and where it runs."""
    return list(dict.fromkeys((ctx.paths.workspace, _folder(ctx, call))))


def _written(ctx: Context, call: ToolCall, effects: Sequence[Effect]) -> list[Path]:
    """The files that a call may have written, and folders with such files."""
    kinds = {effect.kind for effect in effects}
    if "command" in call.arguments or kinds & {"execute", "unknown"}:
        return _folders(ctx, call)
    changed = [effect.target for effect in effects if effect.kind in ("write", "configure")]
    files = [ctx.paths.workspace / target for target in changed if target]
    named = [folder.parent for file in files for folder in file.parents if is_telling(folder.name)]
    return files + [one for one in named if one.is_relative_to(ctx.paths.workspace)]


def _folder(ctx: Context, call: ToolCall) -> Path:
    """Where a command runs."""
    workdir = call.arguments.get("workdir")
    return ctx.paths.workspace / workdir if isinstance(workdir, str) else ctx.paths.workspace
