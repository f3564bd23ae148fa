"""Cached results, bounded by their size."""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from hookline_hookspecs import ImageBlock, Origin, ToolResult


@dataclass(frozen=True, slots=True)
class CachedResult:
    """A tool's result. ``data`` is JSON, times are Unix seconds, ``size`` is in bytes."""

    text: str
    notes: tuple[str, ...]
    images: tuple[ImageBlock, ...]
    data: str
    stored: float
    expires: float
    size: int
    origins: tuple[Origin, ...] = ()

    @classmethod
    def of(cls, result: ToolResult, now: float, ttl: float) -> CachedResult | None:
        """Return the entry for a result; None if its ``data`` cannot be stored as JSON."""
        try:
            data = json.dumps(result.data)
        except (TypeError, ValueError, RecursionError):
            return None
        texts = [result.text, *result.notes, data, *(image.data for image in result.images)]
        size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
        return cls(
            result.text,
            result.notes,
            result.images,
            data,
            stored=now,
            expires=now + ttl,
            size=size,
            origins=result.origins,
        )

    def value(self) -> Any:
        """The tool's value for programs, a new copy for each caller."""
        return json.loads(self.data)


class ResultCache:
    """Results by key. The least recently used are dropped when all exceed ``max_bytes``."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._entries: OrderedDict[str, CachedResult] = OrderedDict()
        self._bytes = 0

    def get(self, key: str, now: float) -> CachedResult | None:
        """Return the result for ``key`` if it is still valid. It also expires if the clock was set
        back."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if not entry.stored <= now < entry.expires:
            self._remove(key)
            return None
        self._entries.move_to_end(key)
        return entry

    def put(self, key: str, entry: CachedResult) -> None:
        """Store ``entry``, unless it is larger than the whole cache."""
        self._remove(key)
        if entry.size > self._max_bytes:
            return
        self._entries[key] = entry
        self._bytes += entry.size
        while self._bytes > self._max_bytes:
            self._remove(next(iter(self._entries)))

    def _remove(self, key: str) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._bytes -= entry.size
