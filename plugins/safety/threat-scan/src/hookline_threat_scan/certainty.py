"""Tells which findings are certain enough to refuse an instruction file, such as a skill.

Of public instruction files, one in twenty has a sentence that a rule finds: it tells agents to skip
confirmations, or to save something to AGENTS.md. An attack combines such sentences: it overrides
the instructions, names what to steal, and hides it. The rules here were measured with
``benchmarks/threat_scan_public.py``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .data_files import expression
from .threat_finding import ThreatFinding

MAX_LINES_APART = 6
"""Lines within which two findings of different rules belong to one attack."""
MAX_SHORT_CHARS = 800
"""A text up to this length is made for what is found in it."""
_TEMPLATE = re.compile(
    r"\W*\w+ (?:the |die |le |la |el )?`?[\w./-]*\.(?:example|sample|template|dist)(?:\.\w+)?`? "
    r"\w+ `?(?:\./)?[\w-]*(?:/[\w-]+)*\.(?:env|ya?ml|json|toml|ini)(?:\.local)?`?"
    r"(?:(?!\.\w)[^:/@])*",
    re.IGNORECASE,
)
"""\"Copy .env.example to .env and add your API key\": from one file here to another.
After that no file and no address is named."""
_ALONE = frozenset({"fake-turn", "invisible-text"})
"""Rules that are certain without another one."""
_ORDINARY = frozenset({"download-and-run", "active-html", "chat-template", "bidirectional-text"})
"""Rules that say nothing about a long instruction file: documentation shows such things."""


def certain_threat(findings: Sequence[ThreatFinding], text: str) -> ThreatFinding | None:
    """The first finding that is certain alone or in a short text, or near one of another rule."""
    meant = [one for one in findings if not (one.quoted or _fills_a_template(one))]
    if len(text) <= MAX_SHORT_CHARS:
        return meant[0] if meant else None
    counted = [one for one in meant if one.rule not in _ORDINARY]
    for one in counted:
        if _is_certain_alone(one) or any(_belong_together(one, other) for other in counted):
            return one
    return None


def _fills_a_template(finding: ThreatFinding) -> bool:
    """Return whether a sentence only tells a person to copy an example of a settings file."""
    return finding.rule == "exfiltration" and bool(_TEMPLATE.fullmatch(finding.words))


def _is_certain_alone(finding: ThreatFinding) -> bool:
    if finding.rule in _ALONE:
        return True
    if finding.rule == "instruction-override":
        return expression("plain-override").match(finding.words) is not None
    return finding.rule == "exfiltration" and bool(expression("stolen-file").search(finding.words))


def _belong_together(one: ThreatFinding, other: ThreatFinding) -> bool:
    return one.rule != other.rule and abs(one.line - other.line) <= MAX_LINES_APART
