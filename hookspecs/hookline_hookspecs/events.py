"""What crosses between core and plugins: frozen events, verdicts and contributions.

A pipeline step answers with ``dataclasses.replace(event, …)``. New data arrives as new optional
fields, never as new arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from .frozen import freeze_fields
from .messages import Block, ImageBlock, Message, ToolCall

Slot: TypeAlias = Literal[
    "identity", "guidance", "operator", "memory", "user", "skills", "context", "date", "channel"
]
SLOTS: tuple[Slot, ...] = get_args(Slot)
"""The slots of the stable prompt, in the order in which they are sent."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that came with a message, or goes with a reply.

    ``size`` is in bytes, ``mime`` judged by content, ``caption`` the words shown beside it.
    """

    path: Path
    mime: str
    name: str
    size: int
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Audio:
    """A voice message.

    ``duration`` is in seconds, 0 where the platform does not say. ``waveform`` is its loudness
    over time, at most 256 values from 0 to 255, for platforms that draw it.
    """

    path: Path
    mime: str
    duration: float
    waveform: bytes = b""


InboundKind: TypeAlias = Literal["message", "press", "reaction", "edit", "delete", "command"]


@dataclass(frozen=True, slots=True)
class Inbound:
    """A message from a person, as a channel received it.

    Attributes:
        message_id: the platform's id, unique within the channel.
        reply_to: the id of the message that this one answers.
        received: when the channel received it, Unix time in seconds.
        session_id: a session to continue or create; None for the chat's own.
        system: an operator's text for this one turn, never stored in the session.
        model: ``provider/model`` for this one turn; None for the session's.
        private: True if nobody but this person and the agent reads the chat, None where the
            channel cannot tell.
        addressed: False where the agent was not spoken to, in a group that it only listens to.
        thread: the platform's id of the thread the message is in.
        parent: the chat that the thread belongs to.
        sender: the person's display name.
        sent: when it was sent according to the platform, Unix time in seconds; 0 if unknown.
        quoted: the text of the message that this one answers.
        kind: what the person did. ``text`` is the label of a pressed button, the emoji of a
            reaction, the new text of an edited message, the line of a ``command`` that the
            platform sends as such.
        target: the id of the message that a press, reaction, edit or deletion is about.
    """

    channel: str
    chat_id: str
    user_id: str
    message_id: str
    text: str
    attachments: tuple[Attachment | Audio, ...] = ()
    reply_to: str | None = None
    received: float = 0.0
    session_id: str | None = None
    system: str | None = None
    model: str | None = None
    private: bool | None = None
    addressed: bool = True
    thread: str | None = None
    parent: str | None = None
    sender: str = ""
    sent: float = 0.0
    quoted: str = ""
    kind: InboundKind = "message"
    target: str | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation. Times are Unix seconds; ``resumed`` is true when it was taken up again."""

    id: str
    channel: str
    chat_id: str
    title: str | None
    created: float
    resumed: bool = False
    parent_id: str | None = None
    kind: str = "chat"


@dataclass(frozen=True, slots=True)
class CachePrice:
    """What a token of input costs, as a multiple of a fresh one.

    The default is Anthropic's price list; ``write_1h`` is for what is kept for an hour.
    """

    read: float = 0.1
    write: float = 1.25
    write_1h: float = 2.0


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or more model calls.

    ``input`` includes what was read from and written to the cache; ``cache_write`` includes
    ``cache_write_1h``, which is kept for an hour. ``input_cost`` is what the input cost in units
    of one fresh token of input; without a cache it would be ``input``.
    """

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0
    cache_write_1h: int = 0
    input_cost: float = 0.0

    @property
    def fresh(self) -> int:
        """Tokens of input that were neither read from the cache nor written to it."""
        return self.input - self.cache_read - self.cache_write

    def priced(self, price: CachePrice) -> Usage:
        """The same tokens with their ``input_cost``."""
        short = self.cache_write - self.cache_write_1h
        written = short * price.write + self.cache_write_1h * price.write_1h
        return replace(self, input_cost=self.fresh + self.cache_read * price.read + written)

    def __add__(self, other: Usage) -> Usage:
        return Usage(*[getattr(self, name) + getattr(other, name) for name in self.__slots__])


Stop: TypeAlias = Literal[
    "", "done", "question", "command", "denied", "max_iterations", "stopped", "error", "budget"
]


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn so far: a message, what was done about it, and the reply.

    ``messages`` are this turn's own; ``stop`` is empty until the turn has ended.
    """

    id: str
    session: Session
    inbound: Inbound
    messages: tuple[Message, ...] = ()
    tool_calls: tuple[ToolResult, ...] = ()
    reply: str = ""
    usage: Usage = Usage()
    stop: Stop = ""
    iterations: int = 0


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool call came to.

    ``text`` is what the model reads, ``notes`` are hints appended after it and never cut,
    ``data`` is the tool's value for programs. ``seconds`` is how long the tool ran.
    """

    call: ToolCall
    text: str
    ok: bool = True
    notes: tuple[str, ...] = ()
    data: Any = None
    images: tuple[ImageBlock, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool returns where text alone does not say it all; core adds the call.

    The fields are those of :class:`ToolResult`. ``ok=False`` tells the model and the plugins that
    the call failed although there is something to read; ``data`` is JSON for programs.
    """

    text: str
    ok: bool = field(default=True, kw_only=True)
    notes: tuple[str, ...] = field(default=(), kw_only=True)
    data: Any = field(default=None, kw_only=True)
    images: tuple[ImageBlock, ...] = field(default=(), kw_only=True)


@dataclass(frozen=True, slots=True)
class Deny:
    """Verdict: no. ``reason`` is a sentence for the model and the person."""

    reason: str


@dataclass(frozen=True, slots=True)
class Denial:
    """A gate or a veto has ended in ``Deny`` (signal ``denied``).

    ``plugin`` denied ``event``, the event of ``hook`` as that plugin was given it.
    """

    hook: str
    plugin: str
    event: Any
    reason: str


@dataclass(frozen=True, slots=True)
class Ask:
    """Verdict: a person decides. ``preview`` is the literal text they must see, never cut."""

    reason: str
    preview: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """Verdict: the result is already known (a cache hit, say); the tool does not run."""

    text: str


Verdict: TypeAlias = Deny | Ask | Answer


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the stable system prompt, for one of :data:`SLOTS`."""

    slot: Slot
    text: str


@dataclass(frozen=True, slots=True)
class ContextBlock:
    """A part of this turn's context. ``tag`` names its element; ``text`` is escaped by core.

    Blocks of one tag are merged. ``items`` are ``(name, text)`` pairs that become named child
    elements, such as ``<skill name="deploy">``; ``item_tag`` is their tag.
    """

    tag: str
    text: str = ""
    items: tuple[tuple[str, str], ...] = ()
    item_tag: str = "item"


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool as a model sees it. ``parameters`` is a JSON schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, Any]

    def __post_init__(self) -> None:
        freeze_fields(self, "parameters")


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request to a model, before any provider has rendered it.

    ``model`` is ``provider/model``. ``context`` holds the blocks of this turn; core renders them
    into the sidecar of the turn's user message. ``params`` are neutral settings: ``stream``
    (bool), ``max_tokens`` (int), ``tool_choice`` (``auto`` or ``none``), ``temperature``,
    ``schema`` (a JSON schema the answer must follow). ``ephemeral`` is system text for this call
    alone. ``purpose`` is ``turn``, or ``auxiliary`` for a question beside the conversation.
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

    def __post_init__(self) -> None:
        freeze_fields(self, "params")


class Fragment(bytes):
    """Encoded JSON of one message (or of the system or tools part) with places for markers.

    ``cuts`` are byte offsets, one for each content block, at which ``,"cache_control":{…}`` may
    be inserted; -1 where a block may not carry a marker. ``role`` is the ``Message.speaker`` of
    the message, empty for the tools and system parts and where the provider does not say.
    """

    cuts: tuple[int, ...]
    role: str

    def __new__(cls, data: bytes, cuts: tuple[int, ...] = (), role: str = "") -> Fragment:
        """``data`` as it goes on the wire, and the places in it."""
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
    stays as it was rendered. ``ttl`` is for how many seconds the provider keeps what is sent.
    ``purpose`` is the request's; core sets it.
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

    def __post_init__(self) -> None:
        freeze_fields(self, "fields", "stable")


@dataclass(frozen=True, slots=True)
class PrefixBreak:
    """Bytes that were sent before were not sent again, so that the cache was missed.

    ``tier`` is ``system``, ``tools`` or ``history``, ``plugin`` who changed it (``core`` if
    nobody did), ``message`` the number of the message from 1 (0 in the stable tier) and
    ``offset`` the first byte of it that differs.
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
    """What a model answered. ``raw`` is the provider's own object, or None.

    ``broken`` tells what kept the request from being a continuation of the one before.
    """

    blocks: tuple[Block, ...]
    stop: ModelStop
    usage: Usage = Usage()
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
class Rewrite:
    """Messages ``start`` to ``stop`` (exclusive) of the history become ``messages``."""

    start: int
    stop: int
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Compacted:
    """A history has been shortened (signal ``compacted``); counts of messages."""

    session: Session
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a streamed answer (signal ``delta``)."""

    text: str
    kind: Literal["text", "thinking"] = "text"


Style: TypeAlias = Literal["", "primary", "danger"]


class Choice(str):
    """An answer that a person can choose: its label as a string, with an id and a style.

    A plain string is a choice too, whose id is its label.

    Args:
        id: what names the choice to programs, unique among the choices.
        label: what the person reads; the id where it is left out.
        style: how a button looks where the platform has styles.
    """

    id: str
    style: Style

    def __new__(cls, id: str, label: str = "", style: Style = "") -> Choice:  # noqa: A002
        """A choice; see the class."""
        self = super().__new__(cls, label or id)
        self.id, self.style = id, style
        return self

    def __reduce__(self) -> tuple[type[Choice], tuple[str, str, Style]]:
        return Choice, (self.id, str(self), self.style)

    @property
    def label(self) -> str:
        """What the person reads."""
        return str(self)


@dataclass(frozen=True, slots=True)
class Reply:
    """A text on its way to a person.

    Attributes:
        in_reply_to: the inbound message's id.
        id: the reply's own, the same at each attempt to deliver it.
        choices: what the person can choose from, as text or :class:`Choice`; :attr:`buttons` has
            every one as a :class:`Choice`.
        repeated: True if a process died while it sent this, so that it may have arrived already.
        delivered: the platform's ids of the messages it became, in order, in the signal
            ``reply_sent``. An inbound message whose ``reply_to`` is one of them answers it.
        thread: the platform's id of the thread it belongs to.
        audience: the user id of the only person who may see it. A channel that cannot show it to
            them alone writes to them privately or leaves it out; it never shows it to others.
        kind: an ``answer``, a ``notice`` beside it, or a ``question`` that waits for an answer.
    """

    session: Session
    text: str
    attachments: tuple[Attachment | Audio, ...] = ()
    in_reply_to: str | None = None
    id: str = ""
    choices: tuple[str, ...] = ()
    repeated: bool = False
    delivered: tuple[str, ...] = ()
    thread: str | None = None
    audience: str | None = None
    kind: Literal["answer", "notice", "question"] = "answer"

    @property
    def buttons(self) -> tuple[Choice, ...]:
        """Every one of :attr:`choices` with its id and style."""
        return tuple(one if isinstance(one, Choice) else Choice(one) for one in self.choices)


@dataclass(frozen=True, slots=True)
class Lesson:
    """Something that will be remembered. ``kind`` such as ``note``, ``fact``, ``skill``."""

    kind: str
    source: str
    text: str


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Text from a file, hint, skill, reference or web page that a model is about to read."""

    kind: str
    source: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question on its way to a person: a choice the model offers or an approval.

    ``kind`` is ``clarify`` or ``approval``; an approval carries its ``call`` and its ``reason``.
    """

    text: str
    choices: tuple[str, ...] = ()
    preview: str = ""
    kind: Literal["clarify", "approval"] = "clarify"
    call: ToolCall | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that went wrong in a turn (hook ``on_error``).

    ``kind`` is a provider error's kind (``auth rate overloaded context bad_request network``) or
    ``internal``.
    """

    kind: str
    text: str
    exception: BaseException | None = None


@dataclass(frozen=True, slots=True)
class PluginFailure:
    """A plugin failed (signal ``plugin_failed``); ``off`` when it was switched off for it."""

    plugin: str
    hook: str
    reason: str
    off: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a turn that has been made, for who watches (``host.watch``).

    ``hook`` is the hook that ``plugin`` implements; for core's own work it is ``model`` (``event``
    a :class:`WireRequest`, ``result`` a :class:`ModelResponse`) or ``tool`` (a call and its
    result). ``started`` is ``time.perf_counter()``.
    """

    hook: str
    plugin: str
    kind: str
    event: Any
    result: Any
    started: float
    seconds: float
    failure: BaseException | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence for the person about the turn, not part of the answer (signal ``notice``)."""

    plugin: str
    text: str
