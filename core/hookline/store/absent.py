"""A placeholder where there is no store: plugins can be listed and switched, but store nothing."""

from __future__ import annotations

from typing import Any, NoReturn

from hookline_hookspecs import StoreError


class AbsentStore:
    """Can be opened and closed; everything else raises ``StoreError`` with ``reason``."""

    dialect = "none"
    is_shared = False
    conninfo: str | None = None

    def changes_of(self, _prefix: str) -> int | None:
        """Nobody writes."""
        return None

    def __init__(self, reason: str) -> None:
        self._reason = reason

    async def open(self) -> None:
        """Nothing to open."""

    async def close(self) -> None:
        """Nothing to close."""

    async def migrate(self, _component: str, _steps: Any) -> None:
        """Nothing to migrate."""

    def _refuse(self, *_args: Any, **_options: Any) -> NoReturn:
        raise StoreError(self._reason)

    read = write = own = notify = listen = statements = snapshot = _refuse
    search_statements = search_text = search_query = location = _refuse
