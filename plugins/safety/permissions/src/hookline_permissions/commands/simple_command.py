"""What a parsed command consists of: words, redirects, and programs with their arguments."""

from __future__ import annotations

from dataclasses import dataclass

UNKNOWN = "\0"
"""Stands in a word for what only the shell will know: the value of a variable, the output of a
command. No word of a command can contain this character."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word without its quotes. ``~`` and ``$HOME`` are written ``~``, ``$PWD`` is ``.``."""

    text: str

    @property
    def is_known(self) -> bool:
        """False if a part of the word is :data:`UNKNOWN`."""
        return UNKNOWN not in self.text


@dataclass(frozen=True, slots=True)
class Redirect:
    """A file that the shell opens; ``writes`` is False for one that is only read."""

    target: Word
    writes: bool


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """A program with its arguments.

    Attributes:
        words: the program's name as written, and its arguments; empty for redirects or assignments
            that stand alone.
        redirects: the files that are opened for it.
        assignments: the names of the variables set for it, or in the shell if ``words`` is empty.
        input_from: the programs whose output it reads or has as an argument.
        stdin: the text of its here-document or here-string; None without one.
        wrappers: the programs that start it, outermost first (``sudo``, ``xargs``).
        in_background: started with ``&``.
        is_downloaded: it runs a file that an earlier command of the same line has fetched.
    """

    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...] = ()
    assignments: tuple[str, ...] = ()
    input_from: frozenset[str] = frozenset()
    stdin: str | None = None
    wrappers: tuple[str, ...] = ()
    in_background: bool = False
    is_downloaded: bool = False

    @property
    def program(self) -> str:
        """The program's name without its folder; :data:`UNKNOWN` if only the shell knows it."""
        if not self.words:
            return ""
        text = self.words[0].text
        return UNKNOWN if UNKNOWN in text else text.rpartition("/")[2]

    @property
    def arguments(self) -> tuple[str, ...]:
        """The texts of the words after the program."""
        return tuple(word.text for word in self.words[1:])

    @property
    def text(self) -> str:
        """The words joined by one space, with ``…`` for what is unknown."""
        return " ".join(word.text for word in self.words).replace(UNKNOWN, "…")
