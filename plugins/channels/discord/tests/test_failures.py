"""Failures of Discord, the network and the gateway: nothing is lost, nothing is sent twice."""

from __future__ import annotations

import signal

import pytest

from .conftest import ANN, BOSS, ECHO, Gateways, end
from .discord_api import PATIENCE, DiscordApi
from .discord_world import BOT_ID

EVERYBODY = {"admins": [f"discord:{BOSS}"], "allow": ["discord:*"]}


def whoami(api: DiscordApi, chat: int) -> None:
    """Wait until all earlier messages of a chat have their replies."""
    before = len(api.texts(chat))
    api.say(chat, "/whoami")
    api.wait(lambda: any("discord:" in text for text in api.texts(chat)[before:]))


@pytest.mark.slow
def test_broken_connection_is_resumed_without_repeats(gateways: Gateways, api: DiscordApi) -> None:
    gateways.configure()
    gateway = gateways.start()
    api.say(ANN, "one")
    api.wait(lambda: api.texts(ANN) == ["answered"])
    for number, harm in enumerate(
        (
            api.gateway.cut,
            lambda: api.gateway.put({"op": 7, "d": None}),
            lambda: api.gateway.put({"op": 9, "d": True}),
            lambda: api.gateway.put(4000),
            lambda: api.gateway.put({"op": 1, "d": None}),
            lambda: api.gateway.put({"op": 42, "d": None}),
        )
    ):
        harm()
        api.say(ANN, f"after {number}")
        api.wait(lambda number=number: len(api.texts(ANN)) == number + 2)
    assert len(api.gateway.identifies) == 1
    assert api.gateway.resumes == 4
    assert end(gateway) == 0


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [("drop",), ("502-done", "502", "refuse", "429")])
def test_unconfirmed_message_is_not_sent_twice(
    gateways: Gateways, api: DiscordApi, kinds: tuple[str, ...]
) -> None:
    gateways.configure()
    gateway = gateways.start()
    for number, kind in enumerate(kinds):
        api.misbehave(kind, "POST messages", times=1)
        api.say(ANN, f"with {kind}")
        api.wait(lambda number=number: len(api.texts(ANN)) == number + 1)
    whoami(api, ANN)
    assert end(gateway) == 0
    assert api.texts(ANN)[:-1] == ["answered"] * len(kinds)
    assert api.violations == 0


@pytest.mark.slow
def test_messages_sent_while_offline_get_replies_in_order(
    gateways: Gateways, api: DiscordApi
) -> None:
    gateways.configure(access=EVERYBODY)
    guild = api.guild()
    rooms = [api.channel(guild, f"r{n}") for n in range(3)]
    gateway = gateways.start()
    api.say(ANN, "hello")
    api.find("answered", ANN)
    api.say(rooms[0], f"<@{BOT_ID}> hello", 7)
    api.find("answered", rooms[0])
    assert end(gateway) == 0

    for number in range(105):  # more than a page
        api.say(rooms[0], f"talk {number}", 7)
    wanted = []
    for chat, user in ((ANN, ANN), (rooms[0], 7), (rooms[1], 8)):
        for number in range(3):
            mention = "" if chat == ANN else f"<@{BOT_ID}> "
            wanted.append(api.say(chat, f"{mention}/whoami {number}", user))
    api.place(rooms[2]).denied = 1 << 10
    api.say(rooms[2], f"<@{BOT_ID}> where it has no access", 7)
    gateway = gateways.start()
    for chat in (ANN, rooms[0], rooms[1]):
        have = 0 if chat == rooms[1] else 1
        api.wait(lambda chat=chat, have=have: len(api.texts(chat)) == have + 3)
        replies = [one.reply_to for one in api.messages(chat)[have:]]
        asked = [one.id for one in wanted if one.chat == chat]
        assert replies == asked or chat == ANN
    api.gateway.forget()
    api.gateway.cut()  # now it has to identify again
    api.write(ANN, "/whoami while disconnected")
    api.wait(lambda: len(api.gateway.identifies) == 3)
    api.wait(lambda: len(api.texts(ANN)) == 5)
    assert end(gateway) == 0


@pytest.mark.slow
def test_refused_session_is_not_retried_at_once(gateways: Gateways, api: DiscordApi) -> None:
    gateways.configure()
    api.gateway.refuse_sessions = True
    gateway = gateways.start()
    gateways.wait_for_log("Discord refused a session; asking again in")
    assert len(api.gateway.identifies) == 1
    assert end(gateway) == 0
    api.rest.identifies_left, api.rest.identifies_reset = 5, 60_000
    gateway = gateways.start()
    gateways.wait_for_log("too many sessions were begun today")
    assert len(api.gateway.identifies) == 1
    assert end(gateway) == 0


@pytest.mark.slow
def test_half_open_connection_is_replaced(gateways: Gateways, api: DiscordApi) -> None:
    gateways.configure()
    gateway = gateways.start()
    api.say(ANN, "hello")
    api.find("answered", ANN)
    api.gateway.is_deaf = True
    api.say(ANN, "into the void")
    gateways.wait_for_log("reconnecting")
    api.gateway.is_deaf = False
    api.wait(lambda: len(api.texts(ANN)) == 2)
    assert end(gateway) == 0


POINTS = ["after-send", "after-receive", "after-commit:2", "before-reply", "mid-stream"]


@pytest.mark.parametrize("point", [pytest.param(point, marks=pytest.mark.slow) for point in POINTS])
def test_kill_loses_nothing_and_repeats_nothing(
    gateways: Gateways, api: DiscordApi, point: str
) -> None:
    gateways.configure(ECHO)
    known = gateways.start()  # Discord does not list a bot's private chats
    for chat in (ANN, BOSS):
        api.say(chat, "hello")
        api.find("answered", chat)
    assert end(known) == 0
    victim = gateways.spawn("gateway", HOOKLINE_CRASH_AT=point)
    gateways.says("ready\n", victim)
    for chat in (ANN, BOSS):
        api.say(chat, "are you there?")
    assert victim.wait(timeout=PATIENCE) == -signal.SIGKILL
    survivor = gateways.start()
    for chat in (ANN, BOSS):
        api.wait(lambda chat=chat: len(api.texts(chat)) > 1)
        whoami(api, chat)
    assert end(survivor) == 0
    assert [api.texts(chat)[:-1] for chat in (ANN, BOSS)] == [["answered"] * 2] * 2


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.0, pytest.param(300.0, marks=pytest.mark.slow)])
def test_kill_while_sending_leaves_one_message(
    gateways: Gateways, api: DiscordApi, seconds: float
) -> None:
    # With and without the nonce, which Discord forgets after a while.
    gateways.configure()
    api.world.nonce_seconds = seconds
    api.misbehave("hold", "POST messages", times=1)
    victim = gateways.start()
    api.say(ANN, "hello")
    api.find("answered", ANN)
    end(victim, signal.SIGKILL)
    late = {} if seconds else {"HOOKLINE_CLOCK_OFFSET": "400"}
    survivor = gateways.start(**late)
    whoami(api, ANN)
    assert end(survivor) == 0
    assert api.texts(ANN)[:-1] == ["answered"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("token", "sentence"),
    [
        pytest.param("", "discord.token is missing", marks=pytest.mark.slow),
        pytest.param("not/a token", "discord.token is not a valid token", marks=pytest.mark.slow),
        ("MTIzNDU2Nzg5MDEyMzQ1Njc4.GhTest.another-secret-that-nobody-knows", "Discord rejected"),
    ],
)
def test_bad_token_stops_start_with_an_error_sentence(
    gateways: Gateways, api: DiscordApi, token: str, sentence: str
) -> None:
    gateways.configure()
    code, said = gateways.run("gateway", DISCORD_BOT_TOKEN=token)
    assert code == 1
    assert sentence in said
    assert not token or token not in said
    assert api.gateway.identifies == []


@pytest.mark.slow
def test_mentions_are_read_without_message_content_intent(
    gateways: Gateways, api: DiscordApi
) -> None:
    gateways.configure(access=EVERYBODY)
    api.world.message_content = False
    guild = api.guild()
    room = api.channel(guild)
    gateway = gateways.start()
    api.say(room, "hidden", 7)
    api.say(room, f"<@{BOT_ID}> hello", 7)
    api.find("answered", room)
    api.say(ANN, "hello")
    api.find("answered", ANN)
    guild.permissions &= ~(1 << 46)
    code, output = gateways.run("doctor")
    assert code == 1
    assert "the Message Content Intent is off" in output
    assert "in the server Lab the bot lacks Send Voice Messages" in output
    assert "permissions=" in output
    assert end(gateway) == 0
    assert len(api.texts(room)) == 1


@pytest.mark.slow
def test_gateway_starts_without_network_and_connects_later(
    gateways: Gateways, api: DiscordApi
) -> None:
    gateways.configure()
    api.misbehave("refuse", times=3)
    gateway = gateways.start()
    api.say(ANN, "hello")
    api.find("answered", ANN)
    assert end(gateway) == 0
