"""Plugins that flood signals or whose receivers fail: the turn ends, other receivers work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hookline_hookspecs import Plugin, hookimpl
from hookline_hookspecs.plugin import NoConfig
from support.healthy_plugin import collect_failures, healthy_plugin_works, make_harness

Make = Callable[..., Any]
MANY = 100_000


class Listens(Plugin[NoConfig]):
    """A neighbour that counts what it hears."""

    heard: list[Any]

    @hookimpl
    def setup(self, host: Any) -> None:
        self.heard = []
        host.signals.connect("budget", lambda event, ctx: self.heard.append(event))
        host.signals.connect("end_of_turn", lambda event, ctx: self.heard.append("end"))


def received(h: Any) -> list[Any]:
    found: list[Any] = h.plugin(Listens).heard
    return found


def warnings(caplog: Any) -> list[str]:
    """What the log warns of."""
    return [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]


@pytest.mark.slow
def test_hook_that_sends_100000_signals_is_survived(harness: Make) -> None:
    class Bad(Plugin[NoConfig]):
        @hookimpl
        def start_of_turn(self) -> None:
            for number in range(MANY):
                self.host.signals.send("budget", number)

    h = make_harness(harness, Bad, Listens)
    assert h.send("go").text == "well"
    assert received(h) == [*range(MANY), "end"]


@pytest.mark.slow
def test_async_receiver_of_10000_signals_is_survived(harness: Make) -> None:
    count: list[int] = []

    class Bad(Plugin[NoConfig]):
        @hookimpl
        def setup(self, host: Any) -> None:
            host.signals.connect("budget", self.hear)

        async def hear(self, event: Any, ctx: Any) -> None:
            await asyncio.sleep(3600)
            count.append(event)

        @hookimpl
        def start_of_turn(self) -> None:
            for number in range(10_000):
                self.host.signals.send("budget", number)

    async def talk() -> Any:
        before = len(asyncio.all_tasks())
        outcome = await h.asend("go")
        await h.aclose()
        return outcome, len(asyncio.all_tasks()) - before

    h = make_harness(harness, Bad)
    outcome, lasting = h.run(talk())
    assert outcome.text == "well"
    assert lasting == 0
    assert count == []


@pytest.mark.parametrize("receivers", [1, 2, 3])
def test_receivers_that_resend_their_signal_are_stopped(
    harness: Make, caplog: Any, receivers: int
) -> None:
    rounds: list[int] = []

    class Bad(Plugin[NoConfig]):
        @hookimpl
        def setup(self, host: Any) -> None:
            for _ in range(receivers):
                host.signals.connect("budget", lambda event, ctx: self.again(event))

        def again(self, event: Any) -> None:
            rounds.append(1)
            if len(rounds) > MANY // 10:
                raise SystemExit("nobody ends it")
            self.host.signals.send("budget", event)

        @hookimpl
        def start_of_turn(self) -> None:
            self.host.signals.send("budget", 7)

    h = make_harness(harness, Bad, Listens)
    assert h.send("go").text == "well"
    assert received(h)[-1] == "end"
    assert 7 in received(h)
    assert len(rounds) <= MANY // 10
    assert any("bad" in line and "budget" in line for line in warnings(caplog))
    assert healthy_plugin_works(h)


def test_failing_receiver_of_plugin_failed_is_survived(harness: Make, caplog: Any) -> None:
    class Bad(Plugin[NoConfig]):
        @hookimpl
        def setup(self, host: Any) -> None:
            host.signals.connect("plugin_failed", self.hear)

        def hear(self, event: Any, ctx: Any) -> None:
            raise ValueError("and again")

        @hookimpl
        def start_of_turn(self) -> None:
            raise ValueError("the first")

    h = make_harness(harness, Bad)
    failures = collect_failures(h)
    assert h.send("go").text == "well"
    assert [failure.plugin for failure in failures] == ["bad"]


class Odd(BaseException):
    """What is no ``Exception``."""


FAULTS = {
    "ValueError": ValueError("the moon"),
    "SystemExit": SystemExit("the moon"),
    "a BaseException": Odd("the moon"),
    "CancelledError": asyncio.CancelledError("the moon"),
    "GeneratorExit": GeneratorExit("the moon"),
}


@pytest.mark.parametrize("asynchronous", [False, True], ids=["def", "async"])
@pytest.mark.parametrize("fault", FAULTS)
def test_signal_receiver_that_raises_is_named(
    harness: Make, caplog: Any, fault: str, asynchronous: bool
) -> None:
    class Bad(Plugin[NoConfig]):
        @hookimpl
        def setup(self, host: Any) -> None:
            host.signals.connect("start_of_turn", self.later if asynchronous else self.hear)

        def hear(self, event: Any, ctx: Any) -> None:
            raise FAULTS[fault]

        async def later(self, event: Any, ctx: Any) -> None:
            raise FAULTS[fault]

    h = make_harness(harness, Bad, Listens)
    assert h.send("go").text == "well"
    assert received(h) == ["end"]
    (line,) = [line for line in warnings(caplog) if "receiver" in line]
    assert "bad" in line
    assert "start_of_turn" in line
    assert healthy_plugin_works(h)


RECEIVERS: dict[str, Any] = {
    "takes nothing": lambda: None,
    "takes too much": lambda event, ctx, more: None,
    "is no function": 7,
    "answers with an exception": lambda event, ctx: ValueError(),
}


@pytest.mark.parametrize("receiver", RECEIVERS.values(), ids=RECEIVERS)
def test_invalid_signal_receiver_is_survived(harness: Make, receiver: Any) -> None:
    class Bad(Plugin[NoConfig]):
        @hookimpl
        def setup(self, host: Any) -> None:
            host.signals.connect("start_of_turn", receiver)

    h = make_harness(harness, Bad, Listens)
    assert h.send("go").text == "well"
    assert received(h) == ["end"]


def test_signal_with_a_wrong_event_is_survived(harness: Make) -> None:
    class Bad(Plugin[NoConfig]):
        @hookimpl
        def start_of_turn(self) -> None:
            for name in ("notice", "delta", "plugin_failed", "end_of_turn", "", "no such signal"):
                self.host.signals.send(name, object())

    h = make_harness(harness, Bad, Listens)
    assert h.send("go").text == "well"
    assert healthy_plugin_works(h)


def test_signal_receiver_of_a_failed_plugin_is_disconnected(harness: Make) -> None:
    beats: list[str] = []

    class Bad(Plugin[NoConfig]):
        @hookimpl
        def setup(self, host: Any) -> None:
            host.signals.connect("start_of_turn", lambda event, ctx: beats.append("heard"))
            raise ValueError("half way")

    h = make_harness(harness, Bad)
    assert healthy_plugin_works(h)
    assert beats == []


NOTICES: dict[str, Any] = {
    "huge": "moon " * 2_000_000,
    "no text": 7,
    "lone surrogates": "\ud83d \udc00",
    "nothing": None,
    "control characters": "\x1b[2J\x00\u2028",
}


@pytest.mark.parametrize("text", NOTICES.values(), ids=NOTICES)
def test_odd_notices_are_shown_as_text(harness: Make, text: Any) -> None:
    class Bad(Plugin[NoConfig]):
        @hookimpl
        def pre_prompt(self, ctx: Any) -> None:
            ctx.notify(text)

    h = make_harness(harness, Bad)
    outcome = h.send("go")
    assert outcome.text == "well"
    assert [notice.plugin for notice in outcome.notices if notice.plugin == "bad"] == ["bad"]
