"""Commands that download and run, open shells, settle in or carry data away."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from importlib.resources import files
from string import ascii_lowercase, ascii_uppercase

import yaml

from .finding import Finding
from .patterns import commands

_URL = re.compile(r"(?P<scheme>[a-z]{2,6})://(?P<rest>[^\s\"'`<>)|;,]{1,400})", re.IGNORECASE)
_FILE = re.compile(
    r"(?:-o|--output|--output-document|-outfile)[ =]?\S+|>\s*\S+"
    r"|(?<![\w.])(?:ba|z|da)?sh\s+[\w./~-]+|\bchmod\s+\S+\s+\S+|\bnew-object\s+[\w.]+|\.downloadstring|\[[\w.]+\]::\S+",
    re.IGNORECASE,
)
_HOST = re.compile(r"(?<![\w.~/-])[\w-]+(?:\.[A-Za-z][\w-]*)+(?=[\s/:\"'`]|\Z)")
# Ways to write a command that a shell reads and a filter does not.
_QUOTED = re.compile(r"(?<=[A-Za-z])(?:''|\"\"|\\(?=[a-z])|\$@|\$\*)(?=[A-Za-z])")
_SEPARATOR = re.compile(r"\$\{?IFS\}?(?:%\?\?)?")
_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)
_BEFORE, _AHEAD = 400, 700
"""Characters in front of a word and behind it that a command may take."""


def find_commands(text: str, installers: Collection[str] = ()) -> Iterator[Finding]:
    """The commands; one that only uses addresses of known ``installers`` is left."""
    joined = _SEPARATOR.sub(
        lambda f: " " * len(f[0]), text.replace("\\\r\n", "   ").replace("\\\n", "  ")
    )
    spaced = joined if len(joined) == len(text) else text
    for reading in {spaced, _QUOTED.sub("", spaced)}:
        yield from _find(reading, text if reading is spaced else reading, installers)


def _find(text: str, lines: str, installers: Collection[str]) -> Iterator[Finding]:
    lower = text.translate(_LOWER)
    for group in commands():
        for begin, end in _windows(lower, group.words):
            for pattern in group.patterns:
                for found in pattern.finditer(text, begin, end):
                    command = _whole(text, found)
                    if group.rule != "download-and-run" or not is_known(command, installers):
                        yield Finding.at(group.rule, lines, *found.span())


def _whole(text: str, found: re.Match[str]) -> str:
    """A command, up to the end of its line if its address comes behind the match."""
    if _URL.search(found[0]) or "new-object" not in found[0].lower():
        return found[0]
    line = text.find("\n", found.end())
    return text[found.start() : line if line >= 0 else len(text)][:400]


def _windows(lower: str, words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Parts of the text around the words; they overlap by less than they hold."""
    searched = 0
    for at, end in sorted(place for word in words for place in _places(lower, word)):
        if end > searched:
            begin = max(lower.rfind("\n", 0, at), at - _BEFORE, 0)
            searched = end + _AHEAD
            yield begin, min(len(lower), searched + _AHEAD)


def _places(lower: str, word: str) -> Iterator[tuple[int, int]]:
    at = lower.find(word)
    while at >= 0:
        yield at, at + len(word)
        at = lower.find(word, at + _AHEAD)


def is_known(command: str, installers: Collection[str]) -> bool:
    """True if a command has addresses, and all are those of installers that are known.

    A name with a dot that is neither an address nor the file that was written is one without its
    scheme.
    """
    urls = list(_URL.finditer(command))
    rest = _FILE.sub(" ", _URL.sub(" ", command))
    known = (*known_installers(), *installers)
    return bool(urls) and not _HOST.search(rest) and all(_allowed(url, known) for url in urls)


def _allowed(url: re.Match[str], installers: Collection[str]) -> bool:
    rest = url["rest"].rstrip(".")
    host = rest.partition("/")[0].lower()
    if url["scheme"].lower() != "https" or not re.fullmatch(r"[a-z0-9.-]+", host) or "/../" in rest:
        return False
    for installer in installers:
        name, slash, path = installer.partition("/")
        if host == name.lower() and (not slash or rest[len(host) + 1 :].startswith(path)):
            return True
    return False


@cache
def known_installers() -> tuple[str, ...]:
    """The addresses in ``installers.yaml``."""
    return tuple(yaml.safe_load((files(__package__) / "installers.yaml").read_text("utf-8")))
