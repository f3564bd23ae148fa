"""Requests to models and their responses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from .frozen import freeze_fields
from .messages import Block, Message
from .prompt import ContextBlock
from .turns import Usage


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool as a model sees it. ``parameters`` is a JSON schema of type ``object``."""

    name: str
    description: str
    parameters: Mapping[str, Any]

    def __post_init__(self) -> None:
        freeze_fields(self, "parameters")


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A provider-neutral request to a model, before it is rendered.

    ``model`` is ``provider/model``. ``context`` holds the blocks of this turn; core renders them
    into the sidecar of the turn's user message. ``params`` are provider-neutral settings:
    ``stream`` (bool), ``max_tokens`` (int), ``tool_choice`` (``auto`` or ``none``),
    ``temperature``, ``schema`` (a JSON schema the answer must follow). ``ephemeral`` is system text
    for this call only. ``purpose`` is ``turn``, or ``auxiliary`` for a call outside the
    conversation. ``retry_seconds`` is for how long after a temporary failure the provider may send
    the request again; None leaves it to the provider's setting, which is never exceeded.
    """

    model: str
    system: str
    tools: tuple[ToolSchema, ...]
    messages: tuple[Message, ...]
    context: tuple[ContextBlock, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    ephemeral: str = ""
    session_id: str = ""
    purpose: str = "turn"
    retry_seconds: float | None = None

    def __post_init__(self) -> None:
        freeze_fields(self, "params")


class Fragment(bytes):
    """The encoded JSON of one message (or of the system or tools part), with marker positions.

    ``cuts`` are byte offsets, one for each content block, at which ``,"cache_control":{…}`` may
    be inserted; -1 where a block may not carry a marker. ``role`` is the ``Message.speaker`` of
    the message; empty for the tools and system parts, or if the provider does not set it.
    """

    cuts: tuple[int, ...]
    role: str

    def __new__(cls, data: bytes, cuts: tuple[int, ...] = (), role: str = "") -> Fragment:
        """Wrap ``data``, the bytes to send; see the class for ``cuts`` and ``role``."""
        self = super().__new__(cls, data)
        self.cuts, self.role = cuts, role
        return self


@dataclass(frozen=True, slots=True)
class Marker:
    """A cache breakpoint: after ``block`` of ``fragment``.

    ``fragment`` is ``"tools"``, ``"system"`` or an index into the fragments; ``ttl`` is ``5m``
    or ``1h``.
    """

    fragment: str | int
    block: int = -1
    ttl: Literal["5m", "1h"] = "5m"


@dataclass(frozen=True, slots=True)
class WireRequest:
    """A rendered request: top-level ``fields``, encoded ``fragments`` and cache ``markers``.

    ``stable`` holds the encoded ``tools`` and ``system`` parts. ``fragments`` are the messages in
    order. Replacing an old fragment is allowed and recorded as a break of the prefix; ``stable``
    must stay as it was rendered. ``ttl`` is how long the provider caches the request, in seconds.
    ``purpose`` and ``retry_seconds`` are those of the :class:`ModelRequest`; core sets them.
    """

    provider: str
    fields: Mapping[str, Any]
    fragments: tuple[bytes, ...]
    markers: tuple[Marker, ...] = ()
    stable: Mapping[str, bytes] = field(default_factory=dict)
    model: str = ""
    session_id: str = ""
    ttl: float = 300.0
    purpose: str = "turn"
    retry_seconds: float | None = None

    def __post_init__(self) -> None:
        freeze_fields(self, "fields", "stable")


@dataclass(frozen=True, slots=True)
class PrefixBreak:
    """A request did not repeat bytes that were sent before, so the cache was missed.

    ``tier`` is ``system``, ``tools`` or ``history``; ``plugin`` is the plugin that changed it
    (``core`` if none did); ``message`` is the number of the message, from 1 (0 for the prompt);
    ``offset`` is that of the first byte that differs.
    """

    tier: str
    plugin: str
    message: int
    offset: int
    model: str


ModelStop: TypeAlias = Literal[
    "end", "tools", "length", "refusal", "pause", "context", "incomplete"
]


@dataclass(frozen=True, slots=True)
class ModelResponse:
    """A model's response. ``raw`` is the provider's own object, or None.

    ``broken`` says why the request did not continue the previous one; None if it did.
    """

    blocks: tuple[Block, ...]
    stop: ModelStop
    usage: Usage = field(default_factory=Usage)
    raw: Any = None
    model: str = ""
    broken: PrefixBreak | None = None

    @property
    def message(self) -> Message:
        """This response as a message for the history."""
        return Message("assistant", self.blocks)

    @property
    def text(self) -> str:
        """The text blocks, joined by blank lines."""
        return self.message.text


@dataclass(frozen=True, slots=True)
class Wait:
    """A provider waits before it sends a request again.

    ``reason`` is a clause for people, such as ``openai is overloaded``; ``seconds`` is how long
    this wait is.
    """

    reason: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Delta:
    """A chunk of a streamed answer, or an event of the stream (signal ``delta``).

    ``waiting``: the provider delays the request, and ``text`` says why and for how long, for a
    person; ``wait`` has the same as fields, to count down. ``restart``: the stream was interrupted
    and the request is repeated; the text shown so far will be sent again. ``notice``: the provider
    changed the request, and ``text`` says how; core shows it as a notice and does not pass it on.
    """

    text: str
    kind: Literal["text", "thinking", "waiting", "restart", "notice"] = "text"
    wait: Wait | None = None
