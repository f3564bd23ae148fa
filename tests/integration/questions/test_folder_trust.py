"""A chat on a channel whose folder is not trusted: who may answer is asked once, in its chat."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline_hookspecs import Plugin, Questions, hookimpl
from hookline_hookspecs.folder_trust import (
    NOT_NOW,
    TRUST,
    FolderContent,
    FolderContentSource,
    FolderTrust,
)
from hookline_hookspecs.questions import NotAnswerable, QuestionClosed, StoredQuestion

from .test_chat_answers import People, press, until

Make = Callable[..., Any]


class Runner(Plugin):
    """Would run ``run-me`` of a folder."""

    @hookimpl
    def setup(self, host: Any) -> None:
        host.services.add(FolderContentSource, self)

    def describe(self, folder: Path) -> FolderContent | None:
        return content_of(folder)


def content_of(folder: Path) -> FolderContent | None:
    file = folder / "run-me"
    if not file.is_file():
        return None
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return FolderContent("programs", digest, (f"runs {file.read_text()}",))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = (tmp_path / "project").resolve()
    folder.mkdir()
    (folder / "run-me").write_text("first")
    return folder


@pytest.fixture
def h(harness: Make, project: Path) -> Any:
    return harness(People, Runner, model=["done"] * 9, workspace=project)


def questions(h: Any) -> Any:
    return h.runtime.engine.services[Questions]


def trusts(h: Any, project: Path) -> bool:
    trust = h.runtime.engine.services[FolderTrust]
    content = content_of(project)
    assert content is not None
    return bool(trust.state(project, content) == "trusted")


async def say(h: Any, text: str = "go", chat: str = "chat") -> None:
    await h.channel.say(text, chat=chat)
    await h.runtime.finish_background(5)


async def asked(h: Any) -> StoredQuestion:
    """The question after a first message."""
    await h.aopen()
    await h.runtime.gateway_host.recover()
    await say(h)
    (question,) = await questions(h).open()
    assert isinstance(question, StoredQuestion)
    return question


async def test_first_message_in_an_untrusted_folder_asks_and_trust_is_stored(
    h: Any, project: Path
) -> None:
    question = await asked(h)
    assert (question.kind, question.choices) == ("trust", (TRUST, NOT_NOW))
    assert str(project) in question.text
    assert question.preview == "runs first"
    await until(lambda: any(one.question == question.id for one in h.channel.sent))
    assert not trusts(h, project)
    await press(h, question.id, TRUST)
    await until(
        lambda: any("is trusted from the next session" in one.text for one in h.channel.sent)
    )
    assert trusts(h, project)
    await say(h, chat="other")
    assert await questions(h).open() == []


async def test_not_now_is_remembered_until_the_folder_changes(h: Any, project: Path) -> None:
    question = await asked(h)
    answered = await questions(h).answer(question.id, NOT_NOW, "fake", "boss")
    assert f"`hookline trust {project}`" in answered.outcome
    await say(h, chat="other")
    assert await questions(h).open() == []
    assert not trusts(h, project)
    (project / "run-me").write_text("second")
    await say(h, chat="third")
    (again,) = await questions(h).open()
    assert again.preview == "runs second"


async def test_answer_about_an_earlier_content_trusts_nothing(h: Any, project: Path) -> None:
    question = await asked(h)
    (project / "run-me").write_text("rm -rf ~")
    answered = await questions(h).answer(question.id, TRUST, "fake", "boss")
    assert "has changed since you were asked" in answered.outcome
    assert not trusts(h, project)
    await say(h, chat="other")
    (again,) = await questions(h).open()
    assert again.preview == "runs rm -rf ~"


async def test_open_question_about_an_earlier_content_is_closed(h: Any, project: Path) -> None:
    question = await asked(h)
    (project / "run-me").write_text("second")
    await say(h, chat="other")
    (again,) = await questions(h).open()
    assert again.id != question.id
    with pytest.raises(QuestionClosed):
        await questions(h).answer(question.id, TRUST, "fake", "boss")
    await questions(h).answer(again.id, TRUST, "fake", "boss")
    assert trusts(h, project)


def test_command_that_trusts_the_folder_closes_the_question(h: Any, project: Path) -> None:
    question = h.run(asked(h))
    h.close()
    assert h.cli(f"trust {project} --yes").exit_code == 0

    async def look() -> StoredQuestion:
        await h.aopen()
        found = await questions(h).get(question.id)
        assert isinstance(found, StoredQuestion)
        return found

    closed = h.run(look())
    assert closed.state == "answered"
    assert closed.answer is not None
    assert closed.answer.choice == TRUST


async def test_person_who_may_not_answer_trusts_nothing(h: Any, project: Path) -> None:
    question = await asked(h)
    with pytest.raises(NotAnswerable):
        await questions(h).answer(question.id, TRUST, "fake", "guest")
    assert not trusts(h, project)


async def test_chat_with_a_folder_of_its_own_asks_nothing(harness: Make, project: Path) -> None:
    h = harness(People, Runner, model=["done"] * 9)
    await h.aopen()
    await h.runtime.gateway_host.recover()
    await say(h)
    assert await questions(h).open() == []
