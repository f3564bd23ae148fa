"""``Scanner``: a text in, the first threat out."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import TypeAlias

from .audience import Audience
from .characters import INVISIBLE, find_characters, find_stray_characters
from .encoded import payloads
from .finding import Finding
from .folding import fold
from .markup import find_markup, find_turns
from .phrases import find_phrases
from .restoring import Restored, restore
from .sentences import Reading
from .shell import find_commands, is_known
from .vocabulary import vocabulary

Reader: TypeAlias = Callable[[str], Reading]
DEPTH = 3
"""How many times what was decoded is decoded again."""


_FOLLOWED = frozenset({Audience.GUIDANCE, Audience.PROGRAM})
_STEPS = frozenset({"download-and-run"})
"""Rules for steps: an installation page may describe them, a skill may not."""


class Scanner:
    """Looks for threats. Scripts of ``installers`` may be run, beside those of known ones."""

    def __init__(self, installers: Collection[str] = ()) -> None:
        self._installers = tuple(installers)

    def scan(self, text: str, audience: Audience = Audience.GUIDANCE) -> Finding | None:
        """The first threat, None if there is none. Time grows with the length of the text."""
        return next(self.findings(text, audience), None)

    def findings(self, text: str, audience: Audience = Audience.GUIDANCE) -> Iterator[Finding]:
        """All threats, in the order of the rules."""
        yield from find_characters(text)
        if audience is Audience.GUIDANCE:
            yield from find_stray_characters(text)
            yield from find_markup(_visible(text))
        if audience is Audience.DATA:
            yield from find_turns(_visible(text))
        if audience in _FOLLOWED:
            yield from find_commands(text, self._installers)
        yield from self._words(text, audience, _read)
        yield from self._decoded(text, audience, 1)

    def _words(self, text: str, audience: Audience, read: Reader) -> Iterator[Finding]:
        """What sentences say."""
        reading = read(text)
        for match in find_phrases(reading):
            words = reading.text[match.start : match.end]
            if match.rule in _STEPS and (
                audience not in _FOLLOWED or is_known(words, self._installers)
            ):
                continue
            line = reading.text.count("\n", 0, match.start) + 1
            how = "disguised letters" if reading.disguised(match.start, match.end) else ""
            yield Finding(match.rule, line, words, how)

    def _decoded(self, text: str, audience: Audience, depth: int) -> Iterator[Finding]:
        """What is hidden in another encoding, with the line where it begins."""
        for payload in payloads(text, vocabulary().lexicon):
            line = text.count("\n", 0, payload.start) + 1
            for finding in self._hidden(payload.text, audience, depth):
                yield replace(finding, line=line, disguise=payload.how)

    def _hidden(self, text: str, audience: Audience, depth: int) -> Iterator[Finding]:
        yield from self._words(text, audience, _read_hidden)
        if audience in _FOLLOWED:
            yield from find_commands(text)
        if depth < DEPTH:
            yield from self._decoded(text, audience, depth + 1)


def _read(text: str) -> Reading:
    words = vocabulary()
    return Reading(restore(fold(text), words.lexicon), words)


def _read_hidden(text: str) -> Reading:
    """Nothing in a text that was hidden is a mention."""
    words = vocabulary()
    restored = restore(fold(text), words.lexicon)
    return Reading(Restored(restored.text, [(0, len(restored.text))]), words)


def _visible(text: str) -> str:
    """The text as a tokenizer reads it, with what is invisible taken out."""
    return text if text.isascii() else INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
