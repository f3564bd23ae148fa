"""Patterns of files: ``*`` within a name, ``**`` over folders, ``~`` for the person's home.

Other patterns are relative to the workspace, unless they begin with ``/`` or ``**``.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path


@dataclass(frozen=True)
class PathPattern:
    """A pattern such as ``src/**`` or ``~/notes/*.md``."""

    text: str

    def matches(self, path: str, workspace: Path) -> bool:
        """True if an absolute path fits the pattern. ``x/**`` is ``x`` and all that is below it."""
        return bool(self._regex(str(workspace)).fullmatch(path))

    def _regex(self, workspace: str) -> re.Pattern[str]:
        known = self._compiled
        if workspace not in known:
            known[workspace] = re.compile(self._translated(workspace), re.S)
        return known[workspace]

    @cached_property
    def _compiled(self) -> dict[str, re.Pattern[str]]:
        return {}

    def _translated(self, workspace: str) -> str:
        text = self.text
        if text == "~" or text.startswith("~/"):
            text = os.path.expanduser("~") + text[1:]  # noqa: PTH111
        if text.startswith("**"):
            prefix = ""
        elif text.startswith("/"):
            prefix, text = "", os.path.normpath(text)
        else:
            prefix, text = re.escape(workspace) + "/", os.path.normpath(text)
            if text == ".":
                prefix, text = re.escape(workspace), ""
        return prefix + _glob(text)


def _glob(text: str) -> str:
    """The regular expression of a glob."""
    out, at = [], 0
    while at < len(text):
        if text.startswith("/**", at) and at + 3 == len(text):
            out.append("(?:/.*)?")
            at += 3
        elif text.startswith("**/", at):
            out.append("(?:.*/)?")
            at += 3
        elif text.startswith("**", at):
            out.append(".*")
            at += 2
        else:
            out.append({"*": "[^/]*", "?": "[^/]"}.get(text[at]) or re.escape(text[at]))
            at += 1
    return "".join(out)
