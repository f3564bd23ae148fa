"""Asks the person at the editor: approvals with the proposed change, and choices."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from uuid import uuid4

from acp import RequestError, schema
from hookline_hookspecs import Context, Question, ToolCall
from hookline_hookspecs.questions import ALLOW_ONCE, DENY, marked_preview
from hookline_hookspecs.visible_text import code_block, on_one_line, spell_out
from hookline_textmatch import EditError, replace
from pydantic import ValidationError

from . import call_updates
from .elicitation import fill_form
from .feed import EditorFeed
from .sessions import EditorSession, OpenSessions

REFUSALS = frozenset({"deny", "decline", "cancel", "no"})
"""Choices of other questions that refuse."""
MAX_DIFF_CHARS = 400_000
"""Characters of a file's old and new text together that are sent as a diff."""


class EditorQuestions:
    """Sends questions to the editor.

    Args:
        client: the SDK's connection to the editor.
        feed: reports calls to it.
        sessions: the open sessions.
    """

    def __init__(self, client: Any, feed: EditorFeed, sessions: OpenSessions) -> None:
        self._client = client
        self._feed = feed
        self._sessions = sessions
        self.shows_forms = False
        """Learns at ``initialize`` whether the editor offers forms (``elicitation/create``)."""

    async def ask(self, ctx: Context, question: Question) -> str | None:
        """Return the person's choice; None if the question belongs to no open session.

        An approval that cannot be shown is refused.
        """
        session = self._sessions.find(ctx.session.id)
        if session is None or session.prompt is None:
            return None
        if not question.choices:
            return None
        if question.kind == "approval" and question.call is not None:
            return await self._approval(ctx, session, question, question.call)
        return await self._choice(session, question)

    async def fill(self, session_id: str, question: Question) -> str | None:
        """Show a form; None if the editor has none or the question belongs to no open session."""
        session = self._sessions.find(session_id)
        if not self.shows_forms or session is None or session.prompt is None:
            return None
        return await fill_form(self._client, session.id, question)

    async def _approval(
        self, ctx: Context, session: EditorSession, question: Question, call: ToolCall
    ) -> str:
        prompt = session.prompt
        workspace = ctx.paths.workspace
        assert prompt is not None
        call_id = self._feed.announce(session, prompt, ctx, call)
        change = await asyncio.to_thread(proposed_change, ctx, call)
        content: list[Any] = [
            call_updates.text_content(spell_out(question.reason or question.text))
        ]
        if change is not None:
            content.append(change)
        if change is None or question.marks:
            preview = marked_preview(question.preview, question.marks)
            content.append(_uncut_text(code_block(spell_out(preview))))
        asked = schema.ToolCallUpdate(
            tool_call_id=call_id,
            title=call_updates.title(call),
            kind=call_updates.TOOL_KINDS.get(call.name, "other"),
            status="pending",
            content=content,
            locations=call_updates.locations(call, workspace),
            raw_input=call_updates.raw_input(call),
        )
        options = [
            schema.PermissionOption(option_id=one, name=spell_out(one), kind=_option_kind(one))
            for one in map(str, question.choices)
        ]
        return await self._request_permission(session, asked, options) or DENY

    async def _choice(self, session: EditorSession, question: Question) -> str | None:
        """Ask a question with choices as a tool call."""
        call_id = f"question-{uuid4().hex[:12]}"
        body = spell_out("\n\n".join(filter(None, [question.text, question.preview])))
        start = schema.ToolCallStart(
            session_update="tool_call",
            tool_call_id=call_id,
            title=on_one_line(question.text.split("\n", 1)[0], call_updates.MAX_TITLE_CHARS),
            kind="other",
            status="pending",
            content=[_uncut_text(body)],
        )
        self._feed.send(session, start)
        options = [
            schema.PermissionOption(
                option_id=f"choice-{number}",
                name=spell_out(str(one)),
                kind="reject_once" if str(one).casefold() in REFUSALS else "allow_once",
            )
            for number, one in enumerate(question.choices)
        ]
        asked = schema.ToolCallUpdate(
            tool_call_id=call_id, title=start.title, kind="other", content=start.content
        )
        try:
            answer = await self._request_permission(session, asked, options)
        except asyncio.CancelledError:
            self._feed.send(session, call_updates.status_update(call_id, "failed"))
            raise
        self._feed.send(
            session, call_updates.status_update(call_id, "completed" if answer else "failed")
        )
        number = answer.removeprefix("choice-") if answer else ""
        return str(question.choices[int(number)]) if number else None

    async def _request_permission(
        self, session: EditorSession, asked: schema.ToolCallUpdate, options: list[Any]
    ) -> str | None:
        """Return the id of the chosen option; None if none was chosen."""
        try:
            response = await self._client.request_permission(
                session_id=session.id, tool_call=asked, options=options
            )
        except (RequestError, ConnectionError, ValidationError, TypeError, AttributeError):
            return None  # the editor has gone, or its answer is invalid
        chosen = getattr(response.outcome, "option_id", None)
        known = {one.option_id for one in options}
        return chosen if isinstance(chosen, str) and chosen in known else None


def _option_kind(choice: str) -> schema.PermissionOptionKind:
    """Return what kind of option the editor shows for a choice of an approval."""
    if choice == DENY:
        return "reject_once"
    return "allow_once" if choice == ALLOW_ONCE else "allow_always"


def _uncut_text(text: str) -> schema.ContentToolCallContent:
    """Return a text on which a person decides; it is never cut."""
    block = schema.TextContentBlock(type="text", text=text)
    return schema.ContentToolCallContent(type="content", content=block)


def proposed_change(ctx: Context, call: ToolCall) -> schema.FileEditToolCallContent | None:
    """Return the change that a call would make to a file; None without one, or if too large."""
    arguments = call.arguments
    path = arguments.get("path")
    after = arguments.get("content")
    if call.name not in ("write_file", "edit_file") or not isinstance(path, str):
        return None
    try:
        place = ctx.paths.resolve(path)
        before = _read_text(ctx, place)
    except (OSError, ValueError):
        return None
    if call.name == "edit_file":
        old = arguments.get("old_string")
        new = arguments.get("new_string")
        if before is None or not isinstance(old, str) or not isinstance(new, str):
            return None
        every = arguments.get("replace_all") is True
        try:
            after = replace(before, old, new, replace_all=every, name=path).text
        except EditError:
            return None
    if not isinstance(after, str) or len(before or "") + len(after) > MAX_DIFF_CHARS:
        return None
    return call_updates.diff(str(place), before, after)


def _read_text(ctx: Context, place: Path) -> str | None:
    """Return the file's text; None if it does not exist. Raises ``ValueError`` if it is binary."""
    try:
        with ctx.paths.open_read(place) as file:
            return file.read(4 * MAX_DIFF_CHARS).decode("utf-8")
    except FileNotFoundError:
        return None
