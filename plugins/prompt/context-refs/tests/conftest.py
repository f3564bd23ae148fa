"""Messages to the real core, and the context that is sent with them."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hookline_context_refs import ContextRefs

_ITEM = re.compile(r'<reference name="([^"]*)">(.*?)</reference>', re.DOTALL)
_BLOCK = re.compile(r"<attached-context>(.*)</attached-context>", re.DOTALL)


class ReferenceChat:
    """A workspace and a session on it; ``chat("words @file:a")`` is one turn."""

    def __init__(self, make: Callable[..., Any], workspace: Path, *plugins: Any, **options: Any):
        self.workspace = workspace
        workspace.mkdir(parents=True, exist_ok=True)
        plugins = (ContextRefs, *plugins)
        self.harness = make(*plugins, workspace=workspace, model=["ok"] * 9, **options)

    def put(self, name: str, content: str | bytes = "") -> Path:
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def __call__(self, text: str) -> SimpleNamespace:
        """``items`` by reference as written, ``warnings`` as the model reads them, ``notices`` as
        the person does, ``told`` the line for the person about what is attached, ``context`` as it
        is sent, ``message`` what the person said."""
        outcome = self.harness.send(text)
        assert outcome.text == "ok"
        message = self.harness.model.last.messages[-1]
        context = message.context or ""
        block = _BLOCK.search(context)
        body = block[1] if block else ""
        said = [n.text for n in outcome.notices if n.plugin == "context-refs"]
        lines = _ITEM.sub("", body).split("\n")
        return SimpleNamespace(
            items={html.unescape(n): html.unescape(t) for n, t in _ITEM.findall(body)},
            warnings=[html.unescape(line) for line in lines if line.startswith("Warning: ")],
            notices=[text for text in said if not text.startswith("Attached: ")],
            told=[text for text in said if text.startswith("Attached: ")],
            context=context,
            message=message.text,
        )


@pytest.fixture
def make_chat(harness: Callable[..., Any], tmp_path: Path) -> Callable[..., ReferenceChat]:
    """Makes desks with plugins and settings of their own."""

    def make(*plugins: Any, **options: Any) -> ReferenceChat:
        workspace = options.pop("workspace", tmp_path / "work")
        config = {"context-refs": options.pop("config", {})}
        return ReferenceChat(harness, workspace, *plugins, config=config, **options)

    return make


@pytest.fixture
def chat(make_chat: Callable[..., ReferenceChat]) -> ReferenceChat:
    """A chat with the default settings."""
    return make_chat()
