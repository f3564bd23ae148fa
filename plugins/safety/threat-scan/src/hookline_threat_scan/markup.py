"""Markup that a program has to follow: tags without their ends, comments, attributes.

Code spans and code blocks are examples: what a page would do with markup in them does not count.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache

from .audience import Audience
from .data import compiled, expression, load
from .patterns import Shape, without_code

LONGEST = 4_000
"""Characters of a comment that are read."""


@cache
def _expression(name: str) -> re.Pattern[str]:
    data = load("comments.yaml")
    return compiled(data[name], data["names"] | load("patterns.yaml")["names"])


def find_comments(text: str, audience: Audience) -> Iterator[Shape]:
    """Comments and attributes that speak to a model: what a person who looks does not see."""
    lower = text.lower()
    if not any(word in lower for word in load("comments.yaml")["words"]):
        return
    prose = text if audience.is_source else without_code(text)
    for kind in ("html-comment", "link-comment", "attribute"):
        for found in expression(kind).finditer(prose):
            start, end = found.span("said")
            if _expression("addressed").search(prose, start, min(end, start + LONGEST)):
                yield Shape("hidden-html", start, end, found["said"])
    for kind in ("line-comment", "end-comment"):
        for found in expression(kind).finditer(prose):
            if _expression("spoken").match(found["said"]):
                yield Shape("hidden-html", *found.span("said"), found["said"])


def is_shown(words: str) -> bool:
    """True for an element that a page shows after all, on a dark ground, or that holds no words."""
    opening, _, inside = words.partition(">")
    shown = re.search(load("patterns.yaml")["dark"], opening, re.IGNORECASE)
    return "<" in words and (bool(shown) or len(re.findall(r"[^\W\d_]{2,}", inside)) < 2)


def find_tags(text: str) -> Iterator[Shape]:
    """Tags that end what they did not begin, and those that pose as a part of a conversation."""
    opened: Counter[str] = Counter()
    data = load("patterns.yaml")
    for found in compiled(data["tag"], {"elements": data["elements"]}).finditer(text):
        name = found["name"].lower()
        if re.fullmatch(data["forbidden_elements"], name) or (found["close"] and not opened[name]):
            yield Shape("envelope-tag", *found.span(), found[0])
        elif not found[0].endswith("/>"):
            opened[name] += -1 if found["close"] else 1
