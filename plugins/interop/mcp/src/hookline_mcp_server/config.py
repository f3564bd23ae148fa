"""The settings under ``plugins: mcp-server:``."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

Permission: TypeAlias = Literal["messages_send", "permissions_respond"]


class McpServerConfig(BaseModel):
    """What callers may do, and how they reach the server over HTTP."""

    model_config = ConfigDict(extra="allow")

    allow: list[Permission] = Field(
        default=[], description="Tools to offer besides the reading tools and `ask_agent`."
    )
    trust: bool = Field(
        default=False,
        description="Treat callers' prompts as yours; otherwise as text from outside.",
    )
    chats: list[str] = Field(
        default=["*"],
        description="Patterns of the chats whose sessions callers may read, such as `telegram:*`.",
    )
    hosts: list[str] = Field(
        default=[],
        description="Host names, with port, under which other machines reach the server over HTTP; "
        "without any it listens on loopback only.",
    )
