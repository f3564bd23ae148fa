"""Bases for platform clients that start without a network, and for those that poll."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import cached_property
from typing import Any, ClassVar, Protocol, TypeVar, overload

from hookline_hookspecs import HooklineError, Host
from hookline_hookspecs.certificates import certificates_fault

from .client import PlatformClient
from .config import ChannelConfig
from .errors import CannotStart, PermissionDenied, PlatformError, RetryAfter
from .events import ReceiveCallback
from .problems import LogOnce

CONNECT_TIMEOUT = 10.0
"""Seconds for the first request; without an answer, receiving starts nevertheless."""
MIN_RETRY_PAUSE, MAX_RETRY_PAUSE = 0.5, 30.0
"""Seconds to wait after a failure, doubled each time."""


class Closable(Protocol):
    """Something with connections to close."""

    async def aclose(self) -> None:
        """Close them."""


T = TypeVar("T", bound=Closable)


class ListeningClient(PlatformClient):
    """A client that starts with or without a network, and receives with :meth:`listen`.

    Args:
        host: the plugin's host.
        config: the settings, for a client that uses :class:`lazy_client`.

    Attributes:
        account: the credentials by name.
        receive: the callback for events, set by :meth:`connect`.
    """

    def __init__(self, host: Host, config: ChannelConfig | None = None) -> None:
        self.host, self._settings = host, config
        self.account = {} if config is None else config.account(host)
        self.receive: ReceiveCallback | None = None
        self._closables: list[Closable] = []

    async def connect(self, receive: ReceiveCallback) -> None:
        """Start receiving, with or without a network.

        Raises :class:`CannotStart` for an account that the platform does not know.
        """
        await self.disconnect()
        self.receive = receive
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT):
                await self.authenticate()
        except CannotStart:
            raise
        except (HooklineError, OSError) as error:
            self.host.log.warning("starting offline: %s", error or "no answer")
        await self.listen(receive)

    async def authenticate(self) -> None:
        """Make a first request, which proves that the account is valid."""
        await self.whoami()

    @abstractmethod
    async def listen(self, receive: ReceiveCallback) -> None:
        """Start receiving, with or without a network. Raises :class:`CannotStart`."""

    def heartbeat(self) -> None:
        """Report that the connection is alive."""
        if self.receive is not None:
            self.receive.heartbeat()

    def disconnected(self, reason: str) -> None:
        """Report that receiving has ended by itself."""
        if self.receive is not None:
            self.receive.disconnected(reason)

    def close_later(self, closable: T) -> T:
        """Close an object together with the client, and return it."""
        self._closables.append(closable)
        return closable

    def check_account(self) -> None:
        """Raise :class:`CannotStart` if the settings of the account are not valid, or no server can
        be verified."""
        if fault := certificates_fault():
            raise CannotStart(f"{fault}.")
        if self._settings is not None and (problem := self._settings.account_problem(self.host)):
            raise CannotStart(problem)

    async def aclose(self) -> None:
        """Stop receiving, and close what was opened."""
        await self.disconnect()
        for closable in self._closables:
            await closable.aclose()


class lazy_client(cached_property[T]):
    """Decorates a method of a :class:`ListeningClient` that creates its API client.

    The API client is created on first use, when its slow library is imported, and closed with the
    channel's client. Raises :class:`CannotStart` if the settings of the account are not valid.
    """

    def __init__(self, create: Callable[[Any], T]) -> None:
        super().__init__(create)

    @overload
    def __get__(self, client: None, owner: type[Any] | None = None) -> lazy_client[T]: ...
    @overload
    def __get__(self, client: object, owner: type[Any] | None = None) -> T: ...
    def __get__(self, client: Any, owner: type[Any] | None = None) -> Any:
        if client is None:
            return self
        client.check_account()
        return client.close_later(super().__get__(client, owner))


class PollLoop:
    """Receives until it is cancelled. Problems are logged once, and followed by a pause.

    Args:
        receive_once: receives once: one request for updates, or one socket until it ends. It is
            called again at once; after an error, at the time that a :class:`RetryAfter` says, half
            a minute after a :class:`CannotStart` or :class:`PermissionDenied`, and after other
            errors with growing pauses.
        log_once: logs problems.
    """

    def __init__(self, receive_once: Callable[[], Awaitable[None]], log_once: LogOnce) -> None:
        self._receive_once, self._log_once = receive_once, log_once
        self._pause = MIN_RETRY_PAUSE
        self._started = asyncio.Event()
        self._start_error: CannotStart | None = None

    def start(self, spawn: Callable[..., asyncio.Task[None]]) -> asyncio.Task[None]:
        """Start in the background; cancel the task to stop."""
        self._pause, self._start_error = MIN_RETRY_PAUSE, None
        self._started.clear()
        return spawn(self._run(), "receive")

    async def _run(self) -> None:
        while True:
            try:
                await self._receive_once()
            except Exception as error:
                self.warn(f"not receiving: {error or type(error).__name__}")
                if isinstance(error, RetryAfter):
                    self._pause = error.retry_after
                elif isinstance(error, CannotStart | PermissionDenied):
                    self._pause = MAX_RETRY_PAUSE
                if isinstance(error, CannotStart):
                    self._start_error = error
                    self._started.set()
                await asyncio.sleep(self._pause)
                self._pause = min(max(self._pause, MIN_RETRY_PAUSE) * 2, MAX_RETRY_PAUSE)
            else:
                self.mark_receiving()

    def mark_receiving(self) -> None:
        """Record that messages are received. Call it when a socket has opened."""
        self._pause, self._start_error = MIN_RETRY_PAUSE, None
        self._started.set()
        self._log_once.resolved("receiving again")

    def warn(self, problem: str) -> None:
        """Log a problem, once until messages are received again."""
        self._log_once.warn(problem)

    async def wait_started(self, seconds: float) -> None:
        """Wait until receiving has started, at most ``seconds``.

        Raises the :class:`CannotStart` that prevents it.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._started.wait()
        if self._start_error is not None:
            raise self._start_error


class PollingClient(ListeningClient):
    """A client that receives by calling :meth:`receive_once` repeatedly.

    A subclass implements that, ``whoami``, and the methods that send.

    Attributes:
        poll_loop: calls :meth:`receive_once`; a client with sockets calls its
            ``mark_receiving()`` when one has opened.
    """

    open_timeout: ClassVar[float] = 0.0
    """Seconds that :meth:`connect` waits for ``poll_loop.mark_receiving()``, or for an error that
    prevents it; 0 for a client that needs only :meth:`authenticate`."""
    _task: asyncio.Task[None] | None = None

    def __init__(self, host: Host, config: ChannelConfig | None = None) -> None:
        super().__init__(host, config)
        self.poll_loop = PollLoop(self._receive_once, LogOnce(host.log))

    @abstractmethod
    async def receive_once(self, receive: ReceiveCallback) -> None:
        """Receive once; see :class:`PollLoop`."""

    async def _receive_once(self) -> None:
        assert self.receive is not None
        await self.receive_once(self.receive)

    @abstractmethod
    async def whoami(self) -> str:
        """Return whose token this is. Raises :class:`CannotStart` if the platform rejects it."""

    async def listen(self, receive: ReceiveCallback) -> None:
        """Start polling."""
        self._task = self.poll_loop.start(self.host.spawn)
        try:
            await self.poll_loop.wait_started(self.open_timeout)
        except CannotStart:
            await self.disconnect()
            raise

    async def disconnect(self) -> None:
        """Stop polling."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait({task})

    async def probe(self) -> None:
        """Ask who the bot is. Raises if the platform does not answer, or if polling has ended."""
        if self._task is None or self._task.done():
            raise PlatformError("polling has ended")
        await self.whoami()
