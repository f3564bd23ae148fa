"""Whether a site lets us fetch a page: its ``robots.txt``, as RFC 9309 has it be read."""

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

MAX_BYTES = 512_000
"""What is read of a robots.txt; RFC 9309, section 2.5 asks for 500 KiB at least."""
MAX_REDIRECTS = 5
"""Followed for a robots.txt; over that it counts as absent (RFC 9309, section 2.3.1.2)."""
SECONDS = 5.0
"""For fetching a robots.txt."""
RETRY_SECONDS = 60.0
"""After which a robots.txt that could not be read is asked for again."""
ORIGINS = 100
"""Sites whose rules are remembered."""

_CHUNK = 1 << 20  # The largest piece that a response comes in.
_AGENT = re.compile(r"\s*user[ -]?agent(?=[\s:])[\s:]*(\*|[a-z_-]+)?", re.IGNORECASE)


class _TooManyRedirects(Exception):
    """Ends the request for a robots.txt."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a site said. ``rules`` None: everything may be fetched. ``fault``: why nothing may.
    ``until`` is in Unix seconds."""

    rules: Protego | None
    fault: str
    until: float


class Robots:
    """The rules of the sites that were asked, for one user agent.

    http: fetches them. header: the whole ``User-Agent``; its first word is the product token that
    the rules are matched with. keep: seconds for which an answer is remembered. now: Unix time.
    """

    def __init__(self, http: Http, header: str, keep: float, now: Callable[[], float]) -> None:
        self._http = http
        self._header = header
        self._token = header.partition("/")[0]
        self._keep = keep
        self._now = now
        self._answers: OrderedDict[str, _Answer] = OrderedDict()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def require(self, url: str) -> None:
        """Return if ``url``, in its normal spelling, may be fetched.

        Raises:
            Refused: the site's rules, or the guard of the network, forbid it.
            ToolError: the rules could not be read, which forbids everything.
        """
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        lock = self._locks.setdefault(origin, asyncio.Lock())
        async with lock:
            answer = self._answers.get(origin)
            if answer is None or answer.until <= self._now():
                answer = await self._ask(origin)
                self._remember(origin, answer)
        if answer.fault:
            raise ToolError(f"{origin} is not fetched from, because {answer.fault}")
        rules = answer.rules
        if rules and not await asyncio.to_thread(rules.can_fetch, url, self._token):
            raise Refused(
                f"{origin}/robots.txt does not let {self._token} fetch {parts.path[:200]}. "
                "Look for the same elsewhere, or ask the person to open it."
            )

    def _remember(self, origin: str, answer: _Answer) -> None:
        self._answers[origin] = answer
        self._answers.move_to_end(origin)
        while len(self._answers) > ORIGINS:
            self._answers.popitem(last=False)

    async def _ask(self, origin: str) -> _Answer:
        hops: list[str] = []

        async def before(hop: str) -> None:
            hops.append(hop)
            if len(hops) > MAX_REDIRECTS + 1:
                raise _TooManyRedirects

        later = self._now() + RETRY_SECONDS
        try:
            async with self._http.stream(
                "GET",
                f"{origin}/robots.txt",
                headers={"user-agent": self._header},
                timeout=SECONDS,
                max_bytes=MAX_BYTES + 2 * _CHUNK,
                before=before,
            ) as response:
                return await self._read(response)
        except _TooManyRedirects:
            return self._good(None)
        except Refused as error:
            if len(hops) < 2:
                raise  # The page itself would be refused for the same reason.
            return _Answer(None, f"its robots.txt leads to a refused address: {error}", later)
        except HooklineError as error:
            return _Answer(None, f"its robots.txt could not be read: {error}", later)

    async def _read(self, response: HttpResponse) -> _Answer:
        """The answer of RFC 9309, section 2.3.1: 4xx allows all, 5xx forbids all."""
        if response.status >= 500:
            fault = f"its robots.txt answered {response.status}; try again later"
            return _Answer(None, fault, self._now() + RETRY_SECONDS)
        if not 200 <= response.status < 300:
            return self._good(None)
        data = bytearray()
        async with aclosing(response.chunks()) as chunks:
            async for chunk in chunks:
                data += chunk
                if len(data) > MAX_BYTES:
                    break
        text = bytes(data[:MAX_BYTES]).decode("utf-8-sig", "replace")
        return self._good(await asyncio.to_thread(_parsed, text, self._token))

    def _good(self, rules: Protego | None) -> _Answer:
        return _Answer(rules, "", self._now() + self._keep)


def _parsed(text: str, token: str) -> Protego:
    from protego import Protego

    lines = [_line(line, token) for line in re.split(r"\r\n|\r|\n", text)]
    return Protego.parse("\n".join(lines))


def _line(line: str, token: str) -> str:
    """`line`, but every agent that is neither ``*`` nor ours gets one and the same name.

    The parser keeps a set of rules for each agent of a group, so that a hostile file of half a
    megabyte (thousands of agents, thousands of rules) would keep it busy for minutes. It also
    takes the beginning of our name for ours, where RFC 9309, section 2.2.1 wants all of it.
    """
    agent = _AGENT.match(line)
    if agent is None or agent[1] == "*":
        return line
    ours = (agent[1] or "").lower() == token.lower()
    return f"User-agent: {token if ours else '-'}"
