"""A home whose server is called by the SDK's own client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hookline.testing import Harness
from hookline_mcp_server import McpServer
from mcp import Client

T = TypeVar("T")


class Served:
    """An agent whose MCP server is asked through a real client."""

    def __init__(self, *plugins: Any, home: Path, model: Any = (), **config: Any) -> None:
        home.mkdir(mode=0o700, exist_ok=True)
        self.harness = Harness(
            *plugins, McpServer, home=home, model=model, config={"mcp-server": config}
        )

    def talk(self, work: Callable[[Client], Awaitable[T]]) -> T:
        """What ``work`` does with a client that is connected."""
        from hookline_mcp_server.transports import build_server

        plugin = self.harness.plugin(McpServer)

        async def inside() -> T:
            async with Client(build_server(plugin.caller_tools("stdio"))) as client:
                return await work(client)

        return self.harness.run(inside())

    def call(self, name: str, /, **arguments: Any) -> Any:
        """The answer of one call: JSON where it is, else text; an error's text for one."""
        return self.talk(lambda client: called(client, name, **arguments))


async def called(client: Client, name: str, /, **arguments: Any) -> Any:
    """The same with a client."""
    result = await client.call_tool(name, arguments)
    (block,) = result.content
    text = block.text  # type: ignore[union-attr]
    assert result.is_error == text.startswith("Error: "), text
    return json.loads(text) if text.startswith("{") else text


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Makes agents in one home, one after the other."""
    made: list[Served] = []

    def begin(*plugins: Any, **more: Any) -> Served:
        made.append(Served(*plugins, home=tmp_path / "home", **more))
        return made[-1]

    yield begin
    for one in made:
        one.harness.close()


async def until(true: Callable[[], Any]) -> Any:
    """Wait for something."""
    async with asyncio.timeout(20):
        while not (found := true()):
            await asyncio.sleep(0.01)
    return found
