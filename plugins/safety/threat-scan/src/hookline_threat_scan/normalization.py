"""Normalizes a text before its words are compared: one spelling for many ways of writing.

Line breaks are kept, so line numbers stay the same.
"""

from __future__ import annotations

import html
import re
from functools import cache
from unicodedata import normalize
from urllib.parse import unquote

from .data_files import expression, load_yaml


def fold(text: str) -> str:
    """Lower case, without compatibility forms, accents, escapes and invisible characters."""
    text = expression("escape").sub(lambda found: f"&#x{found[found.lastindex or 0]};", text)
    text = expression("entity").sub(lambda found: _on_one_line(html.unescape(found[0])), text)
    text = expression("percent").sub(
        lambda found: _on_one_line(unquote(found[0].replace("+", " "), errors="replace")), text
    )
    if not text.isascii():
        text = expression("invisible").sub("", normalize("NFKD", text))
        text = normalize("NFC", expression("marks").sub("", text)).lower()
        text = text.translate(_look_alikes())
        text = expression("han-gap").sub("", text)
    text = expression("cut").sub(r"\1\n", text)
    return expression("within").sub("", text).replace("_", " ").casefold()


@cache
def _look_alikes() -> dict[int, str]:
    """Look-alike letters, for ``translate``."""
    return str.maketrans(load_yaml("disguises.yaml")["alike"])


def _on_one_line(text: str) -> str:
    return re.sub(r"\s", " ", text)
