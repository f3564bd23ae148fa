"""What core offers to plugins: the host, the context of a hook, and their services.

These are protocols, so a plugin can be written and type-checked without importing core.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, Protocol, TypeAlias, TypeVar

from .events import Inbound, Question, Reply, Rewrite, Session, Step, Turn
from .origins import Effect, Origin

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncGenerator, Container
    from contextlib import AbstractAsyncContextManager

    from .drivers import ProviderSettings
    from .messages import Message, ToolCall
    from .tools import Tool

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Row: TypeAlias = Mapping[str, Any]


class Transaction(Protocol):
    """An open transaction; its methods are synchronous. ``name`` is a query in the plugin's
    ``sql`` folder. If the function raises, everything is rolled back."""

    def fetch(self, name: str, /, **params: Any) -> list[Row]:
        """Return the rows of the named query."""

    def execute(self, name: str, /, **params: Any) -> int:
        """Run the named statement and return the number of rows it affected."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A search result; a higher ``score`` is a better match."""

    key: str
    score: float
    text: str


class SearchIndex(Protocol):
    """Full-text search over a plugin's own documents. Any text is a valid query; CJK works."""

    async def put(self, key: str, text: str) -> None:
        """Add or replace the document ``key``."""

    async def delete(self, key: str) -> None:
        """Remove the document ``key``, if it exists."""

    async def query(self, text: str, limit: int = 10) -> list[Hit]:
        """Return the documents that contain every word of ``text``, best match first."""


class KeyValue(Protocol):
    """Small named JSON values, private to the plugin and durable."""

    async def get(self, key: str, default: Any = None) -> Any:
        """Return the value of ``key``, or ``default``."""

    async def set(self, key: str, value: Any) -> None:
        """Store a JSON value."""

    async def delete(self, key: str) -> None:
        """Remove ``key``, if it exists."""

    async def keys(self, prefix: str = "") -> list[str]:
        """Return the stored keys that start with ``prefix``, sorted."""


class Storage(Protocol):
    """A plugin's own storage.

    Tables come from ``migrations/NNNN_name.sql`` next to the plugin's module (table names start
    with the plugin's name), queries from ``sql/*.sql`` (``-- name: recent_facts``,
    ``-- name: add_fact!`` for a write).
    """

    dir: Path
    """The plugin's own folder, created on first use with mode 0700."""

    kv: KeyValue
    """Small JSON values."""

    search: SearchIndex
    """Full-text search over the plugin's documents."""

    async def fetch(self, name: str, /, **params: Any) -> list[Row]:
        """Return the rows of a named query."""

    async def execute(self, name: str, /, **params: Any) -> int:
        """Run a named statement and return the number of rows it affected."""

    async def transact(self, work: Callable[[Transaction], T]) -> T:
        """Run a synchronous function in one transaction and return its result."""


class HttpResponse(Protocol):
    """A response, with its body read, or from :meth:`Http.stream`, to be read by :meth:`chunks`."""

    status: int
    """The HTTP status."""

    url: str
    """The URL after all redirects."""

    headers: Mapping[str, str]
    """The headers; names are in lower case."""

    body: bytes
    """The decompressed body; empty while it is streamed."""

    def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the decompressed body in chunks of at most 1 MiB as it arrives. Raises the same
        errors as :meth:`Http.get`."""


class Http(Protocol):
    """A client for URLs that a model or a user can choose. Private addresses are refused.

    Request options: ``headers``; ``params``, added to the query; ``content`` (bytes) or ``json``
    as the body; ``timeout`` in seconds for the whole call, including redirects and the body (15);
    ``max_bytes``, the size of the decompressed body above which the call fails (5,000,000);
    ``before``, an async function awaited with each URL, including redirects, before it is
    requested. If it raises, the call ends with its exception.
    """

    def judge(self, url: str) -> str | None:
        """Return why the text of ``url`` would be refused, or None; does no DNS lookup."""

    async def get(self, url: str, **options: Any) -> HttpResponse:
        """GET ``url`` and read the body. Raises ``Refused`` if the URL is not allowed and another
        ``HooklineError`` if the request fails. An HTTP error status does not raise."""

    async def request(self, method: str, url: str, **options: Any) -> HttpResponse:
        """Like :meth:`get`, with any method."""

    def stream(self, method: str, url: str, **options: Any) -> AbstractAsyncContextManager[HttpResponse]:
        """Like :meth:`request`, but the ``async with`` block reads the body through ``chunks``."""

    async def connect(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a TCP connection to ``host``, for a proxy or another protocol. Raises like :meth:`get`."""


class Paths(Protocol):
    """Guarded file access: inside the workspace or an allowed root, with symbolic links resolved,
    and never to secret files."""

    workspace: Path
    """The folder that relative paths are resolved against."""

    def resolve(self, path: str, *, base: Path | None = None) -> Path:
        """Return the real path of what a model or user wrote. Raises ``PermissionError``."""

    def judge(self, path: str) -> str | None:
        """Return why ``path`` would be refused, or None."""

    def caution(self, path: str) -> str | None:
        """Return why a person should approve writing to ``path``, or None: programs run it or
        agents follow it by themselves."""

    def open_read(self, path: Path) -> BinaryIO:
        """Open a regular file for reading, with no race between :meth:`resolve` and opening."""

    def walk(self, root: Path, *, skip: Container[str] = (), limit: int = 100000) -> Iterator[Path]:
        """Yield the readable files below ``root``, except in folders named in ``skip``. Stops after
        ``limit`` directory entries."""


class Signals(Protocol):
    """Notifications sent after the fact. A receiver is called as ``receiver(event, ctx=…)``."""

    def connect(self, name: str, receiver: Callable[..., Any]) -> None:
        """Subscribe ``receiver`` to the signal ``name`` until the plugin is torn down."""

    def disconnect(self, name: str, receiver: Callable[..., Any]) -> None:
        """Unsubscribe ``receiver`` from the signal ``name``."""

    def send(self, name: str, event: object) -> None:
        """Send ``event`` to every receiver; an error in one does not affect the others."""


class ServiceType(Protocol[T_co]):
    """The class that identifies a service, for type checkers; unlike ``type[T]`` it may be a
    protocol. Never called."""

    def __call__(self, *args: Any, **kwargs: Any) -> T_co:
        """Return an instance of the class."""


class Services(Protocol):
    """Lets plugins offer services to each other without importing each other.

    A service is identified by its protocol: ``host.services[Access]`` is an ``Access``.
    """

    def provide(self, protocol: ServiceType[T], service: T) -> None:
        """Offer ``service`` under ``protocol`` until the plugin is torn down.

        Raises ``ValueError`` if another plugin already offers it.
        """

    def __getitem__(self, protocol: ServiceType[T]) -> T:
        """Return the service offered under ``protocol``. Raises ``KeyError`` if there is none."""

    def get(self, protocol: ServiceType[T]) -> T | None:
        """Return the service offered under ``protocol``, or None."""

    def add(self, protocol: ServiceType[T], service: T) -> None:
        """Offer ``service`` in addition to those that other plugins add under ``protocol``, until
        the plugin is torn down."""

    def all(self, protocol: ServiceType[T]) -> list[T]:
        """Return every service added under ``protocol``, in the order of the plugins' setup."""


class Config(Protocol):
    """The effective core configuration, read-only.

    ``model`` is ``provider/model``, or None if the environment decides; ``auxiliary_model`` is the
    model for titles, summaries and reviews, None for the session's; ``fallback_models`` are tried
    in order; ``workspace`` is the folder tools work in; ``max_iterations`` is the maximum number of
    model calls in one turn; ``trace`` says whether turns are traced.
    """

    model: str | None
    auxiliary_model: str | None
    fallback_models: list[str]
    workspace: str
    max_iterations: int
    trace: bool


class Host(Protocol):
    """A plugin's view of core; each plugin has its own."""

    plugin: str
    """The plugin's name."""

    home: Path
    """Hookline's home folder."""

    config: Config
    """The effective core configuration, read-only."""

    env: Mapping[str, str]
    """The process environment, on top of the variables in the home's ``.env``."""

    storage: Storage
    """The plugin's own storage."""

    http: Http
    """The guarded HTTP client."""

    paths: Paths
    """Guarded access to files of the process's workspace; in a turn, use ``ctx.paths``."""

    signals: Signals
    """Signals to listen to and to send."""

    services: Services
    """The services that plugins offer each other."""

    log: logging.Logger
    """The plugin's logger."""

    def now(self) -> float:
        """Return Unix time in seconds, from the clock that TTLs, expiry and idle times use."""

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
        """Ask the auxiliary model once, for background work. Where you have a context, use
        :meth:`Context.ask_model`.

        The session of ``ctx``, or the stored session ``session_id``, determines the model and is
        charged; without either, no session is. Raises ``ProviderError``, and ``LookupError`` if
        there is no such session.
        """

    def provider(self, name: str) -> ProviderSettings:
        """Return the settings of the provider ``name``. Raises ``HooklineError`` if its section in
        config.yaml is invalid."""

    def spawn(self, coro: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Run ``coro`` in the background; it is cancelled when the plugin is torn down."""

    async def read(
        self, text: str, source: str, kind: str = "file", *, ctx: Context | None = None, session_id: str | None = None
    ) -> str:
        """Return ``text`` as the gate ``pre_read`` passed it, for background work. Where you have a
        context, use :meth:`Context.read`.

        Guards see the session of ``ctx``, or the stored session ``session_id``. Raises ``Refused``
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
        origins: Sequence[Origin] | None = None,
    ) -> str:
        """Return ``text`` as the gate ``pre_learn`` passed it, for background work. Where you have
        a context, use :meth:`Context.learn`, which explains ``origins``.

        Guards see the session of ``ctx``, or the stored session ``session_id``. Raises ``Refused``
        with the reason, and ``LookupError`` if there is no such session.
        """

    def channels(self) -> list[Channel]:
        """Return every channel that plugins have registered."""

    async def receive(self, inbound: Inbound, files: Sequence[Mapping[str, Any]] = ()) -> bool:
        """Accept an inbound message from a channel.

        When this returns, the message is stored durably and the channel may acknowledge it;
        everything else happens later. ``files`` are JSON mappings from which the channel can fetch
        what came with it; the message and those behind it in its chat wait until it has, see
        :meth:`GatewayHost.fetch_files`. Returns False if the message had already been received.
        Raises ``StoreError`` if it could not be stored.
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
        """Run a turn in a session of its own (a sub-agent, scheduled work), through the same path
        as any other turn."""

    async def fork(
        self,
        session_id: str,
        prompt: str,
        *,
        model: str | None = None,
        kind: str = "review",
        max_iterations: int | None = None,
    ) -> Turn:
        """Run a turn that continues a copy of a session; the session itself is not changed.

        It sends the session's own prefix, which the provider can then read from its cache,
        followed by ``prompt``. ``model`` is the ``provider/model`` that the prefix was sent to, if
        it was not the session's. The turn belongs to a new session of this ``kind`` whose parent
        is ``session_id``. Every hook is called for it, but no person can be asked. If response
        number ``max_iterations`` still calls tools, they are run and the model is not called
        again: the turn ends with the stop ``max_iterations`` and an empty reply. Raises
        ``LookupError`` if there is no such session.
        """

    async def set_title(self, session_id: str, title: str) -> None:
        """Set a session's title, at most 200 characters."""

    async def sessions(self, **filters: Any) -> list[Session]:
        """Return stored sessions, newest first.

        Filters: ``channel``, ``chat_id``, ``kind`` and ``limit`` (50).
        """

    async def messages(self, session_id: str) -> list[Message]:
        """Return the stored messages of a session, without sidecars."""

    def registered(self, kind: type[T]) -> list[tuple[str, T]]:
        """Return every :class:`Job`, :class:`Route`, :class:`Reviewer` or :class:`Check` that
        plugins register, each with its plugin's name."""

    def tools(self) -> Iterable[Tool]:
        """Return every tool that is currently registered."""

    def window(self, model: str | None = None) -> int:
        """Return the context window of ``provider/model``, or of the default model, in tokens;
        128,000 if it is not known. In a turn, use :meth:`Context.window`."""

    def watch(self, observer: Callable[[Context | None, Step], None]) -> None:
        """Call ``observer`` with every step of every turn until the plugin is torn down."""


class Stash(dict[str, Any]):
    """A plugin's own state for one turn; ``session`` is its state for as long as the session
    lives in this process."""

    __slots__ = ("session",)
    session: dict[str, Any]

    def of(self, kind: type[T]) -> T:
        """Return the turn's only instance of ``kind``, created on first use."""
        key = f"{kind.__module__}.{kind.__qualname__}"
        if key not in self:
            self[key] = kind()
        found: T = self[key]
        return found


class Context(Protocol):
    """The first argument of every hook of a turn."""

    session: Session
    """The session."""

    turn: Turn
    """The turn so far."""

    channel: str
    """The name of the channel the message arrived on."""

    stash: Stash
    """The plugin's own state for this turn."""

    host: Host
    """The plugin's host."""

    log: logging.Logger
    """The plugin's logger."""

    model: str
    """The turn's ``provider/model``, or the session's. Raises ``HooklineError`` if none is
    configured."""

    history: tuple[Message, ...]
    """The session's messages as they are sent, including the replayed context blocks."""

    async def rewrite(self, changes: Sequence[Rewrite]) -> tuple[Message, ...]:
        """Replace parts of :attr:`history` permanently and return the new history.

        The originals stay in the store for search and export. Runs ``pre_compact`` first, drops
        the context blocks of earlier turns and sends ``compacted``. Raises ``ValueError`` if parts
        overlap, if a part would grow in number of messages, or if the running turn's own user
        message would be replaced.
        """

    operator: bool
    """True in the terminal, and wherever the plugin that offers :class:`Access` says so."""

    origins: tuple[Origin, ...]
    """Where everything came from that the session's history and this turn hold so far."""

    interactive: bool
    """True if a person can be asked in this turn."""

    approval: Literal["ask", "yes", "no"]
    """How an ``Ask`` is answered in this turn: by a person, ``yes`` without asking (they said so
    beforehand, with ``--yes``), or ``no`` because nobody is there."""

    paths: Paths
    """Guarded access to files of this session's workspace."""

    tool: Tool | None
    """In the tool hooks, the tool that is being called."""

    def notify(self, text: str) -> None:
        """Show the person a sentence in addition to the answer."""

    def effects(self, call: ToolCall) -> tuple[Effect, ...]:
        """Return what a tool call may do; ``unknown`` for a tool that is not read-only and does not
        declare it, or cannot tell."""

    async def ask_model(
        self,
        prompt: str,
        *,
        system: str | None = None,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
    ) -> str:
        """Ask the auxiliary model once and charge the session for it.

        Without an ``auxiliary_model`` in config.yaml, the session's own model answers, which
        ``/model`` may have changed. ``schema`` is a JSON schema the answer must follow. Guards see
        this context. Raises ``ProviderError``.
        """

    async def read(self, text: str, source: str, kind: str = "file") -> str:
        """Pass ``text`` through the gate ``pre_read``, before a model reads it; return the result.

        ``source`` says where it comes from, such as a path or a URL. Raises ``Refused`` with the
        reason.
        """

    async def learn(self, text: str, source: str, kind: str, *, origins: Sequence[Origin] | None = None) -> str:
        """Pass ``text`` through the gate ``pre_learn``, before it is remembered; return the result.

        ``origins`` are those of the texts it was made from; without them, :attr:`origins`. Raises
        ``Refused`` with the reason.
        """

    def window(self, model: str | None = None) -> int:
        """Return the context window of ``provider/model``, or of :attr:`model`, in tokens; 128,000
        if it is not known."""

    async def ask(self, question: Question) -> str | None:
        """Ask a person a question and return the answer, or None if nobody can answer."""


class Access(Protocol):
    """Who may do what on network channels; offered by a plugin."""

    async def may_write(self, channel: str, user_id: str) -> bool:
        """Return whether messages from this person are accepted, so that a channel can avoid
        fetching files from others. Every message still passes ``on_message``, which decides."""

    def is_operator(self, inbound: Inbound) -> bool:
        """Return True for a message from an admin in a chat that nobody else reads."""


class ArtifactKeeper(Protocol):
    """Keeps large texts for the tool ``fetch_artifact``; offered by a plugin."""

    async def keep(self, ctx: Context, text: str) -> str:
        """Keep ``text`` for the chat of ``ctx`` and return its id; equal texts have the same id.
        Raises ``StoreError``."""


class Checkpoints(Protocol):
    """Saves files so that a person can put them back; offered by a plugin."""

    async def hold(self, ctx: Context, place: Path | None = None) -> bool:
        """Save the session's workspace as it is now. Return True if that worked, and holds every
        file that git tracks in it; otherwise what is thrown away may be lost. With ``place``, a
        file or folder outside of the workspace, return True if all of that is saved."""


class ToolServers(Protocol):
    """Offers the tools of servers that a client brings with a session; offered by a plugin."""

    def lend(self, session_id: str, servers: Sequence[Mapping[str, Any]]) -> list[str]:
        """Let one session use ``servers`` in place of those lent to it before, until this process
        ends; return a sentence for each that cannot be used.

        A server is an entry as MCP clients write it below ``mcpServers``, with its ``name``. A
        person is asked before one is reached that was not approved before. Sessions that began
        before the first servers were lent may not reach them.
        """


Feature: TypeAlias = Literal["edits", "threads", "reactions", "ephemeral", "voice", "files", "typing"]
"""A capability of a platform; see :class:`Channel`."""


class Channel(Protocol):
    """A way people reach the agent. Registered by ``register_channels``.

    A channel passes each inbound message to the host's ``receive``. Once that has returned, the
    message is stored durably and the channel may acknowledge it to the platform.

    ``edits``: a sent message can be edited (streaming). ``network``: people other than the
    operator can send messages. A channel may have an attribute ``can``, a frozenset of its
    platform's capabilities (:func:`features` reads it): ``edits``; ``threads``; ``reactions``;
    ``ephemeral``, a reply that only one person in a group chat can see; ``voice`` and ``files``, which it can send;
    ``typing``, a typing indicator.
    """

    name: str
    edits: bool
    network: bool

    async def start(self) -> None:
        """Connect, and return once messages are being received."""

    async def wait(self) -> None:
        """Return when the channel has stopped receiving; raise the error if receiving failed."""

    async def stop(self) -> None:
        """Disconnect."""

    async def send(self, reply: Reply) -> str | Sequence[str] | None:
        """Deliver a reply and return the platform's ids of the messages it was sent as, in order;
        a single id may be a string. Also works after :meth:`stop`.

        If it raises, delivery is retried later: on a network channel after the exception's
        ``retry_after`` seconds, if it has that attribute; elsewhere with the chat's next reply.
        """


def features(channel: Channel) -> frozenset[Feature]:
    """Return the channel's ``can``, or without it what ``edits`` says."""
    told: frozenset[Feature] | None = getattr(channel, "can", None)
    if told is not None:
        return told
    return frozenset({"edits"}) if channel.edits else frozenset()


def message_ids(sent: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return what :meth:`Channel.send` returned as a tuple."""
    if sent is None:
        return ()
    return (sent,) if isinstance(sent, str) else tuple(sent)
