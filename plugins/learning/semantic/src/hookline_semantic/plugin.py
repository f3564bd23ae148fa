"""The plugin: offers :class:`~hookline_hookspecs.SemanticIndex`, and fills it after replies."""

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
    from .parts import Parts

HOUR = 3600.0
HELD = 5.0
"""Seconds that a job lets a command that has answered wait for vectors."""
DELAY = 1.0
"""Seconds after a turn for which embedding waits, out of the next turn's way."""


class Semantic(Plugin[SemanticConfig]):
    """A second ranking, by meaning, for the plugins that search."""

    _parts: Parts | None = None
    _why: str = ""
    _timer: asyncio.TimerHandle | None = None
    _down = False

    @hookimpl
    def setup(self, host: Host) -> None:
        """Offer the ranking; nothing is loaded or asked before it is used."""
        host.services.provide(SemanticIndex, self)

    def parts(self) -> Parts:
        """What does the work; made when it is first needed. Raises ``HooklineError``."""
        if self._parts is None:
            from .parts import Parts

            self._parts = Parts(self.host, self.config)
        return self._parts

    # For the plugins that search

    async def nearest(
        self, corpus: str, text: str, *, scope: str | None = None, limit: int = 20
    ) -> dict[str, float]:
        """See :class:`~hookline_hookspecs.SemanticIndex`."""
        try:
            comparing = self.parts().comparing
        except HooklineError as error:
            self._tell(str(error))
            return {}
        return await comparing.nearest(corpus, text, scope, limit)

    def changed(self, corpus: str) -> None:
        """See :class:`~hookline_hookspecs.SemanticIndex`."""
        try:
            self.parts().filling.changed(corpus)
        except HooklineError as error:
            self._tell(str(error))
        else:
            self._soon()

    async def forget(self, corpus: str, keys: Iterable[str]) -> None:
        """See :class:`~hookline_hookspecs.SemanticIndex`."""
        try:
            await self.parts().kept.forget(corpus, keys)
        except HooklineError as error:
            self.log.warning("vectors are erased at the next start: %s", error)

    def _tell(self, why: str) -> None:
        if why != self._why:
            self._why = why
            self.log.warning("nothing is compared by meaning: %s", why)

    # In the background

    @hookimpl
    def end_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Embed what was said and learnt a moment later."""
        if ctx.session.kind == "chat":
            self._soon()

    def _soon(self) -> None:
        if self._timer is None and not self._down:
            self._timer = asyncio.get_running_loop().call_later(DELAY, self._now)

    def _now(self) -> None:
        self._timer = None
        self.host.spawn(self._fill(everything=False), "embed")

    async def _fill(self, *, everything: bool) -> None:
        try:
            await self.parts().filling.round(everything=everything)
        except HooklineError as error:
            self._tell(str(error))

    @hookimpl
    def register_jobs(self, register: Callable[[Job], None]) -> None:
        """Embed what is missing even if there are no turns."""
        register(Job("embed", self._embed, HOUR, at_start=True))

    async def _embed(self) -> None:
        """Embed what is missing; a command that ends waits for it no longer than HELD."""
        work = self.host.spawn(self._fill(everything=True), "embed all")
        await asyncio.wait([work], timeout=HELD)

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """Stop waiting; the next process does what this one did not finish."""
        self._down = True
        if self._timer is not None:
            self._timer.cancel()
        if self._parts is not None:
            await self._parts.embedder.close()

    # For the operator

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """Check who makes the vectors."""
        register(Check("embeddings", self._check))

    async def _check(self, offline: bool = False) -> CheckResult:
        from .checks import embeddings_check

        return await embeddings_check(self.host, self.parts, offline)
