"""``mcp/catalog.json``: what a person approved of each server, the only source of schemas.

A tool is pinned by the SHA-256 of its wire object. What a server sends later is compared with the
pins; nothing that differs is offered or called until it is approved.
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
from .servers import Server
from .wire import digest, problem

log = logging.getLogger("hookline.plugins.mcp")
VERSION = 1


@dataclass(frozen=True, slots=True)
class Pin:
    """An approved tool: its wire object and what of it passed the guards."""

    sha256: str
    wire: Mapping[str, Any]
    description: str
    parameters: Mapping[str, Any]

    @property
    def reads_only(self) -> bool:
        """True if the server says so; whether that counts is for the settings to say."""
        annotations = self.wire.get("annotations")
        return isinstance(annotations, dict) and annotations.get("readOnlyHint") is True


@dataclass(frozen=True, slots=True)
class Held:
    """A tool that was not approved as it is now. ``why`` is ``new`` or ``changed``."""

    sha256: str
    wire: Mapping[str, Any]
    why: str


@dataclass(slots=True)
class Entry:
    """What is known of one server. ``gone`` are pinned tools that it did not list last time."""

    name: str
    source: str
    fingerprint: str
    approved: float
    instructions: str = ""
    tools: dict[str, Pin] = field(default_factory=dict)
    held: dict[str, Held] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Listing:
    """What a server lists: wire objects by name, and why others cannot be offered."""

    tools: Mapping[str, Mapping[str, Any]]
    refused: Mapping[str, str]
    instructions: str = ""
    title: str = ""
    protocol: str = ""


def compared(entry: Entry, listing: Listing) -> tuple[dict[str, Held], list[str]]:
    """Return the tools that are new or changed, and the pinned ones that are not listed."""
    held: dict[str, Held] = {}
    for name, wire in listing.tools.items():
        pin, sha256 = entry.tools.get(name), digest(wire)
        if pin is None or pin.sha256 != sha256:
            held[name] = Held(sha256, wire, "new" if pin is None else "changed")
    return held, [name for name in entry.tools if name not in listing.tools]


class Catalog:
    """The file, read again whenever another process has written it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._entries: dict[str, Entry] = {}
        self._seen: tuple[int, int, int] | None = None

    def entries(self) -> Mapping[str, Entry]:
        """Return every entry by its server's key. Raises ``HooklineError`` if the file is damaged:
        nothing is offered then."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            self._entries, self._seen = {}, None
            return self._entries
        except OSError as error:
            raise self._damaged(error) from None
        seen = (found.st_mtime_ns, found.st_ino, found.st_size)
        if seen != self._seen:
            try:
                data = json.loads(self.path.read_text("utf-8"))
                if data["version"] != VERSION:
                    raise ValueError(f"version {data['version']}")
                entries = {key: _entry(one) for key, one in data["servers"].items()}
            except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
                raise self._damaged(error) from None
            self._entries, self._seen = entries, seen
        return self._entries

    def _damaged(self, error: Exception) -> HooklineError:
        return HooklineError(
            f"{self.path} cannot be read ({error}); move it away and approve the servers anew with "
            "`hookline mcp approve NAME`"
        )

    def entry(self, server: Server) -> Entry | None:
        """Return what is known of ``server``; None if it was never approved."""
        return self.entries().get(server.key)

    def approve(
        self,
        server: Server,
        listing: Listing,
        passed: Mapping[str, tuple[str, Mapping[str, Any]]],
        now: float,
    ) -> None:
        """Pin every tool of ``listing`` that is among ``passed``: description and parameters."""
        pins = {
            name: Pin(digest(wire), wire, *passed[name])
            for name, wire in listing.tools.items()
            if name in passed
        }
        entry = Entry(
            server.name, server.source, server.fingerprint, now, listing.instructions, pins
        )
        self._change(server.key, entry)

    def compare(self, server: Server, listing: Listing) -> Entry | None:
        """Hold what differs from the pins, in the file too; return the entry."""
        entry = self.entry(server)
        if entry is None:
            return None
        held, gone = compared(entry, listing)
        if (held, gone) != (entry.held, entry.gone):
            entry.held, entry.gone = held, gone
            try:
                self._change(server.key, entry)
            except HooklineError as error:
                log.warning("%s", error)  # this process goes by what it holds in memory
        return entry

    def remove(self, key: str) -> bool:
        """Forget a server; False if it was not known."""
        known = key in self.entries()
        if known:
            self._change(key, None)
        return known

    def _change(self, key: str, entry: Entry | None) -> None:
        entries = dict(self.entries())
        entries.pop(key, None)
        if entry is not None:
            entries[key] = entry
        data = {"version": VERSION, "servers": {key: asdict(one) for key, one in entries.items()}}
        write_private(self.path, json.dumps(data, indent=1))
        self._seen = None


def _entry(data: Mapping[str, Any]) -> Entry:
    values = dict(data)
    values["tools"] = {name: Pin(**pin) for name, pin in data["tools"].items()}
    values["held"] = {name: Held(**held) for name, held in data["held"].items()}
    for name, pin in values["tools"].items():
        if digest(pin.wire) != pin.sha256:
            raise ValueError(f"the pin of {name} does not fit its tool")
    return Entry(**values)


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, whole or not at all.

    Raises:
        HooklineError: it cannot be written.
    """
    fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123
            file.write(text)
        fresh.replace(path)
    except OSError as error:
        raise HooklineError(f"{path} cannot be written: {error.strerror}") from None


def listing_of(server: str, pages: Sequence[Any], kept: Sequence[str], **about: str) -> Listing:
    """Return a listing of raw wire objects; only those among ``kept`` passed the SDK."""
    known: set[str] = set()
    tools: dict[str, Mapping[str, Any]] = {}
    refused: dict[str, str] = {}
    for wire in pages:
        name = wire.get("name") if isinstance(wire, dict) else None
        if not isinstance(name, str):
            continue
        if name in tools or name in refused:
            tools.pop(name, None)
            refused[name] = "its server lists it twice"
        elif (wrong := problem(wire)) is not None:
            refused[name] = wrong
        elif name not in kept:
            refused[name] = "it does not follow the protocol"
        elif (plain := full_name(server, name)) in known:
            refused[name] = "another tool is called by the same name"
        else:
            known.add(plain)
            tools[name] = wire
    return Listing(tools, refused, **about)
