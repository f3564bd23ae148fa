"""The summary of a part of a conversation, written by the auxiliary model."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hookline_hookspecs import Context, HooklineError, Message

from .compaction_pass import SummaryFailed
from .config import CompactionConfig
from .transcript import instruction, prompt

MAX_CHARS_PER_TOKEN = 6
"""Characters per allowed token above which a summary is too long; prose has four or five."""


class Summariser:
    """Makes summaries for one pass. ``max_chars``: characters that the auxiliary model may read."""

    def __init__(self, ctx: Context, config: CompactionConfig, max_chars: int, focus: str) -> None:
        self._ctx = ctx
        self._config = config
        self._max_chars = max_chars
        self._focus = focus
        self._deadline: float | None = None

    async def __call__(self, messages: Sequence[Message]) -> str:
        """Return a summary of ``messages``. Raises :class:`SummaryFailed`."""
        tokens = self._config.summary_max_tokens
        request = prompt(messages, self._focus, tokens, self._max_chars)
        loop = asyncio.get_running_loop()
        # All summaries of a pass together must fit into the hook's deadline.
        self._deadline = self._deadline or loop.time() + self._config.summary_timeout
        try:
            async with asyncio.timeout_at(self._deadline):
                text = await self._ctx.ask_model(request, system=instruction(), max_tokens=tokens)
        except TimeoutError:
            raise SummaryFailed(
                f"the summary took longer than {self._config.summary_timeout:g} s"
            ) from None
        except HooklineError as error:
            raise SummaryFailed(f"the summary failed: {str(error).rstrip('.')}") from error
        if not text.strip():
            raise SummaryFailed("the summary is empty")
        if len(text) > tokens * MAX_CHARS_PER_TOKEN:
            raise SummaryFailed("the summary is too long")
        return text
