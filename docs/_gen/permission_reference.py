"""Generates the page about permissions: the text in ``permissions.txt``, and the packaged rules."""

from __future__ import annotations

from pathlib import Path

from hookline_permissions.packaged_rules import PackagedRule, outside_rules, packaged_rules
from markdown_text import code, table

TITLES = {
    "deny": ("Refused", "Nothing brings back what these do."),
    "ask": (
        "Asked about",
        "*Checkpoint*: no question if the files were saved before, and the history of git with "
        "them. *Each time*: no rule and no grant answers it.",
    ),
    "outside": (
        "Does not work in the sandbox",
        "The line runs outside if `allow` rules cover all of it, or if a person approves it.",
    ),
    "allow": (
        "Run outside of the sandbox without a question",
        "*Reads*: it may name parts of the system that hold no keys.",
    ),
}


def page() -> str:
    """The page as Markdown."""
    intro = (Path(__file__).parent / "permissions.txt").read_text("utf-8")
    return intro + "\n".join(_chapter(kind) for kind in TITLES)


def _chapter(kind: str) -> str:
    title, note = TITLES[kind]
    found = [one for one in packaged_rules() if one.rule.kind == kind]
    rows = [_row(one) for one in (outside_rules() if kind == "outside" else found)]
    return f"### {title}\n\n{note}\n\n{table(('command', 'because it', 'for example'), rows)}\n"


def _row(packaged: PackagedRule) -> tuple[str, str, str]:
    rule = packaged.rule
    notes = []
    if rule.unless:
        notes = [f"unless {', '.join(_cell(one.pattern or '') for one in rule.unless)}"]
    if rule.reads_from:
        notes.append(f"only what {', '.join(map(code, rule.reads_from))} write")
    notes += ["*checkpoint*"] * rule.restorable + ["*reads*"] * rule.reads
    notes += ["*each time*"] * rule.once
    why = "; ".join([rule.why, *notes])
    return _cell(rule.pattern or ""), why, _cell(packaged.match[0])


def _cell(text: str) -> str:
    """Inline code in a table, also for readers that end a cell at each ``|``."""
    return code(text.replace("|", "\\|"))
