"""The settings of the plugin."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import (
    BaseModel,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    SecretStr,
    ValidationError,
    ValidationInfo,
    model_validator,
)

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
    env: dict[str, str] = Field(default_factory=dict)
    """Variables beside HOME, PATH, SHELL and TERM. A value that is looked up (``${NAME}``,
    ``vault:NAME``) is masked in what Hookline shows, a literal one only under a name such as
    ``API_KEY``."""
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
            may_be_shown = not re.search(r"[?@]", self.url)  # else there may be a key in it
            shown = f" {self.url[:80]!r}" if may_be_shown else ""
            raise ValueError(f"url{shown} is no address; write https://HOST/PATH")
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

    standalone: ClassVar[str] = "servers"
    """The key whose entries are used without the wrong ones among them."""
    _left_out: dict[tuple[str, ...], str] = PrivateAttr(default_factory=dict)

    @model_validator(mode="wrap")
    @classmethod
    def _without_wrong_servers(
        cls, data: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Self:
        """Leave out, one by one, the servers that cannot be used; the others are."""
        servers = data.get("servers") if isinstance(data, Mapping) else None
        if not isinstance(servers, Mapping):
            return handler(data)
        # What a variable or the vault lacks for an entry.
        left_out: dict[tuple[str, ...], str] = dict((info.context or {}).get("left_out", {}))
        lacking = {at[1] for at in left_out}
        for name, entry in servers.items():
            if str(name) in lacking:
                continue
            if wrong := wrong_name(str(name)):
                left_out["servers", str(name)] = wrong
                continue
            try:
                ServerConfig.model_validate(entry)
            except ValidationError as error:
                at, why = fault(error, entry)
                left_out["servers", str(name), *at] = why
        wrong_ones = {at[1] for at in left_out}
        kept = {name: entry for name, entry in servers.items() if str(name) not in wrong_ones}
        config = handler({**data, "servers": kept})
        config._left_out = left_out
        return config

    @property
    def left_out(self) -> Mapping[tuple[str, ...], str]:
        """What is wrong with the servers that are left out, by the key below ``mcp`` that is wrong:
        ``("servers", NAME)``, or longer."""
        return self._left_out


def fault(error: ValidationError, entry: object) -> tuple[tuple[str, ...], str]:
    """The key of a server's ``entry`` that is wrong, and what to write there."""
    first = error.errors(include_url=False, include_input=False)[0]
    at = tuple(map(str, first["loc"]))
    if not isinstance(entry, Mapping):
        return (
            (),
            "it is no mapping; write {command: PROGRAM, args: […]} or {url: https://HOST/PATH}",
        )
    why = first["msg"].removeprefix("Value error, ").split(", unable to ")[0]
    why = re.sub("^Input should be ", "write ", why).replace("a valid string", "text, in quotes")
    misspelt = "" if at else _misspelt(map(str, entry))
    return at, f"{misspelt}{why}"


def _misspelt(keys: Iterable[str]) -> str:
    known = ServerConfig.model_fields
    for key in keys:
        if key not in known and (near := difflib.get_close_matches(key, known, 1)):
            return f"unknown key {key}; did you mean {near[0]}? "
    return ""


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
