"""The plugin: provides :class:`~hookline_hookspecs.SemanticIndex` and embeds after replies."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from hookline_hookspecs import (
    Check,
    CheckResult,
    Context,
    HooklineError,
    Host,
    Job,
    Plugin,
    SemanticIndex,
    Turn,
    hookimpl,
)

from .config import SemanticConfig

if TYPE_CHECKING:
    from .parts import SemanticParts

EMBED_INTERVAL = 3600.0
"""Seconds between two runs of the job that embeds what is missing."""
MAX_JOB_WAIT = 5.0
"""Seconds that the job may delay the end of a command."""
EMBED_DELAY = 1.0
"""Seconds after a turn before texts are embedded, so that the next turn comes first."""


class Semantic(Plugin[SemanticConfig]):
    """Ranks texts by meaning for the plugins that search."""

    _parts: SemanticParts | None = None
    _last_problem: str = ""
    _timer: asyncio.TimerHandle | None = None
    _stopped = False

    @hookimpl
    def setup(self, host: Host) -> None:
        """Provide the index; models are loaded only when it is used."""
        host.services.provide(SemanticIndex, self)

    def parts(self) -> SemanticParts:
        """Return the plugin's objects, created when first used. Raises ``HooklineError``."""
        if self._parts is None:
            from .parts import SemanticParts

            self._parts = SemanticParts(self.host, self.config)
        return self._parts

    # For the plugins that search

    async def nearest(
        self, corpus: str, text: str, *, scope: str | None = None, limit: int = 20
    ) -> dict[str, float]:
        """See :class:`~hookline_hookspecs.SemanticIndex`."""
        try:
            search = self.parts().search
        except HooklineError as error:
            self._warn_once(str(error))
            return {}
        return await search.nearest(corpus, text, scope, limit)

    def changed(self, corpus: str) -> None:
        """See :class:`~hookline_hookspecs.SemanticIndex`."""
        try:
            self.parts().indexer.changed(corpus)
        except HooklineError as error:
            self._warn_once(str(error))
        else:
            self._schedule()

    async def forget(self, corpus: str, keys: Iterable[str]) -> None:
        """See :class:`~hookline_hookspecs.SemanticIndex`."""
        try:
            await self.parts().store.forget(corpus, keys)
        except HooklineError as error:
            self.log.warning(
                "vectors could not be erased now, but will be at the next start: %s", error
            )

    def _warn_once(self, problem: str) -> None:
        if problem != self._last_problem:
            self._last_problem = problem
            self.log.warning("semantic search is off: %s", problem)

    # In the background

    @hookimpl
    def end_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Embed new messages and facts a moment later."""
        if ctx.session.kind == "chat":
            self._schedule()

    def _schedule(self) -> None:
        if self._timer is None and not self._stopped:
            self._timer = asyncio.get_running_loop().call_later(EMBED_DELAY, self._start_embedding)

    def _start_embedding(self) -> None:
        self._timer = None
        self.host.spawn(self._fill(everything=False), "embed")

    async def _fill(self, *, everything: bool) -> None:
        try:
            await self.parts().indexer.run(everything=everything)
        except HooklineError as error:
            self._warn_once(str(error))

    @hookimpl
    def register_jobs(self, register: Callable[[Job], None]) -> None:
        """Register the job that embeds what is missing."""
        register(Job("embed", self._embed_all, EMBED_INTERVAL, at_start=True))

    async def _embed_all(self) -> None:
        """Embed what is missing; return after MAX_JOB_WAIT even if that takes longer."""
        work = self.host.spawn(self._fill(everything=True), "embed all")
        await asyncio.wait([work], timeout=MAX_JOB_WAIT)

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """Stop; the next process continues what this one did not finish."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
        if self._parts is not None:
            await self._parts.embedder.close()

    # For the operator

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """Register the check of the embedder."""
        register(Check("embeddings", self._check))

    async def _check(self, offline: bool = False) -> CheckResult:
        from .doctor_checks import embeddings_check

        return await embeddings_check(self.host, self.parts, offline)
