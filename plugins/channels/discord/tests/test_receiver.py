"""Events are read, also those that are not as documented."""

from __future__ import annotations

from typing import Any

import pytest
from hookline_channelkit import InboundEvent
from hookline_channelkit.testing import malformed
from hookline_discord import DiscordConfig
from hookline_discord.receiver import DiscordReceiver
from hypothesis import given
from hypothesis import strategies as st

from .discord_rest import Rest
from .discord_world import BOT_ID, World

NEEDED = {"id", "channel_id", "content", "author", "author.id"}
"""Fields of a message without which nothing can be said of it."""


class Nobody:
    def tell(self, event: str, data: Any, room: Any = None) -> None:
        """Nobody listens."""


def reader() -> DiscordReceiver:
    made = DiscordReceiver(DiscordConfig())
    made.me = str(BOT_ID)
    return made


@pytest.mark.slow
@given(st.integers(), st.text(max_size=50))
def test_message_with_odd_or_missing_field_is_still_read(seed: int, text: str) -> None:
    world = World()
    room = world.dm_of(7)
    rest = Rest(world, Nobody())
    file = rest.person_attachment(room, "a.txt", b"x", flags=0)
    data = world.json(world.add(room, 7, f"x{text}", files=[file]))
    event = malformed(seed, data, lambda path: path not in NEEDED and "attachments" not in path)
    one = reader()
    found = one.message(event, one.chat_of(event))
    assert isinstance(found, InboundEvent)
    assert found.inbound.text.startswith("x")
    assert (found.inbound.chat_id, found.inbound.user_id) == ("7", "7")
    assert (found.cursor, len(found.files)) == (data["id"], 1)


@pytest.mark.parametrize("junk", [{}, {"id": "1"}, {"channel_id": "1"}, {"channel_id": None}])
def test_invalid_event_is_refused(junk: dict[str, Any]) -> None:
    one = reader()
    with pytest.raises((KeyError, TypeError, AttributeError)):
        one.message(junk, one.chat_of(junk))
