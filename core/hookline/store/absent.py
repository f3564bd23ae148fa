"""What stands in where no store is installed: plugins can be listed and switched, nothing kept."""

from __future__ import annotations

from typing import Any, NoReturn

from hookline_hookspecs import StoreError


class AbsentStore:
    """Opens and closes, and refuses everything else with a sentence."""

    dialect = "none"

    def __init__(self, name: str) -> None:
        self._name = name

    async def open(self) -> None:
        """Nothing to open."""

    async def close(self) -> None:
        """Nothing to close."""

    async def migrate(self, _component: str, _steps: Any) -> None:
        """Nothing to migrate."""

    def _refuse(self, *_args: Any, **_options: Any) -> NoReturn:
        raise StoreError(
            f"The store {self._name!r} is not installed, so nothing can be kept. Install its "
            f"package, hookline-{self._name}, or choose another with `store:` in config.yaml."
        )

    read = write = session_lock = statements = _refuse
    search_statements = search_text = search_query = location = _refuse
