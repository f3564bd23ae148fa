"""What the Bot API accepts as formatted text: its HTML, strictly, and MarkdownV2, roughly.

Stricter than the service in two places, so that nothing leans on its leniency: a bare ``&`` and
tags inside ``code`` and ``pre`` are refused.
"""

from __future__ import annotations

import re
from typing import NamedTuple

TAGS = {
    "b": "bold",
    "strong": "bold",
    "i": "italic",
    "em": "italic",
    "u": "underline",
    "ins": "underline",
    "s": "strikethrough",
    "strike": "strikethrough",
    "del": "strikethrough",
    "tg-spoiler": "spoiler",
    "span": "spoiler",
    "a": "text_link",
    "code": "code",
    "pre": "pre",
    "blockquote": "blockquote",
}
ATTRIBUTES = {
    "a": re.compile(r'\s+href="[^"<>]+"'),
    "span": re.compile(r'\s+class="tg-spoiler"'),
    "code": re.compile(r'(\s+class="language-[^"<>\s]+")?'),
    "blockquote": re.compile(r"(\s+expandable)?"),
}
_TAG = re.compile(r"<(/?)([a-zA-Z-]+)([^<>]*)>")
_ENTITY = re.compile(r"&(lt|gt|amp|quot|#[0-9]{1,7}|#x[0-9a-fA-F]{1,6});")
_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"'}


class CannotParse(ValueError):
    """The text is refused; the description ends with this."""


class Parsed(NamedTuple):
    """Text without markup, and ``(type, offset, length)`` in UTF-16 units."""

    text: str
    entities: tuple[tuple[str, int, int], ...]


def units(text: str) -> int:
    """UTF-16 code units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def parse(text: str, mode: str | None) -> Parsed:
    """Parse a text. Raises :class:`CannotParse`."""
    if not mode:
        return Parsed(text, ())
    if mode.casefold() == "html":
        return _html(text)
    if mode.casefold() == "markdownv2":
        return _markdown(text)
    raise CannotParse(f"unsupported parse_mode {mode}")


def _html(source: str) -> Parsed:
    out: list[str] = []
    length = place = 0
    open_: list[tuple[str, int]] = []
    entities: list[tuple[str, int, int]] = []

    def add(text: str) -> None:
        nonlocal length
        out.append(text)
        length += units(text)

    while place < len(source):
        character = source[place]
        if character == "&":
            found = _ENTITY.match(source, place)
            if found is None:
                raise CannotParse(f"Can't parse entities: a bare & at offset {place}")
            name = found[1]
            if name in _NAMED:
                add(_NAMED[name])
            else:
                add(chr(int(name[2:], 16) if name[1] == "x" else int(name[1:])))
            place = found.end()
        elif character == "<":
            found = _TAG.match(source, place)
            if found is None:
                raise CannotParse(f"Can't parse entities: unclosed start tag at offset {place}")
            closing, name, rest = found[1], found[2].lower(), found[3]
            if name not in TAGS:
                raise CannotParse(
                    f'Can\'t parse entities: unsupported start tag "{name}" at offset {place}'
                )
            if closing:
                if not open_ or open_[-1][0] != name or rest.strip():
                    raise CannotParse(
                        f'Can\'t parse entities: unexpected end tag "{name}" at offset {place}'
                    )
                entities.append((TAGS[name], open_[-1][1], length - open_.pop()[1]))
            else:
                allowed = ATTRIBUTES.get(name, re.compile(""))
                if allowed.fullmatch(rest) is None:
                    raise CannotParse(f"Can't parse entities: bad attribute of {name}: {rest}")
                inside = [one for one, _ in open_]
                if "code" in inside or (
                    "pre" in inside and (name != "code" or inside[-1] != "pre")
                ):
                    raise CannotParse(f"Can't parse entities: {name} inside code at offset {place}")
                if name == "blockquote" and "blockquote" in inside:
                    raise CannotParse("Can't parse entities: blockquotes cannot be nested")
                open_.append((name, length))
            place = found.end()
        else:
            end = min((at for at in (source.find(c, place) for c in "&<") if at >= 0), default=-1)
            add(source[place : end if end >= 0 else len(source)])
            place = end if end >= 0 else len(source)
    if open_:
        unclosed = open_[-1][0]
        raise CannotParse(f"Can't parse entities: can't find end tag of start tag {unclosed}")
    return Parsed("".join(out), tuple(entities))


_RESERVED = set("_*[]()~`>#+-=|{}.!")
_PAIRS = set("_*~`")


def _markdown(source: str) -> Parsed:
    """Every reserved character is escaped or one of a pair; links are not understood."""
    out: list[str] = []
    open_: list[str] = []
    place = 0
    while place < len(source):
        character = source[place]
        if character == "\\" and place + 1 < len(source):
            out.append(source[place + 1])
            place += 1
        elif character in _PAIRS:
            if open_ and open_[-1] == character:
                open_.pop()
            else:
                open_.append(character)
        elif character in _RESERVED:
            raise CannotParse(
                f"Can't parse entities: character '{character}' is reserved and must be escaped "
                "with the preceding '\\'"
            )
        else:
            out.append(character)
        place += 1
    if open_:
        raise CannotParse(f"Can't parse entities: can't find end of the entity {open_[-1]}")
    return Parsed("".join(out), ())
