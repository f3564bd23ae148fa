"""Model servers that hold the priced session and count what each request costs, on both wires."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from prompt_workload import Call, aside, purpose, replies
from support import anthropic_server, openai_server
from support.counting_cache import Counted, CountingCache, IdleCache


@dataclass(frozen=True)
class Asked:
    """One request: what it was for, what its input cost, and the tokens of the answer."""

    purpose: str
    counted: Counted
    output: int


class Server(Protocol):
    """What the measuring uses of either server."""

    asked: list[Asked]
    offset: float

    def begin(self) -> None:
        """Begin a session: its answers are given from the first on, and its requests counted."""

    @property
    def base_url(self) -> str:
        """Where Hookline finds it."""

    @property
    def stable(self) -> int:
        """Tokens of system prompt and tools."""


class Script:
    """The answers, by what a request is for."""

    def __init__(self) -> None:
        self._left = iter(replies())

    def answer(self, body: Any) -> tuple[str, str, Sequence[Call]]:
        """The purpose, the text and the calls.

        Raises:
            LookupError: the conversation has asked for more than it has.
        """
        sent = json.dumps(body)
        wanted = purpose(sent)
        if wanted != "main":
            return (wanted, *aside(wanted, sent))
        found = next(self._left, None)
        if found is None:
            raise LookupError("the conversation has no answer left")
        return (wanted, *found)


class AnthropicSide(anthropic_server.AnthropicServer):
    """Anthropic's wire and cache, on the clock that Hookline has."""

    def __init__(self) -> None:
        super().__init__(self._reply)
        self.asked: list[Asked] = []
        self.offset = 0.0
        self.counting = CountingCache()
        self.cache: Any = self.counting
        self._answers = Script()

    def answer(self, *request: Any) -> Any:
        """As the fake does, at the present time."""
        self.clock = time.time() + self.offset
        return super().answer(*request)

    def begin(self) -> None:
        """Begin a session."""
        self._answers = Script()
        self.asked.clear()

    @property
    def stable(self) -> int:
        """Tokens of system prompt and tools."""
        blocks = anthropic_server.all_blocks({**self.requests[0].json, "messages": []})
        return sum(len(json.dumps(block, ensure_ascii=False)) for _, block in blocks) // 4

    def _reply(self, body: dict[str, Any]) -> anthropic_server.Reply:
        wanted, text, calls = self._answers.answer(body)
        self.asked.append(Asked(wanted, self.counting.counted[-1], _tokens(text, calls)))
        uses = tuple(anthropic_server.Use(name, arguments) for name, arguments in calls)
        return anthropic_server.Reply(text, tools=uses)


class OpenAISide(openai_server.OpenAIServer):
    """OpenAI's wire and cache, likewise."""

    def __init__(self) -> None:
        super().__init__(self._answered)
        self.asked: list[Asked] = []
        self.offset = 0.0
        self._cache: Any = IdleCache()
        self._answers = Script()

    def begin(self) -> None:
        """Begin a session."""
        self._answers = Script()
        self.asked.clear()

    @property
    def stable(self) -> int:
        """Tokens of system prompt and tools."""
        body = self.requests[0].json
        return len(openai_server.prompt_of({**body, "messages": body["messages"][:1]})) // 4

    def _answered(self, body: Any) -> openai_server.Reply:
        _, text, calls = self._answers.answer(body)
        uses = [openai_server.Use(name, dict(arguments)) for name, arguments in calls]
        return openai_server.Reply(text or None, tools=uses)

    def _usage(self, body: Any, reply: openai_server.Reply) -> openai_server.Usage:
        self._cache.now = time.time() + self.offset
        usage = super()._usage(body, reply)
        wanted, calls = (
            purpose(json.dumps(body)),
            [(use.name, use.arguments) for use in reply.tools],
        )
        counted = Counted(usage.prompt, usage.cached, 0, 0, 0, 0)
        self.asked.append(Asked(wanted, counted, _tokens(reply.text or "", calls)))
        return usage


def _tokens(text: str, calls: Sequence[Any]) -> int:
    return len(text + "".join(json.dumps(call) for call in calls)) // 4 + 1
