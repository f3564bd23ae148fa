"""A bot on Discord from claim to kill: real library, fake service, real processes."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.channels.model_script import COUNTED, remove
from support.channels.plugin_fakes import borrow, multimedia, telegram
from support.openai_server import OpenAIServer, Reply

from .conftest import ChannelHome

discord_api = borrow("discord", "discord_api")
world = borrow("discord", "discord_world")
BOSS, ANN, GUEST = 111_000_000_000_000_111, 222_000_000_000_000_222, 333_000_000_000_000_333
FIRST_AND_LAST = ["Allow once", "Deny"]
"""Of the choices under an approval."""


class DiscordHome(ChannelHome):
    """A home whose people are on Discord."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.discord: Any = discord_api.DiscordApi()
        guild = self.discord.guild()
        self.room: int = self.discord.channel(guild)

    def install(self, *channels: str) -> None:
        super().install(*channels)
        with (self.home / ".env").open("a") as env:
            env.write(f'DISCORD_BOT_TOKEN="{self.discord.token}"\n')
        file = self.home / "config.yaml"
        config = json.loads(file.read_text())
        settings = {"api_url": self.discord.api_url, "edit_every": 0.3}
        config["plugins"]["discord"] = settings
        file.write_text(json.dumps(config))

    def close(self) -> None:
        super().close()
        self.discord.close()


@pytest.fixture(scope="module")
def claimed_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DiscordHome]:
    """A home with a gateway started with a token in ``.env``, and its first admin."""
    made = DiscordHome(tmp_path_factory.mktemp("home"))
    made.install()
    made.start()
    made.discord.say(BOSS, made.claim_code())
    made.discord.find("You are the first admin now.", BOSS)
    yield made
    made.close()
    assert made.discord.token not in made.said
    assert made.discord.world.pings == []


@pytest.fixture
def channel_home(claimed_home: DiscordHome) -> DiscordHome:
    """The gateway runs."""
    if claimed_home.gateway.poll() is not None:
        claimed_home.start()
    return claimed_home


@pytest.fixture
def api(channel_home: DiscordHome) -> Any:
    return channel_home.discord


@pytest.mark.slow
def test_admin_gets_reply_to_text_and_voice(channel_home: DiscordHome, api: Any) -> None:
    api.say(BOSS, "hello")
    assert api.find("Hello", BOSS).text == r"**Hello**, *you* & `me` \<there>"
    spoken = multimedia.sound("opus")
    api.send(BOSS, "voice-message.ogg", spoken, mime="audio/ogg", voice=1.0)

    def bubbles() -> Any:
        return [one for one in api.messages(BOSS) if one.flags & world.VOICE]

    (voice,) = api.wait(bubbles)
    assert api.world.blobs[voice.files[0]["url"]] == spoken
    (heard,) = channel_home.media.asked("audio/transcriptions")
    assert heard.form["file"][1] == spoken
    assert api.texts(BOSS).count("The **lamp** is on.") == 1


@pytest.mark.slow
def test_reply_includes_the_generated_picture(channel_home: DiscordHome, api: Any) -> None:
    api.say(BOSS, "draw a bicycle")
    api.find("Here it ", BOSS)

    def pictures() -> list[bytes]:
        shown = [one for one in api.messages(BOSS) if not one.flags & world.VOICE]
        return [api.world.blobs[file["url"]] for one in shown for file in one.files]

    assert api.wait(pictures) == [multimedia.make_png()]


@pytest.mark.slow
def test_pairing_request_is_accepted_by_the_admins_button(
    channel_home: DiscordHome, api: Any
) -> None:
    api.say(ANN, "hello")
    refused = api.find("I do not know you yet.", ANN).text
    code = refused.splitlines()[0].split()[-1]
    asked = api.find(f"discord:{ANN}", BOSS)
    assert code.strip("*`") in asked.text
    assert asked.buttons == ["Let in", "Block"]
    api.press(asked, "Let in", BOSS)
    api.wait(lambda: not asked.buttons)
    api.say(ANN, "hello")
    api.find("Hello", ANN)


@pytest.mark.slow
def test_command_waits_for_the_admins_button(channel_home: DiscordHome, api: Any) -> None:
    denied, allowed = (
        channel_home.folder_to_remove("denied"),
        channel_home.folder_to_remove("allowed"),
    )
    for name, choice, told in (
        ("denied", "Deny", "Then I leave it."),
        ("allowed", "Allow once", "It is removed."),
    ):
        api.say(BOSS, f"remove {name}")
        asked = api.find(remove(name), BOSS)
        assert asked.buttons[:1] + asked.buttons[-1:] == FIRST_AND_LAST
        before = replace(asked)
        api.press(asked, choice, BOSS)
        api.find(told, BOSS)
        api.wait(lambda asked=asked: not asked.buttons)
        api.press(before, "Allow once", BOSS)  # an app that still shows it
    api.say(BOSS, "/whoami")
    api.find(f"discord:{BOSS}", BOSS)
    assert denied.exists()
    assert not allowed.exists()


@pytest.mark.slow
def test_button_press_by_a_stranger_in_a_server_is_ignored(
    channel_home: DiscordHome, api: Any
) -> None:
    folder = channel_home.folder_to_remove("grouped")
    api.say(channel_home.room, f"<@{world.BOT_ID}> remove grouped", BOSS)
    asked = api.find(remove("grouped"), channel_home.room)
    press = api.press(asked, "Allow once", GUEST)
    api.find("I do not know you yet.", channel_home.room)
    api.wait(lambda: press in api.rest.answered)
    assert asked.buttons[:1] + asked.buttons[-1:] == FIRST_AND_LAST
    api.press(asked, "Deny", BOSS)
    api.find("Then I leave it.", channel_home.room)
    assert folder.exists()


@pytest.mark.slow
def test_scheduled_job_is_delivered_and_kill_leaves_one_reply(
    channel_home: DiscordHome, api: Any
) -> None:
    api.say(BOSS, "/schedule add in 1 minute | Write the letter.")
    api.find("Job ", BOSS)
    api.say(BOSS, "think")
    api.wait(lambda: api.rest.typed)
    assert telegram.end(channel_home.gateway) == 0
    assert api.texts(BOSS).count("I have thought.") == 1
    with OpenAIServer([Reply(COUNTED, pace=0.05), Reply(COUNTED)]) as service:
        model = {"HOOKLINE_MODEL": "openai/fake", "OPENAI_API_KEY": "test"}
        model |= {"OPENAI_BASE_URL": service.base_url}
        channel_home.start(**model)
        api.say(BOSS, "count")
        growing = api.find("number0", BOSS)
        api.wait(lambda: len(growing.edits) > 1)
        assert telegram.end(channel_home.gateway, signal.SIGKILL) == -signal.SIGKILL
        assert len(growing.text) < len(COUNTED)
        api.say(BOSS, "/status")
        channel_home.start(**model)
        api.find(COUNTED, BOSS)
        api.wait(lambda: api.messages(BOSS)[-1].text != COUNTED)
        assert telegram.end(channel_home.gateway) == 0
    assert api.texts(BOSS).count(COUNTED) == 1
    assert sum("number0" in text for text in api.texts(BOSS)) == 1
    channel_home.start(HOOKLINE_CLOCK_OFFSET="600")
    api.find("The letter is written.", BOSS)
    assert telegram.end(channel_home.gateway) == 0
    assert sum("The letter is written." in text for text in api.texts(BOSS)) == 1
