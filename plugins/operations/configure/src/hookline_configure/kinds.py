"""A plugin's name: its kind, or ``KIND:NAME`` for one of several of a kind."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points

_OWN_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
"""As core reads it."""


def kind_of(name: str) -> str:
    """The name of the entry point: all of ``name``, or what precedes its colon."""
    return name.partition(":")[0]


def installed(name: str) -> Iterable[EntryPoint]:
    """The entry points of a plugin's kind; none if it is not installed."""
    return entry_points(group="hookline.plugins", name=kind_of(name))


def fault_of(name: str) -> str | None:
    """Why an installed plugin cannot be used under ``name``, or None.

    Imports the plugin if that is one of several of a kind.
    """
    kind, colon, own = name.partition(":")
    if not colon:
        return None
    if not _OWN_NAME.fullmatch(own):
        return (
            f"{name} is no name; write KIND:NAME, such as {kind or 'telegram'}:work, where NAME is "
            "a small letter, then up to 31 small letters, digits, _ or -."
        )
    try:
        multiple = next(iter(installed(name))).load().multiple
    except Exception:  # its next start says what is wrong with it
        return None
    return None if multiple else f"{kind} can be used once only, under its own name."
