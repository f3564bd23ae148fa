"""A fresh home for each test of ``hookline migrate``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hookline.testing import Harness
from support.migrate.migration_home import MigrationHome


@pytest.fixture
def migration(harness: Callable[..., Harness], tmp_path: Path) -> MigrationHome:
    """A fresh home."""
    return MigrationHome(harness, tmp_path)
