"""Delivery of replies: retried after the platform's wait, marked as repeated, or kept."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hookline_hookspecs import (
    GatewayHost,
    HooklineError,
    Inbound,
    Plugin,
    Question,
    Reply,
    StoreError,
    WorkDistribution,
    command,
    hookimpl,
)
from hookline_hookspecs.plugin import NoConfig

Make = Callable[..., Any]
PATIENCE = 60.0


class Flooded(HooklineError):
    """The platform's answer to too many messages."""

    def __init__(self, retry_after: float | None) -> None:
        super().__init__("too many messages")
        self.retry_after = retry_after


class Post:
    """A channel whose ``send`` does what ``script`` says, first to last, and then works."""

    name, edits = "post", False

    def __init__(self, *script: Exception | None, network: bool = True) -> None:
        self.network = network
        self.script = list(script)
        self.tried: list[tuple[float, Reply]] = []
        self.sent: list[Reply] = []
        self.arrived = asyncio.Event()
        self.hangs, self.hung = False, asyncio.Event()

    async def start(self) -> None: ...

    async def wait(self) -> None: ...

    async def stop(self) -> None: ...

    async def send(self, reply: Reply) -> str | None:
        self.tried.append((time.monotonic(), reply))
        if self.hangs:
            await self.hung.wait()
        if self.script and (error := self.script.pop(0)) is not None:
            raise error
        self.sent.append(reply)
        self.arrived.set()
        return "1"

    async def until(self, count: int) -> list[str]:
        async with asyncio.timeout(PATIENCE):
            while len(self.sent) < count:
                self.arrived.clear()
                await self.arrived.wait()
        return [reply.text for reply in self.sent]


def mail(post: Post) -> type[Plugin[Any]]:
    """A plugin that brings the channel."""

    class Mail(Plugin[NoConfig]):
        @hookimpl
        def register_channels(self, register: Any) -> None:
            register(post)

    return Mail


def inbound(text: str, number: int = 1) -> Inbound:
    return Inbound("post", "c", "u", f"m{number}", text)


@pytest.mark.slow
async def test_delivery_waits_as_long_as_retry_after_says(harness: Make) -> None:
    post = Post(Flooded(2.5), Flooded(None))
    h = harness(mail(post), model=["a"])
    await h.aopen()
    await h.plugin(Plugin).host.receive(inbound("x"))
    assert await post.until(1) == ["a"]
    first, second, third = [at for at, _ in post.tried]
    assert second - first >= 2.5
    assert third - second >= 1.9  # its own back-off goes on beside what was asked for


async def test_outbox_keeps_an_undeliverable_reply_for_the_next_message(harness: Make) -> None:
    post = Post(RuntimeError("no chat is open"), network=False)
    h = harness(mail(post), model=["a", "b"])
    await h.aopen()
    host = h.plugin(Plugin).host
    await host.receive(inbound("x"))
    await host.services[GatewayHost].finish(PATIENCE)  # nothing is under way any more
    assert (len(post.tried), post.sent) == (1, [])
    await host.receive(inbound("y", 2))
    assert await post.until(2) == ["a", "b"]


def test_reply_that_may_have_arrived_is_marked_as_repeated(harness: Make, tmp_path: Path) -> None:
    async def killed(post: Post) -> None:
        post.hangs = True
        h = harness(mail(post), home=tmp_path / "home", model=["a", "b"])
        runtime = await h.aopen()
        await h.plugin(Plugin).host.receive(inbound("x"))
        while not post.tried:
            await asyncio.sleep(0.01)
        await h.plugin(Plugin).host.receive(inbound("y", 2))
        while len(h.model.requests) < 2:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        await runtime.__aexit__(None, None, None)

    async def restarted(post: Post) -> None:
        h = harness(mail(post), home=tmp_path / "home", model=["b"])  # on a busy machine
        await h.aopen()
        await h.plugin(Plugin).host.services[GatewayHost].recover()
        assert await post.until(2) == ["a", "b"]
        assert [reply.repeated for reply in post.sent] == [True, False]
        await h.runtime.__aexit__(None, None, None)

    asyncio.run(asyncio.wait_for(killed(Post()), PATIENCE))
    asyncio.run(asyncio.wait_for(restarted(Post()), PATIENCE))


@pytest.mark.slow
async def test_reply_queued_behind_another_process_is_sent_soon_after(
    harness: Make, tmp_path: Path
) -> None:
    """Two processes on one store: the reply does not wait for the next recovery."""
    first, second = Post(), Post()
    first.hangs = True
    one = harness(mail(first), home=tmp_path / "home", model=["a"])
    other = harness(mail(second), home=tmp_path / "home", model=["b"])
    await one.aopen()
    await other.aopen()
    await one.plugin(Plugin).host.receive(inbound("x"))
    async with asyncio.timeout(PATIENCE):
        while not first.tried:
            await asyncio.sleep(0.01)
    await other.plugin(Plugin).host.receive(inbound("y", 2))
    await other.plugin(Plugin).host.services[GatewayHost].finish(2.0)
    assert (len(other.model.requests), second.sent) == (1, [])
    first.hung.set()
    assert await first.until(1) == ["a"]
    assert await second.until(1) == ["b"]


async def test_lane_waits_for_an_earlier_message_owned_by_another_process(
    harness: Make, tmp_path: Path
) -> None:
    """The chat's order must not depend on whether that process looks dead or alive."""

    class Divides(Plugin[NoConfig]):
        is_shared = True
        runs_turns_here = True

        @hookimpl
        def setup(self, host: Any) -> None:
            host.services.provide(WorkDistribution, self)
            self.entered, self.go_on = asyncio.Event(), asyncio.Event()

        def sends(self, channel: str) -> bool:
            return True

        def received(self, channel: str, chat_id: str, answer: Any) -> None: ...

        def replied(self, channel: str, chat_id: str) -> None: ...

        @hookimpl
        async def on_message(self, ctx: Any, inbound: Inbound) -> None:
            self.entered.set()
            await self.go_on.wait()

    first, second = Post(), Post()
    one = harness(Divides, mail(first), home=tmp_path / "home", model=["a"])
    other = harness(Divides, mail(second), home=tmp_path / "home", model=["b"])
    await one.aopen()
    await other.aopen()
    other.plugin(Divides).go_on.set()
    message = inbound("x")
    chat = message.channel, message.chat_id
    await one.plugin(Divides).host.receive(message)
    await one.plugin(Divides).host.services[GatewayHost].recover(*chat)
    await one.plugin(Divides).entered.wait()
    host = other.plugin(Divides).host
    await host.receive(inbound("y", 2))
    with pytest.raises(StoreError, match="is working on an earlier message"):
        await host.services[GatewayHost].recover(*chat)
    assert other.model.requests == []
    one.plugin(Divides).go_on.set()
    assert await first.until(1) == ["a"]
    await one.plugin(Divides).host.services[GatewayHost].finish(PATIENCE)
    await host.services[GatewayHost].recover(*chat)
    assert await second.until(1) == ["b"]


def test_host_gives_environment_and_provider_settings(harness: Make, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".env").write_text("POST_TOKEN=t-123\nOPENAI_API_KEY=key-of-the-home\n")
    h = harness(mail(Post()), home=home, core={"providers.own.base_url": "http://localhost:1/v1"})
    host = h.plugin(Plugin).host
    assert host.env["POST_TOKEN"] == "t-123"
    assert host.provider("openai").api_key == "key-of-the-home"
    assert host.provider("own").base_url == "http://localhost:1/v1"


async def test_inbox_forgets_messages_done_a_week_ago(
    harness: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def after(days: float) -> None:
        monkeypatch.setattr("hookline.clock.now", lambda: start + days * 86_400)

    start = time.time()
    post = Post()
    h = harness(mail(post), model=["a", "b"])
    await h.aopen()
    host = h.plugin(Plugin).host
    assert await host.receive(inbound("x"))
    await post.until(1)
    await host.services[GatewayHost].finish(PATIENCE)
    for days, known in ((6.9, True), (7.1, False)):
        after(days)
        await host.services[GatewayHost].recover()
        await host.services[GatewayHost].finish(PATIENCE)
        assert await host.receive(inbound("x")) is not known
    assert await post.until(2) == ["a", "b"]
    await host.services[GatewayHost].finish(PATIENCE)
    with closing(sqlite3.connect(h.home / "hookline.db")) as db:
        assert db.execute("SELECT COUNT(*) FROM outbox").fetchone() == (1,)


async def test_running_turn_is_not_resumed(harness: Make) -> None:
    class Waits(Plugin[NoConfig]):
        @hookimpl
        async def setup(self, host: Any) -> None:
            self.entered, self.go_on = asyncio.Event(), asyncio.Event()

        @hookimpl
        async def start_of_turn(self, ctx: Any, turn: Any) -> None:
            self.entered.set()
            await self.go_on.wait()

    post = Post()
    h = harness(Waits, mail(post), model=["a", "b"])
    await h.aopen()
    waits = h.plugin(Waits)
    host = waits.host
    await host.receive(inbound("x"))
    async with asyncio.timeout(PATIENCE):
        await waits.entered.wait()
    await host.receive(inbound("y", 2))
    for _ in range(3):
        await host.services[GatewayHost].recover()
    waits.go_on.set()
    await host.services[GatewayHost].finish(PATIENCE)
    assert [(reply.text, reply.in_reply_to) for reply in post.sent] == [("a", "m1"), ("b", "m2")]
    assert len(h.model.requests) == 2


async def test_command_reply_can_have_buttons(harness: Make) -> None:
    class Menu(Plugin[NoConfig]):
        @command("/lunch", immediate=True)
        def lunch(self, ctx: Any, args: str) -> Question:
            """Ask what to eat."""
            return Question("What will it be?", ("Soup", "Bread"))

    post = Post()
    h = harness(Menu, mail(post))
    await h.aopen()
    told: list[tuple[str, ...]] = []
    h.plugin(Menu).host.signals.connect("reply_sent", lambda r, ctx=None: told.append(r.delivered))
    await h.plugin(Menu).host.receive(inbound("/lunch"))
    assert await post.until(1) == ["What will it be?"]
    await h.plugin(Menu).host.services[GatewayHost].finish(PATIENCE)
    assert post.sent[0].choices == ("Soup", "Bread")
    assert told == [("1",)]


async def test_recovery_does_not_add_delivery_tasks_while_platform_is_down(harness: Make) -> None:
    post = Post()
    post.hangs = True
    h = harness(mail(post), model=["a"])
    await h.aopen()
    host = h.plugin(Plugin).host
    await host.receive(inbound("x"))
    async with asyncio.timeout(PATIENCE):
        while not post.tried:
            await asyncio.sleep(0.01)
    for _ in range(3):  # what a gateway does now and then
        await host.services[GatewayHost].recover()
    await asyncio.sleep(0)
    before = len(asyncio.all_tasks())
    for _ in range(20):
        await host.services[GatewayHost].recover()
    await asyncio.sleep(0.1)
    assert len(asyncio.all_tasks()) <= before
    assert len(post.tried) == 1
