"""What a server has refused, remembered by address and model in the home.

A refused request is sent again without the field, or with its history or tools repaired. Later
requests leave it out from the start, also in other processes.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hookline_hookspecs import WireRequest

from .refused_fields import OTHER_NAMES, refused_field
from .repairs import IMAGES, TOOLS, apply_repairs, find_repair

FILE = "openai-servers.json"
MAX_AGE_DAYS = 30
"""Days after which a field is tried again: the server may have been upgraded."""
MAX_SERVERS = 200
"""Pairs of a server and a model that are remembered."""
Changes = dict[str, Any]
"""By field: another name for it, False to send false, None to leave it out."""


class ServerQuirks:
    """What one model at one address accepts.

    Args:
        base_url: the address.
        model: the model's name there.
        home: Hookline's home; None remembers for this process only.
    """

    def __init__(self, base_url: str, model: str, home: Path | None) -> None:
        self._key = f"{_address(base_url)} {model}"
        self._file = home / FILE if home is not None else None
        known = self._stored().get(self._key, {})
        self._changes: Changes = known.get("changes", {})
        self._repairs: list[str] = known.get("repairs", [])

    def repaired(self, wire: WireRequest) -> WireRequest:
        """Return the request as this server accepts it."""
        wire = apply_repairs(wire, self._repairs)
        return replace(wire, fields=self.apply(wire.fields))

    def refuses_images(self) -> bool:
        """Return whether the model cannot read images."""
        return IMAGES in self._repairs

    def learn_repair(self, status: int, body: Any, sent: WireRequest) -> str | None:
        """Remember how to repair ``sent`` after an error; None if that is not possible."""
        repair = find_repair(status, body, sent)
        if repair is None or repair in self._repairs:
            return None
        self._repairs = [*self._repairs, repair]
        with suppress(OSError):  # the next process finds out again
            self._store()
        return repair

    def apply(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields as this server accepts them."""
        adapted: dict[str, Any] = {}
        for name, value in fields.items():
            if name not in self._changes:
                adapted[name] = value
                continue
            change = self._changes[name]
            if change is False:
                adapted[name] = False
            elif change is not None and change not in self._changes:
                adapted[change] = value
        if adapted.get("stream") is False:
            adapted.pop("stream_options", None)
        return adapted

    def learn_from(self, status: int, body: Any, sent: Mapping[str, Any]) -> bool:
        """Remember the field of ``sent`` that an error names; False if none can be left out."""
        name = refused_field(status, body, sent)
        if name is None:
            return False
        other = OTHER_NAMES.get(name)
        self._changes[name] = (
            False if name == "stream" else None if other in self._changes else other
        )
        with suppress(OSError):  # the next process finds out again
            self._store()
        return True

    def _stored(self) -> dict[str, Any]:
        """Return what is known of all servers, without what is too old or damaged."""
        if self._file is None:
            return {}
        try:
            text = self._file.read_text("utf-8") if self._file.is_file() else "{}"
            found = json.loads(text)
        except (OSError, ValueError, RecursionError):
            return {}
        oldest = time.time() - MAX_AGE_DAYS * 86_400
        entries = found.items() if isinstance(found, dict) else ()
        return {
            key: entry
            for key, entry in entries
            if isinstance(entry, dict)
            and _is_valid(entry.get("changes"))
            and _is_text_list(entry.get("repairs", []))
            and _learned_at(entry) > oldest
        }

    def _store(self) -> None:
        if self._file is None:
            return
        known = self._stored()
        known.pop(self._key, None)
        entry: dict[str, Any] = {"changes": self._changes, "at": round(time.time())}
        if repairs := [one for one in self._repairs if not _is_of_process(one)]:
            entry["repairs"] = repairs
        known[self._key] = entry
        text = json.dumps(dict(list(known.items())[-MAX_SERVERS:]), indent=1)
        fresh = self._file.with_name(f".{FILE}.{os.getpid()}")
        fresh.touch(mode=0o600)
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(self._file)


def _address(base_url: str) -> str:
    """Return the address without user, password and query, which do not belong in a file."""
    parts = urlsplit(base_url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"


def _is_valid(changes: Any) -> bool:
    return isinstance(changes, dict) and all(
        value is None or value is False or value == OTHER_NAMES.get(name)
        for name, value in changes.items()
    )


def _is_of_process(repair: str) -> bool:
    """Return whether a repair is not remembered: single images are of one session, and a server
    may be started with tools the next time."""
    return repair.startswith(("image:", "older:")) or repair == TOOLS


def _is_text_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _learned_at(entry: Mapping[str, Any]) -> float:
    at = entry.get("at")
    return float(at) if isinstance(at, int | float) else 0.0
