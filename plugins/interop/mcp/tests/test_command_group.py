"""The command group ``hookline mcp``: another plugin may add to it."""

from __future__ import annotations

from typing import Any

from hookline_hookspecs import Plugin, hookimpl


class Serving(Plugin):
    """Adds a command."""

    @hookimpl
    def register_cli(self, register: Any) -> None:
        async def serve() -> None:
            """Serve."""
            print("serving")

        register("mcp serve", serve, help="Serve.")


def test_another_plugin_adds_to_the_command_group(mcp_home: Any) -> None:
    assert mcp_home.cli("mcp serve", plugins=[Serving]) == "serving\n"
    output = mcp_home.cli("mcp --help", plugins=[Serving])
    for name in ("list", "add", "test", "tools", "approve", "login", "remove", "serve"):
        assert f"  {name} " in output
