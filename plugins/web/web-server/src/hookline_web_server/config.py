"""The settings of the web server and their validation."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from urllib.parse import urlsplit

from hookline_webkit.address import Address, is_loopback, parse_address
from pydantic import BaseModel, Field, field_validator

WILDCARDS = ("0.0.0.0", "::")  # noqa: S104 - checked in startup_error


class TlsConfig(BaseModel):
    """A TLS certificate."""

    cert: Path = Field(description="Certificate chain, as a PEM file.")
    key: Path = Field(description="Private key, as a PEM file.")


class WebServerConfig(BaseModel):
    """Where to listen, and the names of the server."""

    listen: str = Field(
        default="127.0.0.1:8780", title="Listen address", description="host:port to listen on."
    )
    public_url: str | None = Field(
        default=None,
        title="Public address",
        description=(
            "The address people open, if it is not http://LISTEN, such as https://example.org "
            "behind a proxy."
        ),
    )
    hosts: list[str] = Field(
        default=[],
        title="Additional host names",
        description="More host names to accept, with or without a port.",
    )
    trusted_proxies: list[str] = Field(
        default=[],
        title="Trusted proxies",
        description="Addresses or networks of proxies whose X-Forwarded-For and "
        "X-Forwarded-Proto are trusted.",
    )
    tls: TlsConfig | None = Field(
        default=None, title="HTTPS certificate", description="Serve HTTPS without a proxy."
    )
    insecure_http: bool = Field(
        default=False,
        title="Allow unencrypted connections",
        description="Let other machines connect without encryption.",
    )

    @field_validator("listen")
    @classmethod
    def _validate_listen(cls, listen: str) -> str:
        parse_address(listen)
        return listen

    @field_validator("public_url")
    @classmethod
    def _validate_public_url(cls, url: str | None) -> str | None:
        if url is None:
            return None
        parts = urlsplit(url)
        extra = parts.path.strip("/") or parts.query or parts.fragment or parts.username
        if parts.scheme not in ("http", "https") or not parts.hostname or extra:
            raise ValueError("expected a scheme and a host only, such as https://example.org")
        return f"{parts.scheme}://{parts.netloc}".lower()

    @field_validator("hosts")
    @classmethod
    def _validate_hosts(cls, hosts: list[str]) -> list[str]:
        for host in hosts:
            if not host or "/" in host or "*" in host or host != host.strip():
                raise ValueError(f"{host!r} is not a host name; write one such as example.org")
        return [host.lower() for host in hosts]

    @field_validator("trusted_proxies")
    @classmethod
    def _validate_networks(cls, networks: list[str]) -> list[str]:
        for network in networks:
            try:
                ipaddress.ip_network(network, strict=False)
            except ValueError:
                raise ValueError(f"{network!r} is not an IP address or network") from None
        return networks

    @property
    def address(self) -> Address:
        """The address to listen on."""
        return parse_address(self.listen)

    @property
    def is_https(self) -> bool:
        """True if people reach the server over HTTPS, according to the config."""
        return self.tls is not None or (self.public_url or "").startswith("https:")

    def url(self, port: int | None = None) -> str:
        """Return the URL to open, without a trailing slash.

        Args:
            port: the actual port, if ``listen`` has port 0.
        """
        if self.public_url is not None:
            return self.public_url
        address = self.address
        host = (self.hosts or ["127.0.0.1"])[0] if address.host in WILDCARDS else address.host
        where = Address(host, port or address.port) if ":" not in host or "::" in host else host
        return f"{'https' if self.tls else 'http'}://{where}"

    def startup_error(self) -> str | None:
        """Return why the server must not start, or None."""
        if is_loopback(self.address.host) or self.is_https or self.insecure_http:
            return None
        return (
            f"other machines could reach web-server.listen ({self.listen}) without encryption: "
            "listen on 127.0.0.1 behind a proxy and set public_url: https://…, or set "
            "tls: {cert: …, key: …}, or allow it with insecure_http: true"
        )
