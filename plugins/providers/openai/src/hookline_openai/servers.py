"""What servers have been found to refuse, remembered by address and model in the home.

A server is asked once: the request that it refuses is sent again without the field, and the next
ones are sent so from the beginning, in later processes too.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .refusals import OTHER, refused_field

FILE = "openai-servers.json"
KEPT_DAYS = 30
"""Days after which a server is asked anew: it may have been upgraded."""
MOST = 200
"""Servers and models that are remembered."""
Changes = dict[str, Any]
"""By field: another name for it, False for false, None to leave it out."""


class Server:
    """What one model behind one address takes.

    Args:
        base_url: the address.
        model: the model's name there.
        home: Hookline's home; None remembers for this process alone.
    """

    def __init__(self, base_url: str, model: str, home: Path | None) -> None:
        self._key = f"{_address(base_url)} {model}"
        self._file = home / FILE if home is not None else None
        self._changes: Changes = self._stored().get(self._key, {}).get("changes", {})

    def fields(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields as this server takes them."""
        made: dict[str, Any] = {}
        for name, value in fields.items():
            if name not in self._changes:
                made[name] = value
                continue
            change = self._changes[name]
            if change is False:
                made[name] = False
            elif change is not None and change not in self._changes:
                made[change] = value
        if made.get("stream") is False:
            made.pop("stream_options", None)
        return made

    def learn(self, status: int, body: Any, sent: Mapping[str, Any]) -> bool:
        """Remember what a refusal names of the fields that were ``sent``; False if it is nothing
        that could be left out."""
        name = refused_field(status, body, sent)
        if name is None:
            return False
        other = OTHER.get(name)
        self._changes[name] = (
            False if name == "stream" else None if other in self._changes else other
        )
        with suppress(OSError):  # it will be asked again then
            self._store()
        return True

    def _stored(self) -> dict[str, Any]:
        """What is known of all servers, without what is too old or damaged."""
        if self._file is None:
            return {}
        try:
            text = self._file.read_text("utf-8") if self._file.is_file() else "{}"
            found = json.loads(text)
        except (OSError, ValueError, RecursionError):
            return {}
        begin = time.time() - KEPT_DAYS * 86_400
        return {
            key: entry
            for key, entry in (found.items() if isinstance(found, dict) else ())
            if isinstance(entry, dict) and _sound(entry.get("changes")) and _at(entry) > begin
        }

    def _store(self) -> None:
        if self._file is None:
            return
        known = self._stored()
        known.pop(self._key, None)
        known[self._key] = {"changes": self._changes, "at": round(time.time())}
        text = json.dumps(dict(list(known.items())[-MOST:]), indent=1)
        fresh = self._file.with_name(f".{FILE}.{os.getpid()}")
        fresh.touch(mode=0o600)
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(self._file)


def _address(base_url: str) -> str:
    """The address without a user, a password or a query, which a file is no place for."""
    parts = urlsplit(base_url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"


def _sound(changes: Any) -> bool:
    return isinstance(changes, dict) and all(
        value is None or value is False or value == OTHER.get(name)
        for name, value in changes.items()
    )


def _at(entry: Mapping[str, Any]) -> float:
    at = entry.get("at")
    return float(at) if isinstance(at, int | float) else 0.0
