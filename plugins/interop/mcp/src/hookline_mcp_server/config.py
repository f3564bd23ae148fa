"""The settings under ``plugins: mcp-server:``."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

Permission: TypeAlias = Literal["messages_send", "permissions_respond"]


class McpServerConfig(BaseModel):
    """What callers may do, and how they reach the server over HTTP."""

    model_config = ConfigDict(extra="allow")

    allow: list[Permission] = Field(
        default=[], description="Tools that are offered besides those that read and `ask_agent`."
    )
    trust: bool = Field(
        default=False,
        description="What a caller asks counts as yours; otherwise as words from outside.",
    )
    chats: list[str] = Field(
        default=["*"],
        description="Patterns of the chats whose sessions are shown, such as `telegram:*`.",
    )
    hosts: list[str] = Field(
        default=[],
        description="Names, with port, under which others reach the server over HTTP; without one "
        "it listens on loopback only.",
    )
