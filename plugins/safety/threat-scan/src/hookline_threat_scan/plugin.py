"""The plugin: scans texts before they are remembered or read.

What is looked at (files, pages, results) arrives whole, with a mark. What would last (notes, facts,
skills, instruction files, definitions of tools) is refused.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from hookline_hookspecs import (
    Context,
    Deny,
    Excerpt,
    Host,
    Lesson,
    Origin,
    Plugin,
    ToolResult,
    hookimpl,
    merge_origins,
)

from .config import ThreatScanConfig
from .data_files import expression, load_yaml
from .text_use import TextUse

if TYPE_CHECKING:
    from .scanner import ThreatScanner
    from .threat_finding import ThreatFinding

TRANSCRIPT_KIND = "transcript"
"""The kind of an imported conversation: it is looked at, not followed."""
THREAD_MIN_CHARS = 20_000
"""Texts of at least this many characters are scanned in a thread."""
INSTRUCTION_KINDS = frozenset({"context", "hint", "skill"})
"""Kinds of instruction files, which may speak to agents; only a certain attack is refused."""
DEFINITION_KIND = "mcp"
"""The kind of tool definitions, which are JSON and are followed for as long as they are known."""
MARKED = "marked"
"""The key of the sources that were marked since the last tool call."""
KEPT_OUT = "kept out"
"""The key of the sources that the person of a session knows to be refused."""
_SUFFIX = expression("suffix")


class ThreatScan(Plugin[ThreatScanConfig]):
    """Marks texts that try to turn the agent against its user, and refuses to remember them."""

    def __init__(self, config: ThreatScanConfig, host: Host) -> None:
        super().__init__(config, host)
        self._scanner: ThreatScanner | None = None
        self._building = asyncio.Lock()

    @hookimpl
    async def pre_learn(self, ctx: Context, lesson: Lesson) -> Deny | None:
        """Refuse a text that must not be remembered, with the rule, the line and what to do."""
        if self._is_allowed(lesson.source):
            return None
        if lesson.kind in INSTRUCTION_KINDS:
            return await self._refuse_certain(lesson.text, lesson.source)
        use = TextUse.DATA if lesson.kind == TRANSCRIPT_KIND else _followed(lesson.source)
        return self._deny(await self._find(lesson.text, use), lesson.source)

    @hookimpl
    async def pre_read(self, ctx: Context, excerpt: Excerpt) -> Deny | Excerpt | None:
        """Mark a suspicious text that a model looks at; refuse one that it follows."""
        if self._is_allowed(excerpt.source):
            return None
        if excerpt.kind in INSTRUCTION_KINDS and excerpt.kind not in self.config.data_kinds:
            denied = await self._refuse_certain(excerpt.text, excerpt.source)
            _notify_once(ctx, excerpt.source, denied)
            return denied
        if excerpt.kind == DEFINITION_KIND:
            found = await self._find(_words(excerpt.text), TextUse.GUIDANCE)
            return self._deny(found, excerpt.source, excerpt.source)
        if excerpt.kind not in self.config.data_kinds:
            found = await self._find(excerpt.text, _followed(excerpt.source))
            return self._deny(found, excerpt.source)
        use = TextUse.CODE if _is_source(excerpt.source) else TextUse.DATA
        found = await self._find(excerpt.text, use)
        if found is None:
            return None
        ctx.stash.setdefault(MARKED, []).append(excerpt.source)
        return replace(excerpt, text=f"{excerpt.text}\n{found.mark(excerpt.source)}")

    @hookimpl
    def post_tool(self, ctx: Context, result: ToolResult) -> ToolResult | None:
        """Count the result of a call that read a suspicious text as text from outside."""
        marked = ctx.stash.pop(MARKED, None)
        if not marked:
            return None
        outside = tuple(Origin("outside", f"suspicious text in {source}") for source in marked)
        return replace(result, origins=merge_origins(result.origins, outside))

    def _is_allowed(self, source: str) -> bool:
        return any(fnmatchcase(source, pattern) for pattern in self.config.allow)

    async def _refuse_certain(self, text: str, source: str) -> Deny | None:
        return self._deny(await self._find(text, _followed(source), certain=True), source)

    def _deny(self, found: ThreatFinding | None, source: str, outside: str = "") -> Deny | None:
        if found is None:
            return None
        how = (
            f"If it is harmless, add {source!r} to the list `plugins.threat-scan.allow` in "
            "config.yaml."
        )
        return Deny(f"{found.reason(outside)} {how}")

    async def _find(
        self, text: str, use: TextUse, *, certain: bool = False
    ) -> ThreatFinding | None:
        scanner = self._scanner or await self._load_scanner()
        scan = scanner.certain if certain else scanner.scan
        if len(text) < THREAD_MIN_CHARS:
            return scan(text, use)
        return await asyncio.to_thread(scan, text, use)

    async def _load_scanner(self) -> ThreatScanner:
        """Build the scanner once, in a thread because reading the vocabulary takes 0.3 s."""
        async with self._building:
            if self._scanner is None:
                self._scanner = await asyncio.to_thread(_build, self.config.installers)
        return self._scanner


def _notify_once(ctx: Context, source: str, denied: Deny | None) -> None:
    """Tell the person that a file was kept out of the session; the model alone may not say so."""
    if ctx.session.kind == "none" or denied is None:
        return
    if source not in (known := ctx.stash.session.setdefault(KEPT_OUT, [])):
        known.append(source)
        ctx.notify(f"{source} was kept out of the conversation. {denied.reason}")


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


def _followed(source: str) -> TextUse:
    return TextUse.PROGRAM if _is_source(source) else TextUse.GUIDANCE


def _words(definition: str) -> str:
    """All strings of a definition in JSON, each a paragraph, so that quotation marks of JSON do
    not make them quotations; the text itself if it is not JSON."""
    try:
        return "\n\n".join(_strings(json.loads(definition)))
    except ValueError:
        return definition


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _strings(item)
