"""The footnotes of a Markdown text, as in the browser (``static/js/markdown_extensions.js``)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline

_NOTE = re.compile(
    r"^ {0,3}\[\^([^\]\s]{1,60})\]:[ \t]*"
    r"(.*(?:\n(?! {0,3}\[\^[^\]\s]+\]:)\S.*|\n+(?: {2,}|\t).*)*)",
    re.MULTILINE,
)
_FENCED = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1|\Z)", re.MULTILINE | re.DOTALL)
_REFERENCE = re.compile(r"\[\^([^\]\s]{1,60})\](?!:)")
NOTES = "footnotes"
"""The key of a parser's environment with the notes."""


@dataclass
class Footnotes:
    """The notes of a text by id, and their numbers, in the order of the references."""

    texts: dict[str, str]
    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, id_: str) -> int:
        """Return the number of a note."""
        return self.numbers.setdefault(id_, len(self.numbers) + 1)

    def all(self) -> list[tuple[int, str]]:
        """Return number and text of each note; those without a reference are the last."""
        for id_ in self.texts:
            self.number(id_)
        return [(number, self.texts[id_]) for id_, number in self.numbers.items()]


def split(text: str) -> tuple[str, Footnotes]:
    """Return a text without its notes, and the notes."""
    if "[^" not in text:
        return text, Footnotes({})
    notes = Footnotes({})
    pieces, at = [], 0
    for code in [*_FENCED.finditer(text), None]:
        end = code.start() if code else len(text)
        pieces.append(_NOTE.sub(lambda found: _take(notes, found), text[at:end]))
        if code:
            pieces.append(code.group())
            at = code.end()
    return "".join(pieces), notes


def _take(notes: Footnotes, found: re.Match[str]) -> str:
    text = re.sub(r"^(?: {2,4}|\t)", "", found[2], flags=re.MULTILINE)
    notes.texts.setdefault(found[1], text)
    return ""


def enable(parser: MarkdownIt) -> MarkdownIt:
    """Let a parser read references to the notes in its environment."""
    parser.inline.ruler.before("link", "footnote", _reference)
    return parser


def _reference(state: StateInline, silent: bool) -> bool:
    notes = state.env.get(NOTES)
    found = _REFERENCE.match(state.src, state.pos) if isinstance(notes, Footnotes) else None
    if found is None or not isinstance(notes, Footnotes) or found[1] not in notes.texts:
        return False
    if not silent:
        token = state.push("footnote_ref", "", 0)
        token.meta = {"number": notes.number(found[1])}
    state.pos = found.end()
    return True
