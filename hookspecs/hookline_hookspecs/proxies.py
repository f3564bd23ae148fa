"""The proxies that the environment names (``HTTPS_PROXY`` and others)."""

from __future__ import annotations

import os
from urllib.parse import SplitResult, urlsplit


def proxy_fault(address: str) -> str:
    """Return what is wrong with a proxy's address in the environment; empty if nothing is.

    The sentence names the variable, and leaves out user and password. A program that reads the
    environment can send no request then, also to servers that are not asked through the proxy.

    Args:
        address: of the server; its scheme decides which proxy is used.
    """
    used = urlsplit(address).scheme or "https"
    for scheme in ("http", "https", "all"):
        for name in (f"{scheme}_proxy", f"{scheme}_proxy".upper()):
            text = os.environ.get(name, "").strip()
            if not text:
                continue
            if why := _fault(text, is_used=scheme in (used, "all")):
                shown = text.rpartition("@")[2][:100]
                return (
                    f"the environment variable {name} is not the address of a proxy ({shown!r}: "
                    f"{why}). Write it as http://HOST:PORT, or unset it"
                )
            break  # the name in small letters counts
    return ""


def _fault(text: str, *, is_used: bool) -> str:
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        return _part_fault(parts, parts.port, is_used=is_used)
    except ValueError:
        return "its host or port is not valid"


def _part_fault(parts: SplitResult, port: int | None, *, is_used: bool) -> str:
    socks = parts.scheme in ("socks5", "socks5h")
    if socks and is_used:
        return "SOCKS is not supported"
    if not socks and parts.scheme not in ("http", "https"):
        return f"the scheme {parts.scheme[:20]} is not supported"
    if not parts.hostname or any(char.isspace() for char in parts.netloc) or port == 0:
        return "its host or port is not valid"
    return "it has a path" if parts.path.strip("/") or parts.query else ""
