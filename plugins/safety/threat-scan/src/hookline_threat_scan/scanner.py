"""``Scanner``: a text in, the first threat out."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import replace

from .audience import Audience
from .characters import find_characters, find_stray_characters
from .data import expression
from .encoded import payloads
from .finding import Finding
from .grammar import find_phrases
from .markup import find_comments, find_tags, is_shown
from .mentions import is_quoted
from .patterns import Shape, find_shapes, is_known
from .restoring import restore

DEPTH = 3
"""How many times what was decoded is decoded again."""


class Scanner:
    """Looks for threats. Scripts of ``installers`` may be run, beside those of known ones."""

    def __init__(self, installers: Collection[str] = ()) -> None:
        self._installers = tuple(installers)

    def scan(self, text: str, audience: Audience = Audience.GUIDANCE) -> Finding | None:
        """The first threat, None if there is none. Time grows with the length of the text."""
        return next(self.findings(text, audience), None)

    def findings(self, text: str, audience: Audience = Audience.GUIDANCE) -> Iterator[Finding]:
        """All threats, in the order of the rules."""
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        yield from find_characters(text)
        if audience is Audience.GUIDANCE:
            yield from find_stray_characters(text)
        yield from self._shapes(_visible(text), audience)
        yield from self._words(text, audience)
        yield from self._decoded(text, audience, 1)

    def _shapes(self, text: str, audience: Audience) -> Iterator[Finding]:
        """Commands, tokens and markup, those aside that are quoted as an attack."""
        lines = "\n" + text  # so that every line begins behind a break
        for shape in self._all_shapes(lines, audience):
            if shape.rule == "hidden-html" and is_shown(shape.words):
                continue
            if not is_quoted(lines, shape.start, {"attack", "defend"}):
                start = max(1, shape.start)
                yield Finding.at(shape.rule, text, start - 1, max(start, shape.end) - 1)

    def _all_shapes(self, text: str, audience: Audience) -> Iterator[Shape]:
        yield from find_shapes(text, audience, self._installers)
        yield from find_comments(text, audience)
        if audience is Audience.GUIDANCE:
            yield from find_tags(text)

    def _words(self, text: str, audience: Audience, *, hidden: bool = False) -> Iterator[Finding]:
        """What sentences say."""
        restored = restore(text)
        for match in find_phrases(restored, hidden=hidden):
            words = restored.text[match.start : match.end]
            if "followed" in match.rule.options and (
                not audience.is_followed or is_known(words, self._installers)
            ):
                continue
            found = Finding.at(match.rule.rule, restored.text, match.start, match.end)
            how = "disguised letters" if restored.disguised(match.start, match.end) else ""
            yield replace(found, disguise=how)

    def _decoded(self, text: str, audience: Audience, depth: int) -> Iterator[Finding]:
        """What is hidden in another encoding, with the line where it begins."""
        for payload in payloads(text):
            line = text.count("\n", 0, payload.start) + 1
            for finding in self._hidden(payload.text, audience, depth):
                yield replace(finding, line=line, disguise=payload.how)

    def _hidden(self, text: str, audience: Audience, depth: int) -> Iterator[Finding]:
        yield from self._words(text, audience, hidden=True)
        if audience.is_followed:
            for shape in find_shapes("\n" + text, Audience.PROGRAM):
                yield Finding(shape.rule, 1, shape.words)
        if depth < DEPTH:
            yield from self._decoded(text, audience, depth + 1)


def _visible(text: str) -> str:
    """The text as a tokenizer reads it, with what is invisible taken out."""
    return expression("invisible").sub("", unicodedata.normalize("NFKC", text))
