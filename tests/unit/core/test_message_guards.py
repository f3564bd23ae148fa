"""Message guards (``on_message``): what they see, and what a refused message leaves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hookline.testing import Harness
from hookline_hookspecs import Context, Deny, Inbound, NoConfig, Plugin, hookimpl

Make = Callable[..., Any]


class Guard(Plugin[NoConfig]):
    """Refuses messages that ask for it, and records the session of each."""

    @hookimpl
    def setup(self, host: Any) -> None:
        self.seen: list[tuple[str, str, str, int]] = []

    @hookimpl
    def on_message(self, ctx: Context, inbound: Inbound) -> Deny | None:
        found = ctx.turn.inbound.text
        self.seen.append((inbound.text, ctx.session.id, found, len(ctx.history)))
        return Deny("No.") if inbound.text == "refuse" else None


async def test_guard_sees_the_session_that_its_chat_has(harness: Make) -> None:
    h = harness(Guard, model=["a", "b"])
    await h.aopen()
    await h.channel.say("one")
    await h.channel.replies(1)
    session = h.channel.sent[0].session.id
    await h.channel.say("two")
    await h.channel.replies(2)
    await h.channel.say("refuse")
    await h.channel.replies(3)
    seen = h.plugin(Guard).seen
    assert seen == [
        ("one", "", "one", 0),
        ("two", session, "two", 2),
        ("refuse", session, "refuse", 4),
    ]


async def test_guard_sees_the_stored_session_after_a_restart(tmp_path: Path) -> None:
    first = Harness(Guard, home=tmp_path, model=["a"])
    await first.aopen()
    await first.channel.say("one")
    await first.channel.replies(1)
    session = first.channel.sent[0].session.id
    await first.aclose()
    second = Harness(Guard, home=tmp_path)
    await second.aopen()
    await second.channel.say("refuse", message_id="later")
    await second.channel.replies(1)
    assert second.plugin(Guard).seen == [("refuse", session, "refuse", 2)]
    await second.aclose()


async def test_refused_message_creates_no_session(harness: Make) -> None:
    h = harness(Guard)
    await h.aopen()
    await h.channel.say("refuse")
    await h.channel.replies(1)
    assert h.channel.sent[0].text == "No."
    assert await h.plugin(Guard).host.sessions() == []
