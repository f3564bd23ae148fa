"""The settings under ``plugins: mcp:``."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import ClassVar, Literal

from hookline_hookspecs.setting_errors import Key
from hookline_hookspecs.standalone_entries import StandaloneEntries
from pydantic import BaseModel, Field, SecretStr, ValidationError, model_validator

MAX_SERVER_NAME_CHARS = 32
_NAME = re.compile(r"[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)*")


class OAuthConfig(BaseModel):
    """An OAuth client that is already registered with the server's provider, under ``oauth:``."""

    client_id: str = ""
    """The registered client; empty to register at the first login."""
    client_secret: SecretStr | None = None
    """The secret of ``client_id``, if it has one."""
    client_metadata_url: str | None = None
    """URL of the client's published metadata, for providers that accept one."""
    scope: str | None = None
    """Scopes to request, separated by spaces; by default those that the server names."""


class ServerConfig(BaseModel):
    """A server, under ``servers: NAME:``. Times are in seconds."""

    command: str = ""
    """The program to run; it speaks MCP over stdin and stdout."""
    args: list[str] = Field(default_factory=list)
    """Its arguments."""
    env: dict[str, str] = Field(default_factory=dict)
    """Environment variables besides HOME, PATH, SHELL and TERM. Values of the form ``${NAME}`` or
    ``vault:NAME`` are masked wherever Hookline shows them; literal values only under a name such as
    ``API_KEY``."""
    cwd: str | None = None
    """Working folder; by default the workspace of the chat that calls it."""
    url: str = ""
    """The address of a server that speaks Streamable HTTP, or what ``transport`` says."""
    transport: Literal["http", "sse"] = "http"
    """``sse`` if ``url`` speaks HTTP with SSE, the older transport."""
    headers: dict[str, SecretStr] = Field(default_factory=dict)
    """Headers of every request to ``url``."""
    auth: Literal["oauth"] | None = None
    """``oauth`` if ``url`` requires a login with ``hookline mcp login NAME``."""
    oauth: OAuthConfig = OAuthConfig()
    """Settings of the OAuth client."""
    allow: list[str] = Field(default_factory=list)
    """Patterns (``read_*``) of the tools to offer; empty for all."""
    deny: list[str] = Field(default_factory=list)
    """Patterns of the tools not to offer; wins over ``allow``."""
    timeout: float = Field(60, gt=0, le=86_400)
    """Seconds that a call may take."""
    connect_timeout: float = Field(30, gt=0, le=3_600)
    """Seconds that starting and listing the tools may take."""
    approval: Literal["ask", "never"] = "ask"
    """``ask`` a person before each call that is not known to be read-only; ``never`` leaves that to
    other guards."""
    sandbox: bool = True
    """Run ``command`` in the sandbox, if one is available."""
    read_only: list[str] = Field(default_factory=list)
    """Folders that a sandboxed program may read besides the workspace and its own code."""
    writable: list[str] = Field(default_factory=list)
    """Folders that a sandboxed program may also write to."""

    @model_validator(mode="after")
    def _check_command_or_url(self) -> ServerConfig:
        if bool(self.command) == bool(self.url):
            raise ValueError(
                "give either `command` (a program to run) or `url` (an address to reach)"
            )
        if self.url and not re.match(r"https?://[^/\s]", self.url):
            is_safe_to_show = not re.search(r"[?@]", self.url)  # a query may hold a key
            shown = f" {self.url[:80]!r}" if is_safe_to_show else ""
            raise ValueError(f"url{shown} is not an address; write https://HOST/PATH")
        if self.transport == "sse" and not self.url:
            raise ValueError("`transport: sse` needs a `url`; remove it")
        if self.auth and not self.url:
            raise ValueError("`auth: oauth` needs a `url`; remove it")
        return self


class McpConfig(StandaloneEntries):
    """Settings under ``plugins: {mcp: …}``."""

    servers: dict[str, ServerConfig] = Field(
        default_factory=dict, title="Servers", description="The servers by name."
    )
    files: list[str] = Field(
        default_factory=list,
        title="Files of other programs",
        description=(
            "JSON files of other programs with `mcpServers` to use too; `~` is the user's home."
        ),
    )
    discovery: Literal["auto", "direct", "search"] = Field(
        "auto",
        title="How tools are offered",
        description=(
            "Offer the tools themselves (`direct`), or two tools that find and call them "
            "(`search`); `auto` decides by size."
        ),
    )
    trust_annotations: bool = Field(
        False,
        title="Trust servers' read-only claims",
        description="Believe a server's claim that a tool only reads.",
    )
    idle_seconds: float = Field(
        600,
        gt=0,
        title="Close when idle (seconds)",
        description="Seconds without a call after which a server's connection is closed.",
    )

    standalone: ClassVar[str] = "servers"

    @classmethod
    def entry_problem(cls, name: str, entry: object) -> tuple[Key, str] | None:
        """Return the invalid key of a server, and what to write there; None if it is valid."""
        if wrong := name_problem(name):
            return (), wrong
        try:
            ServerConfig.model_validate(entry)
        except ValidationError as error:
            return explain_error(error, entry)
        return None


def explain_error(error: ValidationError, entry: object) -> tuple[Key, str]:
    """Return the invalid key of a server's ``entry``, and what to write there."""
    first = error.errors(include_url=False, include_input=False)[0]
    at = tuple(map(str, first["loc"]))
    if not isinstance(entry, Mapping):
        return (
            (),
            "expected a mapping; write {command: PROGRAM, args: […]} or {url: https://HOST/PATH}",
        )
    why = first["msg"].removeprefix("Value error, ").split(", unable to ")[0]
    why = re.sub("^Input should be ", "write ", why).replace("a valid string", "text, in quotes")
    misspelt = "" if at else _suggest_key(map(str, entry))
    return at, f"{misspelt}{why}"


def _suggest_key(keys: Iterable[str]) -> str:
    known = ServerConfig.model_fields
    for key in keys:
        if key not in known and (near := difflib.get_close_matches(key, known, 1)):
            return f"unknown key {key}; did you mean {near[0]}? "
    return ""


def name_problem(name: str) -> str | None:
    """Return why ``name`` is not a valid server name; None if it is.

    Two underscores would make the names of its tools ambiguous.
    """
    if len(name) <= MAX_SERVER_NAME_CHARS and _NAME.fullmatch(name):
        return None
    return (
        f"{name[:60]!r} is not a valid server name: write up to {MAX_SERVER_NAME_CHARS} letters "
        "and digits, with single - or _ between them"
    )
