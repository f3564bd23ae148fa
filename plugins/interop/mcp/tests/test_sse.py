"""Servers that speak HTTP with SSE, the older transport."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from support.mcp_site import McpSite, mcp_site

pytest.importorskip("mcp.client.client")  # takes a second, which would count as a blocked loop
HERE = {"network.allow_hosts": ["127.0.0.1"]}


@pytest.fixture
def site(mcp_home: Any) -> Iterator[McpSite]:
    """A server on loopback, named `old` in a file of another program."""
    mcp_home.core = HERE
    with mcp_site() as made:
        entry = {"type": "sse", "url": f"{made.url}/sse?key=$X", "headers": {"X-Key": "k-1"}}
        entry |= {"approval": "never"}
        file = mcp_home.folder / "servers.json"
        file.write_text(json.dumps({"mcpServers": {"old": entry}}), "utf-8")
        mcp_home.config["files"] = [str(file)]
        yield made


def test_sse_tool_is_called_with_configured_headers(mcp_home: Any, site: McpSite) -> None:
    assert "(sse)" in mcp_home.cli("mcp approve old --yes")
    requests = json.loads(mcp_home.call("mcp__old__observe").text)
    assert requests[0][:2] == ["GET", "/sse?key=$X"]
    assert all(headers["x-key"] == "k-1" for _, _, headers in requests)
    assert {method for method, _, _ in requests} == {"GET", "POST"}


def test_another_origin_gets_nothing(mcp_home: Any, site: McpSite) -> None:
    entry = {"transport": "sse", "headers": {"X-Key": "k-1"}, "connect_timeout": 2}
    servers = mcp_home.config["servers"]
    servers["away"] = {**entry, "url": f"{site.url}/sse-elsewhere"}
    servers["moved"] = {**entry, "url": f"{site.url}/redirect"}
    mcp_home.cli("mcp test away", code=1)
    assert "cannot reach" in mcp_home.cli("mcp test moved", code=1)
    assert {path for _, path, _ in site.requests} == {"/sse-elsewhere", "/redirect"}
    assert site.elsewhere == []
