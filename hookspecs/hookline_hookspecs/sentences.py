"""Marks sentences for translation, without importing anything of the pages."""

from __future__ import annotations


def N_(sentence: str) -> str:
    """Mark a sentence that is shown elsewhere; the page passes it to ``t`` or ``translate``.

    A constant or an f-string: ``N_(f"the file {path} is missing")``.
    """
    return sentence
