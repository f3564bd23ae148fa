"""Facts that are equal but for a value of which there is one: a time, an amount, a day, ``dark`` or
``light``, or what follows a label."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from .contradiction_data import contradiction_data
from .terms import fold, whole_words

MAX_LABEL_WORDS = 4
MAX_LABELLED_WORDS = 8
"""Words of a fact such as ``Theme: dark mode``."""
_CURRENCY = r"(?:[$€£¥₽₩]|(?:eur|usd|gbp|chf|euros?|dollars?|dollar|yen|rub|元|円|원)(?!\w))"
_VALUES = (
    ("date", r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./](?:\d{4}|\d{2})?"),
    ("time", r"\d{1,2}[:.h]\d{2}(?::\d{2})?\s*(?:[ap]\.?m\b\.?|uhr\b|h\b)?"),
    ("time", r"\d{1,2}\s*(?:[ap]\.?m\b\.?|uhr\b|o.clock\b|h\b|[时時点點시](?:半|\d{1,2}分?)?)"),
    ("amount", rf"{_CURRENCY}\s*\d[\d.,]*|\d[\d.,]*\s*(?:%|{_CURRENCY})"),
)
_LABEL = re.compile(
    r"\A([^:=：＝]{2,60}?)\s*[:=：＝]\s+(.+)\Z|\A([^:：=＝]{2,60}?)[：＝](.+)\Z", re.DOTALL
)
_LATIN_EDGE = r"(?<!\w)(?:{})(?!\w)"


@dataclass(frozen=True, slots=True)
class Masked:
    """A fact without its exclusive values: the rest, and each value with its kind."""

    rest: str
    values: tuple[tuple[str, str], ...]


def differ_in_values(old: str, new: str) -> set[str]:
    """Return the kinds of the values in which two facts differ that are otherwise equal."""
    before, after = masked(old), masked(new)
    if before.rest == after.rest and len(before.values) == len(after.values):
        pairs = zip(before.values, after.values, strict=True)
        return {one[0] for one, other in pairs if one != other}
    labels = _labelled(old), _labelled(new)
    if labels[0] and labels[1] and labels[0][0] == labels[1][0] and labels[0][1] != labels[1][1]:
        return {"label"}
    return set()


def masked(fact: str) -> Masked:
    """Return the fact with a mark for each of its exclusive values."""
    text, values = fold(fact).strip().rstrip(".!。．"), []

    def mark(kind: str, value: str) -> str:
        values.append((kind, value))
        return f" \x00{kind}\x00 "

    def replaced(found: re.Match[str]) -> str:
        kind = next(name for name, text in found.groupdict().items() if text)
        name = kind.rstrip("0123456789")
        return mark(name, _members().get(found[0], "".join(found[0].split())))

    rest = _pattern().sub(replaced, text)
    marks = re.findall("\x00(\\w+)\x00", rest)
    words = whole_words(re.sub("\x00\\w+\x00", " maskedvalue ", rest))
    return Masked(" ".join([*words, *marks]), tuple(values))


def _labelled(fact: str) -> tuple[list[str], list[str]] | None:
    if (found := _LABEL.match(fact)) is None:
        return None
    label, value = whole_words(found[1] or found[3]), whole_words(found[2] or found[4])
    if not 0 < len(label) <= MAX_LABEL_WORDS or not 0 < len(value) <= MAX_LABELLED_WORDS:
        return None
    return label, value


@cache
def _members() -> dict[str, str]:
    """The first word of each list of equal ones, by each of its folded words."""
    return {
        fold(word.strip()): fold(group.split("|")[0].strip())
        for groups in contradiction_data()["exclusive"].values()
        for group in groups.split(",")
        for word in group.split("|")
    }


@cache
def _pattern() -> re.Pattern[str]:
    parts = [f"(?P<{kind}{number}>{text})" for number, (kind, text) in enumerate(_VALUES)]
    for kind, groups in contradiction_data()["exclusive"].items():
        words = sorted({fold(w.strip()) for w in re.split("[,|]", groups)}, key=len, reverse=True)
        latin = "|".join(re.escape(word) for word in words if word[0] < "\u2e80")
        joined = "|".join(re.escape(word) for word in words if word[0] >= "\u2e80")
        alternatives = [_LATIN_EDGE.format(latin), *([joined] if joined else [])]
        parts.append(f"(?P<{kind}>{'|'.join(alternatives)})")
    return re.compile("|".join(parts))
