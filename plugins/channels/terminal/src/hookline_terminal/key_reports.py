"""Keys that a terminal reports by number: CSI-u, also of kitty, and xterm's modifyOtherKeys.

Hookline does not ask for them, but a multiplexer or a program that ended badly may have.
"""

from __future__ import annotations

import re

from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys

from .terminal_events import LONE_ESCAPE

_CSI_U = re.compile(r"\x1b\[(\d+)(?::[\d:]*)?(?:;(\d*)(?::(\d+))?)?(?:;[\d:]*)?u")
_OTHER_KEYS = re.compile(r"\x1b\[27;(\d+);(\d+)~")
_EVENT = re.compile(r"(\x1b\[\d+;\d+):(\d)([A-Z~])")
"""An arrow or function key with the kind of the event: pressed, repeated, released."""
_RELEASED = "3"
_SHIFT, _ALT, _CTRL = 1, 2, 4
_PRIVATE_USE = range(0xE000, 0xF900)
"""Code points for modifier and media keys, which type nothing."""


def reported_keys(sequence: str) -> list[KeyPress] | None:
    """Return the keys that a report stands for, none for a released key; None for no report."""
    if found := _EVENT.fullmatch(sequence):
        key = ANSI_SEQUENCES.get(found[1] + found[3]) or ANSI_SEQUENCES.get(f"\x1b[{found[3]}")
        return [] if found[2] == _RELEASED or not isinstance(key, Keys) else [KeyPress(key, "")]
    if found := _OTHER_KEYS.fullmatch(sequence):
        return _keys(int(found[2]), int(found[1]))
    if found := _CSI_U.fullmatch(sequence):
        return [] if found[3] == _RELEASED else _keys(int(found[1]), int(found[2] or 1))
    return None


def _keys(code: int, modifiers: int) -> list[KeyPress]:
    held = max(0, modifiers - 1)
    if code == 0x1B:
        return list(LONE_ESCAPE)
    key = _key(code, held)
    if key is None:
        return []
    return [KeyPress(Keys.Escape, ""), key] if held & _ALT else [key]


def _key(code: int, held: int) -> KeyPress | None:
    if code == ord("\r"):
        return KeyPress(Keys.ControlJ if held & (_SHIFT | _CTRL) else Keys.ControlM, "\r")
    if code == ord("\t"):
        return KeyPress(Keys.BackTab if held & _SHIFT else Keys.ControlI, "\t")
    if code in _PRIVATE_USE or code > 0x10FFFF:
        return None
    char = chr(code)
    if held & _CTRL:
        char = chr(ord(char.upper()) & 0x1F) if "@" <= char.upper() <= "_" else char
    elif held & _SHIFT:
        char = char.upper()
    key = ANSI_SEQUENCES.get(char, char)
    return KeyPress(key, char) if isinstance(key, str) else None
