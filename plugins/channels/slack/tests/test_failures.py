"""Broken connections, errors and kills: each message gets one reply, in order."""

from __future__ import annotations

import re
import signal
import time
from typing import Any

import pytest

from .conftest import BOSS, Gateways, end
from .fake_rules import buttons_of
from .fake_slack import APP_TOKEN, BOT, BOT_TOKEN, Slack

MARK = "(may be a repeat)"


def numbered(count: int) -> dict[str, Any]:
    """A model that answers ``m7`` with ``r7.``; once each."""
    return {"steps": [{"when": f"^m{n}$", "text": f"r{n}."} for n in range(count)]}


def answers(slack: Slack, channel: str | None = None) -> list[int]:
    """The numbers that the bot has answered, as they stand."""
    return [int(n) for text in slack.texts(channel) for n in re.findall(r"r(\d+)\.", text)]


def say(slack: Slack, numbers: range, channel: str = "D0ANN", **more: Any) -> None:
    for n in numbers:
        slack.say(channel, f"m{n}", **more)


@pytest.mark.slow
def test_messages_sent_while_offline_get_replies_in_order(slack: Slack, gateways: Gateways) -> None:
    gateways.configure(numbered(12))
    gateway = gateways.start()
    root = slack.say("C0ROOM", f"<@{BOT}> m0")["ts"]
    say(slack, range(1, 2))
    slack.wait(lambda: sorted(answers(slack)) == [0, 1])
    assert end(gateway) == 0
    say(slack, range(2, 5))
    slack.say("C0ROOM", "m5", thread=root)
    slack.say("C0ROOM", "nothing for it")
    slack.say("C0ROOM", f"<@{BOT}> m6")
    old = slack.say("C0ROOM", "long ago")["ts"]
    slack.say("C0ROOM", f"<@{BOT}> m7", thread=old)
    slack.pass_time(400)
    slack.say("C0ROOM", "m8", thread=old)
    gateways.start()
    slack.wait(lambda: len(answers(slack)) == 9)
    assert answers(slack, "D0ANN") == [1, 2, 3, 4]
    assert answers(slack, "C0ROOM") == [0, 5, 6, 7, 8] or sorted(answers(slack, "C0ROOM")) == [
        *(0, 5, 6, 7, 8)
    ]
    threads = {text: m.get("thread_ts") for m in slack.messages("C0ROOM") for text in [m["text"]]}
    assert (threads["r5."], threads["r7."], threads["r8."]) == (root, old, old)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["drop", "502", "garbage", "fatal_error", "hang up"])
def test_unconfirmed_message_is_not_sent_twice(slack: Slack, gateways: Gateways, kind: str) -> None:
    gateways.configure(numbered(2))
    gateways.start()
    slack.misbehave(kind, "chat.postMessage")
    say(slack, range(2))
    slack.wait(lambda: answers(slack) == [0, 1])
    assert not any(MARK in text for text in slack.texts())


@pytest.mark.slow
def test_closing_sockets_lose_no_message(slack: Slack, gateways: Gateways) -> None:
    slack.sockets.ack_seconds = 1.0
    gateways.configure(numbered(16))
    gateways.start()
    say(slack, range(2))
    slack.sockets.refresh()
    say(slack, range(2, 4))
    say(slack, range(8, 12), "D0TWO")
    slack.wait(lambda: slack.sockets.made == 4)
    slack.sockets.cut()
    say(slack, range(4, 6))
    slack.wait(lambda: slack.sockets.made == 6)
    slack.sockets.refresh()
    say(slack, range(6, 8))
    say(slack, range(12, 16), "D0TWO")
    slack.wait(lambda: len(answers(slack)) == 16)
    assert answers(slack, "D0ANN") == list(range(8))
    assert answers(slack, "D0TWO") == list(range(8, 16))
    assert (slack.sockets.refused, slack.sockets.lost) == ([], [])


@pytest.mark.slow
def test_thread_started_while_offline_is_read_before_newer_replies(
    slack: Slack, gateways: Gateways
) -> None:
    """Slack may send the message that the thread hangs on again minutes later."""
    gateways.configure(numbered(2))
    gateways.start()
    slack.wait(lambda: slack.sockets.made == 2)
    slack.misbehave("hang up", "apps.connections.open", times=4)
    slack.sockets.cut()
    slack.wait(lambda: not slack.sockets.open)
    root = slack.say("C0ROOM", f"<@{BOT}> m0")["ts"]
    slack.misbehave("hang up", "users.conversations", times=50)
    slack.soon(slack.sockets.later.clear)
    slack.wait(lambda: slack.sockets.made == 4)
    slack.say("C0ROOM", f"<@{BOT}> m1", thread=root)
    slack.wait(lambda: len(answers(slack)) == 2)
    assert answers(slack, "C0ROOM") == [0, 1]


@pytest.mark.slow
def test_half_open_socket_is_replaced(slack: Slack, gateways: Gateways) -> None:
    gateways.configure(numbered(8))
    gateways.start()
    say(slack, range(4))
    slack.wait(lambda: len(answers(slack)) == 4)
    slack.sockets.deaden()
    time.sleep(0.1)
    say(slack, range(4, 8))
    slack.wait(lambda: len(answers(slack)) == 8)
    assert answers(slack) == list(range(8))


@pytest.mark.slow
def test_late_acknowledgements_and_web_api_errors_repeat_nothing(
    slack: Slack, gateways: Gateways
) -> None:
    slack.sockets.ack_seconds = 0.0005
    gateways.configure(numbered(8))
    gateways.start()
    slack.misbehave("drop", "chat.postMessage")
    say(slack, range(2), "D0ONE")
    slack.misbehave("429", "chat.postMessage", seconds=2)
    say(slack, range(2, 4), "D0TWO")
    slack.wait(lambda: len(answers(slack)) == 4)
    slack.misbehave("garbage", "chat.postMessage")
    say(slack, range(4, 6), "D0ONE")
    slack.wait(lambda: len(answers(slack)) == 6)
    for seconds in (60, 300):
        slack.pass_time(seconds)
        slack.settle()
    assert answers(slack, "D0ONE") == [0, 1, 4, 5]
    assert answers(slack, "D0TWO") == [2, 3]
    assert not any(MARK in text for text in slack.texts())
    refused = next(c for c in slack.calls if c.status == 429)
    again = next(c for c in slack.calls if c.at > refused.at and c.params == refused.params)
    assert again.at - refused.at >= 2


@pytest.mark.slow
def test_gateway_starts_without_network_and_connects_later(
    slack: Slack, gateways: Gateways
) -> None:
    gateways.configure(numbered(1))
    slack.misbehave("hang up", "apps.connections.open", times=4)
    gateways.start()
    say(slack, range(1))
    slack.wait(lambda: answers(slack) == [0])
    gateways.wait_for_log("not receiving")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["SLACK_BOT_TOKEN", pytest.param("SLACK_APP_TOKEN", marks=pytest.mark.slow)]
)
def test_wrong_token_stops_start_and_names_the_fix(
    slack: Slack, gateways: Gateways, name: str
) -> None:
    gateways.configure()
    wrong = {"SLACK_BOT_TOKEN": "xoxb-none", "SLACK_APP_TOKEN": "xapp-none"}[name]
    code, output = gateways.run("doctor", **{name: wrong})
    assert code == 1
    assert "rejected" in output
    assert name in " ".join(output.split())
    code, output = gateways.run("gateway", **{name: wrong})
    assert code == 1
    assert f"into .env as {name}=" in " ".join(output.split())


@pytest.mark.slow
def test_missing_scopes_are_named_with_the_fix(slack: Slack, gateways: Gateways) -> None:
    slack.granted -= {"im:history", "files:read"}
    gateways.configure()
    code, output = gateways.run("doctor")
    words = " ".join(output.split())
    assert code == 1
    assert "im:history" in words
    assert "files:read" in words
    assert "Reinstall" in words
    slack.granted |= {"im:history", "files:read"}
    code, output = gateways.run("doctor")
    assert "@hookline" in output
    assert "lacks" not in output


@pytest.mark.slow
def test_second_gateway_with_same_app_is_refused(slack: Slack, gateways: Gateways) -> None:
    gateways.configure()
    gateways.start()
    home = gateways.folder / "other"
    home.mkdir()
    (home / "config.yaml").write_text((gateways.home / "config.yaml").read_text())
    gateways.spawn("gateway", HOOKLINE_HOME=str(home))
    gateways.says("another gateway")


@pytest.mark.slow
def test_two_bots_in_one_gateway_have_own_chats(slack: Slack, gateways: Gateways) -> None:
    home = Slack(bot="xoxb-home-a-secret", app="xapp-home-a-secret")
    ours = {"api_url": slack.api_url, "bot_token": BOT_TOKEN, "app_token": APP_TOKEN}
    theirs = {"api_url": home.api_url, "bot_token": "xoxb-home-a-secret"}
    two: dict[str, Any] = {
        "slack:work": ours,
        "slack:home": theirs | {"app_token": "xapp-home-a-secret"},
    }
    try:
        gateways.configure(numbered(2), slack=False, **two)
        gateways.start()
        say(slack, range(1))
        say(home, range(1, 2))
        slack.wait(lambda: answers(slack) == [0])
        home.wait(lambda: answers(home) == [1])
    finally:
        home.close()


POINTS = ("before-part", "after-part", "after-keep", "mid-catch-up")


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_kill_at_every_point_loses_and_repeats_nothing(
    slack: Slack, gateways: Gateways, point: str
) -> None:
    gateways.configure(numbered(6))
    end(gateways.start())
    say(slack, range(3))
    gateways.spawn("gateway", HOOKLINE_CRASH_AT=f"{point}:2")
    assert gateways.running[-1].wait(60) == -signal.SIGKILL
    say(slack, range(3, 6))
    gateways.start()
    slack.wait(lambda: len(set(answers(slack))) == 6)
    assert answers(slack) == list(range(6))
    assert not any(MARK in text for text in slack.texts())


@pytest.mark.slow
def test_admin_without_prior_chat_gets_pairing_request(slack: Slack, gateways: Gateways) -> None:
    slack.room("D0BOSS", BOSS)
    gateways.configure()
    gateways.start()
    slack.say("D0EVE", "hello", "U0EVE")
    asked = slack.find("slack:U0EVE", "D0BOSS")
    slack.press(asked, "Let in", BOSS)
    slack.wait(lambda: not buttons_of(slack.find("slack:U0EVE", "D0BOSS")))
    slack.say("D0EVE", "hello", "U0EVE")
    slack.find("answered", "D0EVE")
