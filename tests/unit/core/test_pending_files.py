"""Messages with files wait in the inbox until their channel has fetched them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness
from hookline_hookspecs import GatewayHost, Inbound, NoConfig, Plugin
from hookline_hookspecs.errors import StoreError

FILE = {"ref": "r1", "name": "a.txt"}


class Mail(Plugin[NoConfig]):
    """A plugin that gives access to a host."""


class Files:
    """Fetches files once ``there`` is set; fails while ``fail`` is not 0."""

    def __init__(self) -> None:
        self.there = asyncio.Event()
        self.fail = 0
        self.fetched: list[str] = []

    async def fetch(self, inbound: Inbound, files: Sequence[Mapping[str, Any]]) -> Inbound:
        await self.there.wait()
        if self.fail:
            self.fail -= 1
            raise ConnectionError("the platform is away")
        self.fetched += [str(file["ref"]) for file in files]
        return replace(inbound, text=f"{inbound.text} with {len(files)} files")


def message(
    text: str, *, chat: str = "chat", kind: Any = "message", target: str | None = None
) -> Inbound:
    return Inbound("fake", chat, "ann", f"id-{text}", text, kind=kind, target=target)


async def open_harness(home: Path, files: Files | None, answers: int = 9) -> Harness:
    harness = Harness(Mail, home=home, model=["ok"] * answers)
    await harness.aopen()
    if files is not None:
        await service(harness).fetch_files("fake", files.fetch)
    return harness


def service(harness: Harness) -> GatewayHost:
    return harness.plugin(Mail).host.services[GatewayHost]


def prompts(harness: Harness) -> list[str]:
    """What the model was asked, in the order of the requests."""
    return [request.messages[-1].text for request in harness.model.requests]


async def test_message_with_files_is_answered_once_they_are_fetched(tmp_path: Path) -> None:
    files = Files()
    h = await open_harness(tmp_path, files)
    receive = h.plugin(Mail).host.receive
    assert await receive(message("one"), [FILE])
    assert not await receive(message("one"), [FILE])
    await asyncio.sleep(0.1)
    assert prompts(h) == []
    files.there.set()
    await h.channel.replies(1)
    assert prompts(h) == ["one with 1 files"]
    assert not await receive(message("one"), [FILE])
    await h.aclose()


async def test_later_message_waits_for_files_but_other_chats_do_not(tmp_path: Path) -> None:
    files = Files()
    h = await open_harness(tmp_path, files)
    receive = h.plugin(Mail).host.receive
    await receive(message("one"), [FILE])
    await receive(message("two"))
    await receive(message("other", chat="another"))
    await receive(message("press", kind="press"))
    pressed = {reply.text for reply in await h.channel.replies(2)} - {"other"}
    assert any("already answered or closed" in text for text in pressed)
    assert prompts(h) == ["other"]
    files.there.set()
    await h.channel.replies(4)
    assert prompts(h)[1:] == ["one with 1 files", "two"]
    await h.aclose()


async def test_files_of_a_dead_process_are_fetched_by_the_next(tmp_path: Path) -> None:
    first = await open_harness(tmp_path, Files())
    receive = first.plugin(Mail).host.receive
    await receive(message("one"), [FILE])
    await receive(message("two"))
    await first.aclose()
    files = Files()
    files.there.set()
    second = await open_harness(tmp_path, None)
    await service(second).recover()
    await asyncio.sleep(0.1)
    assert prompts(second) == []  # the channel has not started
    await service(second).fetch_files("fake", files.fetch)
    await second.channel.replies(2)
    assert prompts(second) == ["one with 1 files", "two"]
    assert files.fetched == ["r1"]
    await second.aclose()


async def test_files_of_a_living_process_are_left_to_it(tmp_path: Path) -> None:
    files = Files()
    first = await open_harness(tmp_path, files)
    await first.plugin(Mail).host.receive(message("one"), [FILE])
    others = Files()
    others.there.set()
    second = await open_harness(tmp_path, others)
    await service(second).recover()
    await asyncio.sleep(0.1)
    assert others.fetched == []
    files.there.set()
    await first.channel.replies(1)
    assert prompts(first) == ["one with 1 files"]
    await first.aclose()
    await second.aclose()


@pytest.mark.parametrize("by", ["its author", "a channel"])
async def test_deleted_message_is_not_answered(tmp_path: Path, by: str) -> None:
    files = Files()
    h = await open_harness(tmp_path, files)
    receive = h.plugin(Mail).host.receive
    await receive(message("one"), [FILE])
    await receive(message("two"))
    if by == "its author":
        await receive(message("gone", kind="delete", target="id-one"))
    else:
        assert await service(h).withdraw("fake", "chat", "id-one")
        assert not await service(h).withdraw("fake", "chat", "id-one")
    files.there.set()
    await h.channel.replies(1)
    await h.runtime.finish_background(10)
    assert prompts(h)[0] == "two"
    assert "one with 1 files" not in prompts(h)
    await h.aclose()


async def test_files_are_fetched_again_when_the_platform_or_the_store_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hookline.dispatch.pending_files.RETRY_PAUSE", 0.01)
    files = Files()
    files.fail = 2
    h = await open_harness(tmp_path, files)
    journal = h.runtime.engine.journal
    complete = journal.complete_files
    failures = ["once"]

    def breaks(*arguments: Any, **options: Any) -> Any:
        if failures:
            failures.clear()
            raise StoreError("the disk is full")
        return complete(*arguments, **options)

    monkeypatch.setattr(journal, "complete_files", breaks)
    await h.plugin(Mail).host.receive(message("one"), [FILE])
    files.there.set()
    await h.channel.replies(1)
    assert prompts(h) == ["one with 1 files"]
    assert (files.fail, failures) == (0, [])
    await h.aclose()
