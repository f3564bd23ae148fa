"""The plugin: the verdicts of the rules and of each mode, and the services for both."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from hookline_hookspecs import (
    Ask,
    Check,
    CheckResult,
    CommandEffects,
    CommandError,
    Context,
    ContextBlock,
    Conversations,
    Deny,
    Effect,
    Host,
    Inbound,
    Mode,
    Modes,
    OfferedScope,
    Paths,
    PermissionRules,
    Plugin,
    Question,
    Reply,
    RuleVerdict,
    Session,
    ToolCall,
    ToolResult,
    Turn,
    command,
    hookimpl,
)
from hookline_hookspecs.bound_files import CommandFiles
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.conversations import SessionCopyListener
from hookline_hookspecs.sentences import N_

from . import outside_changes, plan_mode, rule_guard
from .config import PermissionsConfig
from .mode_records import MAX_SESSIONS, Records
from .mode_switch import (
    CHOSEN,
    FREEDOM,
    MEANING,
    NOT_YOLO,
    NOT_YOURS,
    is_freer,
    is_trusted,
    may_loosen,
    require_sandbox,
)
from .network_patterns import LOCALHOST, NETWORK, local_ports
from .places import is_readable_system
from .readable_places import readable_place
from .rule_levels import RuleLevels
from .rule_set import part_outside

CallTool: TypeAlias = Callable[[ToolCall], Awaitable[ToolResult]]
ASKED = N_("it may change something, so it needs a yes (mode ask)")
LASTING = frozenset({"learn", "schedule", "send", "network", "unknown"})
"""Effects that leave the machine or outlive the session, or may."""
ACCEPTED = N_("/accept the plan")
"""What the choice under a plan stands for."""


class Permissions(Plugin[PermissionsConfig]):
    """Decides by rules and by the session's mode which calls are refused or need approval."""

    preserves_streaming = True

    def __init__(self, config: PermissionsConfig, host: Host) -> None:
        super().__init__(config, host)
        self._records = Records(host)
        self.levels = RuleLevels(config, host)
        self._parents: OrderedDict[str, str] = OrderedDict()
        """The parents of sub-agents and copies, whose mode they share."""
        self._typed_in = ""
        """The terminal's session in this process."""
        self._given: dict[str, Mode] = {}
        """What sessions were given in this process, until their next turn."""

    @hookimpl
    def setup(self, host: Host) -> None:
        """Offer the services, and say which rules are ignored."""
        host.services.provide(Modes, self)
        host.services.provide(PermissionRules, self)
        host.services.provide(CommandEffects, self)
        host.services.provide(CommandFiles, self)
        host.services.add(SessionCopyListener, self)
        for warning in self.levels.fixed(host.paths.workspace).warnings:
            self.log.warning("%s", warning)

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """Register a check of the rules in config.yaml and of the project."""
        register(Check("permissions", self._check_rules))

    def _check_rules(self) -> CheckResult:
        loaded = self.levels.fixed(self.host.paths.workspace)
        if loaded.errors or loaded.warnings:
            fix = "Correct or remove these rules."
            return CheckResult(
                not loaded.errors, "\n".join((*loaded.errors, *loaded.warnings)), fix
            )
        return CheckResult(True, f"{len(loaded.rules)} rules besides the built-in ones")

    # The service PermissionRules

    async def verdict(self, ctx: Context, call: ToolCall) -> RuleVerdict:
        """Return what the rules say about a call."""
        rules, _ = await self.levels.of_turn(ctx)
        return rule_guard.rule_verdict(rules.decide(call, ctx.paths), part_outside(call, ctx.paths))

    async def matches(self, ctx: Context, rule: str, call: ToolCall) -> bool:
        """Return whether a rule is about a call."""
        from .rule_set import matches_rule

        return matches_rule(rule, call, ctx.paths)

    async def covers(self, ctx: Context, rules: Sequence[str], call: ToolCall) -> bool:
        """Return whether allow rules such as these would allow a call."""
        from .rule_set import covered_by

        return covered_by(rules, call, ctx.paths)

    # The service CommandEffects

    def effects(self, call: ToolCall, paths: Paths) -> Sequence[Effect]:
        """Return what a call of ``bash`` may do."""
        from .command_effects import command_effects

        return command_effects(call, paths)

    def files_read(self, call: ToolCall, paths: Paths) -> Sequence[Path] | None:
        """Return every file that a call of ``bash`` can read; None if that cannot be known."""
        from .files_read import files_read

        return files_read(call, paths)

    # The service CommandFiles

    def command_files(self, call: ToolCall, paths: Paths) -> Mapping[str, bool]:
        """Return the files that a call of ``bash`` names or runs."""
        from .command_files import command_files

        return command_files(call, paths)

    async def offered_scopes(self, ctx: Context, call: ToolCall) -> Sequence[OfferedScope]:
        """Return up to three scopes that would have allowed this call."""
        from .offers import offered_scopes

        rules, errors = await self.levels.of_turn(ctx)
        if errors:
            return ()
        sandboxed = rule_guard.is_sandboxed(self.host, ctx, call)
        asks_all = await self._mode(ctx) == "ask"
        return offered_scopes(call, ctx.paths, rules, sandboxed=sandboxed, all_changes=asks_all)

    async def add_scope(self, ctx: Context, scope: OfferedScope, by: str) -> None:
        """Store the rules of a scope for the chat."""
        chat = self.levels.chat_of(ctx.session)
        for_session = scope.lasts == "session"
        by = by or self._person_here(ctx)
        await self.levels.chats.add(chat, "allow", scope.rules, by=by, for_session=for_session)

    @staticmethod
    def _person_here(ctx: Context) -> str:
        """The person of a turn on this machine, who answers it too; empty on other channels."""
        inbound = ctx.turn.inbound
        is_here = inbound.channel == TERMINAL and inbound.user_id
        return f"{inbound.channel}:{inbound.user_id}" if is_here else ""

    async def local_ports(self, ctx: Context) -> Sequence[int]:
        """Return the ports of this machine that an allow rule names and no other rule refuses."""
        rules, errors = await self.levels.of_turn(ctx)
        if errors:
            return ()
        named = local_ports(rule.network for rule in rules.of("allow", NETWORK))
        calls = (ToolCall("", NETWORK, {"host": LOCALHOST, "port": port}) for port in named)
        return [
            port
            for port, call in zip(named, calls, strict=True)
            if rules.decide(call, ctx.paths).kind == "allow"
        ]

    # The service Modes

    async def get(self, session_id: str) -> Mode:
        """Return a session's mode: its own, else its parent's, else the default."""
        own = (await self._records.of(session_id)).mode
        while own is None and session_id in self._parents:
            session_id = self._parents[session_id]
            own = (await self._records.of(session_id)).mode
        return own or self.config.mode

    async def set(self, session_id: str, mode: Mode) -> None:
        """Set a session's mode; ``yolo`` for as long as this process lives. Raises
        ``CommandError`` with a sentence for a person if it cannot be used."""
        if mode not in FREEDOM:
            raise CommandError(f"there is no mode {mode!r}; choose {_listed([*CHOSEN, 'yolo'])}")
        if mode == "yolo":
            await require_sandbox()
        await self._records.set(session_id, mode)
        self._given[session_id] = mode

    # Sessions

    async def session_copied(self, session: Session, copy: Session) -> None:
        """Give a copy its session's mode, and in the same chat its rules (SessionCopyListener)."""
        mode = await self.get(session.id)
        if mode != await self.get(copy.id):
            await self.set(copy.id, mode)
        chat = self.levels.chat_of(session)
        if chat.key == (copy.channel, copy.chat_id):
            await self.levels.chats.copy_session(chat, copy.id)

    @hookimpl
    async def start_of_session(self, ctx: Context, session: Session) -> None:
        """Know whose mode it shares, or begin with what the chat's session before had."""
        self.levels.begin(session)
        if session.parent_id is not None:
            self._share(session.id, session.parent_id)
        if session.resumed:
            await self._records.refreshed(session.id)
        elif session.kind == "chat":
            await self._records.begin(session.id, session.channel, session.chat_id)
        else:
            self._records.begin_anew(session.id)
            if session.parent_id is None and session.channel == TERMINAL:
                await self._begin_beside(session)

    async def _begin_beside(self, session: Session) -> None:
        """Work that begins by itself in the terminal, a job, shares the mode of the conversation
        there, as it has that for a parent elsewhere; ``yolo`` is for what a person watches."""
        if self._typed_in:
            if await self.get(self._typed_in) != "yolo":
                self._share(session.id, self._typed_in)
        elif chosen := await self._records.next_of(TERMINAL, session.chat_id):
            await self._records.set(session.id, chosen)

    def _share(self, session_id: str, parent_id: str) -> None:
        self._parents[session_id] = parent_id
        self._parents.move_to_end(session_id)
        while len(self._parents) > MAX_SESSIONS:
            self._parents.popitem(last=False)

    @hookimpl
    async def start_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Read the chat's rules. A session that has ended leads to its latest successor."""
        await self.levels.begin_turn(turn.session)
        if turn.session.kind == "chat" and turn.session.channel == TERMINAL:
            self._typed_in = turn.session.id
        named = turn.inbound.session_id
        given = self._given.pop(named, None) if named else None
        if given is not None and named != turn.session.id:
            await self._records.set(turn.session.id, given)

    @hookimpl
    async def end_of_session(self, ctx: Context, session: Session) -> None:
        """The chat's next session goes on in the mode of this one, without its rules."""
        if session.parent_id is None:
            await self.levels.chats.end_session(self.levels.chat_of(session))
        own = (await self._records.of(session.id)).mode
        if session.kind == "chat" and own not in (None, self.config.mode):
            await self._records.choose_next(session.channel, session.chat_id, own)

    # The verdicts

    @hookimpl(trylast=True)
    async def pre_tool(self, ctx: Context, call: ToolCall) -> Ask | Deny | None:
        """Deny or ask as the rules say, and about what may change something, as the mode says."""
        rules, errors = await self.levels.of_turn(ctx)
        sandboxed = rule_guard.is_sandboxed(self.host, ctx, call)
        decision = rules.decide(call, ctx.paths, sandboxed=sandboxed)
        if decision.kind == "deny":
            return rule_guard.denied(decision)
        changes = ctx.tool is not None and not ctx.tool.read_only
        mode = await self._mode(ctx) if changes else "auto"
        if mode == "plan":
            return plan_mode.denied(call)
        if errors and changes:
            return Deny(f"the permission rules cannot be used: {'; '.join(errors)}")
        if decision.kind == "ask":
            asked = await rule_guard.question(ctx, call, decision)
            if asked is not None:
                return asked
        if not changes or rule_guard.is_allowed_by_person(decision):
            return None
        reason = ASKED if mode == "ask" else await outside_changes.question(ctx, call)
        if not reason:
            return None
        from .preview import preview

        shown = await asyncio.to_thread(preview, ctx, call)
        return Ask(reason, shown, answered_by_rules=True)

    @hookimpl
    async def around_tool(
        self, ctx: Context, call: ToolCall
    ) -> Callable[[ToolCall, CallTool], Awaitable[ToolResult]] | None:
        """Let a tool that only reads open what a rule allows outside the workspace."""
        if ctx.tool is None or not ctx.tool.read_only or "path" not in call.arguments:
            return None
        place = readable_place(call, ctx.paths)
        if place is None:
            return None
        if not is_readable_system(str(place)):
            rules, _ = await self.levels.of_turn(ctx)
            if not rule_guard.is_allowed_by_person(rules.decide(call, ctx.paths)):
                return None

        async def read(call: ToolCall, call_next: CallTool) -> ToolResult:
            with ctx.paths.allow_reading(place):
                return await call_next(call)

        return read

    async def _mode(self, ctx: Context) -> Mode:
        """The mode of a turn's session; once a turn what another process may have stored."""
        if not ctx.stash.get("read"):
            ctx.stash["read"] = True
            await self._records.refreshed(ctx.session.id)
        return await self.get(ctx.session.id)

    @hookimpl(tryfirst=True)
    async def on_question(self, ctx: Context, question: Question) -> str | None:
        """In the mode yolo, answer yes to what stays in the sandbox."""
        call = question.call
        if question.kind != "approval" or call is None or await self.get(ctx.session.id) != "yolo":
            return None
        return question.choices[0] if _stays_inside(ctx, call) else None

    # The plan

    @hookimpl
    async def pre_prompt(self, ctx: Context, turn: Turn) -> ContextBlock | None:
        """Tell the model, once, that it is planning, and that it is not any more."""
        record = await self._records.of(ctx.session.id)
        if await self.get(ctx.session.id) == "plan":
            if plan_mode.was_told(ctx.history):
                return None
            agent = ctx.session.parent_id is not None
            if not agent and record.told != "plan":
                await self._records.note_told(ctx.session.id, "plan")
            return ContextBlock("notices", plan_mode.text("plan_agent" if agent else "plan"))
        if record.told != "plan":
            return None
        await self._records.note_told(ctx.session.id, "")
        return ContextBlock("notices", plan_mode.text("plan_over"))

    @hookimpl
    async def pre_reply(self, ctx: Context, reply: Reply) -> Reply | None:
        """Put the choice under a plan, on channels other than the terminal."""
        if ctx.channel == TERMINAL or not plan_mode.is_offered(ctx, reply.text):
            return None
        if await self.get(ctx.session.id) != "plan":
            return None
        text = f"{reply.text}\n\n{plan_mode.OFFER}"
        return replace(reply, text=text, choices=(plan_mode.ACCEPT, plan_mode.KEEP))

    @hookimpl
    async def end_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Say in the terminal what can be done with a plan."""
        if ctx.channel != TERMINAL or not plan_mode.is_offered(ctx, turn.reply):
            return
        if await self.get(ctx.session.id) == "plan":
            ctx.notify(plan_mode.OFFER)

    @hookimpl
    def on_message(self, ctx: Context, inbound: Inbound) -> Inbound | None:
        """Take the choice under a plan for the command."""
        said = inbound.text.strip().rstrip(".").casefold()
        if said != plan_mode.ACCEPT.casefold() or inbound.forwarded or inbound.attachments:
            return None
        return replace(inbound, text=ACCEPTED)

    # Commands

    async def _complete_mode(self, session_id: str, typed: str) -> list[tuple[str, str]]:
        return [(mode, MEANING[mode]) for mode in CHOSEN if mode.startswith(typed)]

    @command(
        "/mode",
        audience="session",
        immediate=True,
        category="Model and safety",
        complete=_complete_mode,
    )
    async def mode(self, ctx: Context, args: str) -> str:
        """Show or choose how freely this session may act: /mode ask|auto|plan."""
        session_id = ctx.session.id or ctx.turn.inbound.session_id or ""
        now = await self._now(ctx, session_id)
        wanted = next((one for one in FREEDOM if one == args.casefold()), None)
        if not args:
            others = "\n".join(f"/mode {one}: {MEANING[one]}" for one in CHOSEN if one != now)
            return f"{N_(f'Mode {now}: {MEANING[now]}.')}\n\n{others}"
        if wanted == "yolo":
            return NOT_YOLO
        if wanted is None:
            return f"There is no mode {args!r}; choose {_listed(CHOSEN)}."
        if is_freer(wanted, now) and not await may_loosen(ctx, wanted, self.config.mode):
            return NOT_YOURS
        if session_id:
            await self.set(session_id, wanted)
        else:
            await self._records.choose_next(ctx.channel, ctx.session.chat_id, wanted)
        return N_(f"Mode {wanted}: {MEANING[wanted]}.")

    async def _now(self, ctx: Context, session_id: str) -> Mode:
        if session_id:
            return await self.get(session_id)
        chosen = await self._records.next_of(ctx.channel, ctx.session.chat_id)
        return chosen or self.config.mode

    @command("/permissions", audience="session", category="Model and safety")
    async def permissions(self, ctx: Context, args: str) -> str:
        """Show this chat's rules, or change them: /permissions add KIND RULE, remove RULE."""
        from .chat_command import change_rules

        trusted = await is_trusted(ctx)
        return await change_rules(self.levels, ctx.session, ctx.turn.inbound, args, trusted)

    @command("/accept", audience="session", category="Model and safety")
    async def accept(self, ctx: Context, args: str) -> str:
        """Accept the plan and carry it out."""
        conversations = self.host.services[Conversations]
        session_id = ctx.session.id
        if await self.get(session_id) != "plan":
            if f"/accept {args}".casefold() == ACCEPTED:
                conversations.rerun(ctx, plan_mode.ACCEPT)  # it was no choice under a plan
                return ""
            return "There is no plan to accept: this session is not in plan mode (/mode plan)."
        before = (await self._records.of(session_id)).before
        after: Mode = before or (self.config.mode if self.config.mode != "plan" else "auto")
        if not await may_loosen(ctx, after, self.config.mode):
            return NOT_YOURS
        await self.set(session_id, after)
        conversations.rerun(ctx, plan_mode.CARRY_OUT)
        return ""


def _stays_inside(ctx: Context, call: ToolCall) -> bool:
    """True if what was asked about ends with the sandbox, or with the workspace.

    Not what is destroyed elsewhere, what runs outside of it later (a git hook, a setting) or is no
    tool that says what it does; and in a conversation that has read from outside, nothing that
    leaves or lasts.
    """
    kinds = {effect.kind for effect in ctx.effects(call)}
    if "configure" in kinds or ctx.tool is None or ctx.tool.effects is None:
        return False
    if outside_changes.destroyed(ctx, call):
        return False
    tainted = any(origin.kind in ("outside", "person") for origin in ctx.origins)
    return not (tainted and kinds & LASTING)


def _listed(modes: Sequence[str]) -> str:
    return f"{', '.join(modes[:-1])} or {modes[-1]}"
