"""Configuration of the web server: addresses, hosts, and what doctor says."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hookline.testing import Harness
from hookline_hookspecs import Check, HooklineError
from hookline_web_server import WebServerConfig
from pydantic import ValidationError
from support.web import WEB, Site, listening, web_plugins

from .conftest import Serve


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"listen": "8780"}, "write host:port"),
        ({"public_url": "example.org"}, "a scheme and a host"),
        ({"public_url": "https://example.org/hook"}, "a scheme and a host"),
        ({"public_url": "https://me@example.org"}, "a scheme and a host"),
        ({"hosts": ["*.example.org"]}, "is not a host"),
        ({"hosts": ["https://example.org"]}, "is not a host"),
        ({"trusted_proxies": ["proxy"]}, "not an IP address or network"),
    ],
)
def test_config_explains_bad_values(settings: dict[str, Any], word: str) -> None:
    with pytest.raises(ValidationError, match=word):
        WebServerConfig(**settings)


@pytest.mark.parametrize(
    ("settings", "url"),
    [
        ({}, "http://127.0.0.1:8780"),
        ({"listen": "[::1]:80"}, "http://[::1]:80"),
        ({"listen": "0.0.0.0:1", "hosts": ["box.lan"]}, "http://box.lan:1"),
        ({"listen": "0.0.0.0:1"}, "http://127.0.0.1:1"),
        ({"public_url": "https://Example.org/"}, "https://example.org"),
        ({"tls": {"cert": "c", "key": "k"}}, "https://127.0.0.1:8780"),
    ],
)
def test_config_url_is_derived_from_settings(settings: dict[str, Any], url: str) -> None:
    assert WebServerConfig(**settings).url() == url


def test_config_refuses_unencrypted_public_address(harness: Callable[..., Harness]) -> None:
    h = harness(*web_plugins(), config={**WEB, "web-server": {"listen": "0.0.0.0:0"}})

    async def story() -> None:
        await h.aopen()
        with pytest.raises(HooklineError, match="insecure_http: true"):
            await h.plugin(web_plugins()[1]).shared.acquire()

    h.run(story())
    assert WebServerConfig(listen="0.0.0.0:0", insecure_http=True).startup_error() is None
    assert (
        WebServerConfig(listen="0.0.0.0:0", public_url="https://example.org").startup_error()
        is None
    )
    assert WebServerConfig(listen="0.0.0.0:0", public_url="http://example.org").startup_error()


def test_server_reports_used_port(harness: Callable[..., Harness]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        h = harness(*web_plugins(), config={**WEB, "web-server": {"listen": listen}})

        async def story() -> dict[str, Any]:
            await h.aopen()
            with pytest.raises(
                HooklineError, match=f"cannot listen on {listen}: Address already in use. .*listen:"
            ):
                await h.plugin(web_plugins()[1]).shared.acquire()
            found = {}
            for _, check in h.runtime.bus.registered(Check):
                result = check.run()
                found[check.name] = result if not hasattr(result, "__await__") else await result
            return found

        found = h.run(story())
    assert (found["port"].ok, "web-server.listen" in found["port"].fix) == (False, True)
    assert found["address"].ok
    assert found["public_url"].ok
    assert found["access"].ok


def test_server_stops_after_last_release(harness: Callable[..., Harness]) -> None:
    h = harness(*web_plugins(), config=WEB)

    async def story() -> None:
        async with listening(h) as site:
            server = site.server
            again = await server.acquire()
            assert again == site.url
            await server.release()
            async with site.client(None) as client:
                assert (await client.get("/healthz")).status_code == 200
        with pytest.raises(httpx2.ConnectError):
            httpx2.get(f"{site.url}/healthz", trust_env=False)

    h.run(story())


def test_server_accepts_configured_hosts_and_proxies(serve: Serve) -> None:
    async def story(site: Site) -> None:
        async with site.client(None) as client:
            del client.headers["Origin"]
            client.base_url = httpx2.URL(f"http://127.0.0.1:{site.server.server.port}")

            async def status(path: str = "/healthz", **headers: str) -> int:
                sent = {name.replace("_", "-"): value for name, value in headers.items()}
                return (await client.get(path, headers=sent)).status_code

            for host in ("box.lan", "box.lan:1", "BOX.lan", "Example.org", "example.org:443"):
                assert await status(host=host) == 200, host
            for host in ("box.lan.evil", "example.org:444", "box.lan:x", "box.lan:", "[box.lan]:"):
                assert await status(host=host) == 421, host
            assert await status(host="example.org", origin="https://example.org") == 200
            assert await status(host="example.org", origin="http://example.org") == 403
            assert await status("/metrics") == 200
            assert await status("/metrics", x_forwarded_for="203.0.113.9") == 401
            for number in range(6):  # the proxy tells who it is, so each has a limit of its own
                forwarded = {"X-Forwarded-For": f"10.0.0.1, 203.0.113.{number}"}
                own = {"Origin": "https://example.org", "Host": "example.org"}
                code = await client.post("/login", json={"code": "x"}, headers=own | forwarded)
                assert code.status_code == 401

    public = "https://example.org"
    serve(story, hosts=["box.lan"], public_url=public, trusted_proxies=["127.0.0.1"])


PROBE = """
import json, os, sys
from hookline.cli.app import run
try:
    run(["run", "hi", "--model", "scripted/model.yaml", "--no-input"])
finally:
    print(sorted({"starlette", "uvicorn", "h11", "segno"} & set(sys.modules)), file=sys.stderr)
"""


@pytest.mark.slow
@pytest.mark.parametrize("is_on", [False, True])
def test_plugin_imports_no_web_framework_before_listening(tmp_path: Path, is_on: bool) -> None:
    (tmp_path / "home").mkdir(mode=0o700)
    config = {"plugins": {"web-server": is_on}}
    (tmp_path / "home" / "config.yaml").write_text(json.dumps(config))
    (tmp_path / "model.yaml").write_text("steps: [{text: hello}]\n")
    env = {"PATH": "/usr/bin:/bin", "HOOKLINE_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [sys.executable, "-c", PROBE], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert done.stdout == "hello\n", done.stderr
    assert done.stderr.splitlines()[-1] == "[]"
