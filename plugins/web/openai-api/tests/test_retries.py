"""A retried request is one turn, whatever happened in between."""

from __future__ import annotations

import contextlib
import json
import signal
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from .conftest import Served, end, until


def body_of(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "hookline", "messages": [{"role": "user", "content": text}], **more}


def words_of(answer: httpx2.Response) -> str:
    assert answer.status_code == 200, answer.text
    words: str = answer.json()["choices"][0]["message"]["content"]
    return words


@pytest.mark.slow
def test_idempotency_key_is_one_turn(served: Served) -> None:
    first = served.post("/chat/completions", body_of("say once"), Idempotency_Key="k1")
    again = served.post("/chat/completions", body_of("say once"), Idempotency_Key="k1")
    assert again.json() == first.json()
    assert len(served.asked("say once")) == 1
    other = served.post("/chat/completions", body_of("say twice"), Idempotency_Key="k1")
    assert (other.status_code, other.json()["error"]["code"]) == (409, "idempotency_key_reused")
    bob = served.new_key("carol")
    assert words_of(served.post("/chat/completions", body_of("say own"), bob, Idempotency_Key="k1"))
    assert served.post("/chat/completions", body_of("x"), Idempotency_Key="").status_code == 400


@pytest.mark.slow
def test_retry_joins_the_running_turn(served: Served) -> None:
    def send(count: str) -> httpx2.Response:
        body = body_of("count 30")
        return served.post("/chat/completions", body, X_Stainless_Retry_Count=count)

    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(send, "0")
        until(lambda: served.asked("count 30"))
        others = [pool.submit(send, count) for count in ("1", "2")]
        answers = [one.result().json() for one in (first, *others)]
    assert answers[1:] == answers[:1] * 2
    assert len(served.asked("count 30")) == 1
    assert send("1").json() == answers[0]  # replayed, now that it is over
    assert send("0").json() != answers[0]  # the same words, said again


@pytest.mark.long
def test_retry_of_stream_replays_it(served: Served) -> None:
    body = body_of("list for a retry", stream=True)
    first = served.post("/chat/completions", body).text
    again = served.post("/chat/completions", body, X_Stainless_Retry_Count="1").text
    assert _data(again) == _data(first)


@pytest.mark.slow
def test_stopped_stream_is_not_replayed(served: Served) -> None:
    body = body_of("count 40", stream=True)
    headers = {"Authorization": f"Bearer {served.key}", "Idempotency-Key": "cut"}
    url = served.url + "/chat/completions"
    with httpx2.stream("POST", url, json=body, headers=headers, trust_env=False) as cut:
        next(iter(cut.iter_lines()))
    known = cut.headers["X-Request-Id"]
    until(lambda: "cancelled" in served.run_states(known))
    again = served.post("/chat/completions", body, Idempotency_Key="cut")
    assert again.headers["X-Request-Id"] != known
    chunks = [json.loads(line.removeprefix("data: ")) for line in _data(again.text)[:-1]]
    words = "".join(one["choices"][0]["delta"].get("content") or "" for one in chunks)
    assert words == " ".join(map(str, range(40)))


def _data(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("data: ")]


POINTS = ("after-receive", "after-commit", "before-model", "before-reply", "after-send")


@pytest.mark.slow
@pytest.mark.parametrize(
    "point", ["mid-stream", *(pytest.param(one, marks=pytest.mark.slow) for one in POINTS)]
)
def test_kill_and_retry_are_one_turn(home: Served, point: str) -> None:
    victim = home.start(HOOKLINE_CRASH_AT=point)
    with contextlib.suppress(httpx2.HTTPError):
        words_of(home.post("/chat/completions", body_of("say survived well"), Idempotency_Key="k"))
    victim.communicate(timeout=60)
    assert victim.returncode == -signal.SIGKILL
    survivor = home.start()
    for headers in ({"Idempotency_Key": "k"}, {"X_Stainless_Retry_Count": "1"}):
        answer = home.post("/chat/completions", body_of("say survived well"), **headers)
        assert words_of(answer) == "survived well"
    session = answer.headers["X-Hookline-Session"]
    lines = home.run("sessions", "export", session)[1].splitlines()
    said = [one["blocks"][0]["text"] for one in map(json.loads, lines) if "blocks" in one]
    assert said == ["say survived well", "survived well"]
    assert end(survivor) == 0


@pytest.mark.slow
def test_response_is_complete_after_a_kill(home: Served) -> None:
    # The first request is answered with a call of a tool, the second would have its result.
    victim = home.start(HOOKLINE_CRASH_AT="before-model:2")
    client = home.client()
    begun = client.responses.create(
        model="hookline", input="list it all", background=True, instructions="Speak of bees."
    )
    victim.communicate(timeout=60)
    assert victim.returncode == -signal.SIGKILL
    survivor = home.start()
    until(lambda: home.run_states(begun.id.removeprefix("resp_")) == ["completed"])
    done = client.responses.retrieve(begun.id)
    kinds = [item.type for item in done.output]
    assert kinds == ["message", "function_call", "function_call_output", "message"]
    assert done.output_text == "Let me look.You said: list it all"
    assert done.output[2].output  # type: ignore[union-attr]
    for request in home.asked("list it all"):
        assert "Speak of bees." in json.dumps(request)
    with contextlib.closing(sqlite3.connect(home.home / "hookline.db")) as db:
        (kept,) = db.execute("SELECT request FROM openai_api_runs").fetchone()
    assert "system" not in json.loads(kept)
    assert end(survivor) == 0


@pytest.mark.slow
def test_responses_and_keys_survive_restart(home: Served) -> None:
    first = home.start()
    response = home.client().responses.create(model="hookline", input="say before the restart")
    kept = home.post("/chat/completions", body_of("say k"), Idempotency_Key="kept").json()
    assert end(first) == 0
    second = home.start()
    client = home.client()
    assert client.responses.retrieve(response.id).output_text == "before the restart"
    again = client.responses.create(
        model="hookline", input="say after it", previous_response_id=response.id
    )
    assert again.conversation == response.conversation
    assert home.post("/chat/completions", body_of("say k"), Idempotency_Key="kept").json() == kept
    assert end(second) == 0
