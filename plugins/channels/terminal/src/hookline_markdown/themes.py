"""Colours for a dark and for a light terminal, of the terminal's own 16 colours, and none.

A process writes to one terminal, so :func:`use_theme` applies to all of it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

ThemeName: TypeAlias = Literal["dark", "light", "ansi", "none"]

PLAIN: Final = "\x1b[0m"
DIM: Final = "\x1b[2m"
BOLD: Final = "\x1b[1m"
RED: Final = "\x1b[31m"
GREEN: Final = "\x1b[32m"
YELLOW: Final = "\x1b[33m"
CYAN: Final = "\x1b[36m"
_HUE = re.compile(r"\x1b\[(?:(1);)?(3[1236])m")
"""A hue, bold or not, as the constants above have it."""


@dataclass(frozen=True, slots=True)
class Theme:
    """What text looks like.

    Attributes:
        name: the theme's name.
        hues: the colour (parameters of SGR) for each hue; a hue that is left out stays.
        markdown: styles of rich that differ from its defaults.
        code: the pygments style of code blocks.
        prompt: styles of prompt_toolkit for what is drawn around the input line.
    """

    name: ThemeName
    hues: Mapping[str, str] = field(default_factory=dict)
    markdown: Mapping[str, str] = field(default_factory=dict)
    code: str = "ansi_dark"
    prompt: Mapping[str, str] = field(default_factory=dict)


# A box behind code is black on a white terminal where the theme is wrong; bold is enough.
_MARKDOWN = {
    "markdown.code": "bold cyan",
    "markdown.code_block": "cyan",
    "markdown.link_url": "underline",
    "markdown.kbd": "bold",
}
_DARK_BLUE, _DARK_PURPLE, _GREY = "#005f87", "#5f005f", "#626262"
THEMES: Mapping[ThemeName, Theme] = {
    "ansi": Theme(
        "ansi",
        markdown=_MARKDOWN,
        prompt={
            "dim": "fg:ansibrightblack",
            "good": "fg:ansigreen",
            "note": "fg:ansicyan",
            "bad": "bold fg:ansired",
        },
    ),
    "dark": Theme(
        "dark",
        markdown={**_MARKDOWN, "markdown.link": "bright_cyan"},
        prompt={
            "dim": "fg:#8a8a8a",
            "good": "fg:#87d787",
            "note": "fg:#5fd7d7",
            "bad": "bold fg:#ff5f5f",
            "completion-menu.completion": "bg:#303030 fg:#d0d0d0",
            "completion-menu.completion.current": "noreverse bg:#5f87af fg:#ffffff",
            "completion-menu.meta.completion": "bg:#262626 fg:#9e9e9e",
            "completion-menu.meta.completion.current": "bg:#3a5f87 fg:#ffffff",
        },
    ),
    "light": Theme(
        "light",
        hues={"31": "38;5;124", "32": "38;5;28", "33": "38;5;130", "36": "38;5;30"},
        markdown={
            **_MARKDOWN,
            "markdown.code": f"bold {_DARK_BLUE}",
            "markdown.code_block": _DARK_BLUE,
            "markdown.block_quote": _DARK_PURPLE,
            "markdown.h2": f"underline {_DARK_PURPLE}",
            "markdown.h3": f"bold {_DARK_PURPLE}",
            "markdown.h4": f"italic {_DARK_PURPLE}",
            "markdown.item.number": _DARK_BLUE,
            "markdown.link": _DARK_BLUE,
            "markdown.list": _DARK_BLUE,
            "markdown.table.border": _GREY,
            "markdown.table.header": f"bold {_DARK_BLUE}",
        },
        code="ansi_light",
        prompt={
            "dim": "fg:#626262",
            "good": "fg:#008700",
            "note": "fg:#005f87",
            "bad": "bold fg:#af0000",
            "completion-menu.completion": "bg:#e4e4e4 fg:#303030",
            "completion-menu.completion.current": "noreverse bg:#5f87af fg:#ffffff",
            "completion-menu.meta.completion": "bg:#eeeeee fg:#626262",
            "completion-menu.meta.completion.current": "bg:#87afd7 fg:#000000",
        },
    ),
    "none": Theme("none"),
}
"""The themes by name. ``ansi`` leaves every colour to the terminal's own palette."""

_in_use: ThemeName = "ansi"


def use_theme(name: ThemeName) -> None:
    """Use a theme from now on, in this process."""
    global _in_use
    _in_use = name


def current_theme() -> Theme:
    """Return the theme in use; ``NO_COLOR`` overrules it."""
    return THEMES["none" if os.environ.get("NO_COLOR") else _in_use]


def recoloured(text: str) -> str:
    """Return text of the program itself with its hues as the current theme has them."""
    theme = current_theme()
    if theme.name == "none":
        return _HUE.sub(lambda found: BOLD if found[1] else "", text)
    return _HUE.sub(lambda found: _hue(found, theme.hues), text) if theme.hues else text


def _hue(found: re.Match[str], hues: Mapping[str, str]) -> str:
    bold = "1;" if found[1] else ""
    return f"\x1b[{bold}{hues.get(found[2], found[2])}m"
