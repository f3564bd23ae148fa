"""The gateway: channels start and stop, one gateway for each home, health."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hookline_gateway import Gateway
from hookline_gateway.health import read_health
from hookline_hookspecs import Access, GatewayService, Inbound, Plugin, Reply, hookimpl

Make = Callable[..., Any]
PATIENCE = 60
"""Seconds until a test gives up."""


class Pigeon:
    """A channel that records what it delivers."""

    name, edits, network = "pigeon", False, True

    def __init__(self) -> None:
        self.life: list[str] = []
        self.lost = asyncio.Event()
        self.delivered: asyncio.Queue[str] = asyncio.Queue()

    async def start(self) -> None:
        self.life.append("up")

    async def wait(self) -> None:
        await self.lost.wait()
        raise ConnectionError("the token was revoked")

    async def stop(self) -> None:
        self.life.append("down")

    async def send(self, reply: Reply) -> str | None:
        self.delivered.put_nowait(reply.text)
        return "1"


class Doorman(Plugin):
    """Decides who may write."""

    @hookimpl
    def setup(self, host: Any) -> None:
        host.services.provide(Access, self)

    def is_operator(self, inbound: Inbound) -> bool:
        return False


class Loft(Plugin):
    """Registers the channel, and records which channels are up."""

    @hookimpl
    def setup(self, host: Any) -> None:
        self.pigeon = Pigeon()
        self.heard: list[object] = []
        host.services.add(GatewayService, self)

    needs_no_channel = False
    runs_turns = False

    async def gateway_up(self, channels: Any) -> None:
        self.heard += [*channels, *self.pigeon.life]

    async def gateway_stopping(self) -> None:
        await asyncio.sleep(0.05)
        self.heard.append("stopping")

    @hookimpl
    def register_channels(self, register: Any) -> None:
        register(self.pigeon)


class Lame(Plugin):
    """Registers a channel that cannot start."""

    @hookimpl
    def register_channels(self, register: Any) -> None:
        class Broken(Pigeon):
            name = "broken"

            async def start(self) -> None:
                raise ConnectionError("the token is wrong")

        register(Broken())


Story = Callable[[Any], Awaitable[Any]]


def while_up(h: Any, capsys: Any, story: Story) -> Any:
    """The result of the story in a gateway that is ready, or None; and all output."""

    async def run(ended: asyncio.Event) -> None:
        with suppress(SystemExit):  # which must not end the loop
            await h.plugin(Gateway).serve(ended.wait)

    async def life() -> Any:
        await h.aopen()
        ended = asyncio.Event()
        task = asyncio.ensure_future(run(ended))
        said = ""
        async with asyncio.timeout(PATIENCE):
            while "ready\n" not in said and not task.done():
                await asyncio.sleep(0.01)
                said += capsys.readouterr().err
            found = await story(h) if not task.done() else None
            ended.set()
            await task
        return found, said + capsys.readouterr().err

    return h.run(life())


def state_of(h: Any) -> Any:
    """The content of ``gateway.state``."""
    return json.loads((h.home / "gateway.state").read_text())


def test_channels_run_until_the_gateway_stops(harness: Make, capsys: Any) -> None:
    async def story(h: Any) -> tuple[list[str], str]:
        await h.plugin(Gateway).host.receive(Inbound("pigeon", "7", "ann", "m1", "hi"))
        return list(h.plugin(Loft).pigeon.life), await h.plugin(Loft).pigeon.delivered.get()

    h = harness(Gateway, Loft, Doorman, model=["hello"])
    found, said = while_up(h, capsys, story)
    assert found == (["up"], "hello")
    assert h.plugin(Loft).pigeon.life == ["up", "down"]
    assert said.splitlines().count("ready") == 1
    assert state_of(h)["state"] == "stopped"


def test_plugins_are_told_when_channels_start_and_stop(harness: Make, capsys: Any) -> None:
    async def story(h: Any) -> list[object]:
        return list(h.plugin(Loft).heard)

    h = harness(Gateway, Loft, Doorman)
    found, _ = while_up(h, capsys, story)
    assert [name for name in found if name != "fake"] == ["pigeon", "up"]
    assert h.plugin(Loft).heard[-1] == "stopping"


class Nightly(Plugin):
    """Works in a gateway, with or without a channel."""

    needs_no_channel = True
    runs_turns = False

    @hookimpl
    def setup(self, host: Any) -> None:
        host.services.add(GatewayService, self)

    async def gateway_up(self, channels: Any) -> None:
        raise RuntimeError("the first night is always bad")

    async def gateway_stopping(self) -> None:
        raise RuntimeError("and so is the last")


def test_failed_background_work_does_not_stop_gateway(harness: Make, capsys: Any) -> None:
    async def story(h: Any) -> str:
        return "up"

    h = harness(Gateway, Nightly, Doorman, strict=False)
    assert while_up(h, capsys, story)[0] == "up"


def test_message_of_crashed_process_gets_reply_after_restart(
    harness: Make, tmp_path: Path, capsys: Any
) -> None:
    class Deaf(Plugin):
        """Dies while it works on a message."""

        @hookimpl
        async def on_message(self, ctx: Any, inbound: Inbound) -> None:
            await asyncio.Event().wait()

    first = harness(Gateway, Loft, Deaf, home=tmp_path, deadlines={"on_message": None})

    async def lost() -> None:
        await first.aopen()
        host = first.plugin(Gateway).host
        assert await host.receive(Inbound("pigeon", "7", "ann", "m1", "hi"))

    first.run(lost())
    first.close()

    async def found(h: Any) -> str:
        answer: str = await h.plugin(Loft).pigeon.delivered.get()
        return answer

    second = harness(Gateway, Loft, Doorman, home=tmp_path, model=["found"])
    assert while_up(second, capsys, found)[0] == "found"


def test_second_gateway_on_one_home_is_refused(harness: Make, capsys: Any) -> None:
    async def story(h: Any) -> int:
        with pytest.raises(SystemExit) as end:
            await h.plugin(Gateway).serve(asyncio.Event().wait)
        assert "another gateway is running" in capsys.readouterr().err
        return int(str(end.value.code))

    assert while_up(harness(Gateway, Loft, Doorman), capsys, story)[0] == 1


def test_home_stays_locked_until_plugins_are_torn_down(
    harness: Make, tmp_path: Path, capsys: Any
) -> None:
    async def nothing(h: Any) -> None:
        return None

    h = harness(Gateway, Loft, Doorman, home=tmp_path)
    while_up(h, capsys, nothing)  # drained, but work may still be under way
    _, said = while_up(harness(Gateway, Loft, Doorman, home=tmp_path), capsys, nothing)
    assert "another gateway is running" in said
    h.close()
    _, said = while_up(harness(Gateway, Loft, Doorman, home=tmp_path), capsys, nothing)
    assert "ready\n" in said


def test_channel_that_cannot_start_stops_gateway(harness: Make, capsys: Any) -> None:
    h = harness(Gateway, Loft, Lame, Doorman)

    async def run() -> None:
        await h.aopen()
        await h.plugin(Gateway).serve(asyncio.Event().wait)

    with pytest.raises(SystemExit) as end:
        h.run(run())
    assert end.value.code == 1
    assert "broken cannot start: the token is wrong" in capsys.readouterr().err
    assert h.plugin(Loft).pigeon.life == ["up", "down"]


def test_channel_that_ends_later_is_reported_in_log_and_state(harness: Make, capsys: Any) -> None:
    async def story(h: Any) -> Any:
        h.plugin(Loft).pigeon.lost.set()
        while state_of(h)["channels"]["pigeon"]["state"] != "ended":
            await asyncio.sleep(0.01)
        return state_of(h)["channels"]["pigeon"]

    found, said = while_up(harness(Gateway, Loft, Doorman), capsys, story)
    assert found["reason"] == "the token was revoked"
    assert "channel pigeon has ended: the token was revoked" in said


class Quarry(Plugin):
    """Registers a channel whose ``wait`` does not notice that its listener has ended."""

    @hookimpl
    def setup(self, host: Any) -> None:
        self.end = asyncio.Event()
        self.failure: Exception | None = None

    @hookimpl
    def register_channels(self, register: Any) -> None:
        plugin = self

        class Deaf(Pigeon):
            name = "quarry"

            async def start(self) -> None:
                plugin.host.spawn(asyncio.sleep(0), "greet")
                plugin.task = plugin.host.spawn(plugin.listen(), "listen")

            async def wait(self) -> None:
                await asyncio.Event().wait()

        register(Deaf())

    async def listen(self) -> None:
        await self.end.wait()
        if self.failure is not None:
            raise self.failure


def killed(plugin: Quarry) -> None:
    plugin.task.cancel()


def failed(plugin: Quarry) -> None:
    plugin.failure = ConnectionError("the rock fell")
    plugin.end.set()


def returned(plugin: Quarry) -> None:
    plugin.end.set()


@pytest.mark.parametrize(
    ("act", "why"),
    [
        (killed, "its background work quarry:greet, quarry:listen has ended"),
        (failed, "its background work quarry:listen failed: the rock fell"),
        (returned, "its background work quarry:greet, quarry:listen has ended"),
    ],
)
def test_health_reports_a_dead_listener(
    harness: Make, capsys: Any, act: Callable[[Quarry], None], why: str
) -> None:
    async def story(h: Any) -> Any:
        assert "quarry" not in (read_health(h.home)[0] or "")
        act(h.plugin(Quarry))
        async with asyncio.timeout(PATIENCE):
            while "quarry" not in (read_health(h.home)[0] or ""):
                await asyncio.sleep(0.01)
        return read_health(h.home)

    (fault, found), said = while_up(harness(Gateway, Quarry, Doorman, strict=False), capsys, story)
    assert fault.startswith("The gateway lost quarry, fake. ")  # the kit's own ends at once
    assert found["channels"]["quarry"]["reason"] == why
    assert f"channel quarry has ended: {why}" in said


class Early(Plugin):
    """Registers a channel that receives before the others are up."""

    @hookimpl
    def register_channels(self, register: Any) -> None:
        host = self.host

        class Quick(Pigeon):
            name = "quick"

            async def start(self) -> None:
                await host.receive(Inbound("pigeon", "7", "ann", "m1", "hi"))

        register(Quick())


def test_message_received_while_starting_gets_one_reply(harness: Make, capsys: Any) -> None:
    async def story(h: Any) -> list[str]:
        pigeon = h.plugin(Loft).pigeon
        await h.plugin(Gateway).host.receive(Inbound("pigeon", "7", "ann", "m2", "and?"))
        return [await pigeon.delivered.get(), await pigeon.delivered.get()]

    h = harness(Gateway, Loft, Early, Doorman, model=["first", "second"])
    assert while_up(h, capsys, story)[0] == ["first", "second"]
    assert len(h.model.requests) == 2
