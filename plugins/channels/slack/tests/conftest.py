"""The fake Slack, and gateways in real processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import support.gateways
from support.gateways import ECHO, end

from .fake_slack import APP_TOKEN, BOT_TOKEN, Slack

__all__ = ["ANN", "BOSS", "ECHO", "Gateways", "end"]
ANN, BOSS = "U0ANN", "U0BOSS"
"""People: Ann may write, the boss is admin."""


class Gateways(support.gateways.Gateways):
    """Gateways with Slack."""

    channel, boss, ann = "slack", BOSS, ANN

    def settings(self) -> dict[str, Any]:
        return {"api_url": self.api.api_url}

    def account(self) -> dict[str, str]:
        return {"SLACK_BOT_TOKEN": BOT_TOKEN, "SLACK_APP_TOKEN": APP_TOKEN}


@pytest.fixture
def slack() -> Iterator[Slack]:
    made = Slack()
    yield made
    made.close()


@pytest.fixture
def gateways(tmp_path: Path, slack: Slack) -> Iterator[Gateways]:
    made = Gateways(tmp_path, slack)
    yield made
    made.close()
    assert "a-secret" not in made.said, "a token was shown"
