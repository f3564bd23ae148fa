"""The team's store in tables of the configured database."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Mapping, Sequence

from hookline_hookspecs import Storage, StoreError, Transaction
from hookline_teamskills import (
    MAX_FILE_BYTES,
    MAX_FILES,
    InvalidEntry,
    StoreChanged,
    StoreUnreachable,
    TeamEntry,
)


class TableStore:
    """See :class:`hookline_teamskills.TeamStore`.

    Args:
        storage: returns the plugin's storage; called on each use.
    """

    def __init__(self, storage: Callable[[], Storage]) -> None:
        self._open = storage

    async def tip(self) -> str:
        """The number of the last entry."""
        try:
            rows = await self._open().fetch("team_tip")
        except StoreError as error:
            raise StoreUnreachable(f"the team's skills cannot be read: {error}") from error
        return _tip(rows[0]["seq"])

    async def load(self) -> tuple[str, list[TeamEntry], list[str]]:
        """Every entry."""
        try:
            rows = await self._open().fetch("team_entries")
        except StoreError as error:
            raise StoreUnreachable(f"the team's skills cannot be read: {error}") from error
        entries: list[TeamEntry] = []
        problems: list[str] = []
        for row in rows:
            name, number, kind = row["name"], row["number"], row["kind"]
            try:
                entries.append(TeamEntry.from_json(row["body"].encode(), name, number, kind))
            except InvalidEntry as error:
                problems.append(f"{name} version {number}: entry {kind} is not accepted: {error}")
        return _tip(rows[-1]["seq"] if rows else 0), entries, problems

    async def files(self, name: str, number: int) -> dict[str, bytes]:
        """The files of a version."""
        rows = await self._open().fetch("team_files", name=name, number=number)
        if len(rows) > MAX_FILES:
            raise StoreUnreachable(f"version {number} of {name} has too many files")
        found = {}
        for row in rows:
            decompressor = zlib.decompressobj()
            try:
                data = decompressor.decompress(base64.b64decode(row["body"]), MAX_FILE_BYTES + 1)
            except (ValueError, zlib.error):
                raise StoreUnreachable(
                    f"{row['path']} of version {number} of {name} is damaged"
                ) from None
            found[row["path"]] = data
        return found

    async def append(
        self,
        tip: str,
        entries: Sequence[TeamEntry],
        files: Mapping[int, Mapping[str, bytes]] | None = None,
    ) -> None:
        """Add entries and files in one transaction."""

        def work(store: Transaction) -> bool:
            seq = int(store.fetch("team_tip")[0]["seq"])
            if _tip(seq) != tip:
                return False
            for number, of_version in (files or {}).items():
                for path, data in of_version.items():
                    body = base64.b64encode(zlib.compress(data)).decode("ascii")
                    name = entries[0].name
                    store.execute("team_add_file", name=name, number=number, path=path, body=body)
            for added, entry in enumerate(entries, 1):
                store.execute(
                    "team_add_entry",
                    seq=seq + added,
                    name=entry.name,
                    number=entry.number,
                    kind=entry.kind,
                    body=entry.to_json().decode("utf-8"),
                )
            return True

        try:
            done = await self._open().transact(work)
        except StoreError as error:
            raise StoreUnreachable(f"the team's skills cannot be written: {error}") from error
        if not done:
            raise StoreChanged("the team's skills changed meanwhile")


def _tip(seq: int) -> str:
    return str(seq) if seq else ""
