"""Long pastes and pictures, each a label in the input line until the message is sent.

``[pasted 200 lines]`` stands for what was pasted, ``[image 1: shot.png]`` for a file that goes with
the message. A label is whole or it is nothing: one that was changed is text like any other.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from hookline_hookspecs import Attachment

FOLDED_LINES = 10
"""A paste of more lines is folded."""
FOLDED_CHARS = 2_000
"""So is one of more characters, which would fill the screen."""
KEPT_CHARS = 20_000_000
"""Characters of all pastes that are kept; the oldest go first."""
_LABEL = re.compile(
    r"\[(?:(?:pasted|earlier) \d+ (?:lines|characters)|image \d+: [^\[\]\n]*)(?: #\d+)?\]"
)


@dataclass(frozen=True, slots=True)
class Typed:
    """What a person sends: as it stands in the line, as the model reads it, and files with it."""

    shown: str
    text: str
    attachments: tuple[Attachment, ...] = ()


class Folding:
    """What the labels of this chat stand for."""

    def __init__(self) -> None:
        self._pasted: OrderedDict[str, str] = OrderedDict()
        self._pictures: dict[str, Attachment] = {}

    def pasted(self, text: str, draft: str = "") -> str:
        """What a paste becomes in ``draft``: a label if it is long, else itself."""
        return self._labelled(text, "pasted", draft) if _is_long(text) else text

    def recalled(self, text: str) -> str:
        """A message of the history, with its long part folded: all but the first line."""
        if not _is_long(text):
            return text
        first, newline, rest = text.partition("\n")
        if not _is_long(rest):
            return self._labelled(text, "earlier", "")
        return first + newline + self._labelled(rest, "earlier", first)

    def _labelled(self, text: str, origin: str, draft: str) -> str:
        lines = _lines(text)
        size = f"{lines} lines" if lines > FOLDED_LINES else f"{len(text)} characters"
        known = next((label for label, kept in self._pasted.items() if kept == text), None)
        if known is not None:
            return known
        label = self._free(lambda suffix: f"[{origin} {size}{suffix}]", draft)
        self._pasted[label] = text
        while len(self._pasted) > 1 and sum(map(len, self._pasted.values())) > KEPT_CHARS:
            self._pasted.popitem(last=False)
        return label

    def picture(self, file: Attachment, draft: str = "") -> str:
        """The label of a file that goes with the message."""
        number = len(self._pictures) + 1
        name = re.sub(r"[\[\]\s]+", " ", file.name)
        label = self._free(lambda suffix: f"[image {number}: {name}{suffix}]", draft)
        self._pictures[label] = file
        return label

    def typed(self, draft: str) -> Typed:
        """The message that ``draft`` stands for."""
        found = dict.fromkeys(_LABEL.findall(draft))
        files = tuple(self._pictures[label] for label in found if label in self._pictures)
        return Typed(draft, self.expanded(draft), files)

    def expanded(self, draft: str) -> str:
        """``draft`` with its pastes in place of their labels."""
        return _LABEL.sub(lambda match: self._pasted.get(match[0], match[0]), draft)

    def folded(self, text: str) -> str:
        """``text`` with the labels of the pastes that it still holds, for after an editor."""
        shorter = text
        for label, pasted in sorted(self._pasted.items(), key=lambda item: -len(item[1])):
            shorter = shorter.replace(pasted, label)
        return shorter if self.expanded(shorter) == text else text

    def label_before(self, text: str) -> str:
        """The label that ``text`` ends with, which one Backspace removes; empty if none."""
        start = text.rfind("[")
        label = text[start:] if start >= 0 else ""
        return label if label in self._pasted or label in self._pictures else ""

    def _free(self, make: Callable[[str], str], draft: str) -> str:
        """A label that stands for nothing yet and that nobody has typed."""
        number, label = 1, make("")
        while label in self._pasted or label in self._pictures or label in draft:
            number += 1
            label = make(f" #{number}")
        return label


def _lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n"))


def _is_long(text: str) -> bool:
    return _lines(text) > FOLDED_LINES or len(text) > FOLDED_CHARS
