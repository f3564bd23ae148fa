"""The web page from invitation to kill: its own requests, an invitation link for pairing."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from support.channels.model_script import COUNTED, HELLO, remove
from support.channels.plugin_fakes import bot_api, multimedia, telegram, webhook

from .conftest import ChannelHome


class WebHome(ChannelHome):
    """A home whose people are on the web page."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.listens = webhook.free_port()
        self.codes: set[str] = set()
        self.people: dict[str, Browser] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listens}"

    def install(self, *channels: str) -> None:
        super().install(*channels)
        file = self.home / "config.yaml"
        config = json.loads(file.read_text())
        config["plugins"]["web-server"] = {"listen": f"127.0.0.1:{self.listens}"}
        config["plugins"]["web-ui"] = True
        file.write_text(json.dumps(config))

    def link(self, *person: str) -> str:
        """The code of a link that lets a person in, or the operator."""
        code, said = self.run("web", "--json", *(f"--person={one}" for one in person))
        assert code == 0, said
        found = json.loads(said.splitlines()[-1])
        assert found["url"] == f"{self.url}/login#{found['code']}"
        return str(found["code"])

    def browser(self) -> Browser:
        """A browser that is not logged in."""
        headers = {"Accept": "application/json", "Origin": self.url}
        patience = bot_api.PATIENCE
        client = httpx2.Client(
            base_url=self.url, headers=headers, trust_env=False, timeout=patience
        )
        return Browser(client)

    def person(self, *name: str) -> Browser:
        """The browser of a person, or of the operator, which is let in once."""
        (key,) = name or ("owner",)
        if key not in self.people:
            made = self.people[key] = self.browser()
            made.ask("POST", "/login", json={"code": self.link(*name)})
        return self.people[key]

    def close(self) -> None:
        for one in self.people.values():
            one.client.close()
        super().close()


@dataclass
class Browser:
    """The page of a person."""

    client: httpx2.Client

    def ask(self, method: str, path: str, status: int = 200, **options: Any) -> Any:
        """Send a request, and return the JSON of the answer, which has this status."""
        answer = self.client.request(method, path, **options)
        assert answer.status_code == status, (answer.status_code, answer.text)
        return answer.json()

    def say(self, session: str, text: str, **more: Any) -> dict[str, Any]:
        """Send a message; what was sent."""
        body = {"message_id": str(uuid4()), "text": text, **more}
        self.ask("POST", f"/api/sessions/{session}/messages", 202, json=body)
        return body

    def put(self, data: bytes, **query: str) -> str:
        """Upload a file; its id."""
        file = str(uuid4())
        self.ask("PUT", f"/api/files/{file}", 201, content=data, params=query)
        return file

    def press(self, question: Any, choice: str, status: int = 202) -> Any:
        """Answer a question by one of its buttons."""
        body = {"question": question["id"], "choice": choice}
        path = f"/api/sessions/{question['session']}/answer"
        return self.ask("POST", path, status, json=body)

    def wait(self, session: str, fits: Callable[[Any], Any]) -> Any:
        """The first snapshot of a session that fits."""
        until = time.monotonic() + bot_api.PATIENCE
        while True:
            answer = self.client.get(f"/api/sessions/{session}")
            if answer.status_code == 200 and fits(found := answer.json()):
                return found
            assert time.monotonic() < until, answer.text
            time.sleep(0.02)

    def answered(self, session: str, text: str) -> Any:
        """The snapshot of a session that is at rest after an answer."""
        return self.wait(
            session, lambda found: text in texts(found) and found["session"]["state"] == "idle"
        )


def texts(snapshot: Any) -> list[str]:
    """The texts of the person and of the model in a session."""
    return [
        "".join(block.get("text", "") for block in one["blocks"])
        for one in snapshot["messages"]
        if one["role"] in ("user", "assistant")
    ]


def events(answer: httpx2.Response) -> Iterator[Any]:
    """The events of a page's stream."""
    for line in answer.iter_lines():
        if line.startswith("data: "):
            yield json.loads(line[6:])


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebHome]:
    """A home with the page on."""
    made = WebHome(tmp_path_factory.mktemp("home"))
    made.install()
    yield made
    made.close()
    assert multimedia.KEY not in made.said
    logged = "".join(path.read_text() for path in made.home.glob("logs/*.log"))
    assert not [code for code in made.codes if code in logged]


@pytest.fixture
def channel_home(installed: WebHome) -> WebHome:
    """The gateway runs."""
    if not installed.running or installed.gateway.poll() is not None:
        installed.start()
    return installed


@pytest.mark.slow
def test_stranger_is_refused_and_invitation_link_works_once(channel_home: WebHome) -> None:
    stranger, session = channel_home.browser(), str(uuid4())
    with stranger.client:
        body = {"message_id": str(uuid4()), "text": "hello"}
        stranger.ask("POST", f"/api/sessions/{session}/messages", 401, json=body)
        stranger.ask("GET", "/api/state", 401)
        stranger.ask("GET", "/api/events", 401)
        stranger.ask("POST", "/login", 401, json={"code": "a guess"})
        code = channel_home.link("ann")
        channel_home.codes.add(code)
        stranger.ask("POST", "/login", json={"code": code})
        state = stranger.ask("GET", "/api/state")
        assert (state["person"], state["role"]) == ("web:ann", "person")
        stranger.say(session, "hello")
        found = stranger.answered(session, HELLO)
        assert texts(found) == ["hello", HELLO]  # what a stranger wrote was not kept
    second = channel_home.browser()
    with second.client:
        second.ask("POST", "/login", 401, json={"code": code})
        second.ask("GET", f"/api/sessions/{session}", 401)


@pytest.mark.slow
def test_reply_is_streamed_and_repeated_message_is_not_answered(channel_home: WebHome) -> None:
    owner, session = channel_home.person(), str(uuid4())
    owner.say(session, "hello")
    owner.answered(session, HELLO)
    pieces: list[str] = []
    with owner.client.stream("GET", f"/api/events?sessions={session}") as answer:
        stream = events(answer)
        sent = owner.say(session, "count")
        for event in stream:
            if event["type"] == "delta":
                pieces.append(event["text"])
            if event["type"] == "result":
                break
    assert len(pieces) > 1
    assert "".join(pieces) == event["text"] == COUNTED
    again = owner.ask("POST", f"/api/sessions/{session}/messages", 202, json=sent)
    assert again == {"known": True, "session": session}
    found = owner.answered(session, COUNTED)
    assert texts(found) == ["hello", HELLO, "count", COUNTED]


@pytest.mark.slow
def test_voice_message_is_answered_by_voice_and_picture_sent_as_file(channel_home: WebHome) -> None:
    owner, session = channel_home.person(), str(uuid4())
    spoken = multimedia.sound("opus")
    file = owner.put(spoken, name="voice.ogg", voice="1", duration="1.5")
    owner.say(session, "", files=[file])
    said, answer = owner.answered(session, "The **lamp** is on.")["messages"]
    assert [(one["id"], one["kind"]) for one in said["files"]] == [(file, "voice")]
    (heard,) = channel_home.media.asked("audio/transcriptions")
    assert heard.form["file"][1] == spoken
    (voice,) = answer["files"]
    (asked,) = channel_home.media.asked("audio/speech")
    assert asked.json["input"] == "The lamp is on."
    assert voice["mime"].startswith("audio/")
    had = owner.client.get(f"/api/files/{voice['id']}")
    assert had.content == multimedia.sound(asked.json["response_format"])
    owner.say(session, "draw a bicycle")
    found = owner.answered(session, "Here it **is**.")
    (picture,) = found["messages"][-1]["files"]
    assert (picture["kind"], picture["mime"]) == ("image", "image/png")
    assert owner.client.get(f"/api/files/{picture['id']}").content.startswith(b"\x89PNG")
    ann = channel_home.person("ann")
    for one in (file, voice["id"], picture["id"]):
        ann.ask("GET", f"/api/files/{one}", 404)


def pending_question(owner: Browser, part: str) -> Any:
    """The question in the operator's inbox about a command of a person."""
    until = time.monotonic() + bot_api.PATIENCE
    while time.monotonic() < until:
        waiting = owner.ask("GET", "/api/state")["questions"]
        for one in waiting:
            if part in one["preview"]:
                return one
        time.sleep(0.02)
    raise AssertionError(waiting)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "choice", "told"),
    [("denied", "Deny", "Then I leave it."), ("allowed", "Allow once", "It is removed.")],
)
def test_command_of_a_person_waits_for_the_admins_button(
    channel_home: WebHome, name: str, choice: str, told: str
) -> None:
    owner, ann = channel_home.person(), channel_home.person("ann")
    folder, session = channel_home.folder_to_remove(name), str(uuid4())
    ann.say(session, f"remove {name}")
    question = pending_question(owner, remove(name))
    assert question["asker"] == "web:ann"
    first, *scopes, last = [one["label"] for one in question["choices"]]
    assert (first, last) == ("Allow once", "Deny")
    assert all(scope.startswith("Allow ") for scope in scopes)
    assert ann.ask("GET", "/api/state")["questions"] == []
    assert question["session"] == session
    ann.press(question, "Allow once", 403)
    assert folder.exists()
    owner.press(question, choice)
    owner.press(question, "Allow once", 409)
    ann.answered(session, told)
    assert folder.exists() == (name == "denied")
    assert owner.ask("GET", "/api/state")["questions"] == []


@pytest.mark.slow
def test_sigterm_finishes_the_turn_and_scheduled_job_is_delivered(channel_home: WebHome) -> None:
    owner, session = channel_home.person(), str(uuid4())
    owner.say(session, "hello")
    owner.answered(session, HELLO)
    owner.say(session, "/schedule add in 1 minute | Write the letter.")
    owner.wait(session, lambda found: any("Job " in one["text"] for one in found["asides"]))
    owner.say(session, "think")
    owner.wait(session, lambda found: found["turn"])
    assert telegram.end(channel_home.gateway) == 0
    channel_home.start(HOOKLINE_CLOCK_OFFSET="600")
    assert texts(owner.answered(session, "I have thought.")).count("I have thought.") == 1
    letter = "The letter is written."
    owner.wait(session, lambda found: letter in json.dumps(found["asides"]))
    assert telegram.end(channel_home.gateway) == 0
    channel_home.start()
    found = owner.answered(session, "I have thought.")
    assert json.dumps(found).count(letter) == 1


@pytest.mark.slow
def test_kill_during_streaming_leaves_one_reply(channel_home: WebHome) -> None:
    owner, session = channel_home.person(), str(uuid4())
    assert telegram.end(channel_home.gateway) == 0
    channel_home.start(HOOKLINE_CRASH_AT="mid-stream:40")
    sent = owner.say(session, "count")
    assert channel_home.gateway.wait(bot_api.PATIENCE) == -signal.SIGKILL
    channel_home.start()
    again = owner.ask("POST", f"/api/sessions/{session}/messages", 202, json=sent)
    assert again["known"] is True  # the page does not know that it was taken
    assert texts(owner.answered(session, COUNTED)) == ["count", COUNTED]
    assert telegram.end(channel_home.gateway) == 0
    channel_home.start()
    assert texts(owner.answered(session, COUNTED)) == ["count", COUNTED]


@pytest.mark.slow
def test_kill_in_a_tool_leaves_one_reply_and_one_run(channel_home: WebHome) -> None:
    owner, session = channel_home.person(), str(uuid4())
    owner.say(session, "work")
    channel_home.wait_until(lambda: channel_home.works == 1)
    assert telegram.end(channel_home.gateway, signal.SIGKILL) == -signal.SIGKILL
    channel_home.start()
    found = owner.answered(session, "The work was cut short.")
    assert texts(found) == ["work", "I will work.", "The work was cut short."]
    assert telegram.end(channel_home.gateway) == 0
    assert channel_home.works == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "choice", "told"),
    [("killed", "Deny", "Then I leave it."), ("revived", "Allow once", "It is removed.")],
)
def test_question_survives_a_kill_and_its_answer_continues_the_turn(
    channel_home: WebHome, name: str, choice: str, told: str
) -> None:
    owner, session = channel_home.person(), str(uuid4())
    folder = channel_home.folder_to_remove(name)
    owner.say(session, f"remove {name}")
    question = owner.wait(session, lambda found: found["question"])["question"]
    assert question["preview"] == remove(name)
    assert telegram.end(channel_home.gateway, signal.SIGKILL) == -signal.SIGKILL
    channel_home.start()
    again = owner.wait(session, lambda found: found["question"])["question"]
    assert again["id"] == question["id"]
    assert folder.exists()
    owner.press(again, choice)
    assert texts(owner.answered(session, told)) == [f"remove {name}", "", told]
    assert folder.exists() == (choice == "Deny")
    owner.press(again, "Deny", 409)
