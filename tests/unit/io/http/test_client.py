"""`GuardedHttp` against real servers on loopback, reached through `allow_hosts`."""

import asyncio
import contextlib
import gzip
import shutil
import ssl
import subprocess
import time
import traceback
import zlib

import pytest
from hookline.io.http import GuardedHttp, HttpFailed, HttpRefused, NetworkPolicy

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Server:
    """Answers each request with what `answers` holds for its path: bytes, or a coroutine function
    that gets the writer. Remembers the requests as text."""

    def __init__(self, answers):
        self.answers = answers
        self.requests = []

    async def __aenter__(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0, ssl=self.ssl)
        self.port = self.server.sockets[0].getsockname()[1]
        self.tasks = set()
        return self

    ssl = None

    async def __aexit__(self, *_):
        self.server.close()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    async def serve(self, reader, writer):
        self.tasks.add(asyncio.current_task())
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            length = [line for line in head.lower().split("\r\n") if "content-length:" in line]
            body = await reader.readexactly(int(length[0].split(":")[1])) if length else b""
            self.requests.append(head + body.decode("latin-1"))
            answer = self.answers.get(head.split()[1], OK)
            if isinstance(answer, bytes):
                writer.write(answer)
                await writer.drain()
            else:
                await answer(writer)
        with contextlib.suppress(OSError, asyncio.CancelledError):
            writer.close()
            await writer.wait_closed()

    def url(self, path="/", host="127.0.0.1"):
        return f"http://{host}:{self.port}{path}"

    def header(self, index):
        lines = self.requests[index].split("\r\n\r\n")[0].split("\r\n")[1:]
        return {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}


def redirect(url, status=302):
    return f"HTTP/1.1 {status} X\r\nLocation: {url}\r\nContent-Length: 0\r\n\r\n".encode()


def response(body, *header):
    lines = ["HTTP/1.1 200 OK", f"Content-Length: {len(body)}", *header]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@contextlib.asynccontextmanager
async def client(*servers, allow=(), block=(), **options):
    ports = [f"127.0.0.1:{server.port}" for server in servers]
    http = GuardedHttp(NetworkPolicy(allow_hosts=[*ports, *allow], block_hosts=block), **options)
    try:
        yield http
    finally:
        await http.aclose()


def names(**table):
    """A resolver over a table; a list of lists gives one answer after another."""
    calls = []

    async def resolve(host, port):
        calls.append((host, port))
        answer = table.get(host.split(".")[0])
        if answer is None:
            raise OSError("no such name")
        return answer.pop(0) if answer and isinstance(answer[0], list) else answer

    resolve.calls = calls
    return resolve


# --- ordinary use -------------------------------------------------------------------------------


async def test_get_returns_the_whole_response():
    body = "grüße".encode("latin-1")
    answer = response(body, "Content-Type: text/plain; charset=latin-1", "X-A: 1", "X-A: 2")
    async with Server({"/p?a=1&b=x+y&b=z": answer}) as server, client(server) as http:
        found = await http.get(
            server.url("/p?a=1#frag"), params={"b": ["x y", "z"]}, headers={"X-Own": "v"}
        )
        sent = server.header(0)
    assert (found.status, found.body, found.text) == (200, body, "grüße")
    assert found.url == server.url("/p?a=1&b=x+y&b=z")
    assert (found.headers["content-type"], found.headers["X-a"]) == (
        "text/plain; charset=latin-1", "1, 2",
    )  # fmt: skip
    assert sent["host"] == f"127.0.0.1:{server.port}"
    assert sent["x-own"] == "v"
    assert sent["user-agent"].startswith("Hookline/")


async def test_error_status_is_returned_and_unknown_charset_read_as_utf8():
    answer = b"HTTP/1.1 404 No\r\nContent-Type: text/plain; charset=rot13\r\n\r\n\xc3\xa9\xff"
    async with Server({"/": answer}) as server, client(server) as http:
        found = await http.get(server.url())
    assert (found.status, found.text) == (404, "é\ufffd")


async def test_post_sends_its_body_and_head_reads_none():
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\nContent-Encoding: gzip\r\n\r\n"
    async with Server({"/head": head}) as server, client(server) as http:
        await http.request("post", server.url(), content=b'{"a": 1}')
        await http.request("POST", server.url(), json=[1, "é"])
        assert (await http.request("HEAD", server.url("/head"))).body == b""
    assert server.requests[0].startswith("POST / ")
    assert server.requests[0].endswith('{"a": 1}')
    assert server.requests[1].endswith('[1, "\\u00e9"]')
    assert server.header(1)["content-type"] == "application/json"


async def test_stream_gives_the_body_in_pieces():
    async with Server({"/": response(b"x" * 300_000)}) as server, client(server) as http:
        async with http.stream("GET", server.url()) as answer:
            assert answer.status == 200
            sizes = [len(chunk) async for chunk in answer.chunks()]
        assert sum(sizes) == 300_000
        assert len(sizes) > 1
        async with http.stream("GET", server.url()) as answer:
            async for _ in answer.chunks():
                break  # the rest is not read, and nothing is left open


async def test_response_chunks_are_the_same_for_get_and_stream():
    async with Server({"/": response(b"body")}) as server, client(server) as http:
        whole = await http.get(server.url())
        assert [chunk async for chunk in whole.chunks()] == [whole.body] == [b"body"]
        async with http.stream("GET", server.url()) as answer:
            assert answer.body == b""
            assert b"".join([chunk async for chunk in answer.chunks()]) == b"body"


async def test_before_callback_gets_every_hop_and_can_end_the_call():
    hops = []

    async def before(url):
        assert len(server.requests) == len(hops)
        hops.append(url)
        if url.endswith("/three"):
            raise HttpRefused("not there")

    answers = {"/": redirect("/two"), "/two": redirect("three"), "/three": OK}
    async with Server(answers) as server, client(server) as http:
        assert (await http.get(server.url("/three#x"))).status == 200
        server.requests.clear()
        with pytest.raises(HttpRefused, match="not there"):
            await http.get(server.url(), before=before)
        assert hops == [server.url("/"), server.url("/two"), server.url("/three")]
        assert len(server.requests) == 2


async def test_timeout_includes_the_before_callback():
    async def before(url):
        await asyncio.sleep(30)

    async with Server({}) as server, client(server) as http:
        with pytest.raises(HttpFailed, match="longer"):
            await http.get(server.url(), before=before, timeout=0.1)


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
async def test_compressed_bodies_are_decompressed(coding):
    packed = gzip.compress(b"hello" * 99) if coding == "gzip" else zlib.compress(b"hello" * 99)
    answer = response(packed, f"Content-Encoding: {coding}")
    async with Server({"/": answer}) as server, client(server) as http:
        assert (await http.get(server.url())).body == b"hello" * 99
    assert server.header(0)["accept-encoding"] == "gzip, deflate"


async def test_client_handles_parallel_calls_and_use_after_close():
    async with Server({}) as server, client(server) as http:
        found = await asyncio.gather(*(http.get(server.url(f"/{n}")) for n in range(20)))
        assert {f.body for f in found} == {b"ok"}
        await http.aclose()
        assert (await http.get(server.url())).body == b"ok"


def test_one_client_serves_several_event_loops():
    http = GuardedHttp(NetworkPolicy(allow_hosts=["127.0.0.1"]))

    async def once():
        async with Server({}) as server:
            return (await http.get(server.url())).body

    assert [asyncio.run(once()) for _ in range(3)] == [b"ok"] * 3


# --- refusals -----------------------------------------------------------------------------------


async def test_loopback_without_an_exemption_is_refused_and_not_dialled():
    async with Server({}) as server, client() as http:
        for host in ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433", "0"):
            with pytest.raises(HttpRefused):
                await http.get(server.url(host=host))
            assert http.check_url(server.url(host=host))
    assert server.requests == []


async def test_check_url_does_not_resolve_names():
    resolve = names()
    async with client(resolve=resolve) as http:
        assert http.check_url("https://example.org/") is None
        assert "metadata" in http.check_url("http://169.254.169.254/latest")
        assert http.check_url("file:///etc/passwd").endswith(".")
    assert resolve.calls == []


@pytest.mark.parametrize(
    "answer",
    [["10.0.0.1"], ["8.8.8.8", "10.0.0.1"], ["::1"], ["::ffff:10.0.0.1"], ["169.254.169.254"],
     ["fe80::1%eth0"], ["not an address"]],
)  # fmt: skip
async def test_name_with_one_refused_address_is_refused(answer):
    async with client(resolve=names(evil=answer)) as http:
        with pytest.raises(HttpRefused):
            await http.get("http://evil.example/")


async def test_dns_rebinding_does_not_change_the_dialled_address():
    """Within a request the resolver is asked once; its second, private answer is not used."""
    async with Server({}) as server:
        resolve = names(evil=[["127.0.0.1"], ["10.0.0.1"]])
        async with client(server, resolve=resolve) as http:
            found = await http.get(server.url(host="evil.example"))
            assert found.body == b"ok"
            assert len(resolve.calls) == 1
            assert server.header(0)["host"] == f"evil.example:{server.port}"
            with pytest.raises(HttpRefused):
                await http.get(server.url(host="evil.example"))


async def test_dead_address_falls_back_to_the_next():
    async with Server({}) as server, client(
        allow=["two.example"], resolve=names(two=["127.0.0.2", "127.0.0.1"])
    ) as http:  # fmt: skip
        assert (await http.get(server.url(host="two.example"))).body == b"ok"


async def test_proxies_and_netrc_of_the_environment_are_not_used(monkeypatch, tmp_path):
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password secret\n")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    monkeypatch.setenv("HOME", str(tmp_path))
    async with Server({}) as proxy, Server({}) as server, client(server) as http:
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url())
        await http.get(server.url())
    assert proxy.requests == []
    assert "authorization" not in server.header(0)


async def test_server_without_tls_is_told_with_the_right_address(monkeypatch):
    """It waits for a request line, as many servers do."""
    monkeypatch.setattr("hookline.io.http.transport.HANDSHAKE_SECONDS", 0.2)
    async with Server({}) as server, client(server) as http:
        url = server.url().replace("http://", "https://")
        with pytest.raises(HttpFailed) as raised:
            await http.get(url)
    right = f"127.0.0.1:{server.port} speaks plain HTTP. Write http:// instead of https://."
    assert str(raised.value) == f"{url} cannot be reached: {right}"


async def test_cookies_are_not_kept():
    answer = response(b"", "Set-Cookie: a=1")
    async with Server({"/": answer}) as server, client(server) as http:
        await http.get(server.url())
        await http.get(server.url())
    assert "cookie" not in server.header(1)


@pytest.mark.parametrize("name", ["Host", "Content-Length", "transfer-encoding", "Proxy-X", "TE"])
async def test_headers_that_frame_a_message_are_refused(name):
    async with client() as http:
        with pytest.raises(HttpRefused, match=name):
            await http.get("http://example.org/", headers={name: "x"})


@pytest.mark.parametrize("method", ["CONNECT", "TRACE", "GET / HTTP/1.1\r\nX:", ""])
async def test_invalid_methods_are_refused(method):
    async with client() as http:
        with pytest.raises(HttpRefused):
            await http.request(method, "http://example.org/")


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\0b", "ünï"])
async def test_header_injection_is_refused(value):
    async with Server({}) as server, client(server) as http:
        with pytest.raises(HttpRefused):
            await http.get(server.url(), headers={"X-A": value})
    assert all("Evil" not in request for request in server.requests)


# --- redirects ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "target",
    ["http://169.254.169.254/", "http://10.0.0.1/", "http://127.0.0.1:1/", "file:///etc/passwd",
     "//127.0.0.1:1/", "http://user:pw@example.org/", "http://2130706433/", "http://[::1]/",
     "http://blocked.example/", "http://inner.example/", "http://[bad/", "gopher://x/"],
)  # fmt: skip
async def test_every_redirect_hop_is_checked(target):
    resolve = names(blocked=["8.8.8.8"], inner=["192.168.1.1"])
    async with (
        Server({"/": redirect("/two"), "/two": redirect(target)}) as server,
        client(server, block=["blocked.example"], resolve=resolve) as http,
    ):
        with pytest.raises(HttpRefused):
            await http.get(server.url())
    assert len(server.requests) == 2


async def test_relative_redirects_are_followed_to_the_final_url():
    answers = {"/a/b": redirect("../c?x=1"), "/c?x=1": redirect("?y=2"), "/c?y=2": OK}
    async with Server(answers) as server, client(server) as http:
        found = await http.get(server.url("/a/b"))
    assert (found.status, found.url) == (200, server.url("/c?y=2"))


async def test_redirect_without_location_is_a_response():
    async with (
        Server({"/": b"HTTP/1.1 304 X\r\nContent-Length: 0\r\n\r\n"}) as server,
        client(server) as http,
    ):
        assert (await http.get(server.url())).status == 304


async def test_too_many_redirects_fail():
    answers = {f"/{n}": redirect(f"/{n + 1}") for n in range(11)}
    async with Server({**answers, "/loop": redirect("/loop")}) as server:
        async with client(server) as http:
            assert (await http.get(server.url("/1"))).url == server.url("/11")
            for path in ("/0", "/loop"):
                with pytest.raises(HttpFailed, match="more than 10 times"):
                    await http.get(server.url(path))
        async with client(server, max_redirects=0) as http:
            with pytest.raises(HttpFailed):
                await http.get(server.url("/1"))


SECRETS = {"Authorization": "Bearer s", "Cookie": "a=s", "X-Api-Key": "s", "Private-Token": "s"}


async def test_credentials_are_sent_only_to_their_origin():
    async with Server({}) as other:
        answers = {"/same": redirect("/end"), "/other": redirect(other.url("/back"))}
        async with Server(answers) as server, client(server, other) as http:
            other.answers["/back"] = redirect(server.url("/end"))
            headers = {**SECRETS, "Accept-Language": "de"}
            await http.get(server.url("/same"), headers=headers)
            await http.get(server.url("/other"), headers=headers)
    same, away, back = server.header(1), other.header(0), server.header(3)
    for name, value in SECRETS.items():
        assert same[name.lower()] == value
        assert name.lower() not in away
        assert name.lower() not in back
    assert away["accept-language"] == "de"


@pytest.mark.parametrize(
    ("status", "method", "expected"),
    [(301, "POST", "GET"), (302, "POST", "GET"), (303, "PUT", "GET"), (303, "HEAD", "HEAD"),
     (307, "POST", "POST"), (308, "PUT", "PUT"), (301, "PUT", "PUT"), (302, "GET", "GET")],
)  # fmt: skip
async def test_redirect_status_decides_method_and_body(status, method, expected):
    empty = b"HTTP/1.1 204 X\r\n\r\n"
    async with (
        Server({"/": redirect("/end", status), "/end": empty}) as server,
        client(server) as http,
    ):
        content = b"body" if method in ("POST", "PUT") else None
        await http.request(method, server.url(), content=content)
    assert server.requests[1].startswith(f"{expected} /end ")
    assert server.requests[1].endswith("body") is (expected in ("POST", "PUT"))


# --- limits -------------------------------------------------------------------------------------


async def dribble(writer):
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    for _ in range(1000):
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.05)


async def dribble_header(writer):
    for byte in b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 1000:
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(0.05)


async def silent(writer):
    await asyncio.sleep(30)


async def endless_redirect(writer):
    await asyncio.sleep(0.1)
    writer.write(redirect("/again"))
    await writer.drain()


@pytest.mark.long
@pytest.mark.parametrize("behaviour", [dribble, dribble_header, silent, endless_redirect])
async def test_timeout_covers_every_phase_of_a_call(behaviour):
    async with (
        Server({"/": behaviour, "/again": behaviour}) as server,
        client(server, timeout=0.3, max_redirects=100) as http,
    ):
        started = time.monotonic()
        with pytest.raises(HttpFailed, match=r"longer than 0\.3 s"):
            await http.get(server.url())
        with pytest.raises(HttpFailed, match=r"longer than 0\.2 s"):
            await http.get(server.url(), timeout=0.2)
        assert time.monotonic() - started < 2


async def test_timeout_covers_the_resolver():
    async def resolve(host, port):
        await asyncio.sleep(30)

    async with client(resolve=resolve, timeout=0.1) as http:
        with pytest.raises(HttpFailed, match="longer"):
            await http.get("http://example.org/")


async def test_body_over_the_limit_raises():
    async def endless(writer):
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b"x" * 65_536)
            await writer.drain()

    async with (
        Server({"/": endless, "/ok": response(b"x" * 1000)}) as server,
        client(server, max_bytes=1000) as http,
    ):
        assert len((await http.get(server.url("/ok"))).body) == 1000
        with pytest.raises(HttpFailed, match="more than 1,000 bytes"):
            await http.get(server.url())
        with pytest.raises(HttpFailed, match="more than 999 bytes"):
            await http.get(server.url("/ok"), max_bytes=999)


@pytest.mark.slow
@pytest.mark.parametrize("coding", ["gzip", "deflate"])
async def test_compression_bomb_is_stopped(coding):
    wbits = 31 if coding == "gzip" else 15
    packer = zlib.compressobj(9, zlib.DEFLATED, wbits)
    packed = b"".join(packer.compress(bytes(1_000_000)) for _ in range(100)) + packer.flush()
    assert len(packed) < 200_000
    answer = response(packed, f"Content-Encoding: {coding}")
    async with Server({"/": answer}) as server, client(server, max_bytes=500_000) as http:
        with pytest.raises(HttpFailed, match="more than 500,000 bytes"):
            await http.get(server.url())


async def test_compressed_bytes_that_decode_to_nothing_count_to_the_limit():
    async def empty_blocks(writer):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\n\x78\x9c")
        while True:
            writer.write(b"\x00\x00\x00\xff\xff" * 10_000)
            await writer.drain()

    async with Server({"/": empty_blocks}) as server, client(server, max_bytes=200_000) as http:
        with pytest.raises(HttpFailed, match="more than 200,000 bytes"):
            await http.get(server.url())


@pytest.mark.parametrize("coding", ["gzip, gzip", "br", "gzip, deflate", "x"])
async def test_unrequested_content_encoding_fails(coding):
    answer = response(gzip.compress(gzip.compress(b"x")), f"Content-Encoding: {coding}")
    async with Server({"/": answer}) as server, client(server) as http:
        with pytest.raises(HttpFailed, match="not asked for"):
            await http.get(server.url())


async def test_header_flood_fails():
    async def endless(writer):
        writer.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            writer.write(b"X-A: " + b"x" * 1000 + b"\r\n")
            await writer.drain()

    big = b"HTTP/1.1 200 OK\r\nX-A: " + b"x" * 70_000 + b"\r\n\r\n"
    many = b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 15_000 + b"\r\n"
    fine = b"HTTP/1.1 200 OK\r\nX-A: " + b"x" * 30_000 + b"\r\nContent-Length: 0\r\n\r\n"
    answers = {"/endless": endless, "/big": big, "/many": many, "/fine": fine}
    async with Server(answers) as server, client(server, timeout=5) as http:
        assert (await http.get(server.url("/fine"))).status == 200
        for path in ("/endless", "/big", "/many"):
            with pytest.raises(HttpFailed):
                await http.get(server.url(path))


@pytest.mark.parametrize(
    "answer",
    [b"", b"garbage\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort",
     b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", b"HTTP/1.1 200 OK\r\n bad\r\n\r\n",
     b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nnot gzip",
     b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"],
)  # fmt: skip
async def test_malformed_response_fails_with_a_sentence(answer):
    async with Server({"/": answer}) as server, client(server) as http:
        with pytest.raises(HttpFailed) as caught:
            await http.get(server.url())
    assert str(caught.value).startswith(server.url())
    assert str(caught.value).endswith(".")


async def test_unreachable_host_fails_with_a_sentence():
    async with Server({}) as server:
        pass
    async with client(server, resolve=names(empty=[])) as http:
        with pytest.raises(HttpFailed, match="cannot be reached"):
            await http.get(server.url())
        with pytest.raises(HttpFailed, match="not found"):
            await http.get("http://missing.example/")
        with pytest.raises(HttpFailed, match="no address"):
            await http.get("http://empty.example/")


async def test_cancelled_call_is_not_a_network_error():
    async with Server({"/": silent}) as server, client(server) as http:
        task = asyncio.create_task(http.get(server.url()))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


# --- TLS ----------------------------------------------------------------------------------------


@pytest.fixture
def certificate(tmp_path):
    """A self-signed certificate for good.example, and the contexts of both sides."""
    if shutil.which("openssl") is None:
        pytest.skip("needs the openssl command")
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-keyout", str(key), "-out", str(cert), "-subj", "/CN=good.example"]
    command += ["-addext", "subjectAltName=DNS:good.example", "-days", "2"]
    subprocess.run(command, check=True, capture_output=True)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(cert, key)
    return server, ssl.create_default_context(cafile=cert)


async def test_certificates_are_those_that_the_environment_names(
    certificate, tmp_path, monkeypatch
):
    server = Server({})
    server.ssl, _ = certificate
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
    async with server, client(server, resolve=names(good=["127.0.0.1"])) as http:
        found = await http.get(f"https://good.example:{server.port}/")
    assert found.body == b"ok"


@pytest.mark.parametrize("content", [None, "no certificate"])
async def test_unreadable_certificates_are_named(tmp_path, monkeypatch, content):
    file = tmp_path / "cert.pem"
    if content is not None:
        file.write_text(content)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    async with Server({}) as server, client(server) as http:
        with pytest.raises(HttpFailed, match=r"SSL_CERT_FILE names .*cert\.pem, .* unset"):
            await http.get(server.url())


async def test_certificates_are_used_once_they_can_be_read(certificate, tmp_path, monkeypatch):
    file = tmp_path / "late.pem"
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    async with Server({}) as server, client(server) as http:
        with pytest.raises(HttpFailed, match=r"late\.pem"):
            await http.get(server.url())
        shutil.copy(tmp_path / "cert.pem", file)
        assert (await http.get(server.url())).body == b"ok"


async def test_tls_is_verified_against_the_requested_name(certificate):
    theirs, ours = certificate
    server = Server({})
    server.ssl = theirs
    table = {"good": ["127.0.0.1"], "other": ["127.0.0.1"]}
    async with server:
        async with client(server, resolve=names(**table), ssl_context=ours) as http:
            found = await http.get(f"https://good.example:{server.port}/")
            assert found.body == b"ok"
            for host in ("other.example", "127.0.0.1"):
                with pytest.raises(HttpFailed, match=r"(?i)certificate"):
                    await http.get(f"https://{host}:{server.port}/")
        async with client(server, resolve=names(**table)) as http:
            with pytest.raises(HttpFailed, match=r"(?i)certificate"):
                await http.get(f"https://good.example:{server.port}/")
    assert len(server.requests) == 1


async def test_credentials_are_not_sent_after_redirect_from_https_to_http(certificate):
    theirs, ours = certificate
    async with Server({}) as plain:
        secure = Server({"/": redirect(plain.url("/end", host="good.example"))})
        secure.ssl = theirs
        async with secure:
            resolve = names(good=["127.0.0.1"])
            async with client(plain, secure, resolve=resolve, ssl_context=ours) as http:
                await http.get(f"https://good.example:{secure.port}/", headers=SECRETS)
    assert not {name.lower() for name in SECRETS} & set(plain.header(0))


SECRET = "sk-secret-0123456789"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Authorization", f"Bearer {SECRET}\nX-Other: 1"),
        ("Authorization", f"Bearer {SECRET}\r\n"),
        ("Authorization", f"Bearer {SECRET}\0"),
        ("Authorization", f" {SECRET}"),
        ("X-Api-Key", f"{SECRET}-ключ"),
        ("X-Api-Key", f"{SECRET}-schlüssel"),
        ("X-Api-Key: x\nX-Other", SECRET),
        ("", SECRET),
    ],
)
async def test_invalid_header_error_names_the_header_but_not_its_value(name, value):
    async with Server({}) as server, client(server) as http:
        with pytest.raises(HttpRefused) as refused:
            await http.get(server.url(), headers={name: value})
    assert f"The header {name!r} cannot be sent" in str(refused.value)
    assert SECRET not in "".join(traceback.format_exception(refused.value))
    assert server.requests == []


@pytest.mark.parametrize("value", ["", "a", "Bearer abc.def==", "a b\tc", '"x", y;q=0.5'])
async def test_valid_headers_are_sent(value):
    async with Server({}) as server, client(server) as http:
        await http.get(server.url(), headers={"X-Own": value})
        assert server.header(0)["x-own"] == value


# --- a connection for another protocol ----------------------------------------------------------


async def test_connect_dials_the_checked_address():
    resolve = names(app=["127.0.0.1"])
    async with Server({}) as server, client(server, resolve=resolve) as http:
        reader, writer = await http.connect("app.example", server.port)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        writer.close()
    assert len(resolve.calls) == 1


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "169.254.169.254", "[::1]", "localhost", "inner.example", "mixed.example"]
)
async def test_connect_to_a_private_address_is_refused(host):
    resolve = names(inner=["10.0.0.1"], mixed=["93.184.216.34", "169.254.169.254"])
    async with Server({}) as server, client(resolve=resolve) as http:
        with pytest.raises(HttpRefused):
            await http.connect(host, server.port)
        assert not server.requests


async def test_connect_checks_the_name_again_on_every_call():
    resolve = names(app=[["127.0.0.1"], ["169.254.169.254"]])
    async with Server({}) as server, client(server, resolve=resolve) as http:
        (await http.connect("app.example", server.port))[1].close()
        with pytest.raises(HttpRefused):
            await http.connect("app.example", server.port)
