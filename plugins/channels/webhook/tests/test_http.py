"""The listening side over real HTTP, with the real core behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest
from hookline.testing import Harness, ScriptedModel
from hookline_hookspecs import Plugin, StoreError
from hookline_webhook import Webhook
from support.installed import installed_plugin
from support.matrices import sampled

from .conftest import SECRET, ReplyServer, message, signed

Talk = Callable[[httpx2.AsyncClient, str], Awaitable[Any]]
Serve = Callable[..., Any]


@pytest.fixture
def serve(harness: Callable[..., Harness], replies: ReplyServer) -> Serve:
    """Runs a talk with a listening webhook; settings of the plugin as keywords."""

    def run(talk: Talk, *plugins: type[Plugin], model: Any = (), **changed: Any) -> Any:
        settings = {"listen": "127.0.0.1:0", "secret": SECRET, "reply_url": replies.url}
        config = {"webhook": {**settings, **changed}}
        h = harness(
            Webhook,
            *plugins,
            config=config,
            model=model if isinstance(model, ScriptedModel) else list(model),
        )

        async def story() -> Any:
            await h.aopen()
            channel = h.plugin(Webhook).channel
            assert channel is not None
            await channel.start()
            assert channel.address is not None
            url = f"http://127.0.0.1:{channel.address.port}/webhook"
            async with httpx2.AsyncClient(timeout=60, trust_env=False) as client:
                try:
                    return await talk(client, url)
                finally:
                    await channel.stop()
                    await h.runtime.finish_background(60)

        return h.run(story())

    return run


def test_message_is_accepted_and_gets_reply(serve: Serve, replies: ReplyServer) -> None:
    async def talk(client: httpx2.AsyncClient, url: str) -> Any:
        answer = await client.post(url, content=message("m1"), headers=signed(message("m1")))
        return answer.status_code, answer.json()

    assert serve(talk, model=["hi"]) == (202, {"id": "m1", "known": False})
    (reply,) = replies.wait_for(1)
    assert dict(reply) == {"id": reply["id"], "chat": "c1", "text": "hi", "in_reply_to": "m1"}


def test_wait_raises_when_server_ends(harness: Callable[..., Harness]) -> None:
    h = harness(Webhook, config={"listen": "127.0.0.1:0", "secret": SECRET})

    async def story() -> None:
        await h.aopen()
        channel = h.plugin(Webhook).channel
        assert channel is not None
        before = asyncio.all_tasks()
        await channel.start()
        (server,) = asyncio.all_tasks() - before
        server.cancel()
        with pytest.raises(OSError, match="the server ended"):
            await asyncio.wait_for(channel.wait(), 60)
        await channel.stop()
        await asyncio.wait_for(channel.wait(), 60)

    h.run(story())


def test_repeated_message_id_is_ignored(serve: Serve, replies: ReplyServer) -> None:
    async def talk(client: httpx2.AsyncClient, url: str) -> Any:
        bodies = [message("m1"), message("m1"), message("m1", "other", "c2", "bob")]
        posts = [client.post(url, content=one, headers=signed(one)) for one in bodies]
        answers = await asyncio.gather(*posts)
        return sorted((one.status_code, one.json()["known"]) for one in answers)

    assert serve(talk, model=["hi"]) == [(202, False), (202, True), (202, True)]
    assert len(replies.posts) == 1


def test_quoted_text_reaches_the_model(serve: Serve, replies: ReplyServer) -> None:
    model = ScriptedModel(["one", "two"])
    quotes = {"agent": "what you said", "Bob (webhook:bob)": "his words"}

    async def talk(client: httpx2.AsyncClient, url: str) -> None:
        for author, text in quotes.items():
            body = message(author[:3], "why?", quoted=text, quoted_by=author)
            answer = await client.post(url, content=body, headers=signed(body))
            assert answer.status_code == 202
            await asyncio.to_thread(replies.answer_to, author[:3])

    serve(talk, installed_plugin("gateway"), model=model)
    texts = [request.messages[-1].text for request in model.requests]
    assert texts[0].endswith(', quoting your message: "what you said"⟧\nwhy?')
    assert texts[1].endswith(', quoting "Bob" (webhook:bob): "his words"⟧\nwhy?')
    blocks = [request.messages[-1].blocks[0] for request in model.requests]
    assert ["outside" in str(block.origins) for block in blocks] == [False, True]


REFUSED: list[tuple[str, bytes, dict[str, str], int]] = [
    ("POST", message("m1"), {}, 401),
    ("POST", message("m1"), signed(message("m2")), 401),
    ("POST", message("m1"), signed(message("m1"), "another secret of 16"), 401),
    ("POST", b"not json", {}, 401),
    ("POST", b"not json", signed(b"not json"), 400),
    ("POST", b"", signed(b""), 400),
    ("POST", b"x" * 3000, signed(b"x" * 3000), 413),
    ("GET", b"", {}, 405),
    ("PUT", message("m1"), signed(message("m1")), 405),
]


@sampled(("method", "body", "headers", "status"), REFUSED)
def test_invalid_requests_are_refused(
    serve: Serve, method: str, body: bytes, headers: dict[str, str], status: int
) -> None:
    async def talk(client: httpx2.AsyncClient, url: str) -> Any:
        return await client.request(method, url, content=body, headers=headers)

    answer = serve(talk, max_bytes=2000)
    assert answer.status_code == status
    if status != 405:
        assert answer.json()["error"]


def test_body_without_length_is_cut_off_at_limit(serve: Serve) -> None:
    async def endless() -> Any:
        while True:
            yield b"x" * 1000

    async def talk(client: httpx2.AsyncClient, url: str) -> Any:
        try:
            return (await client.post(url, content=endless())).status_code
        except httpx2.HTTPError:
            return 413  # it hung up while we were still sending

    assert serve(talk, max_bytes=2000) == 413


@pytest.mark.slow
@pytest.mark.parametrize("sent", [b"", b"POST /web", b"POST /webhook HTTP/1.1\r\nHost: x\r\n"])
def test_idle_connections_do_not_block_others(serve: Serve, sent: bytes) -> None:
    async def talk(client: httpx2.AsyncClient, url: str) -> Any:
        port = httpx2.URL(url).port
        lines = [await asyncio.open_connection("127.0.0.1", port) for _ in range(600)]
        for _, writer in lines:
            writer.write(sent)
        answer = await client.post(url, content=message("m1"), headers=signed(message("m1")))
        ended = asyncio.gather(
            *[reader.read() for reader, _ in lines[:300]], return_exceptions=True
        )
        await asyncio.wait_for(ended, 60)
        for _, writer in lines:
            writer.close()
        return answer.status_code

    assert serve(talk, model=["hi"]) == 202


@pytest.mark.parametrize("first", [b"", message("m1")], ids=["at once", "after a request"])
def test_connection_without_request_head_is_closed(
    serve: Serve, first: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hookline_webkit.connections.HEADER_TIMEOUT_SECONDS", 0.2)

    async def talk(client: httpx2.AsyncClient, url: str) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", httpx2.URL(url).port)
        if first:
            head = f"POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Length: {len(first)}\r\n"
            head += "".join(f"{name}: {value}\r\n" for name, value in signed(first).items())
            writer.write(head.encode() + b"\r\n" + first)
            assert b"202" in await reader.readline()
        writer.write(b"POST /webhook HTTP/1.1\r\n")
        try:
            return await asyncio.wait_for(reader.read(), 60)
        except ConnectionError:
            return b""
        finally:
            writer.close()

    serve(talk, model=["hi"])


@pytest.mark.long
@pytest.mark.parametrize("path", ["/", "/webhook/", "/webhook/x", "/docs", "/healthz"])
def test_other_paths_return_404(serve: Serve, path: str) -> None:
    async def talk(client: httpx2.AsyncClient, url: str) -> Any:
        there = url.removesuffix("/webhook") + path
        return await client.post(there, content=message("m1"), headers=signed(message("m1")))

    assert serve(talk).status_code == 404


@pytest.mark.parametrize("kind", ["text/plain", "application/json; charset=utf-8", "", "x"])
def test_content_type_is_ignored(serve: Serve, kind: str) -> None:
    async def talk(client: httpx2.AsyncClient, url: str) -> Any:
        headers = {**signed(message("m1")), "Content-Type": kind}
        return await client.post(url, content=message("m1"), headers=headers)

    assert serve(talk, model=["hi"]).status_code == 202


def test_message_that_cannot_be_stored_gets_503(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **_options: object) -> None:
        raise StoreError("the disk is full")

    async def talk(client: httpx2.AsyncClient, url: str) -> Any:
        monkeypatch.setattr("hookline.store.journal.Journal.receive", full)
        return await client.post(url, content=message("m1"), headers=signed(message("m1")))

    answer = serve(talk)
    assert (answer.status_code, "later" in answer.json()["error"]) == (503, True)


def test_server_installs_no_signal_handlers(serve: Serve) -> None:
    import signal

    async def talk(client: httpx2.AsyncClient, url: str) -> Any:
        return [signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGINT)]

    before = [signal.getsignal(one) for one in (signal.SIGTERM,)]
    during = serve(talk)
    assert during[:1] == before


@pytest.mark.parametrize("secret", ["", "short", "fifteen chars.."])
def test_short_secret_stops_start(harness: Callable[..., Harness], secret: str) -> None:
    h = harness(Webhook, config={"listen": "127.0.0.1:0", "secret": secret})

    async def start() -> None:
        await h.aopen()
        channel = h.plugin(Webhook).channel
        assert channel is not None
        await channel.start()

    with pytest.raises(Exception, match="at least 16"):
        h.run(start())


def test_port_in_use_error_names_the_address(
    serve: Serve, harness: Callable[..., Harness], replies: ReplyServer
) -> None:
    port = int(replies.url.split(":")[2].split("/")[0])

    async def talk(client: httpx2.AsyncClient, url: str) -> None:
        raise AssertionError

    with pytest.raises(OSError, match=f"cannot listen on 127.0.0.1:{port}"):
        serve(talk, listen=f"127.0.0.1:{port}")


def test_doctor_checks_secret_and_hints(harness: Callable[..., Harness]) -> None:
    h = harness(Webhook, config={"listen": "0.0.0.0:1", "secret": "short"})
    results: dict[str, Any] = {check.name: check.run() for _, check in h.checks()}
    assert not results["secret"].ok
    assert not results["secret"].hint
    assert "openssl rand" in results["secret"].fix
    assert {name for name, one in results.items() if one.hint} == {"replies", "address", "access"}


@pytest.mark.parametrize("listen", ["8765", ":8765", "host:", "host:x", "::1:80", "h:99999", ""])
def test_invalid_listen_address_is_refused(listen: str) -> None:
    from hookline_webhook import WebhookConfig

    with pytest.raises(ValueError, match=r"host:port|is not a port"):
        WebhookConfig(listen=listen)
