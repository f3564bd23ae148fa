"""What stands around digits: whether they are a number of their own, and what it is called."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml

from .view import View

_NEAR = 32
"""Characters in front of a number that say what it is."""
_WORD = re.compile(r"[^\W\d_]+")
_JOINT = re.compile(r"[A-Za-z0-9_][-./:\\@#=%&+$]\Z|[\w$€£\\]\Z|\d[,']\Z|[.]\Z|0[xX]\Z")
_GOES_ON = re.compile(r"[\w%°]|[-./:,'+@][0-9A-Za-z_]|[/=@]")
_LABEL = re.compile(r"[^\W\d_][:=#]\Z|[:=]\Z")


@dataclass(frozen=True, slots=True)
class Words:
    """The words in front of a number on its line, the last one last."""

    near: tuple[str, ...]
    text: str

    @classmethod
    def of(cls, text: str, start: int) -> Words:
        """The words that end where ``start`` is."""
        begin = max(text.rfind("\n", 0, start) + 1, start - _NEAR, 0)
        part = text[begin:start].lower()
        return cls(tuple(_WORD.findall(part)[-6:]), part)

    def speak_of(self, what: str) -> bool:
        """True if a word of that list of ``words.yaml`` is among them."""
        whole, anywhere = _lists()[what]
        return any(word in whole for word in self.near) or any(w in self.text for w in anywhere)

    def say(self, what: str) -> bool:
        """True if the number is called so directly, at most two words before it."""
        whole, anywhere = _lists()[what]
        close = self.text[-12:]
        return any(word in whole for word in self.near[-3:]) or any(w in close for w in anywhere)


@cache
def _lists() -> dict[str, tuple[frozenset[str], tuple[str, ...]]]:
    data = yaml.load(
        (files(__package__) / "words.yaml").read_text("utf-8"), Loader=yaml.CSafeLoader
    )
    return {
        name: (frozenset(" ".join(lines).split()), tuple(data[f"{name}_anywhere"]))
        for name, lines in data.items()
        if not name.endswith("_anywhere")
    }


def stands_alone(text: str, start: int, end: int) -> bool:
    """True if the digits are no part of a longer word, number, path or URL."""
    if _GOES_ON.match(text, end) and not _sentence_goes_on(text, end):
        return False
    if start == 0:
        return True
    front = text[max(0, start - 2) : start]
    return _JOINT.search(front) is None or _LABEL.search(front) is not None


def _sentence_goes_on(text: str, end: int) -> bool:
    """True for a full stop or comma that ends something and has lost its blank."""
    return text[end] in ".," and text[end + 1 : end + 2].isupper()


def in_url(view: View, start: int) -> bool:
    """True if the place is inside of a web address, where digits are an identifier."""
    text = view.text
    begin = max(0, start - 300)
    scheme = text.rfind("://", begin, start)
    return scheme >= 0 and not any(char.isspace() for char in text[scheme:start])
