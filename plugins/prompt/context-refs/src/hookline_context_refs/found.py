"""The outcome of a reference: the text found, or why there is none."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path

from hookline_hookspecs import HooklineError, Http, Origin, Paths

from .config import ContextRefsConfig


class Unresolved(HooklineError):
    """Nothing can be attached; the text is the reason, shown after ``… is not attached: ``."""


@dataclass(frozen=True, slots=True)
class Found:
    """The text of a reference, cut to its limit.

    ``key`` is equal for references to the same thing, ``source`` names it for the gate
    ``pre_read``, ``note`` says what was left out, ``warnings`` go to the person as well. ``files``
    are those that the text is from, ``origins`` where else it came from.
    """

    key: Hashable
    source: str
    text: str
    note: str = ""
    warnings: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    origins: tuple[Origin, ...] = ()


@dataclass(frozen=True, slots=True)
class Sources:
    """What references are resolved with: guarded files, guarded URLs, and the limits.

    ``pictures`` are the files that the message itself carries as pictures.
    """

    paths: Paths
    http: Http
    config: ContextRefsConfig
    pictures: frozenset[Path] = frozenset()
