"""The summary of a part of a conversation, written by the auxiliary model."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hookline_hookspecs import Context, HooklineError, Message

from .config import CompactionConfig
from .shorten import SummaryFailed
from .transcript import instruction, prompt

LONGEST = 6
"""Characters per allowed token above which a summary is over-long; prose has four or five."""


class Summariser:
    """Makes summaries for one pass. ``room``: characters that the auxiliary model may read."""

    def __init__(self, ctx: Context, config: CompactionConfig, room: int, focus: str) -> None:
        self._ctx = ctx
        self._config = config
        self._room = room
        self._focus = focus
        self._until: float | None = None

    async def __call__(self, messages: Sequence[Message]) -> str:
        """Return a summary of ``messages``. Raises :class:`SummaryFailed`."""
        tokens = self._config.summary_max_tokens
        asked = prompt(messages, self._focus, tokens, self._room)
        loop = asyncio.get_running_loop()
        # All summaries of a pass together must fit into the hook's deadline.
        self._until = self._until or loop.time() + self._config.summary_timeout
        try:
            async with asyncio.timeout_at(self._until):
                text = await self._ctx.ask_model(asked, system=instruction(), max_tokens=tokens)
        except TimeoutError:
            raise SummaryFailed(
                f"the summary was not there after {self._config.summary_timeout:g} s"
            ) from None
        except HooklineError as error:
            raise SummaryFailed(f"the summary failed: {str(error).rstrip('.')}") from error
        if not text.strip():
            raise SummaryFailed("the summary is empty")
        if len(text) > tokens * LONGEST:
            raise SummaryFailed("the summary is over-long")
        return text
