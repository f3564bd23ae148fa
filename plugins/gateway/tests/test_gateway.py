"""The gateway around a network channel: up, one for each home, drained."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline_gateway import Gateway
from hookline_gateway.serve import serve
from hookline_hookspecs import Inbound, Plugin, Reply, hookimpl

Make = Callable[..., Any]


class Pigeon:
    """A channel that keeps what it delivers."""

    name, edits, network = "pigeon", False, True

    def __init__(self) -> None:
        self.life: list[str] = []
        self.delivered: asyncio.Queue[str] = asyncio.Queue()

    async def start(self) -> None:
        self.life.append("up")

    async def wait(self) -> None:
        await asyncio.Event().wait()

    async def stop(self) -> None:
        self.life.append("down")

    async def send(self, reply: Reply) -> str | None:
        self.delivered.put_nowait(reply.text)
        return "1"


class Loft(Plugin):
    """Brings the channel."""

    @hookimpl
    def setup(self, host: Any) -> None:
        self.pigeon = Pigeon()

    @hookimpl
    def register_channels(self, register: Any) -> None:
        register(self.pigeon)


class Lame(Plugin):
    """Brings a channel that cannot start."""

    @hookimpl
    def register_channels(self, register: Any) -> None:
        class Broken(Pigeon):
            name = "broken"

            async def start(self) -> None:
                raise ConnectionError("the token is wrong")

        register(Broken())


def test_channels_are_up_until_the_end(harness: Make, capsys: Any) -> None:
    h = harness(Gateway, Loft, model=["hello"])

    async def life() -> tuple[list[str], str, list[str]]:
        await h.aopen()
        pigeon, ended = h.plugin(Loft).pigeon, asyncio.Event()
        task = asyncio.ensure_future(serve(h.plugin(Gateway).host, 5.0, ended.wait))
        await h.plugin(Gateway).host.receive(Inbound("pigeon", "7", "ann", "m1", "hi"))
        answer = await pigeon.delivered.get()
        while_up = list(pigeon.life)
        ended.set()
        await task
        return while_up, answer, pigeon.life

    assert h.run(life()) == (["up"], "hello", ["up", "down"])
    assert capsys.readouterr().err.splitlines()[-1] == "ready"


def test_what_a_dead_process_left_is_answered(harness: Make, tmp_path: Path) -> None:
    class Deaf(Plugin):
        """Dies while it works on a message."""

        @hookimpl
        async def on_message(self, ctx: Any, inbound: Inbound) -> None:
            await asyncio.Event().wait()

    first = harness(Gateway, Loft, Deaf, home=tmp_path, deadlines={"on_message": None})
    host = lambda h: h.plugin(Gateway).host  # noqa: E731

    async def lost() -> None:
        await first.aopen()
        assert await host(first).receive(Inbound("pigeon", "7", "ann", "m1", "hi"))

    first.run(lost())
    first.close()
    second = harness(Gateway, Loft, home=tmp_path, model=["found"])

    async def found() -> str:
        await second.aopen()
        ended = asyncio.Event()
        task = asyncio.ensure_future(serve(host(second), 5.0, ended.wait))
        answer = await second.plugin(Loft).pigeon.delivered.get()
        ended.set()
        await task
        return answer

    assert second.run(found()) == "found"


def test_a_second_gateway_is_refused(harness: Make, capsys: Any) -> None:
    h = harness(Gateway, Loft)

    async def two() -> None:
        await h.aopen()
        host, ended = h.plugin(Gateway).host, asyncio.Event()
        first = asyncio.ensure_future(serve(host, 5.0, ended.wait))
        while not h.plugin(Loft).pigeon.life:
            await asyncio.sleep(0)
        try:
            await serve(host, 5.0, ended.wait)
        finally:
            ended.set()
            await first

    with pytest.raises(SystemExit) as end:
        h.run(two())
    assert end.value.code == 1
    assert "another gateway runs" in capsys.readouterr().err


def test_a_channel_that_cannot_start_ends_it_and_the_others(harness: Make, capsys: Any) -> None:
    h = harness(Gateway, Loft, Lame)

    async def run() -> None:
        await h.aopen()
        await serve(h.plugin(Gateway).host, 5.0, asyncio.Event().wait)

    with pytest.raises(SystemExit) as end:
        h.run(run())
    assert end.value.code == 1
    assert "broken cannot start: the token is wrong" in capsys.readouterr().err
    assert h.plugin(Loft).pigeon.life == ["up", "down"]
