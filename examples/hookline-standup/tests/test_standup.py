"""The plugin through the front door: real core, real storage, a scripted model."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from hookline.testing import Harness, PluginContract, calls
from hookline_hookspecs import Context, Deny, Job, Lesson, NoConfig, Plugin, hookimpl, tool
from hookline_standup import Standup

MakeHarness: TypeAlias = Callable[..., Harness]
SECONDS_A_DAY = 24 * 60 * 60


class TestStandupContract(PluginContract):
    """The contract of every plugin."""

    plugin = Standup


def days_later(h: Harness, days: int) -> None:
    """Let the plugin's clock stand ``days`` after today."""
    h.plugin(Standup).host.now = lambda: time.time() + days * SECONDS_A_DAY  # type: ignore[method-assign]


def note(h: Harness, text: str, blocker: str | None = None) -> str:
    """The model keeps a note; what the tool answered."""
    given = {"text": text} if blocker is None else {"text": text, "blocker": blocker}
    h.model.steps += [calls("standup_note", **given), "ok"]
    return h.send("my stand-up").tool_calls[0].text


def context(h: Harness, text: str = "good morning", session: str = "test") -> str:
    """What the model is shown beside a message."""
    h.model.steps.append("hello")
    h.send(text, session=session)
    return h.model.last.messages[-1].context


def test_a_note_is_kept_and_reported(harness: MakeHarness) -> None:
    h = harness(Standup)
    assert note(h, "wrote  the\nparser", "no reviewer") == "Noted for tester."
    h.model.steps += [calls("standup_report"), "ok"]
    [report] = h.send("what did we do?").tool_calls
    assert report.text.endswith(" tester: wrote the parser (blocked: no reviewer)")


def test_the_report_alone_changes_nothing(harness: MakeHarness) -> None:
    tools = harness(Standup).plugin(Standup).host.tools()
    assert {tool.name: tool.read_only for tool in tools} == {
        "standup_note": False,
        "standup_report": True,
    }


def test_notes_survive_a_restart(harness: MakeHarness) -> None:
    h = harness(Standup)
    note(h, "wrote the parser")
    h.close()
    assert "wrote the parser" in harness(Standup, home=h.home).send("/standup").text


def test_the_report_reaches_back_as_many_days_as_asked(harness: MakeHarness) -> None:
    h = harness(Standup)
    note(h, "the first day")
    days_later(h, 2)
    note(h, "the third day")
    for days, first in ((2, False), (3, True), (10**9, True)):
        h.model.steps += [calls("standup_report", days=days), "ok"]
        [report] = h.send("report").tool_calls
        assert ("the first day" in report.text, "the third day" in report.text) == (first, True)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"text": " \n"}, "the note is empty"),
        ({"text": "x" * 21}, "21 characters are too many; shorten it to 20"),
        ({"text": "x", "blocker": "y" * 21}, "shorten it to 20"),
        ({"text": "x", "blockers": "y"}, "did you mean 'blocker'?"),
    ],
)
def test_a_bad_note_is_refused_with_the_reason(
    harness: MakeHarness, given: dict[str, Any], complaint: str
) -> None:
    h = harness(Standup, config={"max_chars": 20}, model=[calls("standup_note", **given), "ok"])
    [result] = h.send("my stand-up").tool_calls
    assert not result.ok
    assert complaint in result.text
    assert h.send("/standup").text == "No stand-up notes yet."


def test_what_a_gate_refuses_is_not_kept(harness: MakeHarness) -> None:
    class Gate(Plugin[NoConfig]):
        @hookimpl
        def pre_learn(self, ctx: Context, lesson: Lesson) -> Deny | None:
            return Deny("no passwords here") if "password" in lesson.text else None

    h = harness(Gate, Standup)
    assert note(h, "my password is 1234") == "Denied: no passwords here"
    assert h.send("/standup").text == "No stand-up notes yet."


def test_commands_show_and_clear_today(harness: MakeHarness) -> None:
    h = harness(Standup)
    note(h, "yesterday's work")
    days_later(h, 1)
    assert h.send("/standup").text == "No stand-up notes yet."
    note(h, "today's work")
    assert h.send("/standup").text.endswith(" tester: today's work")
    assert h.send("/standup-clear").text == "Notes deleted: 1."
    assert h.send("/standup").text == "No stand-up notes yet."
    days_later(h, 0)
    assert h.send("/standup").text.endswith(" tester: yesterday's work")


class Team:
    """People who write in chats of a network channel."""

    def __init__(self, h: Harness) -> None:
        self.h = h

    def says(self, user: str, chat: str, text: str) -> str:
        """A person's message; the reply."""
        return self.h.run(self._says(user, chat, text))

    async def _says(self, user: str, chat: str, text: str) -> str:
        await self.h.aopen()
        channel = self.h.channel
        count = len(channel.sent)
        await channel.say(text, chat=chat, user=user)
        return (await channel.replies(count + 1))[count].text

    def notes(self, user: str, chat: str, text: str, blocker: str = "") -> None:
        """The model keeps a note for a person."""
        self.h.model.steps += [calls("standup_note", text=text, blocker=blocker), "ok"]
        self.says(user, chat, "my stand-up")

    def reminder(self, chat: str) -> str:
        """What the model is shown in a new session of a chat."""
        self.says("ann", chat, "/new")
        self.h.model.steps.append("hello")
        self.says("ann", chat, "good morning")
        return self.h.model.last.messages[-1].context


def test_a_chat_sees_its_own_notes_alone(harness: MakeHarness) -> None:
    h = harness(Standup)
    team = Team(h)
    team.notes("ann", "red", "wrote the parser")
    assert team.says("bob", "blue", "/standup") == "No stand-up notes yet."
    assert h.send("/standup-clear").text == "Notes deleted: 0."
    team.says("bob", "blue", "/standup-clear")
    assert "ann: wrote the parser" in team.says("bob", "red", "/standup")


def test_the_model_is_reminded_of_an_open_blocker(harness: MakeHarness) -> None:
    h = harness(Standup)
    note(h, "wrote the parser", "review by </context> Bob & Co")
    note(h, "a second note of the same day")
    assert "standup" not in context(h, session="the same day")
    days_later(h, 1)
    shown = context(h)
    assert '<blocker name="tester, ' in shown
    assert "review by &lt;/context&gt; Bob &amp; Co</blocker>" in shown
    assert "standup" not in context(h, "once a day is enough")
    assert "standup" in context(h, session="another")


def test_a_blocker_is_open_until_its_authors_next_standup(harness: MakeHarness) -> None:
    h = harness(Standup)
    team = Team(h)
    team.notes("ann", "red", "wrote the parser", "no reviewer")
    days_later(h, 1)
    team.notes("bob", "red", "reviewed something")
    team.notes("ann", "blue", "something else")
    days_later(h, 2)
    shown = team.reminder("red")
    assert (shown.count("<blocker"), shown.count("no reviewer")) == (1, 1)
    assert "blocker" not in team.reminder("blue")
    team.notes("ann", "red", "it was reviewed")
    assert "blocker" not in team.reminder("red")


class Delegates(Plugin[NoConfig]):
    """Hands work to a session of its own."""

    @tool
    async def delegate(self, ctx: Context) -> str:
        """Let another do it."""
        return (await self.host.run_turn("do it", parent=ctx)).reply


def test_a_sub_agent_is_neither_reminded_nor_keeps_notes(harness: MakeHarness) -> None:
    h = harness(Standup, Delegates)
    note(h, "wrote the parser", "no reviewer")
    days_later(h, 1)
    h.model.steps += [calls("delegate"), "done", "ok"]
    h.send("good morning", session="another")
    person, agent = h.model.requests[-3:-1]
    assert "no reviewer" in person.messages[-1].context
    assert "no reviewer" not in agent.messages[-1].context
    assert {tool.name for tool in agent.tools} == {"standup_report", "delegate"}


def test_no_reminder_where_it_is_switched_off(harness: MakeHarness) -> None:
    h = harness(Standup, config={"remind": False})
    note(h, "wrote the parser", "no reviewer")
    days_later(h, 1)
    assert context(h) == ""


def test_the_job_forgets_what_is_older_than_keep_days(harness: MakeHarness) -> None:
    h = harness(Standup, config={"keep_days": 2})
    jobs: list[Job] = []
    h.plugin(Standup).register_jobs(jobs.append)

    async def run_jobs() -> None:
        for job in jobs:
            await job.run()

    note(h, "a note", "a blocker")
    for days, kept in ((2, True), (3, False)):
        days_later(h, days)
        h.run(run_jobs())
        days_later(h, 0)
        assert ("a note" in h.send("/standup").text) is kept
