"""Labels in the input line for long pastes and images, replaced when the message is sent.

``[pasted 200 lines]`` stands for a paste, ``[image 1: shot.png]`` for an attached file. A label
that was edited is ordinary text.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from hookline_hookspecs import Attachment

MAX_UNFOLDED_LINES = 10
MAX_UNFOLDED_CHARS = 2_000
"""A paste with more lines or characters becomes a label."""
MAX_STORED_CHARS = 20_000_000
"""Characters of all stored pastes; the oldest are dropped first."""
_LABEL = re.compile(
    r"\[(?:(?:pasted|earlier) \d+ (?:lines|characters)|image \d+: [^\[\]\n]*)(?: #\d+)?\]"
)


@dataclass(frozen=True, slots=True)
class TypedMessage:
    """A message: as shown in the line, as the model reads it, and its files."""

    shown: str
    text: str
    attachments: tuple[Attachment, ...] = ()


class PasteLabels:
    """The labels of a chat and what each stands for."""

    def __init__(self) -> None:
        self._pasted: OrderedDict[str, str] = OrderedDict()
        self._pictures: dict[str, Attachment] = {}

    def pasted(self, text: str, draft: str = "") -> str:
        """Return what to insert for a paste: a label if it is long, else the text."""
        return self._labelled(text, "pasted", draft) if _is_long(text) else text

    def recalled(self, text: str) -> str:
        """Return a message of the history, with a label for all but its first line if long."""
        if not _is_long(text):
            return text
        first, newline, rest = text.partition("\n")
        if not _is_long(rest):
            return self._labelled(text, "earlier", "")
        return first + newline + self._labelled(rest, "earlier", first)

    def _labelled(self, text: str, origin: str, draft: str) -> str:
        lines = _lines(text)
        size = f"{lines} lines" if lines > MAX_UNFOLDED_LINES else f"{len(text)} characters"
        known = next((label for label, kept in self._pasted.items() if kept == text), None)
        if known is not None:
            return known
        label = self._free(lambda suffix: f"[{origin} {size}{suffix}]", draft)
        self._pasted[label] = text
        while len(self._pasted) > 1 and sum(map(len, self._pasted.values())) > MAX_STORED_CHARS:
            self._pasted.popitem(last=False)
        return label

    def picture(self, file: Attachment, draft: str = "") -> str:
        """Return a new label for a file to attach."""
        number = len(self._pictures) + 1
        name = re.sub(r"[\[\]\s]+", " ", file.name)
        label = self._free(lambda suffix: f"[image {number}: {name}{suffix}]", draft)
        self._pictures[label] = file
        return label

    def typed(self, draft: str) -> TypedMessage:
        """Return the message for ``draft``."""
        found = dict.fromkeys(_LABEL.findall(draft))
        files = tuple(self._pictures[label] for label in found if label in self._pictures)
        return TypedMessage(draft, self.expanded(draft), files)

    def expanded(self, draft: str) -> str:
        """Return ``draft`` with pastes in place of their labels."""
        return _LABEL.sub(lambda match: self._pasted.get(match[0], match[0]), draft)

    def folded(self, text: str) -> str:
        """Return ``text`` with labels in place of the pastes that it still contains."""
        shorter = text
        for label, pasted in sorted(self._pasted.items(), key=lambda item: -len(item[1])):
            shorter = shorter.replace(pasted, label)
        return shorter if self.expanded(shorter) == text else text

    def label_before(self, text: str) -> str:
        """Return the label that ``text`` ends with, for one Backspace to remove; empty if none."""
        start = text.rfind("[")
        label = text[start:] if start >= 0 else ""
        return label if label in self._pasted or label in self._pictures else ""

    def _free(self, make: Callable[[str], str], draft: str) -> str:
        """Return a label that is neither in use nor in ``draft``."""
        number, label = 1, make("")
        while label in self._pasted or label in self._pictures or label in draft:
            number += 1
            label = make(f" #{number}")
        return label


def _lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n"))


def _is_long(text: str) -> bool:
    return _lines(text) > MAX_UNFOLDED_LINES or len(text) > MAX_UNFOLDED_CHARS
