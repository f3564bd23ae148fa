"""Calls that no one could be asked about: questions of kind ``proposal``.

An accepted call is made in a copy of its session, through the same hooks as any other call. There
the plugin answers in the model's place (``around_model``) with exactly the call that was kept.
"""

from __future__ import annotations

import asyncio
import copy
import hashlib
import json
from collections.abc import Sequence
from typing import Final

from hookline_hookspecs import (
    Context,
    HooklineError,
    Host,
    ModelResponse,
    Question,
    Questions,
    StoredQuestion,
    TextBlock,
    ToolCall,
)
from hookline_hookspecs.bound_files import BoundFile, changed_files

HANDLER = "provenance"
"""The name under which the plugin acts on the answers."""
KIND: Final = "proposal"
"""The kind of the question, and of the session in which an accepted call is made."""
ACCEPT, REJECT = "Accept", "Reject"
CHOICES = {"accept": ACCEPT, "reject": REJECT}
"""The choices by the words of the commands."""
MODEL = "accepted/proposal"
"""The model of that session. It is never asked, so none has to be configured."""
DAY_SECONDS = 86_400.0
BEGUN_PREFIX = "begun:"
"""Key prefix, before the id of a proposal whose call has begun."""


class NoProposal(HooklineError):
    """There is no such open proposal."""


class Proposals:
    """Posts the questions, and makes the calls that are accepted."""

    name = HANDLER

    def __init__(self, host: Host, days: float) -> None:
        self._host = host
        self._days = days
        self._making: dict[str, StoredQuestion] = {}

    async def keep(
        self,
        ctx: Context,
        call: ToolCall,
        text: str,
        preview: str,
        files: tuple[BoundFile, ...] = (),
    ) -> StoredQuestion:
        """Store a call as a question; the same call of the same session is kept once.

        ``files`` are those of the call; it is not made once one of them has changed.
        """
        session = ctx.session.parent_id or ctx.session.id
        arguments = copy.deepcopy(call.arguments)
        content = json.dumps([session, call.name, arguments], sort_keys=True)
        return await self._host.services[Questions].post(
            Question(text, (ACCEPT, REJECT), preview, KIND, call, files=files),
            HANDLER,
            hashlib.sha256(content.encode()).hexdigest(),
            expires=self._host.now() + self._days * DAY_SECONDS,
            session=ctx.session,
            data={"arguments": arguments, "session": session},
        )

    async def open(self) -> Sequence[StoredQuestion]:
        """Every proposal that can be accepted, oldest first."""
        # The first use of the storage moves the proposals of earlier versions to the questions.
        await self._host.storage.fetch("trusted")
        found = await self._host.services[Questions].open()
        return [question for question in found if question.handler == HANDLER]

    async def answer(self, id_: str, choice: str, by: tuple[str, str]) -> StoredQuestion:
        """Accept or reject a proposal, as the person ``by`` (channel and user id).

        Raises ``NoProposal``, and other ``HooklineError`` if the call failed; it then stays open.
        """
        questions = self._host.services[Questions]
        found = await questions.get(id_)
        if found is None or found.handler != HANDLER or found.state != "open":
            raise NoProposal(f"there is no open proposal {id_!r}; `hookline proposals` lists them")
        return await questions.answer(found.id, choice, *by)

    async def answered(self, question: StoredQuestion) -> str:
        """Make an accepted call and return its result. Raises ``HooklineError`` if it failed."""
        answer = question.answer
        if answer is None or answer.choice != ACCEPT:
            return f"Rejected: {question.tool}."
        kv, key = self._host.storage.kv, BEGUN_PREFIX + question.id
        if await kv.get(key):
            return f"{question.tool} was interrupted. It may have run."
        await kv.set(key, True)
        try:
            return await self._make(question)
        except Exception:
            await kv.delete(key)  # it can be accepted again
            raise

    async def _make(self, question: StoredQuestion) -> str:
        session = question.data.get("session") or question.session
        if session in self._making:
            raise HooklineError(
                "another proposal of this conversation is being carried out; try again"
            )
        self._making[session] = question
        try:
            turn = await self._host.fork(
                session, f"Proposal {question.id} was accepted.", model=MODEL, kind=KIND
            )
        except LookupError:
            raise HooklineError(
                f"the conversation of proposal {question.id} was deleted; reject it"
            ) from None
        finally:
            del self._making[session]
        results = [result for result in turn.tool_calls if result.call.name == question.tool]
        if not results:
            raise HooklineError(f"the call was not made: {turn.reply}")
        if not results[0].ok:
            raise HooklineError(results[0].text)
        return results[0].text

    def is_making(self, ctx: Context) -> bool:
        """True in the session in which an accepted call is made."""
        return ctx.session.kind == KIND and (ctx.session.parent_id or "") in self._making

    async def changed_file(self, ctx: Context) -> str | None:
        """A file of the accepted call that has changed since it was proposed; None without one."""
        question = self._making[ctx.session.parent_id or ""]
        changes = await asyncio.to_thread(changed_files, question.files)
        return changes[0][0].path.removeprefix(f"{ctx.paths.workspace}/") if changes else None

    def response(self, ctx: Context, model: str) -> ModelResponse:
        """What the model would say: the call, and then that it is done."""
        question = self._making[ctx.session.parent_id or ""]
        if ctx.turn.tool_calls:
            return ModelResponse((TextBlock("Done."),), "end", model=model)
        arguments = copy.deepcopy(dict(question.data["arguments"]))
        return ModelResponse((ToolCall("", question.tool, arguments),), "tools", model=model)

    async def forget(self) -> None:
        """Delete the marks of calls whose questions are gone."""
        kv = self._host.storage.kv
        for key in await kv.keys(BEGUN_PREFIX):
            if await self._host.services[Questions].get(key.removeprefix(BEGUN_PREFIX)) is None:
                await kv.delete(key)
