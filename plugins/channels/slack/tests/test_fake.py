"""The fake Slack refuses what Slack refuses; Slack's own library calls it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient

from .fake_rules import BUTTONS, LABEL, MARKDOWN, SECTION, TEXT
from .fake_slack import APP_TOKEN, BOT_TOKEN, Slack

ROOM = "C0ROOM"


@pytest.fixture(scope="module")
def slack() -> Iterator[Slack]:
    made = Slack()
    made.room(ROOM, "U0ANN")
    yield made
    made.close()


def web(slack: Slack, token: str = BOT_TOKEN) -> AsyncWebClient:
    return AsyncWebClient(token, slack.api_url, retry_handlers=[])


async def refused(slack: Slack, method: str, token: str = BOT_TOKEN, **fields: Any) -> str:
    """The error of a request."""
    with pytest.raises(SlackApiError) as caught:
        await getattr(web(slack, token), method)(**fields)
    return str(caught.value.response["error"])


def section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


def actions(count: int = 1, label: str = "x", value: str = "1") -> dict[str, Any]:
    text = {"type": "plain_text", "text": label}
    return {
        "type": "actions",
        "elements": [
            {"type": "button", "text": text, "value": value, "action_id": f"a{n}"}
            for n in range(count)
        ],
    }


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"text": "x" * (TEXT + 1)}, "msg_too_long"),
        ({"text": "x", "blocks": [section("x" * (SECTION + 1))]}, "invalid_blocks"),
        ({"text": "x", "blocks": [section("x")] * 51}, "invalid_blocks"),
        (
            {"text": "x", "blocks": [{"type": "markdown", "text": "x" * (MARKDOWN // 2 + 1)}] * 2},
            "msg_blocks_too_long",
        ),
        ({"text": "x", "blocks": [actions(BUTTONS + 1)]}, "invalid_blocks"),
        ({"text": "x", "blocks": [actions(label="x" * (LABEL + 1))]}, "invalid_blocks"),
        ({"text": "x", "blocks": [actions(value="x" * 2001)]}, "invalid_blocks"),
        ({"text": "x", "thread_ts": "1.000001"}, "thread_not_found"),
        ({"text": "x", "channel": "C0NONE"}, "channel_not_found"),
    ],
)
async def test_fake_refuses_payloads_over_limits(
    slack: Slack, fields: dict[str, Any], error: str
) -> None:
    assert await refused(slack, "chat_postMessage", **{"channel": ROOM, **fields}) == error


async def test_fake_checks_tokens_and_scopes(slack: Slack) -> None:
    assert await refused(slack, "auth_test", "xoxb-none") == "invalid_auth"
    assert await refused(slack, "auth_test", APP_TOKEN) == "not_allowed_token_type"
    opened = {"app_token": BOT_TOKEN}
    assert await refused(slack, "apps_connections_open", **opened) == "not_allowed_token_type"
    slack.granted -= {"chat:write"}
    try:
        post = {"channel": ROOM, "text": "x"}
        assert await refused(slack, "chat_postMessage", **post) == "missing_scope"
        answer = await web(slack).auth_test()
        assert "chat:write" not in answer.headers["x-oauth-scopes"]
    finally:
        slack.granted |= {"chat:write"}


async def test_fake_update_with_text_only_drops_blocks(slack: Slack) -> None:
    client = web(slack)
    sent = await client.chat_postMessage(channel=ROOM, text="one", blocks=[section("one")])
    await client.chat_update(channel=ROOM, ts=sent["ts"], text="two")
    shown = slack.rooms[ROOM].messages[sent["ts"]]
    assert ("blocks" in shown, "edited" in shown) == (False, True)


async def test_fake_stream_ends(slack: Slack) -> None:
    client = web(slack)
    root = slack.say(ROOM, "hi")["ts"]
    who = {"recipient_user_id": "U0ANN", "recipient_team_id": "T0TEAM"}
    ts = (await client.chat_startStream(channel=ROOM, thread_ts=root, **who))["ts"]
    await client.chat_appendStream(channel=ROOM, ts=ts, markdown_text="a")
    message = {"channel": ROOM, "ts": ts}
    assert await refused(slack, "chat_update", **message, text="b") == "streaming_state_conflict"
    slack.pass_time(307)
    late = "message_not_in_streaming_state"
    assert await refused(slack, "chat_appendStream", **message, markdown_text="b") == late
    other = (await client.chat_startStream(channel=ROOM, thread_ts=root, **who))["ts"]
    await client.chat_stopStream(channel=ROOM, ts=other, markdown_text="end")
    message = {"channel": ROOM, "ts": other}
    assert await refused(slack, "chat_appendStream", **message, markdown_text="b") == late


async def test_fake_history_leaves_out_thread_replies(slack: Slack) -> None:
    client = web(slack)
    root = slack.say(ROOM, "root")["ts"]
    reply = slack.say(ROOM, "reply", thread=root)["ts"]
    history = await client.conversations_history(channel=ROOM, limit=999)
    seen = {one["ts"]: one for one in history["messages"]}
    assert reply not in seen
    assert seen[root]["latest_reply"] == reply
    replies = await client.conversations_replies(channel=ROOM, ts=root)
    assert [one["ts"] for one in replies["messages"]] == [root, reply]


async def test_fake_sends_429_with_retry_after() -> None:
    slack = Slack(paced=True)
    slack.room(ROOM, "U0ANN")
    try:
        for _ in range(5):
            await web(slack).chat_postMessage(channel=ROOM, text="x")
        with pytest.raises(SlackApiError) as caught:
            await web(slack).chat_postMessage(channel=ROOM, text="x")
        answer = caught.value.response
        assert (answer.status_code, int(answer.headers["Retry-After"]) > 0) == (429, True)
        assert await refused(slack, "chat_postMessage", channel=ROOM, text="x") == "ratelimited"
        assert slack.violations == 1
    finally:
        slack.close()


async def test_fake_file_needs_token_and_three_steps(slack: Slack) -> None:
    id_ = slack.file(b"\x89PNG", "a.png", "image/png")
    url = slack.files[id_]["url_private_download"]
    async with aiohttp.ClientSession() as session:
        async with session.get(url) as answer:
            assert (answer.status, answer.content_type) == (200, "text/html")
        head = {"Authorization": f"Bearer {BOT_TOKEN}"}
        async with session.get(url, headers=head) as answer:
            assert await answer.read() == b"\x89PNG"
    client = web(slack)
    slot = await client.files_getUploadURLExternal(filename="b.txt", length=3)
    done = {"files": [{"id": slot["file_id"], "title": "b"}], "channel_id": ROOM}
    assert await refused(slack, "files_completeUploadExternal", **done) == "file_not_found"


@pytest.mark.slow
async def test_fake_sockets_work_with_slack_sdk(slack: Slack) -> None:
    opened = await web(slack).apps_connections_open(app_token=APP_TOKEN)
    clients, heard = [], []

    async def hear(client: Any, request: SocketModeRequest) -> None:
        heard.append(request.payload["event"]["text"])
        response = SocketModeResponse(envelope_id=request.envelope_id)
        await client.send_socket_mode_response(response)

    async with aiohttp.ClientSession() as session:
        sockets = [await session.ws_connect(opened["url"])]
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await session.ws_connect(opened["url"])
        assert slack.sockets.refused == ["spent"]
        for _ in range(10):
            url = (await web(slack).apps_connections_open(app_token=APP_TOKEN))["url"]
            sockets.append(await session.ws_connect(url))
        last = await sockets[-1].receive_json()
        assert (last["type"], last["reason"]) == ("disconnect", "too_many_websockets")
        for socket in sockets:
            await socket.close()
    await asyncio.to_thread(slack.wait, lambda: not slack.sockets.open)
    for _ in range(2):
        client = SocketModeClient(APP_TOKEN, web_client=web(slack))
        client.socket_mode_request_listeners.append(hear)
        await client.connect()
        clients.append(client)
    for n in range(8):
        slack.say(ROOM, f"m{n}")
    await asyncio.to_thread(slack.wait, lambda: len(set(heard)) == 8)
    await asyncio.to_thread(slack.settle)
    assert sorted(heard) == [f"m{n}" for n in range(8)]
    for client in clients:
        await client.close()
