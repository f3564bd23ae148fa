"""What ``hookline web`` shows on a terminal: a QR code, and a browser."""

from __future__ import annotations

import io
import os
import sys
import webbrowser


def qr_code(url: str) -> str:
    """Return the QR code of a URL in block characters; empty where they cannot be shown."""
    import segno

    shown = io.StringIO()
    segno.make(url, error="l", micro=False).terminal(out=shown, compact=True, border=2)
    try:
        shown.getvalue().encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return ""
    return shown.getvalue().rstrip("\n")


def open_browser(url: str) -> bool:
    """Open a browser with a window of its own; False where there is none."""
    if sys.platform.startswith("linux"):
        if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
            return False
        if os.environ.get("SSH_CONNECTION"):
            return False
    try:
        return webbrowser.open(url)
    except (webbrowser.Error, OSError):
        return False
