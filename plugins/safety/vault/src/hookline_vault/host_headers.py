"""Headers with secrets that are added to every request to certain hosts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hookline_hookspecs import Host, Refused
from hookline_hookspecs.caching import RowCache

from .envelope import SecretContent

if TYPE_CHECKING:
    from .secret_store import SecretStore

VALUE_PLACEHOLDER = "{}"
HTTPS_PORT = 443
_HOST = re.compile(r"(?=.{1,253}(?::\d+)?\Z)[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::([0-9]{1,5}))?\Z")
_HEADER = re.compile(r"([A-Za-z0-9-]{1,64}): ?([!-~]([\t -~]*[!-~])?)\Z")


def content_for(value: str, host: str | None, header: str | None) -> SecretContent:
    """Return the content to store for a value, a host and a header ``Authorization: Bearer {}``.

    Raises:
        Refused: host or header is missing or invalid.
    """
    if host is None and header is None:
        return SecretContent(value)
    if host is None or header is None:
        raise Refused(
            "--host and --header go together, as in --host api.example.com "
            "--header 'Authorization: Bearer {}'."
        )
    match = _HOST.match(host)
    if match is None or (match[1] and not 0 < int(match[1]) < 65536):
        raise Refused(
            f"invalid host {host[:80]!r}: write the full name in lower case, such as "
            "api.example.com, with a port if it is not 443. Wildcards are not supported."
        )
    if _HEADER.match(header) is None or header.count(VALUE_PLACEHOLDER) != 1:
        raise Refused(
            f"invalid header {header[:80]!r}: write its name and one {{}} for the value, as in "
            "'Authorization: Bearer {}'."
        )
    if not value.isascii() or not value.isprintable() or value != value.strip():
        raise Refused(
            "the value does not fit into a header: only printable ASCII, no spaces at its ends."
        )
    return SecretContent(value, (host,), header)


class HostHeaders:
    """The headers to add by host, for ``host.http``. The table is cached until it changes."""

    def __init__(self, host: Host, secrets: SecretStore) -> None:
        self._secrets = secrets
        self._rows: RowCache[str, Mapping[str, list[str]]] = RowCache(host)

    async def has_hosts(self) -> bool:
        """Whether any secret has a host."""
        return bool(await self._names_by_host())

    async def headers(self, host: str, port: int) -> Mapping[str, str]:
        """Return the headers for a host. Raises ``Refused`` if a secret cannot be decrypted."""
        names = (await self._names_by_host()).get(f"{host}:{port}", ())
        headers: dict[str, str] = {}
        for name in names:
            content = await self._secrets.use_for_host(name)
            if f"{host}:{port}" in map(
                _with_port, content.hosts
            ):  # as encrypted, not as in the table
                header, _, template = content.header.partition(":")
                headers[header] = template.strip().replace(VALUE_PLACEHOLDER, content.value)
        return headers

    async def _names_by_host(self) -> Mapping[str, list[str]]:
        return await self._rows.get("hosts", self._read)

    async def _read(self) -> Mapping[str, list[str]]:
        names: dict[str, list[str]] = {}
        for entry in await self._secrets.entries():
            for host in entry.hosts:
                names.setdefault(_with_port(host), []).append(entry.name)
        return names


def _with_port(host: str) -> str:
    return host if ":" in host else f"{host}:{HTTPS_PORT}"
