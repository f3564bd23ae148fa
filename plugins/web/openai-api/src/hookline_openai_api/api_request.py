"""A chat completion or response request, in one form for the rest of the plugin."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from .errors import invalid_request
from .message_content import MessageContent

Role = Literal["user", "assistant"]
MODELS = ("hookline", "hookline-light")
MAX_MESSAGES = 10_000
_THOUGHT = re.compile(
    r"\A\s*(?:<think>.*?</think>|<details type=\"reasoning\".*?</details>)\s*", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class ClientMessage:
    """A message of a request, other than system and developer messages."""

    role: Role
    content: MessageContent
    is_tool: bool = False


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A client's request.

    Attributes:
        system: the system and developer messages.
        history: the messages before the user's last one.
        content: the user's last message.
        ignored: names of parameters without effect.
        limits: ``max_tokens`` and ``schema``, which only ``hookline-light`` follows.
        echo: parameters that the answer repeats.
    """

    kind: Literal["chat", "response"]
    model: str
    stream: bool
    system: str
    history: tuple[ClientMessage, ...]
    content: MessageContent
    ignored: tuple[str, ...] = ()
    include_usage: bool = False
    limits: dict[str, Any] = field(default_factory=dict)
    echo: dict[str, Any] = field(default_factory=dict)
    previous: str | None = None
    conversation: str | None = None
    store: bool = True
    background: bool = False

    @property
    def head(self) -> str:
        """The digest of the messages before the user's last one; empty without any."""
        return message_chain(self.history)


def message_chain(messages: Sequence[ClientMessage]) -> str:
    """Return a chained SHA-256 of messages in hexadecimal; empty for none.

    Surrounding whitespace, the thoughts that some clients put before an answer, and calls and
    results of tools are left out.
    """
    found = ""
    for message in messages:
        if not message.is_tool:
            found = extend_chain(found, message.role, message.content)
    return found


def extend_chain(before: str, role: Role, content: MessageContent) -> str:
    """Return the chained digest with one more message."""
    text = content.text
    if role == "assistant":
        text = _THOUGHT.sub("", text)
    files = [one.url or hashlib.sha256(one.data).hexdigest() for one in content.files]
    link = json.dumps([before, role, text.strip(), files], ensure_ascii=True)
    return hashlib.sha256(link.encode()).hexdigest()


def split_last_message(
    messages: Sequence[ClientMessage], where: str
) -> tuple[tuple[ClientMessage, ...], MessageContent]:
    """Return the messages before the user's last one, and its content.

    Raises ``ApiError`` (400) if there is none, another message follows it, or it is empty.
    """
    if not messages:
        raise invalid_request(f"{where} has no user message.", where)
    if len(messages) > MAX_MESSAGES:
        raise invalid_request(f"{where} has more than {MAX_MESSAGES:,} messages.", where)
    last = messages[-1]
    if last.role != "user" or last.is_tool:
        raise invalid_request(
            f"The last item of {where} must be a user message: tools run here, and answers cannot "
            "be continued.",
            where,
        )
    if not last.content.text.strip() and not last.content.files:
        raise invalid_request(f"The last message of {where} is empty.", where)
    return tuple(messages[:-1]), last.content


def check_model(name: str | None, where: str = "model") -> str:
    """Return the requested model. Raises ``ApiError`` (404) if it is unknown."""
    from .errors import ApiError

    if name is None:
        raise invalid_request("model is missing; use hookline or hookline-light.", where, "missing")
    if name not in MODELS:
        raise ApiError(
            404,
            f"Unknown model {name[:80]!r}. Models: {', '.join(MODELS)}.",
            "model_not_found",
            where,
        )
    return name


def present_names(data: dict[str, Any], names: Iterable[str]) -> tuple[str, ...]:
    """Return which of these parameters a request sets, other than to null, [] or {}."""
    return tuple(name for name in names if data.get(name) not in (None, [], {}))
