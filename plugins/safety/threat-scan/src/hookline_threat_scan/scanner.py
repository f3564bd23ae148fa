"""``ThreatScanner``: finds the threats of a text."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import replace

from .certainty import certain_threat
from .characters import find_characters, find_stray_characters
from .data_files import expression
from .disguises import undo_disguises
from .grammar import find_phrases
from .markup import find_comments, find_tags, is_shown
from .mentions import is_about_attacks, is_quoted, is_shown_as_example
from .patterns import PatternMatch, find_patterns, is_known_installer
from .payloads import decode_payloads
from .text_use import TextUse
from .threat_finding import ThreatFinding

MAX_DECODING_DEPTH = 3
"""Levels of encoding that are undone."""


class ThreatScanner:
    """Finds threats.

    Args:
        installers: addresses whose scripts may be run, in addition to the packaged ones.
    """

    def __init__(self, installers: Collection[str] = ()) -> None:
        self._installers = tuple(installers)

    def scan(self, text: str, use: TextUse = TextUse.GUIDANCE) -> ThreatFinding | None:
        """The first threat, or None. The time is proportional to the length of the text."""
        return next(self.findings(text, use), None)

    def certain(self, text: str, use: TextUse = TextUse.GUIDANCE) -> ThreatFinding | None:
        """The first threat that is certain enough to refuse an instruction file, or None.

        Instruction files may speak to agents, so a single suspicious sentence is ordinary in them.
        """
        return certain_threat(list(self.findings(text, use)), text)

    def findings(self, text: str, use: TextUse = TextUse.GUIDANCE) -> Iterator[ThreatFinding]:
        """All threats, in the order of the rules."""
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        yield from find_characters(text)
        if use is TextUse.GUIDANCE:
            yield from find_stray_characters(text)
        yield from self._pattern_findings(_visible(text), use)
        yield from self._sentence_findings(text, use)
        yield from self._decoded_findings(text, use, 1)

    def _pattern_findings(self, text: str, use: TextUse) -> Iterator[ThreatFinding]:
        """Commands, tokens and markup, except those quoted as an example of an attack."""
        lines = "\n" + text  # so that every line starts after a line break
        for match in self._pattern_matches(lines, use):
            if match.rule == "hidden-html" and is_shown(match.words):
                continue
            if not is_quoted(lines, match.start, {"attack", "defend"}):
                start = max(1, match.start)
                about = is_about_attacks(lines, match.start)
                end = max(start, match.end) - 1
                yield ThreatFinding.at(match.rule, text, start - 1, end, quoted=about)

    def _pattern_matches(self, text: str, use: TextUse) -> Iterator[PatternMatch]:
        yield from find_patterns(text, use, self._installers)
        yield from find_comments(text, use)
        if use is TextUse.GUIDANCE:
            yield from find_tags(text)

    def _sentence_findings(
        self, text: str, use: TextUse, *, hidden: bool = False
    ) -> Iterator[ThreatFinding]:
        """Attacks in sentences."""
        restored = undo_disguises(text)
        for match in find_phrases(restored, hidden=hidden):
            words = restored.text[match.start : match.end]
            if "followed" in match.rule.options and (
                not use.is_followed or is_known_installer(words, self._installers)
            ):
                continue
            finding = ThreatFinding.at(
                match.rule.rule,
                restored.text,
                match.start,
                match.end,
                quoted=not hidden and is_shown_as_example(restored.text, match.start),
            )
            is_disguised = restored.is_disguised(match.start, match.end)
            yield replace(finding, disguise="disguised letters" if is_disguised else "")

    def _decoded_findings(self, text: str, use: TextUse, depth: int) -> Iterator[ThreatFinding]:
        """Threats hidden in another encoding, with the line where the encoded text starts."""
        for payload in decode_payloads(text):
            line = text.count("\n", 0, payload.start) + 1
            for finding in self._payload_findings(payload.text, use, depth):
                yield replace(finding, line=line, disguise=payload.encoding)

    def _payload_findings(self, text: str, use: TextUse, depth: int) -> Iterator[ThreatFinding]:
        yield from self._sentence_findings(text, use, hidden=True)
        if use.is_followed:
            for match in find_patterns("\n" + text, TextUse.PROGRAM):
                yield ThreatFinding(match.rule, 1, match.words)
        if depth < MAX_DECODING_DEPTH:
            yield from self._decoded_findings(text, use, depth + 1)


def _visible(text: str) -> str:
    """The text as a tokenizer reads it, without invisible characters."""
    return expression("invisible").sub("", unicodedata.normalize("NFKC", text))
