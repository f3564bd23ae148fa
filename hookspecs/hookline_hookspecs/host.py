"""What core offers to plugins: the host, the context of a hook, and their services.

These are protocols, so that a plugin needs nothing of core to be written and type-checked.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, Protocol, TypeAlias, TypeVar

from .events import Inbound, Question, Reply, Rewrite, Session, Step, Turn

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncGenerator, Container
    from contextlib import AbstractAsyncContextManager

    from .drivers import ProviderSettings
    from .messages import Message
    from .tools import Tool

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Row: TypeAlias = Mapping[str, Any]


class Transaction(Protocol):
    """A running transaction; its methods are synchronous. ``name`` is a query of the plugin's
    ``sql`` folder; a raising function rolls everything back."""

    def fetch(self, name: str, /, **params: Any) -> list[Row]:
        """The rows of the named query."""

    def execute(self, name: str, /, **params: Any) -> int:
        """Run the named statement; the number of rows it touched."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A search result; a higher ``score`` fits better."""

    key: str
    score: float
    text: str


class SearchIndex(Protocol):
    """Full text over a plugin's own documents. Any text is a valid query; CJK works."""

    async def put(self, key: str, text: str) -> None:
        """Add or replace the document ``key``."""

    async def delete(self, key: str) -> None:
        """Remove the document ``key``, if there."""

    async def query(self, text: str, limit: int = 10) -> list[Hit]:
        """The best documents that hold every word of ``text``, best first."""


class KeyValue(Protocol):
    """Small JSON values under names, private to the plugin and durable."""

    async def get(self, key: str, default: Any = None) -> Any:
        """The value of ``key``."""

    async def set(self, key: str, value: Any) -> None:
        """Store a JSON value."""

    async def delete(self, key: str) -> None:
        """Remove ``key``, if there."""

    async def keys(self, prefix: str = "") -> list[str]:
        """The stored keys that start with ``prefix``, sorted."""


class Storage(Protocol):
    """A plugin's own storage.

    Tables come from ``migrations/NNNN_name.sql`` beside the plugin's module (their names start
    with the plugin's), queries from ``sql/*.sql`` (``-- name: recent_facts``,
    ``-- name: add_fact!`` for a write).
    """

    dir: Path
    """A folder of the plugin's own, made on first use, mode 0700."""

    kv: KeyValue
    """Small JSON values."""

    search: SearchIndex
    """Full text over the plugin's documents."""

    async def fetch(self, name: str, /, **params: Any) -> list[Row]:
        """The rows of a named query."""

    async def execute(self, name: str, /, **params: Any) -> int:
        """Run a named statement; the number of rows it touched."""

    async def transact(self, work: Callable[[Transaction], T]) -> T:
        """Run a synchronous function in one transaction and return what it returns."""


class HttpResponse(Protocol):
    """A response whose body has been read, within the limits, or of :meth:`Http.stream`."""

    status: int
    """The HTTP status."""

    url: str
    """Where the last redirect led."""

    headers: Mapping[str, str]
    """Headers, names in lower case."""

    body: bytes
    """The decompressed body; empty while it is streamed."""

    def chunks(self) -> AsyncGenerator[bytes, None]:
        """The decompressed body in pieces of 1 MiB at most, as it comes. Raises as
        :meth:`Http.get` does."""


class Http(Protocol):
    """A client for URLs that a model or a user can choose. Private addresses are refused.

    Options of a request: ``headers``; ``params``, added to the query; ``content`` (bytes) or
    ``json`` as the body; ``timeout`` in seconds for the whole call, redirects and body included
    (15); ``max_bytes`` of the body, decompressed (5,000,000), over which it fails; ``before``, an
    async function that is awaited with the URL of every hop, redirects included, before it is
    asked for, and whose exception ends the call.
    """

    def judge(self, url: str) -> str | None:
        """Why ``url`` would be refused as far as its text tells, or None; looks nothing up."""

    async def get(self, url: str, **options: Any) -> HttpResponse:
        """GET ``url`` and read the body. Raises ``Refused`` for what is not allowed and another
        ``HooklineError`` for what did not work, with sentences; an HTTP status raises nothing."""

    async def request(self, method: str, url: str, **options: Any) -> HttpResponse:
        """As :meth:`get`, with any method."""

    def stream(
        self, method: str, url: str, **options: Any
    ) -> AbstractAsyncContextManager[HttpResponse]:
        """As :meth:`request`, but the body is read by the block, through ``chunks``."""


class Paths(Protocol):
    """Guarded files: inside the workspace or an allowed root, links resolved, no secret files."""

    workspace: Path
    """Where relative paths start."""

    def resolve(self, path: str, *, base: Path | None = None) -> Path:
        """The real path of what a model or user wrote. Raises a ``PermissionError`` kin."""

    def judge(self, path: str) -> str | None:
        """Why ``path`` would be refused, or None."""

    def open_read(self, path: Path) -> BinaryIO:
        """Open a regular file for reading, without a race after :meth:`resolve`."""

    def walk(self, root: Path, *, skip: Container[str] = (), limit: int = 100000) -> Iterator[Path]:
        """The files below ``root`` that may be read, without folders named in ``skip``. Ends
        after ``limit`` directory entries."""


class Signals(Protocol):
    """Telling, afterwards. A receiver is called as ``receiver(event, ctx=…)``."""

    def connect(self, name: str, receiver: Callable[..., Any]) -> None:
        """Subscribe to the signal ``name`` until the plugin is torn down."""

    def disconnect(self, name: str, receiver: Callable[..., Any]) -> None:
        """Unsubscribe."""

    def send(self, name: str, event: object) -> None:
        """Tell others; each receiver is isolated."""


class ServiceType(Protocol[T_co]):
    """A class that names a service, as type checkers see it; unlike ``type[T]`` it may be a
    protocol. Never called."""

    def __call__(self, *args: Any, **kwargs: Any) -> T_co:
        """What the class is of."""


class Services(Protocol):
    """How plugins offer something to each other without importing each other.

    A service is named by its protocol: ``host.services[Access]`` is an ``Access``.
    """

    def provide(self, protocol: ServiceType[T], service: T) -> None:
        """Offer ``service`` under ``protocol`` until the plugin is torn down.

        Raises ``ValueError`` if another plugin offers it already.
        """

    def __getitem__(self, protocol: ServiceType[T]) -> T:
        """The service offered under ``protocol``. Raises ``KeyError`` with a sentence."""

    def get(self, protocol: ServiceType[T]) -> T | None:
        """The service, or None."""

    def add(self, protocol: ServiceType[T], service: T) -> None:
        """Offer ``service`` beside those that other plugins add under ``protocol``, until the
        plugin is torn down."""

    def all(self, protocol: ServiceType[T]) -> list[T]:
        """Every service that was added under ``protocol``, in the order of the plugins' setup."""


class Config(Protocol):
    """The effective core configuration, read-only.

    ``model`` is ``provider/model``, None where the environment decides; ``auxiliary_model`` the one
    for titles, summaries and reviews, None = the session's; ``fallback_models`` in their order;
    ``workspace`` where tools work; ``max_iterations`` the most model calls in one turn; ``trace``
    whether turns are traced.
    """

    model: str | None
    auxiliary_model: str | None
    fallback_models: list[str]
    workspace: str
    max_iterations: int
    trace: bool


class Host(Protocol):
    """A plugin's view of core; one for each plugin."""

    plugin: str
    """The plugin's name."""

    home: Path
    """Hookline's own folder."""

    config: Config
    """The effective core configuration, read-only."""

    env: Mapping[str, str]
    """The environment, with the home's ``.env`` below it."""

    storage: Storage
    """The plugin's own storage."""

    http: Http
    """The guarded client."""

    paths: Paths
    """Guarded files of the process's workspace; in a turn use ``ctx.paths``."""

    signals: Signals
    """Signals to listen to and to send."""

    services: Services
    """What plugins offer each other."""

    log: logging.Logger
    """The plugin's log."""

    def now(self) -> float:
        """Unix time in seconds of the clock that TTLs, expiry and idle times use."""

    async def ask_model(
        self,
        prompt: str,
        *,
        system: str | None = None,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        ctx: Context | None = None,
        session_id: str | None = None,
    ) -> str:
        """Ask the auxiliary model once, for background work; with a context at hand use
        :meth:`Context.ask_model`.

        The session of ``ctx``, or the stored one of ``session_id``, chooses the model and is
        charged. Without either no session is. Raises ``ProviderError``, and ``LookupError`` if
        there is no such session.
        """

    def provider(self, name: str) -> ProviderSettings:
        """How the provider ``name`` is reached. Raises, with a sentence, if its section in
        config.yaml is wrong."""

    def spawn(self, coro: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Run background work that is cancelled when the plugin is torn down."""

    async def read(
        self,
        text: str,
        source: str,
        kind: str = "file",
        *,
        ctx: Context | None = None,
        session_id: str | None = None,
    ) -> str:
        """Return ``text`` after the gate ``pre_read``, for background work; with a context at hand
        use :meth:`Context.read`.

        Guards see the session of ``ctx``, or the stored one of ``session_id``. Raises ``Refused``
        with the reason, and ``LookupError`` if there is no such session.
        """

    async def learn(
        self,
        text: str,
        source: str,
        kind: str,
        *,
        ctx: Context | None = None,
        session_id: str | None = None,
    ) -> str:
        """Return ``text`` after the gate ``pre_learn``, for background work; with a context at hand
        use :meth:`Context.learn`.

        Guards see the session of ``ctx``, or the stored one of ``session_id``. Raises ``Refused``
        with the reason, and ``LookupError`` if there is no such session.
        """

    def channels(self) -> list[Channel]:
        """Every channel that the plugins have registered."""

    async def receive(self, inbound: Inbound) -> bool:
        """Take an inbound message, for channels.

        It is stored durably when this returns, so that the channel may acknowledge it; everything
        else happens later. Returns False if it was there already. Raises ``StoreError`` if it could
        not be stored.
        """

    async def run_turn(
        self,
        prompt: str,
        *,
        parent: Context | None = None,
        session_id: str | None = None,
        tools: Sequence[str] | None = None,
        system: str | None = None,
        kind: str = "agent",
    ) -> Turn:
        """Run a turn of its own session (sub-agent, scheduled work) through the same path."""

    async def fork(
        self,
        session_id: str,
        prompt: str,
        *,
        model: str | None = None,
        kind: str = "review",
        max_iterations: int | None = None,
    ) -> Turn:
        """Run a turn that goes on from a copy of a session, which stays as it is.

        It sends the session's own prefix, so that this is read from the provider's cache, and
        then ``prompt``; ``model`` is the ``provider/model`` that the prefix was sent to, if it
        was not the session's. The turn belongs to a new session of this ``kind`` whose parent is
        ``session_id``. Every hook sees it; nobody can be asked in it. A model that still calls
        tools in its response number ``max_iterations`` gets them run and is not asked again: the
        turn ends with the stop ``max_iterations`` and an empty reply. Raises ``LookupError`` if
        there is no such session.
        """

    async def set_title(self, session_id: str, title: str) -> None:
        """Give a session its title, at most 200 characters."""

    async def sessions(self, **filters: Any) -> list[Session]:
        """Stored sessions, newest first: ``channel``, ``chat_id``, ``kind``, ``limit`` (50)."""

    async def messages(self, session_id: str) -> list[Message]:
        """The stored messages of a session, without sidecars."""

    def registered(self, kind: type[T]) -> list[tuple[str, T]]:
        """Every :class:`Job`, :class:`Route`, :class:`Reviewer` or :class:`Check` that the
        plugins register, with each plugin's name."""

    def tools(self) -> Iterable[Tool]:
        """Every tool that is registered now."""

    def window(self, model: str | None = None) -> int:
        """The context window of ``provider/model``, or of the default model, in tokens; 128,000
        where it is not known. In a turn use :meth:`Context.window`."""

    def watch(self, observer: Callable[[Context | None, Step], None]) -> None:
        """Show every step of every turn to ``observer``, until the plugin is torn down."""


class Stash(dict[str, Any]):
    """A plugin's own state for one turn; ``session`` is the same for the session's lifetime
    in this process."""

    session: dict[str, Any]

    def of(self, kind: type[T]) -> T:
        """The turn's one instance of ``kind``, made on first use."""
        key = f"{kind.__module__}.{kind.__qualname__}"
        if key not in self:
            self[key] = kind()
        found: T = self[key]
        return found


class Context(Protocol):
    """What every hook of a turn receives first."""

    session: Session
    """The session."""

    turn: Turn
    """The turn so far."""

    channel: str
    """The name of the channel the message came by."""

    stash: Stash
    """The plugin's own state for this turn."""

    host: Host
    """The plugin's host."""

    log: logging.Logger
    """The plugin's log."""

    model: str
    """The turn's ``provider/model``, or the session's. Raises ``HooklineError`` kin if none
    is configured."""

    history: tuple[Message, ...]
    """The session's messages as they are sent, with the context blocks that are replayed."""

    async def rewrite(self, changes: Sequence[Rewrite]) -> tuple[Message, ...]:
        """Replace parts of :attr:`history` for good and return the new one.

        The originals stay in the store for search and export. Runs ``pre_compact`` first, drops
        the context blocks of earlier turns and sends ``compacted``. Parts may not overlap; a
        part becomes as many messages as it had or fewer, and the running turn's own user
        message stays. Raises ``ValueError`` otherwise.
        """

    operator: bool
    """True in the terminal, and where the plugin that offers :class:`Access` says so."""

    interactive: bool
    """True if a person can be asked in this turn."""

    paths: Paths
    """Guarded files of this session's workspace."""

    tool: Tool | None
    """The tool of the call at hand, in the tool hooks."""

    def notify(self, text: str) -> None:
        """Tell the person a sentence beside the answer."""

    async def ask_model(
        self,
        prompt: str,
        *,
        system: str | None = None,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
    ) -> str:
        """Ask the auxiliary model once and charge the session for it.

        Without an ``auxiliary_model`` in config.yaml the session's own model answers, as
        ``/model`` set it. ``schema`` is a JSON schema the answer must follow. Guards see this
        context. Raises ``ProviderError``.
        """

    async def read(self, text: str, source: str, kind: str = "file") -> str:
        """Return ``text``, which a model is about to read, after the gate ``pre_read``.

        ``source`` says where it comes from, such as a path or a URL. Raises ``Refused`` with the
        reason.
        """

    async def learn(self, text: str, source: str, kind: str) -> str:
        """Return ``text``, which is about to be remembered, after the gate ``pre_learn``.

        Raises ``Refused`` with the reason.
        """

    def window(self, model: str | None = None) -> int:
        """The context window of ``provider/model``, or of :attr:`model`, in tokens; 128,000 where
        it is not known."""

    async def ask(self, question: Question) -> str | None:
        """Put a question to a person now; None if nobody can answer."""


class Access(Protocol):
    """Who may do what on network channels; offered by a plugin."""

    async def may_write(self, channel: str, user_id: str) -> bool:
        """Whether this person's messages are let in, so that a channel need not fetch the files of
        others. Every message still passes ``on_message``, which decides."""

    def is_operator(self, inbound: Inbound) -> bool:
        """True for an admin's message in a chat where nobody else reads."""


class ArtifactKeeper(Protocol):
    """Who keeps large texts for the model's tool ``fetch_artifact``; offered by a plugin."""

    async def keep(self, ctx: Context, text: str) -> str:
        """Keep ``text`` for the chat of ``ctx`` and return its id; an equal one has the same.
        Raises ``StoreError``."""


Feature: TypeAlias = Literal[
    "edits", "threads", "reactions", "ephemeral", "voice", "files", "typing"
]
"""What a platform can do; see :class:`Channel`."""


class Channel(Protocol):
    """A way people reach the agent. Registered by ``register_channels``.

    What comes in is handed to the host's ``receive``: once that has returned the message is stored
    durably, and the channel may acknowledge it to the platform.

    ``edits``: a sent message can be edited (streaming). ``network``: other people can write in.
    A channel may have an attribute ``can``, a frozenset of what its platform can do
    (:func:`features` reads it): ``edits``; ``threads``, then it is a :class:`Threading`;
    ``reactions``, then it is a :class:`Reacting`; ``ephemeral``, a reply for one person in a chat
    of several; ``voice`` and ``files`` out; ``typing``, to show that somebody writes.
    """

    name: str
    edits: bool
    network: bool

    async def start(self) -> None:
        """Connect; return when messages are being received."""

    async def wait(self) -> None:
        """Return when the channel receives nothing more; raise why, if receiving has failed."""

    async def stop(self) -> None:
        """Disconnect."""

    async def send(self, reply: Reply) -> str | Sequence[str] | None:
        """Deliver a reply and return the platform's ids of the messages it became, in order; a
        single one may be a string. Works after :meth:`stop` too.

        Raising means: try again later, on a network channel after the seconds in the exception's
        ``retry_after``, where it has one; elsewhere with the chat's next reply.
        """


class Reacting(Protocol):
    """A channel whose platform has reactions; its ``can`` holds ``reactions``."""

    async def react(self, chat_id: str, message_id: str, emoji: str | None) -> None:
        """Show the agent's reaction to a message, in place of an earlier one; None removes it."""


class Threading(Protocol):
    """A channel whose platform has threads; its ``can`` holds ``threads``."""

    async def open_thread(self, chat_id: str, message_id: str) -> str:
        """Begin a thread at a message, or find the one that is there; its id."""


def features(channel: Channel) -> frozenset[Feature]:
    """What the channel's platform can do; of a channel without ``can``, whether it edits."""
    told: frozenset[Feature] | None = getattr(channel, "can", None)
    if told is not None:
        return told
    return frozenset({"edits"}) if channel.edits else frozenset()


def message_ids(sent: str | Sequence[str] | None) -> tuple[str, ...]:
    """What :meth:`Channel.send` returned, as a tuple."""
    if sent is None:
        return ()
    return (sent,) if isinstance(sent, str) else tuple(sent)
