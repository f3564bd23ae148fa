"""What a person reads and writes: the question as text, the risky part marked, the typed answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from hookline_hookspecs import Question
from hookline_hookspecs.visible_text import code_block, spell_out

ONCE, SESSION, ALWAYS, DENY = "Once", "This session", "Always", "Deny"
"""The choices of an approval (CONTRACT, Channels)."""
_MEANT = {word.casefold(): word for word in (ONCE, SESSION, ALWAYS, DENY)} | {"no": DENY}
_QUOTED = re.compile(r"`([^`\n]+)`")
_QUOTES = "\"'\\"
_INSIDE = r"[\w.:/@%+-]"
"""What words, paths and addresses are made of."""
AROUND = 40
"""Characters shown on either side of a marked part."""
HOW = "Answer with a number, or with the words."


def choice_of(typed: str, choices: Sequence[str]) -> str | None:
    """The one of ``choices`` that a typed answer names exactly, or None. "yes" names none."""
    word = typed.strip().casefold()
    numbered = {str(number): choice for number, choice in enumerate(choices, 1)}
    choice = numbered.get(word) or _MEANT.get(word)
    return choice if choice in choices else None


def as_text(question: Question) -> str:
    """The whole question as Markdown, with its choices numbered."""
    choices = [f"{number}. {choice}" for number, choice in enumerate(question.choices, 1)]
    shown = [code_block(spell_out(question.preview))] if question.preview else []
    return "\n".join([spell_out(question.text), *shown, *choices, HOW])


def marked(preview: str, reason: str) -> str:
    """``preview``, unchanged, and under it each part that ``reason`` names, between ⟦ and ⟧.

    A guard quotes what it objects to in backticks. Nothing is added where it names nothing, or
    all there is.
    """
    spans = list(_merged(_spans(preview, reason)))
    whole = preview.strip()
    if not spans or any(preview[start:stop].strip() == whole for start, stop in spans):
        return preview
    return "\n".join([preview, "", *[f"Risky: {_cutting(preview, *span)}" for span in spans]])


def _spans(preview: str, reason: str) -> Iterator[tuple[int, int]]:
    for quoted in _QUOTED.findall(reason):
        found = _loosely(quoted.rstrip("…"))
        if found is not None:
            yield from (match.span() for match in found.finditer(preview))


def _loosely(words: str) -> re.Pattern[str] | None:
    """Finds ``words`` however they are quoted and spaced in the original, as words of their own:
    ``sh`` is not in ``https://get.example.sh/push``."""
    plain = words.translate(dict.fromkeys(map(ord, _QUOTES))).split()
    if not plain:
        return None
    between = f"[{re.escape(_QUOTES)}]*"
    apart = f"[{re.escape(_QUOTES)}\\s]+"
    words = apart.join(between.join(map(re.escape, word)) for word in plain)
    before = rf"(?<!{_INSIDE})" if re.match(_INSIDE, plain[0]) else ""
    after = rf"(?!{_INSIDE})" if re.match(_INSIDE, plain[-1][-1]) else ""
    return re.compile(between + before + words + after + between)


def _merged(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    begun: tuple[int, int] | None = None
    for start, stop in sorted(spans):
        if begun is not None and start <= begun[1]:
            begun = (begun[0], max(begun[1], stop))
            continue
        if begun is not None:
            yield begun
        begun = (start, stop)
    if begun is not None:
        yield begun


def _cutting(text: str, start: int, stop: int) -> str:
    """The marked part with what stands around it on its line."""
    before = text[:start].rpartition("\n")[2]
    after = text[stop:].partition("\n")[0]
    left = before if len(before) <= AROUND else "…" + before[-AROUND:]
    right = after if len(after) <= AROUND else after[:AROUND] + "…"
    return f"{left}⟦{text[start:stop]}⟧{right}"
