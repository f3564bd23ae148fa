"""A request of either kind, as the rest of the plugin reads it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from .content import Content
from .errors import bad

Role = Literal["user", "assistant"]
MODELS = ("hookline", "hookline-light")
MOST_MESSAGES = 10_000
_THOUGHT = re.compile(
    r"\A\s*(?:<think>.*?</think>|<details type=\"reasoning\".*?</details>)\s*", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Said:
    """A message that the client has sent along, without system and developer messages."""

    role: Role
    content: Content
    is_tool: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """What a client asks for.

    Attributes:
        system: its system and developer messages.
        history: the messages before the last one of the user.
        content: the last message of the user.
        ignored: names of parameters that have no effect.
        limits: ``max_tokens`` and ``schema``, which ``hookline-light`` follows.
        echo: what the answer repeats of the request.
    """

    kind: Literal["chat", "response"]
    model: str
    stream: bool
    system: str
    history: tuple[Said, ...]
    content: Content
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
        """The chain of the messages before the last one of the user; empty without any."""
        return chain(self.history)


def chain(messages: Sequence[Said]) -> str:
    """Return the SHA-256 chain of messages in hexadecimal, empty for none.

    Blanks at the ends of a text, and the thoughts that some clients put before an answer, do not
    count, nor do the calls and results of tools.
    """
    found = ""
    for said in messages:
        if not said.is_tool:
            found = linked(found, said.role, said.content)
    return found


def linked(before: str, role: Role, content: Content) -> str:
    """Return the chain with one more message."""
    text = content.text
    if role == "assistant":
        text = _THOUGHT.sub("", text)
    files = [one.url or hashlib.sha256(one.data).hexdigest() for one in content.files]
    link = json.dumps([before, role, text.strip(), files], ensure_ascii=True)
    return hashlib.sha256(link.encode()).hexdigest()


def split(messages: Sequence[Said], where: str) -> tuple[tuple[Said, ...], Content]:
    """Return the messages before the last one of the user, and its content.

    Raises ``ApiError`` (400) if there is none, something follows it, or it is empty.
    """
    if not messages:
        raise bad(f"{where} holds no message of the user.", where)
    if len(messages) > MOST_MESSAGES:
        raise bad(f"{where} holds more than {MOST_MESSAGES:,} messages.", where)
    last = messages[-1]
    if last.role != "user" or last.is_tool:
        raise bad(
            f"The last of {where} must be a message of the user: tools run here, and no answer is "
            "continued.",
            where,
        )
    if not last.content.text.strip() and not last.content.files:
        raise bad(f"The last message of {where} is empty.", where)
    return tuple(messages[:-1]), last.content


def model_of(name: str | None, where: str = "model") -> str:
    """Return the model that is asked for. Raises ``ApiError`` (404) for one that is not there."""
    from .errors import ApiError

    if name is None:
        raise bad("model is missing; it is hookline or hookline-light.", where, "missing")
    if name not in MODELS:
        raise ApiError(
            404,
            f"There is no model {name[:80]!r}; there are {' and '.join(MODELS)}.",
            "model_not_found",
            where,
        )
    return name


def named(data: dict[str, Any], names: Iterable[str]) -> tuple[str, ...]:
    """Return which of the parameters a request has, other than as null or an empty list."""
    return tuple(name for name in names if data.get(name) not in (None, [], {}))
