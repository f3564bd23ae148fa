"""The REST API and the gateway connection of one bot, over discord.py.

Two parts of the library are used: its HTTP client, which follows Discord's rate limits, and its
websocket, which handles heartbeats, compression and RESUME. Its caches stay empty; events are
parsed from their raw data. Reconnecting is our own: the library identifies again at once when
Discord refuses a session, and after 1,000 times a day the token is reset
(discord.com/developers/docs/topics/gateway#session-start-limit-object).

Imported when a channel starts, because the library takes half a second.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.request import getproxies, proxy_bypass

import aiohttp
import discord
import hookline_channelkit as kit
import yarl
from discord.gateway import DiscordWebSocket, ReconnectWebSocket
from discord.http import HTTPClient, Route

from .config import DiscordConfig
from .errors import map_errors
from .facts import FATAL

REQUEST_TIMEOUT, OPEN_TIMEOUT, CLOSE_TIMEOUT = 60.0, 30.0, 2.0
IDENTIFY_RETRY_PAUSE = 300.0
"""Minimum seconds from a failed IDENTIFY to the next one."""
RESERVED_IDENTIFIES = 20
"""IDENTIFYs per day that are left for a person who debugs the bot."""
CONTENT_FLAGS = 1 << 18 | 1 << 19
"""Flags of an application with the Message Content intent, approved by Discord or not."""
_IDS = re.compile(r"(?<=/)(\d{15,}|[\w-]{40,})")
_CHANNEL = re.compile(r"/channels/(\d+)")


class _Http(HTTPClient):
    """The library's HTTP client, with the configured address."""

    base = Route.BASE

    async def request(self, route: Route, **options: Any) -> Any:
        route.url = route.url.replace(Route.BASE, self.base, 1)
        return await super().request(route, **options)


class Connection:
    """One bot.

    Args:
        config: has the addresses.
        token: the bot's token.
        poll_loop: calls :meth:`once`; logs each problem once.
        events: handlers by event, called with its data, in order; other events are ignored.
        alive: called when anything is received.
    """

    def __init__(
        self,
        config: DiscordConfig,
        token: str,
        poll_loop: kit.PollLoop,
        events: Mapping[str, Callable[[Any], object]],
        alive: Callable[[], None],
    ) -> None:
        logging.getLogger("discord").setLevel(logging.CRITICAL)  # it also logs what it raises
        self._config, self._token, self._events, self._alive = config, token, events, alive
        self._poll_loop = poll_loop
        named = ("guilds", "guild_messages", "guild_reactions", "dm_messages", "dm_reactions")
        self._intents = discord.Intents(**dict.fromkeys(named, True))
        self._client: discord.Client | None = None
        self._logging_in = asyncio.Lock()
        self._socket: DiscordWebSocket | None = None
        self._session: tuple[str, int, yarl.URL] | None = None
        self._failed = float("-inf")
        self._is_ready, self._is_first = False, True

    async def client(self) -> discord.Client:
        """Return the library's client, logged in. Raises :class:`CannotStart`."""
        async with self._logging_in:
            if self._client is None:
                made = discord.Client(intents=self._intents, max_messages=None)
                base = self._config.api_url.rstrip("/")
                place = yarl.URL(base)
                proxy = None if proxy_bypass(place.host or "") else getproxies().get(place.scheme)
                made.http = _Http(made.loop, proxy=proxy, max_ratelimit_timeout=30.0)
                made.http.base = base
                made._connection.parsers = {name: self._parser(name) for name in self._events}
                try:
                    with map_errors():
                        await made.login(self._token)
                except BaseException:
                    await made.close()
                    raise
                self._client = made
            return self._client

    async def ask(
        self, method: str, path: str, body: Any = None, *, form: Any = None, sends: bool = False
    ) -> Any:
        """Send a request and return its JSON. Raises the kit's errors (:func:`map_errors`)."""
        route = Route(method, _IDS.sub("ID", path.partition("?")[0]))
        route.url, place = Route.BASE + path, _CHANNEL.match(path)
        route.channel_id = int(place[1]) if place is not None else None
        options = {"form": form} if form else {} if body is None else {"json": body}
        with map_errors(sends=sends):
            async with asyncio.timeout(REQUEST_TIMEOUT):
                return await (await self.client()).http.request(route, **options)

    async def download(self, url: str) -> bytes:
        """Return the bytes of a file. Raises :class:`ChatGone`; other errors may be retried."""
        with map_errors():
            return await (await self.client()).http.get_from_cdn(url)

    @staticmethod
    async def upload(url: str, data: bytes) -> None:
        """Upload a file to the address that Discord has assigned."""
        async with aiohttp.ClientSession(trust_env=True, raise_for_status=True) as http:
            with map_errors():
                await http.put(url, data=data)

    async def once(self) -> None:
        """Run one socket until it ends. Raises :class:`CannotStart` if reconnecting is useless."""
        try:
            await self._receive()
        except (ReconnectWebSocket, discord.ConnectionClosed) as error:
            code = getattr(error, "code", 0)
            if (reason := FATAL.get(str(code))) is not None:
                raise kit.CannotStart(reason) from None
            if not self._is_ready:
                raise kit.PlatformError(f"Discord ended the session ({code})") from None
        finally:
            await self._close_socket()

    async def _receive(self) -> None:
        client = await self.client()
        id_, number, url = self._session or (None, None, None)
        if url is None:
            url = await self._may_identify()
            self._failed = asyncio.get_running_loop().time()
        about: dict[str, Any] = {"session": id_, "sequence": number, "resume": id_ is not None}
        about["initial"], self._is_first = self._is_first, False  # the library waits 5 s otherwise
        with map_errors():
            async with asyncio.timeout(OPEN_TIMEOUT):
                self._socket = await DiscordWebSocket.from_client(client, gateway=url, **about)
        while True:
            await self._socket.poll_event()
            self._alive()

    async def _may_identify(self) -> yarl.URL:
        """Wait until a new session may be requested; return the gateway's address.

        Also checks whether the bot may read the content of messages.
        """
        loop = asyncio.get_running_loop()
        if (left := self._failed + IDENTIFY_RETRY_PAUSE - loop.time()) > 0:
            self._poll_loop.warn(f"Discord refused a session; retrying in {left:.0f} s")
            await asyncio.sleep(left)
        flags = (await self.ask("GET", "/applications/@me")).get("flags", 0)
        self._intents.message_content = bool(flags & CONTENT_FLAGS)
        if not flags & CONTENT_FLAGS:
            self._poll_loop.warn(FATAL["4014"])
        gateway = await self.ask("GET", "/gateway/bot")
        budget = gateway.get("session_start_limit") or {}
        if budget.get("remaining", RESERVED_IDENTIFIES + 1) <= RESERVED_IDENTIFIES:
            seconds = budget.get("reset_after", 0) / 1000 + 1
            self._poll_loop.warn(f"daily session limit reached; waiting {seconds:.0f} s")
            await asyncio.sleep(seconds)
        return yarl.URL(self._config.gateway_url or gateway["url"])

    def _parser(self, event: str) -> Callable[[Any], None]:
        def parse(data: Any) -> None:
            if event in ("READY", "RESUMED"):
                self._is_ready, self._failed = True, float("-inf")
                self._poll_loop.mark_receiving()
            self._events[event](data)

        return parse

    async def _close_socket(self) -> None:
        """Close the socket, and remember its session to resume it."""
        socket, self._socket, self._is_ready = self._socket, None, False
        if socket is not None:
            id_, number = socket.session_id, socket.sequence
            self._session = (id_, number, socket.gateway) if id_ and number is not None else None
            with contextlib.suppress(Exception):
                async with asyncio.timeout(CLOSE_TIMEOUT):
                    await socket.close(4000)  # a code after which a session can be resumed

    async def probe(self) -> None:
        """Send a heartbeat and wait for the answer; while there is no session, call the API.

        Raises if there is no answer.
        """
        if (socket := self._socket) is None or not self._is_ready:
            await self.ask("GET", "/gateway/bot")
            return
        before = socket.latency  # changes with each acknowledged heartbeat
        await socket.send_heartbeat({"op": socket.HEARTBEAT, "d": socket.sequence})
        while socket.latency == before:  # noqa: ASYNC110
            await asyncio.sleep(0.05)

    async def aclose(self) -> None:
        """Close everything."""
        if self._client is not None:
            await self._client.close()
