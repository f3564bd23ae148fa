"""What Hookline writes in a chat, in the language of the person who reads it."""

from __future__ import annotations

from typing import Any

import pytest

from .browser import Person, new


def test_help_and_replies_of_commands_are_in_the_language_of_the_reader(play: Any) -> None:
    async def story(owner: Person) -> None:
        owner.client.headers["Accept-Language"] = "de"
        found = await owner.get("/commands")
        about = {one["name"]: one["help"] for one in found["commands"]}
        assert about["/new"] == "Eine neue Sitzung beginnen."
        session = new()
        await owner.say(session, "/help")
        found = await owner.until(session, lambda found: found["asides"])
        async with owner.events(session) as events:
            await owner.say(session, "/help all")
            result = await anext(event async for event in events if event["type"] == "result")
        assert ": Eine neue Sitzung beginnen." in result["text"]
        assert result["text"].startswith("Unterhaltung")
        assert found["asides"][0]["text"] == result["text"]
        await owner.say(session, "/status")
        found = await owner.until(session, lambda found: len(found["asides"]) > 2)
        status = found["asides"][2]["text"]
        assert " · 0 Nachrichten · kein Durchlauf läuft\nModell: " in status
        settings = (await owner.get(f"/sessions/{session}/settings"))["settings"]
        (mode,) = [one for one in settings if one["name"] == "mode"]
        assert "fragt vor riskanten" in str(mode["choices"])

    play(story)


@pytest.mark.long
def test_approval_is_in_the_language_of_each_reader(play: Any) -> None:
    async def story(owner: Person) -> None:
        session = new()
        english = dict(owner.client.headers)
        owner.client.headers["Accept-Language"] = "de"
        async with owner.events() as events:
            await owner.say(session, "remove it")
            shown = await anext(event async for event in events if event["type"] == "question")
        found = await owner.until(session, lambda found: found["question"])
        question = found["question"]
        assert question["text"] == shown["text"] == f"bash erlauben? {question['reason']}"
        assert question["choices"][0] == {**shown["choices"][0], "label": "Einmal erlauben"}
        assert question["choices"][0]["id"] == "Allow once"
        owner.client.headers = english
        again = (await owner.get(f"/sessions/{session}"))["question"]
        assert again["text"] == f"Allow bash? {again['reason']}"
        answer = {"question": question["id"], "choice": "Deny"}
        await owner.ask("POST", f"/sessions/{session}/answer", 202, json=answer)

    play(story)


@pytest.mark.long
def test_answers_and_stopped_turns_are_in_the_language_of_the_reader(play: Any) -> None:
    async def story(owner: Person) -> None:
        owner.client.headers["Accept-Language"] = "de"
        session = new()
        async with owner.events() as events:
            await owner.say(session, "remove it")
            shown = await anext(event async for event in events if event["type"] == "question")
            answer = {"question": shown["id"], "choice": "Allow in this session"}
            await owner.ask("POST", f"/sessions/{session}/answer", 202, json=answer)
            told = await anext(event async for event in events if event["type"] == "answered")
        assert (told["choice"], told["label"]) == (answer["choice"], "In dieser Sitzung erlauben")
        assert told["by_name"] == "owner (Webseite)"
        found = await owner.settled(session)
        assert found["answers"][0]["label"] == told["label"]
        await owner.say(session, "/undo")
        found = await owner.until(session, lambda found: found["asides"])
        assert "ist aus der Unterhaltung entfernt." in found["asides"][-1]["text"]
        other = new()
        await owner.say(other, "remove it")
        await owner.until(other, lambda found: found["question"])
        await owner.ask("POST", f"/sessions/{other}/stop", 202)
        found = await owner.settled(other)
        assert found["messages"][-1]["blocks"][-1]["text"] == "Angehalten."

    play(story)
