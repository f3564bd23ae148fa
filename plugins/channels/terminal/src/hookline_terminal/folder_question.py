"""Asks, before the first chat in a folder, whether what it holds may be used."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace

from hookline_hookspecs import Host, Question, QuestionAnswer, Questions, Session
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.folder_trust import NOT_NOW, TRUST, FolderQuestions
from hookline_hookspecs.questions import QuestionError, StoredQuestion
from hookline_markdown import fitted, literal, window_width

from .past_sessions import CHAT_ID

MAX_FIRST_LINES = 20
"""Lines shown at first. With more, the folder can be trusted after all of them were shown."""
Ask = Callable[[Question], Awaitable[str | QuestionAnswer | None]]


async def ask_about_folder(host: Host, ask: Ask, user_id: str) -> bool | None:
    """Ask about the workspace, once for what it holds; True if it is trusted from now on.

    None if there was nothing to ask.
    """
    session = Session("", TERMINAL, CHAT_ID, None, host.now(), kind="none")
    folder = host.paths.workspace
    stored = await host.services[FolderQuestions].post(folder, session, asker=user_id)
    if stored is None:
        return None
    closed = await _answer(host.services[Questions], stored, ask, user_id)
    if closed.outcome and _choice(closed) != TRUST:
        sys.stderr.write(fitted(literal(closed.outcome), window_width()))
    return _choice(closed) == TRUST


def _choice(question: StoredQuestion) -> str:
    return question.answer.choice if question.answer is not None else ""


async def _answer(
    questions: Questions, stored: StoredQuestion, ask: Ask, user_id: str
) -> StoredQuestion:
    """The question as it is when it was answered, here or elsewhere, or was left open."""
    prompt = asyncio.ensure_future(_ask_here(stored, ask))
    closing = asyncio.ensure_future(questions.wait_until_closed(stored))
    try:
        await asyncio.wait({prompt, closing}, return_when=asyncio.FIRST_COMPLETED)
        if closing.done():
            return closing.result()
        choice = prompt.result()
        if not choice:
            return stored
        return await questions.answer(stored.id, choice, TERMINAL, user_id, shown=stored.digest)
    except QuestionError as error:
        sys.stderr.write(fitted(literal(str(error)), window_width()))
        return await questions.get(stored.id) or stored
    finally:
        for task in (prompt, closing):
            task.cancel()
        await asyncio.gather(prompt, closing, return_exceptions=True)


async def _ask_here(stored: StoredQuestion, ask: Ask) -> str:
    """The choice; empty if the question was left. A long content is shown whole on request."""
    question = Question(stored.text, stored.choices, stored.preview, "trust", id=stored.id)
    lines = stored.preview.splitlines()
    if len(lines) > MAX_FIRST_LINES:
        show_all = f"Show all {len(lines)} lines"
        first = [*lines[:MAX_FIRST_LINES], f"… and {len(lines) - MAX_FIRST_LINES} more lines"]
        shortened = replace(question, preview="\n".join(first), choices=(show_all, NOT_NOW))
        choice = _plain(await ask(shortened))
        if choice != show_all:
            return choice
    return _plain(await ask(question))


def _plain(answer: str | QuestionAnswer | None) -> str:
    return answer.choice if isinstance(answer, QuestionAnswer) else answer or ""
