"""Failures of Feishu and the network, and streamed cards: nothing is lost or sent twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hookline.testing import Harness, ScriptedModel
from hookline_feishu import Feishu as Plugin
from hookline_hookspecs import Delta, DeltaSink, ModelResponse, WireRequest

from .conftest import ANN
from .feishu import PATIENCE, Feishu
from .open_api import Fault
from .service import APP, BOT, SECRET

WORDS = " ".join(f"word{n} *strong{n}*" for n in range(60))


class Slow(ScriptedModel):
    """Streams its reply word by word."""

    async def send(self, wire: WireRequest, on_delta: DeltaSink | None) -> ModelResponse:
        response = await super().send(wire, None)
        for word in "".join(getattr(one, "text", "") for one in response.blocks).split(" "):
            if on_delta is not None:
                on_delta(Delta(word + " "))
            await asyncio.sleep(0.02)
        return response


class Parrot(ScriptedModel):
    """Replies with the text that it got."""

    async def send(self, wire: WireRequest, on_delta: DeltaSink | None) -> ModelResponse:
        response = await super().send(wire, on_delta)
        text = self.requests[-1].messages[-1].blocks[0].text.split()[-1]
        return replace(response, blocks=(replace(response.blocks[0], text=f"got {text}"),))


class Talk:
    """A channel in this process: ``await talk(...)`` inside :meth:`run`."""

    def __init__(self, h: Harness, feishu: Feishu) -> None:
        self.h, self.feishu = h, feishu
        self.channel: Any = h.runtime.channels.get("feishu")
        self.chat = feishu.room(ANN)

    def run(self, story: Callable[[Talk], Any]) -> None:
        """Start the channel, play the story, stop it."""

        async def play() -> None:
            await self.channel.start()
            try:
                await story(self)
                await self.h.runtime.finish_background(PATIENCE)
            finally:
                await self.channel.stop()

        self.h.run(play())

    async def until(self, true: Callable[[], Any]) -> Any:
        """Wait beside the channel."""
        return await asyncio.to_thread(self.feishu.wait, true)

    async def find(self, text: str) -> Any:
        return await asyncio.to_thread(self.feishu.find, text, self.chat)

    @property
    def texts(self) -> list[str]:
        return self.feishu.texts(self.chat)


@pytest.fixture
def talk(harness: Callable[..., Harness], feishu: Feishu) -> Callable[..., Talk]:
    def make(model: Any = None, **settings: Any) -> Talk:
        config = {"app_id": APP, "app_secret": SECRET, "domain": feishu.url, **settings}
        return Talk(harness(Plugin, config=config, model=model or ["one", "two", "three"]), feishu)

    return make


@pytest.mark.slow
def test_streamed_reply_updates_one_card(talk: Callable[..., Talk], feishu: Feishu) -> None:
    async def story(t: Talk) -> None:
        feishu.say(t.chat, "hello")
        await t.find("strong59")

    talk(Slow([WORDS])).run(story)
    (shown,) = feishu.shown(feishu.room(ANN))
    card = feishu.cards[shown.card]
    assert len(card.contents) >= 2
    assert (card.is_streaming, card.bound, len(feishu.cards)) == (False, 1, 1)
    assert feishu.texts(shown.chat) == [WORDS]
    assert feishu.floods == 0
    assert not [call for call in feishu.calls if call.code > 0]


@pytest.mark.slow
def test_streamed_reply_without_card_scope_edits_at_most_20_times(
    talk: Callable[..., Talk], feishu: Feishu
) -> None:
    feishu.scopes.discard("cardkit:card:write")

    async def story(t: Talk) -> None:
        feishu.say(t.chat, "hello")
        await t.find("strong59")

    talk(Slow([WORDS])).run(story)
    (shown,) = feishu.shown(feishu.room(ANN))
    assert shown.type == "post"
    assert 1 <= shown.edits <= 20
    assert feishu.cards == {}


@pytest.mark.slow
def test_unconfirmed_message_is_not_sent_twice(talk: Callable[..., Talk], feishu: Feishu) -> None:
    feishu.faults = [Fault("drop", "POST .*/im/v1/messages$"), Fault("502", "POST .*/messages$")]

    async def story(t: Talk) -> None:
        feishu.say(t.chat, "hello")
        await t.find("one")
        await t.until(lambda: not feishu.faults)

    t = talk()
    t.run(story)
    assert t.texts == ["one"]
    uuids = {c.body["uuid"] for c in feishu.calls if c.body and "uuid" in c.body}
    assert len(uuids) == 1


@pytest.mark.slow
def test_streamed_card_continues_after_unconfirmed_send(
    talk: Callable[..., Talk], feishu: Feishu
) -> None:
    feishu.faults = [Fault("drop", "POST .*/im/v1/messages$")]

    async def story(t: Talk) -> None:
        feishu.say(t.chat, "hello")
        await t.find("strong59")

    t = talk(Slow([WORDS]))
    t.run(story)
    assert t.texts == [WORDS]
    assert not any(card.is_streaming for card in feishu.cards.values() if card.bound)


@pytest.mark.slow
def test_expired_tokens_and_rate_limits_are_handled(
    talk: Callable[..., Talk], feishu: Feishu
) -> None:
    async def story(t: Talk) -> None:
        feishu.say(t.chat, "hello")
        await t.find("one")
        feishu.expire()
        feishu.say(t.chat, "hello")
        await t.find("two")
        feishu.faults = [Fault(kind, "POST .*/im/v1/messages$") for kind in ("429", "400", "group")]
        feishu.say(t.chat, "hello")
        await t.find("three")

    t = talk()
    t.run(story)
    assert t.texts == ["one", "two", "three"]


@pytest.mark.long
def test_refused_card_is_sent_as_plain_text(talk: Callable[..., Talk], feishu: Feishu) -> None:
    feishu.refuse_md = True

    async def story(t: Talk) -> None:
        feishu.say(t.chat, "hello")
        await t.find("**bold** <at id=all></at>")

    talk(["**bold** <at id=all></at>"]).run(story)


@pytest.mark.slow
def test_event_is_acknowledged_only_after_it_is_stored(
    talk: Callable[..., Talk], feishu: Feishu, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = talk()
    host, faults = t.channel.host, [OSError("the disk is full")] * 2
    receive = host.receive

    async def failing(inbound: Any) -> Any:
        if faults:
            raise faults.pop()
        return await receive(inbound)

    monkeypatch.setattr(host, "receive", failing)

    async def story(t: Talk) -> None:
        feishu.pushes.again = tuple(map(float, range(1, 90)))
        feishu.say(t.chat, "hello")
        (push,) = feishu.pushes.pushes.values()
        await t.until(lambda: push.is_done)
        assert (push.answers[0], push.answers[-1]) == (500, 200)
        before = len(push.answers)
        feishu.pushes.repeat(push)
        await t.until(lambda: len(push.answers) > before)
        await t.find("one")

    t.run(story)
    assert t.texts == ["one"]


@pytest.mark.slow
def test_messages_sent_while_offline_get_replies_in_order(
    talk: Callable[..., Talk], feishu: Feishu
) -> None:
    group = feishu.group("Friends", ANN)
    root = feishu.say(group, "an old message", ANN)

    async def story(t: Talk) -> None:
        feishu.say(t.chat, "first")
        await t.find("got first")
        feishu.pushes.is_shut = feishu.is_away = True
        feishu.pushes.drop()
        for word in ("second", "third"):
            feishu.say(t.chat, word)
        bot = [("Hook", BOT)]
        feishu.say(group, "@_user_1 fourth", ANN, at=bot)
        feishu.say(group, "@_user_1 fifth", ANN, at=bot, parent=root, in_thread=True)
        feishu.say(group, "not for you", ANN)
        feishu.pushes.is_shut = feishu.is_away = False
        await t.until(lambda: len(feishu.texts(t.chat)) == 3)
        await t.until(lambda: len(feishu.texts(group)) == 2)

    t = talk(Parrot(["…"] * 9))
    t.run(story)
    assert t.texts == ["got first", "got second", "got third"]
    assert sorted(feishu.texts(group)) == ["got fifth", "got fourth"]


@pytest.mark.slow
def test_group_that_bot_left_does_not_block_catchup(
    talk: Callable[..., Talk], feishu: Feishu, caplog: pytest.LogCaptureFixture
) -> None:
    group = feishu.group("Friends", ANN)

    async def story(t: Talk) -> None:
        feishu.say(group, "@_user_1 first", ANN, at=[("Hook", BOT)])
        await asyncio.to_thread(feishu.find, "got first", group)
        feishu.rooms[group].has_bot = False
        feishu.pushes.again = tuple(map(float, range(1, 60)))
        feishu.pushes.drop()
        feishu.say(t.chat, "second")
        await t.find("got second")

    talk(Parrot(["…"] * 3)).run(story)
    assert "cannot be read back" not in caplog.text


@pytest.mark.slow
@pytest.mark.parametrize("how", ["half-open", "mute", "shut"])
def test_dead_connection_is_replaced(talk: Callable[..., Talk], feishu: Feishu, how: str) -> None:
    async def story(t: Talk) -> None:
        feishu.say(t.chat, "first")
        await t.find("got first")
        if how == "half-open":
            feishu.pushes.half_open()
        elif how == "mute":
            feishu.pushes.is_mute = True
        else:
            feishu.pushes.is_shut = True
            feishu.pushes.drop()
            feishu.faults = [Fault("502", "ws/endpoint", times=2)]
        feishu.say(t.chat, "second")
        if how == "mute":
            await asyncio.sleep(40)
            feishu.pushes.is_mute = False
        elif how == "shut":
            await asyncio.sleep(3)
            feishu.pushes.is_shut = False
        await t.find("got second")

    t = talk(Parrot(["…"] * 3))
    t.run(story)
    assert t.texts == ["got first", "got second"]


@pytest.mark.slow
def test_late_event_acknowledgement_causes_no_second_reply(
    talk: Callable[..., Talk], feishu: Feishu, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = talk()
    receive = t.channel.host.receive

    async def slow(inbound: Any) -> Any:
        await asyncio.sleep(4)
        return await receive(inbound)

    monkeypatch.setattr(t.channel.host, "receive", slow)

    async def story(t: Talk) -> None:
        feishu.pushes.again = (4.0, 8.0, 12.0, 16.0, 20.0, 24.0)
        feishu.say(t.chat, "hello")
        (push,) = feishu.pushes.pushes.values()
        await t.until(lambda: push.answers)
        assert push.answers[0] == 500
        monkeypatch.undo()
        await t.until(lambda: push.is_done)
        await t.find("one")

    t.run(story)
    assert t.texts == ["one"]


@pytest.mark.slow
def test_streamed_reply_starts_new_card_before_card_expires(
    talk: Callable[..., Talk], feishu: Feishu
) -> None:
    words = " ".join(f"word{n}" for n in range(250))
    t = talk(Slow([words]))
    t.channel.client.limits = replace(t.channel.client.limits, edit_seconds=2.0)

    async def story(t: Talk) -> None:
        feishu.say(t.chat, "hello")
        await t.find("word249")

    t.run(story)
    assert t.texts == [words]
    assert len(feishu.cards) > 1
    assert [card.is_streaming for card in feishu.cards.values()][-1] is False


@pytest.mark.slow
def test_closed_card_still_shows_the_reply(talk: Callable[..., Talk], feishu: Feishu) -> None:
    t = talk(Slow([WORDS * 2]))

    async def story(t: Talk) -> None:
        feishu.say(t.chat, "hello")
        await t.until(lambda: feishu.cards)
        feishu.clock.advance(700)
        await t.find("strong59*word0")

    t.run(story)
    assert t.texts == [WORDS * 2]
    assert len(feishu.cards) == 1


@pytest.mark.slow
def test_message_sent_an_hour_ago_is_found_and_not_repeated(
    talk: Callable[..., Talk], feishu: Feishu, monkeypatch: pytest.MonkeyPatch
) -> None:
    feishu.faults = [Fault("drop", "POST .*/im/v1/messages$"), Fault("502", "POST .*/messages$", 2)]

    async def story(t: Talk) -> None:
        feishu.say(t.chat, "hello")
        await t.until(lambda: not feishu.faults or feishu.faults[0].kind == "502")
        now = t.channel.host.now
        monkeypatch.setattr(t.channel.host, "now", lambda: now() + 4000)
        feishu.clock.advance(4000)
        feishu.faults.clear()
        await t.h.runtime.finish_background(PATIENCE)

    t = talk(["*one* and two"])
    t.run(story)
    assert t.texts == ["*one* and two"]
