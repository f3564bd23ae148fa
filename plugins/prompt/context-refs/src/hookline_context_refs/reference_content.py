"""The content of a reference, and the error if there is none."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path

from hookline_hookspecs import HooklineError, Http, Origin, Paths

from .config import ContextRefsConfig


class UnresolvedReference(HooklineError):
    """The reference cannot be attached; the text is shown after ``… is not attached: ``."""


@dataclass(frozen=True, slots=True)
class ReferenceContent:
    """The text of a reference, cut to its limit.

    ``key`` is equal for references to the same thing, ``source`` names it for the gate
    ``pre_read``, ``note`` says what was left out, ``warnings`` go to the person as well. ``files``
    are the text's files, ``origins`` its other origins.
    """

    key: Hashable
    source: str
    text: str
    note: str = ""
    warnings: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    origins: tuple[Origin, ...] = ()


@dataclass(frozen=True, slots=True)
class ReferenceSources:
    """Guarded file access, guarded HTTP and the limits, for resolving references.

    ``pictures`` are the picture files that are attached to the message already.
    """

    paths: Paths
    http: Http
    config: ContextRefsConfig
    pictures: frozenset[Path] = frozenset()
