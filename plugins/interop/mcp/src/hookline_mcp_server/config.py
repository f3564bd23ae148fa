"""The settings under ``plugins: mcp-server:``."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

Permission: TypeAlias = Literal["messages_send", "permissions_respond"]


class McpServerConfig(BaseModel):
    """What callers may do, and how they reach the server over HTTP."""

    model_config = ConfigDict(extra="allow")

    allow: list[Permission] = Field(
        default=[],
        title="Additional tools",
        description="Tools to offer in addition to the reading tools and `ask_agent`.",
    )
    trust: bool = Field(
        default=False,
        title="Trust callers' prompts",
        description="Treat callers' prompts as yours; otherwise they count as text from outside.",
    )
    chats: list[str] = Field(
        default=["*"],
        title="Readable chats",
        description="Chats whose sessions callers may read, as patterns such as `telegram:*`.",
    )
    hosts: list[str] = Field(
        default=[],
        title="Host names",
        description=(
            "Host names with port at which other machines reach the server over HTTP; if empty, "
            "only this machine can."
        ),
    )
