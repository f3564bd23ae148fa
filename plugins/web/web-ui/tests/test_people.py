"""Sessions, files and questions of several people, with a real gateway."""

from __future__ import annotations

import asyncio
import base64
import json
import signal
from typing import Any

import pytest

from .browser import PATIENCE, REMOVE, Chat, Gateway, Person, new, text_of

PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
"""One dot, as PNG."""


@pytest.mark.long
def test_person_sees_own_chats_and_operator_sees_all(play: Any) -> None:
    async def story(owner: Person, mia: Person, ben: Person) -> None:
        session = new()
        await mia.say(session, "a secret of mine")
        found = await mia.settled(session)
        turn = found["messages"][0]["turn"]
        path = f"/sessions/{session}"
        for method, rest, body in (
            ("GET", "", None),
            ("PATCH", "", {"title": "x"}),
            ("DELETE", "", None),
            ("GET", "/export", None),
            ("GET", f"/turns/{turn}", None),
            ("POST", "/stop", {}),
            ("POST", "/answer", {"question": f"{turn}-reply", "choice": "Yes"}),
            ("POST", "/branch", {"before": None}),
            ("POST", "/messages", {"message_id": new(), "text": "hi"}),
        ):
            await ben.ask(method, path + rest, 404, json=body)
        shells = [await one.client.get(f"/chat/{session}") for one in (owner, mia, ben)]
        assert [one.status_code for one in shells] == [200, 200, 404]
        answer = await ben.client.get(f"/api/events?sessions={session}")
        assert answer.status_code == 404
        assert (await ben.get("/sessions"))["sessions"] == []
        own = new()
        await ben.say(own, "mine")
        await ben.settled(own)
        for named in (f"{own},{session}", f"{own},{session}@1-1", f"{session}@"):
            answer = await ben.client.get(f"/api/events?sessions={named}")
            assert answer.status_code == 404, named
        assert (await ben.get("/sessions?q=secret"))["sessions"] == []

        seen = await owner.get(path)
        assert seen["session"]["mine"] is False
        assert [text_of(one) for one in seen["messages"]] == ["a secret of mine", "answered"]
        assert session in [one["id"] for one in (await owner.get("/sessions?q=SECRET"))["sessions"]]
        refused = await owner.say(session, "hi", 409)
        assert refused["error"]["code"] == "read_only"

    play(story, "owner", "mia", "ben")


@pytest.mark.slow
def test_admin_without_chats_gets_approval_on_page(own_gateway: Gateway) -> None:
    async def story() -> None:
        mia, owner = await own_gateway.person("mia"), await own_gateway.person("owner")
        session = new()
        async with owner.events() as events:
            await mia.say(session, "remove it")
            async for event in events:
                if event["type"] == "question":
                    break
            assert (event["asker"], event["chat"]) == ("web:mia", "web:mia")
            assert (event["asker_name"], event["chat_name"]) == ("mia (web page)",) * 2
            assert event["preview"] == REMOVE
            answer = {"question": event["id"], "choice": "Deny"}
            await owner.ask("POST", f"/sessions/{event['session']}/answer", 202, json=answer)
            found = await mia.settled(session)
        assert "Denied: " in json.dumps(found["messages"])
        for one in (mia, owner):
            await one.close()

    own_gateway.configure()
    own_gateway.start()
    asyncio.run(asyncio.wait_for(story(), PATIENCE))


@pytest.mark.long
def test_branch_is_a_chat_of_its_own_and_leaves_original_unchanged(play: Any) -> None:
    async def story(owner: Person) -> None:
        session = new()
        await owner.say(session, "one")
        await owner.settled(session)
        await owner.say(session, "look twice")
        before = await owner.settled(session, 2)
        second = next(one for one in before["messages"] if text_of(one) == "look twice")
        path = f"/sessions/{session}/branch"
        made = await owner.ask("POST", path, 201, json={"before": second["seq"]})
        assert made["text"] == "look twice"
        await owner.say(made["id"], "other words")
        branch = await owner.settled(made["id"], 2)
        said = [text_of(one) for one in branch["messages"]]
        assert said == ["one", "answered", "other words", "answered"]
        await owner.ask("POST", path, 400, json={"before": second["seq"] + 1})
        whole = await owner.ask("POST", path, 201, json={"before": None})
        copied = await owner.get(f"/sessions/{whole['id']}")
        after = await owner.get(f"/sessions/{session}")

        assert after["messages"] == before["messages"]
        blocks = [one["blocks"] for one in copied["messages"]]
        assert blocks == [one["blocks"] for one in before["messages"]]

    play(story)


@pytest.mark.long
def test_approval_is_answered_once_by_chat_owner(play: Any) -> None:
    async def story(owner: Person, mia: Person) -> None:
        session = new()
        await owner.say(session, "remove it")
        found = await owner.until(session, lambda found: found["session"]["state"] == "asking")
        question = found["question"]
        assert (question["kind"], question["tool"]) == ("approval", "bash")
        assert question["preview"] == REMOVE
        assert question["marks"] == ["rm -rf"]
        assert question["may_answer"] is True
        labels = [one["label"] for one in question["choices"]]
        assert labels == ["Allow once", "Allow in this session", "Allow always", "Deny"]
        assert found["session"]["question"] is True
        assert found["asides"] == []  # the question is shown once
        path, body = f"/sessions/{session}/answer", {"question": question["id"]}
        await mia.ask("POST", path, 404, json={**body, "choice": "Allow once"})
        wrong = await owner.ask("POST", path, 400, json={**body, "choice": "Perhaps"})
        assert wrong["error"]["code"] == "no_choice"
        both = [
            owner.client.post(f"/api{path}", json={**body, "choice": one})
            for one in ("Allow once", "Deny")
        ]
        answers = await asyncio.gather(*both)

        assert sorted(one.status_code for one in answers) == [202, 409]
        late = next(one.json() for one in answers if one.status_code == 409)
        assert late["error"]["code"] == "answered"
        assert "web:owner has already answered" in late["error"]["message"]
        found = await owner.settled(session)
        assert found["question"] is None
        (answer,) = found["answers"]
        assert (answer["question"], answer["by"]) == (question["id"], "web:owner")
        assert answer["by_name"] == "owner (web page)"

    play(story, "owner", "mia")


@pytest.mark.long
def test_approval_of_person_is_in_the_inbox_of_the_operator(play: Any) -> None:
    async def story(owner: Person, mia: Person) -> None:
        own, session = new(), new()
        await owner.say(own, "hello")
        await owner.settled(own)
        async with owner.events() as events:
            await mia.say(session, "remove it")
            async for event in events:
                if event["type"] == "question":
                    break
        assert (event["session"], event["may_answer"], event["inbox"]) == (session, True, True)
        assert (event["preview"], event["asker"]) == (REMOVE, "web:mia")
        unrelated = await owner.get(f"/sessions/{own}")
        assert (unrelated["question"], unrelated["asides"]) == (None, [])
        (waiting,) = (await owner.get("/state"))["questions"]
        assert waiting["id"] == event["id"]
        assert (await mia.get("/state"))["questions"] == []
        theirs = await mia.until(session, lambda found: found["question"] and found["asides"])
        assert (theirs["question"]["id"], theirs["question"]["may_answer"]) == (event["id"], False)
        (notice,) = theirs["asides"]
        assert (notice["text"], notice["notice"]) == (
            "An admin is asked whether bash may run.",
            True,
        )
        page = (await owner.client.get("/inbox")).text
        assert 'role="group" aria-label="Approval"' in page
        assert "<code>cd /tmp &amp;&amp; <mark>rm -rf</mark> nothing-there</code>" in page
        assert "For mia (web page) in chat" in page
        assert "No questions are waiting" in (await mia.client.get("/inbox")).text
        path, answer = f"/sessions/{session}/answer", {"question": event["id"], "choice": "Deny"}
        await mia.ask("POST", path, 403, json=answer)
        form = {"question": event["id"], "session": session, "choice": "Deny"}
        answered = await owner.client.post("/inbox", data=form)
        assert (answered.status_code, answered.headers["location"]) == (303, "/inbox")
        found = await mia.settled(session)
        result = next(one for one in found["messages"] if one["role"] == "tool")
        assert result["blocks"][0]["text"].startswith("Denied: ")
        assert [one["by"] for one in found["answers"]] == ["web:owner"]
        await owner.client.post("/inbox", data=form)
        assert "has already answered: Deny" in (await owner.client.get("/inbox")).text
        assert (await owner.get(f"/sessions/{own}"))["asides"] == []

    play(story, "owner", "mia")


@pytest.mark.long
def test_parked_turn_queues_messages_and_is_stopped(play: Any) -> None:
    async def story(owner: Person) -> None:
        session, later = new(), new()
        await owner.say(session, "remove it")
        await owner.until(session, lambda found: found["session"]["state"] == "asking")
        await owner.say(session, "hello", message_id=later)
        found = await owner.until(session, lambda found: found["queue"] and found["asides"])
        assert [one["message_id"] for one in found["queue"]] == [later]
        assert "A question is waiting" in found["asides"][0]["text"]
        await owner.ask("DELETE", f"/sessions/{session}", 409)
        async with owner.events(f"{session}@{found['cursor']}") as events:
            stopped = await owner.ask("POST", f"/sessions/{session}/stop", 202)
            assert stopped == {"stopped": True}
            async for event in events:
                if event["type"] == "answered":
                    break
        assert (event["question"], event["state"]) == (found["question"]["id"], "stopped")
        found = await owner.settled(session, 2)
        texts = [text_of(one) for one in found["messages"] if one["role"] != "tool"]
        assert texts == ["remove it", "I remove it.", "Stopped.", "hello", "answered"]

    play(story)


@pytest.mark.slow
def test_question_expires_and_is_closed_after_a_restart(own_gateway: Gateway) -> None:
    own_gateway.configure(approvals={"expires": "1h"})
    session = new()

    async def ask() -> str:
        owner = await own_gateway.person()
        await owner.say(session, "remove it")
        found = await owner.until(session, lambda found: found["session"]["state"] == "asking")
        await owner.close()
        return str(found["question"]["id"])

    async def look(question: str, state: str) -> None:
        owner = await own_gateway.person()
        if state == "open":
            found = await owner.get(f"/sessions/{session}")
            assert (found["question"]["id"], found["session"]["state"]) == (question, "asking")
            assert [one["id"] for one in (await owner.get("/state"))["questions"]] == [question]
        else:
            found = await owner.settled(session)
            assert [one["state"] for one in found["answers"]] == ["expired"]
            assert (await owner.get("/state"))["questions"] == []
            body = {"question": question, "choice": "Allow once"}
            late = await owner.ask("POST", f"/sessions/{session}/answer", 409, json=body)
            assert "expired" in late["error"]["message"]
        await owner.close()

    gateway = own_gateway.start()
    question = asyncio.run(ask())
    own_gateway.end(gateway, signal.SIGKILL)
    gateway = own_gateway.start(HOOKLINE_CLOCK_OFFSET="1800")
    asyncio.run(look(question, "open"))
    own_gateway.end(gateway)
    own_gateway.start(HOOKLINE_CLOCK_OFFSET="3700")
    asyncio.run(look(question, "expired"))


def test_clarify_question_is_answered_by_button(play: Any) -> None:
    async def story(owner: Person) -> None:
        session = new()
        await owner.say(session, "ask me")
        found = await owner.until(session, lambda found: found["question"] and not found["turn"])
        question = found["question"]
        assert [one["label"] for one in question["choices"]] == ["Yes", "No"]
        assert question["text"] == "Tea?"
        path, body = f"/sessions/{session}/answer", {"question": question["id"], "choice": "Yes"}
        await owner.ask("POST", path, 202, json=body)
        await owner.ask("POST", path, 409, json=body)
        found = await owner.settled(session, 2)

        assert [text_of(one) for one in found["messages"]][-2:] == ["Yes", "answered"]
        assert found["question"] is None

    play(story)


def test_files_are_served_only_to_their_owner(play: Any) -> None:
    async def story(owner: Person, mia: Person, ben: Person) -> None:
        session, file = new(), new()
        put = {"content": b"col\n1\n"}
        made = await mia.ask("PUT", f"/files/{file}?name=../a b.csv", 201, **put)
        again = await mia.ask("PUT", f"/files/{file}?name=other", 200, **put)
        assert made == again
        assert (made["name"], made["size"]) == ("a b.csv", 6)
        await ben.ask("PUT", f"/files/{file}", 409, **put)
        await ben.say(new(), "look", 404, files=[file])
        await mia.say(session, "look at this", files=[file])
        found = await mia.settled(session)
        assert [one["id"] for one in found["messages"][0]["files"]] == [file]
        assert text_of(found["messages"][0]) == "look at this"
        picture = new()
        await mia.ask("PUT", f"/files/{picture}?name=dot.png", 201, content=PICTURE)
        await mia.say(session, "", files=[picture])
        seen = await mia.settled(session, 2)
        image = next(one for one in seen["messages"][2]["blocks"] if one["type"] == "image")
        assert image == {"type": "image", "mime": "image/png", "file": picture}
        for person in (mia, owner):
            answer = await person.client.get(f"/api/files/{file}")
            assert answer.content == b"col\n1\n"
            assert answer.headers["content-disposition"].startswith("attachment;")
            assert answer.headers["x-content-type-options"] == "nosniff"
        await ben.get(f"/files/{file}", 404)

        await mia.ask("DELETE", f"/sessions/{session}")
        await mia.get(f"/sessions/{session}", 404)
        await mia.get(f"/files/{file}", 404)

    play(story, "owner", "mia", "ben")


@pytest.mark.slow
def test_sessions_are_renamed_paged_and_exported(play: Any) -> None:
    async def story(eve: Person) -> None:
        sessions = [new() for _ in range(3)]
        for session in sessions:
            await eve.say(session, "look twice")
            await eve.settled(session)
        await eve.ask("PATCH", f"/sessions/{sessions[0]}", 200, json={"title": " A  b "})
        await eve.ask("PATCH", f"/sessions/{sessions[0]}", 400, json={"title": " "})
        first = await eve.get("/sessions?limit=2")
        rest = await eve.get(f"/sessions?limit=2&before={first['next']}")
        listed = [one["id"] for page in (first, rest) for one in page["sessions"]]
        assert listed == sessions[::-1]
        assert rest["next"] is None
        found = await eve.get("/sessions?q=a b")
        assert [one["title"] for one in found["sessions"]] == ["A b"]
        lines = await eve.client.get(f"/api/sessions/{sessions[0]}/export")
        stored = [json.loads(line) for line in lines.text.splitlines()]
        assert [one["role"] for one in stored] == ["user", "assistant", "user", "assistant"]
        text = await eve.client.get(f"/api/sessions/{sessions[0]}/export?format=md")
        assert text.text.startswith("# A b\n")
        assert "**bash**" in text.text

    play(story, "eve")


def test_two_tabs_show_the_same(play: Any) -> None:
    async def story(owner: Person) -> None:
        session = new()
        await owner.say(session, "hello")
        await owner.settled(session)
        tabs = [Chat(owner, session), Chat(owner, session)]

        async def follow(tab: Chat) -> None:
            await tab.load()
            async with owner.events(f"{session}@{tab.cursor}") as events:
                async for event in events:
                    tab.apply(event)
                    if event["type"] == "result":
                        return

        following = [asyncio.create_task(follow(tab)) for tab in tabs]
        await asyncio.sleep(0.2)
        await owner.say(session, "look twice")
        await asyncio.gather(*following)

        assert tabs[0].said == tabs[1].said == "answered\nFirst this.\nanswered"

    play(story)


def test_error_page_has_navigation_of_the_person(play: Any) -> None:
    async def story(owner: Person, mia: Person) -> None:
        for path, who, status in (("/nothing", mia, 404), ("/plugins", mia, 403)):
            answer = await who.client.get(path, headers={"Accept": "text/html"})
            assert answer.status_code == status
            assert 'aria-label="Main"' in answer.text
            assert 'aria-label="Menu"' in answer.text

    play(story, "owner", "mia")
