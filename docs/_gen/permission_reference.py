"""Generates the page about permissions: the text in ``permissions.txt``, and the packaged rules."""

from __future__ import annotations

from pathlib import Path

from hookline_permissions.packaged_rules import PackagedRule, packaged_rules
from markdown_text import code, table

TITLES = {
    "deny": ("Refused", "Nothing brings back what these do."),
    "ask": ("Asked about", "*Checkpoint*: no question if the workspace was saved before."),
    "allow": (
        "Run without a question",
        "*Reads*: also runs if the guard of commands would ask about a path.",
    ),
}


def page() -> str:
    """The page as Markdown."""
    intro = (Path(__file__).parent / "permissions.txt").read_text("utf-8")
    return intro + "\n".join(_chapter(kind) for kind in TITLES)


def _chapter(kind: str) -> str:
    title, note = TITLES[kind]
    rows = [_row(one) for one in packaged_rules() if one.rule.kind == kind]
    return f"### {title}\n\n{note}\n\n{table(('command', 'because it', 'for example'), rows)}\n"


def _row(packaged: PackagedRule) -> tuple[str, str, str]:
    rule = packaged.rule
    notes = []
    if rule.unless:
        notes = [f"unless {', '.join(_cell(one.pattern or '') for one in rule.unless)}"]
    notes += ["*checkpoint*"] * rule.restorable + ["*reads*"] * rule.reads
    why = "; ".join([rule.why, *notes])
    return _cell(rule.pattern or ""), why, _cell(packaged.match[0])


def _cell(text: str) -> str:
    """Inline code in a table, also for readers that end a cell at each ``|``."""
    return code(text.replace("|", "\\|"))
