"""Calls that wait for the operator's word: kept, listed, accepted, rejected, forgotten.

An accepted call is made in a copy of its session, through the same hooks as any other call. There
the plugin answers in the model's place (``around_model``) with exactly the call that was kept.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from hookline_hookspecs import (
    Context,
    Effect,
    HooklineError,
    Host,
    ModelResponse,
    TextBlock,
    ToolCall,
)

KIND = "proposal"
"""The kind of the session in which an accepted call is made."""
MODEL = "accepted/proposal"
"""The model of that session. It is never asked, so none has to be configured."""
WRITING = ("write", "configure", "delete")
"""Effects on a file that somebody may have changed since."""
DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Proposal:
    """A call that was kept. ``kind`` is that of its gravest effect; times are Unix seconds."""

    id: str
    kind: str
    what: str
    origin: str
    session: str
    created: float
    expires: float
    call: ToolCall

    def to_dict(self) -> dict[str, Any]:
        """Return what is listed, without the call's arguments."""
        names = ("id", "kind", "what", "origin", "session", "created", "expires")
        return {name: getattr(self, name) for name in names}


class NoProposal(HooklineError):
    """There is no such open proposal."""


class Proposals:
    """The stored proposals, and the calls that are being made."""

    def __init__(self, host: Host, days: float) -> None:
        self._host = host
        self._days = days
        self._making: dict[str, Proposal] = {}

    async def keep(self, ctx: Context, call: ToolCall, kind: str, what: str, origin: str) -> str:
        """Store a call and return its id; the same call of the same session is kept once."""
        session, storage, now = (
            ctx.session.parent_id or ctx.session.id,
            self._host.storage,
            self._host.now(),
        )
        arguments = copy.deepcopy(call.arguments)
        text = json.dumps([call.name, arguments], sort_keys=True, ensure_ascii=False)
        print_ = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        same = await storage.fetch("same_proposal", session_id=session, fingerprint=print_, now=now)
        if same:
            return str(same[0]["id"])
        row = {"id": uuid4().hex[:8], "kind": kind, "what": what, "origin": origin}
        row |= {"session_id": session, "fingerprint": print_, "call": text}
        expires = now + self._days * DAY
        await storage.execute("add_proposal", **row, created=now, expires=expires)
        return row["id"]

    async def open(self) -> Sequence[Proposal]:
        """Every proposal that can be accepted, oldest first."""
        rows = await self._host.storage.fetch("open_proposals", now=self._host.now())
        return [_proposal(row) for row in rows]

    async def reject(self, id_: str) -> Proposal:
        """Drop a proposal. Raises ``NoProposal``."""
        return await self._claim(id_, "rejected")

    async def accept(self, id_: str) -> str:
        """Make the call now and return its result.

        Raises ``NoProposal``, and ``HooklineError`` if the call failed; it then stays open.
        """
        found = await self._claim(id_, "accepted")
        try:
            return await self._make(found)
        except BaseException:
            await self._set(id_, "open", "accepted")
            raise

    async def _make(self, found: Proposal) -> str:
        if found.session in self._making:
            raise HooklineError(
                "another proposal of this conversation is being carried out; try again"
            )
        self._making[found.session] = found
        try:
            turn = await self._host.fork(
                found.session, f"Proposal {found.id} was accepted.", model=MODEL, kind=KIND
            )
        except LookupError:
            raise HooklineError(
                f"the conversation of proposal {found.id} was deleted; reject it"
            ) from None
        finally:
            del self._making[found.session]
        results = [result for result in turn.tool_calls if result.call.name == found.call.name]
        if not results:
            raise HooklineError(f"the call was not made: {turn.reply}")
        if not results[0].ok:
            raise HooklineError(results[0].text)
        return results[0].text

    def is_making(self, ctx: Context) -> bool:
        """True in the session in which an accepted call is made."""
        return ctx.session.kind == KIND and (ctx.session.parent_id or "") in self._making

    def stale(self, ctx: Context, effects: Sequence[Effect]) -> str | None:
        """A file that the accepted call would write and that has changed since it was proposed."""
        proposed = self._making[ctx.session.parent_id or ""].created
        for effect in effects:
            file = ctx.paths.workspace / effect.target
            written = effect.kind in WRITING and bool(effect.target) and file.is_file()
            if written and file.stat().st_mtime > proposed:
                return effect.target
        return None

    def response(self, ctx: Context, model: str) -> ModelResponse:
        """What the model would say: the call, and then that it is done."""
        call = self._making[ctx.session.parent_id or ""].call
        if ctx.turn.tool_calls:
            return ModelResponse((TextBlock("Done."),), "end", model=model)
        arguments = copy.deepcopy(call.arguments)
        return ModelResponse((ToolCall("", call.name, arguments),), "tools", model=model)

    async def _claim(self, id_: str, state: str) -> Proposal:
        rows = await self._host.storage.fetch("proposal", id=id_)
        if not rows or not await self._set(id_, state, "open"):
            raise NoProposal(f"there is no open proposal {id_!r}; `hookline proposals` lists them")
        return _proposal(rows[0])

    async def _set(self, id_: str, state: str, before: str) -> int:
        now = self._host.now()
        return await self._host.storage.execute(
            "set_proposal", id=id_, state=state, before=before, now=now
        )

    async def forget(self) -> None:
        """Delete what has expired."""
        await self._host.storage.execute("drop_expired", now=self._host.now())


def _proposal(row: Mapping[str, Any]) -> Proposal:
    name, arguments = json.loads(row["call"])
    kept = {key: row[key] for key in ("id", "kind", "what", "origin", "created", "expires")}
    return Proposal(**kept, session=row["session_id"], call=ToolCall("", name, arguments))
