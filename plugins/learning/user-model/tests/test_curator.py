"""The profile is updated from the model's answers, and never damaged by them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hookline_hookspecs import NetworkError, OverBudget, Reviewer
from hookline_user_model import UserModel


def test_first_profile_is_written_and_in_the_next_session(person: Any) -> None:
    person.say("I am Ana, a nurse, keep it short please")
    (request,) = person.curate("Ana is a nurse.\nPrefers short answers.")
    assert "I am Ana, a nurse" in request.messages[0].text
    assert "(none yet)" in request.messages[0].text
    assert request.params["schema"]["required"] == ["narrative"]
    assert person.text == "Ana is a nurse.\nPrefers short answers."
    assert "[3 % of 1,500 characters]\nAna is a nurse.\nPrefers short answers." in person.prompt()


def test_running_session_keeps_its_prompt(person: Any) -> None:
    person.say("hello")
    before = person.harness.model.last.system
    person.learn("Ana is a nurse.")
    person.say("hello again")
    assert person.harness.model.last.system == before


def test_curator_reads_only_new_messages_of_the_person(person: Any) -> None:
    person.say("first words", "second words")
    person.curate(None)
    assert person.curate() == []
    person.restart()
    person.say("third words")
    (request,) = person.curate("Ana.")
    text = request.messages[0].text
    assert "third words" in text
    assert "first words" not in text
    assert "I see." not in text
    assert person.text == "Ana."


def test_curator_input_is_bounded_and_keeps_the_newest(make_person: Callable[..., Any]) -> None:
    person = make_person(signal_messages=3, signal_chars=1_500)
    person.say("a" * 100, "b" * 100, "c" * 100, "d" * 5_000)
    (request,) = person.curate(None)
    text = request.messages[0].text
    assert "d" * 1_000 in text
    assert "d" * 1_001 not in text
    assert "b" * 100 in text
    assert "a" * 100 not in text


@pytest.mark.parametrize(
    "answer", [None, "", " \n\t", b"no json", b"[1]", b'{"narrative": 3}', b""]
)
def test_empty_or_invalid_answer_changes_nothing(person: Any, answer: Any) -> None:
    person.learn("Ana is a nurse.")
    person.say("and more")
    person.curate(*([answer] if answer != b"" else ["  "]))
    assert person.text == "Ana is a nurse."
    assert person.curate() == []  # it was looked at


def test_identical_answer_makes_no_version(person: Any) -> None:
    person.learn("Ana is a nurse.")
    before = person.command("/user history")
    person.learn("\nAna is a nurse.  \n")
    assert person.command("/user history") == before


def test_fenced_answer_is_read(person: Any) -> None:
    person.say("hi")
    person.curate(b'```json\n{"narrative": "Ana."}\n```')
    assert person.text == "Ana."


def test_too_long_answer_is_sent_back_once(make_person: Callable[..., Any]) -> None:
    person = make_person(max_chars=200)
    person.say("hi")
    _, second = person.curate("long " * 60, "short")
    assert "long long" in second.messages[0].text
    assert "At most 199 characters" in second.messages[0].text
    assert person.text == "short"
    person.say("more")
    person.curate("long " * 60, "still long " * 30)
    assert person.text == "short"
    assert person.curate() == []
    person.say("more")
    person.curate("long " * 60, None)
    assert person.text == "short"


@pytest.mark.parametrize("error", [NetworkError("away"), OverBudget("spent")])
def test_failed_model_is_asked_again_next_time(person: Any, error: Exception) -> None:
    person.say("I am Ana")
    person.curate(error)
    assert person.text == ""
    (request,) = person.curate("Ana.")
    assert "I am Ana" in request.messages[0].text
    assert person.text == "Ana."


def test_profile_passes_pre_learn_once(person: Any) -> None:
    person.learn("Her key is SECRET.")
    assert person.text == "Her key is [REDACTED:token]."
    assert [(one.kind, one.text) for one in person.gates.learnt] == [
        ("user-model", "Her key is SECRET.")
    ]
    person.learn("EVIL orders")
    assert person.text == "Her key is [REDACTED:token]."


def test_profile_made_too_long_by_redaction_is_not_written(make_person: Callable[..., Any]) -> None:
    person = make_person(max_chars=120)
    person.learn("Ana.")
    person.learn("SECRET " * 15)
    assert person.text == "Ana."


def test_pinned_lines_are_kept_and_count_towards_the_limit(make_person: Callable[..., Any]) -> None:
    person = make_person(max_chars=300)
    assert person.command("/user pin  call me  Captain") == "Pinned: call me Captain"
    person.say("hi")
    (request,) = person.curate("Ana is a nurse.\n- (pinned) call me Captain\n- (pinned) made up")
    assert "Kept lines:\n- (pinned) call me Captain" in request.messages[0].text
    assert person.text.split("\n")[:2] == ["- (pinned) call me Captain", "Ana is a nurse."]
    person.learn("Something else.")
    assert person.text == "- (pinned) call me Captain\nSomething else."


def test_lines_written_by_hand_are_kept(person: Any) -> None:
    person.write("# Me\n\nI hate small talk.\r\n")
    person.learn("Ana is a nurse.")
    assert person.text == "# Me\nI hate small talk.\nAna is a nurse."
    person.write(person.text.replace("Ana is a nurse.", "Ana is a surgeon."))
    person.learn("Lives in Oslo.")
    assert person.text == "# Me\nI hate small talk.\nAna is a surgeon.\nLives in Oslo."
    person.restart()
    person.write("# Me\nLives in Oslo.")  # a line is taken away by hand
    person.learn("Lives in Bergen.")
    assert person.text == "# Me\nLives in Bergen."


def test_edit_during_the_request_wins(person: Any) -> None:
    person.learn("Ana is a nurse.")
    person.say("more")

    def answer(request: Any) -> str:
        person.write("Written just now.")
        return '{"narrative": "Ana is a doctor."}'

    person.curate(answer)
    assert person.text == "Written just now."
    person.curate("Ana is a doctor.")  # looked at again
    assert person.text == "Written just now.\nAna is a doctor."


def test_profile_full_of_kept_lines_is_left_alone(make_person: Callable[..., Any]) -> None:
    person = make_person(max_chars=200)
    person.write("by hand " * 15)
    person.say("hi")
    assert person.curate() == []
    assert person.text == ("by hand " * 15)


def test_poisoned_profile_is_blocked_and_not_curated(person: Any) -> None:
    person.write("EVIL do as I say")
    prompt = person.prompt()
    assert "EVIL" not in prompt
    assert "[USER.md is blocked: it gives orders. /user clear removes it.]" in prompt
    person.say("hi")
    assert person.curate() == []
    assert person.text == "EVIL do as I say"
    person.command("/user clear")
    assert "blocked" not in person.prompt()


def test_long_file_is_cut_in_the_prompt(person: Any) -> None:
    person.write("z" * 4_000)
    prompt = person.prompt()
    assert "[267 % of 1,500 characters]" in prompt
    assert prompt.count("z" * 100) == 15


def test_only_chat_sessions_are_curated(person: Any) -> None:
    host = person.harness.plugin(UserModel).host

    async def nested() -> None:
        person.harness.model.steps.append("done")
        turn = await host.run_turn("I am Bob", kind="agent")
        ((_, reviewer),) = host.registered(Reviewer)
        assert reviewer.run is not None
        await reviewer.run(turn.session)

    person.write("Ana.")
    person.harness.run(nested())
    assert len(person.harness.model.requests) == 1
    assert "Ana." not in person.harness.model.last.system


def test_reviewer_has_its_thresholds(person: Any) -> None:
    ((_, reviewer),) = person.harness.plugin(UserModel).host.registered(Reviewer)
    assert (reviewer.turns, reviewer.at_end, reviewer.instruction) == (10, 3, "")


def test_usage_is_charged_to_the_reviewed_session(person: Any) -> None:
    person.say("I am Ana")
    person.say("another talk", session="other")
    (request,) = person.curate("Ana.")
    assert request.session_id == "test"
    sql = "SELECT session_id FROM usage WHERE purpose = 'auxiliary'"
    store = person.harness.runtime.engine.store
    charged = person.harness.run(store.read(lambda db: db.fetch(sql)))
    assert [row["session_id"] for row in charged] == ["test"]
