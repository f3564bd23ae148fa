"""The written pages of the documentation and their fenced blocks.

A block says what is to be done with it:

- one with ``title="PATH"`` is a file: it is written to ``PATH`` before what follows it. ``diff``
  changes a file that is there: its lines with ``-`` become those with ``+``;
- ``console`` is commands, run as they stand. A ``text`` block right after it is what they print;
- a comment ``<!-- exit: 1 -->`` before a ``console`` block is how its last command ends;
- a comment ``<!-- not run: REASON -->`` before any block is why nobody can run it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from meta.tree import ROOT

DOCS = ROOT / "docs"
SYNTAX = ("console", "diff", "ini", "python", "sql", "text", "toml", "yaml")
"""The languages that a fence may name."""
_FENCE = re.compile(
    r"(?:^<!-- (?P<key>exit|not run): (?P<value>[^\n]*?) -->\n\n?)?"
    r"^(?P<indent> *)```(?P<language>\w*)(?: title=\"(?P<title>[^\"\n]+)\")?\n"
    r"(?P<text>.*?)^(?P=indent)```$",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Block:
    """A fenced block. ``line`` is that of its fence; ``not_run`` the reason, if there is one."""

    page: str
    line: int
    language: str
    title: str
    text: str
    follows_directly: bool
    exit_code: int = 0
    not_run: str = ""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@cache
def written() -> tuple[str, ...]:
    """The pages that stand in the folder, by their path below it."""
    found = (file.relative_to(DOCS) for file in DOCS.rglob("*.md"))
    return tuple(sorted(path.as_posix() for path in found if path.parts[0] != "_gen"))


@cache
def blocks(page: str) -> tuple[Block, ...]:
    """The fenced blocks of a page, in order."""
    return tuple(_blocks(page, read(page)))


def read(page: str) -> str:
    """The Markdown of a page."""
    return (DOCS / page).read_text("utf-8")


def _blocks(page: str, text: str) -> Iterator[Block]:
    end = 0
    for found in _FENCE.finditer(text):
        between, end = text[end : found.start()], found.end()
        key, value = found["key"], found["value"]
        yield Block(
            page=page,
            line=text[: found.start("language")].count("\n") + 1,
            language=found["language"],
            title=found["title"] or "",
            text=re.sub(f"^{found['indent']}", "", found["text"], flags=re.MULTILINE),
            follows_directly=not between.strip(),
            exit_code=int(value) if key == "exit" else 0,
            not_run=value if key == "not run" else "",
        )


def apply_diff(text: str, diff: str) -> str:
    """``text`` after a ``diff`` block. Raises ``ValueError`` if it does not fit one place."""
    # An editor may have taken the blank of an empty line that stays.
    lines = [" \n" if line == "\n" else line for line in diff.splitlines(keepends=True)]
    old = "".join(line[1:] for line in lines if line[0] in "- ")
    new = "".join(line[1:] for line in lines if line[0] in "+ ")
    if text.count(old) != 1:
        raise ValueError(f"{text.count(old)} places, not one, read:\n{old}")
    return text.replace(old, new)


def output_difference(printed: str, shown: str) -> str:
    """Why ``printed`` is not what a page shows, or an empty text.

    ``…`` stands for anything inside a line, and for any number of lines where it stands alone.
    """
    lines = [line.rstrip() for line in printed.strip("\n").splitlines()]
    pattern = "".join(map(_pattern, shown.strip("\n").splitlines()))
    if re.fullmatch(pattern, "".join(f"{line}\n" for line in lines)):
        return ""
    return f"the page shows\n\n{shown}\nand what is printed is\n\n{printed}"


def _pattern(line: str) -> str:
    if line.strip() == "…":
        return "(?:[^\n]*\n)*?"
    pieces = re.split("(…)", line.rstrip())
    return "".join("[^\n]*" if p == "…" else re.escape(p) for p in pieces) + "\n"
