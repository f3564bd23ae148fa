"""Reads the review as JSON from stdin and prints it as Markdown.

The text comes from a model that has read the pull request, so it is shown as text: it mentions
nobody, links nowhere, loads no picture and begins no heading or HTML.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

MARK = "<!-- hookline-review -->"
ORDER = {"high": 0, "medium": 1, "low": 2}
_MARKDOWN = re.compile(r"[\\`*_{}\[\]()<>#+!|~&@:.]")
_REFERENCE = "@#"
"""GitHub looks for mentions and numbers of issues after it has rendered the text."""
_INVISIBLE = "\u200b"


def literal(text: str) -> str:
    """Return the text on one line, with every character that means something escaped."""
    return _MARKDOWN.sub(_escaped, " ".join(text.split()))


def _escaped(found: re.Match[str]) -> str:
    return f"&#{ord(found[0])};{_INVISIBLE if found[0] in _REFERENCE else ''}"


def markdown(review: dict[str, Any]) -> str:
    """Return the comment."""
    findings = sorted(review["findings"], key=lambda finding: ORDER[finding["severity"]])
    lines = [MARK, "### Hookline review", "", literal(review["summary"]), ""]
    if not findings:
        lines.append("No findings.")
    for finding in findings:
        place = literal(f"{finding['path']}:{finding['line']}")
        lines.append(f"- **{finding['severity']}** {place} – {literal(finding['text'])}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(markdown(json.load(sys.stdin)) + "\n")
