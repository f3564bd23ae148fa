"""Finds recorded distributions and plugins that are missing. Reads metadata, imports nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, distribution

from .lock import LockEntry

GROUP = "hookline.plugins"


def find_missing(entries: Iterable[LockEntry]) -> tuple[LockEntry, ...]:
    """The entries whose distribution, or one of its plugins, is not installed."""
    return tuple(entry for entry in entries if not _is_installed(entry))


def _is_installed(entry: LockEntry) -> bool:
    try:
        found = distribution(entry.dist)
    except PackageNotFoundError:
        return False
    return set(entry.plugins) <= {
        point.name for point in found.entry_points if point.group == GROUP
    }


def missing_sentence(entries: Sequence[LockEntry]) -> str:
    """A sentence that names the missing entries."""
    listed = ", ".join(_label(entry) for entry in entries)
    verb = "is" if len(entries) == 1 else "are"
    return f"{listed} {verb} recorded in plugins.lock but no longer installed."


def _label(entry: LockEntry) -> str:
    plugins = " and ".join(entry.plugins)
    dist = f"{entry.dist} {entry.version}"
    return f"plugin {plugins} ({dist})" if plugins else dist
