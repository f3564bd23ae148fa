"""Prompt caches that count tokens like the providers'.

``CountingCache`` is Anthropic's, and knows what it could have saved at best.
``server.cache = CountingCache()`` puts it into an ``AnthropicServer``; ``cache.counted`` then holds
what each request read and wrote. Where the documentation is silent it assumes the dearer of the
possibilities: a breakpoint reads what was written at its own place or at most 19 blocks before it,
a live prefix keeps the lifetime it was written for even where it is marked for an hour later, and
nothing is written before the place up to which a request has read. ``IdleCache`` is OpenAI's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .anthropic_server import LIFETIMES, _prefixes
from .openai_server import CACHE_MINIMUM, CACHE_STEP, CHARS_PER_TOKEN

POSITIONS = 20
"""Places that a breakpoint is looked for at, its own being the first."""
HOUR = LIFETIMES["1h"]


@dataclass(frozen=True)
class Counted:
    """One request in tokens: all of them, those read, and those written for five minutes
    (``short``) and for an hour (``long``).

    ``limit`` is what the best of all placements could have read: the longest prefix, block by
    block, that was part of a request within the last hour. ``placed`` is the same for what was
    kept no longer than this caller had it kept, so that only the places differ.
    """

    input: int
    read: int
    short: int
    long: int
    limit: int
    placed: int

    @property
    def fresh(self) -> int:
        """Tokens neither read nor written."""
        return self.input - self.read - self.short - self.long

    @property
    def cost(self) -> float:
        """What the input cost, in units of a fresh token."""
        return self.fresh + 0.1 * self.read + 1.25 * self.short + 2.0 * self.long


class CountingCache:
    """Stands in for ``PromptCache``. ``smallest`` is the shortest cached prefix in tokens."""

    def __init__(self, smallest: int = 1024) -> None:
        self.counted: list[Counted] = []
        self._smallest = smallest
        self._entries: dict[bytes, tuple[float, str]] = {}
        self._hour: dict[bytes, float] = {}
        self._bought: dict[bytes, float] = {}

    def use(self, body: Mapping[str, Any], now: float) -> dict[str, Any]:
        """What a request reads and writes, as the API reports it."""
        found, marks = _prefixes(body)
        prefixes = [(digest, characters // 4) for digest, characters in found]
        read = max((self._read(prefixes, mark, now) for mark in marks), default=0)
        written = self._write(prefixes, marks, read, now)
        total = prefixes[-1][1]
        counted = Counted(
            input=total,
            read=read,
            short=written["5m"],
            long=written["1h"],
            limit=self._longest(prefixes, self._hour, now),
            placed=self._longest(prefixes, self._bought, now),
        )
        self.counted.append(counted)
        self._remember(prefixes, marks, now)
        return {
            "input_tokens": counted.fresh,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": sum(written.values()),
            "cache_creation": {
                "ephemeral_5m_input_tokens": written["5m"],
                "ephemeral_1h_input_tokens": written["1h"],
            },
        }

    def _read(self, prefixes: list[tuple[bytes, int]], mark: int, now: float) -> int:
        for digest, tokens in prefixes[max(0, mark - POSITIONS + 1) : mark + 1][::-1]:
            if self._alive(digest, now):
                return tokens
        return 0

    def _alive(self, digest: bytes, now: float) -> bool:
        """True if there is an entry; it lives on from now."""
        ends, ttl = self._entries.get(digest, (0.0, ""))
        if ends <= now:
            return False
        self._entries[digest] = (now + LIFETIMES[ttl], ttl)
        return True

    def _write(
        self, prefixes: list[tuple[bytes, int]], marks: Mapping[int, str], read: int, now: float
    ) -> dict[str, int]:
        written, done = {"5m": 0, "1h": 0}, read
        for mark, ttl in marks.items():
            digest, tokens = prefixes[mark]
            if tokens < self._smallest or tokens <= done:
                continue
            self._entries[digest] = (now + LIFETIMES[ttl], ttl)
            written[ttl] += tokens - done
            done = tokens
        return written

    def _longest(
        self, prefixes: list[tuple[bytes, int]], ends: Mapping[bytes, float], now: float
    ) -> int:
        for digest, tokens in reversed(prefixes):
            if ends.get(digest, 0.0) > now:
                return tokens if tokens >= self._smallest else 0
        return 0

    def _remember(
        self, prefixes: list[tuple[bytes, int]], marks: Mapping[int, str], now: float
    ) -> None:
        lifetime = LIFETIMES["5m"]
        for at in range(len(prefixes) - 1, -1, -1):
            # What comes before a marker is kept for as long as that marker says.
            lifetime = LIFETIMES[marks[at]] if at in marks else lifetime
            digest = prefixes[at][0]
            self._hour[digest] = now + HOUR
            self._bought[digest] = max(self._bought.get(digest, 0.0), now + lifetime)


class IdleCache:
    """Stands in for ``PrefixCache``: it forgets what was not used for five minutes, the least that
    OpenAI keeps in memory. ``now`` is the time of the request."""

    def __init__(self) -> None:
        self.now = 0.0
        self._used: dict[int, float] = {}

    def seen(self, model: str, prompt: str) -> int:
        """How many tokens of ``prompt`` are in the cache; remembers it."""
        size = CACHE_STEP * CHARS_PER_TOKEN
        chain, hits, whole = hash(model), 0, True
        for start in range(0, len(prompt) - size + 1, size):
            chain = hash((chain, prompt[start : start + size]))
            whole = whole and self._used.get(chain, 0.0) > self.now - LIFETIMES["5m"]
            hits += whole
            self._used[chain] = self.now
        return hits * CACHE_STEP if hits * CACHE_STEP >= CACHE_MINIMUM else 0
