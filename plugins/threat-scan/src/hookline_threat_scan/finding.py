"""What a scan has found, and the sentence that tells it."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml

EXCERPT = 48
"""Characters of the text that are repeated in the reason."""


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

    def reason(self) -> str:
        """A sentence for people and models: the rule, the line, the words, what to do."""
        rule = rules()[self.rule]
        hidden = f", hidden as {self.disguise}" if self.disguise else ""
        return (
            f"{rule['what']} (rule {self.rule}, line {self.line}{hidden}: "
            f"“{escaped(self.words)}”). "
            f"{rule['fix']}"
        )


@cache
def rules() -> dict[str, dict[str, str]]:
    """What each rule is about and what can be done, by name."""
    loaded: dict[str, dict[str, str]] = yaml.safe_load(
        (files(__package__) / "rules.yaml").read_text("utf-8")
    )
    return loaded


def escaped(words: str) -> str:
    """At most :data:`EXCERPT` characters on one line in which nothing is invisible or markup."""
    shown: list[str] = []
    for char in words.strip():
        if len(shown) >= EXCERPT:
            shown.append("…")
            break
        shown.append(_visible(char))
    return " ".join("".join(shown).split())


def _visible(char: str) -> str:
    if char in "<>[]|“”":
        return {"<": "‹", ">": "›", "[": "(", "]": ")", "|": "¦"}.get(char, "'")
    if char.isspace():
        return " "
    if unicodedata.category(char) in ("Cf", "Cc", "Co", "Cn", "Cs", "Zl", "Zp"):
        return f"U+{ord(char):04X} "
    return char
