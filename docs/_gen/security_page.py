"""The table of outcomes in ``docs/security.md``, from the data of the plugin ``provenance``."""

from __future__ import annotations

import re
from pathlib import Path

from hookline_provenance.known_values import SOURCES
from hookline_provenance.outcomes import MEANINGS, OUTCOMES
from markdown_text import table

PAGE = Path(__file__).parent.parent / "security.md"
_MARKED = re.compile(r"(<!-- outcomes -->\n).*?(<!-- end of outcomes -->)", re.DOTALL)


def page() -> str:
    """The page with the table as it is now."""
    met = table(("met", "means"), [(source, MEANINGS[source]) for source in SOURCES])
    rows = [(f"`{effect}`", *row.values()) for effect, row in OUTCOMES.items()]
    outcomes = table(("effect", *SOURCES), rows)
    text = f"\n{met}\n\n{outcomes}\n\n"
    return _MARKED.sub(lambda found: found[1] + text + found[2], PAGE.read_text("utf-8"))
