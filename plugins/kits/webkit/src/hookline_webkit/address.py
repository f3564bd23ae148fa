"""Addresses to listen on: ``host:port``."""

from __future__ import annotations

import ipaddress
from typing import NamedTuple


class Address(NamedTuple):
    """A host and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(listen: str) -> Address:
    """Parse ``host:port``, with an IPv6 host in brackets. Raises ``ValueError``."""
    host, colon, port = listen.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    host = host[1:-1] if bracketed else host
    if not colon or not host or (":" in host and not bracketed):
        raise ValueError("write host:port, such as 127.0.0.1:8765 or [::1]:8765")
    if not (port.isascii() and port.isdecimal() and int(port) <= 65535):
        raise ValueError(f"{port!r} is not a port; write a number up to 65535")
    return Address(host, int(port))


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach ``host``."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
