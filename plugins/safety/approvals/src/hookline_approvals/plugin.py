"""Answers the verdict Ask: from a grant, or by asking a person."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from hookline_hookspecs import (
    Access,
    Context,
    Deny,
    HooklineError,
    Host,
    Inbound,
    Plugin,
    Question,
    Refusal,
    Reply,
    Session,
    Turn,
    command,
    hookimpl,
)
from hookline_hookspecs.channels import TERMINAL
from pydantic import BaseModel, Field

from .grants import Grants, Scope, fingerprint
from .waiting import Desk, Waiting, place
from .wording import ALWAYS, DENY, HOW, ONCE, SESSION, as_text, choice_of, marked

if TYPE_CHECKING:
    from .grants import Grant

LONGEST = 295.0
"""Seconds; core ends the hook after 300, so the plugin itself has to be a little earlier."""
KNOWN = 1024
"""Sessions whose person is remembered, for their sub-agents, and questions that were shown."""
NOT_YOURS = "Only the person whose request this is may answer."
NO_MORE = "Denied, because you may not approve this any more."
UNREAD = "That came before the question could be read. Nothing was allowed; answer it now."
SAID = frozenset({"message", "press", "command"})
"""What answers a question; a reaction, or an edit of what was said before, does not."""
SHOW = "?"
"""``/approve ?`` writes the open question into the chat."""


class ApprovalsConfig(BaseModel):
    """How long a person has."""

    timeout: float = Field(
        default=LONGEST, gt=0, le=LONGEST, description="Seconds until silence means no."
    )


class Approvals(Plugin[ApprovalsConfig]):
    """Asks a person before a risky call, and remembers what they granted."""

    def __init__(self, config: ApprovalsConfig, host: Host) -> None:
        super().__init__(config, host)
        self._grants = Grants(host)
        self._desk = Desk()
        self._scopes: OrderedDict[str, Scope] = OrderedDict()
        self._passed_on: list[Question] = []
        self._answering: OrderedDict[str, Waiting] = OrderedDict()
        """Questions on their way to a chat, by the message that they answer."""
        self._shown: OrderedDict[tuple[str, str, str], Waiting] = OrderedDict()
        """Questions that were shown, by channel, chat and the platform's id."""

    @hookimpl
    def setup(self, host: Host) -> None:
        """Hear what is shown."""
        host.signals.connect("reply_sent", self._reply_sent)

    # The question

    @hookimpl(tryfirst=True)
    async def on_question(self, ctx: Context, question: Question) -> str | None:
        """The choice: of a grant, else of a person. None if nobody can be asked."""
        if question.kind != "approval" or question.call is None:
            return None
        if any(question is passed_on for passed_on in self._passed_on):
            return None  # it is our own, on its way to those who stand further inside
        scope = self._scopes.get(ctx.session.id) or Scope.of(ctx.turn)
        print_ = None  # no grant covers it and none is made, so for each call a person is asked
        if scope.person and ALWAYS in question.choices:
            print_ = fingerprint(question.call, str(ctx.paths.workspace))
        granted = await self._granted(scope, print_)
        if granted is not None or not ctx.interactive:
            return granted
        try:
            async with asyncio.timeout(self.config.timeout) as clock:
                return await self._decided(ctx, question, scope, print_)
        except TimeoutError:
            if not clock.expired():
                raise
            ctx.notify(f"Nobody approved {question.call.name} in time, so it was refused.")
            return DENY

    async def _decided(
        self, ctx: Context, question: Question, scope: Scope, print_: str | None
    ) -> str:
        """Ask when it is this question's turn, unless what was asked before has answered it."""
        async with self._desk.turn_of(place(scope.chat, scope.named)):
            granted = await self._granted(scope, print_)
            if granted is not None:
                return granted
            choice = await self._ask(ctx, question, scope)
            if choice in (SESSION, ALWAYS) and print_ is not None:
                await self._remember(ctx, scope, print_, question, choice)
            return choice

    async def _ask(self, ctx: Context, question: Question, scope: Scope) -> str:
        shown = replace(question, preview=marked(question.preview, question.reason))
        waiting = Waiting(scope, shown)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._desk.opened(waiting))
            inner = asyncio.create_task(self._ask_inner(ctx, shown))
            stack.push_async_callback(_end, inner)
            futures: set[asyncio.Future[Any]] = {inner, waiting.answer}
            await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)
            if not waiting.answer.done():
                choice = inner.result()
                if choice is not None:
                    return choice if choice in question.choices else DENY
                if scope.channel == TERMINAL or not scope.person:
                    return DENY  # None would have core ask the same plugins once more
                waiting.written = True
                await self._write(scope)
            return await waiting.answer

    async def _ask_inner(self, ctx: Context, question: Question) -> str | None:
        """What the plugins further inside say."""
        self._passed_on.append(question)
        try:
            return await ctx.ask(question)
        finally:
            self._passed_on = [one for one in self._passed_on if one is not question]

    async def _write(self, scope: Scope) -> None:
        """Have the question written into the chat, in the order of its replies: as the answer to a
        command that seems to come from the person."""
        await self.host.receive(
            Inbound(
                scope.channel,
                scope.chat_id,
                scope.person,
                f"approval-{uuid4().hex}",
                f"/approve {SHOW}",
                received=self.host.now(),
                session_id=scope.named,
            )
        )

    # Grants

    async def _granted(self, scope: Scope, print_: str | None) -> str | None:
        if print_ is None:
            return None
        try:
            return await self._grants.find(scope, print_)
        except HooklineError as error:
            self.log.warning("the grants cannot be read, so a person is asked: %s", error)
            return None

    async def _remember(
        self, ctx: Context, scope: Scope, print_: str, question: Question, choice: str
    ) -> None:
        try:
            await self._grants.add(scope, print_, question, choice)
        except HooklineError as error:
            ctx.notify(f"The call is allowed once; {choice!r} could not be stored: {error}")

    @hookimpl
    def start_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Note for whom the session works; a sub-agent works for whom its parent works."""
        session = turn.session
        parent = self._scopes.get(session.parent_id) if session.parent_id else None
        self._scopes[session.id] = parent or Scope.of(turn)
        self._scopes.move_to_end(session.id)
        _bound(self._scopes)

    @hookimpl
    async def end_of_session(self, ctx: Context, session: Session) -> None:
        """What was granted for the session ends with it."""
        await self._grants.end_session(session.id)

    # What a person writes

    @hookimpl
    def on_message(self, ctx: Context, inbound: Inbound) -> Inbound | Deny | None:
        """While a question stands in the conversation, the person's next message is its answer.

        A press of a button, or a choice as the reply to a question, answers that question alone,
        whoever it comes from. What somebody else wrote, and was forwarded, answers nothing.
        """
        if inbound.forwarded or inbound.kind not in SAID:
            return None
        chat = (inbound.channel, inbound.chat_id)
        waiting = self._desk.open_in(place(chat, inbound.session_id))
        shown = self._shown.get((*chat, inbound.reply_to or ""))
        pressed = False
        if shown is not None and inbound.text in shown.question.choices:
            pressed = shown is waiting and not shown.answer.done()
            if not pressed:
                return Deny("That question is answered, or its time is over. Nothing was changed.")
            if inbound.user_id != shown.scope.person:
                return Deny(NOT_YOURS)
        if waiting is None:
            return None
        if _presses_another(inbound, waiting):
            return None
        mine = waiting.written and inbound.user_id == waiting.scope.person
        if mine and not waiting.is_read_by(inbound):
            is_choice = choice_of(inbound.text.strip(), waiting.question.choices) is not None
            return Deny(UNREAD) if is_choice else None
        if not (mine or pressed) or inbound.attachments or inbound.text.lstrip().startswith("/"):
            return None
        return replace(inbound, text=f"/approve {inbound.text.strip() or '…'}")

    @command("/approve", audience="everyone", immediate=True, category="Model and safety")
    async def approve(self, ctx: Context, args: str) -> str | Question:
        """Allow what waits: /approve [once|session|always]; /approve ? shows it."""
        typed = args.casefold() or ONCE
        return await self._answered(ctx, SESSION if typed == "session" else typed, args)

    @command("/deny", audience="everyone", immediate=True, category="Model and safety")
    async def deny(self, ctx: Context, args: str) -> str | Question:
        """Refuse what waits for approval: /deny, or /deny WHY, which the model reads."""
        return await self._answered(ctx, DENY, "", args.strip())

    async def _answered(
        self, ctx: Context, meant: str, typed: str, why: str = ""
    ) -> str | Question:
        inbound = ctx.turn.inbound
        chat, named = (inbound.channel, inbound.chat_id), inbound.session_id
        waiting = self._desk.open_in(place(chat, named)) or self._desk.open_of(ctx.session.id)
        if waiting is None or waiting.answer.done():
            return "Nothing waits for approval in this chat."
        speaker = ctx.turn.inbound.user_id
        if ctx.channel != TERMINAL and speaker != waiting.scope.person:
            return NOT_YOURS
        if typed == SHOW:
            return self._shown_as(ctx, waiting, as_text(waiting.question))
        choice = choice_of(meant, waiting.question.choices)
        if choice is None:
            return self._unclear(ctx, waiting)
        if choice != DENY and not waiting.written:
            return "This question is asked elsewhere; it is approved where it is shown."
        if choice != DENY and not waiting.is_read_by(ctx.turn.inbound):
            return UNREAD
        if choice != DENY and not await self._may_approve(ctx, speaker):
            waiting.settle(DENY)
            return NO_MORE
        waiting.settle(Refusal(why) if choice == DENY and why else choice)
        return "Denied." if choice == DENY else f"Allowed: {choice.lower()}."

    async def _may_approve(self, ctx: Context, speaker: str) -> bool:
        """False for somebody who was admin when the question was asked, and is not now."""
        access = self.host.services.get(Access)
        return access is None or await access.may_approve(ctx.channel, speaker)

    def _shown_as(self, ctx: Context, waiting: Waiting, text: str) -> Question:
        """The question with its choices, remembered so that a press of a button is known."""
        self._answering[ctx.turn.inbound.message_id] = waiting
        _bound(self._answering)
        return replace(waiting.question, text=text)

    def _reply_sent(self, reply: Reply, ctx: Context | None = None) -> None:
        """The platform's ids of a question that was shown."""
        waiting = self._answering.pop(reply.in_reply_to or "", None)
        if waiting is not None:
            waiting.delivered = waiting.delivered or self.host.now()
            waiting.messages.update(reply.delivered)
            for id_ in reply.delivered:
                self._shown[reply.session.channel, reply.session.chat_id, id_] = waiting
            _bound(self._shown)

    def _unclear(self, ctx: Context, waiting: Waiting) -> str | Question:
        """Ask again once; the second answer that is none is a refusal."""
        if waiting.asked_again:
            waiting.settle(DENY)
            return (
                "Denied, because neither answer was one of the choices. If it was meant as a "
                "message, please send it again."
            )
        waiting.asked_again = True
        numbered = [f"{n}. {choice}" for n, choice in enumerate(waiting.question.choices, 1)]
        text = "\n".join(["That is none of the choices, so nothing was allowed.", *numbered, HOW])
        return self._shown_as(ctx, waiting, text)

    @command("/grants", audience="everyone", category="Model and safety")
    async def grants(self, ctx: Context, args: str) -> str:
        """Show what may be done without asking, or take it back: /grants revoke N."""
        from .listing import listed, wanted

        number = wanted(args)
        if number is None and args:
            return "Write /grants to see them, or /grants revoke and a number from that list."
        mine = [grant for grant in await self._grants.all() if _belongs(grant, ctx)]
        if number is None:
            return listed(mine)
        if number not in [grant.number for grant in mine]:
            return f"There is no grant {number} here; /grants shows those there are."
        await self._grants.revoke(number)
        return f"Grant {number} is revoked; the next such call is asked for again."


def _presses_another(inbound: Inbound, waiting: Waiting) -> bool:
    """Whether this is a button of another message than those that show the question: an older
    one, say, whose "Once" was about something else."""
    target = inbound.target or inbound.reply_to
    return inbound.kind == "press" and bool(target) and target not in waiting.messages


def _belongs(grant: Grant, ctx: Context) -> bool:
    """Whether who writes may see and revoke it: the person's own in this chat; the operator all."""
    here = ctx.turn.inbound
    owner = (grant.channel, grant.chat_id, grant.person)
    return here.channel == TERMINAL or owner == (here.channel, here.chat_id, here.user_id)


def _bound(kept: OrderedDict[Any, Any]) -> None:
    while len(kept) > KNOWN:
        kept.popitem(last=False)


async def _end(task: asyncio.Task[str | None]) -> None:
    """Stop asking, if somebody still is, and wait until it has stopped."""
    if not task.done():
        task.cancel()
        await asyncio.wait({task})
