"""``/copy``: the last answer, or a block of code in it, to the clipboard."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping

COPY = "/copy"
MOST_SENT = 74_000
"""Bytes of a text that are sent to the terminal; xterm and tmux take no more at once."""
_CODE = re.compile(r"^(`{3,}|~{3,})[^\n]*\n(.*?)^\1[`~]*\s*$", re.MULTILINE | re.DOTALL)
_PROGRAMS = (
    ("WAYLAND_DISPLAY", ("wl-copy",)),
    ("DISPLAY", ("xclip", "-selection", "clipboard")),
    ("DISPLAY", ("xsel", "--clipboard", "--input")),
    ("", ("pbcopy",)),
)
"""Programs that copy their stdin, each with the variable without which it is of no use."""


def chosen(answer: str, asked: str) -> str | None:
    """The part of ``answer`` that ``/copy`` or ``/copy code`` means; None if it has no code."""
    if asked.strip().casefold() != "code":
        return answer
    found = _CODE.findall(answer)
    return found[-1][1] if found else None


def copy(text: str, env: Mapping[str, str], to_terminal: Callable[[str], None]) -> bool:
    """Copy by a program of this machine, and by the terminal (OSC 52), which works over ssh too.

    False if the text is too long for the terminal and no program took it.
    """
    data = text.encode("utf-8", "replace")
    sent = len(data) <= MOST_SENT
    if sent:
        to_terminal(f"\x1b]52;c;{base64.b64encode(data).decode()}\x07")
    return any(_by(argv, data) for name, argv in _PROGRAMS if not name or env.get(name)) or sent


def _by(argv: tuple[str, ...], data: bytes) -> bool:
    if shutil.which(argv[0]) is None:
        return False
    try:
        return subprocess.run(argv, input=data, timeout=2, capture_output=True).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False
