"""Posting of replies: retried until confirmed, in order, complete."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness
from hookline_hookspecs import Attachment, Audio, Inbound, Reply, Session
from hookline_webhook import Webhook
from hookline_webhook.replies import reply_body, retry_after_seconds
from hypothesis import given
from hypothesis import strategies as st

from .conftest import SECRET, ReplyServer


class OfflineWebhook:
    """A webhook that does not listen; messages are handed in."""

    def __init__(self, harness: Callable[..., Harness], model: Any, **changed: Any) -> None:
        config = {"listen": "127.0.0.1:0", "secret": SECRET, **changed}
        self.h = harness(Webhook, config=config, model=list(model))

    def hand_in(self, *said: tuple[str, str]) -> None:
        """Hand in ids and chats, and wait until all are answered and delivered."""

        async def story() -> None:
            runtime = await self.h.aopen()
            host = self.h.plugin(Webhook).host
            for id_, chat in said:
                assert await host.receive(Inbound("webhook", chat, "ann", id_, "hello"))
            await runtime.finish_background(120)

        self.h.run(story())


@pytest.fixture
def make_webhook(
    harness: Callable[..., Harness], replies: ReplyServer
) -> Callable[..., OfflineWebhook]:
    return lambda model, **changed: OfflineWebhook(
        harness, model, **{"reply_url": replies.url, **changed}
    )


@pytest.mark.slow
@pytest.mark.parametrize("status", [500, 429, 404, 302])
def test_reply_is_retried_until_confirmed(
    make_webhook: Callable[..., OfflineWebhook], replies: ReplyServer, status: int
) -> None:
    replies.script = [(status, {"Location": replies.url})]
    make_webhook(["hi"]).hand_in(("m1", "c1"))
    first, second = replies.posts
    assert first.body == second.body
    assert [first.status, second.status] == [status, 200]


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_confirmed_reply_is_not_posted_again(
    make_webhook: Callable[..., OfflineWebhook], replies: ReplyServer, status: int
) -> None:
    replies.script = [(status, {})]
    make_webhook(["hi"]).hand_in(("m1", "c1"))
    assert len(replies.posts) == 1


@pytest.mark.slow
def test_replies_of_chat_keep_order_after_failure(
    make_webhook: Callable[..., OfflineWebhook], replies: ReplyServer
) -> None:
    replies.script = [(500, {})]
    said = [(f"m{number}", "c1") for number in range(5)]
    make_webhook(["hi"] * 5).hand_in(*said)
    assert [body["in_reply_to"] for body in replies.taken] == [id_ for id_, _ in said]


def test_retry_after_is_waited(
    make_webhook: Callable[..., OfflineWebhook],
    replies: ReplyServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    import hookline_webhook.replies as module

    monkeypatch.setattr(module.asyncio, "sleep", sleep)
    replies.script = [(429, {"Retry-After": "7"}), (503, {"Retry-After": "100000"})]
    make_webhook(["hi"]).hand_in(("m1", "c1"))
    assert 7.0 in waited
    assert 300.0 in waited


def test_reply_without_reply_url_stays_in_session(
    make_webhook: Callable[..., OfflineWebhook], replies: ReplyServer
) -> None:
    one = make_webhook(["hi"], reply_url=None)
    one.hand_in(("m1", "c1"))

    async def stored() -> str:
        host = one.h.plugin(Webhook).host
        (session,) = await host.sessions(channel="webhook")
        return (await host.messages(session.id))[-1].text

    assert one.h.run(stored()) == "hi"
    assert replies.posts == []


SESSION = Session("s", "webhook", "c1", None, 0.0)


def test_long_and_odd_text_arrives_complete(
    make_webhook: Callable[..., OfflineWebhook], replies: ReplyServer
) -> None:
    text = "漢字\u2028\x1b\n" * 50_000 + "."
    make_webhook([text]).hand_in(("m1", "c1"))
    (body,) = replies.taken
    assert body["text"] == text


def test_reply_lists_attachments() -> None:
    files = (
        Attachment(Path("/a/b.png"), "image/png", "picture.png", 3, origins=()),
        Audio(Path("/a/c.ogg"), "audio/ogg", 1.0, origins=()),
    )
    body = json.loads(reply_body(Reply(SESSION, "see", files, "m1", "r1")))
    assert body["attachments"] == [
        {"path": "/a/b.png", "mime": "image/png", "name": "picture.png"},
        {"path": "/a/c.ogg", "mime": "audio/ogg", "name": "c.ogg"},
    ]


@given(st.text() | st.sampled_from(["Sun, 22 Nov 2026 09:00:00 GMT", "-5", "1e9", "٣", "9" * 50]))
def test_any_retry_after_gives_a_bounded_wait(given_: str) -> None:
    assert 0 <= retry_after_seconds({"retry-after": given_}, 1.8e9) <= 300


def test_retry_after_date_is_converted_to_seconds() -> None:
    assert retry_after_seconds({"retry-after": "Thu, 01 Jan 1970 00:01:00 GMT"}, 20.0) == 40.0
