"""The pytest plugin. It imports nothing of Hookline until a test asks for the harness."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .harness import Harness


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Callable[..., Harness]]:
    """Make harnesses: ``harness(MyPlugin, config={…}, model=["hi"])``; see ``Harness``."""
    from .harness import Harness

    made: list[Harness] = []

    def make(*plugins: Any, **options: Any) -> Harness:
        options.setdefault("home", tmp_path / f"home{len(made)}")
        made.append(Harness(*plugins, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()
