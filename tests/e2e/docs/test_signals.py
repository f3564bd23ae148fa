"""Signals carry the values that the reference documents."""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hookline.testing import Clock, Harness
from hookline_hookspecs import (
    HOOKS,
    SIGNALS,
    Context,
    Deny,
    Host,
    Inbound,
    Message,
    Plugin,
    Rewrite,
    Turn,
    command,
    hookimpl,
)
from meta.tree import ROOT

MakeHarness = Callable[..., Harness]
NEVER_SENT = {"budget", "remote_turn", "resumed", "undone"}
"""Those of plugins."""


@pytest.fixture
def documented() -> Iterator[dict[str, Any]]:
    """What the reference says of each signal."""
    folder = str(ROOT / "docs" / "_gen")
    sys.path.insert(0, folder)
    try:
        yield importlib.import_module("signal_reference").SIGNAL_EVENTS
    finally:
        sys.path.remove(folder)


class Ear(Plugin):
    """Hears every signal, and does what makes core send the rarer ones."""

    @hookimpl
    def setup(self, host: Host) -> None:
        self.heard: list[tuple[str, str, bool]] = []
        for name in (*SIGNALS, *HOOKS):
            host.signals.connect(name, self._receiver(name))

    def _receiver(self, name: str) -> Callable[..., None]:
        def hear(event: object, ctx: Context | None = None) -> None:
            self.heard.append((name, type(event).__name__, ctx is not None))

        return hear

    @hookimpl
    def start_of_turn(self, ctx: Context, turn: Turn) -> None:
        ctx.notify("it begins")
        raise RuntimeError("for the signal plugin_failed")

    @command("/shorten")
    async def shorten(self, ctx: Context, args: str) -> str:
        """Make one message of the first two."""
        history = await ctx.rewrite([Rewrite(0, 2, (Message.user("before"),))])
        return f"{len(history)} left"

    @hookimpl
    def on_message(self, ctx: Context, inbound: Inbound) -> Deny | None:
        return Deny("not that") if inbound.text == "that" else None


async def conversation(h: Harness, clock: Clock) -> None:
    for number, text in enumerate(("hello", "hello again", "/shorten"), 1):
        await h.channel.say(text)
        await h.channel.replies(number)
    async with asyncio.timeout(10):
        while sum(name == "settled" for name, *_ in h.plugin(Ear).heard) < 3:
            await asyncio.sleep(0.01)
        h.channel.fail = 2
        await h.channel.say("that")
        for signal in ("reply_delayed", "reply_failed"):
            while signal not in [name for name, *_ in h.plugin(Ear).heard]:
                await asyncio.sleep(0.01)
            clock.ahead(25 * 3600)


@pytest.mark.slow
def test_signals_carry_what_the_reference_says(
    harness: MakeHarness, documented: dict[str, Any], clock: Clock
) -> None:
    h = harness(Ear, model=["one", "two"], strict=False)
    h.channel.fail = 0
    h.run(conversation(h, clock))
    heard = {name: (event, ctx) for name, event, ctx in reversed(h.plugin(Ear).heard)}
    assert set(SIGNALS) - set(heard) == NEVER_SENT
    assert documented.keys() == set(SIGNALS)
    for name in set(SIGNALS) - NEVER_SENT:
        event, ctx = heard[name]
        assert documented[name].event == event, name
        assert documented[name].ctx.startswith("the turn's" if ctx else "None"), name


def test_boot_hooks_send_no_signal(harness: MakeHarness) -> None:
    h = harness(Ear, model=["one"], strict=False)
    h.send("hello")
    boot = {name for name in HOOKS if name in ("setup", "teardown") or HOOKS[name].sync}
    assert not boot & {name for name, *_ in h.plugin(Ear).heard}
