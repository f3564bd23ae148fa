"""The rules of ``grammar.yaml``: concepts that form an attack if near each other in a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from .data_files import LazyPatterns, expression, load_yaml
from .disguises import RestoredText
from .mentions import is_mention
from .vocabulary import ConceptMatch, ScannedSentence, vocabulary

DEFAULT_DISTANCE = 110
"""Maximum characters between two concepts of a rule without ``near``."""
PATTERN_CHARS_BEFORE = 200
"""Characters before a concept that are searched for an expression."""
PATTERN_CHARS_AFTER = 420
"""Characters after a concept that are searched for an expression."""
VETO_DISTANCE = 240
"""Characters around a match in which a concept of ``never`` rules it out."""


@dataclass(frozen=True, slots=True)
class GrammarRule:
    """An attack: all ``parts`` near each other, each a choice of concepts, or one of ``patterns``
    near them.

    ``near`` is the maximum distance in characters, and ``never`` lists concepts that rule the match
    out. Options: ``joined`` (the first two parts are in one clause, and none of ``between`` is
    between the first and the last), ``undenied`` (not after a negation in the same clause) and
    ``followed`` (only in texts that are followed).
    """

    rule: str
    parts: tuple[tuple[str, ...], ...]
    near: int = DEFAULT_DISTANCE
    options: frozenset[str] = frozenset()
    never: tuple[str, ...] = ()
    between: tuple[str, ...] = ()
    patterns: LazyPatterns = LazyPatterns((), {})  # noqa: RUF009 - immutable


@dataclass(frozen=True, slots=True)
class GrammarMatch:
    """A rule that matched from ``start`` to ``end``."""

    rule: GrammarRule
    start: int
    end: int


@cache
def grammar() -> tuple[GrammarRule, ...]:
    """The rules of ``grammar.yaml``."""
    data = load_yaml("grammar.yaml")
    return tuple(
        GrammarRule(
            rule=one["rule"],
            parts=tuple(tuple(part.split("|")) for part in one["parts"]),
            near=int(one.get("near", DEFAULT_DISTANCE)),
            options=frozenset(one.get("options", ())),
            never=tuple(one.get("never", ())),
            between=tuple(one.get("between", ())),
            patterns=LazyPatterns(
                [_flexible_spaces(each) for each in one.get("patterns", ())], data["names"]
            ),
        )
        for one in data["rules"]
    )


def _flexible_spaces(pattern: str) -> str:
    """Let each space outside a character class match any white space or hyphens."""
    return re.sub(
        r"(\[[^\]]*\])|( )(\?|\{0,2\})?",
        lambda m: m[1] or (r"[\s-]{0,4}" if m[3] else r"[\s-]{1,4}"),
        pattern,
    )


def find_phrases(restored: RestoredText, *, hidden: bool) -> Iterator[GrammarMatch]:
    """Find attacks in sentences; those that are only mentioned count if ``hidden`` or disguised."""
    text, start = restored.text, 0
    for end in _sentence_ends(text):
        sentence, rules = _parse_sentence(text, start, end)
        for match in (match for rule in rules for match in _find_matches(rule, sentence)):
            is_hidden = hidden or restored.is_disguised(match.start, match.end)
            if is_hidden or not is_mention(sentence, match.start, match.end):
                yield match
        start = end


def _parse_sentence(
    text: str, start: int, end: int
) -> tuple[ScannedSentence, tuple[GrammarRule, ...]]:
    """A sentence and the rules that may match in it."""
    events = list(vocabulary().find(text, start, end))
    sentence = ScannedSentence(text, start, end)
    rules = _candidate_rules(frozenset(event.concept for event in events))
    if rules:
        for found in expression("address").finditer(text, start, end):
            if not expression("own").search(found[0]):
                events.append(ConceptMatch(*found.span(), "address"))
        for event in sorted(events):
            sentence.concepts.setdefault(event.concept, []).append(event)
    return sentence, rules


@lru_cache(maxsize=10_000)
def _candidate_rules(concepts: frozenset[str]) -> tuple[GrammarRule, ...]:
    """The rules whose parts may all be present; addresses are searched later."""
    known = concepts | {"address"}
    return tuple(rule for rule in grammar() if all(known & set(part) for part in rule.parts))


def _sentence_ends(text: str) -> Iterator[int]:
    """The ends of the sentences; very short ones, as in "Ignore. All.", are joined."""
    start = 0
    for found in expression("stop").finditer(text):
        short = text.isascii() and found.start() - start <= 40
        if not (short and expression("short").fullmatch(text, start, found.start())):
            yield found.end()
            start = found.end()
    yield len(text)


def _find_matches(rule: GrammarRule, sentence: ScannedSentence) -> Iterator[GrammarMatch]:
    searched = 0
    for anchor in sentence.of(rule.parts[0]):
        if rule.patterns:
            begin = max(sentence.start, anchor.start - PATTERN_CHARS_BEFORE)
            if anchor.start < searched:
                continue
            searched = min(sentence.end, anchor.end + PATTERN_CHARS_AFTER)
            spans = [
                m.span() for p in rule.patterns if (m := p.search(sentence.text, begin, searched))
            ]
        else:
            span = _nearby_span(rule, sentence, anchor)
            spans = [] if span is None else [span]
        for start, end in spans:
            if not _is_vetoed(rule, sentence, start, end):
                yield GrammarMatch(rule, start, end)


def _nearby_span(
    rule: GrammarRule, sentence: ScannedSentence, anchor: ConceptMatch
) -> tuple[int, int] | None:
    events = [anchor]
    for part in rule.parts[1:]:
        event = sentence.nearest(part, anchor, rule.near)
        if event is None:
            return None
        events.append(event)
    start, end = min(e.start for e in events), max(e.end for e in events)
    if end - start > 2 * rule.near:
        return None
    if "joined" in rule.options and not _are_joined(rule, sentence, events):
        return None
    return start, end


def _are_joined(rule: GrammarRule, sentence: ScannedSentence, events: list[ConceptMatch]) -> bool:
    """Whether "previous" qualifies "instructions", and the verb applies to them.

    A verb after them must not be in another clause: "do as told above and ignore …".
    """
    first, second = sorted(events[:2])
    gap = sentence.text[first.end : second.start]
    if len(gap) > 60 or expression("clause").search(gap):
        return False
    verb = events[-1]
    if expression("code").search(sentence.text, min(events).start, max(e.end for e in events)):
        return False
    start, end = sorted([verb, events[0]])
    if any(start.end <= event.start < end.start for event in sentence.of(rule.between)):
        return False
    return verb.start < events[0].start or not expression("link").search(
        sentence.text[events[0].end : verb.start]
    )


def _is_vetoed(rule: GrammarRule, sentence: ScannedSentence, start: int, end: int) -> bool:
    if "undenied" in rule.options and _is_denied(sentence, start):
        return True
    return any(
        event.end > start - VETO_DISTANCE and event.start < end + VETO_DISTANCE
        for event in sentence.of(rule.never)
    )


def _is_denied(sentence: ScannedSentence, start: int) -> bool:
    """Whether a negation precedes in the same clause: "never send without telling the user"."""
    gaps = sentence.gaps("negation", start, VETO_DISTANCE)
    return any(not expression("freed").search(gap.rstrip(" ,")) for gap in gaps)
