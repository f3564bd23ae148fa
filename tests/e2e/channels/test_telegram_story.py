"""A bot on Telegram from claim to kill: real library, fake service, real processes."""

from __future__ import annotations

import signal
from dataclasses import replace
from typing import Any

import pytest
from support.channels.model_script import COUNTED, remove
from support.channels.plugin_fakes import multimedia, telegram
from support.openai_server import OpenAIServer, Reply

from .conftest import BOSS, ChannelHome

GROUP = -500
GUEST, STRANGER = 555, 666
FIRST_AND_LAST = ["Allow once", "Deny"]
"""Of the choices under an approval."""


@pytest.fixture(scope="module")
def claimed_home(new_home: ChannelHome) -> ChannelHome:
    """A home with a gateway started with a token in ``.env``, and its first admin."""
    new_home.install("telegram")
    new_home.api.room(BOSS)
    new_home.start()
    code = new_home.claim_code()
    new_home.api.say(BOSS, code)
    new_home.api.find("You are the first admin now.", BOSS)
    return new_home


@pytest.fixture
def channel_home(claimed_home: ChannelHome) -> ChannelHome:
    """The gateway runs."""
    if claimed_home.gateway.poll() is not None:
        claimed_home.start()
    return claimed_home


@pytest.fixture
def api(channel_home: ChannelHome) -> Any:
    return channel_home.api


def question(api: Any, part: str, chat: int) -> Any:
    """The question about a command, and its first form."""
    shown = api.find(part, chat)
    return shown, replace(shown)


def pairing_code(text: str) -> str:
    """The pairing code that an unknown person got."""
    assert text.startswith("I do not know you yet.")
    return text.splitlines()[0].split()[-1]


@pytest.mark.slow
def test_admin_gets_reply_and_claim_code_works_once(channel_home: ChannelHome, api: Any) -> None:
    api.say(BOSS, "hello")
    shown = api.find("Hello", BOSS)
    assert shown.text == "Hello, you & me <there>"
    assert {kind for kind, _, _ in shown.entities} == {"bold", "italic", "code"}
    api.say(700, channel_home.claim_code())
    assert "first admin" not in api.wait(lambda: api.texts(700))[0]


@pytest.mark.slow
def test_voice_note_is_answered_with_a_voice_note(channel_home: ChannelHome, api: Any) -> None:
    spoken = multimedia.sound("opus")
    api.send(BOSS, "voice", spoken)
    voice = api.wait(lambda: [one for one in api.messages(BOSS) if one.kind == "voice"])
    assert [one.data for one in voice] == [spoken]
    (heard,) = channel_home.media.asked("audio/transcriptions")
    assert heard.form["file"][1] == spoken
    (said,) = channel_home.media.asked("audio/speech")
    assert said.json["input"] == "The lamp is on."
    assert said.json["response_format"] == "opus"
    assert api.texts(BOSS).count("The lamp is on.") == 1


@pytest.mark.slow
def test_reply_includes_the_generated_picture(channel_home: ChannelHome, api: Any) -> None:
    api.say(BOSS, "draw a bicycle")
    api.find("Here it is.", BOSS)
    pictures = api.wait(lambda: [one.data for one in api.messages(BOSS) if one.kind == "photo"])
    assert pictures == [multimedia.make_png()]


@pytest.mark.slow
def test_denied_command_does_not_run_and_the_model_is_told(
    channel_home: ChannelHome, api: Any
) -> None:
    folder = channel_home.folder_to_remove("denied")
    api.say(BOSS, "remove denied")
    asked, before = question(api, remove("denied"), BOSS)
    assert asked.buttons[:1] + asked.buttons[-1:] == FIRST_AND_LAST
    api.press(asked, "Deny", BOSS)
    api.find("Then I leave it.", BOSS)
    api.wait(lambda: not asked.buttons)
    press = api.press(before, "Allow once", BOSS)
    api.wait(lambda: press in api.answered)
    api.say(BOSS, "/whoami")
    api.find(f"telegram:{BOSS}", BOSS)
    assert folder.exists()
    assert "It is removed." not in api.texts(BOSS)


@pytest.mark.slow
def test_command_allowed_once_runs(channel_home: ChannelHome, api: Any) -> None:
    folder = channel_home.folder_to_remove("allowed")
    api.say(BOSS, "remove allowed")
    asked, _ = question(api, remove("allowed"), BOSS)
    api.press(asked, "Allow once", BOSS)
    api.find("It is removed.", BOSS)
    assert not folder.exists()
    api.wait(lambda: not asked.buttons)


@pytest.mark.slow
def test_button_press_by_a_stranger_in_a_group_is_ignored(
    channel_home: ChannelHome, api: Any
) -> None:
    api.say(GUEST, "hello")
    code = pairing_code(api.wait(lambda: api.texts(GUEST))[0])
    assert channel_home.run("pairing", "approve", code)[0] == 0
    folder = channel_home.folder_to_remove("grouped")
    api.say(GROUP, "@hookline_bot remove grouped", BOSS)
    asked, before = question(api, remove("grouped"), GROUP)
    presses = [api.press(asked, "Allow once", who) for who in (GUEST, STRANGER)]
    api.find("You may not answer this question.", GROUP)
    assert api.find("I do not know you yet.", GROUP).text.endswith("to be let in.")  # no code
    api.wait(lambda: set(presses) <= set(api.answered))
    assert asked.buttons[:1] + asked.buttons[-1:] == FIRST_AND_LAST
    assert folder.exists()
    api.press(asked, "Deny", BOSS)
    api.find("Then I leave it.", GROUP)
    presses = [api.press(before, "Allow once", who) for who in (GUEST, STRANGER, BOSS)]
    api.wait(lambda: set(presses) <= set(api.answered))
    api.say(GROUP, "/whoami@hookline_bot", BOSS)
    api.find(f"telegram:{BOSS}", GROUP)
    assert folder.exists()
    assert "It is removed." not in api.texts(GROUP)


@pytest.mark.slow
def test_pairing_request_is_accepted_by_the_admins_button(
    channel_home: ChannelHome, api: Any
) -> None:
    ann = telegram.ANN
    api.say(ann, "hello")
    code = pairing_code(api.wait(lambda: api.texts(ann))[0])
    asked = api.find(f"telegram:{ann}", BOSS)
    assert code in asked.text
    assert asked.buttons == ["Let in", "Block"]
    api.press(asked, "Let in", BOSS)
    api.wait(lambda: not asked.buttons)
    api.say(ann, "hello")
    api.find("Hello", ann)


@pytest.mark.slow
def test_sigterm_finishes_the_turn_and_scheduled_job_is_delivered(
    channel_home: ChannelHome, api: Any
) -> None:
    api.say(BOSS, "/schedule add in 1 minute | Write the letter.")
    api.find("Job ", BOSS)
    typed = api.count("sendChatAction")
    api.say(BOSS, "think")
    api.wait(lambda: api.count("sendChatAction") > typed)
    assert telegram.end(channel_home.gateway) == 0
    assert api.texts(BOSS).count("I have thought.") == 1
    channel_home.start(HOOKLINE_CLOCK_OFFSET="600")
    api.find("The letter is written.", BOSS)
    assert telegram.end(channel_home.gateway) == 0
    assert sum("The letter is written." in text for text in api.texts(BOSS)) == 1


@pytest.mark.slow
def test_kill_during_streaming_leaves_one_reply(channel_home: ChannelHome, api: Any) -> None:
    assert telegram.end(channel_home.gateway) == 0
    before = len(api.texts(BOSS))
    with OpenAIServer([Reply(COUNTED, pace=0.05), Reply(COUNTED)]) as service:
        model = {"HOOKLINE_MODEL": "openai/fake", "OPENAI_API_KEY": "test"}
        model |= {"OPENAI_BASE_URL": service.base_url}
        channel_home.start(**model)
        api.say(BOSS, "count")
        growing = api.find("number0", BOSS)
        api.wait(lambda: len(growing.edits) > 1)
        assert telegram.end(channel_home.gateway, signal.SIGKILL) == -signal.SIGKILL
        assert len(growing.text) < len(COUNTED)
        api.say(BOSS, "/whoami")
        channel_home.start(**model)
        api.find(COUNTED, BOSS)
        api.wait(lambda: len(api.texts(BOSS)) >= before + 2 and not api.unconfirmed)
        assert telegram.end(channel_home.gateway) == 0
    answer, who = sorted(api.texts(BOSS)[before:], key=len, reverse=True)
    assert answer == COUNTED
    assert f"telegram:{BOSS}" in who


@pytest.mark.slow
def test_kill_in_a_tool_leaves_one_reply_and_one_run(channel_home: ChannelHome, api: Any) -> None:
    before = len(api.texts(BOSS))
    api.say(BOSS, "work")
    api.find("I will work.", BOSS)
    channel_home.wait_until(lambda: channel_home.works == 1)
    polls = api.count("getUpdates") + 3
    api.wait(lambda: api.count("getUpdates") >= polls)  # by then it knows what it has shown
    assert telegram.end(channel_home.gateway, signal.SIGKILL) == -signal.SIGKILL
    api.say(BOSS, "/whoami")
    channel_home.start()
    api.find("The work was cut short.", BOSS)
    api.wait(lambda: len(api.texts(BOSS)) >= before + 2 and not api.unconfirmed)
    assert telegram.end(channel_home.gateway) == 0
    told = api.texts(BOSS)[before:]
    assert told.count("The work was cut short.") == 1
    assert len(told) == 2
    assert channel_home.works == 1
