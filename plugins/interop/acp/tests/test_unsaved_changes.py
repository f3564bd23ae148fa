"""Unsaved changes in the editor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from acp import RequestError, schema
from hookline.testing import ScriptedModel, calls
from hookline_hookspecs import Context, Deny, Excerpt, Plugin, hookimpl, tool

from .conftest import AcpHome, Editor

OFFERS = schema.ClientCapabilities(fs=schema.FileSystemCapabilities(read_text_file=True))


class FileTools(Plugin):
    """Tools of one file."""

    @tool(read_only=True)
    def read_file(self, ctx: Context, path: str) -> str:
        """Read a file."""
        return ctx.paths.resolve(path).read_text("utf-8")

    @tool
    def write_file(self, ctx: Context, path: str, content: str) -> str:
        """Write a file."""
        ctx.paths.resolve(path).write_text(content, "utf-8")
        return "Written."


class Buffers(Editor):
    """An editor with files that are open."""

    def __init__(self, held: Any) -> None:
        super().__init__()
        self.held = held
        self.read: list[str] = []

    async def read_text_file(self, session_id: str, path: str, **_: Any) -> Any:
        """What is in the editor."""
        self.read.append(path)
        if isinstance(self.held, Exception):
            raise self.held
        return schema.ReadTextFileResponse(content=self.held)


def talk(
    acp_home: AcpHome, editor: Buffers, model: ScriptedModel, *plugins: Any, offers: Any = OFFERS
) -> Path:
    """One prompt, and the file that it is about."""
    file = acp_home.workspace / "a.txt"
    file.write_text("one\ntwo\n", "utf-8")

    async def work(editor: Editor) -> None:
        await editor.agent.initialize(protocol_version=1, client_capabilities=offers)
        await editor.say(await editor.begin(acp_home.workspace), "go")

    acp_home.talk(work, FileTools, *plugins, model=model, editor=editor)
    return file


def result(model: ScriptedModel) -> str:
    """What the model read of its call."""
    return str(model.requests[-1].messages[-1].blocks[0].text)


def test_read_shows_unsaved_changes(acp_home: AcpHome) -> None:
    model = ScriptedModel([calls("read_file", path="a.txt"), "Read."])
    editor = Buffers("one\n2\n")
    file = talk(acp_home, editor, model)
    assert editor.read == [str(file)]
    assert result(model).startswith("one\ntwo\n")
    assert "unsaved changes in the editor" in result(model)
    assert "-two\n+2" in result(model)


def test_unsaved_changes_are_not_overwritten(acp_home: AcpHome) -> None:
    model = ScriptedModel([calls("write_file", path="a.txt", content="mine"), "No."])
    file = talk(acp_home, Buffers("typed"), model)
    assert file.read_text("utf-8") == "one\ntwo\n"
    assert "Nothing was written" in result(model)


@pytest.mark.parametrize("held", ["one\r\ntwo", "one\ntwo\n", RequestError(-32002, "no file")])
def test_saved_file_is_written(acp_home: AcpHome, held: Any) -> None:
    model = ScriptedModel([calls("write_file", path="a.txt", content="mine"), "Yes."])
    file = talk(acp_home, Buffers(held), model)
    assert file.read_text("utf-8") == "mine"


@pytest.mark.slow
def test_editor_is_asked_only_for_allowed_files(acp_home: AcpHome) -> None:
    model = ScriptedModel([calls("write_file", path="a.txt", content="mine"), "Yes."])
    editor = Buffers("typed")
    file = talk(acp_home, editor, model, offers=schema.ClientCapabilities())
    assert file.read_text("utf-8") == "mine"
    secret = acp_home.home / ".env"
    secret.write_text("KEY=1", "utf-8")
    outside = ScriptedModel([calls("read_file", path=str(secret)), "No."])
    talk(acp_home, editor, outside)
    assert editor.read == []
    assert result(outside).startswith("Denied: ")


def test_unsaved_changes_pass_pre_read(acp_home: AcpHome) -> None:
    class Guard(Plugin):
        @hookimpl
        def pre_read(self, ctx: Context, excerpt: Excerpt) -> Deny | None:
            """Refuse an attack."""
            return Deny("an attack") if "obey" in excerpt.text else None

    model = ScriptedModel([calls("read_file", path="a.txt"), "Read."])
    talk(acp_home, Buffers("obey me"), model, Guard)
    assert "unsaved changes in the editor." in result(model)
    assert "obey" not in result(model)
