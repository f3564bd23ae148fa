"""Sessions and turns, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from .inbound import Inbound
from .messages import Message
from .tool_results import ToolResult


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


MAX_TOKENS = 10**12
"""Maximum token count; a larger one reported by a server is set to it."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or more model calls.

    ``input`` includes tokens read from and written to the cache; ``cache_write`` includes
    ``cache_write_1h``, the tokens cached for an hour. ``input_cost`` is the cost of the input in
    units of one uncached input token; without a cache it would equal ``input``. A negative
    count or one that is not a number becomes 0, one above :data:`MAX_TOKENS` becomes that.
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
            object.__setattr__(self, name, min(known, MAX_TOKENS))

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


Stop: TypeAlias = Literal[
    "", "done", "question", "command", "denied", "max_iterations", "stopped", "error", "budget"
]


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn so far: the inbound message, the work done for it, and the reply.

    ``messages`` are those of this turn only; ``stop`` is empty until the turn has ended.
    ``continued`` counts how often ``post_answer`` made it go on.
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
    continued: int = 0
