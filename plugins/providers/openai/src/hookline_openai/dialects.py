"""The two APIs of OpenAI's service, chat completions and responses, as one :class:`Dialect`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

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
from .chat_reader import ChatReader
from .encode import encode
from .responses_reader import ResponsesReader

NO_TOOLS = b"[]"
OfferedTools: TypeAlias = Mapping[str, Mapping[str, Any]] | None
"""The JSON schema of each tool by name, if calls that the model wrote as text count."""


class ResponseReader(Protocol):
    """Collects a response as it comes."""

    def add(self, chunk: Any) -> None:
        """Add an event of a stream. Raises ``ErrorInResponse``."""

    def add_whole(self, body: Any) -> None:
        """Add a response in one piece. Raises ``ErrorInResponse``."""

    def end(self, complete: bool) -> None:
        """Take the end of the stream; ``complete`` if the server marked it with ``[DONE]``."""

    def response(self, model: str, raw: Any) -> ModelResponse:
        """Return what was collected."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """One API: where a request goes, how it is written and how its response is read.

    ``messages_field`` is the name of the field that holds the messages.
    """

    path: str
    messages_field: str
    fields: Callable[[ModelRequest, bool, str], dict[str, Any]]
    system: Callable[[str], bytes]
    tools: Callable[[Iterable[ToolSchema]], bytes]
    fragment: Callable[[Message, str, str | None], Fragment]
    reader: Callable[[DeltaSink | None, OfferedTools], ResponseReader]

    def body(self, wire: WireRequest) -> bytes:
        """Return the request's bytes.

        The messages come last, so that two requests of a session differ as late as possible.
        """
        stable = wire.stable
        head = [encode(dict(wire.fields))[:-1]]
        if stable.get("tools", NO_TOOLS) != NO_TOOLS:
            head.append(b'"tools":' + stable["tools"])
        first = [part for part in (stable.get("system"), stable.get("ephemeral")) if part]
        head.append(b'"%s":[' % self.messages_field.encode() + b",".join([*first, *wire.fragments]))
        return b",".join(head) + b"]}"


DIALECTS = {
    "chat": Dialect(
        "/chat/completions",
        "messages",
        chat_request.fields,
        chat_request.system,
        chat_request.tools,
        chat_request.fragment,
        ChatReader,
    ),
    "responses": Dialect(
        "/responses",
        "input",
        responses_request.fields,
        responses_request.system,
        responses_request.tools,
        responses_request.fragment,
        ResponsesReader,
    ),
}
