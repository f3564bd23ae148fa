"""What core offers to plugins: the host, the context of a hook, and their services.

These are protocols, so that a plugin needs nothing of core to be written and type-checked.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, TypeAlias, TypeVar

from .events import Inbound, Question, Reply, Session, Turn

if TYPE_CHECKING:
    import asyncio

    from .messages import Message
    from .tools import Tool

T = TypeVar("T")
Row: TypeAlias = Mapping[str, Any]


class Transaction(Protocol):
    """A running transaction; its methods are synchronous. ``name`` is a query of the plugin's
    ``sql`` folder; a raising function rolls everything back."""

    def fetch(self, name: str, **params: Any) -> list[Row]:
        """The rows of the named query."""

    def execute(self, name: str, **params: Any) -> int:
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
    with the plugin's), queries from ``sql/*.sql`` (``-- name: recent_facts``).
    """

    @property
    def dir(self) -> Path:
        """A folder of the plugin's own, made on first use, mode 0700."""

    @property
    def kv(self) -> KeyValue:
        """Small JSON values."""

    @property
    def search(self) -> SearchIndex:
        """Full text over the plugin's documents."""

    async def fetch(self, name: str, **params: Any) -> list[Row]:
        """The rows of a named query."""

    async def execute(self, name: str, **params: Any) -> int:
        """Run a named statement; the number of rows it touched."""

    async def transact(self, work: Callable[[Transaction], T]) -> T:
        """Run a synchronous function in one transaction and return what it returns."""


class HttpResponse(Protocol):
    """A response whose body has been read, within the limits."""

    @property
    def status(self) -> int:
        """The HTTP status."""

    @property
    def url(self) -> str:
        """Where the last redirect led."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers, names in lower case."""

    @property
    def body(self) -> bytes:
        """The decoded body."""


class Http(Protocol):
    """A client for URLs that a model or a user can choose. Private addresses are refused."""

    def judge(self, url: str) -> str | None:
        """Why ``url`` would be refused as far as its text tells, or None; looks nothing up."""

    async def get(self, url: str, **options: Any) -> HttpResponse:
        """GET ``url`` with ``headers`` and ``params``. Raises ``Refused`` for what is not
        allowed and another ``HooklineError`` for what did not work, with sentences."""

    async def request(self, method: str, url: str, **options: Any) -> HttpResponse:
        """Any method; ``content`` (bytes), ``json``, ``headers``, ``params``."""


class Paths(Protocol):
    """Guarded files: inside the workspace or an allowed root, links resolved, no secret files."""

    @property
    def workspace(self) -> Path:
        """Where relative paths start."""

    def resolve(self, path: str, *, base: Path | None = None) -> Path:
        """The real path of what a model or user wrote. Raises a ``PermissionError`` kin."""

    def judge(self, path: str) -> str | None:
        """Why ``path`` would be refused, or None."""

    def open_read(self, path: Path) -> BinaryIO:
        """Open a regular file for reading, without a race after :meth:`resolve`."""

    def walk(self, root: Path) -> Iterator[Path]:
        """The files below ``root`` that may be read."""


class Signals(Protocol):
    """Telling, afterwards. A receiver is called as ``receiver(event, ctx=…)``."""

    def connect(self, name: str, receiver: Callable[..., Any]) -> None:
        """Subscribe to the signal ``name`` until the plugin is torn down."""

    def disconnect(self, name: str, receiver: Callable[..., Any]) -> None:
        """Unsubscribe."""

    def send(self, name: str, event: object) -> None:
        """Tell others; each receiver is isolated."""


class Services(Protocol):
    """How plugins offer something to each other without importing each other."""

    def provide(self, protocol: type[T], service: T) -> None:
        """Offer ``service`` under ``protocol``."""

    def __getitem__(self, protocol: type[T]) -> T:
        """The service offered under ``protocol``. Raises ``KeyError`` with a sentence."""

    def get(self, protocol: type[T]) -> T | None:
        """The service, or None."""


class Config(Protocol):
    """The effective core configuration, read-only."""

    @property
    def model(self) -> str | None:
        """``provider/model``, None where the environment decides."""

    @property
    def auxiliary_model(self) -> str | None:
        """The model for titles, summaries and reviews; None = the session's."""

    @property
    def fallback_models(self) -> list[str]:
        """Models to fall back to, in order."""

    @property
    def workspace(self) -> str:
        """Where tools work."""

    @property
    def max_iterations(self) -> int:
        """Model calls in one turn at most."""

    @property
    def trace(self) -> bool:
        """Whether turns are traced."""


class Host(Protocol):
    """A plugin's view of core; one for each plugin."""

    @property
    def plugin(self) -> str:
        """The plugin's name."""

    @property
    def home(self) -> Path:
        """Hookline's own folder."""

    @property
    def config(self) -> Config:
        """The effective core configuration, read-only."""

    @property
    def storage(self) -> Storage:
        """The plugin's own storage."""

    @property
    def http(self) -> Http:
        """The guarded client."""

    @property
    def paths(self) -> Paths:
        """Guarded files of the process's workspace; in a turn use ``ctx.paths``."""

    @property
    def signals(self) -> Signals:
        """Signals to listen to and to send."""

    @property
    def services(self) -> Services:
        """What plugins offer each other."""

    @property
    def log(self) -> logging.Logger:
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
    ) -> str:
        """Ask the auxiliary model once; its usage is counted. Raises ``ProviderError``."""

    def spawn(self, coro: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Run background work that is cancelled when the plugin is torn down."""

    async def read(self, text: str, source: str, kind: str = "file") -> str:
        """``text`` after the gate ``pre_read``. Raises ``Refused`` with the reason."""

    async def learn(self, text: str, source: str, kind: str) -> str:
        """``text`` after the gate ``pre_learn``. Raises ``Refused`` with the reason."""

    async def receive(self, inbound: Inbound) -> bool:
        """Take an inbound message: stored when this returns. False: it was there already."""

    async def answer(self, session_id: str, choice: str, user_id: str) -> bool:
        """Answer the session's open question. False: there is none, or not for this person."""

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

    async def sessions(self, **filters: Any) -> list[Session]:
        """Stored sessions, newest first: ``channel``, ``chat_id``, ``limit``."""

    async def messages(self, session_id: str) -> list[Message]:
        """The stored messages of a session, without sidecars."""

    def tools(self) -> Iterable[Tool]:
        """Every tool that is registered now."""


class Stash(dict[str, Any]):
    """A plugin's own state for one turn; ``session`` is the same for the session's lifetime
    in this process."""

    session: dict[str, Any]

    def of(self, kind: type[T]) -> T:
        """The turn's one instance of ``kind``, made on first use."""
        found: T = self.setdefault(kind.__qualname__, None) or kind()
        self[kind.__qualname__] = found
        return found


class Context(Protocol):
    """What every hook of a turn receives first."""

    @property
    def session(self) -> Session:
        """The session."""

    @property
    def turn(self) -> Turn:
        """The turn so far."""

    @property
    def channel(self) -> str:
        """The name of the channel the message came by."""

    @property
    def stash(self) -> Stash:
        """The plugin's own state for this turn."""

    @property
    def host(self) -> Host:
        """The plugin's host."""

    @property
    def log(self) -> logging.Logger:
        """The plugin's log."""

    @property
    def interactive(self) -> bool:
        """True if a person can be asked in this turn."""

    @property
    def paths(self) -> Paths:
        """Guarded files of this session's workspace."""

    @property
    def tool(self) -> Tool | None:
        """The tool of the call at hand, in the tool hooks."""

    def notify(self, text: str) -> None:
        """Tell the person a sentence beside the answer."""

    async def ask(self, question: Question) -> str | None:
        """Put a question to a person now; None if nobody can answer."""


class Channel(Protocol):
    """A way people reach the agent. Registered by ``register_channels``.

    ``edits``: a sent message can be edited (streaming). ``network``: other people can write in.
    """

    name: str
    edits: bool
    network: bool

    async def start(self) -> None:
        """Connect; return when messages are being received."""

    async def wait(self) -> None:
        """Return when the channel has nothing more to receive (end of input)."""

    async def stop(self) -> None:
        """Disconnect."""

    async def send(self, reply: Reply) -> str | None:
        """Deliver a reply; the platform's id of it. Raising means: try again later."""
