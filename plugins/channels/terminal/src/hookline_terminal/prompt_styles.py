"""The current theme for prompt_toolkit, which draws what is around the input line."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from hookline_markdown.themes import THEMES, ThemeName, current_theme
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.styles import BaseStyle, DynamicStyle, Style


def color_depth() -> ColorDepth | None:
    """Return the colours that may be used; None leaves it to prompt_toolkit."""
    depths: dict[ThemeName, ColorDepth] = {
        "none": ColorDepth.DEPTH_1_BIT,
        "ansi": ColorDepth.DEPTH_4_BIT,
    }
    return depths.get(current_theme().name)


@lru_cache
def _style(name: ThemeName) -> BaseStyle:
    return Style.from_dict(dict(THEMES[name].prompt))


THEME_STYLE: Final = DynamicStyle(lambda: _style(current_theme().name))
"""Follows :func:`hookline_markdown.themes.use_theme`."""
