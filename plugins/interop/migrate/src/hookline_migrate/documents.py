"""Writes imported files: ``SOUL.md``, ``context/*.md`` and ``imports/``."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import secrets
from pathlib import Path

from hookline_hookspecs import Configuration, HooklineError, Host, Refused
from hookline_hookspecs.importers import Item, Outcome, Receipt, State
from hookline_hookspecs.prompt import CONTEXT_MAX_CHARS, SOUL_MAX_CHARS

from .source_folder import normalize_text

LIMITS = {
    "SOUL.md": ("soul_max_chars", SOUL_MAX_CHARS),
    "": ("context_max_chars", CONTEXT_MAX_CHARS),
}
"""Settings of plugin context-files that limit a file's length, and their defaults."""


class DocumentImporter:
    """Writes files that do not exist yet."""

    kinds = frozenset({"document"})

    def __init__(self, host: Host) -> None:
        self._host = host

    async def look(self, item: Item) -> Outcome:
        """Return what :meth:`take` would do."""
        return await self._done(item, again=False, write=False)

    async def take(self, item: Item, *, again: bool = False) -> Outcome:
        """Write the file."""
        return await self._done(item, again=again, write=True)

    async def _done(self, item: Item, *, again: bool, write: bool) -> Outcome:
        target = str(item.data["path"])
        try:
            text = await self._host.learn(item.data["text"], item.source, "context", origins=())
        except Refused as refusal:
            return Outcome("blocked", target, str(refusal))
        text = text.strip() + "\n"
        if len(text) > (most := self._limit(target)):
            return Outcome("archived", target, f"longer than {most:,} characters", text=text)
        receipt = {"path": target, "sha256": _sha256(text)}
        path = self._host.home / target
        there = await asyncio.to_thread(_read, path)
        if there == text:
            state: State = "migrated" if again else "skipped"
            return Outcome(state, target, "" if again else "already there", receipt)
        if there is not None:
            return Outcome("conflict", target, f"{target} already exists", text=text)
        if write:
            await asyncio.to_thread(write_new, path, text)
        return Outcome("migrated" if write else "planned", target, receipt=receipt)

    def _limit(self, target: str) -> int:
        name, most = LIMITS.get(target, LIMITS[""])
        try:
            plugins = self._host.services[Configuration].effective()["plugins"]
            return int((plugins.get("context-files") or {}).get(name, most))
        except (HooklineError, KeyError, TypeError, ValueError, AttributeError):
            return most

    async def give_back(self, kind: str, receipt: Receipt) -> Outcome:
        """Remove the file unless it was changed since."""
        return remove_unchanged(self._host.home, receipt["path"], receipt["sha256"])


def remove_unchanged(home: Path, name: str, sha256: str) -> Outcome:
    """Remove a file of the home unless it was changed since it was written."""
    path = home / name
    text = _read(path)
    if text is None:
        return Outcome("planned", name)
    if _sha256(text) != sha256:
        return Outcome("migrated", name, "it was changed since")
    path.unlink(missing_ok=True)
    return Outcome("planned", name)


def archive_text(home: Path, source: str, name: str, text: str) -> str:
    """Store a text in ``imports/SOURCE/NAME`` of the home; return its path there."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:80] or "text"
    path = f"imports/{source}/{safe}"
    if _read(home / path) is None:
        write_new(home / path, normalize_text(text))
    return path


def archive_item(home: Path, source: str, item: Item, text: str) -> Receipt:
    """Store an item's text in ``imports/``; return the receipt for :func:`remove_unchanged`."""
    path = archive_text(home, source, f"{item.kind}-{item.id}.md", text)
    return {"archive": path, "sha256": _sha256(normalize_text(text))}


def write_new(path: Path, text: str) -> None:
    """Write a file atomically, with mode 0600. Raises ``OSError``."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _read(path: Path) -> str | None:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise HooklineError(f"cannot read {path}: {error}") from None


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
