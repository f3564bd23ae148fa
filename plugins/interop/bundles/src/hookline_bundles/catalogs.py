"""Catalogs: JSON files anywhere that list bundles with their hashes, and those that were removed.

.. code-block:: json

    {"name": "acme",
     "bundles": [{"name": "review", "source": "https://…", "sha256": "…", "description": "…"}],
     "removed": [{"name": "old", "sha256": "…", "reason": "…"}]}
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hookline_hookspecs import HooklineError, Host

from .pins import write_private
from .removed_bundles import RemovedBundle, RemovedList

FILE = ".catalogs.json"
MAX_CATALOG_BYTES = 5_000_000
DOWNLOAD_TIMEOUT = 60.0
"""Seconds."""
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,63}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class ListedBundle:
    """A bundle that a catalog offers."""

    name: str
    source: str
    sha256: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Catalog:
    """A catalog as it was read."""

    name: str
    bundles: tuple[ListedBundle, ...]
    removed: tuple[RemovedBundle, ...]


@dataclass(frozen=True, slots=True)
class KnownCatalog:
    """A catalog that the person added: its name, and its address or path."""

    name: str
    url: str


class Catalogs:
    """The catalogs that the person added."""

    def __init__(self, host: Host, folder: Path, removed: RemovedList) -> None:
        self._host = host
        self._path = folder / FILE
        self._removed = removed

    def known(self) -> list[KnownCatalog]:
        """Return them. Raises ``HooklineError`` if the file is damaged."""
        try:
            data = json.loads(self._path.read_text("utf-8"))
            return [KnownCatalog(**one) for one in data["catalogs"]]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise HooklineError(f"cannot read {self._path}: {error}") from None

    async def add(self, url: str) -> Catalog:
        """Read a catalog and keep its address.

        Raises:
            HooklineError: it cannot be read, or another one has its name.
        """
        place = _place(url)
        catalog = await self.read(place)
        known = self.known()
        if any(one.name == catalog.name and one.url != place for one in known):
            raise HooklineError(f"there is another catalog {catalog.name}; remove it first")
        if all(one.url != place for one in known):
            self._write([*known, KnownCatalog(catalog.name, place)])
        self._removed.replace(catalog.name, catalog.removed)
        return catalog

    def remove(self, name: str) -> None:
        """Forget a catalog; what it removed stays removed. Raises ``HooklineError``."""
        known = self.known()
        kept = [one for one in known if one.name != name]
        if len(kept) == len(known):
            raise HooklineError(f"there is no catalog {name}")
        self._write(kept)

    async def refresh(self) -> list[str]:
        """Read the removed items of all catalogs again; return why some could not be read."""
        problems = []
        for known in self.known():
            try:
                catalog = await self.read(known.url)
                self._removed.replace(known.name, catalog.removed)
            except HooklineError as error:
                problems.append(f"catalog {known.name}: {error}")
        return problems

    async def find(self, name: str, catalog: str) -> ListedBundle:
        """Return what a catalog says about a bundle now. Raises ``HooklineError``."""
        known = next((one for one in self.known() if one.name == catalog), None)
        if known is None:
            raise HooklineError(
                f"there is no catalog {catalog}; run `hookline bundles catalog add URL`"
            )
        read = await self.read(known.url)
        self._removed.replace(known.name, read.removed)
        found = next((one for one in read.bundles if one.name == name), None)
        if found is None:
            raise HooklineError(f"the catalog {catalog} has no bundle {name}")
        return found

    async def read(self, url: str) -> Catalog:
        """Read a catalog. Raises ``HooklineError``."""
        try:
            if "://" in url:
                response = await self._host.http.get(
                    url, max_bytes=MAX_CATALOG_BYTES, timeout=DOWNLOAD_TIMEOUT
                )
                if response.status != 200:
                    raise HooklineError(f"{url[:200]} answered with status {response.status}")
                text = response.body.decode("utf-8")
            else:
                text = await asyncio.to_thread(Path(url).read_text, "utf-8")
            return _parse(json.loads(text))
        except (OSError, ValueError, RecursionError) as error:
            raise HooklineError(f"{url[:200]} is not a catalog: {error}") from None

    def _write(self, catalogs: Sequence[KnownCatalog]) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        data = {"version": 1, "catalogs": [asdict(one) for one in catalogs]}
        try:
            write_private(self._path, json.dumps(data, indent=1))
        except OSError as error:
            raise HooklineError(f"cannot write {self._path}: {error}") from None


def _place(url: str) -> str:
    """Return an address, or the absolute path of a file."""
    return url if "://" in url else str(Path(url).expanduser().resolve())


def _parse(data: Any) -> Catalog:
    """Return a parsed catalog. Raises ``ValueError``."""
    if not isinstance(data, Mapping) or not isinstance(data.get("name"), str):
        raise ValueError("expected an object with a name")
    name = data["name"]
    if not _NAME.fullmatch(name):
        raise ValueError(f"its name {name[:60]!r} is not valid")
    bundles = [_listed(one) for one in _rows(data, "bundles")]
    removed = [
        RemovedBundle(name, _text(one, "name"), _text(one, "sha256"), _text(one, "reason"))
        for one in _rows(data, "removed")
    ]
    return Catalog(name, tuple(bundles), tuple(one for one in removed if one.name or one.sha256))


def _rows(data: Mapping[str, Any], field: str) -> list[Mapping[str, Any]]:
    rows = data.get(field, [])
    if not isinstance(rows, list) or not all(isinstance(one, Mapping) for one in rows):
        raise ValueError(f"{field}: expected a list of objects")
    return rows


def _listed(row: Mapping[str, Any]) -> ListedBundle:
    found = ListedBundle(*(_text(row, key) for key in ("name", "source", "sha256", "description")))
    if not _NAME.fullmatch(found.name) or not found.source:
        raise ValueError("bundles: expected name and source")
    if not _SHA256.fullmatch(found.sha256):
        raise ValueError(f"bundles: {found.name} has no sha256")
    return found


def _text(row: Mapping[str, Any], field: str) -> str:
    value = row.get(field, "")
    if not isinstance(value, str):
        raise ValueError(f"{field}: expected a string")
    return value
