"""What Discord's documents say, as data (``facts.json``), and ids.

``permissions`` are the bits of what the bot needs (discord.com/developers/docs/topics/permissions);
``fatal`` the close codes of the gateway that no repetition mends, ``denied`` the codes of a missing
permission, ``errors`` other codes of refusals (…/topics/opcodes-and-status-codes): a message that
is not there, is too old, or is not the bot's to change; a thread that is archived.
"""

from __future__ import annotations

from hookline_channelkit import Credential, package_data

FACTS = package_data(__package__)
TOKEN = Credential(**FACTS["token"])
FATAL = {**FACTS["fatal"], "4004": TOKEN.rejected("Discord")}
EPOCH = 1_420_070_400_000
"""Milliseconds at which ids begin (discord.com/developers/docs/reference#snowflakes)."""


def time_of(id_: str) -> float:
    """When an id was made, Unix time."""
    return ((int(id_) >> 22) + EPOCH) / 1000


def first_id(at: float) -> int:
    """The smallest id of a Unix time."""
    return max(0, int(at * 1000) - EPOCH) << 22


def invitation(application: str) -> str:
    """Where somebody who manages a server lets the bot in, with the permissions that it needs."""
    wanted = sum(1 << bit for bit in FACTS["permissions"].values())
    query = f"client_id={application}&scope=bot%20applications.commands&permissions={wanted}"
    return f"https://discord.com/oauth2/authorize?{query}"
