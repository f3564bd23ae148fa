"""Questions about hosts that a server's program reaches for while none of its calls runs.

Nobody can be asked at once then, so the connection is refused, and the operator finds a question.
What is allowed lastingly is a permission rule of the chat that used the server last.
"""

from __future__ import annotations

import asyncio
import hashlib

from hookline_hookspecs import (
    Context,
    Conversations,
    HooklineError,
    Host,
    OfferedScope,
    PermissionRules,
    Question,
    Questions,
    StoredQuestion,
    ToolCall,
)
from hookline_hookspecs.permissions import NETWORK
from hookline_hookspecs.questions import ALLOW_ONCE, DENY

HANDLER = "mcp"
"""The name under which the plugin acts on the answers."""
QUESTION_SECONDS = 86_400.0
"""For how long a question can be answered, and ``Allow once`` waits for a connection."""
HANDLING_SECONDS = 10.0
"""For how long another process may be storing what an answer allows."""
MAX_QUESTIONS = 5
"""Hosts that one run of a server has the operator asked about."""
UNTIL_IT_ENDS = "this server, from its next attempt until it is restarted"
ONCE_PREFIX = "host-once:"
"""Begins the keys of what is allowed once, in the plugin's storage."""


class HostQuestions:
    """Acts on the answers (``QuestionHandler``); in whichever process takes them."""

    name = HANDLER

    def __init__(self, host: Host) -> None:
        self._host = host

    async def answered(self, question: StoredQuestion) -> str:
        """Store what was allowed. Raises ``StoreError``."""
        answer, data = question.answer, question.data
        server, address = data["server"], data["address"]
        if answer is None or answer.choice == DENY:
            return f"MCP server {server} may not reach {address}."
        if answer.choice == ALLOW_ONCE:
            until = self._host.now() + QUESTION_SECONDS
            await self._host.storage.kv.set(ONCE_PREFIX + question.subject, until)
        elif rules := data["rules"].get(answer.choice):
            ctx = self._host.services[Conversations].detached(question.channel, question.chat_id)
            scope = OfferedScope(answer.choice, tuple(rules), "", "chat")
            await self._host.services[PermissionRules].add_scope(ctx, scope, answer.by)
        return f"MCP server {server} may reach {address} when it tries again."


class UnattendedHosts:
    """The hosts that one run of a server's program reaches for while none of its calls runs."""

    def __init__(self, host: Host, server: str) -> None:
        self._host = host
        self._server = server
        self._allowed: set[str] = set()
        self._asked: dict[str, str] = {}
        """The ids of the questions, by what they are about."""
        self._seen_answered: dict[str, float] = {}
        """When an answer was seen first, by question id."""
        self._one_by_one = asyncio.Lock()

    async def refusal(self, ctx: Context, host: str, port: int) -> str | None:
        """Return why ``host`` may not be reached now, with the question that is open."""
        address = host if port in (80, 443) else f"{host}:{port}"
        subject = self._subject(ctx, address)
        try:
            async with self._one_by_one:
                if subject in self._allowed or await self._is_allowed_once(subject):
                    self._allowed.add(subject)
                    return None
                question = await self._question(ctx, subject, address, (host, port))
        except HooklineError as error:
            return f"{address} was not reached: the question about it failed: {error}"
        if question is None:
            return (
                f"{address} was not reached: {MAX_QUESTIONS} hosts have been asked about already."
            )
        if _is_denied(question):
            return f"The person did not allow {address}."
        if question.state == "answered":
            return f"{address} was not reached: it was allowed a moment ago; try again."
        return (
            f"{address} was not reached: question {question.id} about it is open. A person answers "
            "it with `hookline questions`, /questions or in the Inbox; then try again."
        )

    def _subject(self, ctx: Context, address: str) -> str:
        place = f"{self._server} {ctx.session.channel}:{ctx.session.chat_id} {address}"
        return hashlib.sha256(place.encode()).hexdigest()

    async def _is_allowed_once(self, subject: str) -> bool:
        kv, key = self._host.storage.kv, ONCE_PREFIX + subject
        until = await kv.get(key)
        if until is None:
            return False
        await kv.delete(key)
        return bool(until > self._host.now())

    async def _question(
        self, ctx: Context, subject: str, address: str, asked: tuple[str, int]
    ) -> StoredQuestion | None:
        """The question about a host: one that stands or was denied in this run, else a new one."""
        questions = self._host.services[Questions]
        known = self._asked.get(subject)
        found = await questions.get(known) if known is not None else None
        if found is not None and (found.state == "open" or _is_denied(found)):
            return found
        if found is not None and found.state == "answered" and self._is_recent(found):
            return found
        if known is None and len(self._asked) >= MAX_QUESTIONS:
            return None
        posted = await self._post(ctx, subject, address, asked)
        self._asked[subject] = posted.id
        return posted

    def _is_recent(self, question: StoredQuestion) -> bool:
        """True for as long as what was allowed may not be stored yet."""
        now = self._host.now()
        return now < self._seen_answered.setdefault(question.id, now) + HANDLING_SECONDS

    async def _post(
        self, ctx: Context, subject: str, address: str, asked: tuple[str, int]
    ) -> StoredQuestion:
        """Store a question, or find the one that another process has open."""
        rules = self._host.services.get(PermissionRules)
        call = ToolCall("", NETWORK, {"host": asked[0], "port": asked[1]})
        offered = await rules.offered_scopes(ctx, call) if rules is not None else ()
        scopes = [scope for scope in offered if scope.lasts == "chat"]
        reason = f"MCP server {self._server} reaches for it while no call of it runs."
        question = Question(
            text=f"Allow access to {address}? {reason}",
            choices=(ALLOW_ONCE, *(scope.label for scope in scopes), DENY),
            preview=address,
            kind="approval",
            reason=reason,
            covers=(UNTIL_IT_ENDS, *(scope.covers for scope in scopes), ""),
        )
        labels = {scope.label: list(scope.rules) for scope in scopes}
        return await self._host.services[Questions].post(
            question,
            HANDLER,
            subject,
            expires=self._host.now() + QUESTION_SECONDS,
            session=ctx.session,
            data={"server": self._server, "address": address, "rules": labels},
        )


def _is_denied(question: StoredQuestion) -> bool:
    answer = question.answer
    return question.state == "answered" and answer is not None and answer.choice == DENY
