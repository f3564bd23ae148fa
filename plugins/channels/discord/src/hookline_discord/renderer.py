"""Markdown in Discord's dialect (support.discord.com, Markdown Text 101): no tables or pictures."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from hookline_channelkit import MarkdownRenderer

_ADDRESS = re.compile(r"(https?://[^\s<>]+)")
_SPECIAL = re.compile(r"([\\*_~`|<\[])|(?m:^)(\s*(?:\d+(?=[.)]\s))?)(?=#{1,3}\s|-#|[->+]\s|[.)]\s)")
_TICKS = "`\u200b``"
"""Three backticks in code, which would end it: longer marks around them are not known."""


class DiscordMarkdown(MarkdownRenderer):
    """Only what Discord knows; everything else escaped."""

    def text(self, raw: str) -> str:
        """Words. Addresses stay whole: in them a backslash would be a part of the address."""
        parts = _ADDRESS.split(raw)
        parts[::2] = [_SPECIAL.sub(_escaped, one) for one in parts[::2]]
        return "".join(parts)

    def fence(self, raw: str, language: str) -> str:
        """A block of code."""
        return super().fence(raw.replace("```", _TICKS), language)

    def link(self, inner: str, url: str) -> str:
        """A link; of one that leads nowhere from here, the words."""
        try:
            is_whole = urlsplit(url).scheme in ("http", "https")
        except ValueError:
            is_whole = False
        return inner if not is_whole else f"<{url}>" if inner == url else f"[{inner}](<{url}>)"

    def quote(self, inner: str) -> str:
        """A quotation; one inside another becomes a part of it, because they cannot be nested."""
        return "\n".join("> " + line.removeprefix("> ") for line in inner.split("\n"))

    def heading(self, inner: str, level: int) -> str:
        """A heading; below the third level, bold words."""
        return f"{'#' * level} {inner}" if level <= 3 else self.bold(inner)


def _escaped(found: re.Match[str]) -> str:
    """A sign of the dialect, or what would begin a heading, a quotation or a list."""
    return f"\\{found[1]}" if found[1] else f"{found[2]}\\"
