"""Names of plugins in config.yaml: ``KIND``, or ``KIND:NAME`` for one of several of a kind."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, metadata

PREFIX = "hookline-"
"""The beginning of the names of Hookline's own packages."""
_OWN_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
"""The part after the colon; core uses the same pattern."""


def kind_of(name: str) -> str:
    """The name of the entry point: all of ``name``, or the part before its colon."""
    return name.partition(":")[0]


def installed_entry_points(name: str) -> Iterable[EntryPoint]:
    """The entry points of a plugin's kind; empty if it is not installed."""
    return entry_points(group="hookline.plugins", name=kind_of(name))


def known_plugins() -> set[str]:
    """The names of Hookline's own plugins: those of its extras, and those in its source clone.

    Only these are ever installed: on a package index, a misspelt name may be another person's
    package.
    """
    from .source_clone import find_clone

    try:
        needed = metadata("hookline").get_all("Requires-Dist") or []
    except PackageNotFoundError:
        needed = []
    dists = (text.split(";")[0].split("[")[0].split("=")[0].strip(" <>~!") for text in needed)
    source = find_clone()
    return {dist.removeprefix(PREFIX) for dist in dists if dist.startswith(PREFIX)} | (
        source.plugins if source else set()
    )


def naming_problem(name: str) -> str | None:
    """Why an installed plugin cannot be used under ``name``, or None.

    A name with a colon makes it import the plugin.
    """
    kind, colon, own = name.partition(":")
    if not colon:
        return None
    if not _OWN_NAME.fullmatch(own):
        return (
            f"{name} is not a valid name. Write KIND:NAME, such as {kind or 'telegram'}:work. "
            "NAME is a lower-case letter, then up to 31 lower-case letters, digits, _ or -."
        )
    try:
        multiple = next(iter(installed_entry_points(name))).load().multiple
    except Exception:  # the plugin's next start reports what is wrong with it
        return None
    return None if multiple else f"{kind} can be used only once, under its own name."
