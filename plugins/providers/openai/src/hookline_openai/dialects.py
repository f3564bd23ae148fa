"""The two wires that OpenAI's service speaks, behind one set of functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from hookline_hookspecs import (
    DeltaSink,
    Fragment,
    Message,
    ModelRequest,
    ModelResponse,
    ToolSchema,
    WireRequest,
)

from . import chat_request, responses_request
from .chat_answer import ChatAnswer
from .encode import encode
from .responses_answer import ResponsesAnswer

NO_TOOLS = b"[]"


class Answer(Protocol):
    """Collects an answer as it comes."""

    def add(self, chunk: Any) -> None:
        """Take a piece of a stream. Raises ``ServerSaid``."""

    def whole(self, body: Any) -> None:
        """Take an answer in one piece. Raises ``ServerSaid``."""

    def response(self, model: str, raw: Any) -> ModelResponse:
        """What was collected."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """One wire: where a request goes, how it is written and how its answer is read.

    ``listed`` is the name of the field that holds the messages.
    """

    path: str
    listed: str
    fields: Callable[[ModelRequest, bool, str], dict[str, Any]]
    system: Callable[[str], bytes]
    tools: Callable[[Iterable[ToolSchema]], bytes]
    fragment: Callable[[Message, str], Fragment]
    answer: Callable[[DeltaSink | None], Answer]

    def body(self, wire: WireRequest) -> bytes:
        """The request's bytes: fields, tools, and last the messages, which grow from turn to
        turn, so that two requests differ as late as can be."""
        stable = wire.stable
        head = [encode(dict(wire.fields))[:-1]]
        if stable.get("tools", NO_TOOLS) != NO_TOOLS:
            head.append(b'"tools":' + stable["tools"])
        first = [part for part in (stable.get("system"), stable.get("ephemeral")) if part]
        head.append(b'"%s":[' % self.listed.encode() + b",".join([*first, *wire.fragments]))
        return b",".join(head) + b"]}"


DIALECTS = {
    "chat": Dialect(
        "/chat/completions",
        "messages",
        chat_request.fields,
        chat_request.system,
        chat_request.tools,
        chat_request.fragment,
        ChatAnswer,
    ),
    "responses": Dialect(
        "/responses",
        "input",
        responses_request.fields,
        responses_request.system,
        responses_request.tools,
        responses_request.fragment,
        ResponsesAnswer,
    ),
}
