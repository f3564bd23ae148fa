"""The story of a bot on Feishu: the real library, a fake service, real processes."""

from __future__ import annotations

import html
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

fake = borrow("feishu", "feishu")
service = borrow("feishu", "service")
BOSS, ANN, GUEST = "ou_boss", "ou_ann", "ou_guest"
CHOICES = ["Once", "This session", "Always", "Deny"]
pytestmark = pytest.mark.slow


class FeishuHouse(House):
    """A home whose people are on Feishu."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.feishu: Any = fake.Feishu()
        self.mine: str = self.feishu.room(BOSS)
        self.hers: str = self.feishu.room(ANN)
        self.group: str = self.feishu.group("Friends", BOSS, GUEST)

    def install(self, *channels: str) -> None:
        super().install(*channels)
        with (self.home / ".env").open("a") as env:
            env.write(f'FEISHU_APP_ID="{service.APP}"\nFEISHU_APP_SECRET="{service.SECRET}"\n')
        file = self.home / "config.yaml"
        config = json.loads(file.read_text())
        config["plugins"]["feishu"] = {"domain": self.feishu.url}
        file.write_text(json.dumps(config))

    def texts(self) -> list[str]:
        """What the admin reads."""
        return [html.unescape(text) for text in self.feishu.texts(self.mine)]

    def close(self) -> None:
        super().close()
        self.feishu.close()


@pytest.fixture(scope="module")
def claimed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FeishuHouse]:
    """A gateway that was started with a secret in ``.env``, and whose first admin has come."""
    made = FeishuHouse(tmp_path_factory.mktemp("house"))
    made.install()
    made.start()
    made.feishu.say(made.mine, made.claim_code())
    made.feishu.find("You are the first admin now.", made.mine)
    yield made
    made.close()
    assert service.SECRET not in made.said
    assert made.feishu.pushes.broken == []


@pytest.fixture
def house(claimed: FeishuHouse) -> FeishuHouse:
    """The gateway runs."""
    if claimed.gateway.poll() is not None:
        claimed.start()
    return claimed


@pytest.fixture
def feishu(house: FeishuHouse) -> Any:
    return house.feishu


@pytest.mark.slow
def test_the_admin_is_answered_and_heard(house: FeishuHouse, feishu: Any) -> None:
    feishu.say(house.mine, "hello")
    feishu.find("Hello", house.mine)
    assert house.texts()[-1] == HELLO
    spoken = multimedia.sound("opus")
    feishu.send(house.mine, "audio", spoken, ms=500)

    def voices() -> list[Any]:
        return [one for one in feishu.shown(house.mine) if one.type == "audio"]

    (voice,) = feishu.wait(voices)
    assert feishu.files[voice.body["file_key"]][2] == spoken
    (heard,) = house.media.asked("audio/transcriptions")
    assert heard.form["file"][1] == spoken
    assert house.texts().count("The **lamp** is on.") == 1


@pytest.mark.slow
def test_a_picture_comes_with_the_answer(house: FeishuHouse, feishu: Any) -> None:
    feishu.say(house.mine, "draw a bicycle")
    feishu.find("Here it ", house.mine)

    def pictures() -> list[bytes]:
        keys = [one.body.get("image_key") for one in feishu.shown(house.mine)]
        return [feishu.files[key][2] for key in keys if key]

    assert feishu.wait(pictures) == [multimedia.make_png()]


@pytest.mark.slow
def test_pairing_request_is_accepted_by_the_admins_button(house: FeishuHouse, feishu: Any) -> None:
    feishu.say(house.hers, "hello")
    feishu.find("I do not know you yet.", house.hers)
    code = feishu.texts(house.hers)[0].splitlines()[0].split()[-1].strip("*`")
    asked = feishu.find(f"feishu:{ANN}", house.mine)
    assert any(code in text for text in house.texts())
    assert feishu.buttons(asked) == ["Let in", "Block"]
    feishu.press(asked, "Let in", BOSS)
    feishu.wait(lambda: not feishu.buttons(asked))
    feishu.say(house.hers, "hello")
    feishu.find("Hello", house.hers)


@pytest.mark.slow
def test_a_command_waits_for_the_admins_button(house: FeishuHouse, feishu: Any) -> None:
    denied, allowed = house.folder_to_remove("denied"), house.folder_to_remove("allowed")
    for name, choice, told in (
        ("denied", "Deny", "Then I leave it."),
        ("allowed", "Once", "It is removed."),
    ):
        feishu.say(house.mine, f"remove {name}")
        asked = feishu.find(remove(name), house.mine)
        assert feishu.buttons(asked) == CHOICES
        presses = [feishu.press(asked, choice, BOSS), feishu.press(asked, "Once", BOSS)]
        feishu.find(told, house.mine)
        feishu.wait(lambda asked=asked: not feishu.buttons(asked))
        feishu.wait(lambda presses=presses: all(press.is_done for press in presses))
    feishu.say(house.mine, "/whoami")
    feishu.find(f"feishu:{BOSS}", house.mine)
    assert denied.exists()
    assert not allowed.exists()


@pytest.mark.slow
def test_a_strangers_press_in_a_group_changes_nothing(house: FeishuHouse, feishu: Any) -> None:
    folder = house.folder_to_remove("grouped")
    feishu.say(house.group, "@_user_1 remove grouped", BOSS, at=[("Hook", service.BOT)])
    asked = feishu.find(remove("grouped"), house.group)
    press = feishu.press(asked, "Once", GUEST)
    feishu.find("I do not know you yet.", house.group)
    feishu.wait(lambda: press.is_done)
    assert feishu.buttons(asked) == CHOICES
    feishu.press(asked, "Deny", BOSS)
    feishu.find("Then I leave it.", house.group)
    assert folder.exists()


@pytest.mark.slow
def test_a_planned_job_is_delivered_and_a_death_leaves_one_answer(
    house: FeishuHouse, feishu: Any
) -> None:
    feishu.say(house.mine, "/schedule add in 1 minute | Write the letter.")
    feishu.find("Job ", house.mine)
    thought = feishu.say(house.mine, "think")
    feishu.wait(lambda: thought.reactions)  # that it is at work
    assert telegram.end(house.gateway) == 0
    assert house.texts().count("I have thought.") == 1
    with OpenAIServer([Reply(COUNTED, pace=0.05), Reply(COUNTED)]) as openai:
        model = {"HOOKLINE_MODEL": "openai/fake", "OPENAI_API_KEY": "test"}
        model |= {"OPENAI_BASE_URL": openai.base_url}
        house.start(**model)
        feishu.say(house.mine, "count")
        growing = feishu.find("number0", house.mine)
        feishu.wait(lambda: len(feishu.cards[growing.card].contents) > 1)
        assert telegram.end(house.gateway, signal.SIGKILL) == -signal.SIGKILL
        (part,) = [text for text in house.texts() if "number0" in text]
        assert len(part) < len(COUNTED)
        feishu.say(house.mine, "/status")
        house.start(**model)
        feishu.find(COUNTED, house.mine)
        feishu.wait(lambda: house.texts()[-1] != COUNTED)
        assert telegram.end(house.gateway) == 0
    assert house.texts().count(COUNTED) == 1
    assert sum("number0" in text for text in house.texts()) == 1
    house.start(HOOKLINE_CLOCK_OFFSET="600")
    feishu.find("The letter is written.", house.mine)
    assert telegram.end(house.gateway) == 0
    assert sum("The letter is written." in text for text in house.texts()) == 1
