"""What a scan has found, and the sentence that tells it."""

from __future__ import annotations

from dataclasses import dataclass

from .data import load

EXCERPT = 48
"""Characters of the text that are repeated in the reason."""
_MARKUP = str.maketrans("<>[]|“”", "‹›()¦''")


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule of ``rules.yaml`` that matched on a line (from 1); ``words`` is what stands there.

    ``disguise`` says how the text was hidden, such as ``base64``; empty if it was plain.
    """

    rule: str
    line: int
    words: str
    disguise: str = ""

    @classmethod
    def at(cls, rule: str, text: str, start: int, end: int) -> Finding:
        """A rule that matched between two places of a text."""
        return cls(rule, text.count("\n", 0, start) + 1, text[start:end])

    def reason(self, outside: str = "") -> str:
        """A sentence for people and models: the rule, the line, the words, what to do.

        ``outside`` names the place of a text that whoever reads it cannot change.
        """
        rule = load("rules.yaml")[self.rule]
        hidden = f", hidden as {self.disguise}" if self.disguise else ""
        where = f"(rule {self.rule}, line {self.line}{hidden}: “{escaped(self.words)}”)"
        if not outside:
            return f"{rule['what']} {where}. {rule['fix']}"
        what = rule["what"].removeprefix("It ")
        return f"{escaped(outside)} {what} {where}. Look for it elsewhere, or tell the user."


def escaped(words: str) -> str:
    """At most :data:`EXCERPT` characters on one line in which nothing is invisible or markup."""
    words = words.strip()
    shown = "".join(
        char if char.isprintable() or char.isspace() else f"U+{ord(char):04X} "
        for char in words[:EXCERPT].translate(_MARKUP)
    )
    return " ".join(shown.split()) + "…" * (len(words) > EXCERPT)
