"""Model servers on the loopback, scripted alike whichever wire they speak."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from support import anthropic_server, openai_server

Call: TypeAlias = tuple[str, Mapping[str, Any]]
Step: TypeAlias = "str | Sequence[Call]"
"""What the model does at one request: says a text, or calls tools."""


@dataclass(frozen=True)
class Wire:
    """A server with its script, and how its requests are read."""

    server: Any
    variable: str
    steps: Sequence[Step]

    @property
    def env(self) -> dict[str, str]:
        """The variable that leads to the server; no key."""
        return {self.variable: self.server.base_url}

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The requests so far."""
        return [request.json for request in self.server.requests]

    def never_refused(self) -> bool:
        """True if each request took one step of the script: a refused one takes none."""
        return len(self.server.requests) == len(self.steps)

    def messages_as_sent(self, number: int) -> str:
        """The characters of a request's list of messages, as they stand in its body."""
        text: str = self.server.requests[number].raw.decode()
        start = text.index('"messages":') + len('"messages":')
        start += len(text[start:]) - len(text[start:].lstrip())
        _, end = json.JSONDecoder().raw_decode(text, start)
        return text[start:end]

    def prompt_tokens(self, number: int) -> int:
        """System prompt, tools and messages of a request, in characters / 4."""
        body = self.bodies[number]
        parts = [body[name] for name in ("system", "tools", "messages") if name in body]
        return sum(len(json.dumps(part, ensure_ascii=False)) for part in parts) // 4

    def tool_results(self) -> list[str]:
        """The texts of all tool results that the last request holds, in order."""
        found = []
        for message in self.bodies[-1]["messages"]:
            if message["role"] == "tool":
                found.append(_text(message["content"]))
            elif isinstance(message["content"], list):
                results = [b for b in message["content"] if b["type"] == "tool_result"]
                found += [_text(block["content"]) for block in results]
        return found


def _text(content: Any) -> str:
    blocks = [{"text": content}] if isinstance(content, str) else content
    return "".join(str(block.get("text", "")) for block in blocks)


def openai(steps: Sequence[Step]) -> Wire:
    """A server for ``OPENAI_BASE_URL``; enter ``wire.server``."""
    replies = [
        openai_server.Reply(step)
        if isinstance(step, str)
        else openai_server.Reply(tools=[openai_server.Use(*call) for call in step])
        for step in steps
    ]
    return Wire(openai_server.OpenAIServer(replies), "OPENAI_BASE_URL", steps)


def anthropic(steps: Sequence[Step]) -> Wire:
    """A server for ``ANTHROPIC_BASE_URL``; enter ``wire.server``."""
    replies = [
        anthropic_server.Reply(step)
        if isinstance(step, str)
        else anthropic_server.Reply(tools=tuple(anthropic_server.Use(*call) for call in step))
        for step in steps
    ]
    return Wire(anthropic_server.AnthropicServer(replies), "ANTHROPIC_BASE_URL", steps)
