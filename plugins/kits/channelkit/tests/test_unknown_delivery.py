"""A request without a response is looked up before it is repeated, so nothing is shown twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hookline_channelkit import DeliveryUnknown
from hookline_hookspecs import Attachment, Reply

from .conftest import MARK, ChannelProcess, Platform
from .test_delivery_crashes import SIZES, send_all_with_restarts


@pytest.fixture
def searchable(platform: Platform) -> Platform:
    """A platform on which messages can be looked up."""
    platform.finds = True
    return platform


@pytest.mark.slow
async def test_unknown_delivery_is_looked_up(start_channel: Any, searchable: Platform) -> None:
    searchable.faults = {1: "no answer"}
    one = await start_channel(searchable, {"": "the answer"}, stream=False)
    await one.say("hi")
    await one.idle()
    assert searchable.texts("c") == ["the answer"]
    assert [text for _, text in searchable.looked_up] == ["the answer"]


@pytest.mark.slow
async def test_undelivered_message_is_sent_again_with_its_token(
    start_channel: Any, searchable: Platform
) -> None:
    tokens: list[str] = []
    one = await start_channel(searchable, {"": "the answer"}, stream=False)
    send = one.client.send_text

    async def text(chat: str, words: str, post: Any) -> str:
        tokens.append(post.token)
        if len(tokens) == 1:
            raise DeliveryUnknown("the connection broke before it was read")
        return str(await send(chat, words, post))

    one.client.send_text = text
    await one.say("hi")
    await one.idle()
    assert searchable.texts("c") == ["the answer"]
    assert tokens[0] == tokens[1] != ""
    assert len(tokens[0]) <= 25


@pytest.mark.slow
async def test_tokens_differ_by_part(start_channel: Any, searchable: Platform) -> None:
    one = await start_channel(
        searchable, {"": "\n".join(f"line {n} of the answer" for n in range(40))}
    )
    await one.say("hi")
    await one.say("again", text="hi")
    await one.idle()
    tokens = [shown.token for shown in searchable.chat("c")]
    assert len(tokens) > 10
    assert len(set(tokens)) == len(tokens)


@pytest.mark.slow
async def test_failed_lookup_is_retried(start_channel: Any, searchable: Platform) -> None:
    searchable.faults = {1: "no answer", 2: "away"}
    one = await start_channel(searchable, {"": "the answer"}, stream=False)
    await one.say("hi")
    await one.idle()
    assert searchable.texts("c") == ["the answer"]


async def test_stream_in_doubt_becomes_the_reply(start_channel: Any, searchable: Platform) -> None:
    searchable.faults = {1: "no answer"}
    answer = " ".join(f"word{n}" for n in range(12))
    one = await start_channel(searchable, {"": answer}, pause=0.02)
    await one.say("hi")
    await one.idle()
    assert searchable.texts("c") == [answer]
    assert len(searchable.shown) == 1


@pytest.mark.long
@pytest.mark.parametrize("fault", ["kill before", "kill after", "no answer"])
@pytest.mark.parametrize(
    "number", [1, 6, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 16) if n != 6)]
)
async def test_no_message_appears_twice_after_a_kill(
    tmp_path: Path, fault: str, number: int
) -> None:
    platform = Platform()
    platform.finds = True
    platform.faults = {number: fault}
    await send_all_with_restarts(tmp_path / "home", platform, 0.004)
    assert not any(MARK in one.text for one in platform.shown.values())
    lines = "\n".join(one.text for one in platform.shown.values())
    for name, count in SIZES.items():
        for line in range(count):
            assert lines.count(f"[{name}.{line}]") == 1


async def test_unknown_file_delivery_is_looked_up(
    start_channel: Any, searchable: Platform, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("words")
    one = await start_channel(searchable, {"": "the answer"}, stream=False)
    await one.say("hi")
    await one.idle()
    searchable.faults = {len(searchable.requests) + 1: "no answer"}
    item = Attachment(path, "text/plain", "a.txt", 5, caption="look", origins=())
    reply = Reply(await the_session(one), "", (item,), id="r1")
    with pytest.raises(Exception, match="broke"):
        await one.kit.send(reply)
    assert await one.kit.send(reply) == (searchable.chat("c")[-1].id,)
    assert [shown.text for shown in searchable.chat("c")] == ["the answer", "look"]


async def the_session(process: ChannelProcess) -> Any:
    """The session of the only chat."""
    sessions = await process.kit.host.sessions()
    return sessions[0]
