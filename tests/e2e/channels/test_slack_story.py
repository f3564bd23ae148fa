"""A bot on Slack from claim to kill: real library, fake workspace, real processes."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.channels.model_script import COUNTED, HELLO, remove
from support.channels.plugin_fakes import borrow, multimedia, telegram
from support.openai_server import OpenAIServer, Reply

from .conftest import ChannelHome

fake = borrow("slack", "fake_slack")
rules = borrow("slack", "fake_rules")
BOSS, ANN, GUEST = "U0BOSS", "U0ANN", "U0GUEST"
MINE, HERS, ROOM = "D0BOSS", "D0ANN", "C0ROOM"
"""The admin's and Ann's direct messages with the bot, and a channel."""
FIRST_AND_LAST = ["Allow once", "Deny"]
"""Of the choices under an approval."""
pytestmark = pytest.mark.slow


class SlackHome(ChannelHome):
    """A home whose people are on Slack."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.slack: Any = fake.Slack()

    def install(self, *channels: str) -> None:
        super().install(*channels)
        with (self.home / ".env").open("a") as env:
            env.write(f'SLACK_BOT_TOKEN="{fake.BOT_TOKEN}"\nSLACK_APP_TOKEN="{fake.APP_TOKEN}"\n')
        file = self.home / "config.yaml"
        config = json.loads(file.read_text())
        config["plugins"]["slack"] = {"api_url": self.slack.api_url}
        file.write_text(json.dumps(config))

    def close(self) -> None:
        super().close()
        self.slack.close()


@pytest.fixture(scope="module")
def claimed_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlackHome]:
    """A home with a gateway started with tokens in ``.env``, and its first admin."""
    made = SlackHome(tmp_path_factory.mktemp("home"))
    made.install()
    made.start()
    made.slack.say(MINE, made.claim_code(), BOSS)
    made.slack.find("You are the first admin now.", MINE)
    yield made
    made.close()
    assert "a-secret" not in made.said
    assert (made.slack.pings, made.slack.fetched) == ([], [])


@pytest.fixture
def channel_home(claimed_home: SlackHome) -> SlackHome:
    """The gateway runs."""
    if claimed_home.gateway.poll() is not None:
        claimed_home.start()
    return claimed_home


@pytest.fixture
def slack(channel_home: SlackHome) -> Any:
    return channel_home.slack


def labels(message: dict[str, Any]) -> list[str]:
    """What a message's buttons say."""
    return [one["text"]["text"] for one in rules.buttons_of(message)]


def files(slack: Any) -> list[dict[str, Any]]:
    """The files that the admin got, in order."""
    return [file for one in slack.messages(MINE) for file in one.get("files", ())]


@pytest.mark.slow
def test_admin_gets_reply_to_text_and_voice(channel_home: SlackHome, slack: Any) -> None:
    slack.say(MINE, "hello", BOSS)
    assert rules.words_of(slack.find("Hello", MINE)) == HELLO
    spoken = multimedia.sound("m4a")
    slack.say(MINE, "", BOSS, files=(slack.voice(spoken),))
    (answer,) = slack.wait(lambda: files(slack))
    assert slack.data[answer["id"]] == multimedia.sound("mp3")
    (heard,) = channel_home.media.asked("audio/transcriptions")
    assert heard.form["file"][1] == spoken
    assert slack.texts(MINE).count("The **lamp** is on.") == 1


@pytest.mark.slow
def test_reply_includes_the_generated_picture(slack: Any) -> None:
    before = len(files(slack))
    slack.say(MINE, "draw a bicycle", BOSS)
    slack.find("Here it ", MINE)
    (picture,) = slack.wait(lambda: files(slack)[before:])
    assert slack.data[picture["id"]] == multimedia.make_png()


@pytest.mark.slow
def test_pairing_request_is_accepted_by_the_admins_button(slack: Any) -> None:
    slack.say(HERS, "hello", ANN)
    refused = rules.words_of(slack.find("I do not know you yet.", HERS))
    asked = slack.find(f"slack:{ANN}", MINE)
    assert refused.splitlines()[0].split()[-1] in rules.words_of(asked)
    assert labels(asked) == ["Let in", "Block"]
    slack.press(asked, "Let in", BOSS)
    slack.wait(lambda: not labels(slack.find(f"slack:{ANN}", MINE)))
    slack.say(HERS, "hello", ANN)
    slack.find("Hello", HERS)


@pytest.mark.slow
def test_command_waits_for_the_admins_button(channel_home: SlackHome, slack: Any) -> None:
    denied, allowed = (
        channel_home.folder_to_remove("denied"),
        channel_home.folder_to_remove("allowed"),
    )
    for name, choice, told in (
        ("denied", "Deny", "Then I leave it."),
        ("allowed", "Allow once", "It is removed."),
    ):
        slack.say(MINE, f"remove {name}", BOSS)
        asked = slack.find(remove(name), MINE)
        assert labels(asked)[:1] + labels(asked)[-1:] == FIRST_AND_LAST
        before = json.loads(json.dumps(asked))
        slack.press(asked, choice, BOSS)
        slack.find(told, MINE)
        slack.wait(lambda name=name: not labels(slack.find(remove(name), MINE)))
        slack.press(before, "Allow once", BOSS)  # an app that still shows it
    slack.say(MINE, "/whoami", BOSS)
    slack.find(f"slack:{BOSS}", MINE)
    assert denied.exists()
    assert not allowed.exists()


@pytest.mark.slow
def test_button_press_by_a_stranger_in_a_channel_is_ignored(
    channel_home: SlackHome, slack: Any
) -> None:
    folder = channel_home.folder_to_remove("grouped")
    slack.say(ROOM, f"<@{fake.BOT}> remove grouped", BOSS)
    asked = slack.find(remove("grouped"), ROOM)
    slack.press(asked, "Allow once", GUEST)
    slack.find("I do not know you yet.", ROOM)
    slack.settle()
    shown = labels(slack.find(remove("grouped"), ROOM))
    assert shown[:1] + shown[-1:] == FIRST_AND_LAST
    slack.press(asked, "Deny", BOSS)
    slack.find("Then I leave it.", ROOM)
    assert folder.exists()


@pytest.mark.slow
def test_scheduled_job_is_delivered_and_kill_leaves_one_reply(
    channel_home: SlackHome, slack: Any
) -> None:
    slack.say(MINE, "/schedule add in 1 minute | Write the letter.", BOSS)
    slack.find("Job ", MINE)
    asked = slack.say(ROOM, f"<@{fake.BOT}> think", BOSS)
    slack.wait(lambda: (ROOM, asked["ts"]) in slack.status)
    assert telegram.end(channel_home.gateway) == 0
    assert slack.texts(ROOM).count("I have thought.") == 1
    with OpenAIServer([Reply(COUNTED, pace=0.05), Reply(COUNTED)]) as service:
        model = {"HOOKLINE_MODEL": "openai/fake", "OPENAI_API_KEY": "test"}
        model |= {"OPENAI_BASE_URL": service.base_url}
        channel_home.start(**model)
        updates = slack.count("chat.update", "")
        slack.say(MINE, "count", BOSS)
        growing = slack.find("number0", MINE)
        slack.wait(lambda: slack.count("chat.update", "") > updates + 1)
        assert telegram.end(channel_home.gateway, signal.SIGKILL) == -signal.SIGKILL
        assert len(rules.words_of(growing)) < len(COUNTED)
        slack.say(MINE, "/status", BOSS)
        channel_home.start(**model)
        slack.find(COUNTED, MINE)
        slack.wait(lambda: slack.texts(MINE)[-1] != COUNTED)
        assert telegram.end(channel_home.gateway) == 0
    assert slack.texts(MINE).count(COUNTED) == 1
    assert sum("number0" in text for text in slack.texts(MINE)) == 1
    channel_home.start(HOOKLINE_CLOCK_OFFSET="600")
    slack.find("The letter is written.", MINE)
    assert telegram.end(channel_home.gateway) == 0
    assert sum("The letter is written." in text for text in slack.texts(MINE)) == 1
