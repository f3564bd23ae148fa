"""Markdown as a terminal shows it."""

from __future__ import annotations

from .cells import wrapped

_LONG_CODE = 30_000
"""Characters of code beyond which it is not coloured; nothing else is drawn meanwhile."""


def as_written(text: str, _width: int) -> str:
    """Markdown as it was written, followed by one newline; the terminal breaks the lines."""
    return text.strip("\n") + "\n"


def fitted(text: str, width: int) -> str:
    """Text that is no Markdown, such as a table, with long lines broken between words."""
    lines = text.strip("\n").expandtabs(4).split("\n")
    return "\n".join(part for line in lines for part in wrapped(line, width)) + "\n"


def render(text: str, width: int) -> str:
    """Markdown as text with colour codes for a terminal ``width`` columns wide.

    Links show their address, because a terminal would hide it behind the words. The line breaks of
    a paragraph stay: models mean them, and few put the two blanks before them.
    """
    from io import StringIO

    from rich.console import Console
    from rich.markdown import Markdown

    out = StringIO()
    console = Console(file=out, force_terminal=True, width=width, legacy_windows=False)
    page = Markdown(text, code_theme="ansi_dark", hyperlinks=False)
    for block in page.parsed:
        if block.type == "fence" and len(block.content) > _LONG_CODE:
            block.info = ""
        for token in block.children or ():
            token.type = "hardbreak" if token.type == "softbreak" else token.type
    console.print(page)
    lines = (line.rstrip() for line in out.getvalue().split("\n"))
    return "\n".join(lines).strip("\n") + "\n"
