"""Markup: tokens of chat templates, tags of our own elements, what a page hides or runs.

Code spans and code blocks are examples: what a page would do with markup in them does not count.
Tokens and tags count there too, because a model reads them all the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from .finding import Finding

_FENCE = re.compile(
    r"(?:^|\n)[ \t>]{0,12}(`{3,}|~{3,})[^\n]{0,200}\n(?:[\s\S]{0,60000}?\n[ \t>]{0,12}\1|"
    r"[\s\S]{0,60000})"
)
_SPAN = re.compile(r"(`{1,2})[^`\n]{1,400}\1")
_LINK_COMMENT = re.compile(r"\[(?://|comment)\]:?[ \t]{1,4}(?:#|<>)[ \t]{1,4}[(\"'][^\n]{1,2000}")
_LONGEST_COMMENT = 8_000
_LETTERS = re.compile(r"[^\W\d_]{2,}")


def find_markup(text: str) -> Iterator[Finding]:
    """Everything, for a text that will be followed or remembered."""
    if "<" in text or "[" in text:
        yield from _matches("chat-template", "chat_tokens", text)
        yield from _tags(text)
    yield from _matches("fake-turn", "fake_turns", text)
    if any(mark in text for mark in ("<", "](", "\\", "[//", "[comment")):
        prose = without_code(text)
        yield from _matches("active-html", "active", prose)
        yield from _hidden(prose)


def find_turns(text: str) -> Iterator[Finding]:
    """Turns of a conversation in a text that is read as data, outside of its code blocks."""
    if "<" in text or "[" in text:
        yield from _matches("chat-template", "turn_tokens", without_code(text))


def without_code(text: str) -> str:
    """The text with blanks in the place of code."""
    for pattern in (_FENCE, _SPAN):
        text = pattern.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    return text


@cache
def _data() -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load((files(__package__) / "markup.yaml").read_text("utf-8"))
    return data


@cache
def _patterns(name: str) -> list[re.Pattern[str]]:
    found = _data()[name]
    sources = [found] if isinstance(found, str) else found
    return [re.compile(s.replace("{hide}", _data()["hide"]), re.IGNORECASE) for s in sources]


@cache
def _tag() -> re.Pattern[str]:
    return re.compile(
        rf"<\s{{0,3}}(?P<close>/?)\s{{0,3}}(?P<name>{_data()['elements']})(?=[\s>/])[^<>]{{0,200}}>",
        re.IGNORECASE,
    )


@cache
def _forbidden() -> re.Pattern[str]:
    return re.compile(_data()["forbidden_elements"], re.IGNORECASE)


def _matches(rule: str, name: str, text: str) -> Iterator[Finding]:
    for pattern in _patterns(name):
        for found in pattern.finditer(text):
            yield Finding.at(rule, text, *found.span())


def _tags(text: str) -> Iterator[Finding]:
    """Tags that end what they did not begin, and those that pose as a part of a conversation."""
    opened: dict[str, int] = {}
    for found in _tag().finditer(text):
        name = found["name"].lower()
        if _forbidden().fullmatch(name):
            yield Finding.at("envelope-tag", text, *found.span())
        elif not found["close"]:
            opened[name] = opened.get(name, 0) + (not found[0].endswith("/>"))
        elif opened.get(name, 0) == 0:
            yield Finding.at("envelope-tag", text, *found.span())
        else:
            opened[name] -= 1


def _hidden(prose: str) -> Iterator[Finding]:
    dark = _patterns("dark")[0]
    for pattern in _patterns("hidden"):
        for found in pattern.finditer(prose):
            inside = found.groupdict().get("inside")
            is_text = inside is None or len(_LETTERS.findall(inside)) >= 2
            if is_text and not dark.search(found[0].partition(">")[0]):
                yield Finding.at("hidden-html", prose, *found.span())
    for start, end in _comments(prose):
        if _patterns("addressed")[0].search(prose, start, end):
            yield Finding.at("hidden-html", prose, start, end)


def _comments(prose: str) -> Iterator[tuple[int, int]]:
    """Where comments stand; one without an end goes as far as a page would take it."""
    at = prose.find("<!--")
    while at >= 0:
        close = prose.find("-->", at)
        end = close + 3 if close >= 0 else len(prose)
        yield at, min(end, at + _LONGEST_COMMENT)
        at = prose.find("<!--", end)
    for found in _LINK_COMMENT.finditer(prose):
        yield found.span()
