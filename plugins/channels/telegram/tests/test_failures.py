"""Failures of Telegram, the network and the gateway: nothing is lost, nothing is sent twice."""

from __future__ import annotations

import asyncio
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness, ScriptedModel
from hookline_hookspecs import Delta, DeltaSink, ModelResponse, WireRequest
from hookline_telegram import Telegram

from .bot_api import PATIENCE, TOKEN, BotApi
from .conftest import ANN, BOSS, ECHO, Gateways, end

EVERYBODY = {"admins": [f"telegram:{BOSS}"], "allow": ["telegram:*"]}
MARK = "(may be a repeat)\n"


@pytest.mark.slow
def test_gateway_waits_out_api_errors(gateways: Gateways, api: BotApi) -> None:
    gateways.configure()
    api.webhook = "https://example.org/hook"
    gateway = gateways.start()
    api.say(ANN, "one")
    api.wait(lambda: len(api.texts(ANN)) == 1 and not api.webhook)

    api.misbehave("502", times=3)
    api.misbehave("garbage", "getUpdates", times=1)
    api.misbehave("refuse", "getUpdates", times=1)
    api.say(ANN, "two")
    api.wait(lambda: len(api.texts(ANN)) == 2)

    api.misbehave("429", "sendMessage", times=1, seconds=1)
    api.say(ANN, "three")
    api.wait(lambda: len(api.texts(ANN)) == 3)

    api.rival = True
    gateways.wait_for_log("terminated by other getUpdates request")
    api.behave()
    api.say(ANN, "four")
    api.wait(lambda: len(api.texts(ANN)) == 4)

    api.misbehave("silent", "getUpdates", times=1)
    api.wait(lambda: not api.faults)
    api.say(ANN, "five")
    api.wait(lambda: len(api.texts(ANN)) == 5 and not api.unconfirmed)
    assert end(gateway) == 0
    assert api.texts(ANN) == ["answered"] * 5
    assert gateways.said.count("terminated by other") == 1


@pytest.mark.slow
def test_second_gateway_with_same_bot_is_refused(
    gateways: Gateways, api: BotApi, tmp_path: Path
) -> None:
    """On another home; it can have the bot once the first has ended."""
    gateways.configure()
    first = gateways.start()
    (tmp_path / "other").mkdir()
    other = Gateways(tmp_path / "other", api)
    other.configure()
    try:
        code, said = other.run("gateway")
        assert (code, "another gateway on this machine" in said) == (1, True), said
        assert end(first) == 0
        other.start()
        api.say(ANN, "hello")
        api.find("answered", ANN)
    finally:
        other.close()


@pytest.mark.slow
def test_sending_stays_below_flood_limit(gateways: Gateways, api: BotApi) -> None:
    gateways.configure(access=EVERYBODY)
    api.flood = (1.0, 1)
    chats = range(1000, 1010)
    for chat in chats:
        api.room(chat)
        for number in range(3):
            api.say(chat, f"m{number}")
    gateway = gateways.start()
    api.wait(lambda: Counter(one.chat for one in api.messages()) == dict.fromkeys(chats, 3))
    assert end(gateway) == 0
    assert api.texts() == ["answered"] * 30
    assert api.violations == 0


@pytest.mark.slow
def test_dropped_connection_after_send_repeats_message_with_mark(
    gateways: Gateways, api: BotApi
) -> None:
    gateways.configure()
    gateway = gateways.start()
    api.misbehave("drop", "sendMessage", times=1)
    api.say(ANN, "hello")
    api.wait(lambda: len(api.texts(ANN)) == 2)
    assert end(gateway) == 0
    assert api.texts(ANN) == ["answered", f"{MARK}answered"]


ONE_LATER = "steps: [{when: later, text: answered, delay: 300}, {when: hello, text: answered}]\n"
POINTS = ["after-receive", "after-commit:2", "before-reply", "mid-stream"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "point", ["after-send", *(pytest.param(point, marks=pytest.mark.slow) for point in POINTS)]
)
def test_kill_loses_nothing_and_repeats_nothing(
    gateways: Gateways, api: BotApi, point: str
) -> None:
    # A reply that is on its way when the process dies is marked when it is sent again.
    gateways.configure(ONE_LATER if point == "after-send" else ECHO, access=EVERYBODY)
    for chat, text in ((ANN, "hello"), (BOSS, "later")):
        api.say(chat, text)
    victim = gateways.spawn("gateway", HOOKLINE_CRASH_AT=point)
    assert victim.wait(timeout=PATIENCE) == -signal.SIGKILL
    gateways.configure(access=EVERYBODY)
    survivor = gateways.start()
    api.wait(lambda: api.texts(ANN) and api.texts(BOSS) and not api.unconfirmed)
    api.say(ANN, "/whoami")
    api.find("telegram:222", ANN)
    assert end(survivor) == 0
    assert api.texts(BOSS) == ["answered"]
    assert api.texts(ANN)[:-1] == ["answered"]


@pytest.mark.slow
def test_kill_while_sending_repeats_message_with_mark(gateways: Gateways, api: BotApi) -> None:
    gateways.configure()
    api.misbehave("silent", "sendMessage", times=1)
    victim = gateways.start()
    api.say(ANN, "hello")
    api.wait(lambda: api.count("sendMessage"))
    end(victim, signal.SIGKILL)
    survivor = gateways.start()
    api.wait(lambda: api.texts(ANN))
    assert end(survivor) == 0
    assert api.texts(ANN) == [f"{MARK}answered"]


WORK = {
    "steps": [
        {
            "when": "^work",
            "text": "I will look.",
            "tools": [{"name": "bash", "arguments": {"command": "sleep 5"}}],
        },
        {"when": ".", "text": "finished", "repeat": True},
    ]
}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.slow
def test_partial_message_of_killed_gateway_becomes_the_reply(
    gateways: Gateways, api: BotApi, number: int
) -> None:
    gateways.configure(WORK, shell={}, telegram={"edit_every": 0.3})
    victim = gateways.start()
    api.say(BOSS, "work")
    api.find("I will look.", BOSS)
    polls = api.count("getUpdates") + 3
    api.wait(lambda: api.count("getUpdates") >= polls)  # by then its id is known
    code = end(victim, number)
    if number == signal.SIGTERM:
        assert code == 0
        assert api.texts(BOSS) == ["finished"]  # it was finished first
    survivor = gateways.start()
    api.find("finished", BOSS)
    assert end(survivor) == 0
    assert api.texts(BOSS) == ["finished"]
    assert len(api.shown) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("token", "sentence"),
    [
        ("", "telegram.token is missing"),
        ("not/a token", "telegram.token is not a valid token"),
        ("4242:AAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "Telegram rejected telegram.token"),
    ],
)
def test_bad_token_stops_start_with_an_error_sentence(
    gateways: Gateways, token: str, sentence: str
) -> None:
    gateways.configure()
    code, said = gateways.run("gateway", TELEGRAM_BOT_TOKEN=token)
    assert code == 1
    assert sentence in said
    assert not token or token not in said.replace(sentence, "")


@pytest.mark.slow
def test_gateway_starts_without_network_and_connects_later(gateways: Gateways, api: BotApi) -> None:
    gateways.configure()
    api.misbehave("refuse", times=4)
    api.say(ANN, "hello")
    gateway = gateways.start()
    api.find("answered", ANN)
    assert end(gateway) == 0


class Slow(ScriptedModel):
    """Streams its reply word by word."""

    async def send(self, wire: WireRequest, on_delta: DeltaSink | None) -> ModelResponse:
        response = await super().send(wire, None)
        for word in "".join(getattr(one, "text", "") for one in response.blocks).split(" "):
            if on_delta is not None:
                on_delta(Delta(word + " "))
            await asyncio.sleep(0.02)
        return response


@pytest.mark.long
@pytest.mark.parametrize("stream", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_streamed_reply_edits_one_message(
    harness: Callable[..., Harness], api: BotApi, stream: bool
) -> None:
    words = " ".join(f"word{n} *strong{n}*" for n in range(100))
    settings = {"token": TOKEN, "base_url": api.base_url, "edit_every": 0.5, "stream": stream}
    h = harness(Telegram, config=settings, model=Slow([words]))
    channel: Any = h.runtime.channels.get("telegram")
    api.flood = (1.0, 3)
    api.room(ANN, flood=type(api.room(ANN).flood)(1.0, 3))
    begun = time.monotonic()

    async def talk() -> None:
        await channel.start()
        api.say(ANN, "hello")
        await asyncio.to_thread(api.find, "strong99", ANN)
        await h.runtime.finish_background(PATIENCE)
        await channel.stop()

    h.run(talk())
    (shown,) = api.messages(ANN)
    assert shown.text == words.replace("*", "")
    assert len(api.shown) == 1
    assert bool(shown.history) == stream
    assert all(shown.text.startswith(one[:20]) for one in shown.history)
    assert len(shown.edits) <= (time.monotonic() - begun) / 0.5 + 1
    assert api.violations == 0
