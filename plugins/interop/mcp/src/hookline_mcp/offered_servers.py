"""Servers that other plugins offer (``ServerSource``), such as those of bundles."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import asdict
from pathlib import Path

from hookline_hookspecs.mcp_servers import OfferedServer, ServerSource
from hookline_hookspecs.services import Services
from pydantic import ValidationError

from .config import ServerConfig, explain_error, name_problem
from .servers import (
    ConfiguredServers,
    ToolServer,
    digest_of,
    expand_references,
    known_keys,
    references,
)
from .servers import plain_name as plain

_NOT_OFFERED = ("sandbox", "approval", "connect_timeout", "read_only", "writable")
"""Keys that an offered server may not set."""


def offered_servers(
    services: Services, env: Mapping[str, str], taken: Container[str]
) -> ConfiguredServers:
    """Return the servers that plugins offer now; ``taken`` are names of others, which win."""
    found: dict[str, ToolServer] = {}
    problems: list[str] = []
    for source in services.all(ServerSource):
        for offered in source.servers():
            name = _free_name(offered, found, taken)
            try:
                found[name] = _server(offered, name, env)
            except ValidationError as error:
                at, why = explain_error(error, offered.entry)
                text = ": ".join([*filter(None, [".".join(at)]), why])
                problems.append(f"{offered.source}: server {offered.name}: {text}")
            except ValueError as error:
                problems.append(f"{offered.source}: server {offered.name}: {error}")
    return ConfiguredServers(found, tuple(problems))


def _free_name(
    offered: OfferedServer, found: Mapping[str, ToolServer], taken: Container[str]
) -> str:
    name = plain(offered.name)
    if name in found or name in taken:
        return plain(f"{offered.source.removeprefix('bundle ')}-{offered.name}")
    return name


def _server(offered: OfferedServer, name: str, env: Mapping[str, str]) -> ToolServer:
    """Return a server. Raises ``ValueError``."""
    if wrong := name_problem(name):
        raise ValueError(wrong)
    entry = {key: value for key, value in offered.entry.items() if key not in _NOT_OFFERED}
    values = known_keys(entry)
    if offered.expands:
        values = expand_references(values, env)
    config = ServerConfig.model_validate(values)
    if config.command:
        update = {"read_only": [offered.root], "writable": [offered.data]}
        config = config.model_copy(update=update)
    return ToolServer(
        name,
        f"{offered.source}#{offered.name}",
        config,
        offered.source,
        digest_of(asdict(offered)),
        looks_up=references(offered.entry) if offered.expands else (),
        data=Path(offered.data) if config.command else None,
        offered=offered,
    )
