"""Limits of size, rate and time, and ambiguous requests."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import httpx2
import pytest
from support.web import Site

from .conftest import KEY, Serve, raw


@pytest.mark.slow
def test_body_too_large_is_not_read(serve: Serve) -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 500

    async def story(site: Site) -> None:
        async with site.client() as client:
            most = await client.post("/everything/person", content=b"x" * 1000)
            assert most.json() == {"size": 1000}
            large = await client.post("/everything/person", content=b"x" * 1001)
            assert (large.status_code, large.json()["error"]["code"]) == (413, "too_large")
            try:
                status = (await client.post("/everything/person", content=endless())).status_code
            except httpx2.HTTPError:
                status = 413  # it hung up while we were still sending
            assert status == 413

    serve(story)


@pytest.mark.slow
def test_body_too_large_gets_response(serve: Serve) -> None:
    async def story(site: Site) -> None:
        port = int(site.url.rpartition(":")[2])
        async with site.client() as client:
            cookie = "; ".join(f"{one.name}={one.value}" for one in client.cookies.jar)
        for size, path in ((30_000_000, "person"), (30_000_000, "no-such-path")):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            head = f"POST /everything/{path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
            head += f"Origin: {site.url}\r\nCookie: {cookie}\r\nContent-Length: {size}\r\n\r\n"
            writer.write(head.encode())
            for _ in range(30):  # as a client does that reads when it has sent everything
                writer.write(b"x" * (size // 30))
                await writer.drain()
            status = int((await reader.readline()).split()[1])
            assert status == (413 if path == "person" else 404)
            writer.close()

    serve(story)


def test_handler_function_runs_in_thread(serve: Serve) -> None:
    async def story(site: Site) -> None:
        async with site.client("mia", "person") as client:
            found = (await client.get("/everything/plain")).json()
        assert found["person"] == "web:mia"
        assert found["thread"] != threading.main_thread().name

    serve(story)


def test_body_missing_times_out(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hookline_web_server.limits.BODY_CHUNK_SECONDS", 0.1)

    async def story(site: Site) -> int:
        host = site.url.removeprefix("http://")
        head = f"POST /everything/none HTTP/1.1\nHost: {host}\nContent-Length: 100"
        return (await raw(site, head, b"begin"))[0]

    assert serve(story) == 408


def test_body_too_slow_times_out(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hookline_web_server.limits.BODY_CHUNK_SECONDS", 0.2)

    async def story(site: Site) -> bytes:
        port = int(site.url.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = (
            f"POST /everything/none HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 999\r\n"
        )
        writer.write(head.encode() + b"\r\n")
        answer = asyncio.ensure_future(reader.readline())
        while not answer.done():
            writer.write(b"x")
            await asyncio.sleep(0.05)
        writer.close()
        return answer.result()

    assert b" 408 " in serve(story)


@pytest.mark.slow
def test_rate_limit_sends_retry_after(serve: Serve) -> None:
    async def story(site: Site) -> None:
        async with site.client() as owner, site.client("mia", "person") as mia:
            found = [(await owner.post("/rated")).status_code for _ in range(4)]
            assert found == [200, 200, 200, 429]
            assert (await mia.post("/rated")).status_code == 200
        async with site.client(None) as key:
            key.headers["Authorization"] = f"Bearer {KEY}"
            found = [(await key.get("/everything/key")).status_code for _ in range(121)]
            assert (found[:120], found[120]) == ([200] * 120, 429)

    serve(story)


def test_streams_are_limited_per_person(serve: Serve) -> None:
    async def story(site: Site) -> None:
        async with site.client("mia", "person") as mia, site.client() as owner:
            for _ in range(2):
                async with AsyncExitStack() as open_streams:
                    for _ in range(16):
                        made = mia.stream("GET", "/everything/stream")
                        stream = await open_streams.enter_async_context(made)
                        assert stream.status_code == 200
                    late = await mia.get("/everything/stream")
                    assert (late.status_code, late.headers["retry-after"]) == (429, "6")
                    assert (await owner.get("/everything/person")).status_code == 200
                    assert site.server.server.application.count_streams() == 16
                while site.server.server.application.count_streams():
                    await asyncio.sleep(0.01)

    serve(story)


def test_anonymous_requests_block_only_each_other(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hookline_web_server.limits.MAX_ANONYMOUS_REQUESTS", 3)
    monkeypatch.setattr("hookline_web_server.limits.SLOT_WAIT_SECONDS", 0.05)

    async def story(site: Site) -> None:
        port = int(site.url.rpartition(":")[2])
        head = f"POST /everything/none HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        async with site.client() as owner, site.client(None) as stranger:
            lines = []
            for _ in range(5):
                lines.append(await asyncio.open_connection("127.0.0.1", port))
                lines[-1][1].write(head.encode() + b"Content-Length: 9\r\n\r\nx")
            answers = [asyncio.ensure_future(reader.readline()) for reader, _ in lines]
            await asyncio.wait(answers, return_when=asyncio.FIRST_COMPLETED)
            assert (await stranger.get("/everything/none")).status_code == 503
            assert (await owner.get("/everything/person")).status_code == 200
            for answer, (_, writer) in zip(answers, lines, strict=True):
                answer.cancel()
                writer.close()

    serve(story)


def test_head_of_stream_ends(serve: Serve) -> None:
    async def story(site: Site) -> None:
        async with site.client() as owner:
            head = await owner.head("/everything/stream")
            assert head.headers["content-type"].startswith("text/event-stream")
            assert site.server.server.application.count_streams() == 0

    serve(story)


@pytest.mark.slow
def test_streams_do_not_block_requests(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hookline_web_server.limits.MAX_REQUESTS", 2)
    monkeypatch.setattr("hookline_web_server.limits.SLOT_WAIT_SECONDS", 0.05)

    async def story(site: Site) -> None:
        async with site.client() as owner, AsyncExitStack() as leaving:
            for _ in range(5):
                await leaving.enter_async_context(owner.stream("GET", "/everything/stream"))
            waiting = [asyncio.ensure_future(owner.get("/everything/slow")) for _ in range(2)]
            while site.server.server.application.active_requests.count() < 7:
                await asyncio.sleep(0.01)
            busy = await owner.get("/everything/person")
            assert (busy.status_code, busy.json()["error"]["code"]) == (503, "busy")
            for one in waiting:
                one.cancel()

    serve(story)


HEAD = "GET /everything/none HTTP/1.1\nHost: {host}"
ODD = {
    "two hosts": HEAD + "\nHost: evil.example",
    "no host": "GET /healthz HTTP/1.1",
    "old and no host": "GET /healthz HTTP/1.0",
    "empty host": "GET /healthz HTTP/1.1\nHost:",
    "two lengths": HEAD + "\nContent-Length: 1\nContent-Length: 2",
    "length and chunks": HEAD + "\nContent-Length: 1\nTransfer-Encoding: chunked",
    "odd coding": HEAD + "\nTransfer-Encoding: gzip, chunked",
    "space before colon": HEAD + "\nContent-Length : 5",
    "two origins": HEAD + "\nOrigin: {origin}\nOrigin: http://evil.example",
    "two cookies": HEAD + "\nCookie: a=b\nCookie: c=d",
    "absolute": "GET http://evil.example/healthz HTTP/1.1\nHost: {host}",
    "authority": "CONNECT evil.example:443 HTTP/1.1\nHost: {host}",
    "dots": "GET /a/../healthz HTTP/1.1\nHost: {host}",
    "encoded dots": "GET /a/%2e%2E/healthz HTTP/1.1\nHost: {host}",
    "NUL": "GET /everything/%00 HTTP/1.1\nHost: {host}",
    "backslash": "GET /\\evil HTTP/1.1\nHost: {host}",
    "space": "GET /a b HTTP/1.1\nHost: {host}",
    "huge header": HEAD + "\nX: " + "x" * 70_000,
    "huge path": "GET /" + "x" * 9000 + " HTTP/1.1\nHost: {host}",
    "no version": "GET /healthz",
}
LOST = {
    "double slash": "GET //healthz HTTP/1.1\nHost: {host}",
    "inner slashes": "GET /everything//none HTTP/1.1\nHost: {host}",
    "other spelling": "GET /%68ealthz HTTP/1.1\nHost: {host}",
    "upper case": "GET /HEALTHZ HTTP/1.1\nHost: {host}",
    "encoded slash": "GET /everything%2Fnone HTTP/1.1\nHost: {host}",
    "trace": "TRACE /healthz HTTP/1.1\nHost: {host}",
    "options": "OPTIONS /healthz HTTP/1.1\nHost: {host}",
    "odd method": "BREW /healthz HTTP/1.1\nHost: {host}",
}


def test_ambiguous_request_is_refused(serve: Serve) -> None:
    async def story(site: Site) -> None:
        host = site.url.removeprefix("http://")
        for name, head in ODD.items():
            head = head.replace("{host}", host).replace("{origin}", site.url)
            status, found = await raw(site, head)
            # What is too large to be read is hung up on, if it is still being sent.
            assert status in (400, 405, 421, 431, 501) or name == "huge header", (name, found)
        for name, head in LOST.items():
            status, found = await raw(site, head.replace("{host}", host))
            assert status in (303, 401), (name, found)  # does not reveal which routes exist
        assert (await raw(site, f"HEAD /healthz HTTP/1.1\nHost: {host}"))[0] == 200

    serve(story)


def test_wrong_method_lists_allowed_ones(serve: Serve) -> None:
    async def story(site: Site) -> None:
        async with site.client() as owner:
            found = await owner.request("OPTIONS", "/everything/person")
            assert (found.status_code, found.headers["allow"]) == (405, "HEAD, GET, POST")
            assert "access-control-allow-origin" not in found.headers
            head = await owner.head("/everything/person")
            assert (head.status_code, head.content) == (200, b"")
            assert (await owner.get("/everything/person/")).status_code == 200
            assert (await owner.get("/everything/person//")).status_code == 404
            assert (await owner.get("/mounted/x")).status_code == 404
            mounted = await owner.get("/everything/mounted/x/y")
            assert mounted.text == "owner /everything/mounted /everything/mounted/x/y"

    serve(story)


def test_internal_error_hides_details(serve: Serve) -> None:
    async def story(site: Site) -> None:
        async with site.client() as owner:
            for accept in ("text/html", "*/*"):
                found = await owner.get("/everything/fails", headers={"Accept": accept})
                assert found.status_code == 500
                assert "secret" not in found.text
                assert "default-src 'none'" in found.headers["content-security-policy"]

    serve(story)
