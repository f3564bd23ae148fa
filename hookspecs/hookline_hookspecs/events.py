"""What core and plugins exchange: frozen events, verdicts and contributions.

A pipeline hook returns ``dataclasses.replace(event, …)``. New data is added as optional fields,
never as new arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from .frozen import freeze_fields
from .messages import Block, ImageBlock, Message, ToolCall
from .origins import Origin

Slot: TypeAlias = Literal["identity", "guidance", "operator", "memory", "user", "skills", "context", "date", "channel"]
SLOTS: tuple[Slot, ...] = get_args(Slot)
"""The slots of the stable prompt, in the order in which they are sent."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file attached to a message or a reply.

    ``size`` is in bytes, ``mime`` is detected from the content, ``caption`` is the text shown with
    the file.
    """

    path: Path
    mime: str
    name: str
    size: int
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Audio:
    """A voice message.

    ``duration`` is in seconds, 0 if the platform does not report it. ``waveform`` is the loudness
    over time, at most 256 values from 0 to 255, for platforms that display it.
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
        reply_to: the id of the message that this one replies to.
        received: when the channel received it, Unix time in seconds.
        session_id: the session to continue or create; None for the chat's own.
        system: system text from an operator for this turn only, never stored in the session.
        model: ``provider/model`` for this turn only; None for the session's.
        private: True if only this person and the agent can read the chat, None if the channel
            cannot tell.
        addressed: False if the message was not meant for the agent, in a group where it listens.
        thread: the platform's id of the thread the message is in.
        parent: the chat that the thread belongs to.
        sender: the person's display name.
        sent: when it was sent, according to the platform, Unix time in seconds; 0 if unknown.
        quoted: the text of the message that this one replies to.
        kind: what the person did. ``text`` is the label of a pressed button, the emoji of a
            reaction, the new text of an edited message, or the command line of a ``command``
            that the platform reports as one.
        target: the id of the message that a press or reaction applies to; for an edit or deletion,
            the ``message_id`` of the message that was changed or deleted.
        forwarded: from whom the text was forwarded; empty if the person wrote it.
        origins: where the text came from besides the person.
        workspace: the folder that tools work in during this turn; None for the chat's own.
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
    forwarded: str = ""
    origins: tuple[Origin, ...] = ()
    workspace: Path | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation. Times are Unix time in seconds; ``resumed`` is True if it already existed."""

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
    """The price of an input token as a multiple of the price of an uncached one.

    The defaults follow Anthropic's price list; ``write_1h`` is for tokens cached for an hour.
    """

    read: float = 0.1
    write: float = 1.25
    write_1h: float = 2.0


MOST_TOKENS = 10**12
"""More than any count of tokens; what a server says beyond it is taken for it."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or more model calls.

    ``input`` includes tokens read from and written to the cache; ``cache_write`` includes
    ``cache_write_1h``, the tokens cached for an hour. ``input_cost`` is the cost of the input in
    units of one uncached input token; without a cache it would equal ``input``. A count outside 0
    to :data:`MOST_TOKENS`, or that is no number, is set to the nearest of them, or to 0.
    """

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0
    cache_write_1h: int = 0
    input_cost: float = 0.0

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value: Any = getattr(self, name)
            known = value if type(value) in (int, float) and value > 0 else 0
            object.__setattr__(self, name, min(known, MOST_TOKENS))

    @property
    def fresh(self) -> int:
        """Input tokens that were neither read from the cache nor written to it."""
        return max(0, self.input - self.cache_read - self.cache_write)

    def priced(self, price: CachePrice) -> Usage:
        """Return the same usage with ``input_cost`` computed from ``price``."""
        short = self.cache_write - self.cache_write_1h
        written = short * price.write + self.cache_write_1h * price.write_1h
        return replace(self, input_cost=self.fresh + self.cache_read * price.read + written)

    def __add__(self, other: Usage) -> Usage:
        return Usage(*[getattr(self, name) + getattr(other, name) for name in self.__slots__])


Stop: TypeAlias = Literal["", "done", "question", "command", "denied", "max_iterations", "stopped", "error", "budget"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn so far: the inbound message, the work done for it, and the reply.

    ``messages`` are those of this turn only; ``stop`` is empty until the turn has ended.
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
    """The result of a tool call.

    ``text`` is what the model reads, ``notes`` are hints appended after it and never truncated,
    ``data`` is the tool's value for programs. ``seconds`` is how long the tool ran. ``origins`` say
    where the text came from; a ``post_tool`` step may add to them. ``shown`` is what a person reads
    in place of ``text``; empty for the same.
    """

    call: ToolCall
    text: str
    ok: bool = True
    notes: tuple[str, ...] = ()
    data: Any = None
    images: tuple[ImageBlock, ...] = ()
    seconds: float = 0.0
    origins: tuple[Origin, ...] = field(default=(), compare=False)
    shown: str = ""


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool returns when text alone is not enough; core adds the call.

    The fields are those of :class:`ToolResult`. ``ok=False`` tells the model and the plugins that
    the call failed even though it produced output; ``data`` is JSON for programs. Without
    ``origins``, those that the tool declares hold.
    """

    text: str
    ok: bool = field(default=True, kw_only=True)
    notes: tuple[str, ...] = field(default=(), kw_only=True)
    data: Any = field(default=None, kw_only=True)
    images: tuple[ImageBlock, ...] = field(default=(), kw_only=True)
    origins: tuple[Origin, ...] = field(default=(), kw_only=True, compare=False)
    shown: str = field(default="", kw_only=True)


@dataclass(frozen=True, slots=True)
class Deny:
    """Verdict: refused. ``reason`` is a sentence for the model, ``shown`` one for the person; without
    it, both read the reason."""

    reason: str
    shown: str = ""


@dataclass(frozen=True, slots=True)
class Denial:
    """A guard hook returned ``Deny`` (signal ``denied``).

    ``event`` is the event of ``hook`` as ``plugin``, which denied it, received it.
    """

    hook: str
    plugin: str
    event: Any
    reason: str


@dataclass(frozen=True, slots=True)
class Ask:
    """Verdict: a person decides. ``preview`` is literal text they must see, never truncated.

    With ``once`` the answer holds for this call alone: no grant covers it, and none can be given.
    """

    reason: str
    preview: str = ""
    once: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """Verdict: the result is already known (for example, a cache hit); the tool does not run.

    Without ``origins``, those that the tool declares hold.
    """

    text: str
    origins: tuple[Origin, ...] = field(default=(), compare=False)


Verdict: TypeAlias = Deny | Ask | Answer


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the stable system prompt, for one of :data:`SLOTS`."""

    slot: Slot
    text: str


@dataclass(frozen=True, slots=True)
class ContextBlock:
    """A part of this turn's context. ``tag`` names its element; ``text`` is escaped by core.

    Blocks with the same tag are merged. ``items`` are ``(name, text)`` pairs that become named
    child elements, such as ``<skill name="deploy">``; ``item_tag`` is the tag of those elements.
    ``origins`` say where the texts came from.
    """

    tag: str
    text: str = ""
    items: tuple[tuple[str, str], ...] = ()
    item_tag: str = "item"
    origins: tuple[Origin, ...] = field(default=(), compare=False)


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
    conversation.
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
    ``purpose`` is that of the :class:`ModelRequest`; core sets it.
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
    """A request did not repeat bytes that were sent before, so the cache was missed.

    ``tier`` is ``system``, ``tools`` or ``history``; ``plugin`` is the plugin that changed it
    (``core`` if none did); ``message`` is the number of the message, from 1 (0 in the stable tier);
    ``offset`` is that of the first byte that differs.
    """

    tier: str
    plugin: str
    message: int
    offset: int
    model: str


ModelStop: TypeAlias = Literal["end", "tools", "length", "refusal", "pause", "context", "incomplete"]


@dataclass(frozen=True, slots=True)
class ModelResponse:
    """A model's response. ``raw`` is the provider's own object, or None.

    ``broken`` says why the request did not continue the previous one; None if it did.
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
    """Replaces messages ``start`` to ``stop`` (exclusive) of the history with ``messages``."""

    start: int
    stop: int
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Compacted:
    """A history was compacted (signal ``compacted``); the counts are of messages."""

    session: Session
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Delta:
    """A chunk of a streamed answer (signal ``delta``), or what happens to it.

    ``waiting``: the provider makes the request wait, and ``text`` tells a person why and for how
    long. ``restart``: the stream broke off, and the response is asked for again; what was shown of
    it will be repeated.
    """

    text: str
    kind: Literal["text", "thinking", "waiting", "restart"] = "text"


class Refusal(str):
    """The answer ``Deny`` to an approval, with the person's reason, which the model reads."""

    reason: str

    def __new__(cls, reason: str = "") -> Refusal:
        """Create the answer; see the class."""
        self = super().__new__(cls, "Deny")
        self.reason = reason
        return self


Style: TypeAlias = Literal["", "primary", "danger"]


class Choice(str):
    """An answer that a person can choose: the label as a string, with an id and a style.

    A plain string is also a choice; its id is its label.

    Args:
        id: identifies the choice to programs; unique among the choices.
        label: the text shown to the person; the id by default.
        style: the style of the button, on platforms that have styles.
    """

    id: str
    style: Style

    def __new__(cls, id: str, label: str = "", style: Style = "") -> Choice:  # noqa: A002
        """Create a choice; see the class."""
        self = super().__new__(cls, label or id)
        self.id, self.style = id, style
        return self

    def __reduce__(self) -> tuple[type[Choice], tuple[str, str, Style]]:
        return Choice, (self.id, str(self), self.style)

    @property
    def label(self) -> str:
        """The text shown to the person."""
        return str(self)


@dataclass(frozen=True, slots=True)
class Reply:
    """A text to be sent to a person.

    Attributes:
        in_reply_to: the id of the inbound message it answers.
        id: the reply's own id, the same for every delivery attempt.
        choices: what the person can choose from, as text or :class:`Choice`; :attr:`buttons` has
            each of them as a :class:`Choice`.
        repeated: True if a process died while sending this, so that it may already have arrived.
        delivered: in the signal ``reply_sent``, the platform's ids of the messages it was sent as,
            in order. An inbound message whose ``reply_to`` is one of them answers this reply.
        thread: the platform's id of the thread it belongs to.
        audience: the user id of the only person who may see it. A channel that cannot show it to
            them alone sends it to them privately or not at all; it never shows it to others.
        kind: an ``answer``, a ``notice`` in addition to it, or a ``question`` that expects an
            answer.
        person: the user id of who wrote the message it answers.
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
    person: str = ""

    @property
    def buttons(self) -> tuple[Choice, ...]:
        """Each of :attr:`choices` as a :class:`Choice`, with its id and style."""
        return tuple(one if isinstance(one, Choice) else Choice(one) for one in self.choices)


@dataclass(frozen=True, slots=True)
class Lesson:
    """Something to be remembered. ``kind`` is, for example, ``note``, ``fact`` or ``skill``.

    ``origins`` are those of the session that it was learnt in.
    """

    kind: str
    source: str
    text: str
    origins: tuple[Origin, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Text from a file, hint, skill, reference or web page that a model is about to read."""

    kind: str
    source: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a person: a choice the model offers, or an approval.

    ``kind`` is ``clarify`` or ``approval``; an approval has the ``call`` and the ``reason``.
    """

    text: str
    choices: tuple[str, ...] = ()
    preview: str = ""
    kind: Literal["clarify", "approval"] = "clarify"
    call: ToolCall | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """An error in a turn (hook ``on_error``).

    ``kind`` is a provider error's kind (``auth rate overloaded context bad_request network``) or
    ``internal``.
    """

    kind: str
    text: str
    exception: BaseException | None = None


@dataclass(frozen=True, slots=True)
class PluginFailure:
    """A plugin failed (signal ``plugin_failed``); ``off`` is True if that switched it off."""

    plugin: str
    hook: str
    reason: str
    off: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """A completed step of a turn, for observers (``host.watch``).

    ``hook`` is the hook that ``plugin`` implements; for core's own work it is ``model`` (``event``
    is a :class:`WireRequest`, ``result`` a :class:`ModelResponse`) or ``tool`` (a call and its
    result). ``started`` is a value of ``time.perf_counter()``.
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
    """A sentence to the person about the turn, separate from the answer (signal ``notice``)."""

    plugin: str
    text: str
