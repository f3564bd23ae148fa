"""The settings of the plugin."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import BaseModel, Field, SecretStr, field_validator, model_validator

LONGEST_NAME = 32
_NAME = re.compile(r"[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)*")


class OAuthConfig(BaseModel):
    """A client that was registered with the server's provider beforehand, under ``oauth:``."""

    client_id: str = ""
    """Empty: the client registers itself at the first login."""
    client_secret: SecretStr | None = None
    """The secret of ``client_id``, if it has one."""
    client_metadata_url: str | None = None
    """Where the client's metadata is published, for providers that take such an address."""
    scope: str | None = None
    """Scopes to ask for, separated by spaces; without it, those that the server names."""


class ServerConfig(BaseModel):
    """A server, under ``servers: NAME:``. Times are in seconds."""

    command: str = ""
    """The program of a server that speaks over stdin and stdout."""
    args: list[str] = Field(default_factory=list)
    """Its arguments."""
    env: dict[str, SecretStr] = Field(default_factory=dict)
    """Variables beside HOME, PATH, SHELL and TERM."""
    cwd: str | None = None
    """Where it runs; without it, in the workspace of the chat that calls it."""
    url: str = ""
    """The address of a server that speaks Streamable HTTP."""
    headers: dict[str, SecretStr] = Field(default_factory=dict)
    """Headers of every request to ``url``."""
    auth: Literal["oauth"] | None = None
    """How to log in to ``url``: ``hookline mcp login NAME``."""
    oauth: OAuthConfig = OAuthConfig()
    """What is known of the client beforehand."""
    allow: list[str] = Field(default_factory=list)
    """Patterns (``read_*``) of the tools that are offered; empty for all."""
    deny: list[str] = Field(default_factory=list)
    """Patterns of the tools that are not, which win over ``allow``."""
    timeout: float = Field(60, gt=0, le=86_400)
    """How long a call may take."""
    connect_timeout: float = Field(30, gt=0, le=3_600)
    """How long starting and listing the tools may take."""
    approval: Literal["ask", "never"] = "ask"
    """Ask a person before each call that is not known to be read-only, or leave that to other
    guards."""
    sandbox: bool = True
    """Run ``command`` in the sandbox, where there is one."""
    read_only: list[str] = Field(default_factory=list)
    """Folders that a sandboxed program sees beside the workspace and its own."""
    writable: list[str] = Field(default_factory=list)
    """Folders that it may also write to."""

    @model_validator(mode="after")
    def _one_way(self) -> ServerConfig:
        if bool(self.command) == bool(self.url):
            raise ValueError(
                "give either `command` (a program to run) or `url` (an address to reach)"
            )
        if self.url and not re.match(r"https?://[^/\s]", self.url):
            raise ValueError(f"url {self.url!r} is no address; write https://HOST/PATH")
        if self.auth and not self.url:
            raise ValueError("`auth: oauth` is for servers with a `url`; leave it out")
        return self


class McpConfig(BaseModel):
    """Settings under ``plugins: {mcp: …}``."""

    servers: dict[str, ServerConfig] = Field(default_factory=dict)
    """The servers by name."""
    files: list[str] = Field(default_factory=list)
    """JSON files of other programs whose ``mcpServers`` are servers too; ``~`` is the person's
    home."""
    discovery: Literal["auto", "direct", "search"] = "auto"
    """Offer the tools themselves, or two that find and call them; auto decides by size."""
    trust_annotations: bool = False
    """Believe a server that says of a tool that it only reads."""
    idle_seconds: float = Field(600, gt=0)
    """After how long without a call a server's connection is closed."""

    @field_validator("servers")
    @classmethod
    def _named(cls, servers: dict[str, ServerConfig]) -> dict[str, ServerConfig]:
        for name in servers:
            if (wrong := wrong_name(name)) is not None:
                raise ValueError(wrong)
        return servers


def wrong_name(name: str) -> str | None:
    """Why a server may not have this name; None if it may.

    Two underscores would make the names of its tools ambiguous.
    """
    if len(name) <= LONGEST_NAME and _NAME.fullmatch(name):
        return None
    return (
        f"{name[:60]!r} is no name of a server: write up to {LONGEST_NAME} letters and digits, "
        "with single - or _ between them"
    )
