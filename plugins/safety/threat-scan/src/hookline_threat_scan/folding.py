"""A text as its words are compared: one spelling of what can be written in many ways.

Line breaks stay where they are, so that a line of the result is a line of the original.
"""

from __future__ import annotations

import html
import re
from functools import cache
from unicodedata import normalize
from urllib.parse import unquote

from .data import expression, load


def fold(text: str) -> str:
    """Small letters without compatibility forms, accents, escapes and what is invisible."""
    text = expression("escape").sub(lambda found: f"&#x{found[found.lastindex or 0]};", text)
    text = expression("entity").sub(lambda found: _on_one_line(html.unescape(found[0])), text)
    text = expression("percent").sub(
        lambda found: _on_one_line(unquote(found[0].replace("+", " "), errors="replace")), text
    )
    if not text.isascii():
        text = expression("invisible").sub("", normalize("NFKD", text))
        text = normalize("NFC", expression("marks").sub("", text)).lower()
        text = text.translate(_alike())
        text = expression("han-gap").sub("", text)
    text = expression("cut").sub(r"\1\n", text)
    return expression("within").sub("", text).replace("_", " ").casefold()


@cache
def _alike() -> dict[int, str]:
    """Letters that look like others, for ``translate``."""
    return str.maketrans(load("disguises.yaml")["alike"])


def _on_one_line(text: str) -> str:
    return re.sub(r"\s", " ", text)
