"""A version of a chat is the same chat to everything that decides what may be done in it."""

from __future__ import annotations

from typing import Any

import pytest

from .browser import Person, new, text_of

pytestmark = pytest.mark.long


async def _version(owner: Person, session: str, text: str) -> str:
    """Send the chat's message ``text`` again in a new version."""
    found = await owner.get(f"/sessions/{session}")
    message = next(one for one in found["messages"] if text_of(one) == text)
    body = {"id": new(), "message_id": new(), "before": message["seq"]}
    made = await owner.ask("POST", f"/sessions/{session}/versions", 201, json=body)
    return str(made["id"])


async def _answer(owner: Person, session: str, choice: str) -> None:
    found = await owner.until(session, lambda found: found["session"]["state"] == "asking")
    body = {"question": found["question"]["id"], "choice": choice}
    await owner.ask("POST", f"/sessions/{session}/answer", 202, json=body)


def test_what_is_allowed_in_a_chat_is_allowed_in_its_versions(play: Any) -> None:
    async def story(owner: Person) -> None:
        session = new()
        await owner.say(session, "remove it")
        await _answer(owner, session, "Allow in this session")
        await owner.settled(session)
        version = await _version(owner, session, "remove it")
        found = await owner.settled(version)
        assert found["question"] is None
        assert "answered" in str(found["messages"][-1])
        other = new()
        await owner.say(other, "remove it")
        await _answer(owner, other, "Deny")

    play(story)


def test_refused_version_leaves_the_chat_as_it_is(play: Any) -> None:
    async def story(owner: Person) -> None:
        session = new()
        await owner.say(session, "one")
        found = await owner.settled(session)
        body = {"id": new(), "message_id": new(), "before": found["messages"][0]["seq"]}
        for text, status in (("x" * 400_001, 413), (" ", 400)):
            await owner.ask(
                "POST", f"/sessions/{session}/versions", status, json=body | {"text": text}
            )
        assert (await owner.get(f"/sessions/{session}"))["versions"] == []
        await owner.get(f"/sessions/{body['id']}", 404)
        await owner.ask("POST", f"/sessions/{session}/versions", 201, json=body)
        await owner.settled(body["id"])

    play(story)


def test_version_has_the_mode_of_its_chat(play: Any) -> None:
    async def story(owner: Person) -> None:
        session = new()
        await owner.say(session, "one")
        await owner.settled(session)
        await owner.say(session, "/mode plan")
        await owner.until(session, lambda found: "plan" in str(found["asides"]))
        version = await _version(owner, session, "one")
        await owner.settled(version)
        await owner.say(version, "/mode")
        await owner.until(version, lambda found: "plan" in str(found["asides"]).casefold())

    play(story)
