"""What core offers to plugins: the host, and the context of a hook.

These are protocols, so a plugin can be written and type-checked without importing core.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, overload

if TYPE_CHECKING:
    import asyncio

    from .channels import Channel
    from .drivers import ProviderSettings
    from .history import Rewrite
    from .inbound import Inbound
    from .messages import Message, ToolCall
    from .network import Http
    from .origins import Effect, Origin
    from .paths import Paths
    from .questions import Question, QuestionAnswer
    from .services import Services, Signals
    from .steps import Step
    from .storage import Storage
    from .tools import Tool
    from .turns import Session, Turn

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


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


class Watched(Protocol[T_co]):
    """A file that :meth:`Host.watched` reads."""

    @property
    def value(self) -> T_co:
        """What the newest version that could be parsed holds. It looks at the file each time."""

    @property
    def problem(self) -> str:
        """Why the version seen last cannot be used, with file and line; or an empty string."""


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
        self,
        text: str,
        source: str,
        kind: str = "file",
        *,
        ctx: Context | None = None,
        session_id: str | None = None,
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
        what came with it; the message and later ones of its chat wait until it has, see
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
        model: str | None = None,
        kind: str = "agent",
        resumable: bool = False,
    ) -> Turn:
        """Run a turn in its own session (for a sub-agent or scheduled work), through the same path
        as any other turn.

        ``model`` is the ``provider/model`` of a new session; by default that of ``parent``.

        A ``resumable`` turn of a tool that is ``read_only`` is parked together with the turn of
        ``parent`` while it waits for a person. The tool is then called again, also after a
        restart, and must pass the same ``session_id``: the turn there is continued, or its outcome
        returned if it has ended.
        """

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
        """Set a session's title, cut to 200 characters."""

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

    @overload
    def watched(self, path: Path, parse: Callable[[str], T], default: T) -> Watched[T]: ...
    @overload
    def watched(self, path: Path, parse: Callable[[str], T]) -> Watched[T | None]: ...
    def watched(self, path: Path, parse: Callable[[str], Any], default: Any = None) -> Watched[Any]:
        """Return the content of a UTF-8 file, parsed again when it has changed.

        ``default`` is its value while there is no file. If ``parse`` raises an exception, the
        previous value stays, and the log and ``hookline plugins list`` show the problem with file
        and line. A file that was changed within the last two seconds may still be being written:
        a mistake in it is not reported yet.
        """

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
    """The origins of everything in the session's history and in this turn so far."""

    interactive: bool
    """True if a person can be asked in this turn."""

    approval: Literal["ask", "yes", "no"]
    """How an ``Ask`` is answered in this turn: by a person, ``yes`` without asking (they said so
    beforehand, with ``--yes``), or ``no`` because no one is there."""

    approved: bool
    """In a tool, True if a person was shown this call and approved it; False if no question was
    needed, or an earlier answer covered it."""

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

    async def learn(
        self, text: str, source: str, kind: str, *, origins: Sequence[Origin] | None = None
    ) -> str:
        """Pass ``text`` through the gate ``pre_learn``, before it is remembered; return the result.

        ``origins`` are those of the texts it was made from; without them, :attr:`origins`. Raises
        ``Refused`` with the reason.
        """

    def window(self, model: str | None = None) -> int:
        """Return the context window of ``provider/model``, or of :attr:`model`, in tokens; 128,000
        if it is not known."""

    async def ask(self, question: Question) -> str | None:
        """Ask a person a question and return the answer, or None if no one can answer."""

    async def ask_answer(self, question: Question) -> QuestionAnswer | None:
        """Ask as :meth:`ask` does, and return the answer with who gave it."""
