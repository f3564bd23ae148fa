"""The model: repeats the message, uses tools when asked to, and records its prompts."""

from __future__ import annotations

import json
import random
import re
import time
from collections import defaultdict
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from support.openai_server import OpenAIServer, Reply, Use

if TYPE_CHECKING:
    from collections.abc import Iterator

NUMBER = re.compile(r"\[(\w+)\]")
"""The id of a message, in its text."""
CANARY = re.compile(r"canary-\w+")
KEPT = 64
"""Requests that the server keeps; they hold whole prompts."""


@dataclass
class Model:
    """A script of the fake server. ``delay`` and ``pace`` (s) may be ranges to choose from."""

    seed: random.Random
    delay: tuple[float, float] = (0.0, 0.0)
    pace: tuple[float, float] = (0.0, 0.0)
    calls: dict[tuple[str, int], list[float]] = field(default_factory=lambda: defaultdict(list))
    """When it was asked (``time.monotonic``), by message and step: 0, and 1 after the tool."""
    took: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """Seconds that it made each message wait."""
    crossed: list[str] = field(default_factory=list)
    """Prompts with another chat's secret word."""
    other: int = 0
    """Requests that are no answer to a message: titles, reviews."""
    base_url: str = ""
    server: OpenAIServer | None = None

    @contextmanager
    def up(self) -> Iterator[Model]:
        """Serve for as long as the context lasts."""
        with OpenAIServer(self) as server:
            self.server, self.base_url = server, server.base_url
            yield self

    def __call__(self, body: Mapping[str, Any]) -> Reply:
        """Answer a request."""
        assert self.server is not None
        del self.server.requests[:-KEPT]
        messages = body["messages"]
        words = _last_words(messages)
        found = NUMBER.search(words)
        if found is None:
            self.other += 1
            return Reply("ok")
        step = int(messages[-1]["role"] == "tool")
        self.calls[found[1], step].append(time.monotonic())
        delay = self.seed.uniform(*self.delay)
        self.took[found[1]] += delay
        timing: dict[str, Any] = {"delay": delay, "pace": self.seed.uniform(*self.pace)}
        if not step and (tool := _wanted(words, found[1])) is not None:
            return Reply("Working", tools=(tool,), **timing)
        result = f" {messages[-1]['content']}" if step else ""
        return Reply(f"answer to {found[1]}{result}{self._secrets(messages, words)}", **timing)

    def _secrets(self, messages: Any, words: str) -> str:
        """Every secret word that is in the prompt, said aloud."""
        seen = sorted(set(CANARY.findall(json.dumps(messages))))
        own = CANARY.search(words)
        if own is not None and seen != [own[0]]:
            self.crossed.append(f"{own[0]} got {seen}")
        return f" knowing {' '.join(seen)}" if seen else ""


def _wanted(words: str, id_: str) -> Use | None:
    if "write" in words:
        return Use("append", {"line": id_})
    return Use("inner_life") if "look inside" in words else None


def _last_words(messages: Any) -> str:
    """What the person said last."""
    for message in reversed(messages):
        if message["role"] == "user":
            content = message["content"]
            if isinstance(content, str):
                return content
            return " ".join(part.get("text", "") for part in content)
    return ""
