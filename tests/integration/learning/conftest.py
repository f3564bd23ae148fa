"""Homes with semantic search, for tests of several plugins together."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_hookspecs import Deny, Lesson, Plugin, hookimpl
from hookline_hookspecs.plugin import NoConfig
from hookline_memory import Memory
from hookline_semantic import Semantic
from hookline_session_search import SessionSearch
from hookline_skills import Skills
from support.embeddings import Embeddings, embeddings, vector


@pytest.fixture
def embedded() -> Callable[[str], list[float]]:
    """The vector of a text."""
    return vector


@pytest.fixture
def server() -> Iterator[Embeddings]:
    """A server with ``/embeddings``."""
    with embeddings() as held:
        yield held


class Gates(Plugin[NoConfig]):
    """A stand-in for redaction and scanning: `SECRET…` becomes a placeholder, `EVIL` is refused."""

    @hookimpl
    def pre_learn(self, ctx: Any, lesson: Lesson) -> Lesson | Deny:
        """Redact or refuse."""
        if lesson.kind == "embedding" and "EVIL" in lesson.text:
            return Deny("it gives orders")
        if lesson.kind != "embedding":
            return lesson
        text = re.sub(r"SECRET\w*", "[REDACTED:token]", lesson.text)
        return Lesson(lesson.kind, lesson.source, text)


class SemanticHome:
    """A home with the plugins that search, asked as a person would."""

    def __init__(self, home: Path, server: Embeddings | None, **config: Any) -> None:
        self.home = home
        self.config: dict[str, Any] = {
            "memory": {},
            "skills": {},
            "session-search": {},
            "gates": {},
        }
        self.plugins: list[type[Plugin[Any]]] = [Gates, Memory, Skills, SessionSearch]
        self.workspace = home / "workspace"
        self.workspace.mkdir(parents=True, exist_ok=True)
        if server is not None:
            settings = {"base_url": f"{server.url}/v1", "model": "meaning-1", "api_key": "k-1"}
            self.config["semantic"] = {**settings, "patience": 10, **config}
            self.plugins.insert(0, Semantic)
        self.open()

    def open(self) -> None:
        """A process on the home."""
        self.harness = Harness(*self.plugins, home=self.home, config=self.config)
        self.harness.run(self.harness.aopen())

    def restart(self) -> None:
        """Another process on the same home."""
        self.harness.close()
        self.open()

    def use(self, *plugins: type[Plugin[Any]], **config: Any) -> None:
        """Other plugins, after a restart."""
        self.plugins, self.config = list(plugins), config
        self.restart()

    def call(self, tool: str, session: str = "test", **arguments: Any) -> Any:
        """The result of one call of the model."""
        self.harness.model.steps += [[calls(tool, **arguments)], "done"]
        return self.harness.send("go on", session=session).tool_calls[0]

    def remember(self, *facts: str) -> None:
        """Learn facts."""
        for fact in facts:
            assert self.call("memory", action="remember", content=fact).ok

    def say(self, text: str, session: str = "test", answer: str = "all right") -> str:
        """Say something; return the context that the model gets with it."""
        self.harness.model.steps.append(answer)
        self.harness.send(text, session=session)
        return str(self.harness.model.last.messages[-1].context or "")

    def fill(self) -> Any:
        """``hookline semantic fill``."""
        return self.harness.cli("semantic fill")

    def skill(self, name: str, description: str) -> None:
        """Write a skill."""
        folder = self.home / "skills" / name
        folder.mkdir(parents=True)
        text = f"---\nname: {name}\ndescription: {description}\n---\n\nDo it.\n"
        (folder / "SKILL.md").write_text(text, "utf-8")

    def vectors(self) -> list[dict[str, Any]]:
        """What ``hookline semantic status --json`` says is kept."""
        found = json.loads(self.harness.cli("semantic status --json").stdout)
        corpora: list[dict[str, Any]] = found["corpora"]
        return corpora


@pytest.fixture
def make_home(tmp_path: Path, server: Embeddings) -> Iterator[Callable[..., SemanticHome]]:
    """Make homes that use the embeddings server."""
    made: list[SemanticHome] = []

    def make(**config: Any) -> SemanticHome:
        asked = None if config.pop("off", False) else server
        made.append(SemanticHome(tmp_path / f"home{len(made)}", asked, **config))
        return made[-1]

    yield make
    server.gate.set()
    for one in made:
        one.harness.close()
