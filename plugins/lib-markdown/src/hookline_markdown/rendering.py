"""Markdown as a terminal shows it."""

from __future__ import annotations


def as_written(text: str, _width: int) -> str:
    """Markdown as it was written, followed by one newline; the terminal breaks the lines."""
    return text.strip("\n") + "\n"


def render(text: str, width: int) -> str:
    """Markdown as text with colour codes for a terminal ``width`` columns wide.

    Links show their address, because a terminal would hide it behind the words.
    """
    from io import StringIO

    from rich.console import Console
    from rich.markdown import Markdown

    out = StringIO()
    console = Console(file=out, force_terminal=True, width=width, legacy_windows=False)
    console.print(Markdown(text, code_theme="ansi_dark", hyperlinks=False))
    lines = (line.rstrip() for line in out.getvalue().split("\n"))
    return "\n".join(lines).strip("\n") + "\n"
