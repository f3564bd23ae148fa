"""Discord's constants (``facts.json``), and conversions of its ids.

``permissions`` are the bits of what the bot needs (discord.com/developers/docs/topics/permissions);
``fatal`` the gateway's close codes after which reconnecting is useless, ``denied`` the error codes
of missing permissions, ``errors`` other error codes (…/topics/opcodes-and-status-codes): for a
message that does not exist, is too old or is not the bot's, and for an archived thread.
"""

from __future__ import annotations

from hookline_channelkit import Credential, package_data

FACTS = package_data(__package__)
TOKEN = Credential(**FACTS["token"])
FATAL = {**FACTS["fatal"], "4004": TOKEN.rejected("Discord")}
EPOCH = 1_420_070_400_000
"""Milliseconds at which ids begin (discord.com/developers/docs/reference#snowflakes)."""


def time_of(id_: str) -> float:
    """Return when an id was made, as Unix time."""
    return ((int(id_) >> 22) + EPOCH) / 1000


def first_id(at: float) -> int:
    """Return the smallest id of a Unix time."""
    return max(0, int(at * 1000) - EPOCH) << 22


def invitation(application: str) -> str:
    """Return the link that adds the bot to a server, with the permissions that it needs."""
    needed = sum(1 << bit for bit in FACTS["permissions"].values())
    query = f"client_id={application}&scope=bot%20applications.commands&permissions={needed}"
    return f"https://discord.com/oauth2/authorize?{query}"
