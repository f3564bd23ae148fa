"""Two bots in one gateway, and one bot in two gateways."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import BOSS, Gateways, end
from .discord_api import DiscordApi


@pytest.mark.slow
def test_two_bots_have_own_chats_and_one_bot_one_gateway(
    gateways: Gateways, api: DiscordApi, tmp_path: Path
) -> None:
    other = DiscordApi()
    try:
        home = {"api_url": other.api_url, "token": other.token}
        admins = [f"discord:{BOSS}", f"discord:home:{BOSS}"]
        gateways.configure(access={"admins": admins}, **{"discord:home": home})
        gateway = gateways.start()
        for one, name in ((api, "discord"), (other, "discord:home")):
            one.say(BOSS, "/whoami")
            one.find(f"{name}:{BOSS}", BOSS)
            assert len(one.messages()) == 1

        (tmp_path / "second").mkdir()
        second = Gateways(tmp_path / "second", api)
        second.configure()
        code, said = second.run("gateway", TMPDIR=str(tmp_path))
        assert code == 1
        assert "another gateway on this machine" in said
        assert api.token not in said
        assert end(gateway) == 0
        assert len(api.gateway.identifies) == 1
    finally:
        other.close()


@pytest.mark.slow
def test_two_channels_with_same_bot_stop_start(gateways: Gateways, api: DiscordApi) -> None:
    gateways.configure(**{"discord:home": {"api_url": api.api_url, "token": api.token}})
    code, said = gateways.run("gateway")
    assert code == 1
    assert "another channel of this one, uses the same bot" in said
    assert len(api.gateway.identifies) < 2
