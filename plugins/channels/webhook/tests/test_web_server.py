"""Without its own address, the webhook uses the listener of ``web-server``."""

from __future__ import annotations

from collections.abc import Callable

import httpx2
import pytest
from hookline.testing import Harness
from hookline.testing.clock import Clock
from hookline_hookspecs import HooklineError
from hookline_webhook import Webhook
from support.web import plugin

from .conftest import SECRET, ReplyServer, message, signed


@pytest.mark.slow
def test_webhook_uses_listener_of_web_server(
    harness: Callable[..., Harness], replies: ReplyServer
) -> None:
    server = plugin("web-server")
    config = {
        "webhook": {"listen": None, "secret": SECRET, "reply_url": replies.url, "max_bytes": 500},
        "web-server": {"listen": "127.0.0.1:0"},
    }
    h = harness(Webhook, server, config=config, model=["hi"])

    async def story() -> None:
        await h.aopen()
        channel, shared = h.plugin(Webhook).channel, h.plugin(server).shared
        assert channel is not None
        await channel.start()
        async with httpx2.AsyncClient(base_url=shared.url(), trust_env=False) as client:
            body = message("m1")
            taken = await client.post("/webhook", content=body, headers=signed(body))
            assert (taken.status_code, taken.json()) == (202, {"id": "m1", "known": False})
            assert (await client.post("/webhook", content=body)).status_code == 401
            large = await client.post("/webhook", content=b"x" * 501, headers=signed(b"x" * 501))
            assert large.status_code == 413
        await h.runtime.finish_background(60)
        await channel.stop()
        with pytest.raises(httpx2.ConnectError):
            httpx2.post(f"{shared.url()}/webhook", content=body, trust_env=False)

    h.run(story())
    assert replies.wait_for(1)[0]["in_reply_to"] == "m1"


def test_missing_web_server_error_names_the_command(harness: Callable[..., Harness]) -> None:
    h = harness(Webhook, config={"listen": None, "secret": SECRET})

    async def story() -> None:
        await h.aopen()
        channel = h.plugin(Webhook).channel
        assert channel is not None
        with pytest.raises(HooklineError, match="hookline plugins enable web-server"):
            await channel.start()

    h.run(story())


def test_replayed_body_is_rejected_however_late(
    harness: Callable[..., Harness], clock: Clock
) -> None:
    config = {"listen": "127.0.0.1:0", "secret": SECRET}
    h = harness(Webhook, config=config, model=["one", "two", "three"])

    async def story() -> None:
        runtime = await h.aopen()
        channel = h.plugin(Webhook).channel
        assert channel is not None
        await channel.start()
        async with httpx2.AsyncClient(trust_env=False) as client:

            async def post(body: bytes) -> bool:
                answer = await client.post(
                    f"http://{channel.address}/webhook", content=body, headers=signed(body)
                )
                assert answer.status_code == 202
                await h.runtime.finish_background(60)
                return bool(answer.json()["known"])

            first = message("m1", "pay")
            assert [await post(first), await post(first)] == [False, True]
            clock.ahead(8 * 86_400)
            await runtime.gateway_host.recover()  # forgets messages of long ago
            assert await post(first)
            assert not await post(message("m1", "another text"))
        await channel.stop()

    h.run(story())
    assert len(h.model.requests) == 2
