"""Shows a login link: as a QR code in the terminal, or in a browser."""

from __future__ import annotations

import io
import os
import sys
import webbrowser


def qr_code(url: str) -> str:
    """Return a URL as a QR code in block characters; empty if the terminal cannot show them."""
    import segno

    shown = io.StringIO()
    segno.make(url, error="l", micro=False).terminal(out=shown, compact=True, border=2)
    try:
        shown.getvalue().encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return ""
    return shown.getvalue().rstrip("\n")


def open_browser(url: str) -> bool:
    """Open a browser. Return False if there is none with a window."""
    if sys.platform.startswith("linux"):
        if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
            return False
        if os.environ.get("SSH_CONNECTION"):
            return False
    try:
        return webbrowser.open(url)
    except (webbrowser.Error, OSError):
        return False
