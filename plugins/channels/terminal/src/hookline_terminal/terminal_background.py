"""Asks the terminal for its background, to choose the theme ``dark`` or ``light``.

Most terminals answer OSC 11 within milliseconds. A request for the terminal's attributes (DA1)
follows, which all answer, so that none is waited for in vain.
"""

from __future__ import annotations

import os
import re
import select
import sys
import time
from collections.abc import Callable, Mapping
from typing import Literal

from hookline_markdown.themes import ThemeName
from prompt_toolkit.input import Input
from prompt_toolkit.input.typeahead import store_typeahead

from .theme_setting import FEW_COLOURS, ThemeSetting, theme_without_asking

REPLY_TIMEOUT = 0.2
"""Seconds that the terminal has to begin its reply."""
REST_TIMEOUT = 1.0
"""Seconds for the rest of a reply that has begun."""
_QUERY = "\x1b]11;?\x1b\\\x1b[c"
_BACKGROUND = re.compile(
    rb"\x1b\]11;rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})"
    rb"[^\x07\x1b]*(?:\x07|\x1b\\)"
)
_ATTRIBUTES = re.compile(rb"\x1b\[\?[0-9;]*c")
_BEGUN = re.compile(rb"\x1b\](?:1(?:1[^\x07\x1b]*\x1b?)?)?\Z|\x1b\[\?[0-9;]*\Z")
"""The beginning of a reply, at the end of what was read."""


def theme_for(
    setting: ThemeSetting, env: Mapping[str, str], keyboard: Input, send: Callable[[str], None]
) -> ThemeName:
    """Return the theme for a setting; for ``auto``, ask the terminal. Call in raw mode."""
    is_asked = setting == "auto" and not env.get("NO_COLOR")
    if is_asked and env.get("TERM", "") not in FEW_COLOURS:
        found = background(keyboard, send)
        if found is not None:
            return found
    return theme_without_asking(setting, env)


def background(keyboard: Input, send: Callable[[str], None]) -> Literal["dark", "light"] | None:
    """Ask the terminal for its background; None if it does not say.

    Its replies are removed from the input; keys that were pressed meanwhile stay.
    """
    send(_QUERY)
    read, until = b"", time.monotonic() + REPLY_TIMEOUT
    while not _ATTRIBUTES.search(read):
        if _BEGUN.search(read):
            until = max(until, time.monotonic() + REST_TIMEOUT)
        left = max(0.0, until - time.monotonic())
        if not select.select([keyboard.fileno()], [], [], left)[0]:
            break
        if not (data := os.read(keyboard.fileno(), 4096)):
            break
        read += data
    found = _BACKGROUND.search(read)
    _keep_keys(keyboard, _ATTRIBUTES.sub(b"", _BACKGROUND.sub(b"", read)))
    return None if found is None else _brightness(*found.groups())


def _keep_keys(keyboard: Input, typed: bytes) -> None:
    """Give input back to the keyboard, which knows the rest of a reply that has only begun."""
    if typed and sys.platform != "win32":
        from prompt_toolkit.input.vt100 import Vt100Input

        if isinstance(keyboard, Vt100Input):
            keyboard.vt100_parser.feed(typed.decode("utf-8", "replace"))
            store_typeahead(keyboard, keyboard.flush_keys())


def _brightness(*channels: bytes) -> Literal["dark", "light"]:
    red, green, blue = (int(value, 16) / (16 ** len(value) - 1) for value in channels)
    return "light" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "dark"
