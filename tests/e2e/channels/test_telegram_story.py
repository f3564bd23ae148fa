"""The story of a bot on Telegram: the real library, a fake service, real processes."""

from __future__ import annotations

import signal
from dataclasses import replace
from typing import Any

import pytest
from support.channels.model_script import COUNTED, remove
from support.channels.plugin_fakes import multimedia, telegram
from support.openai_server import OpenAIServer, Reply

from .conftest import BOSS, House

GROUP = -500
GUEST, STRANGER = 555, 666
CHOICES = ["Once", "This session", "Always", "Deny"]


@pytest.fixture(scope="module")
def claimed(built: House) -> House:
    """A gateway that was started with a token in ``.env``, and whose first admin has come."""
    built.install("telegram")
    built.api.room(BOSS)
    built.start()
    code = built.claim_code()
    built.api.say(BOSS, code)
    built.api.find("You are the first admin now.", BOSS)
    return built


@pytest.fixture
def house(claimed: House) -> House:
    """The gateway runs."""
    if claimed.gateway.poll() is not None:
        claimed.start()
    return claimed


@pytest.fixture
def api(house: House) -> Any:
    return house.api


def question(api: Any, part: str, chat: int) -> Any:
    """What was asked about a command, and what it looked like then."""
    shown = api.find(part, chat)
    return shown, replace(shown)


def code_in(text: str) -> str:
    """The pairing code that somebody unknown was given."""
    assert text.startswith("I do not know you yet.")
    return text.splitlines()[0].split()[-1]


@pytest.mark.slow
def test_the_admin_is_answered_and_the_claim_code_works_once(house: House, api: Any) -> None:
    api.say(BOSS, "hello")
    shown = api.find("Hello", BOSS)
    assert shown.text == "Hello, you & me <there>"
    assert {kind for kind, _, _ in shown.entities} == {"bold", "italic", "code"}
    api.say(700, house.claim_code())
    assert "first admin" not in api.wait(lambda: api.texts(700))[0]


@pytest.mark.slow
def test_a_voice_note_is_answered_with_a_voice_note(house: House, api: Any) -> None:
    spoken = multimedia.sound("opus")
    api.send(BOSS, "voice", spoken)
    voice = api.wait(lambda: [one for one in api.messages(BOSS) if one.kind == "voice"])
    assert [one.data for one in voice] == [spoken]
    (heard,) = house.media.asked("audio/transcriptions")
    assert heard.form["file"][1] == spoken
    (said,) = house.media.asked("audio/speech")
    assert said.json["input"] == "The lamp is on."
    assert said.json["response_format"] == "opus"
    assert api.texts(BOSS).count("The lamp is on.") == 1


@pytest.mark.slow
def test_a_picture_comes_with_the_answer(house: House, api: Any) -> None:
    api.say(BOSS, "draw a bicycle")
    api.find("Here it is.", BOSS)
    pictures = api.wait(lambda: [one.data for one in api.messages(BOSS) if one.kind == "photo"])
    assert pictures == [multimedia.make_png()]


@pytest.mark.slow
def test_a_denied_command_does_not_run_and_the_model_knows(house: House, api: Any) -> None:
    folder = house.folder_to_remove("denied")
    api.say(BOSS, "remove denied")
    asked, before = question(api, remove("denied"), BOSS)
    assert asked.buttons == CHOICES
    api.press(asked, "Deny", BOSS)
    api.find("Then I leave it.", BOSS)
    api.wait(lambda: not asked.buttons)
    press = api.press(before, "Once", BOSS)
    api.wait(lambda: press in api.answered)
    api.say(BOSS, "/whoami")
    api.find(f"telegram:{BOSS}", BOSS)
    assert folder.exists()
    assert "It is removed." not in api.texts(BOSS)


@pytest.mark.slow
def test_a_command_that_is_allowed_once_runs(house: House, api: Any) -> None:
    folder = house.folder_to_remove("allowed")
    api.say(BOSS, "remove allowed")
    asked, _ = question(api, remove("allowed"), BOSS)
    api.press(asked, "Once", BOSS)
    api.find("It is removed.", BOSS)
    assert not folder.exists()
    api.wait(lambda: not asked.buttons)


@pytest.mark.slow
def test_a_strangers_press_in_a_group_changes_nothing(house: House, api: Any) -> None:
    api.say(GUEST, "hello")
    code = code_in(api.wait(lambda: api.texts(GUEST))[0])
    assert house.run("pairing", "approve", code)[0] == 0
    folder = house.folder_to_remove("grouped")
    api.say(GROUP, "@hookline_bot remove grouped", BOSS)
    asked, before = question(api, remove("grouped"), GROUP)
    presses = [api.press(asked, "Once", who) for who in (GUEST, STRANGER)]
    api.find("Only the person whose request this is may answer.", GROUP)
    code_in(api.find("I do not know you yet.", GROUP).text)
    api.wait(lambda: set(presses) <= set(api.answered))
    assert asked.buttons == CHOICES
    assert folder.exists()
    api.press(asked, "Deny", BOSS)
    api.find("Then I leave it.", GROUP)
    presses = [api.press(before, "Once", who) for who in (GUEST, STRANGER, BOSS)]
    api.wait(lambda: set(presses) <= set(api.answered))
    api.say(GROUP, "/whoami@hookline_bot", BOSS)
    api.find(f"telegram:{BOSS}", GROUP)
    assert folder.exists()
    assert "It is removed." not in api.texts(GROUP)


@pytest.mark.slow
def test_pairing_request_is_accepted_by_the_admins_button(house: House, api: Any) -> None:
    ann = telegram.ANN
    api.say(ann, "hello")
    code = code_in(api.wait(lambda: api.texts(ann))[0])
    asked = api.find(f"telegram:{ann}", BOSS)
    assert code in asked.text
    assert asked.buttons == ["Let in", "Block"]
    api.press(asked, "Let in", BOSS)
    api.wait(lambda: not asked.buttons)
    api.say(ann, "hello")
    api.find("Hello", ann)


@pytest.mark.slow
def test_a_signal_ends_what_runs_and_a_planned_job_is_delivered(house: House, api: Any) -> None:
    api.say(BOSS, "/schedule add in 1 minute | Write the letter.")
    api.find("Job ", BOSS)
    typed = api.count("sendChatAction")
    api.say(BOSS, "think")
    api.wait(lambda: api.count("sendChatAction") > typed)
    assert telegram.end(house.gateway) == 0
    assert api.texts(BOSS).count("I have thought.") == 1
    house.start(HOOKLINE_CLOCK_OFFSET="600")
    api.find("The letter is written.", BOSS)
    assert telegram.end(house.gateway) == 0
    assert sum("The letter is written." in text for text in api.texts(BOSS)) == 1


@pytest.mark.slow
def test_a_death_in_the_middle_of_an_answer_leaves_one_answer(house: House, api: Any) -> None:
    assert telegram.end(house.gateway) == 0
    before = len(api.texts(BOSS))
    with OpenAIServer([Reply(COUNTED, pace=0.05), Reply(COUNTED)]) as service:
        model = {"HOOKLINE_MODEL": "openai/fake", "OPENAI_API_KEY": "test"}
        model |= {"OPENAI_BASE_URL": service.base_url}
        house.start(**model)
        api.say(BOSS, "count")
        growing = api.find("number0", BOSS)
        api.wait(lambda: len(growing.edits) > 1)
        assert telegram.end(house.gateway, signal.SIGKILL) == -signal.SIGKILL
        assert len(growing.text) < len(COUNTED)
        api.say(BOSS, "/whoami")
        house.start(**model)
        api.find(COUNTED, BOSS)
        api.wait(lambda: len(api.texts(BOSS)) >= before + 2 and not api.unconfirmed)
        assert telegram.end(house.gateway) == 0
    answer, who = sorted(api.texts(BOSS)[before:], key=len, reverse=True)
    assert answer == COUNTED
    assert f"telegram:{BOSS}" in who


@pytest.mark.slow
def test_a_death_in_a_tool_leaves_one_answer_and_one_run(house: House, api: Any) -> None:
    before = len(api.texts(BOSS))
    api.say(BOSS, "work")
    api.find("I will work.", BOSS)
    house.wait_until(lambda: house.works == 1)
    polls = api.count("getUpdates") + 3
    api.wait(lambda: api.count("getUpdates") >= polls)  # by then it knows what it has shown
    assert telegram.end(house.gateway, signal.SIGKILL) == -signal.SIGKILL
    api.say(BOSS, "/whoami")
    house.start()
    api.find("The work was cut short.", BOSS)
    api.wait(lambda: len(api.texts(BOSS)) >= before + 2 and not api.unconfirmed)
    assert telegram.end(house.gateway) == 0
    told = api.texts(BOSS)[before:]
    assert told.count("The work was cut short.") == 1
    assert len(told) == 2
    assert house.works == 1
