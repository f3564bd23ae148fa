"""The plugin: the verdicts of each mode, its commands, and the service ``Modes``."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace

from hookline_hookspecs import (
    Ask,
    CommandError,
    Context,
    ContextBlock,
    Conversations,
    Deny,
    Host,
    Inbound,
    Mode,
    Modes,
    Plugin,
    Question,
    Reply,
    Session,
    ToolCall,
    Turn,
    command,
    hookimpl,
)
from hookline_hookspecs.channels import TERMINAL

from . import outside_changes, plan_mode
from .config import PermissionsConfig
from .mode_records import MAX_SESSIONS, Records
from .mode_switch import (
    CHOSEN,
    FREEDOM,
    MEANING,
    NOT_YOLO,
    NOT_YOURS,
    is_freer,
    may_loosen,
    require_sandbox,
)

ASKED = "it may change something, so it needs a yes (mode ask)"
LASTING = frozenset({"learn", "schedule", "send", "network", "unknown"})
"""Effects that leave the machine or outlive the session, or may."""
ACCEPTED = "/accept the plan"
"""What the choice under a plan stands for."""


class Permissions(Plugin[PermissionsConfig]):
    """Keeps a mode for each session, and holds its tool calls to it."""

    preserves_streaming = True

    def __init__(self, config: PermissionsConfig, host: Host) -> None:
        super().__init__(config, host)
        self._records = Records(host)
        self._parents: OrderedDict[str, str] = OrderedDict()
        """The parents of sub-agents and copies, whose mode they share."""
        self._typed_in = ""
        """The terminal's session in this process."""
        self._given: dict[str, Mode] = {}
        """What sessions were given in this process, until their next turn."""

    @hookimpl
    def setup(self, host: Host) -> None:
        """Offer the service."""
        host.services.provide(Modes, self)

    # The service

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

    @hookimpl
    async def start_of_session(self, ctx: Context, session: Session) -> None:
        """Know whose mode it shares, or begin with what the chat's session before had."""
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
        """A session that has ended leads to its latest successor, which was meant."""
        if turn.session.kind == "chat" and turn.session.channel == TERMINAL:
            self._typed_in = turn.session.id
        named = turn.inbound.session_id
        given = self._given.pop(named, None) if named else None
        if given is not None and named != turn.session.id:
            await self._records.set(turn.session.id, given)

    @hookimpl
    async def end_of_session(self, ctx: Context, session: Session) -> None:
        """The chat's next session goes on in the mode of this one, which nobody took back."""
        own = (await self._records.of(session.id)).mode
        if session.kind == "chat" and own not in (None, self.config.mode):
            await self._records.choose_next(session.channel, session.chat_id, own)

    # The verdicts

    @hookimpl(trylast=True)
    async def pre_tool(self, ctx: Context, call: ToolCall) -> Ask | Deny | None:
        """Ask about, or deny, what may change something, as the mode says."""
        if ctx.tool is None or ctx.tool.read_only:
            return None
        mode = await self._mode(ctx)
        if mode == "plan":
            return plan_mode.denied(call)
        reason = ASKED if mode == "ask" else await outside_changes.question(ctx, call)
        if not reason:
            return None
        from .preview import preview

        return Ask(reason, await asyncio.to_thread(preview, ctx, call))

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
        """Show how freely this session may act, or choose: /mode ask|auto|plan."""
        session_id = ctx.session.id or ctx.turn.inbound.session_id or ""
        now = await self._now(ctx, session_id)
        wanted = next((one for one in FREEDOM if one == args.casefold()), None)
        if not args:
            others = "\n".join(f"/mode {one}: {MEANING[one]}" for one in CHOSEN if one != now)
            return f"Mode {now}: {MEANING[now]}.\n\n{others}"
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
        return f"Mode {wanted}: {MEANING[wanted]}."

    async def _now(self, ctx: Context, session_id: str) -> Mode:
        if session_id:
            return await self.get(session_id)
        chosen = await self._records.next_of(ctx.channel, ctx.session.chat_id)
        return chosen or self.config.mode

    @command("/accept", audience="session", category="Model and safety")
    async def accept(self, ctx: Context, args: str) -> str:
        """Accept the plan: leave plan mode and have the plan carried out."""
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
