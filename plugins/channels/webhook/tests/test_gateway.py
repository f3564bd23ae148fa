"""Real gateways: kills lose nothing and repeat nothing."""

from __future__ import annotations

import json
import signal
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from .conftest import PATIENCE, Gateways, ReplyServer, end, message, signed


@pytest.mark.slow
def test_message_gets_reply_and_sigterm_exits_0(gateways: Gateways, replies: ReplyServer) -> None:
    gateways.configure()
    gateway = gateways.start()
    assert gateways.post(message("m1")).status_code == 202
    (reply,) = replies.wait_for(1)
    assert set(reply) == {"id", "chat", "text", "in_reply_to"}
    assert (reply["chat"], reply["text"], reply["in_reply_to"]) == ("c1", "answered", "m1")
    second, _, err = gateways.run("gateway")
    assert (second, "another gateway is running" in err) == (1, True)
    assert end(gateway) == 0
    assert [post.status for post in replies.posts] == [200]


POINTS = [
    *("after-receive", "after-commit", "after-commit:2", "after-send"),
    "before-model",
    "before-reply",
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "point", ["after-send:2", *(pytest.param(point, marks=pytest.mark.slow) for point in POINTS)]
)
def test_kill_loses_nothing_and_repeats_nothing(
    gateways: Gateways, replies: ReplyServer, point: str
) -> None:
    gateways.configure()
    victim = gateways.start(HOOKLINE_CRASH_AT=point)
    acknowledged: set[str] = set()
    for number in (1, 2):
        try:
            if gateways.post(message(f"m{number}", chat=f"c{number}")).status_code == 202:
                acknowledged.add(f"m{number}")
        except httpx2.HTTPError:
            break
    victim.communicate(timeout=PATIENCE)
    assert victim.returncode == -signal.SIGKILL

    survivor = gateways.start()
    for id_ in sorted(acknowledged):
        replies.answer_to(id_)  # what was acknowledged needs no second delivery
    for number in (1, 2, 1):
        assert gateways.post(message(f"m{number}", chat=f"c{number}")).status_code == 202
    replies.wait(lambda: {body["in_reply_to"] for body in replies.taken} == {"m1", "m2"})
    assert end(survivor) == 0
    answers = Counter(body["in_reply_to"] for body in replies.taken)
    assert answers == {"m1": 1, "m2": 1}


@pytest.mark.slow
def test_fifty_chats_with_repeated_messages_get_one_reply_each(
    gateways: Gateways, replies: ReplyServer
) -> None:
    gateways.configure()
    gateway = gateways.start()
    bodies = [
        message(f"c{chat}-{number}", chat=f"c{chat}") for number in (2, 1) for chat in range(50)
    ]
    sent = [*bodies, *reversed(bodies), *bodies[::3]]

    def post(body: bytes) -> int:
        return client.post(gateways.url, content=body, headers=signed(body)).status_code

    with httpx2.Client(timeout=PATIENCE, trust_env=False) as client, ThreadPoolExecutor(16) as pool:
        assert set(pool.map(post, sent)) == {202}
    replies.wait_for(100)
    assert end(gateway) == 0
    assert len(replies.posts) == 100
    assert all(body["in_reply_to"].split("-")[0] == body["chat"] for body in replies.taken)


@pytest.mark.slow
def test_sigterm_delivers_running_reply(gateways: Gateways, replies: ReplyServer) -> None:
    gateways.configure('steps: [{when: ".", text: "slow", delay: 1.5, repeat: true}]\n')
    gateway = gateways.start()
    assert gateways.post(message("m1")).status_code == 202
    assert end(gateway) == 0
    assert [body["text"] for body in replies.taken] == ["slow"]


@pytest.mark.slow
def test_gateway_with_short_secret_does_not_start(gateways: Gateways) -> None:
    gateways.configure(webhook={"listen": f"127.0.0.1:{gateways.port}", "secret": "short"})
    code, _, err = gateways.run("gateway")
    assert code == 1
    assert "webhook.secret has 5 characters; it needs at least 16" in err


SCRIPT = {
    "steps": [
        {"when": "^launch", "tools": [{"name": "bash", "arguments": {"command": "sudo true"}}]},
        {"when": "Denied|exit code|Error", "text": "finished", "repeat": True},
        {"when": ".", "text": "hello", "repeat": True},
    ]
}


@pytest.mark.slow
def test_claim_pairing_and_approval_work_end_to_end(
    gateways: Gateways, replies: ReplyServer
) -> None:
    gateways.configure(json.dumps(SCRIPT), access={}, shell={})
    gateway, lines = gateways.start_until("ready\n", "there is no admin yet")
    claim = next(line for line in lines if "there is no admin yet" in line).split()[-1]

    assert gateways.post(message("a1", claim, chat="boss", user="boss")).status_code == 202
    assert replies.answer_to("a1").startswith("You are the first admin now.")

    gateways.post(message("b1", "hi", chat="ann", user="ann"))
    code = replies.answer_to("b1").splitlines()[0].split()[-1]
    waiting = json.loads(gateways.run("pairing", "list", "--json")[1])
    assert [row["code"] for row in waiting if row["role"] == "waiting"] == [code]
    assert gateways.run("pairing", "approve", code)[0] == 0

    gateways.post(message("b2", "launch", chat="ann", user="ann"))
    replies.wait(lambda: any("For webhook:ann" in body["text"] for body in replies.taken))
    question = next(body for body in replies.taken if "For webhook:ann" in body["text"])
    assert question["chat"] == "boss"
    assert "sudo true" in question["text"]
    number = question["text"].split()[-2]
    gateways.post(message("b3", f"/questions answer {number} 1", chat="ann2", user="ann"))
    assert replies.answer_to("b3") == "You may not answer this question. Nothing was changed."
    gateways.post(message("a2", "deny", chat="boss", user="boss"))
    assert replies.answer_to("a2") == "Answered: Deny."
    assert replies.answer_to("b2") == "finished"
    assert end(gateway) == 0
