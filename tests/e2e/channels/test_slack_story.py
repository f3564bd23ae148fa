"""The story of a bot on Slack: the real library, a fake workspace, real processes."""

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

from .conftest import House

fake = borrow("slack", "fake_slack")
rules = borrow("slack", "fake_rules")
BOSS, ANN, GUEST = "U0BOSS", "U0ANN", "U0GUEST"
MINE, HERS, ROOM = "D0BOSS", "D0ANN", "C0ROOM"
"""The admin's and Ann's direct messages with the bot, and a channel."""
CHOICES = ["Once", "This session", "Always", "Deny"]
pytestmark = pytest.mark.slow


class SlackHouse(House):
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
def claimed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlackHouse]:
    """A gateway that was started with tokens in ``.env``, and whose first admin has come."""
    made = SlackHouse(tmp_path_factory.mktemp("house"))
    made.install()
    made.start()
    made.slack.say(MINE, made.claim_code(), BOSS)
    made.slack.find("You are the first admin now.", MINE)
    yield made
    made.close()
    assert "a-secret" not in made.said
    assert (made.slack.pings, made.slack.fetched) == ([], [])


@pytest.fixture
def house(claimed: SlackHouse) -> SlackHouse:
    """The gateway runs."""
    if claimed.gateway.poll() is not None:
        claimed.start()
    return claimed


@pytest.fixture
def slack(house: SlackHouse) -> Any:
    return house.slack


def labels(message: dict[str, Any]) -> list[str]:
    """What a message's buttons say."""
    return [one["text"]["text"] for one in rules.buttons_of(message)]


def files(slack: Any) -> list[dict[str, Any]]:
    """The files that the admin got, in order."""
    return [file for one in slack.messages(MINE) for file in one.get("files", ())]


@pytest.mark.slow
def test_the_admin_is_answered_and_heard(house: SlackHouse, slack: Any) -> None:
    slack.say(MINE, "hello", BOSS)
    assert rules.words_of(slack.find("Hello", MINE)) == HELLO
    spoken = multimedia.sound("m4a")
    slack.say(MINE, "", BOSS, files=(slack.voice(spoken),))
    (answer,) = slack.wait(lambda: files(slack))
    assert slack.data[answer["id"]] == multimedia.sound("mp3")
    (heard,) = house.media.asked("audio/transcriptions")
    assert heard.form["file"][1] == spoken
    assert slack.texts(MINE).count("The **lamp** is on.") == 1


@pytest.mark.slow
def test_a_picture_comes_with_the_answer(slack: Any) -> None:
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
def test_a_command_waits_for_the_admins_button(house: SlackHouse, slack: Any) -> None:
    denied, allowed = house.folder_to_remove("denied"), house.folder_to_remove("allowed")
    for name, choice, told in (
        ("denied", "Deny", "Then I leave it."),
        ("allowed", "Once", "It is removed."),
    ):
        slack.say(MINE, f"remove {name}", BOSS)
        asked = slack.find(remove(name), MINE)
        assert labels(asked) == CHOICES
        before = json.loads(json.dumps(asked))
        slack.press(asked, choice, BOSS)
        slack.find(told, MINE)
        slack.wait(lambda name=name: not labels(slack.find(remove(name), MINE)))
        slack.press(before, "Once", BOSS)  # an app that still shows it
    slack.say(MINE, "/whoami", BOSS)
    slack.find(f"slack:{BOSS}", MINE)
    assert denied.exists()
    assert not allowed.exists()


@pytest.mark.slow
def test_a_strangers_press_in_a_channel_changes_nothing(house: SlackHouse, slack: Any) -> None:
    folder = house.folder_to_remove("grouped")
    slack.say(ROOM, f"<@{fake.BOT}> remove grouped", BOSS)
    asked = slack.find(remove("grouped"), ROOM)
    slack.press(asked, "Once", GUEST)
    slack.find("I do not know you yet.", ROOM)
    slack.settle()
    assert labels(slack.find(remove("grouped"), ROOM)) == CHOICES
    slack.press(asked, "Deny", BOSS)
    slack.find("Then I leave it.", ROOM)
    assert folder.exists()


@pytest.mark.slow
def test_a_planned_job_is_delivered_and_a_death_leaves_one_answer(
    house: SlackHouse, slack: Any
) -> None:
    slack.say(MINE, "/schedule add in 1 minute | Write the letter.", BOSS)
    slack.find("Job ", MINE)
    asked = slack.say(ROOM, f"<@{fake.BOT}> think", BOSS)
    slack.wait(lambda: (ROOM, asked["ts"]) in slack.status)
    assert telegram.end(house.gateway) == 0
    assert slack.texts(ROOM).count("I have thought.") == 1
    with OpenAIServer([Reply(COUNTED, pace=0.05), Reply(COUNTED)]) as service:
        model = {"HOOKLINE_MODEL": "openai/fake", "OPENAI_API_KEY": "test"}
        model |= {"OPENAI_BASE_URL": service.base_url}
        house.start(**model)
        updates = slack.count("chat.update", "")
        slack.say(MINE, "count", BOSS)
        growing = slack.find("number0", MINE)
        slack.wait(lambda: slack.count("chat.update", "") > updates + 1)
        assert telegram.end(house.gateway, signal.SIGKILL) == -signal.SIGKILL
        assert len(rules.words_of(growing)) < len(COUNTED)
        slack.say(MINE, "/status", BOSS)
        house.start(**model)
        slack.find(COUNTED, MINE)
        slack.wait(lambda: slack.texts(MINE)[-1] != COUNTED)
        assert telegram.end(house.gateway) == 0
    assert slack.texts(MINE).count(COUNTED) == 1
    assert sum("number0" in text for text in slack.texts(MINE)) == 1
    house.start(HOOKLINE_CLOCK_OFFSET="600")
    slack.find("The letter is written.", MINE)
    assert telegram.end(house.gateway) == 0
    assert sum("The letter is written." in text for text in slack.texts(MINE)) == 1
