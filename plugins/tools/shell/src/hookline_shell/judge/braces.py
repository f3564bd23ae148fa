"""Brace expansion, on words as they were written: ``{rm,-rf,/}``, ``{1..3}``."""

from __future__ import annotations

import re

from .scan import skip

_RANGE = re.compile(r"(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.(-?\d+))?")
MOST = 256
"""Words that are followed at most."""
WORK = 1_000_000
"""Characters that are looked at, at most: each brace may be looked for up to the word's end."""


class TooMany(Exception):
    """More words than are worth following."""


def expand(word: str) -> list[str]:
    """The words that ``word`` becomes, in order; itself if there is nothing to expand.

    Raises:
        TooMany: there are more braces or words than can be followed.
    """
    if word.count("{") * len(word) > WORK and _unquoted_braces(word) * len(word) > WORK:
        raise TooMany("more braces than can be followed")
    return _expand(word)


def _unquoted_braces(word: str) -> int:
    at = count = 0
    while at < len(word):
        count += word[at] == "{"
        at = skip(word, at)
    return count


def _expand(word: str) -> list[str]:
    if "{" not in word:
        return [word]
    at = 0
    while at < len(word):
        if word[at] == "{" and (found := _group(word, at)):
            end, parts = found
            heads = [word[:at] + part for part in parts]
            tails = _expand(word[end + 1 :])
            words = [e + tail for head in heads for e in _inner(head, at) for tail in tails]
            if len(words) > MOST:
                raise TooMany("more words by braces than can be followed")
            return words
        at = skip(word, at)
    return [word]


def _inner(head: str, at: int) -> list[str]:
    return [head[:at] + rest for rest in _expand(head[at:])]


def _group(word: str, at: int) -> tuple[int, list[str]] | None:
    """Where the brace at ``at`` closes and what it lists; None if it is no brace expansion."""
    depth, i, cuts = 1, at + 1, [at]
    while i < len(word):
        char = word[i]
        if char == "}":
            depth -= 1
            if not depth:
                break
        if char == "{":
            depth += 1
        elif char == "," and depth == 1:
            cuts.append(i)
        i = skip(word, i)
    else:
        return None
    if len(cuts) > 1:
        ends = [*cuts[1:], i]
        return i, [word[a + 1 : b] for a, b in zip(cuts, ends, strict=True)]
    match = _RANGE.fullmatch(word[at + 1 : i])
    return (i, _range(*match.groups())) if match else None


def _range(first: str, last: str, step: str | None) -> list[str]:
    letters = not (first.lstrip("-").isdigit() and last.lstrip("-").isdigit())
    if letters and (len(first) > 1 or len(last) > 1):
        return [f"{{{first}..{last}}}"]
    a, b = (ord(first), ord(last)) if letters else (int(first), int(last))
    stride = abs(int(step or 1)) or 1
    if abs(b - a) // stride > MOST:
        raise TooMany("a longer range than can be followed")
    numbers = range(a, b + 1, stride) if a <= b else range(a, b - 1, -stride)
    return [chr(n) if letters else str(n) for n in numbers]
