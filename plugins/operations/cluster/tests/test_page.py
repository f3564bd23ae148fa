"""The web page of a cluster: turns run in workers, and the page shows them as usual."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from support.openai_server import OpenAIServer

from .conftest import PATIENCE, Cluster
from .pages import COUNT, configure, model_says, module_of, person, start

pytestmark = pytest.mark.slow


@pytest.fixture
def page(cluster: Cluster) -> Iterator[Cluster]:
    """A gateway with the page, and a worker."""
    with OpenAIServer(model_says) as model:
        configure(cluster, model)
        start(cluster, "g1", "w1")
        yield cluster
        cluster.close()


class Watched:
    """A chat on the page, and all that its stream has told."""

    def __init__(self, someone: Any, session: str) -> None:
        self.chat = module_of("web-ui", "browser").Chat(someone, session)
        self.person, self.session = someone, session
        self.events: list[Any] = []

    async def read(self, until: Any) -> list[Any]:
        """Follow the stream until an event fits, applying all."""
        where = f"{self.session}@{self.chat.cursor}" if self.chat.cursor else self.session
        async with asyncio.timeout(PATIENCE), self.person.events(where) as events:
            async for event in events:
                self.events.append(event)
                self.chat.apply(event)
                if until(event):
                    return self.events
        raise AssertionError(self.events)

    def kinds(self) -> list[str]:
        return [one["type"] for one in self.events]


async def begin(cluster: Cluster, text: str, name: str = "owner") -> Watched:
    """A new chat in which something was said, that is watched from there on."""
    someone = await person(cluster, name=name)
    session = module_of("web-ui", "browser").new()
    await someone.say(session, text)
    watched = Watched(someone, session)
    await watched.chat.load()
    return watched


def is_result(event: Any) -> bool:
    return bool(event["type"] == "result")


async def test_file_is_shown_with_its_message(page: Cluster) -> None:
    one = await begin(page, "hello")
    await one.person.settled(one.session)
    await one.chat.load()
    file = module_of("web-ui", "browser").new()
    path = f"/files/{file}?name=note.txt"
    await one.person.ask("PUT", path, 201, content=b"milk")
    reading = asyncio.create_task(one.read(is_result))
    await one.person.say(one.session, "look", files=[file])
    told = [event for event in await reading if event["type"] == "user"][-1]
    assert [each["name"] for each in told["files"]] == ["note.txt"]
    found = await one.person.settled(one.session, 2)
    sent = [each for each in found["messages"] if each["role"] == "user"][-1]
    assert sent["files"] == told["files"]
    await one.person.close()


async def test_reasoning_and_reply_are_streamed_once(page: Cluster) -> None:
    one = await begin(page, "count")
    await one.read(lambda event: event["type"] == "delta" and len(one.chat.said) > 100)
    found = await one.person.get(f"/sessions/{one.session}")
    assert found["session"]["state"] == "running"
    assert found["turn"]["step"] == "answering"
    assert COUNT.startswith(found["turn"]["parts"][0]["text"])
    await one.read(is_result)
    assert one.chat.said == COUNT
    assert "thinking" in [e["step"] for e in one.events if e["type"] == "step"]
    assert one.kinds().count("delta") > 5
    assert one.kinds().count("result") == 1
    settled = await one.person.settled(one.session)
    assert [m["role"] for m in settled["messages"]] == ["user", "assistant"]
    await one.person.close()


async def test_tool_call_and_result_are_shown(page: Cluster) -> None:
    one = await begin(page, "look")
    await one.read(is_result)
    (call,) = [e for e in one.events if e["type"] == "tool_call"]
    (result,) = [e for e in one.events if e["type"] == "tool_result"]
    assert call["arguments"] == {"command": "echo seen"}
    assert "seen" in result["text"]
    assert one.chat.said == "First this.\nfinished"
    await one.person.close()


async def test_approval_is_answered_on_page(page: Cluster) -> None:
    one = await begin(page, "launch")
    await one.read(lambda event: event["type"] == "question")
    question = one.events[-1]
    assert "sudo true" in question["preview"]
    (shown,) = [(await one.person.get(f"/sessions/{one.session}"))["question"]]
    assert shown["id"] == question["id"]
    body = {"question": question["id"], "choice": "Deny"}
    await one.person.ask("POST", f"/sessions/{one.session}/answer", 202, json=body)
    await one.read(is_result)
    assert [e["choice"] for e in one.events if e["type"] == "answered"] == ["Deny"]
    assert one.chat.said.endswith("finished")
    await one.person.close()


async def test_turn_is_stopped_on_page(page: Cluster) -> None:
    one = await begin(page, "count")
    await one.read(lambda event: event["type"] == "delta")
    stopped = await one.person.ask("POST", f"/sessions/{one.session}/stop", 202)
    assert stopped == {"stopped": True}
    await one.read(is_result)
    assert one.events[-1]["stop"] == "stopped"
    assert one.chat.said != COUNT
    await one.person.close()


async def test_reply_is_complete_after_worker_kill_while_writing(page: Cluster) -> None:
    one = await begin(page, "count")
    start(page, "w2")
    await one.read(lambda event: event["type"] == "delta" and len(one.chat.said) > 100)
    page.machines["w1"].end(signal.SIGKILL)
    await one.read(is_result)
    assert one.chat.said == COUNT
    assert one.kinds().count("result") == 1
    starts = [e["attempt"] for e in one.events if e["type"] == "start"]
    assert starts == sorted(starts)
    assert (await one.person.settled(one.session))["session"]["turns"] == 1
    await one.person.close()


async def test_next_gateway_shows_running_turn_after_gateway_kill(page: Cluster) -> None:
    start(page, "g2")
    one = await begin(page, "count")
    await one.read(lambda event: event["type"] == "delta")
    page.machines["g1"].end(signal.SIGKILL)
    await one.person.close()
    page.machines["g2"].wait_until_said("this gateway now owns channel web")
    there = Watched(await person(page, "g2"), one.session)
    found = await there.person.until(one.session, lambda found: found["turn"] is not None)
    assert found["session"]["state"] == "running"
    await there.chat.load()
    assert COUNT.startswith(there.chat.said)
    await there.read(is_result)
    assert there.chat.said == COUNT
    assert there.kinds().count("result") == 1
    await there.person.close()


async def test_approval_is_answered_after_worker_kill_while_waiting(page: Cluster) -> None:
    one = await begin(page, "launch")
    await one.read(lambda event: event["type"] == "question")
    first = one.events[-1]["id"]
    start(page, "w2")
    page.machines["w1"].end(signal.SIGKILL)
    await one.read(lambda event: event["type"] == "question" and event["id"] != first)
    question = one.events[-1]["id"]
    assert [e["question"] for e in one.events if e["type"] == "answered"] == [first]
    gone = {"question": first, "choice": "Deny"}
    await one.person.ask("POST", f"/sessions/{one.session}/answer", 409, json=gone)
    body = {"question": question, "choice": "Deny"}
    await one.person.ask("POST", f"/sessions/{one.session}/answer", 202, json=body)
    await one.read(is_result)
    assert one.chat.said.endswith("finished")
    assert one.kinds().count("result") == 1
    await one.person.close()


async def test_worker_kill_before_end_event_still_ends_turn_on_page(page: Cluster) -> None:
    page.machines["w1"].end()
    start(page, "w1", DIES="2")  # first it looks for what was left, then it has answered
    one = await begin(page, "hello")
    await one.read(is_result)
    assert page.machines["w1"].process.wait(PATIENCE) == -signal.SIGKILL
    assert one.chat.said == "answered"
    settled = await one.person.settled(one.session)
    assert [m["role"] for m in settled["messages"]] == ["user", "assistant"]
    await one.person.close()


async def test_worker_kill_before_end_event_in_webhook_chat_settles_session(
    cluster: Cluster,
) -> None:
    with OpenAIServer(model_says) as model:
        configure(cluster, model, access={"allow": ["webhook:*"]})
        del cluster.plugins["webhook"]  # its own settings
        start(cluster, "g1")
        start(cluster, "w1", DIES="1")
        owner = await person(cluster)
        assert await asyncio.to_thread(cluster.post, "g1", "m1", "hello") == 202
        assert await asyncio.to_thread(cluster.replies.wait_for, 1) == ["answered"]
        worker: Any = cluster.machines["w1"].process
        assert worker.wait(PATIENCE) == -signal.SIGKILL
        (row,) = (await owner.get("/sessions"))["sessions"]
        assert row["channel"] == "webhook"
        found = await owner.settled(row["id"])
        assert [m["role"] for m in found["messages"]] == ["user", "assistant"]
        await owner.close()
        cluster.close()
