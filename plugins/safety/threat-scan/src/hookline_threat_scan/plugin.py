"""The plugin: both gates of the mind, and how a refusal is worded."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from hookline_hookspecs import Context, Deny, Excerpt, Host, Lesson, Plugin, hookimpl

from .audience import Audience
from .config import ThreatScanConfig
from .data import expression, load

if TYPE_CHECKING:
    from .scanner import Scanner

TRANSCRIPT = "transcript"
"""The kind of a conversation that was held elsewhere: it is looked at, not followed."""
LONG = 20_000
"""Characters from which on a text is scanned in a thread, so that others need not wait."""


OUTSIDE = frozenset({"web", "tool", "mcp"})
"""Kinds of text that whoever reads it cannot change."""


class ThreatScan(Plugin[ThreatScanConfig]):
    """Refuses what would turn the agent against its user, before it is remembered or read."""

    def __init__(self, config: ThreatScanConfig, host: Host) -> None:
        super().__init__(config, host)
        self._scanner: Scanner | None = None
        self._building = asyncio.Lock()

    @hookimpl
    async def pre_learn(self, ctx: Context, lesson: Lesson) -> Deny | None:
        """Deny with the rule, the line and what to do; None if the text may be remembered."""
        if lesson.kind == TRANSCRIPT:
            return await self._judged(lesson.text, Audience.DATA)
        program = _is_source(lesson.source)
        return await self._judged(lesson.text, Audience.PROGRAM if program else Audience.GUIDANCE)

    @hookimpl
    async def pre_read(self, ctx: Context, excerpt: Excerpt) -> Deny | None:
        """The same for a text that a model is about to read."""
        if any(fnmatchcase(excerpt.source, pattern) for pattern in self.config.allow):
            return None
        outside = excerpt.source if excerpt.kind in OUTSIDE else ""
        return await self._judged(excerpt.text, self._audience(excerpt), outside)

    def _audience(self, excerpt: Excerpt) -> Audience:
        program = _is_source(excerpt.source)
        if excerpt.kind not in self.config.data_kinds:
            return Audience.PROGRAM if program else Audience.GUIDANCE
        return Audience.CODE if program else Audience.DATA

    async def _judged(self, text: str, audience: Audience, outside: str = "") -> Deny | None:
        scanner = self._scanner or await self._built()
        if len(text) < LONG:
            finding = scanner.scan(text, audience)
        else:
            finding = await asyncio.to_thread(scanner.scan, text, audience)
        return None if finding is None else Deny(finding.reason(outside))

    async def _built(self) -> Scanner:
        """Build the scanner, once and in a thread: reading the vocabulary takes 0.3 s, in which
        other sessions need not wait."""
        async with self._building:
            if self._scanner is None:
                self._scanner = await asyncio.to_thread(_build, self.config.installers)
        return self._scanner


def _build(installers: Sequence[str]) -> Scanner:
    from .scanner import Scanner

    scanner = Scanner(installers)
    scanner.scan("word")  # reads the vocabulary, and whatever every text needs
    return scanner


def _is_source(name: str) -> bool:
    """True for a file, or lines of one (``a.py:10-20``), that holds a program or a page.

    An address is none: what was fetched from it is no longer what it was.
    """
    found = _SUFFIX.search(name)
    if found is None or "://" in name:
        return False
    return found[1].lower() in load("sources.yaml")["suffixes"].split()


_SUFFIX = expression("suffix")
