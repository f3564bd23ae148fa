"""A fresh home for each test of ``hookline migrate``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hookline.testing import Harness
from support.migrate.desk import Desk


@pytest.fixture
def desk(harness: Callable[..., Harness], tmp_path: Path) -> Desk:
    """A fresh home."""
    return Desk(harness, tmp_path)
