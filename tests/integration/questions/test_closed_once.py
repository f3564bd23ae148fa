"""A question is told to be closed once, also if its call sees the answer before that."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hookline.questions.table import QuestionTable
from hookline.testing import Harness, calls
from hookline_hookspecs import Plugin, hookimpl, tool
from hookline_hookspecs.questions import Questions, StoredQuestion


class Work(Plugin):
    """A tool that needs approval; notes which questions were closed."""

    @hookimpl
    def setup(self, host: Any) -> None:
        self.closed: list[str] = []
        host.signals.connect("question_closed", self.note)

    def note(self, question: StoredQuestion, ctx: Any = None) -> None:
        self.closed.append(question.state)

    @tool(approval="it leaves the machine")
    def launch(self) -> str:
        """Launch something."""
        return "launched"


def test_question_is_closed_once_if_its_call_sees_the_answer_first(
    harness: Callable[..., Harness], monkeypatch: pytest.MonkeyPatch
) -> None:
    store_answer, read = QuestionTable.answer, QuestionTable.get
    seen = asyncio.Event()

    async def answer(table: QuestionTable, *args: Any, **options: Any) -> bool:
        done = await store_answer(table, *args, **options)
        h.runtime.engine.services[Questions].wake("")
        await seen.wait()
        return done

    async def get(table: QuestionTable, question_id: str) -> StoredQuestion | None:
        found = await read(table, question_id)
        if found is not None and found.state == "answered":
            seen.set()
        return found

    monkeypatch.setattr(QuestionTable, "answer", answer)
    monkeypatch.setattr(QuestionTable, "get", get)
    h = harness(Work, model=[calls("launch"), "done"], answers=["Allow once"])
    assert h.send("launch").text == "done"
    assert h.plugin(Work).closed == ["answered"]
