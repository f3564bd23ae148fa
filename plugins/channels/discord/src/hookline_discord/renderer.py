"""Markdown in Discord's dialect (support.discord.com, Markdown Text 101): no tables or pictures."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from hookline_channelkit import MarkdownRenderer

_ADDRESS = re.compile(r"(https?://[^\s<>]+)")
_SPECIAL = re.compile(r"([\\*_~`|<\[])|(?m:^)(\s*(?:\d+(?=[.)]\s))?)(?=#{1,3}\s|-#|[->+]\s|[.)]\s)")
_TICKS = "`\u200b``"
"""Replaces three backticks in code, which would end it: Discord knows no longer fences."""


class DiscordMarkdown(MarkdownRenderer):
    """Renders what Discord supports, and escapes everything else."""

    def text(self, raw: str) -> str:
        """Escape a text, except in URLs, where a backslash would be part of the URL."""
        parts = _ADDRESS.split(raw)
        parts[::2] = [_SPECIAL.sub(_escaped, one) for one in parts[::2]]
        return "".join(parts)

    def fence(self, raw: str, language: str) -> str:
        """Render a block of code."""
        return super().fence(raw.replace("```", _TICKS), language)

    def link(self, inner: str, url: str) -> str:
        """Render an http link; of other links only the text."""
        try:
            is_whole = urlsplit(url).scheme in ("http", "https")
        except ValueError:
            is_whole = False
        return inner if not is_whole else f"<{url}>" if inner == url else f"[{inner}](<{url}>)"

    def quote(self, inner: str) -> str:
        """Render a quotation, and flatten nested ones, which Discord does not support."""
        return "\n".join("> " + line.removeprefix("> ") for line in inner.split("\n"))

    def heading(self, inner: str, level: int) -> str:
        """Render a heading; below the third level, bold text."""
        return f"{'#' * level} {inner}" if level <= 3 else self.bold(inner)


def _escaped(found: re.Match[str]) -> str:
    """Escape a special character, or the start of a heading, a quotation or a list."""
    return f"\\{found[1]}" if found[1] else f"{found[2]}\\"
