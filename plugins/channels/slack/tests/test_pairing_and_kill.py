"""A pairing request answered by button, and a gateway killed while it streams."""

from __future__ import annotations

import signal

import pytest
from support.openai_server import OpenAIServer, Reply

from .conftest import ANN, BOSS, ECHO, Gateways, end
from .fake_rules import buttons_of, words_of
from .fake_slack import BOT, Slack

COUNTED = " ".join(f"number{n}" for n in range(200))


@pytest.mark.slow
def test_first_admin_accepts_pairing_request_with_button(slack: Slack, gateways: Gateways) -> None:
    gateways.configure(ECHO, access={})
    gateways.start()
    gateways.says("there is no admin yet")
    line = next(one for one in gateways.said.splitlines() if "there is no admin yet" in one)
    slack.say("D0BOSS", line.split()[-1], BOSS)
    slack.find("You are the first admin now.", "D0BOSS")
    slack.say("D0ANN", "hello", ANN)
    notice = words_of(slack.find("I do not know you yet.", "D0ANN"))
    asked = slack.find(f"slack:{ANN}", "D0BOSS")
    assert notice.splitlines()[0].split()[-1] in words_of(asked)
    assert [one["text"]["text"] for one in buttons_of(asked)] == ["Let in", "Block"]
    slack.press(asked, "Let in", ANN)
    slack.settle()
    assert buttons_of(asked)
    slack.press(asked, "Let in", BOSS)
    slack.wait(lambda: not buttons_of(slack.find(f"slack:{ANN}", "D0BOSS")))
    slack.say("D0ANN", "hello", ANN)
    slack.find("answered", "D0ANN")
    slack.say("C0ROOM", f"<@{BOT}> hello", "U0OTHER")
    slack.settle()
    assert "answered" not in slack.texts("C0ROOM")


@pytest.mark.slow
@pytest.mark.parametrize("native", [False, True])
def test_kill_while_streaming_leaves_one_reply(
    slack: Slack, gateways: Gateways, native: bool
) -> None:
    gateways.configure(slack={"native_streams": native}, openai={})
    with OpenAIServer([Reply(COUNTED, pace=0.05), Reply(COUNTED)]) as service:
        model = {"HOOKLINE_MODEL": "openai/fake", "OPENAI_API_KEY": "test"}
        model |= {"OPENAI_BASE_URL": service.base_url}
        gateways.start(**model)
        slack.say("C0ROOM", f"<@{BOT}> count")
        slack.find("number0", "C0ROOM")
        change = "chat.appendStream" if native else "chat.update"
        slack.wait(lambda: slack.count(change, "") > 1)
        assert end(gateways.running[-1], signal.SIGKILL) == -signal.SIGKILL
        (growing,) = slack.texts("C0ROOM")
        assert 0 < len(growing) < len(COUNTED)
        gateways.start(**model)
        slack.find(COUNTED, "C0ROOM")
        assert end(gateways.running[-1]) == 0
    assert slack.texts("C0ROOM") == [COUNTED]
    assert {one.is_open for one in slack.streams.values()} <= {False}
