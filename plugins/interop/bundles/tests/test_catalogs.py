"""Catalogs: hashes that have to match, and removed bundles that are no longer used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness

from .conftest import Make, write, write_json
from .test_hooks import BASH, Tools


def sha256(h: Harness, folder: Path) -> str:
    """The hash under which a bundle is added."""
    h.cli(f"bundles add {folder} --yes")
    row = json.loads(h.cli("bundles info demo --json").stdout)
    h.cli("bundles remove demo --yes")
    return str(row["sha256"])


def catalog(
    file: Path, folder: Path, digest: str, removed: list[dict[str, Any]] | None = None
) -> Path:
    listed = [{"name": "demo", "source": str(folder), "sha256": digest, "description": "d"}]
    return write_json(file, {"name": "acme", "bundles": listed, "removed": removed or []})


def test_bundle_of_a_catalog_has_to_match_its_hash(make: Make, demo: Path, tmp_path: Path) -> None:
    h = make()
    file = catalog(tmp_path / "catalog.json", demo, sha256(h, demo))
    assert "demo@acme" in h.cli(f"bundles catalog add {file}").stdout
    write(demo / "commands/more.md", "More\n")
    refused = h.cli("bundles add demo@acme --yes")
    assert refused.exit_code != 0
    assert "not what the catalog lists" in refused.stderr
    (demo / "commands/more.md").unlink()
    assert h.cli("bundles add demo@acme --yes").exit_code == 0


@pytest.mark.parametrize("by", ["name", "sha256"])
def test_removed_bundle_is_not_used_any_more(
    make: Make, demo: Path, tmp_path: Path, by: str
) -> None:
    h = make(Tools, model=[*BASH])
    digest = sha256(h, demo)
    file = catalog(tmp_path / "catalog.json", demo, digest)
    h.cli(f"bundles catalog add {file}")
    h.cli("bundles add demo@acme --yes")
    item = {"name": "demo"} if by == "name" else {"sha256": digest}
    catalog(file, demo, digest, [{**item, "reason": "stole keys"}])
    h.cli("bundles update --yes")
    outcome = h.send("go", session="new")
    assert any("stole keys" in notice.text for notice in outcome.notices)
    (row,) = json.loads(h.cli("bundles list --json").stdout)
    assert row["state"] == "revoked"
    h.cli("bundles remove demo --yes")
    again = h.cli("bundles add demo@acme --yes")
    assert again.exit_code != 0
    assert "stole keys" in again.stderr


def test_catalog_without_hashes_is_refused(make: Make, tmp_path: Path) -> None:
    file = write_json(
        tmp_path / "c.json", {"name": "acme", "bundles": [{"name": "a", "source": "b"}]}
    )
    done = make().cli(f"bundles catalog add {file}")
    assert done.exit_code != 0
    assert "no sha256" in done.stderr


def test_catalogs_are_listed_and_removed(make: Make, demo: Path, tmp_path: Path) -> None:
    h = make()
    file = catalog(tmp_path / "catalog.json", demo, "0" * 64)
    h.cli(f"bundles catalog add {file}")
    assert json.loads(h.cli("bundles catalog list --json").stdout) == [
        {"name": "acme", "url": str(file)}
    ]
    h.cli("bundles catalog remove acme")
    assert json.loads(h.cli("bundles catalog list --json").stdout) == []
