"""Renders Markdown for a terminal."""

from __future__ import annotations

from .text_width import wrapped
from .themes import current_theme

_MAX_HIGHLIGHTED_CHARS = 30_000
"""Longer code is not highlighted: that would block drawing for too long."""


def fitted(text: str, width: int) -> str:
    """Wrap plain text, such as a table or unrendered Markdown, between words."""
    lines = text.strip("\n").expandtabs(4).split("\n")
    return "\n".join(part for line in lines for part in wrapped(line, width)) + "\n"


def render(text: str, width: int) -> str:
    """Render Markdown with colour codes for a terminal of ``width`` columns.

    Links show their address, which a terminal would hide behind the text. Line breaks within a
    paragraph stay: models mean them, but rarely write the two blanks that Markdown asks for.
    """
    from io import StringIO

    from rich.console import Console
    from rich.markdown import Markdown
    from rich.theme import Theme

    out, theme = StringIO(), current_theme()
    console = Console(
        file=out,
        force_terminal=True,
        width=width,
        legacy_windows=False,
        no_color=theme.name == "none",
        theme=Theme(theme.markdown),
    )
    page = Markdown(text, code_theme=theme.code, hyperlinks=False)
    for block in page.parsed:
        if block.type == "fence" and len(block.content) > _MAX_HIGHLIGHTED_CHARS:
            block.info = ""
        for token in block.children or ():
            token.type = "hardbreak" if token.type == "softbreak" else token.type
    console.print(page)
    lines = (line.rstrip() for line in out.getvalue().split("\n"))
    return "\n".join(lines).strip("\n") + "\n"
