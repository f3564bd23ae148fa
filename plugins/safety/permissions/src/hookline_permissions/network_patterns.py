"""Patterns of ``network(…)``: the hosts that sandboxed programs may reach."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from hookline_hookspecs.permissions import NETWORK

__all__ = ["NETWORK", "NetworkPattern", "host_and_port", "local_ports", "registries"]
REGISTRIES = "registries"
"""The group of hosts from which package managers download."""
LOCALHOST = "localhost"
_HOST = re.compile(
    r"(?P<host>(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?|\[[0-9a-f:.]+\])(?::(?P<port>\d{1,5}))?"
)
_MAX_PORT = 65_535


@dataclass(frozen=True, slots=True)
class NetworkPattern:
    """A host, ``*.host`` for all below it, or a group; with a ``port``, or 0 for every port."""

    host: str
    port: int = 0

    @classmethod
    def parse(cls, text: str) -> NetworkPattern:
        """Return the pattern. Raises ``ValueError`` with what to write instead."""
        found = _HOST.fullmatch(text.strip().lower())
        port = int(found["port"] or 0) if found else 0
        if found is None or port > _MAX_PORT:
            raise ValueError(
                "write a host, such as network(packages.example), network(*.packages.example), "
                "network(localhost:5432) or network(registries)."
            )
        host = found["host"].strip("[]").rstrip(".")
        if host in (LOCALHOST, "127.0.0.1", "::1"):
            if not port:
                raise ValueError("name the port: network(localhost:5432).")
            host = LOCALHOST
        return cls(host, port)

    @property
    def is_local(self) -> bool:
        """Whether it is about a port of this machine."""
        return self.host == LOCALHOST

    def matches(self, host: str, port: int, *, strictly: bool) -> bool:
        """True if a host and port fit. Unless ``strictly``, a host also stands for those below."""
        if self.port not in (0, port):
            return False
        if self.host == REGISTRIES:
            return host in registries()
        if self.host.startswith("*."):
            return host.endswith(self.host[1:])
        return host == self.host or (not strictly and host.endswith(f".{self.host}"))


@cache
def registries() -> frozenset[str]:
    """The hosts of the group ``registries``."""
    import yaml

    text = files(__package__).joinpath("data", "registries.yaml").read_text("utf-8")
    return frozenset(yaml.load(text, yaml.CSafeLoader)[REGISTRIES])


def host_and_port(arguments: Mapping[str, object]) -> tuple[str, int] | None:
    """The host and port that a call of ``network`` asks for; None if it names none."""
    host, port = arguments.get("host"), arguments.get("port")
    if not isinstance(host, str) or not host or not isinstance(port, int):
        return None
    return host.lower().rstrip("."), port


def local_ports(patterns: Iterable[NetworkPattern | None]) -> list[int]:
    """The ports of this machine that patterns name, in order."""
    return sorted({one.port for one in patterns if one is not None and one.is_local})
