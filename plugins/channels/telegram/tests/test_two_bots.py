"""Two bots on one home: ``telegram`` and ``telegram:work``, each with its token and its chats."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .bot_api import BotApi
from .conftest import ANN, BOSS, Gateways, end, png

OTHER = "4343:BBH-another_secret_that_must_not_be_seen"


@pytest.fixture
def other() -> Iterator[BotApi]:
    made = BotApi(OTHER)
    made.room(ANN)
    yield made
    made.close()


@pytest.mark.slow
def test_two_bots_have_own_chats_and_share_people(
    gateways: Gateways, api: BotApi, other: BotApi
) -> None:
    work = {"base_url": other.base_url, "base_file_url": other.base_file_url, "poll_seconds": 1}
    gateways.configure(**{"telegram:work": {**work, "token": OTHER}})
    gateway = gateways.start()

    api.say(ANN, "to one")
    other.say(ANN, "to the other")
    other.send(ANN, "photo", png())
    other.say(999, "a stranger")

    other.wait(lambda: len(other.texts(ANN)) == 2)
    api.wait(lambda: api.texts(ANN))
    (notice,) = other.wait(lambda: other.texts(999))
    assert end(gateway) == 0
    assert (api.texts(ANN), other.texts(ANN)) == (["answered"], ["answered", "answered"])
    assert "code" in notice
    assert [path.is_dir() for path in (gateways.home / "media").iterdir()] == [True]
    assert (gateways.home / "media" / "telegram%3Awork").is_dir()
    chats = gateways.home / "chats"
    assert {path.name for path in chats.iterdir()} >= {"telegram", "telegram%3Awork"}
    code, listed = gateways.run("pairing", "list")
    assert code == 0
    assert "telegram:999" in listed
    assert f"telegram:{BOSS}" in listed
    assert OTHER.partition(":")[2] not in gateways.said


@pytest.mark.slow
def test_token_variable_applies_only_to_channel_without_suffix(gateways: Gateways) -> None:
    gateways.configure(telegram=None, **{"telegram:work": {}})
    _, said = gateways.run("doctor", "--offline")
    assert "FAIL telegram:work: token: plugins.telegram:work.token is missing" in said
    assert "ok   telegram: token" in said
