"""The rules of ``grammar.yaml``: which concepts, near each other in a sentence, are an attack."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from .data import Patterns, expression, load
from .mentions import is_mention
from .restoring import Restored
from .words import Event, Sentence, vocabulary

NEAR = 110
"""Characters between two concepts that belong together, unless a rule says another number."""
WINDOW = (200, 420)
"""Characters in front of a cue and behind it in which an expression is looked for."""
AROUND = 240
"""Characters around a match in which a concept of ``never`` speaks against it."""


@dataclass(frozen=True, slots=True)
class Rule:
    """``parts`` (each a choice of concepts) near each other; or ``patterns`` where all of them are.

    ``joined``: the first two stand in one clause, none of ``between`` parts the first from the
    last. ``ordered``: the first part in front of the second. ``never``: concepts near by that
    speak against it. ``followed``: only counts in what is followed.
    """

    rule: str
    parts: tuple[tuple[str, ...], ...]
    near: int = NEAR
    options: frozenset[str] = frozenset()
    never: tuple[str, ...] = ()
    between: tuple[str, ...] = ()
    patterns: Patterns = Patterns((), {})  # noqa: RUF009 - it is never changed


@dataclass(frozen=True, slots=True)
class Match:
    """A rule, and from where to where in the text it matched."""

    rule: Rule
    start: int
    end: int


@cache
def grammar() -> tuple[Rule, ...]:
    """The rules of ``grammar.yaml``."""
    data = load("grammar.yaml")
    return tuple(
        Rule(
            rule=one["rule"],
            parts=tuple(tuple(part.split("|")) for part in one["parts"]),
            near=int(one.get("near", NEAR)),
            options=frozenset(one.get("options", ())),
            never=tuple(one.get("never", ())),
            between=tuple(one.get("between", ())),
            patterns=Patterns([_blank(each) for each in one.get("patterns", ())], data["names"]),
        )
        for one in data["rules"]
    )


def _blank(pattern: str) -> str:
    """Any white space for each blank outside of a character class."""
    return re.sub(
        r"(\[[^\]]*\])|( )(\?|\{0,2\})?",
        lambda m: m[1] or (r"[\s-]{0,4}" if m[3] else r"[\s-]{1,4}"),
        pattern,
    )


def find_phrases(restored: Restored, *, hidden: bool = False) -> Iterator[Match]:
    """Attacks in words that are said and not mentioned; what was ``hidden`` is always said."""
    text, start = restored.text, 0
    for end in _ends(text):
        sentence, rules = _read(text, start, end)
        for match in (match for rule in rules for match in _matches(rule, sentence)):
            disguised = hidden or restored.disguised(match.start, match.end)
            if disguised or not is_mention(sentence, match.start, match.end):
                yield match
        start = end


def _read(text: str, start: int, end: int) -> tuple[Sentence, tuple[Rule, ...]]:
    """A sentence, and the rules that may match in it. "Ignore. All." is one sentence."""
    events = list(vocabulary().events(text, start, end))
    sentence = Sentence(text, start, end)
    rules = _live(frozenset(event.concept for event in events))
    if rules:
        for found in expression("address").finditer(text, start, end):
            if not expression("own").search(found[0]):
                events.append(Event(*found.span(), "address"))
        for event in sorted(events):
            sentence.events.setdefault(event.concept, []).append(event)
    return sentence, rules


@lru_cache(maxsize=10_000)
def _live(concepts: frozenset[str]) -> tuple[Rule, ...]:
    """The rules all of whose parts may be there; addresses are looked for after that."""
    known = concepts | {"address"}
    return tuple(rule for rule in grammar() if all(known & set(part) for part in rule.parts))


def _ends(text: str) -> Iterator[int]:
    start = 0
    for found in expression("stop").finditer(text):
        short = text.isascii() and found.start() - start <= 40
        if not (short and expression("short").fullmatch(text, start, found.start())):
            yield found.end()
            start = found.end()
    yield len(text)


def _matches(rule: Rule, sentence: Sentence) -> Iterator[Match]:
    searched = 0
    for anchor in sentence.of(rule.parts[0]):
        if rule.patterns:
            begin = max(sentence.start, anchor.start - WINDOW[0])
            if anchor.start < searched:
                continue
            searched = min(sentence.end, anchor.end + WINDOW[1])
            spans = [
                m.span() for p in rule.patterns if (m := p.search(sentence.text, begin, searched))
            ]
        else:
            span = _together(rule, sentence, anchor)
            spans = [] if span is None else [span]
        for start, end in spans:
            if not _speaks_against(rule, sentence, start, end):
                yield Match(rule, start, end)


def _together(rule: Rule, sentence: Sentence, anchor: Event) -> tuple[int, int] | None:
    events = [anchor]
    for part in rule.parts[1:]:
        event = sentence.nearest(part, anchor, rule.near)
        if event is None:
            return None
        events.append(event)
    start, end = min(e.start for e in events), max(e.end for e in events)
    if end - start > 2 * rule.near:
        return None
    if "joined" in rule.options and not _belong(rule, sentence, events):
        return None
    return start, end


def _belong(rule: Rule, sentence: Sentence, events: list[Event]) -> bool:
    """True if "previous" says which "instructions", and the verb is about them.

    A verb behind them must not be of another clause: "do as told above and ignore …".
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


def _speaks_against(rule: Rule, sentence: Sentence, start: int, end: int) -> bool:
    if "undenied" in rule.options and _is_denied(sentence, start):
        return True
    return any(
        event.end > start - AROUND and event.start < end + AROUND
        for event in sentence.of(rule.never)
    )


def _is_denied(sentence: Sentence, start: int) -> bool:
    """True behind a negation in the same clause: "never send mail without telling the user"."""
    gaps = sentence.gaps("negation", start, AROUND)
    return any(not expression("freed").search(gap.rstrip(" ,")) for gap in gaps)
