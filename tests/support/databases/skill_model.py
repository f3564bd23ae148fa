"""A model that follows a skill: it reads the file for the engine and runs its queries."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import hookline_databases
from hookline.testing import Harness, calls
from hookline_databases import Databases
from hookline_hookspecs import ModelRequest, ToolCall, ToolResult, ToolResultBlock
from hookline_skills import Skills

FOLDER = Path(hookline_databases.__file__).with_name("skills")
NAMES = sorted(folder.name for folder in FOLDER.iterdir() if folder.is_dir())
ENGINES = ("postgres", "mysql", "sqlite", "duckdb")
_PART = re.compile(r"^## ([^\n]+)$|^```sql\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Query:
    """A query of a skill, and the heading that it stands below."""

    heading: str
    sql: str


def queries(text: str) -> list[Query]:
    """The queries of a reference."""
    found, heading = [], ""
    for part in _PART.finditer(text):
        heading = part[1] or heading
        if part[2]:
            found.append(Query(heading, part[2].strip()))
    return found


def reference(skill: str, engine: str) -> str:
    """The text of a skill's file for an engine."""
    return FOLDER.joinpath(skill, "references", f"{engine}.md").read_text("utf-8")


class SkillHome:
    """A home with the skills, one database ``prod``, and a model that follows a skill."""

    def __init__(self, harness: Callable[..., Harness], url: str) -> None:
        config = {"databases": {"connections": {"prod": {"url": url}}}, "skills": {}}
        self.h = harness(Skills, Databases, config=config)
        self._turns = 0

    def follow(self, question: str, skill: str, explain: Sequence[str] = ()) -> dict[str, str]:
        """Ask the question; the model follows the skill, explains some statements, and answers.

        The results by the headings of the skill's file; those of ``db_explain`` by the statement.
        Fails if the skill does not come with the question.
        """
        engine = ""
        asked: list[str] = []

        def look(request: ModelRequest) -> ToolCall:
            nonlocal engine
            engine = _result(request).partition("prod: ")[2].partition(",")[0]
            return calls("skill_view", name=skill, file=f"references/{engine}.md")

        def ask(request: ModelRequest) -> list[ToolCall] | str:
            found = queries(_result(request))
            asked.extend([query.heading for query in found] + list(explain))
            planned = [calls("db_explain", db="prod", sql=sql) for sql in explain]
            return [calls("db_query", db="prod", sql=q.sql) for q in found] + planned

        self._turns += 1
        self.h.model.steps += [calls("db_list"), look, ask, "That is what I found."]
        outcome = self.h.send(question, session=f"s{self._turns}")
        assert f'<skill name="{skill}">' in self.h.model.requests[-4].messages[-1].context
        assert engine in ENGINES
        told: dict[str, str] = {}
        results: list[ToolResult] = list(outcome.tool_calls)[2:]
        assert len(results) == len(asked)
        for heading, result in zip(asked, results, strict=True):
            told[heading] = told.get(heading, "") + result.text + "\n"
        return told

    def ask(self, statements: Sequence[str]) -> list[str]:
        """What ``db_query`` answers to each."""
        self._turns += 1
        self.h.model.steps += [
            [calls("db_query", db="prod", sql=sql) for sql in statements],
            "Done.",
        ]
        outcome = self.h.send("ask", session=f"s{self._turns}")
        return [result.text for result in outcome.tool_calls]


def _result(request: ModelRequest) -> str:
    """The text of the latest result that the model reads."""
    blocks = [b for m in request.messages for b in m.blocks if isinstance(b, ToolResultBlock)]
    return str(blocks[-1].text)
