"""Model servers that outlive their clients and behave the same on either wire."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from support import anthropic_server, openai_server

Call: TypeAlias = tuple[str, Mapping[str, Any]]
Said: TypeAlias = "str | Sequence[Call]"
Script: TypeAlias = Callable[[str | None], Said]
"""What the model does about the person's words, or about tool results (None).

It knows nothing of earlier requests, so one that is sent again is answered alike. Calls come with
the text ``Working``.
"""

WORKING = "Working"


@dataclass
class Wire:
    """A server that is up. ``answered`` are the requests it took, ``refused`` what it did not."""

    name: str
    server: Any
    answered: list[dict[str, Any]] = field(default_factory=list)

    @property
    def env(self) -> dict[str, str]:
        """What leads Hookline to the server."""
        variable = f"{self.name.upper()}_BASE_URL"
        return {variable: self.server.base_url, "HOOKLINE_MODEL": f"{self.name}/fake"}

    @property
    def refused(self) -> list[Any]:
        """Requests that the real service would not have taken, such as unpaired calls."""
        return [r.json for r in self.server.requests if r.json not in self.answered]

    @property
    def streamed(self) -> set[bool]:
        """Whether requests asked for a stream."""
        return {bool(body.get("stream")) for body in self.answered}


@contextmanager
def serving(name: str, script: Script) -> Iterator[Wire]:
    """A server for the wire ``openai`` or ``anthropic``."""

    def answer(body: dict[str, Any]) -> Any:
        wire.answered.append(body)
        said = script(last_words(body))
        if isinstance(said, str):
            return module.Reply(said)
        uses = tuple(module.Use(tool, dict(arguments)) for tool, arguments in said)
        return module.Reply(WORKING, tools=uses)

    module: Any = {"openai": openai_server, "anthropic": anthropic_server}[name]
    servers = {"openai": "OpenAIServer", "anthropic": "AnthropicServer"}
    with getattr(module, servers[name])(answer) as server:
        wire = Wire(name, server)
        yield wire


def last_words(body: Mapping[str, Any]) -> str | None:
    """What the person said last, without its context; None if tool results came last."""
    last = body["messages"][-1]
    content = last["content"]
    if last["role"] == "tool":
        return None
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if last["role"] != "user" or any(block["type"] == "tool_result" for block in blocks):
        return None
    text = "".join(block.get("text", "") for block in blocks)
    return re.sub(r"\s*<context>.*</context>\s*$", "", text, flags=re.DOTALL)
