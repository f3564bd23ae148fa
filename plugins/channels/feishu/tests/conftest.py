"""The fake Feishu, and gateways in real processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import support.gateways
from support.gateways import ECHO, end, opus, png

from .feishu import Feishu
from .service import APP, SECRET

__all__ = ["ANN", "BOSS", "ECHO", "Gateways", "end", "opus", "png"]
ANN, BOSS = "ou_ann", "ou_boss"
"""People: Ann may write, the boss is admin."""


class Gateways(support.gateways.Gateways):
    """Gateways with Feishu."""

    channel, boss, ann = "feishu", BOSS, ANN

    def settings(self) -> dict[str, Any]:
        return {"domain": self.api.url}

    def account(self) -> dict[str, str]:
        return {"FEISHU_APP_ID": APP, "FEISHU_APP_SECRET": SECRET}


@pytest.fixture
def feishu() -> Iterator[Feishu]:
    made = Feishu()
    yield made
    made.close()


@pytest.fixture
def gateways(tmp_path: Path, feishu: Feishu) -> Iterator[Gateways]:
    made = Gateways(tmp_path, feishu)
    yield made
    made.close()
    assert SECRET not in made.said, "the secret was shown"
