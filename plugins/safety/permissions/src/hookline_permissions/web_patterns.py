"""Patterns of web addresses: ``domain:HOST``, or an address with ``*``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

_HOST = re.compile(r"(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?(?::\d+)?|\[[0-9a-f:.]+\]", re.I)


@dataclass(frozen=True, slots=True)
class WebPattern:
    """``domain:example.com`` is that host; ``domain:*.example.com`` all below it. In an address
    ``*`` stands for any characters, in the host's part for none that end it."""

    host: str
    address: str = ""

    @classmethod
    def parse(cls, text: str) -> WebPattern:
        """Raises ``ValueError`` with what to write instead."""
        if text.startswith("domain:"):
            host = text.removeprefix("domain:").strip().lower()
            if not _HOST.fullmatch(host):
                raise ValueError("write a host after domain:, such as domain:docs.python.org.")
            return cls(host.rstrip("."))
        scheme, _, rest = text.partition("://")
        host, slash, path = rest.partition("/")
        if not host or "@" in host:
            raise ValueError("write an address with a host, such as https://example.com/*.")
        return cls("", f"{scheme}://{host.lower()}{slash}{path}")

    def matches(self, url: str, *, strictly: bool) -> bool:
        """True if an address fits. Unless ``strictly``, a host also stands for those below it."""
        try:
            parts = urlsplit(url.strip())
            host, port = (parts.hostname or "").rstrip("."), parts.port
        except ValueError:
            return False
        if self.host:
            wanted, _, wanted_port = self.host.partition(":")
            if wanted_port and wanted_port != str(port or ""):
                return False
            if wanted.startswith("*."):
                return host.endswith(wanted[1:])
            return host == wanted or (not strictly and host.endswith(f".{wanted}"))
        if "@" in parts.netloc:
            return False
        netloc = parts.netloc.lower().rstrip(".")
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        scheme, _, rest = self.address.partition("://")
        wanted_host, _, wanted_path = rest.partition("/")
        return (
            _fits(scheme, parts.scheme.lower(), ".")
            and _fits(wanted_host, netloc, "[^/?#@]")
            and (not wanted_path or _fits(f"/{wanted_path}", path, "."))
            and (bool(wanted_path) or path == "/" or not strictly)
        )


def _fits(pattern: str, text: str, any_character: str) -> bool:
    regex = re.escape(pattern).replace(r"\*", f"{any_character}*")
    return re.fullmatch(regex, text, re.S) is not None
