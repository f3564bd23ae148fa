"""The plugin: scans texts before they are remembered or read."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from hookline_hookspecs import Context, Deny, Excerpt, Host, Lesson, Plugin, hookimpl

from .config import ThreatScanConfig
from .data_files import expression, load_yaml
from .text_use import TextUse

if TYPE_CHECKING:
    from .scanner import ThreatScanner

TRANSCRIPT_KIND = "transcript"
"""The kind of an imported conversation: it is looked at, not followed."""
THREAD_MIN_CHARS = 20_000
"""Texts of at least this many characters are scanned in a thread."""
OUTSIDE_KINDS = frozenset({"web", "tool", "mcp"})
"""Kinds of text that the reader cannot change."""
_SUFFIX = expression("suffix")


class ThreatScan(Plugin[ThreatScanConfig]):
    """Refuses texts that would turn the agent against its user."""

    def __init__(self, config: ThreatScanConfig, host: Host) -> None:
        super().__init__(config, host)
        self._scanner: ThreatScanner | None = None
        self._building = asyncio.Lock()

    @hookimpl
    async def pre_learn(self, ctx: Context, lesson: Lesson) -> Deny | None:
        """Refuse a text that must not be remembered, with the rule, the line and what to do."""
        if lesson.kind == TRANSCRIPT_KIND:
            return await self._scan(lesson.text, TextUse.DATA)
        is_program = _is_source(lesson.source)
        return await self._scan(lesson.text, TextUse.PROGRAM if is_program else TextUse.GUIDANCE)

    @hookimpl
    async def pre_read(self, ctx: Context, excerpt: Excerpt) -> Deny | None:
        """Refuse a text that a model must not read."""
        if any(fnmatchcase(excerpt.source, pattern) for pattern in self.config.allow):
            return None
        outside = excerpt.source if excerpt.kind in OUTSIDE_KINDS else ""
        return await self._scan(excerpt.text, self._use(excerpt), outside)

    def _use(self, excerpt: Excerpt) -> TextUse:
        is_program = _is_source(excerpt.source)
        if excerpt.kind not in self.config.data_kinds:
            return TextUse.PROGRAM if is_program else TextUse.GUIDANCE
        return TextUse.CODE if is_program else TextUse.DATA

    async def _scan(self, text: str, use: TextUse, outside: str = "") -> Deny | None:
        scanner = self._scanner or await self._load_scanner()
        if len(text) < THREAD_MIN_CHARS:
            finding = scanner.scan(text, use)
        else:
            finding = await asyncio.to_thread(scanner.scan, text, use)
        return None if finding is None else Deny(finding.reason(outside))

    async def _load_scanner(self) -> ThreatScanner:
        """Build the scanner once, in a thread because reading the vocabulary takes 0.3 s."""
        async with self._building:
            if self._scanner is None:
                self._scanner = await asyncio.to_thread(_build, self.config.installers)
        return self._scanner


def _build(installers: Sequence[str]) -> ThreatScanner:
    from .scanner import ThreatScanner

    scanner = ThreatScanner(installers)
    scanner.scan("word")  # reads the vocabulary and what else every text needs
    return scanner


def _is_source(name: str) -> bool:
    """Whether a source is a file, or lines of one (``a.py:10-20``), with a program or a page.

    A URL is not: the fetched text is not the file itself.
    """
    found = _SUFFIX.search(name)
    if found is None or "://" in name:
        return False
    return found[1].lower() in load_yaml("program_suffixes.yaml")["suffixes"].split()
