"""Secrets that are sent to one host."""

from __future__ import annotations

import asyncio
import json
import shutil
import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_hookspecs import HooklineError, Plugin, tool
from hookline_vault import VaultPlugin
from hookline_vault.host_headers import HostHeaders, content_for

CANARY = "canary-9b1c-of-the-api"


class Fetcher(Plugin):
    """A tool that asks a server, and returns what it answers."""

    @tool
    async def fetch(self, url: str, key: str = "") -> str:
        """Fetch something."""
        headers = {"x-key": key} if key else {}
        return str((await self.host.http.get(url, headers=headers)).body.decode())


class Server:
    """Answers with the headers that it got, or sends elsewhere."""

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self._context = context
        self.got: list[str] = []

    async def __aenter__(self) -> Server:
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0, ssl=self._context)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_rest: object) -> None:
        self.server.close()
        await self.server.wait_closed()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.got.append(head)
        to = head.split()[1].removeprefix("/")
        body = head.encode()
        answer = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
        if to.startswith("http"):
            answer = f"HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n".encode()
        writer.write(answer)
        await writer.drain()
        writer.close()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A certificate for api.example and other.example, and the contexts of both sides."""
    if shutil.which("openssl") is None:
        pytest.skip("needs the openssl command")
    folder = tmp_path_factory.mktemp("certificate")
    key, cert = folder / "key.pem", folder / "cert.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-keyout", str(key), "-out", str(cert), "-subj", "/CN=api.example"]
    command += ["-addext", "subjectAltName=DNS:api.example,DNS:other.example", "-days", "2"]
    subprocess.run(command, check=True, capture_output=True)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(cert, key)
    return server, ssl.create_default_context(cafile=cert)


async def here(_name: str, _port: int) -> list[str]:
    return ["127.0.0.1"]


async def fetched(h: Harness, url: str, **more: str) -> None:
    """Have the model fetch an address in a turn."""
    h.model.steps += [calls("fetch", url=url, **more), "done"]
    await h.asend(url)


@pytest.mark.slow
def test_secret_is_sent_only_to_its_host_and_redacted_in_the_result(
    harness: Callable[..., Harness],
    tmp_path: Path,
    certificate: tuple[ssl.SSLContext, ssl.SSLContext],
) -> None:
    theirs, ours = certificate
    made = harness(VaultPlugin, Fetcher, home=tmp_path / "home")
    assert made.cli("vault rekey --to file").exit_code == 0

    async def story() -> None:
        async with Server(theirs) as secure, Server(None) as plain:
            api, other = (f"https://{one}.example:{secure.port}" for one in ("api", "other"))
            content = content_for(CANARY, f"api.example:{secure.port}", "X-Key: Bearer {}")
            http: Any = (await made.aopen()).engine.http
            http.policy = type(http.policy)(False, [], [])
            http._resolve, http._ssl_context = here, ours
            await made.plugin(VaultPlugin).secrets.store("api", content)
            for url, carried in (
                (f"{api}/", [True]),
                (f"{other}/", [False]),
                (f"http://api.example:{plain.port}/", [False]),
                (f"{api}/{other}/", [True, False]),
                (f"{api}/http://api.example:{plain.port}/", [True, False]),
                (f"{other}/{api}/", [False, True]),
            ):
                secure.got.clear()
                plain.got.clear()
                await fetched(made, url)
                got = [*secure.got, *plain.got]
                assert [f"x-key: Bearer {CANARY}" in one for one in got] == carried, url
            await fetched(made, f"{api}/", key="one of the call")
            assert "x-key: one of the call" in secure.got[-1]

    made.run(story())
    said = "".join(body.decode() for body in made.model.bodies)
    assert CANARY not in said
    assert "x-key: [secret]" in said
    for file in made.home.rglob("*"):
        assert not file.is_file() or CANARY.encode() not in file.read_bytes(), file


@pytest.mark.long
@pytest.mark.parametrize(
    "given",
    [
        "--host api.example.com",
        "--header 'X: {}'",
        "--host '*.example.com' --header 'X: {}'",
        "--host https://api.example.com --header 'X: {}'",
        "--host API.example.com --header 'X: {}'",
        "--host api.example.com:0 --header 'X: {}'",
        "--host api.example.com --header 'X: no place'",
        "--host api.example.com --header 'X: {} {}'",
        "--host api.example.com --header 'X {}'",
    ],
)
def test_invalid_host_or_header_is_refused_before_the_value_is_read(
    harness: Callable[..., Harness], tmp_path: Path, given: str
) -> None:
    made = harness(VaultPlugin, home=tmp_path / "home")
    made.cli("vault rekey --to file")
    done = made.cli(f"vault set api {given}", input="a value")
    assert done.exit_code == 1
    assert "write" in done.stderr or "go together" in done.stderr
    assert json.loads(made.cli("vault list --json").stdout) == []


@pytest.mark.slow
def test_host_changed_in_the_table_is_refused(
    harness: Callable[..., Harness], tmp_path: Path
) -> None:
    made = harness(VaultPlugin, home=tmp_path / "home")
    made.cli("vault rekey --to file")
    done = made.cli("vault set api --host api.example --header 'X-Key: {}'", input=CANARY)
    assert "to no other host" in done.stdout
    (row,) = json.loads(made.cli("vault list --json").stdout)
    assert (row["hosts"], row["header"]) == (["api.example"], "X-Key: {}")

    async def moved() -> Any:
        store = (await made.aopen()).engine.store
        await store.write(
            lambda db: db.execute(
                "UPDATE vault_secrets SET hosts = replace(hosts, 'api', 'bad')", {}
            )
        )
        vault = made.plugin(VaultPlugin)
        return await HostHeaders(vault.host, vault.secrets).headers("bad.example", 443)

    with pytest.raises(HooklineError, match="changed in the database"):
        made.run(moved())
