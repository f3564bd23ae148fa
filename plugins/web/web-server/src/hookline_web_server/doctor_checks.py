"""Checks for ``hookline doctor``: port, address, public URL and access control."""

from __future__ import annotations

import errno
import os
import socket

from hookline_hookspecs import Access, CheckResult, Host
from hookline_webkit.address import is_loopback

from .config import WebServerConfig
from .gateway_lookup import find_running_url


async def port_check(config: WebServerConfig, host: Host) -> CheckResult:
    """Check that the address is free, or used by this home's own gateway."""
    address = config.address
    if (url := await find_running_url(host)) is not None:
        return CheckResult(True, f"the gateway is serving {url}")
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        socket.create_server(address, family=family).close()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            detail = f"another program is listening on {address}"
            fix = f"stop it, or set web-server.listen: {address.host}:PORT"
            return CheckResult(False, detail, fix)
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else error
        detail = f"cannot listen on {address}: {why}"
        return CheckResult(False, detail, "set web-server.listen to an address of this machine")
    return CheckResult(True, f"{address} is free")


def address_check(config: WebServerConfig) -> CheckResult:
    """Check that other machines cannot reach the server without encryption."""
    fault = config.startup_error()
    if fault is not None:
        what, _, fix = fault.partition(": ")
        return CheckResult(False, what, fix)
    if is_loopback(config.address.host):
        return CheckResult(True, f"only this machine can reach {config.listen}")
    if config.is_https:
        return CheckResult(True, f"{config.listen} is reached over HTTPS")
    return CheckResult(
        False,
        f"other machines reach {config.listen} without encryption (insecure_http is true)",
        "set tls, or public_url: https://… behind a proxy",
        hint=True,
    )


def name_check(config: WebServerConfig) -> CheckResult:
    """Check that ``public_url`` and ``trusted_proxies`` fit together."""
    if config.public_url is None:
        if config.trusted_proxies:
            return CheckResult(
                False,
                "trusted_proxies is set without public_url, so links bypass the proxy",
                "set web-server.public_url to the URL that people open",
            )
        return CheckResult(True, f"people open {config.url()}")
    if not config.trusted_proxies and config.tls is None:
        return CheckResult(
            False,
            f"people open {config.public_url}; without trusted_proxies they all share the "
            "limit of five logins per minute",
            "set web-server.trusted_proxies to the proxy's address, such as [127.0.0.1]",
            hint=True,
        )
    return CheckResult(True, f"people open {config.public_url}")


def access_check(host: Host) -> CheckResult:
    """Check that a plugin decides who is allowed in."""
    if host.services.get(Access) is not None:
        return CheckResult(True, "a plugin decides who is allowed in")
    return CheckResult(
        False,
        "no plugin decides who is allowed in; anyone with a login link stays in for 30 days",
        "Run `hookline plugins enable access`.",
        hint=True,
    )
