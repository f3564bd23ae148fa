"""Markdown in a few tags of HTML, for platforms that take those: Telegram, Matrix, mail."""

from __future__ import annotations

import re
from html import escape
from urllib.parse import urlsplit

from .markdown import Painter

_QUOTES = re.compile(r"</?blockquote>")
_LANGUAGE = re.compile(r"[\w+#.-]{1,40}")


class HtmlPainter(Painter):
    """``b i s a code pre blockquote``, balanced, everything else escaped; ``schemes`` are those of
    links that are kept."""

    schemes = frozenset({"http", "https", "mailto"})

    def text(self, raw: str) -> str:
        """Words."""
        return escape(raw, quote=False)

    def code(self, raw: str) -> str:
        """Code in a line."""
        return f"<code>{escape(raw, quote=False)}</code>"

    def fence(self, raw: str, language: str) -> str:
        """A block of code, with its language if it is one word."""
        body = escape(raw, quote=False)
        if _LANGUAGE.fullmatch(language) is None:
            return f"<pre>{body}</pre>"
        return f'<pre><code class="language-{language}">{body}</code></pre>'

    def bold(self, inner: str) -> str:
        """Strong words."""
        return f"<b>{inner}</b>"

    def italic(self, inner: str) -> str:
        """Emphasised words."""
        return f"<i>{inner}</i>"

    def strike(self, inner: str) -> str:
        """Struck words."""
        return f"<s>{inner}</s>"

    def link(self, inner: str, url: str) -> str:
        """A link; of one that leads nowhere from here, the words."""
        try:
            is_whole = urlsplit(url).scheme in self.schemes
        except ValueError:
            is_whole = False
        return f'<a href="{escape(url)}">{inner}</a>' if is_whole else inner

    def quote(self, inner: str) -> str:
        """A quotation; one inside another becomes a part of it, because they cannot be nested."""
        return f"<blockquote>{_QUOTES.sub('', inner)}</blockquote>"
