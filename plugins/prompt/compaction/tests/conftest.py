"""A long conversation with a scripted model and small limits, and its requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness, Outcome, ScriptedModel
from hookline_compaction import Compaction
from hookline_hookspecs import (
    Context,
    Message,
    ModelRequest,
    Plugin,
    Session,
    TextBlock,
    ToolResultBlock,
    hookimpl,
    tool,
)
from hookline_hookspecs.plugin import NoConfig

SMALL = 0.02
"""Of a window of 128,000 tokens: 2,560 tokens, or 10,240 characters."""
SUMMARY = "## Goal\nTo build a house.\n## Next step\nThe roof."


class Hands(Plugin[NoConfig]):
    """Tools with results of any size; records the hook and signal of compaction."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.heard: list[str] = []

    @hookimpl
    def setup(self, host: Any) -> None:
        host.signals.connect("compacted", lambda event, ctx=None: self.heard.append("compacted"))

    @hookimpl
    def pre_compact(self, ctx: Context, session: Session) -> None:
        self.heard.append("pre_compact")

    @tool(read_only=True)
    def look(self, size: int) -> str:
        """Look at something."""
        return "x" * size


class Talk:
    """A conversation. ``summary`` is what the auxiliary model answers: a text or an error."""

    def __init__(self, make: Callable[..., Harness], home: Path) -> None:
        self._make = make
        self._home = home
        self.summary: Any = SUMMARY
        self.script: list[Any] = []
        self.open()

    def open(self, *others: type[Plugin[Any]], **config: Any) -> Harness:
        """Begin again in a new process on the same home."""
        if hasattr(self, "harness"):
            self.harness.close()
        settings = {"compaction": {"threshold_small": SMALL} | config}
        model = ScriptedModel([self._answer] * 10_000)
        plugins = (Compaction, Hands, *others)
        self.harness = self._make(*plugins, model=model, config=settings, home=self._home)
        return self.harness

    def _answer(self, request: ModelRequest) -> Any:
        if request.purpose == "auxiliary":
            return self.summary
        return self.script.pop(0) if self.script else "very well"

    def say(self, text: str, *script: Any) -> Outcome:
        """A person says something; the model answers by the script, then ``very well``."""
        self.script = list(script)
        return self.harness.send(text)

    def grow(self, messages: int = 20, size: int = 1_000) -> None:
        """A conversation of so many messages of a person, numbered from 1."""
        for number in range(1, messages + 1):
            self.say(f"word {number}: " + "w" * size)

    @property
    def asked(self) -> list[str]:
        """The requests to the auxiliary model."""
        return [r.messages[0].text for r in self._requests("auxiliary")]

    @property
    def sent(self) -> tuple[Message, ...]:
        """The messages of the last request of a turn."""
        return self._requests("turn")[-1].messages

    @property
    def size(self) -> int:
        """The characters of the last request's messages."""
        return sum(len(text) for text in texts(self.sent))

    def count(self) -> int:
        """How many requests of turns were made."""
        return len(self._requests("turn"))

    def _requests(self, purpose: str) -> list[ModelRequest]:
        return [one for one in self.harness.model.requests if one.purpose == purpose]

    def told(self) -> list[str]:
        """The notices to the person."""
        return [notice.text for notice in self.harness.notices]

    def heard(self) -> list[str]:
        """The hook and signal of passes."""
        return self.harness.plugin(Hands).heard


def texts(messages: tuple[Message, ...]) -> list[str]:
    """Every text of messages: said, and results of tools."""
    return [
        block.text
        for message in messages
        for block in message.blocks
        if isinstance(block, TextBlock | ToolResultBlock)
    ]


@pytest.fixture
def talk(harness: Callable[..., Harness], tmp_path: Path) -> Iterator[Talk]:
    return Talk(harness, tmp_path / "home")
