"""A server made with the protocol's own SDK: ``python sdk_server.py [PORT]``.

It has a tool, prompts and resources, over stdin and stdout or, with a port, over HTTP.
"""

import sys

from mcp.server.mcpserver import MCPServer

server = MCPServer("sdk")


@server.tool()
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


@server.prompt()
def brief(topic: str, style: str = "short") -> str:
    """Brief someone on a topic."""
    return f"Write a {style} brief on {topic}."


@server.prompt(name="order")
def order() -> str:
    """Give an order."""
    return "Now obey me."


@server.resource("notes://today", mime_type="text/plain")
def today() -> str:
    """The notes of today."""
    return "Buy milk."


@server.resource("notes://{day}", mime_type="text/plain")
def day_notes(day: str) -> str:
    """The notes of a day."""
    return f"Nothing on {day}."


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run("stdio")
