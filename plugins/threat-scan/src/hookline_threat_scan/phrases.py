"""The grammar: which concepts, near each other in one sentence, make an attack.

=====================  ==========================================================================
concept                what it holds
=====================  ==========================================================================
dismiss                ignore, disregard, do not follow (``dismiss_weak``: override, replace, drop)
prior                  previous, your, system, above (``prior_weak``: existing, default, old)
orders                 instructions, rules (``strong_orders``: what only a reader is given)
instructions           what nobody means by accident when all of it is to be ignored
supplant, lifted       "your new instructions", "no longer apply"
become, unbound        "from now on you …", "without restrictions"; both said in one: ``mode_on``
become_now             "you are now a …"
silence_whole          "do not tell the user"
reveal, your_prompt    "repeat", "your system prompt"
send, secrets, stores  "upload", "passwords", "the conversation history"
address, outside       where to: an address, "an external server"
remember, these,       "add", "this message", "every file"
forever
download, execute      "fetch", "and run it"
=====================  ==========================================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .mentions import is_mention
from .patterns import phrases
from .sentences import Event, Reading, Sentence

NEAR = 110
"""Characters that what belongs together takes at most."""
WIDE = 200
"""The same where an address stands between."""
_WINDOW = (200, 420)
"""Characters in front of a cue and behind it that a sentence of ``phrases.yaml`` may take."""
_BENIGN_ROLE = re.compile(
    r"\s+(?:new\s+|proud\s+|registered\s+|verified\s+|full\s+)?(?:members?|owners?|maintainers?|contributors?|users?|admins?|administrators?"
    r"|collaborators?|subscribers?|participants?|customers?|reviewers?|step|few|part|fan|co-owner|guest|patron|sponsor)\b"
)
_STRONG_TOPIC = re.compile(
    r"\b(?:safety|security|secre\w+|priva\w+|confiden\w+|ethic\w*|system|developers?|"
    r"openai|anthropic|user|you|your|this conversation|this chat)\b"
)


@dataclass(frozen=True, slots=True)
class Match:
    """A rule, and from where to where in the reading's text it matched."""

    rule: str
    start: int
    end: int


def find_phrases(reading: Reading) -> Iterator[Match]:
    """Attacks in words, in any language of the vocabulary, that are said and not mentioned."""
    for sentence in reading.sentences():
        for match in _judged(reading, sentence):
            if not is_mention(reading, sentence, match.start, match.end):
                yield match


def _judged(reading: Reading, sentence: Sentence) -> Iterator[Match]:
    yield from _overrides(reading, sentence)
    for rule, concept in (
        ("instruction-override", "supplant"),
        ("role-hijack", "mode_on"),
        ("concealment", "silence_whole"),
        ("persistence", "self_spread"),
        ("persistence", "keep_key"),
    ):
        for event in sentence.of(concept):
            if concept != "silence_whole" or not _denied_before(reading, sentence, event.start):
                yield Match(rule, event.start, event.end)
    yield from _roles(reading, sentence)
    yield from _leaks(reading, sentence)
    yield from _lasting(sentence)
    yield from _sentences(reading, sentence)


def _overrides(reading: Reading, sentence: Sentence) -> Iterator[Match]:
    strong = {(event.start, event.end) for event in sentence.of("strong_orders")}
    verbs, weak_verbs = sentence.of("dismiss"), sentence.of("dismiss_weak")
    edits = sentence.of("dismiss_edit")
    prior, weak_prior = sentence.of("prior"), sentence.of("prior_weak")
    for order in sentence.of("orders"):
        is_strong = (order.start, order.end) in strong
        ways: list[tuple[Sequence[Event], Sequence[Event]]] = [(verbs, prior)]
        if is_strong:
            ways += [(verbs, weak_prior), ([*weak_verbs, *edits], _said_before(reading, prior))]
        ways.append((weak_verbs, [p for p in sentence.of("yours") if p.end <= order.start]))
        yield from (m for v, p in ways if (m := _override(reading, sentence, order, v, p)))
        if is_strong:
            yield from _lifted(reading, sentence, order, "lifted", ("prior", "yours"))
    for order in sentence.of("instructions"):
        match = _override(reading, sentence, order, verbs, sentence.of("all"))
        if match is not None:
            yield match
    for order in sentence.of("orders"):
        verb, end = (_nearest(sentence.of(c), order, 60) for c in ("comply", "nomore"))
        if verb and end and verb.start < order.start < end.start:
            yield from _lifted(reading, sentence, order, "nomore", ("prior",))
    if not sentence.of("cue-instruction-override"):
        for order in sentence.of("orders"):
            parts = [_nearest(sentence.of(c), order, 50) for c in ("comply", "only", "mine")]
            found = [part for part in parts if part is not None]
            if len(found) == len(parts):
                yield _span("instruction-override", order, *found)
    for order in sentence.of("orders"):
        yield from _lifted(reading, sentence, order, "lifted", ("yours",))


def _said_before(reading: Reading, priors: Sequence[Event]) -> list[Event]:
    """Without those that only name a kind: who writes a program replaces a "system prompt"."""
    return [p for p in priors if not _KINDS.fullmatch(reading.text, p.start, p.end)]


_KINDS = re.compile(r"systems?|developers?|initial|original|hidden|safety|openai s|anthropic s")


def _override(
    reading: Reading,
    sentence: Sentence,
    order: Event,
    verbs: Sequence[Event],
    priors: Sequence[Event],
) -> Match | None:
    verb = _nearest(verbs, order, NEAR)
    prior = _nearest(priors, order, NEAR)
    if verb is None or prior is None or _nearest(verbs, prior, NEAR) is not verb:
        return None
    if not _belong(reading, prior, order):
        return None
    if verb.start > order.start and _is_governed(reading, sentence, verb, order, prior):
        return None
    match = _span("instruction-override", verb, prior, order)
    if match.end - match.start > NEAR or _is_blocked(sentence, verb, order):
        return None
    if _is_code(reading, match) or _has_condition(sentence) or _has_topic(reading, sentence, match):
        return None
    return match


def _is_blocked(sentence: Sentence, verb: Event, order: Event) -> bool:
    """True if another verb stands between: "ignore the warnings and follow the instructions"."""
    first, last = (verb, order) if verb.start < order.start else (order, verb)
    between = sentence.of("blocker", "dismiss_weak", "dismiss_edit")
    return any(first.end <= event.start < last.start for event in between)


def _belong(reading: Reading, prior: Event, order: Event) -> bool:
    """True if "previous" says which "instructions": few words between, none begins a clause."""
    if prior.end > order.start:
        gap = reading.text[order.end : prior.start]
        return len(gap) <= 70 and not re.search(r"[:;\"]|//", gap)
    gap = reading.text[prior.end : order.start]
    return len(gap) <= 48 and not _CLAUSE.search(gap)


_CLAUSE = re.compile(
    r"\b(?:when|if|while|where|that|to|in|on|for|with|by|because|until|so)\b|[:;\"]"
)


def _is_governed(
    reading: Reading, sentence: Sentence, verb: Event, order: Event, prior: Event
) -> bool:
    """True if a verb behind the orders is of another clause: "do as told above and ignore …"."""
    if prior.start > verb.start or _LINK.search(reading.text[order.end : verb.start]):
        return True
    start = min(order.start, prior.start)
    return any(start - 24 < event.end <= start for event in sentence.of("blocker"))


_LINK = re.compile(
    r"[,;:\"“”‘，、；：]|(?<!\w)'|\b(?:and|but|then|or|und|oder|aber|et|ou|mais|puis|y|o|pero|luego|e|ma|poi|en|maar|i|ale|ve|ama|и"
    r"|но|а|та|але|dan|tetapi|och|men|و)\b|并|並|但|然后|而且"
)


def _is_code(reading: Reading, match: Match) -> bool:
    """True for a line of a program, such as ``# type: ignore[misc]`` with words behind it."""
    part = reading.text[match.start : match.end]
    return _CODE.search(part) is not None or part.count("\n") > 8


_CODE = re.compile(r"\bfor \w+ in\b|\w[(\[]|[{}=]|\w:\s*[{\[\"']|\n[ \t]*[\w-]+:[ \t]")


def _has_condition(sentence: Sentence) -> bool:
    """True for advice to a reader: "if you use Docker, ignore the instructions above"."""
    return bool(sentence.of("condition"))


def _has_topic(reading: Reading, sentence: Sentence, match: Match) -> bool:
    """True if the words go on with what they are about, and that is not the reader."""
    for event in sentence.of("topic"):
        gap = reading.text[match.end : event.start]
        if event.start >= match.end and re.fullmatch(r"[\s(]{0,3}(?:\w+\s)?", gap):
            return not _STRONG_TOPIC.search(reading.text, event.start, event.end + 60)
    return False


def _roles(reading: Reading, sentence: Sentence) -> Iterator[Match]:
    for event in sentence.of("become_now"):
        if not _BENIGN_ROLE.match(reading.text, event.end):
            yield Match("role-hijack", event.start, event.end)
    for event in sentence.of("unbound"):
        other = _nearest(sentence.of("become", "become_now"), event, NEAR)
        if other is not None:
            yield _span("role-hijack", other, event)


def _leaks(reading: Reading, sentence: Sentence) -> Iterator[Match]:
    places = sentence.of("address", "outside")
    for concept in ("stores", "secrets"):
        if concept == "secrets" and sentence.of("auth"):
            continue
        for what in sentence.of(concept):
            verbs = sentence.of("send", "send_last")
            if concept == "stores":
                verbs += sentence.of("send_wide")
            verb = _nearest(verbs, what, WIDE)
            behind = [one for one in places if one.start >= what.end]
            place = _nearest(behind, what, WIDE) or _nearest(places, what, WIDE)
            if verb is None or place is None or _is_denied(reading, sentence, verb):
                continue
            match = _span("exfiltration", verb, what, place)
            if _is_ordered(reading, verb, what) and not _is_code(reading, match):
                yield match
    for prompt in sentence.of("your_prompt"):
        verb = _nearest(sentence.of("reveal"), prompt, NEAR)
        if verb is not None:
            yield _span("prompt-theft", verb, prompt)


def _is_ordered(reading: Reading, verb: Event, what: Event) -> bool:
    """True if the verb stands where its language puts it: first, or last in some."""
    return (
        verb.start < what.start
        or verb.concept == "send_last"
        or not reading.text[verb.start : verb.end].isascii()
        or _PRONOUN.match(reading.text, verb.start) is not None
    )


_PRONOUN = re.compile(r"(?:e[- ]?)?\w+\s+(?:them|it|those|these|everything)\b")
"""English puts the verb behind a thing that it names again: "collect them and send them"."""


def _lasting(sentence: Sentence) -> Iterator[Match]:
    for what in sentence.of("these"):
        verb = _nearest(sentence.of("remember"), what, NEAR)
        place = _nearest(sentence.of("forever"), what, NEAR)
        if verb is not None and place is not None:
            yield _span("persistence", verb, what, place)
    for place in sentence.of("forever"):
        deed = _nearest(sentence.of("payload"), place, NEAR)
        if deed is not None and deed.start > place.start:
            yield _span("persistence", place, deed)
    for run in sentence.of("execute"):
        verb = _nearest(sentence.of("download"), run, WIDE)
        address = _nearest(sentence.of("address"), run, WIDE)
        if verb is not None and address is not None and verb.start < run.start:
            yield _span("download-and-run", verb, address, run)


def _sentences(reading: Reading, sentence: Sentence) -> Iterator[Match]:
    """What ``phrases.yaml`` tells by its shape."""
    for rule, patterns in phrases().items():
        searched = sentence.start
        for cue in sentence.of(f"cue-{rule}"):
            if cue.start < searched and searched > sentence.start:
                continue
            begin = max(sentence.start - 2, cue.start - _WINDOW[0], 0)
            searched = min(sentence.end, cue.end + _WINDOW[1])
            for pattern in patterns:
                found = pattern.search(reading.text, begin, searched)
                if found is not None and not _twice_denied(rule, reading, sentence, found):
                    yield _trimmed(rule, found)


def _trimmed(rule: str, found: re.Match[str]) -> Match:
    """A match without what is no word at its ends."""
    words = list(re.finditer(r"\w+", found[0]))
    start, end = (words[0].start(), words[-1].end()) if words else (0, len(found[0]))
    return Match(rule, found.start() + start, found.start() + end)


def _twice_denied(rule: str, reading: Reading, sentence: Sentence, found: re.Match[str]) -> bool:
    """True for "never send mail without telling the user"."""
    if rule != "concealment" or not found[0].startswith(("without", "so ", "secretly", "silently")):
        return False
    return _denied_before(reading, sentence, found.start())


def _denied_before(reading: Reading, sentence: Sentence, start: int) -> bool:
    """True if a negation stands in front, in the same clause or the one that ends here."""
    for event in sentence.of("negation"):
        gap = reading.text[event.end : start].rstrip(" \n,")
        if event.end < start and not re.search(r"[,;:]", gap):
            return True
    return False


def _is_denied(reading: Reading, sentence: Sentence, verb: Event) -> bool:
    """True if a negation of the same clause stands in front of, or right behind, the verb."""
    for event in sentence.of("negation"):
        if event.start < verb.start:
            if event.end <= verb.start and not re.search(
                r"[,;:]", reading.text[event.end : verb.start]
            ):
                return True
        elif verb.end <= event.start and event.start - verb.end < 12 and verb.concept == "send":
            return not reading.text[event.start : event.end].isascii()
    return False


def _lifted(
    reading: Reading, sentence: Sentence, order: Event, concept: str, whose: tuple[str, ...]
) -> Iterator[Match]:
    """ "Your previous instructions no longer apply": whose, what, and right behind what of them."""
    prior = _nearest(sentence.of(*whose), order, NEAR)
    ends = [end for end in sentence.of(concept) if end.start >= order.end]
    end = _nearest(ends, order, 60)
    if prior is None or end is None or not _belong(reading, prior, order):
        return
    if prior.start < end.start and not re.search(r"[,;:]", reading.text[order.end : end.start]):
        yield _span("instruction-override", prior, order, end)


def _nearest(events: Sequence[Event], anchor: Event, limit: int) -> Event | None:
    """The event nearest to another one that does not overlap it."""
    best, distance = None, limit + 1
    for event in events:
        if event.start < anchor.end and anchor.start < event.end:
            continue
        gap = anchor.start - event.end if event.end <= anchor.start else event.start - anchor.end
        if gap < distance:
            best, distance = event, gap
    return best


def _span(rule: str, *events: Event) -> Match:
    return Match(rule, min(e.start for e in events), max(e.end for e in events))
