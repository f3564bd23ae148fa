"""A person at one home, and a curator whose answers the test writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness
from hookline_hookspecs import Deny, Excerpt, Lesson, ModelRequest, Plugin, Reviewer, hookimpl
from hookline_hookspecs.chat_files import LearnedSource
from hookline_hookspecs.plugin import NoConfig
from hookline_user_model import UserModel


class Gates(Plugin[NoConfig]):
    """Stands in for what redacts and scans: `SECRET` becomes a placeholder, `EVIL` is refused."""

    def __init__(self, config: NoConfig, host: Any) -> None:
        super().__init__(config, host)
        self.learnt: list[Lesson] = []

    @hookimpl
    def pre_learn(self, ctx: Any, lesson: Lesson) -> Lesson | Deny:
        """Redact or refuse."""
        self.learnt.append(lesson)
        if "EVIL" in lesson.text:
            return Deny("it gives orders")
        return Lesson(lesson.kind, lesson.source, lesson.text.replace("SECRET", "[REDACTED:token]"))

    @hookimpl
    def pre_read(self, ctx: Any, excerpt: Excerpt) -> Deny | None:
        """Refuse."""
        return Deny("it gives orders") if "EVIL" in excerpt.text else None


class Person:
    """A person who talks in the terminal; ``curate`` reviews the session `test`."""

    def __init__(self, make: Callable[..., Harness], home: Path, config: dict[str, Any]) -> None:
        self._make = make
        self.home = home
        self._config = config
        self._count = 0
        self.open()

    def open(self) -> None:
        """A process on the home."""
        config = {"user-model": self._config, "gates": {}}
        self.harness = self._make(Gates, UserModel, home=self.home, config=config)

    def restart(self) -> None:
        """A new process on the same home."""
        self.harness.close()
        self.open()

    @property
    def file(self) -> Path:
        """The terminal's profile."""
        return self.home / "chats" / "terminal" / "default" / "USER.md"

    @property
    def text(self) -> str:
        """The text of the profile."""
        return self.file.read_text("utf-8").rstrip("\n") if self.file.exists() else ""

    @property
    def gates(self) -> Gates:
        """The plugin that redacts and refuses."""
        return self.harness.plugin(Gates)

    def write(self, text: str | bytes) -> None:
        """Write the profile by hand."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))

    def say(self, *texts: str, session: str = "test") -> None:
        """Say something in a session."""
        for text in texts:
            self.harness.model.steps.append("I see.")
            self.harness.send(text, session=session)

    def command(self, text: str) -> str:
        """The answer to a slash command."""
        return str(self.harness.send(text).text)

    def curate(self, *answers: Any, session: str = "test") -> list[ModelRequest]:
        """Review a session; the model answers with these narratives. Returns its requests."""
        self.harness.model.steps += [_answer(one) for one in answers]
        asked = len(self.harness.model.requests)
        self.harness.run(self._review(session))
        left = len(self.harness.model.steps)
        assert not left, f"{left} answers were not asked for"
        return list(self.harness.model.requests[asked:])

    async def _review(self, session: str) -> None:
        host = self.harness.plugin(UserModel).host
        ((plugin, reviewer),) = host.registered(Reviewer)
        assert plugin == "user-model"
        assert reviewer.run is not None
        (found,) = [one for one in await host.sessions() if one.id == session]
        await reviewer.run(found)

    def learn(self, narrative: str) -> None:
        """Say something and have the profile written."""
        self._count += 1
        self.say(f"something new, number {self._count}")
        self.curate(narrative)

    def prompt(self) -> str:
        """The system prompt of a new session."""
        self._count += 1
        self.say("hello", session=f"session-{self._count}")
        return str(self.harness.model.last.system)

    def learned(self) -> Any:
        """The plugin's service for lists of learnt things."""
        (source,) = self.harness.plugin(UserModel).host.services.all(LearnedSource)
        return source


def _answer(narrative: Any) -> Any:
    if isinstance(narrative, (BaseException, bytes)) or callable(narrative):
        return narrative.decode() if isinstance(narrative, bytes) else narrative
    return json.dumps({"narrative": narrative}, ensure_ascii=False)


@pytest.fixture
def make_person(harness: Callable[..., Harness], tmp_path: Path) -> Callable[..., Person]:
    """Makes a person with settings of the plugin."""
    return lambda **config: Person(harness, tmp_path / "home", config)


@pytest.fixture
def person(make_person: Callable[..., Person]) -> Person:
    """A person with the default settings."""
    return make_person()
