"""Questions to the person at the editor: approvals with what would change, and choices."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from uuid import uuid4

from acp import RequestError, schema
from hookline_hookspecs import Context, Question, ToolCall
from hookline_textmatch import EditError, replace
from pydantic import ValidationError

from . import calls
from .feed import Feed
from .sessions import EditorSession, Open

DENY = "Deny"
KINDS: dict[str, schema.PermissionOptionKind] = {
    "Once": "allow_once",
    "This session": "allow_always",
    "Always": "allow_always",
    DENY: "reject_once",
}
"""The choices of an approval (INTEROP, ACP)."""
NAMES = {
    "Once": "Allow once",
    "This session": "Allow for this session",
    "Always": "Always allow",
    DENY: "Deny",
}
NOS = frozenset({"deny", "decline", "cancel", "no"})
"""Choices that refuse, of a question that is no approval."""
MOST_CHARS = 400_000
"""Characters of a file, old and new together, that are sent as a diff."""


class Desk:
    """Puts questions to the editor.

    Args:
        client: the editor, as the SDK's connection shows it.
        feed: tells it of calls.
        opened: the sessions that it has open.
    """

    def __init__(self, client: Any, feed: Feed, opened: Open) -> None:
        self._client, self._feed, self._open = client, feed, opened

    async def ask(self, ctx: Context, question: Question) -> str | None:
        """Return the person's choice; None if the question is about none of the editor's
        sessions. What cannot be asked is refused."""
        session = self._open.shown_in(ctx.session.id)
        if session is None or session.prompt is None or not question.choices:
            return None
        if question.kind == "approval" and question.call is not None:
            return await self._approval(ctx, session, question, question.call)
        return await self._choice(session, question)

    async def _approval(
        self, ctx: Context, session: EditorSession, question: Question, call: ToolCall
    ) -> str:
        prompt, workspace = session.prompt, ctx.paths.workspace
        assert prompt is not None
        call_id = self._feed.announce(session, prompt, ctx, call)
        change = await asyncio.to_thread(proposed, ctx, call)
        content: list[Any] = [calls.text_content(calls.spelt(question.reason or question.text))]
        if change is not None:
            content.append(change)
        if change is None or "⟦" in question.preview:
            content.append(_whole(calls.fenced(calls.spelt(question.preview))))
        asked = schema.ToolCallUpdate(
            tool_call_id=call_id,
            title=calls.title(call),
            kind=calls.KINDS.get(call.name, "other"),
            status="pending",
            content=content,
            locations=calls.places(call, workspace),
            raw_input=calls.raw_input(call),
        )
        options = [
            schema.PermissionOption(option_id=one, name=NAMES[one], kind=KINDS[one])
            for one in map(str, question.choices)
            if one in KINDS
        ]
        return await self._asked(session, asked, options) or DENY

    async def _choice(self, session: EditorSession, question: Question) -> str | None:
        """A question with choices, as a call of its own: the protocol has no other way."""
        call_id = f"question-{uuid4().hex[:12]}"
        body = calls.spelt("\n\n".join(filter(None, [question.text, question.preview])))
        start = schema.ToolCallStart(
            session_update="tool_call",
            tool_call_id=call_id,
            title=body.split("\n", 1)[0][: calls.LONGEST_TITLE],
            kind="other",
            status="pending",
            content=[_whole(body)],
        )
        self._feed.send(session, start)
        options = [
            schema.PermissionOption(
                option_id=f"choice-{number}",
                name=str(one),
                kind="reject_once" if str(one).casefold() in NOS else "allow_once",
            )
            for number, one in enumerate(question.choices)
        ]
        asked = schema.ToolCallUpdate(
            tool_call_id=call_id, title=start.title, kind="other", content=start.content
        )
        try:
            answer = await self._asked(session, asked, options)
        except asyncio.CancelledError:
            self._feed.send(session, calls.progress(call_id, "failed"))
            raise
        self._feed.send(session, calls.progress(call_id, "completed" if answer else "failed"))
        number = answer.removeprefix("choice-") if answer else ""
        return str(question.choices[int(number)]) if number else None

    async def _asked(
        self, session: EditorSession, asked: schema.ToolCallUpdate, options: list[Any]
    ) -> str | None:
        """The id of the option that was chosen; None for none of them."""
        try:
            response = await self._client.request_permission(
                session_id=session.id, tool_call=asked, options=options
            )
        except (RequestError, ConnectionError, ValidationError, TypeError, AttributeError):
            return None  # the editor is gone, or answers nonsense
        chosen = getattr(response.outcome, "option_id", None)
        known = {one.option_id for one in options}
        return chosen if isinstance(chosen, str) and chosen in known else None


def _whole(text: str) -> schema.ContentToolCallContent:
    """A text that a person decides by, which is never cut (hookspecs, ``Ask``)."""
    block = schema.TextContentBlock(type="text", text=text)
    return schema.ContentToolCallContent(type="content", content=block)


def proposed(ctx: Context, call: ToolCall) -> schema.FileEditToolCallContent | None:
    """The change that a call would make to a file; None if it makes none, or is too large."""
    arguments = call.arguments
    path, after = arguments.get("path"), arguments.get("content")
    if call.name not in ("write_file", "edit_file") or not isinstance(path, str):
        return None
    try:
        place = ctx.paths.resolve(path)
        before = _content(ctx, place)
    except (OSError, ValueError):
        return None
    if call.name == "edit_file":
        old, new = arguments.get("old_string"), arguments.get("new_string")
        if before is None or not isinstance(old, str) or not isinstance(new, str):
            return None
        every = arguments.get("replace_all") is True
        try:
            after = replace(before, old, new, replace_all=every, name=path).text
        except EditError:
            return None
    if not isinstance(after, str) or len(before or "") + len(after) > MOST_CHARS:
        return None
    return calls.diff(str(place), before, after)


def _content(ctx: Context, place: Path) -> str | None:
    """The file's text, None where there is none. Raises ``ValueError`` if it is no text."""
    try:
        with ctx.paths.open_read(place) as file:
            return file.read(4 * MOST_CHARS).decode("utf-8")
    except FileNotFoundError:
        return None
