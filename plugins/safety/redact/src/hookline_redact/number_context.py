"""The text around digits: whether they stand alone, and which words precede them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml

from .text_view import TextView

_MAX_CHARS_BEFORE = 32
"""Characters before a number that are searched for words."""
_WORD = re.compile(r"[^\W\d_]+")
_JOINED_BEFORE = re.compile(r"[A-Za-z0-9_][-./:\\@#=%&+$]\Z|[\w$€£\\]\Z|\d[,']\Z|[.]\Z|0[xX]\Z")
_JOINED_AFTER = re.compile(r"[\w%°]|[-./:,'+@][0-9A-Za-z_]|[/=@]")
_LABEL = re.compile(r"[^\W\d_][:=#]\Z|[:=]\Z")


@dataclass(frozen=True, slots=True)
class PrecedingWords:
    """The words before a number on its line; the nearest one is last."""

    near: tuple[str, ...]
    text: str

    @classmethod
    def of(cls, text: str, start: int) -> PrecedingWords:
        """The words before the index ``start``."""
        begin = max(text.rfind("\n", 0, start) + 1, start - _MAX_CHARS_BEFORE, 0)
        part = text[begin:start].lower()
        return cls(tuple(_WORD.findall(part)[-6:]), part)

    def mention(self, topic: str) -> bool:
        """Whether a word of the list ``topic`` in ``number_words.yaml`` is among them."""
        whole, anywhere = _lists()[topic]
        return any(word in whole for word in self.near) or any(w in self.text for w in anywhere)

    def label_as(self, topic: str) -> bool:
        """Whether such a word directly precedes the number, at most two words before it."""
        whole, anywhere = _lists()[topic]
        close = self.text[-12:]
        return any(word in whole for word in self.near[-3:]) or any(w in close for w in anywhere)


@cache
def _lists() -> dict[str, tuple[frozenset[str], tuple[str, ...]]]:
    data = yaml.load(
        (files(__package__) / "number_words.yaml").read_text("utf-8"), Loader=yaml.CSafeLoader
    )
    return {
        name: (frozenset(" ".join(lines).split()), tuple(data[f"{name}_anywhere"]))
        for name, lines in data.items()
        if not name.endswith("_anywhere")
    }


def stands_alone(text: str, start: int, end: int) -> bool:
    """Whether the digits are not part of a longer word, number, path or URL."""
    if _JOINED_AFTER.match(text, end) and not _starts_sentence(text, end):
        return False
    if start == 0:
        return True
    front = text[max(0, start - 2) : start]
    return _JOINED_BEFORE.search(front) is None or _LABEL.search(front) is not None


def _starts_sentence(text: str, end: int) -> bool:
    """Whether a full stop or comma ends a sentence although no space follows."""
    return text[end] in ".," and text[end + 1 : end + 2].isupper()


def in_url(view: TextView, start: int) -> bool:
    """Whether the index is inside a URL, where digits are an identifier."""
    text = view.text
    begin = max(0, start - 300)
    scheme = text.rfind("://", begin, start)
    return scheme >= 0 and not any(char.isspace() for char in text[scheme:start])
