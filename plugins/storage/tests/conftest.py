"""The home of the test kit's store."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def home(store_home: Path) -> Path:
    """Where the fixture ``store`` of the test kit keeps its database."""
    return store_home
