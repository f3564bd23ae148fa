"""Writes the marks of received messages as Markdown: code, links, quotes."""

from __future__ import annotations

import re
from urllib.parse import unquote

_TICKS = re.compile(r"`+")
_BLOCK_START = re.compile(r"(`{3,})[^`\n]*\n")
_LANGUAGE = re.compile(r"[\w+#.-]{1,40}")


def code_span(text: str) -> str:
    """Return inline code, in more backticks than the text has in a row."""
    marks = "`" * (_longest_run(text) + 1)
    if len(marks) == 1:
        return f"`{text}`"
    return f"{marks} {text} {marks}"


def code_block(text: str, language: str = "") -> str:
    """Return a block of code, with its language if that is one word."""
    marks = "`" * max(3, _longest_run(text) + 1)
    known = language if _LANGUAGE.fullmatch(language) else ""
    return f"{marks}{known}\n{text.removesuffix(chr(10))}\n{marks}"


def after_code_block(text: str, after: str) -> tuple[str, str] | None:
    """Return two texts without the marks between them, if a block of code that ends the first goes
    on in the second."""
    found = _BLOCK_START.match(after)
    if found is None or not text.endswith(f"\n{found[1]}"):
        return None
    return text.removesuffix(f"\n{found[1]}"), after[found.end() :]


def link_text(text: str, url: str) -> str:
    """Return a link with its address, or only the address if the text says the same."""
    bare = url.removeprefix("mailto:").removeprefix("tel:")
    same = {one.rstrip("/") for one in (url, bare, unquote(bare), bare.partition("://")[2])}
    shown = text.strip()
    if not url:
        return text
    return text if shown == bare else bare if shown.rstrip("/") in same else f"[{text}]({url})"


def quote_block(text: str) -> str:
    """Return a quotation, with a mark before each line."""
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def _longest_run(text: str) -> int:
    return max((len(run) for run in _TICKS.findall(text)), default=0)
