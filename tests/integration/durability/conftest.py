"""A computer whose ``hookline`` starts fast, with a plugin that counts its tool runs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.durability import notebook
from support.durability.computer import PLUGINS, Computer

NOTEBOOK = Path(notebook.__file__)


@pytest.fixture(scope="session")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the installed dist ``acme-notebook``, and a cache of entry points."""
    site = tmp_path_factory.mktemp("outside") / "site"
    info = site / "acme_notebook-1.0.dist-info"
    info.mkdir(parents=True)
    shutil.copy(NOTEBOOK, site / "acme_notebook.py")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-notebook\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[hookline.plugins]\nnotebook = acme_notebook:Notebook\n"
    )
    return site


@pytest.fixture
def computer(tmp_path: Path, outside: Path) -> Computer:
    made = Computer(tmp_path)
    made.env = {"PYTHONPATH": str(outside), "XDG_CACHE_HOME": str(outside.parent / "cache")}
    made.config(PLUGINS)
    return made
