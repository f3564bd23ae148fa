"""Which theme is meant: the person's choice, that of ``config.yaml``, or the environment's hint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from hookline_markdown.themes import ThemeName

ThemeSetting: TypeAlias = Literal["auto", "dark", "light", "ansi", "none"]
SETTINGS: tuple[ThemeSetting, ...] = ("auto", "dark", "light", "ansi", "none")
MEANINGS: Mapping[ThemeSetting, str] = {
    "auto": "asks the terminal for its background",
    "dark": "for a dark background",
    "light": "for a light background",
    "ansi": "the terminal's own 16 colours",
    "none": "no colours",
}
FEW_COLOURS = frozenset({"linux", "dumb", "unknown", "eterm-color", "vt100", "vt220", "ansi"})
"""Values of ``TERM`` of terminals with 16 colours at most, which often answer no question."""


def theme_setting(value: str, default: ThemeSetting) -> ThemeSetting:
    """Return the setting with this name, or ``default`` if there is none."""
    return next((one for one in SETTINGS if one == value), default)


def theme_without_asking(setting: ThemeSetting, env: Mapping[str, str]) -> ThemeName:
    """Return the theme for a setting; for ``auto`` that which the environment suggests."""
    if setting != "auto":
        return setting
    if env.get("TERM", "") in FEW_COLOURS:
        return "ansi"
    return _from_colorfgbg(env.get("COLORFGBG", "")) or "ansi"


def _from_colorfgbg(value: str) -> ThemeName | None:
    """Read ``COLORFGBG``, such as ``0;15``, which some terminals set; its end is the background."""
    number = value.rpartition(";")[2]
    if not number.isdecimal() or int(number) > 15:
        return None
    return "dark" if int(number) in (0, 1, 2, 3, 4, 5, 6, 8) else "light"
