"""Markup that patterns cannot judge: unmatched tags, comments, attributes.

Markup in code spans and code blocks is an example and is ignored.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache

from .data_files import compile_pattern, expression, load_yaml
from .patterns import PatternMatch, without_code
from .text_use import TextUse

MAX_COMMENT_CHARS = 4_000
"""Characters of a comment that are searched."""


@cache
def _expression(name: str) -> re.Pattern[str]:
    data = load_yaml("comments.yaml")
    return compile_pattern(data[name], data["names"] | load_yaml("patterns.yaml")["names"])


def find_comments(text: str, use: TextUse) -> Iterator[PatternMatch]:
    """Find comments and attributes that address a model and that a reader does not see."""
    lower = text.lower()
    if not any(word in lower for word in load_yaml("comments.yaml")["words"]):
        return
    prose = text if use.is_source else without_code(text)
    for kind in ("html-comment", "link-comment", "attribute"):
        for found in expression(kind).finditer(prose):
            start, end = found.span("said")
            if _expression("addressed").search(prose, start, min(end, start + MAX_COMMENT_CHARS)):
                yield PatternMatch("hidden-html", start, end, found["said"])
    for kind in ("line-comment", "end-comment"):
        for found in expression(kind).finditer(prose):
            if _expression("spoken").match(found["said"]):
                yield PatternMatch("hidden-html", *found.span("said"), found["said"])


def is_shown(words: str) -> bool:
    """Whether an element is visible after all, on a dark background, or has no words."""
    opening, _, inside = words.partition(">")
    shown = re.search(load_yaml("patterns.yaml")["dark"], opening, re.IGNORECASE)
    return "<" in words and (bool(shown) or len(re.findall(r"[^\W\d_]{2,}", inside)) < 2)


def find_tags(text: str) -> Iterator[PatternMatch]:
    """Find unmatched closing tags, and tags that pose as part of a conversation."""
    opened: Counter[str] = Counter()
    data = load_yaml("patterns.yaml")
    for found in compile_pattern(data["tag"], {"elements": data["elements"]}).finditer(text):
        name = found["name"].lower()
        if re.fullmatch(data["forbidden_elements"], name) or (found["close"] and not opened[name]):
            yield PatternMatch("envelope-tag", *found.span(), found[0])
        elif not found[0].endswith("/>"):
            opened[name] += -1 if found["close"] else 1
