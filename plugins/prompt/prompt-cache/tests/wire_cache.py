"""A small model of the provider's cache: what a breakpoint finds, and for how long."""

from __future__ import annotations

from hookline_hookspecs import WireRequest

POSITIONS = 20
LIFE = {"5m": 300.0, "1h": 3600.0}


class WireCache:
    """Entries by the bytes before them. Lengths stand for tokens."""

    def __init__(self) -> None:
        self._entries: dict[bytes, tuple[float, float]] = {}

    def send(self, wire: WireRequest, now: float) -> int:
        """The bytes that are read; what the markers say is written."""
        prefixes, number = _prefixes(wire)
        read = 0
        for marker in wire.markers:
            at = number[_part(wire, marker.fragment), marker.block]
            for prefix in reversed(prefixes[max(0, at - POSITIONS + 1) : at + 1]):
                ends, life = self._entries.get(prefix, (0.0, 0.0))
                if ends > now:
                    self._entries[prefix] = (now + life, life)
                    read = max(read, len(prefix))
                    break
        for marker in wire.markers:
            prefix = prefixes[number[_part(wire, marker.fragment), marker.block]]
            if len(prefix) > read:
                life = LIFE[marker.ttl]
                self._entries[prefix] = (now + life, life)
        return read


def block_before(wire: WireRequest, messages: int) -> int:
    """The length of the prefix that ends with the first ``messages`` messages."""
    prefixes, number = _prefixes(wire)
    last = max(at for (part, _), at in number.items() if part < messages + 2)
    return len(prefixes[last])


def _part(wire: WireRequest, fragment: str | int) -> int:
    return ("tools", "system").index(fragment) if isinstance(fragment, str) else fragment + 2


def _prefixes(wire: WireRequest) -> tuple[list[bytes], dict[tuple[int, int], int]]:
    parts = [wire.stable.get("tools", b""), wire.stable.get("system", b""), *wire.fragments]
    prefixes: list[bytes] = []
    number: dict[tuple[int, int], int] = {}
    before = b""
    for index, part in enumerate(parts):
        cuts = getattr(part, "cuts", ())
        for block, cut in enumerate(cuts):
            number[index, block] = len(prefixes)
            prefixes.append(before + (part[:cut] if cut >= 0 else part[: block + 1]))
        before += part
    return prefixes, number
