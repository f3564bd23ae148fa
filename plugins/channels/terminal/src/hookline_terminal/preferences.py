"""What the person chose in the chat, such as ``/theme`` and ``/vim``, for later chats too."""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path

from hookline_hookspecs import Host

FILE = "preferences.json"


class Preferences:
    """Values by name, in a file of the plugin's own folder. A broken file counts as empty."""

    def __init__(self, host: Host) -> None:
        self._host = host

    @property
    def _file(self) -> Path:
        return self._host.storage.dir / FILE  # this creates the folder

    def get(self, name: str) -> str:
        """Return a value; empty if none was chosen. Creates no home."""
        return self._read().get(name, "") if self._host.home.is_dir() else ""

    def set(self, name: str, value: str) -> None:
        """Store a value; an empty one removes it. Raises ``OSError``."""
        values = self._read() | {name: value}
        text = json.dumps({key: kept for key, kept in values.items() if kept})
        handle, made = tempfile.mkstemp(".tmp", "preferences-", self._file.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(text)
            Path(made).replace(self._file)
        except OSError:
            with suppress(OSError):
                Path(made).unlink(missing_ok=True)
            raise

    def _read(self) -> dict[str, str]:
        try:
            values = json.loads(self._file.read_bytes())
        except (OSError, ValueError):
            return {}
        if not isinstance(values, dict):
            return {}
        return {name: value for name, value in values.items() if isinstance(value, str)}
