"""Secrets that go to hosts by themselves, as headers, without anybody naming them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hookline_hookspecs import Host, Refused
from hookline_hookspecs.caching import RowCache

from .envelope import Content

if TYPE_CHECKING:
    from .secrets import Secrets

PLACE = "{}"
HTTPS = 443
_HOST = re.compile(r"(?=.{1,253}(?::\d+)?\Z)[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::([0-9]{1,5}))?\Z")
_HEADER = re.compile(r"([A-Za-z0-9-]{1,64}): ?([!-~]([\t -~]*[!-~])?)\Z")


def content_for(value: str, host: str | None, header: str | None) -> Content:
    """Return what is kept of a value with a host and a header such as ``Authorization: Bearer {}``.

    Raises:
        Refused: only one of them is there, or one cannot be what it is said to be.
    """
    if host is None and header is None:
        return Content(value)
    if host is None or header is None:
        raise Refused(
            "--host and --header go together, as in --host api.example.com "
            "--header 'Authorization: Bearer {}'."
        )
    place = _HOST.match(host)
    if place is None or (place[1] and not 0 < int(place[1]) < 65536):
        raise Refused(
            f"{host[:80]!r} is no host; write a whole name in small letters, such as "
            "api.example.com, with a port if it is not 443. There is no wildcard."
        )
    if _HEADER.match(header) is None or header.count(PLACE) != 1:
        raise Refused(
            f"{header[:80]!r} is no header; write its name and where the value goes once, such as "
            "'Authorization: Bearer {}'."
        )
    if not value.isascii() or not value.isprintable() or value != value.strip():
        raise Refused("a header carries printable ASCII, without blanks around it.")
    return Content(value, (host,), header)


class HostHeaders:
    """Headers by host, for ``host.http``. What the table says is held in memory as long as nobody
    has written."""

    def __init__(self, host: Host, secrets: Secrets) -> None:
        self._secrets = secrets
        self._rows: RowCache[str, Mapping[str, list[str]]] = RowCache(host)

    async def any(self) -> bool:
        """Whether any secret goes to a host."""
        return bool(await self._named())

    async def headers(self, host: str, port: int) -> Mapping[str, str]:
        """Return the headers for a host. Raises ``Refused`` if a secret cannot be opened."""
        names = (await self._named()).get(f"{host}:{port}", ())
        found: dict[str, str] = {}
        for name in names:
            content = await self._secrets.sent(name)
            if f"{host}:{port}" in map(_whole, content.hosts):  # as sealed, not as the table shows
                header, _, template = content.header.partition(":")
                found[header] = template.strip().replace(PLACE, content.value)
        return found

    async def _named(self) -> Mapping[str, list[str]]:
        return await self._rows.get("hosts", self._read)

    async def _read(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = {}
        for entry in await self._secrets.entries():
            for one in entry.hosts:
                found.setdefault(_whole(one), []).append(entry.name)
        return found


def _whole(host: str) -> str:
    return host if ":" in host else f"{host}:{HTTPS}"
