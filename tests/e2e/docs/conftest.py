"""An environment for a reader of the pages, made once."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.docs.newcomer import Newcomer, make_environment


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hookline, pip and the tools of a plugin's author."""
    return make_environment(tmp_path_factory.mktemp("environment"))


@pytest.fixture
def newcomer(environment: Path, tmp_path: Path) -> Newcomer:
    """A reader with that environment and an empty home."""
    return Newcomer(environment, tmp_path)
