"""A chat is one session, however the client identifies it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .conftest import Served


def post(served: Served, said: list[str], key: str = "", **headers: str) -> tuple[str, str]:
    """The session and the answer of a chat completion."""
    roles = ("user", "assistant")
    messages = [{"role": roles[n % 2], "content": text} for n, text in enumerate(said)]
    body = {"model": "hookline", "messages": messages, "user": "somebody"}
    answer = served.post("/chat/completions", body, key, **headers)
    assert answer.status_code == 200, answer.text
    words = answer.json()["choices"][0]["message"]["content"]
    return answer.headers["X-Hookline-Session"], words


@pytest.mark.slow
def test_chat_is_found_by_its_messages(served: Served) -> None:
    said = ["say one"]
    session, words = post(served, said)
    for text in ("say two", "say three"):
        said += [f"  {words}\n", text]
        again, words = post(served, said)
        assert again == session
    assert len(served.asked("say three")[0]["messages"]) == 6
    other, _ = post(served, ["say one"])
    assert other != session


@pytest.mark.slow
def test_edited_chat_becomes_a_branch_with_its_history(served: Served) -> None:
    session, words = post(served, ["say red"])
    post(served, ["say red", words, "say green"])
    branch, _ = post(served, ["say red", words, "say blue"])
    assert branch != session
    (request,) = served.asked("say blue")
    text = json.dumps(request)
    assert "say red" in text
    assert "green" not in text
    stored = [json.loads(line) for line in served.run("sessions", "export", branch)[1].splitlines()]
    texts = [one["blocks"][0]["text"] for one in stored if "blocks" in one]
    assert texts == ["say red", "red", "say blue", "blue"]


@pytest.mark.slow
def test_unknown_history_is_imported(served: Served) -> None:
    session, _ = post(served, ["My dog is called Rex.", "A fine name.", "Who is he then?"])
    (request,) = served.asked("Who is he then?")
    roles = [one["role"] for one in request["messages"] if one["role"] != "system"]
    assert roles == ["user", "assistant", "user"]
    assert "Rex" in json.dumps(request)
    first, second, *_ = served.run("sessions", "export", session)[1].splitlines()
    [[kind, source]] = json.loads(first)["blocks"][0]["origins"]
    assert kind == "person"
    assert source.startswith("api:test_sessions-")
    [[kind, _]] = json.loads(second)["blocks"][0]["origins"]
    assert kind == "outside"  # nobody but the client says that the agent answered this


def answer_origins(served: Served, session: str, number: int) -> set[str]:
    """The kinds of the origins of a session's message."""
    line = served.run("sessions", "export", session)[1].splitlines()[number]
    return {kind for kind, _ in json.loads(line)["blocks"][0]["origins"]}


@pytest.mark.slow
def test_edited_question_keeps_the_origins_of_the_answer(served: Served) -> None:
    _, own = post(served, ["say my own answer"])
    edited, _ = post(served, ["An edited question.", own, "say next"])
    assert answer_origins(served, edited, 1) == {"person"}
    copied = ["A question.", "An answer from elsewhere.", "say derived from that"]
    _, derived = post(served, copied)
    washed, _ = post(served, ["An edited question.", derived, "say the last"])
    assert answer_origins(served, washed, 1) == {"person", "outside"}


@pytest.mark.long
def test_chat_of_a_thousand_messages_stays_one_session(served: Served) -> None:
    said = [f"message {n}" for n in range(1000)]
    session, words = post(served, [*said, "say a lot"])
    assert len(served.asked("say a lot")[0]["messages"]) > 900
    assert post(served, [*said, "say a lot", words, "say more"])[0] == session


def test_header_names_the_session(served: Served) -> None:
    session, _ = post(served, ["say in a header"], X_Hookline_Session="named")
    assert session == "named"
    assert post(served, ["say other words"], X_Hookline_Session="named")[0] == "named"
    assert "in a header" in json.dumps(served.asked("say other words"))
    chat, _ = post(served, ["say webui"], X_OpenWebUI_Chat_Id="abc-def")
    assert post(served, ["say more webui"], X_OpenWebUI_Chat_Id="abc-def")[0] == chat
    assert post(served, ["say else webui"], X_OpenWebUI_Chat_Id="xyz")[0] != chat


@pytest.mark.slow
def test_sessions_of_other_keys_are_not_found(served: Served) -> None:
    post(served, ["say private"], X_Hookline_Session="of-ann")
    served.run("run", "say terminal", "--session", "of-the-terminal", "--no-wait")
    key = served.new_key("mallory")
    body = {"model": "hookline", "messages": [{"role": "user", "content": "say mine"}]}
    for name in ("of-ann", "of-ann~2", "of-the-terminal"):
        answer = served.post("/chat/completions", body, key, X_Hookline_Session=name)
        assert answer.status_code == 404
        assert answer.json()["error"]["code"] == "session_not_found"
        again = {"model": "hookline", "input": "x", "conversation": name}
        assert served.post("/responses", again, key).status_code == 404
    same = [*["say private", "private"], "say stolen"]
    session, _ = post(served, same, key)
    assert session != "of-ann"
    chat, _ = post(served, ["say a"], X_OpenWebUI_Chat_Id="shared-id")
    assert post(served, ["say a"], key, X_OpenWebUI_Chat_Id="shared-id")[0] != chat


@pytest.mark.parametrize("name", ["", " ", "a/b", "x" * 201, "tab\there", "größe", "日本"])
def test_invalid_session_names_are_refused(served: Served, name: str) -> None:
    body: Any = {"model": "hookline", "input": "x", "conversation": name}
    answer = served.post("/responses", body)
    assert answer.status_code == 400
    assert "1 to 200 printable ASCII characters" in answer.json()["error"]["message"]
