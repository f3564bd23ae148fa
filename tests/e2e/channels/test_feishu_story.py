"""A bot on Feishu from claim to kill: real library, fake service, real processes."""

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

from .conftest import ChannelHome

fake = borrow("feishu", "feishu")
service = borrow("feishu", "service")
BOSS, ANN, GUEST = "ou_boss", "ou_ann", "ou_guest"
FIRST_AND_LAST = ["Allow once", "Deny"]
"""Of the choices under an approval."""
pytestmark = pytest.mark.slow


class FeishuHome(ChannelHome):
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
def claimed_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FeishuHome]:
    """A home with a gateway started with a secret in ``.env``, and its first admin."""
    made = FeishuHome(tmp_path_factory.mktemp("home"))
    made.install()
    made.start()
    made.feishu.say(made.mine, made.claim_code())
    made.feishu.find("You are the first admin now.", made.mine)
    yield made
    made.close()
    assert service.SECRET not in made.said
    assert made.feishu.pushes.broken == []


@pytest.fixture
def channel_home(claimed_home: FeishuHome) -> FeishuHome:
    """The gateway runs."""
    if claimed_home.gateway.poll() is not None:
        claimed_home.start()
    return claimed_home


@pytest.fixture
def feishu(channel_home: FeishuHome) -> Any:
    return channel_home.feishu


@pytest.mark.slow
def test_admin_gets_reply_to_text_and_voice(channel_home: FeishuHome, feishu: Any) -> None:
    feishu.say(channel_home.mine, "hello")
    feishu.find("Hello", channel_home.mine)
    assert channel_home.texts()[-1] == HELLO
    spoken = multimedia.sound("opus")
    feishu.send(channel_home.mine, "audio", spoken, ms=500)

    def voices() -> list[Any]:
        return [one for one in feishu.shown(channel_home.mine) if one.type == "audio"]

    (voice,) = feishu.wait(voices)
    assert feishu.files[voice.body["file_key"]][2] == spoken
    (heard,) = channel_home.media.asked("audio/transcriptions")
    assert heard.form["file"][1] == spoken
    assert channel_home.texts().count("The **lamp** is on.") == 1


@pytest.mark.slow
def test_reply_includes_the_generated_picture(channel_home: FeishuHome, feishu: Any) -> None:
    feishu.say(channel_home.mine, "draw a bicycle")
    feishu.find("Here it ", channel_home.mine)

    def pictures() -> list[bytes]:
        keys = [one.body.get("image_key") for one in feishu.shown(channel_home.mine)]
        return [feishu.files[key][2] for key in keys if key]

    assert feishu.wait(pictures) == [multimedia.make_png()]


@pytest.mark.slow
def test_pairing_request_is_accepted_by_the_admins_button(
    channel_home: FeishuHome, feishu: Any
) -> None:
    feishu.say(channel_home.hers, "hello")
    feishu.find("I do not know you yet.", channel_home.hers)
    code = feishu.texts(channel_home.hers)[0].splitlines()[0].split()[-1].strip("*`")
    asked = feishu.find(f"feishu:{ANN}", channel_home.mine)
    assert any(code in text for text in channel_home.texts())
    assert feishu.buttons(asked) == ["Let in", "Block"]
    feishu.press(asked, "Let in", BOSS)
    feishu.wait(lambda: not feishu.buttons(asked))
    feishu.say(channel_home.hers, "hello")
    feishu.find("Hello", channel_home.hers)


@pytest.mark.slow
def test_command_waits_for_the_admins_button(channel_home: FeishuHome, feishu: Any) -> None:
    denied, allowed = (
        channel_home.folder_to_remove("denied"),
        channel_home.folder_to_remove("allowed"),
    )
    for name, choice, told in (
        ("denied", "Deny", "Then I leave it."),
        ("allowed", "Allow once", "It is removed."),
    ):
        feishu.say(channel_home.mine, f"remove {name}")
        asked = feishu.find(remove(name), channel_home.mine)
        assert feishu.buttons(asked)[:1] + feishu.buttons(asked)[-1:] == FIRST_AND_LAST
        presses = [feishu.press(asked, choice, BOSS), feishu.press(asked, "Allow once", BOSS)]
        feishu.find(told, channel_home.mine)
        feishu.wait(lambda asked=asked: not feishu.buttons(asked))
        feishu.wait(lambda presses=presses: all(press.is_done for press in presses))
    feishu.say(channel_home.mine, "/whoami")
    feishu.find(f"feishu:{BOSS}", channel_home.mine)
    assert denied.exists()
    assert not allowed.exists()


@pytest.mark.slow
def test_button_press_by_a_stranger_in_a_group_is_ignored(
    channel_home: FeishuHome, feishu: Any
) -> None:
    folder = channel_home.folder_to_remove("grouped")
    feishu.say(channel_home.group, "@_user_1 remove grouped", BOSS, at=[("Hook", service.BOT)])
    asked = feishu.find(remove("grouped"), channel_home.group)
    press = feishu.press(asked, "Allow once", GUEST)
    feishu.find("I do not know you yet.", channel_home.group)
    feishu.wait(lambda: press.is_done)
    assert feishu.buttons(asked)[:1] + feishu.buttons(asked)[-1:] == FIRST_AND_LAST
    feishu.press(asked, "Deny", BOSS)
    feishu.find("Then I leave it.", channel_home.group)
    assert folder.exists()


@pytest.mark.slow
def test_scheduled_job_is_delivered_and_kill_leaves_one_reply(
    channel_home: FeishuHome, feishu: Any
) -> None:
    feishu.say(channel_home.mine, "/schedule add in 1 minute | Write the letter.")
    feishu.find("Job ", channel_home.mine)
    thought = feishu.say(channel_home.mine, "think")
    feishu.wait(lambda: thought.reactions)  # that it is at work
    assert telegram.end(channel_home.gateway) == 0
    assert channel_home.texts().count("I have thought.") == 1
    with OpenAIServer([Reply(COUNTED, pace=0.05), Reply(COUNTED)]) as openai:
        model = {"HOOKLINE_MODEL": "openai/fake", "OPENAI_API_KEY": "test"}
        model |= {"OPENAI_BASE_URL": openai.base_url}
        channel_home.start(**model)
        feishu.say(channel_home.mine, "count")
        growing = feishu.find("number0", channel_home.mine)
        feishu.wait(lambda: len(feishu.cards[growing.card].contents) > 1)
        assert telegram.end(channel_home.gateway, signal.SIGKILL) == -signal.SIGKILL
        (part,) = [text for text in channel_home.texts() if "number0" in text]
        assert len(part) < len(COUNTED)
        feishu.say(channel_home.mine, "/status")
        channel_home.start(**model)
        feishu.find(COUNTED, channel_home.mine)
        feishu.wait(lambda: channel_home.texts()[-1] != COUNTED)
        assert telegram.end(channel_home.gateway) == 0
    assert channel_home.texts().count(COUNTED) == 1
    assert sum("number0" in text for text in channel_home.texts()) == 1
    channel_home.start(HOOKLINE_CLOCK_OFFSET="600")
    feishu.find("The letter is written.", channel_home.mine)
    assert telegram.end(channel_home.gateway) == 0
    assert sum("The letter is written." in text for text in channel_home.texts()) == 1
