"""``/copy``: copies the last answer, or its last block of code, to the clipboard."""

from __future__ import annotations

import base64
import re
import subprocess
from collections.abc import Callable, Mapping

from hookline_hookspecs.own_programs import own_program

COPY = "/copy"
MAX_OSC52_BYTES = 74_000
"""Longest text that is sent to the terminal by OSC 52; xterm and tmux accept no more at once."""
_CODE = re.compile(r"^(`{3,}|~{3,})[^\n]*\n(.*?)^\1[`~]*\s*$", re.MULTILINE | re.DOTALL)
_PROGRAMS = (
    ("WAYLAND_DISPLAY", ("wl-copy",)),
    ("DISPLAY", ("xclip", "-selection", "clipboard")),
    ("DISPLAY", ("xsel", "--clipboard", "--input")),
    ("", ("pbcopy",)),
)
"""Programs that copy their stdin, each with the environment variable that it needs."""


def text_to_copy(answer: str, arguments: str) -> str | None:
    """Return what ``/copy`` or ``/copy code`` copies; None if ``answer`` has no code."""
    if arguments.strip().casefold() != "code":
        return answer
    found = _CODE.findall(answer)
    return found[-1][1] if found else None


def copy(text: str, env: Mapping[str, str], to_terminal: Callable[[str], None]) -> bool:
    """Copy by the terminal (OSC 52), which works over ssh too, and by a program of this machine.

    Returns False if the text is too long for the terminal and no program accepted it.
    """
    data = text.encode("utf-8", "replace")
    sent = len(data) <= MAX_OSC52_BYTES
    if sent:
        to_terminal(f"\x1b]52;c;{base64.b64encode(data).decode()}\x07")
    usable = [argv for name, argv in _PROGRAMS if not name or env.get(name)]
    return any(_pipe_to(argv, data) for argv in usable) or sent


def _pipe_to(argv: tuple[str, ...], data: bytes) -> bool:
    if (program := own_program(argv[0])) is None:
        return False
    try:
        done = subprocess.run([program, *argv[1:]], input=data, timeout=2, capture_output=True)
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0
