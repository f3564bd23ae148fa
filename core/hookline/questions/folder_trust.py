"""Asks whether a folder may be trusted, when it is first used (service ``FolderQuestions``)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from hookline_hookspecs.errors import HooklineError
from hookline_hookspecs.folder_trust import (
    NOT_NOW,
    TRUST,
    FolderContent,
    FolderContentSource,
    FolderTrust,
)
from hookline_hookspecs.questions import Question, Questions, StoredQuestion
from hookline_hookspecs.sentences import N_
from hookline_hookspecs.turns import Session
from hookline_hookspecs.visible_text import on_one_line

from .. import clock
from ..engine import Engine

HANDLER = "folder-trust"
EXPIRES = 24 * 3600.0
"""Seconds until the question expires."""
MAX_LINE_CHARS = 400
"""Characters of one line about a folder."""
MAX_LINES = 200
"""Lines about a folder that a person is asked about. With more, only ``hookline trust`` can."""


def folder_contents(engine: Engine, folder: Path) -> list[FolderContent]:
    """What a folder holds that is used only if the folder is trusted. It reads files."""
    sources: list[FolderContentSource] = engine.added_services.get(FolderContentSource, [])
    found = [source.describe(folder) for source in sources]
    return [content for content in found if content is not None]


def content_lines(contents: Sequence[FolderContent]) -> list[str]:
    """The lines that the person decides by."""
    return [on_one_line(text, MAX_LINE_CHARS) for content in contents for text in content.lines]


class FolderTrustQuestions:
    """Posts the question, and trusts the folder if the answer says so (``QuestionHandler``)."""

    name = HANDLER

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def post(
        self, folder: Path, session: Session, *, asker: str = "", show: bool = False
    ) -> StoredQuestion | None:
        """Ask about a folder, unless there is nothing to ask; see the protocol."""
        contents = await asyncio.to_thread(self._undecided, folder)
        lines = content_lines(contents)
        if not contents or len(lines) > MAX_LINES:
            return None
        questions: Questions = self._engine.services[Questions]
        subject = str(folder)
        content = {content.kind: content.digest for content in contents}
        post = partial(
            questions.post,
            Question(self._text(folder, contents), (TRUST, NOT_NOW), "\n".join(lines), "trust"),
            HANDLER,
            subject,
            expires=clock.now() + EXPIRES,
            session=session,
            asker=asker,
            data={"folder": str(folder), "content": content},
            show=show,
        )
        stored = await post()
        if stored.data["content"] == content:
            return stored
        # The open one is about what the folder held before.
        await questions.close_about(HANDLER, subject, NOT_NOW, "")
        return await post()

    async def answered(self, question: StoredQuestion) -> str:
        """Trust the folder, or remember not to ask about this content again."""
        folder, shown = Path(question.data["folder"]), question.data["content"]
        trust: FolderTrust = self._engine.services[FolderTrust]
        contents = await asyncio.to_thread(folder_contents, self._engine, folder)
        if {content.kind: content.digest for content in contents} != shown:
            return f"{folder} has changed since you were asked, so nothing was decided."
        if question.answer is None or question.answer.choice != TRUST:
            await asyncio.to_thread(trust.decline, folder, contents)
            return f"{folder} is not trusted. `hookline trust {folder}` trusts it later."
        await asyncio.to_thread(trust.trust, folder, contents)
        return f"{folder} is trusted from the next session on; its settings from the next start on."

    def _undecided(self, folder: Path) -> list[FolderContent]:
        """All that the folder holds, if the person has not decided about all of it."""
        trust: FolderTrust = self._engine.services[FolderTrust]
        try:
            contents = folder_contents(self._engine, folder)
        except (OSError, HooklineError):
            return []  # what would use it says why it does not
        is_decided = all(trust.state(folder, content) == "trusted" for content in contents)
        return [] if is_decided or trust.is_declined(folder, contents) else contents

    def _text(self, folder: Path, contents: Sequence[FolderContent]) -> str:
        trust: FolderTrust = self._engine.services[FolderTrust]
        states = {trust.state(folder, content) for content in contents}
        if "changed" in states:
            return N_(f"{folder} has changed since you trusted it. Trust it with this?")
        return N_(
            f"{folder} holds programs or settings that are used only if you trust it. "
            "Trust it with this?"
        )
