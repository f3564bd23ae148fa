"""Whether a site allows a page to be fetched: its ``robots.txt``, read by RFC 9309."""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

from hookline_hookspecs import HooklineError, Http, HttpResponse, Refused, ToolError

if TYPE_CHECKING:
    from protego import Protego

MAX_ROBOTS_BYTES = 512_000
"""Bytes of a robots.txt that are read; RFC 9309, section 2.5 requires at least 500 KiB."""
MAX_REDIRECTS = 5
"""With more redirects a robots.txt counts as absent (RFC 9309, section 2.3.1.2)."""
ROBOTS_TIMEOUT = 5.0
"""Seconds to fetch a robots.txt."""
RETRY_INTERVAL = 60.0
"""Seconds after which an unreadable robots.txt is fetched again."""
MAX_CACHED_ORIGINS = 100
"""Sites whose rules are cached."""

_MAX_CHUNK_BYTES = 1 << 20  # The largest chunk of a response.
_AGENT = re.compile(r"\s*user[ -]?agent(?=[\s:])[\s:]*(\*|[a-z_-]+)?", re.IGNORECASE)


class _TooManyRedirects(Exception):
    """Cancels the request for a robots.txt."""


@dataclass(frozen=True, slots=True)
class _OriginRules:
    """The rules of one site. ``rules`` None: everything is allowed. ``problem``: why nothing is.
    ``until`` is in Unix seconds."""

    rules: Protego | None
    problem: str
    until: float


class RobotsRules:
    """The rules of sites, for one user agent.

    Args:
        http: fetches them.
        user_agent: the whole ``User-Agent``; rules are matched with the part before the slash.
        cache_seconds: how long the rules of a site are cached.
        now: returns the Unix time.
    """

    def __init__(
        self, http: Http, user_agent: str, cache_seconds: float, now: Callable[[], float]
    ) -> None:
        self._http = http
        self._user_agent = user_agent
        self._token = user_agent.partition("/")[0]
        self._cache_seconds = cache_seconds
        self._now = now
        self._sites: OrderedDict[str, _OriginRules] = OrderedDict()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def require_allowed(self, url: str) -> None:
        """Return if ``url``, which is normalized, may be fetched.

        Raises:
            Refused: the site's rules or the network guard forbid it.
            ToolError: the rules could not be read, so nothing may be fetched.
        """
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        lock = self._locks.setdefault(origin, asyncio.Lock())
        async with lock:
            site = self._sites.get(origin)
            if site is None or site.until <= self._now():
                site = await self._fetch(origin)
                self._cache(origin, site)
        if site.problem:
            raise ToolError(f"{origin} was not fetched, because {site.problem}")
        rules = site.rules
        if rules and not await asyncio.to_thread(rules.can_fetch, url, self._token):
            raise Refused(
                f"{origin}/robots.txt does not allow {self._token} to fetch {parts.path[:200]}. "
                "Look elsewhere, or ask the person to open it."
            )

    def _cache(self, origin: str, site: _OriginRules) -> None:
        self._sites[origin] = site
        self._sites.move_to_end(origin)
        while len(self._sites) > MAX_CACHED_ORIGINS:
            self._sites.popitem(last=False)

    async def _fetch(self, origin: str) -> _OriginRules:
        hops: list[str] = []

        async def before(hop: str) -> None:
            hops.append(hop)
            if len(hops) > MAX_REDIRECTS + 1:
                raise _TooManyRedirects

        later = self._now() + RETRY_INTERVAL
        try:
            async with self._http.stream(
                "GET",
                f"{origin}/robots.txt",
                headers={"user-agent": self._user_agent},
                timeout=ROBOTS_TIMEOUT,
                max_bytes=MAX_ROBOTS_BYTES + 2 * _MAX_CHUNK_BYTES,
                before=before,
            ) as response:
                return await self._read(response)
        except _TooManyRedirects:
            return self._valid(None)
        except Refused as error:
            if len(hops) < 2:
                raise  # The page itself would be refused for the same reason.
            return _OriginRules(None, f"its robots.txt leads to a refused address: {error}", later)
        except HooklineError as error:
            return _OriginRules(None, f"its robots.txt could not be read: {error}", later)

    async def _read(self, response: HttpResponse) -> _OriginRules:
        """Read the response. 4xx allows all, 5xx forbids all (RFC 9309, section 2.3.1)."""
        if response.status >= 500:
            problem = f"its robots.txt answered {response.status}; try again later"
            return _OriginRules(None, problem, self._now() + RETRY_INTERVAL)
        if not 200 <= response.status < 300:
            return self._valid(None)
        data = bytearray()
        async with aclosing(response.chunks()) as chunks:
            async for chunk in chunks:
                data += chunk
                if len(data) > MAX_ROBOTS_BYTES:
                    break
        text = bytes(data[:MAX_ROBOTS_BYTES]).decode("utf-8-sig", "replace")
        return self._valid(await asyncio.to_thread(_parse, text, self._token))

    def _valid(self, rules: Protego | None) -> _OriginRules:
        return _OriginRules(rules, "", self._now() + self._cache_seconds)


def _parse(text: str, token: str) -> Protego:
    from protego import Protego

    lines = [_merge_agents(line, token) for line in re.split(r"\r\n|\r|\n", text)]
    return Protego.parse("\n".join(lines))


def _merge_agents(line: str, token: str) -> str:
    """Replace every agent other than ``*`` and ours by one common name.

    The parser keeps separate rules for each agent of a group, so that a hostile file of half a
    megabyte (thousands of agents, thousands of rules) would take minutes. It also matches a prefix
    of our name, although RFC 9309, section 2.2.1 requires the whole name.
    """
    agent = _AGENT.match(line)
    if agent is None or agent[1] == "*":
        return line
    ours = (agent[1] or "").lower() == token.lower()
    return f"User-agent: {token if ours else '-'}"
