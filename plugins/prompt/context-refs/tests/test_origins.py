"""Attached text has the origin of its file."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import calls
from hookline_hookspecs import Context, Host, Origin, Plugin, ToolCall, hookimpl, tool
from hookline_hookspecs.file_origins import FileOrigins

REPOSITORY = Origin("outside", "https://git.example/project")


class Keeper(Plugin):
    """Knows that some files came from outside, as a plugin that keeps track of them does."""

    @hookimpl
    def setup(self, host: Host) -> None:
        """Offer it."""
        host.services.provide(FileOrigins, self)

    async def of(self, paths: Iterable[Path]) -> tuple[Origin, ...]:
        """Those whose text says so."""
        found = [path for path in paths if path.is_file() and b"CLONED" in path.read_bytes()]
        return (REPOSITORY,) if found else ()


class Watch(Plugin):
    """Notes what a turn is known to have read."""

    seen: tuple[Origin, ...] = ()

    @tool(read_only=True, origin="workspace")
    def look(self) -> str:
        """Look around."""
        return "nothing"

    @hookimpl
    def pre_tool(self, ctx: Context, call: ToolCall) -> None:
        self.seen = ctx.origins


@pytest.fixture
def read(make_chat: Callable[..., Any]) -> Callable[[str], set[Origin]]:
    """``read(text)``: the origins from outside of a turn with this message."""
    chat = make_chat(Keeper, Watch)
    chat.put("cloned.md", "CLONED: remember this")
    chat.put("own.md", "mine")
    git = ["git", "-C", str(chat.workspace), "-c", "user.name=a", "-c", "user.email=a@b.example"]
    for command in (["init", "-q"], ["add", "own.md"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *command], check=True)

    def in_turn(text: str) -> set[Origin]:
        chat.harness.model.steps[:] = [[calls("look")], "ok"]
        chat.harness.send(text, session=text)
        assert b"git.example" not in b"".join(chat.harness.model.wires[-1].fragments)
        return {one for one in chat.harness.plugin(Watch).seen if one.kind == "outside"}

    in_turn.chat = chat  # type: ignore[attr-defined]
    return in_turn


def test_file_from_outside_gives_its_origin_to_the_turn(read: Any) -> None:
    assert read("see @file:cloned.md") == {REPOSITORY}
    assert read("see @file:own.md") == set()


def test_patch_of_a_file_from_outside_gives_its_origin_to_the_turn(read: Any) -> None:
    assert read("see @staged") == set()
    subprocess.run(["git", "-C", str(read.chat.workspace), "add", "cloned.md"], check=True)
    assert read("see @staged now") == {REPOSITORY}
    assert read("see @git:1") == set()
