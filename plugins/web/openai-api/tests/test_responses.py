"""Responses with OpenAI's own client, and every event as its own types see it."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest
from openai import BadRequestError, NotFoundError
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import ConfigDict, TypeAdapter

from .conftest import TEST_TIMEOUT, Served, until

EVENTS: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent, config=ConfigDict(strict=False))


def events_of(served: Served, method: str, path: str, body: Any = None) -> list[dict[str, Any]]:
    """The events of a stream as they are sent."""
    headers = {"Authorization": f"Bearer {served.key}"}
    with httpx2.stream(
        method, served.url + path, json=body, headers=headers, timeout=TEST_TIMEOUT, trust_env=False
    ) as answer:
        assert answer.status_code == 200, answer.read()
        lines = [line for line in answer.iter_lines() if line.startswith("data: ")]
    return [json.loads(line.removeprefix("data: ")) for line in lines]


@pytest.mark.slow
def test_response_has_text_usage_and_metadata(served: Served) -> None:
    done = served.client().responses.create(
        model="hookline", input="say hello you", instructions="Be kind.", metadata={"a": "b"}
    )
    assert isinstance(done, Response)
    assert (done.output_text, done.status) == ("hello you", "completed")
    assert done.usage is not None
    assert done.usage.input_tokens > 0
    assert (done.instructions, done.metadata) == ("Be kind.", {"a": "b"})
    assert "Be kind." in json.dumps(served.asked("say hello you"))
    fetched = served.client().responses.retrieve(done.id)
    assert fetched.to_dict() == done.to_dict()
    items = served.client().responses.input_items.list(done.id).data
    assert items[0].content[0].text == "say hello you"  # type: ignore[union-attr]


@pytest.mark.slow
def test_every_stream_event_has_a_type_of_the_client(served: Served) -> None:
    body = {"model": "hookline", "input": "list what is there", "stream": True}
    events = events_of(served, "POST", "/responses", body)
    for event in events:
        known = EVENTS.validate_python(event)
        assert known.type == event["type"]
        assert type(known).__name__ != "dict"
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    kinds = [event["type"] for event in events]
    assert kinds[:2] == ["response.created", "response.in_progress"]
    assert kinds[-1] == "response.completed"
    for begun, over in (("added", "done"),):
        assert kinds.count(f"response.output_item.{begun}") == kinds.count(
            f"response.output_item.{over}"
        )
    last = Response.model_validate(events[-1]["response"])
    assert [item.type for item in last.output] == [
        "message",
        "function_call",
        "function_call_output",
        "message",
    ]
    assert last.output_text == "Let me look.You said: list what is there"
    deltas = [e["delta"] for e in events if e["type"] == "response.output_text.delta"]
    assert "".join(deltas) == last.output_text
    done = [e["item"] for e in events if e["type"] == "response.output_item.done"]
    assert done == events[-1]["response"]["output"]

    path = f"/responses/{events[0]['response']['id']}?stream=true"
    replayed = events_of(served, "GET", path)
    assert replayed[2:] == events[2:]
    assert events_of(served, "GET", f"{path}&starting_after=7") == events[8:]


@pytest.mark.slow
def test_client_reads_response_stream(served: Served) -> None:
    words, kinds = "", []
    with served.client().responses.stream(model="hookline", input="say a b c d") as stream:
        for event in stream:
            kinds.append(event.type)
            if event.type == "response.output_text.delta":
                words += event.delta
        assert stream.get_final_response().output_text == "a b c d"
    assert words == "a b c d"
    assert kinds[-1] == "response.completed"


@pytest.mark.long
def test_response_continues_previous_response(served: Served) -> None:
    client = served.client()
    first = client.responses.create(model="hookline", input="say first of two")
    second = client.responses.create(
        model="hookline", input="say second of two", previous_response_id=first.id
    )
    assert second.previous_response_id == first.id
    assert second.conversation == first.conversation
    (request,) = served.asked("say second of two")
    assert "first of two" in json.dumps(request)
    with pytest.raises(NotFoundError, match="no response"):
        client.responses.create(model="hookline", input="x", previous_response_id="resp_no")
    with pytest.raises(BadRequestError, match="not both"):
        client.responses.create(
            model="hookline", input="x", previous_response_id=first.id, conversation="c"
        )


@pytest.mark.slow
def test_older_response_continues_in_a_branch(served: Served) -> None:
    client = served.client()

    def say(words: str, after: Any = None) -> Response:
        done = client.responses.create(
            model="hookline", input=f"say {words}", previous_response_id=after.id if after else None
        )
        assert isinstance(done, Response)
        return done

    root = say("the root")
    left = say("the left", root)
    right = say("the right", root)
    assert right.conversation != left.conversation == root.conversation
    (request,) = served.asked("say the right")
    said = json.dumps(request)
    assert "the root" in said
    assert "the left" not in said
    (beside,) = served.asked("say the left")
    assert request["messages"][:3] == beside["messages"][:3]  # what the provider has cached
    assert say("right again", right).conversation == right.conversation
    again = json.dumps(served.asked("say right again"))
    assert "the right" in again
    assert "the left" not in again
    assert say("left again", left).conversation == left.conversation
    assert right.conversation is not None
    _, out, _ = served.run("sessions", "export", right.conversation.id)
    lines = [json.loads(line) for line in out.splitlines()]
    texts = [line["blocks"][0]["text"] for line in lines if "role" in line]
    assert texts[-4:] == ["say the right", "the right", "say right again", "right again"]
    assert served.asked("say left again")


@pytest.mark.slow
def test_concurrent_continuations_of_a_response_are_branches(served: Served) -> None:
    client = served.client()
    root = client.responses.create(model="hookline", input="say both from here")
    made = [
        client.responses.create(
            model="hookline", input=f"count {n}", previous_response_id=root.id, background=True
        )
        for n in (21, 22)
    ]
    assert made[0].conversation != made[1].conversation
    for n, one in zip((21, 22), made, strict=True):
        id_ = one.id.removeprefix("resp_")
        until(lambda id_=id_: served.run_states(id_) == ["completed"])
        (request,) = served.asked(f"count {n}")
        said = [m["content"] for m in request["messages"] if m["role"] == "assistant"]
        assert "both from here" in json.dumps(said)
        assert len(said) == 1


def test_conversation_is_a_session_by_name(served: Served) -> None:
    client = served.client()
    client.responses.create(model="hookline", input="say remember me", conversation="talk")
    raw = client.responses.with_raw_response.create(
        model="hookline", input="say do you", conversation="talk"
    )
    assert raw.headers["X-Hookline-Session"] == "talk"
    assert "remember me" in json.dumps(served.asked("say do you"))


@pytest.mark.slow
def test_deleted_and_unstored_responses_are_not_found(served: Served) -> None:
    client = served.client()
    kept = client.responses.create(model="hookline", input="say keep")
    light = client.responses.create(model="hookline-light", input="say light")
    gone = client.responses.create(model="hookline", input="say forget", store=False)
    client.responses.delete(kept.id)
    stranger = served.client(served.new_key("eve"))
    mine = client.responses.create(model="hookline", input="say mine")
    for who, id_ in ((client, kept.id), (client, light.id), (client, gone.id), (stranger, mine.id)):
        with pytest.raises(NotFoundError, match="has no response"):
            who.responses.retrieve(id_)
    with pytest.raises(NotFoundError):
        stranger.responses.create(model="hookline", input="x", previous_response_id=mine.id)
    with pytest.raises(NotFoundError):
        stranger.responses.delete(mine.id)


@pytest.mark.slow
def test_background_response_is_polled_and_cancelled(served: Served) -> None:
    client = served.client()
    begun = client.responses.create(model="hookline", input="count 20", background=True)
    assert (begun.status, begun.background) == ("in_progress", True)
    until(lambda: client.responses.retrieve(begun.id).status == "completed")
    assert client.responses.retrieve(begun.id).output_text.endswith("19")
    endless = client.responses.create(model="hookline", input="count 3000", background=True)
    assert client.responses.cancel(endless.id).status == "cancelled"
    with pytest.raises(BadRequestError, match="store"):
        client.responses.create(model="hookline", input="x", background=True, store=False)


@pytest.mark.slow
def test_broken_stream_is_resumed(served: Served) -> None:
    client = served.client()
    stream = client.responses.create(
        model="hookline", input="count 60", background=True, stream=True
    )
    seen: list[Any] = []
    for event in stream:
        seen.append(event)
        if len(seen) > 8:
            break
    stream.close()
    id_ = seen[0].response.id
    rest = list(
        client.responses.retrieve(id_, stream=True, starting_after=seen[-1].sequence_number)
    )
    numbers = [event.sequence_number for event in [*seen, *rest]]
    assert numbers == list(range(len(numbers)))
    words = [e.delta for e in [*seen, *rest] if e.type == "response.output_text.delta"]
    assert "".join(words) == " ".join(map(str, range(60)))


def test_failed_turn_is_a_failed_response(served: Served) -> None:
    body = {"model": "hookline", "input": "fail again", "stream": True}
    events = events_of(served, "POST", "/responses", body)
    assert events[-1]["type"] == "response.failed"
    assert "out of order" in events[-1]["response"]["error"]["message"]
    EVENTS.validate_python(events[-1])
    with pytest.raises(Exception, match="out of order"):
        served.client().responses.create(model="hookline", input="fail more")
