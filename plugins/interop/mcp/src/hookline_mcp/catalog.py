"""``mcp/catalog.json``: the approved tools of each server, the only source of schemas.

A tool is pinned by the SHA-256 of its definition. Later listings are compared with the pins; a tool
that differs is neither offered nor called until it is approved again.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hookline_hookspecs import HooklineError

from .names import full_name
from .servers import ToolServer
from .tool_schema import digest, find_problem

log = logging.getLogger("hookline.plugin.mcp")
VERSION = 1


@dataclass(frozen=True, slots=True)
class PromptArgument:
    """An argument of a prompt."""

    name: str
    required: bool = False
    description: str = ""


@dataclass(frozen=True, slots=True)
class ServerPrompt:
    """A prompt that a server offers."""

    name: str
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


@dataclass(frozen=True, slots=True)
class PinnedTool:
    """An approved tool: its definition as sent, and the parts that passed ``pre_read``."""

    sha256: str
    wire: Mapping[str, Any]
    description: str
    parameters: Mapping[str, Any]

    @property
    def reads_only(self) -> bool:
        """True if the server declares it. ``trust_annotations`` decides whether to believe that."""
        annotations = self.wire.get("annotations")
        return isinstance(annotations, dict) and annotations.get("readOnlyHint") is True


@dataclass(frozen=True, slots=True)
class HeldTool:
    """A tool held back until it is approved. ``why`` is ``new`` or ``changed``."""

    sha256: str
    wire: Mapping[str, Any]
    why: str


@dataclass(slots=True)
class CatalogEntry:
    """What is stored about one server. ``gone`` are pinned tools missing from its last listing;
    ``prompts`` and ``resources`` are also of that listing, and not pinned."""

    name: str
    source: str
    fingerprint: str
    approved: float
    instructions: str = ""
    tools: dict[str, PinnedTool] = field(default_factory=dict)
    held: dict[str, HeldTool] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)
    prompts: list[ServerPrompt] = field(default_factory=list)
    resources: bool = False


@dataclass(frozen=True, slots=True)
class ToolListing:
    """The tools of a server: definitions by name, and why others cannot be offered; its prompts,
    and whether it has resources."""

    tools: Mapping[str, Mapping[str, Any]]
    refused: Mapping[str, str]
    prompts: Sequence[ServerPrompt] = ()
    resources: bool = False
    instructions: str = ""
    title: str = ""
    protocol: str = ""


def compare_listing(
    entry: CatalogEntry, listing: ToolListing
) -> tuple[dict[str, HeldTool], list[str]]:
    """Return the tools that are new or changed, and the pinned ones that are not listed."""
    held: dict[str, HeldTool] = {}
    for name, wire in listing.tools.items():
        pin = entry.tools.get(name)
        sha256 = digest(wire)
        if pin is None or pin.sha256 != sha256:
            held[name] = HeldTool(sha256, wire, "new" if pin is None else "changed")
    return held, [name for name in entry.tools if name not in listing.tools]


class ApprovalCatalog:
    """The catalog file. It is read again whenever another process has written it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._entries: dict[str, CatalogEntry] = {}
        self._seen: tuple[int, int, int] | None = None

    def entries(self) -> Mapping[str, CatalogEntry]:
        """Return every entry by its server's key.

        Raises:
            HooklineError: the file is damaged; then no tool is offered.
        """
        try:
            found = self.path.stat()
        except FileNotFoundError:
            self._entries = {}
            self._seen = None
            return self._entries
        except OSError as error:
            raise self._damaged(error) from None
        seen = (found.st_mtime_ns, found.st_ino, found.st_size)
        if seen != self._seen:
            try:
                data = json.loads(self.path.read_text("utf-8"))
                if data["version"] != VERSION:
                    raise ValueError(f"version {data['version']}")
                entries = {key: _parse_entry(one) for key, one in data["servers"].items()}
            except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
                raise self._damaged(error) from None
            self._entries = entries
            self._seen = seen
        return self._entries

    def _damaged(self, error: Exception) -> HooklineError:
        return HooklineError(
            f"cannot read {self.path} ({error}). Move the file away and approve the servers again: "
            "run `hookline mcp approve NAME`"
        )

    def entry(self, server: ToolServer) -> CatalogEntry | None:
        """Return the entry of ``server``; None if it was never approved."""
        return self.entries().get(server.key)

    def approve(
        self,
        server: ToolServer,
        listing: ToolListing,
        passed: Mapping[str, tuple[str, Mapping[str, Any]]],
        now: float,
    ) -> None:
        """Pin the tools of ``listing`` that are in ``passed`` (description and parameters)."""
        pins = {
            name: PinnedTool(digest(wire), wire, *passed[name])
            for name, wire in listing.tools.items()
            if name in passed
        }
        entry = CatalogEntry(
            server.name,
            server.source,
            server.fingerprint,
            now,
            listing.instructions,
            pins,
            prompts=list(listing.prompts),
            resources=listing.resources,
        )
        self._change(server.key, entry)

    def compare(self, server: ToolServer, listing: ToolListing) -> CatalogEntry | None:
        """Hold back tools that differ from the pins, also in the file; return the entry.

        What it stores of prompts and resources follows the listing.
        """
        entry = self.entry(server)
        if entry is None:
            return None
        held, gone = compare_listing(entry, listing)
        fresh = (held, gone, list(listing.prompts), listing.resources)
        if fresh != (entry.held, entry.gone, entry.prompts, entry.resources):
            entry.held, entry.gone, entry.prompts, entry.resources = fresh
            try:
                self._change(server.key, entry)
            except HooklineError as error:
                log.warning("%s", error)  # the copy in memory holds the tools back anyway
        return entry

    def remove(self, key: str) -> bool:
        """Delete a server's entry; return False if there was none."""
        known = key in self.entries()
        if known:
            self._change(key, None)
        return known

    def _change(self, key: str, entry: CatalogEntry | None) -> None:
        entries = dict(self.entries())
        entries.pop(key, None)
        if entry is not None:
            entries[key] = entry
        data = {"version": VERSION, "servers": {key: asdict(one) for key, one in entries.items()}}
        write_private(self.path, json.dumps(data, indent=1))
        self._seen = None


def _parse_entry(data: Mapping[str, Any]) -> CatalogEntry:
    values = dict(data)
    values["tools"] = {name: PinnedTool(**pin) for name, pin in data["tools"].items()}
    values["held"] = {name: HeldTool(**held) for name, held in data["held"].items()}
    values["prompts"] = [_parse_prompt(one) for one in data.get("prompts", ())]
    for name, pin in values["tools"].items():
        if digest(pin.wire) != pin.sha256:
            raise ValueError(f"the digest of {name} does not match its definition")
    return CatalogEntry(**values)


def _parse_prompt(data: Mapping[str, Any]) -> ServerPrompt:
    arguments = tuple(PromptArgument(**one) for one in data["arguments"])
    return ServerPrompt(data["name"], data["description"], arguments)


def write_private(path: Path, text: str) -> None:
    """Write a file atomically, readable only by its owner.

    Raises:
        HooklineError: it cannot be written.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123
            file.write(text)
        partial.replace(path)
    except OSError as error:
        raise HooklineError(f"cannot write {path}: {error.strerror}") from None


def build_listing(
    server: str, pages: Sequence[Any], kept: Sequence[str], **about: Any
) -> ToolListing:
    """Return the listing of raw definitions; ``kept`` names those that the SDK accepted.

    ``about`` are the other fields of the listing.
    """
    known: set[str] = set()
    tools: dict[str, Mapping[str, Any]] = {}
    refused: dict[str, str] = {}
    for wire in pages:
        name = wire.get("name") if isinstance(wire, dict) else None
        if not isinstance(name, str):
            continue
        if name in tools or name in refused:
            tools.pop(name, None)
            refused[name] = "the server lists it twice"
        elif (wrong := find_problem(wire)) is not None:
            refused[name] = wrong
        elif name not in kept:
            refused[name] = "it violates the protocol"
        elif (plain := full_name(server, name)) in known:
            refused[name] = "another tool has the same full name"
        else:
            known.add(plain)
            tools[name] = wire
    return ToolListing(tools, refused, **about)
