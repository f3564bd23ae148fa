"""Which recorded dists or plugins the environment lacks. Reads metadata, imports nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, distribution

from .lock import Entry

GROUP = "hookline.plugins"


def lost(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """The entries whose dist, or one of whose plugins, is not installed for this interpreter."""
    return tuple(entry for entry in entries if not _is_there(entry))


def _is_there(entry: Entry) -> bool:
    try:
        found = distribution(entry.dist)
    except PackageNotFoundError:
        return False
    return set(entry.plugins) <= {
        point.name for point in found.entry_points if point.group == GROUP
    }


def sentence(entries: Sequence[Entry]) -> str:
    """What is gone, for a person."""
    listed = ", ".join(_named(entry) for entry in entries)
    verb = "is" if len(entries) == 1 else "are"
    return f"{listed} {verb} recorded in plugins.lock but no longer installed."


def _named(entry: Entry) -> str:
    brought = " and ".join(entry.plugins)
    dist = f"{entry.dist} {entry.version}"
    return f"plugin {brought} ({dist})" if brought else dist
