"""Recognises finished English text, such as a guard's reason, as a sentence of a catalogue.

Guards, checks and commands write English, with values in it, long before anyone knows who will
read it; a question may be read on a page tomorrow. So a page compares the text with the sentences
of the catalogues: ``The file /a is missing`` is ``The file {path} is missing``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_VALUE = re.compile(r"\{([A-Za-z_]\w*)\}")
MIN_LETTERS = 4
"""Letters that a sentence has besides its values; shorter ones would fit too many texts, but for
those with ``{n}``, which is a number."""


@dataclass(frozen=True, slots=True)
class Template:
    """A sentence with values: the names of these, and the text before, between and after them."""

    sentence: str
    names: tuple[str, ...]
    parts: tuple[str, ...]

    def values(self, text: str) -> dict[str, str] | None:
        """Return the values if the text is this sentence; None if it is not, or if it is unclear
        where a value ends, so that nobody can move words from one value to another."""
        first, *between, last = self.parts
        room = len(text) - len(first) - len(last)
        if room < 0 or not text.startswith(first) or not text.endswith(last):
            return None
        found = _from_left(text[len(first) : len(first) + room], between)
        if found is None or found != _from_right(text[len(first) : len(first) + room], between):
            return None
        return dict(zip(self.names, found, strict=True))


def templates(sentences: Iterable[str]) -> Iterator[Template]:
    """Yield the sentences that have values and can be recognised."""
    for sentence in sentences:
        parts = _VALUE.split(sentence)
        names, texts = parts[1::2], parts[0::2]
        letters = sum(character.isalpha() for character in "".join(texts))
        is_clear = all(texts[1:-1]) and len(set(names)) == len(names)
        is_long = letters >= (1 if "n" in names else MIN_LETTERS)
        if names and is_clear and is_long and "{" not in "".join(texts):
            yield Template(sentence, tuple(names), tuple(texts))


def _from_left(text: str, between: list[str]) -> list[str] | None:
    found = []
    for separator in between:
        value, separated, text = text.partition(separator)
        if not separated:
            return None
        found.append(value)
    return [*found, text]


def _from_right(text: str, between: list[str]) -> list[str] | None:
    found = []
    for separator in reversed(between):
        text, separated, value = text.rpartition(separator)
        if not separated:
            return None
        found.append(value)
    return [text, *reversed(found)]
