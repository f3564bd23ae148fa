"""Checks for ``hookline doctor``: an admin exists, and the lists of people are valid."""

from __future__ import annotations

from hookline_hookspecs import CheckResult, Host

from .config import EVERYBODY, AccessConfig
from .people import People


async def admin_check(host: Host, people: People) -> CheckResult:
    """If a network channel is on, there is an admin."""
    network = [channel.name for channel in host.channels() if channel.network]
    if not network:
        return CheckResult(True, "no network channel is on")
    if await people.has_admin():
        return CheckResult(True, "there is an admin")
    return CheckResult(
        False,
        f"there is no admin to approve anything on {' and '.join(network)}",
        "send the claim code that hookline gateway prints (or hookline pairing claim), or set "
        "access.admins",
        hint=True,
    )


def lists_check(config: AccessConfig) -> CheckResult:
    """Every entry is valid; warns if everyone may write on a channel."""
    if config.faults:
        return CheckResult(False, "; ".join(config.faults), "correct it in config.yaml")
    open_to_all = [entry for entry in config.allow if entry.endswith(f":{EVERYBODY}")]
    if open_to_all:
        listed = ", ".join(open_to_all)
        return CheckResult(
            False,
            f"everyone who can reach the channel may write: {listed}",
            "name the people, unless the channel itself authenticates them",
            hint=True,
        )
    return CheckResult(True, "every entry names a person")
