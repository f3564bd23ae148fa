"""Remembers what people approved, and answers approvals typed as commands."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated

from hookline_hookspecs import (
    Context,
    HooklineError,
    Host,
    Inbound,
    Plugin,
    Question,
    QuestionAnswer,
    Questions,
    Session,
    ToolCall,
    Turn,
    command,
    hookimpl,
)
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.conversations import SessionCopyListener
from hookline_hookspecs.optional_services import ApprovalPolicy
from hookline_hookspecs.questions import (
    ALLOW_ALWAYS,
    ALLOW_ONCE,
    ALLOW_SESSION,
    DENY,
    QuestionError,
)
from hookline_hookspecs.sentences import N_
from pydantic import BaseModel, BeforeValidator, Field

from .grant_list import grant_list, parse_revoke
from .grants import Grant, Grants, GrantScope, fingerprint
from .question_list import parse_answer, question_list, several_text

MAX_REMEMBERED_SESSIONS = 1024
"""Sessions whose person is remembered, for their sub-agents."""
DURATION = re.compile(r"(\d{1,9})\s*([smhd])")
SECONDS_PER_UNIT = {"s": 1, "m": 60, "h": 3600, "d": 86400}
NONE_OPEN = N_("No approval is waiting in this chat.")
NOT_OWN_WORDS = N_("Only a message that you write yourself is an answer. Nothing was changed.")


def read_duration(value: object) -> object:
    """Return a duration such as ``90s``, ``30m``, ``24h`` or ``7d`` in seconds; other values as
    they are."""
    found = DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    return int(found[1]) * SECONDS_PER_UNIT[found[2]] if found is not None else value


class ApprovalsConfig(BaseModel):
    """How long an approval stays open."""

    expires: Annotated[timedelta, BeforeValidator(read_duration)] = Field(
        default=timedelta(hours=24),
        gt=timedelta(0),
        title="Time to answer",
        description="How long a question on a channel or the page can be answered, such as 24h.",
    )


class Approvals(Plugin[ApprovalsConfig]):
    """Remembers for each person which calls they have approved."""

    def __init__(self, config: ApprovalsConfig, host: Host) -> None:
        super().__init__(config, host)
        self.expires = config.expires.total_seconds()
        self._grants = Grants(host)
        self._scopes: OrderedDict[str, GrantScope] = OrderedDict()

    @hookimpl
    def setup(self, host: Host) -> None:
        """Provide the service ``ApprovalPolicy``."""
        host.services.provide(ApprovalPolicy, self)
        host.services.add(SessionCopyListener, self)

    # The service

    async def granted(self, ctx: Context, question: Question) -> str | None:
        """Return the choice by which the person has allowed exactly this call before, or None."""
        scope, call = self._scope(ctx), question.call
        if call is None or not scope.person:
            return None
        digest = fingerprint(call, str(ctx.paths.workspace), question.files)
        if digest is None:
            return None
        try:
            return await self._grants.find(scope, digest)
        except HooklineError as error:
            self.log.warning("cannot read the grants, so a person is asked: %s", error)
            return None

    async def scopes(self, ctx: Context, call: ToolCall) -> Sequence[str]:
        """Return the choices that are remembered; none for a call that cannot be recognized."""
        known = self._scope(ctx).person and fingerprint(call, str(ctx.paths.workspace))
        return (ALLOW_SESSION, ALLOW_ALWAYS) if known else ()

    async def remember(self, ctx: Context, question: Question, answer: QuestionAnswer) -> None:
        """Store that the person allowed the call for the session or from now on."""
        if question.call is None:
            return
        digest = fingerprint(question.call, str(ctx.paths.workspace), question.files)
        if digest is None:
            return
        try:
            await self._grants.add(self._scope(ctx), digest, question, answer.choice)
        except HooklineError as error:
            ctx.notify(f"The call is allowed once; {answer.choice!r} could not be stored: {error}")

    def _scope(self, ctx: Context) -> GrantScope:
        return self._scopes.get(ctx.session.id) or GrantScope.of(ctx.turn)

    @hookimpl
    def start_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Note for whom the session works; a sub-agent works for whom its parent works."""
        session = turn.session
        parent = self._scopes.get(session.parent_id) if session.parent_id else None
        self._scopes[session.id] = parent or GrantScope.of(turn)
        self._scopes.move_to_end(session.id)
        while len(self._scopes) > MAX_REMEMBERED_SESSIONS:
            self._scopes.popitem(last=False)

    async def session_copied(self, session: Session, copy: Session) -> None:
        """Let what was granted for a session of a chat count in its copy (SessionCopyListener)."""
        await self._grants.copy_session(session, copy)

    @hookimpl
    async def end_of_session(self, ctx: Context, session: Session) -> None:
        """Forget what was granted for the session."""
        await self._grants.end_session(session.id)

    # Commands

    @command("/approve", audience="everyone", immediate=True, category="Model and safety")
    async def approve(self, ctx: Context, args: str) -> str:
        """Approve the open request: /approve [once|session|always], or the choice's number."""
        return await self._answer(ctx, args or ALLOW_ONCE)

    @command("/deny", audience="everyone", immediate=True, category="Model and safety")
    async def deny(self, ctx: Context, args: str) -> str:
        """Deny the open request: /deny, or /deny WHY to tell the model."""
        return await self._answer(ctx, f"{DENY} {args}".strip())

    async def _answer(self, ctx: Context, typed: str) -> str:
        """Answer the only open approval of the chat."""
        inbound = ctx.turn.inbound
        if not _is_own_words(inbound):
            return NOT_OWN_WORDS
        questions = self.host.services[Questions]
        chat = (inbound.channel, inbound.chat_id)
        of_chat = [one for one in await questions.open(chat=chat) if one.kind == "approval"]
        of_session = [
            one for one in await questions.open(session=ctx.session.id) if one.kind == "approval"
        ]
        # A message to one of several conversations of a chat answers that one's question.
        first, second = (of_session, of_chat) if inbound.session_id else (of_chat, of_session)
        found = first or second
        if not found:
            return NONE_OPEN
        if len(found) > 1:
            return several_text(found)
        return await self._answer_one(inbound, found[0].id, typed)

    async def _answer_one(self, inbound: Inbound, question_id: str, typed: str) -> str:
        questions = self.host.services[Questions]
        try:
            answered = await questions.answer(question_id, typed, inbound.channel, inbound.user_id)
        except QuestionError as error:
            return str(error)
        if answered.outcome:
            return answered.outcome
        choice = answered.answer.choice if answered.answer is not None else DENY
        return N_(f"Answered: {choice}.")

    @command("/questions", audience="everyone", immediate=True, category="Model and safety")
    async def questions(self, ctx: Context, args: str) -> str:
        """Show the open questions, or answer one: /questions answer ID CHOICE."""
        inbound = ctx.turn.inbound
        answer = parse_answer(args)
        if args and answer is None:
            return "Write /questions to see them, or /questions answer ID CHOICE."
        if answer is not None:
            return (
                await self._answer_one(inbound, *answer)
                if _is_own_words(inbound)
                else (NOT_OWN_WORDS)
            )
        sees_all = ctx.operator or inbound.channel == TERMINAL
        chat = None if sees_all else (inbound.channel, inbound.chat_id)
        found = await self.host.services[Questions].open(chat=chat)
        return question_list(found, self.host.now())

    @command("/grants", audience="everyone", category="Model and safety")
    async def grants(self, ctx: Context, args: str) -> str:
        """Show what may run without asking, or revoke it: /grants revoke N."""
        number = parse_revoke(args)
        if number is None and args:
            return "Write /grants to see them, or /grants revoke and a number from that list."
        mine = [grant for grant in await self._grants.all() if _belongs(grant, ctx)]
        if number is None:
            return grant_list(mine)
        if number not in [grant.number for grant in mine]:
            return f"Grant {number} not found. /grants lists the grants."
        await self._grants.revoke(number)
        return f"Grant {number} is revoked. The next such call asks again."


def _is_own_words(inbound: Inbound) -> bool:
    """Whether the person wrote the command now and themselves."""
    return not inbound.forwarded and inbound.kind in ("message", "command")


def _belongs(grant: Grant, ctx: Context) -> bool:
    """Whether the writer may see and revoke it: their own in this chat, the operator all."""
    here = ctx.turn.inbound
    owner = (grant.channel, grant.chat_id, grant.person)
    return here.channel == TERMINAL or owner == (here.channel, here.chat_id, here.user_id)
