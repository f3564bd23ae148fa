"""The different names by which file systems find the same file."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's loader if available, because it is ten times faster."""
_SEPARATORS = re.compile(r"[/\\]+")


def load_data(name: str) -> Any:
    """Load a file of this package's folder ``data``."""
    file = Path(__file__).parent / "data" / name
    return yaml.load(file.read_text(encoding="utf-8"), Loader=_LOADER)  # noqa: S506


@functools.cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {key: re.compile(text) for key, text in load_data("spelling.yaml").items()}


def fold(text: str) -> str:
    """Remove all differences that any file system ignores from a name.

    This is Unicode's NFKC_Casefold (UAX #31, section 5), of which HFS+, APFS and NTFS each apply a
    part.
    """
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return _patterns()["ignorable"].sub("", folded)


def components(path: str) -> list[str]:
    """The folded components of a path, split at both kinds of slash, as on Windows."""
    return _SEPARATORS.split(fold(path))


def forms(part: str) -> set[str]:
    """All names of the file with this folded name.

    Win32 ignores trailing dots and spaces; the text after a colon names a stream of the file.
    """
    return {form.rstrip(". ") for form in (part, part.partition(":")[0])} | {part}


def without_copy_ending(part: str) -> str:
    """A component without endings of backup copies: ``.env`` for ``.env.bak~``."""
    return _patterns()["copy_endings"].sub("", part)


def short_name(name: str) -> str:
    """The start of the 8.3 alias of ``name`` on FAT and NTFS: ``git-cr`` for ``.git-credentials``.

    Empty for a name without an alias: only names with a leading dot or over 8 letters have one.
    """
    stem = re.split(r"[.*?]", name.removeprefix("."))[0][:6]
    return stem if name.startswith(".") or (len(name) > 8 and name.isidentifier()) else ""


def globs(patterns: Sequence[str]) -> str:
    """One regular expression for globs; ``*`` and ``?`` do not match a slash."""
    bodies = (re.escape(p).replace(r"\*", "[^/]*").replace(r"\?", "[^/]") for p in patterns)
    return "(?:" + "|".join(bodies) + ")"


def matches(glob: str, name: str) -> bool:
    """True if a glob matches a component. Only globs with several wildcards are compiled."""
    before, star, after = glob.partition("*")
    if "?" in glob or "*" in after:
        return _compiled(glob).fullmatch(name) is not None
    if not star:
        return name == glob
    fits = len(name) >= len(before) + len(after) and "/" not in name
    return fits and name.startswith(before) and name.endswith(after)


@functools.cache
def _compiled(glob: str) -> re.Pattern[str]:
    return re.compile(globs([glob]))
