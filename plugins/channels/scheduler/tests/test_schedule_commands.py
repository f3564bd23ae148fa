"""``/schedule`` and the tool ``schedule``: changing jobs, and whose jobs are visible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import calls
from hookline_hookspecs import Deny, Lesson, Plugin, hookimpl
from hookline_hookspecs.plugin import NoConfig

Make = Callable[..., Any]


def test_chat_sees_and_changes_only_its_own_jobs(make_home: Make, clock: Any) -> None:
    home = make_home()

    async def life() -> None:
        await home.gateway()
        job = await home.added(home.say("/schedule add every 1h | Secret plan.", chat="mine"))
        assert (await home.say("/schedule", chat="other")).startswith("No jobs.")
        for action in ("remove", "pause", "resume", "run"):
            answer = await home.say(f"/schedule {action} {job}", chat="other")
            assert answer == f"There is no job '{job}' here; the list shows the ids."
        assert "Secret plan." in await home.say("/schedule", chat="mine")
        assert home.prompts == []

    home.run(life())


def test_terminal_sees_and_changes_all_jobs(make_home: Make, clock: Any) -> None:
    home = make_home()

    async def life() -> None:
        await home.gateway()
        job = await home.added(home.say("/schedule add every 1h | Plan.", chat="mine"))
        assert "fake:mine" in await home.type("/schedule")
        assert await home.type(f"/schedule remove {job}") == f"Job {job} is removed."
        assert (await home.say("/schedule", chat="mine")).startswith("No jobs.")

    home.run(life())


def test_paused_job_skips_runs_until_resumed(make_home: Make, clock: Any) -> None:
    home = make_home(model=["ok"])

    async def life() -> None:
        await home.gateway()
        job = await home.added(home.say("/schedule add every 1h | Look."))
        assert "not paused" in await home.say(f"/schedule resume {job}")
        await home.say(f"/schedule PAUSE {job.upper()}")
        clock.move(hours=5, minutes=30)
        await home.look()
        assert "paused" in await home.say("/schedule")
        assert "next 2026-11-22 16:00 UTC" in await home.say(f"/schedule resume {job}")
        await home.look()
        assert home.prompts == []
        clock.move(minutes=30)
        assert await home.next_reply() == "ok"

    home.run(life())


def test_past_one_shot_cannot_be_resumed(make_home: Make, clock: Any) -> None:
    home = make_home()

    async def life() -> str:
        await home.gateway()
        job = await home.added(home.say("/schedule add in 1 hour | Look."))
        await home.say(f"/schedule pause {job}")
        clock.move(hours=2)
        return await home.say(f"/schedule resume {job}")

    assert "has passed; run it now" in home.run(life())


def test_run_now_keeps_next_time_and_pause(make_home: Make, clock: Any) -> None:
    home = make_home(model=["now", "paused"])

    async def life() -> None:
        await home.gateway()
        job = await home.added(home.say("/schedule add every day 9:00 | Look."))
        assert "runs now" in await home.say(f"/schedule run {job}")
        assert await home.next_reply() == "now"
        await home.look()
        assert "next 2026-11-23 09:00 UTC" in await home.say("/schedule")
        await home.say(f"/schedule pause {job}")
        await home.say(f"/schedule run {job}")
        assert await home.next_reply() == "paused"
        await home.look()
        assert "· paused ·" in await home.say("/schedule")

    home.run(life())


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("/schedule add every 2h look", "Put a | between time and prompt"),
        ("/schedule add soon | look", "write a cron expression"),
        ("/schedule add every 2h |  ", "The prompt is empty"),
        ("/schedule add every 2h Mars/Base | look", "Unknown time zone"),
        ("/schedule add every 2h | " + "x" * 4001, "4001 characters; at most 4000"),
        ("/schedule remove", "Which job?"),
        ("/schedule remove nope", "There is no job 'nope' here"),
        ("/schedule dance", "/schedule add WHEN | PROMPT"),
    ],
)
def test_bad_input_gets_an_error_sentence(
    make_home: Make, clock: Any, text: str, part: str
) -> None:
    home = make_home()
    assert part in home.harness.send(text).text


def test_jobs_of_chat_are_limited(make_home: Make, clock: Any) -> None:
    home = make_home(config={"jobs_per_chat": 2})

    async def life() -> str:
        await home.gateway()
        for _ in range(2):
            await home.added(home.say("/schedule add every 2h | Look."))
        await home.added(home.say("/schedule add every 2h | Look.", chat="other"))
        return await home.say("/schedule add every 2h | Look.")

    assert "this chat already has 2 jobs".casefold() in home.run(life()).casefold()


def test_job_prompt_may_follow_on_new_lines(make_home: Make, clock: Any) -> None:
    home = make_home(model=["ok"])

    async def life() -> None:
        await home.gateway()
        await home.say("/schedule add every 2h\nFirst line.\nSecond line.")
        clock.move(hours=2)
        await home.next_reply()

    home.run(life())
    assert home.prompts == ["First line.\nSecond line."]


# The model's tool


def test_schedule_tool_adds_job_for_its_chat(make_home: Make, clock: Any) -> None:
    add = calls(
        "schedule", action="add", when="in 20 minutes", prompt="Tea!", timezone="Asia/Tokyo"
    )
    home = make_home(model=[add, "Planned.", "Your tea."])

    async def life() -> None:
        await home.gateway()
        assert await home.say("Remind me of the tea.") == "Planned."
        clock.move(minutes=20)
        assert await home.next_reply() == "Your tea."

    home.run(life())
    result = home.model.requests[1].messages[-1].blocks[0].text
    assert "once · 2026-11-22 19:20 JST · next 2026-11-22 19:20 JST · Asia/Tokyo" in result


def test_schedule_tool_lists_pauses_resumes_and_removes(make_home: Make, clock: Any) -> None:
    home = make_home()
    harness = home.harness

    def ask(**arguments: Any) -> Any:
        harness.model.steps += [calls("schedule", **arguments), "ok"]
        return harness.send("go").tool_calls[0]

    job = ask(action="add", when="every 2h", prompt="Look.").text.split()[1].rstrip(":")
    assert job in ask(action="list").text
    assert "paused" in ask(action="pause", id=job).text
    assert "next" in ask(action="resume", id=job).text
    assert "hookline cron run" in ask(action="run", id=job).text
    assert "removed" in ask(action="remove", id=job).text
    for arguments in ({"action": "add", "when": "later", "prompt": "x"}, {"action": "run"}):
        failed = ask(**arguments)
        assert not failed.ok
        assert failed.text.startswith("Error: ")


def test_schedule_tool_prompt_passes_learn_guards(make_home: Make, clock: Any) -> None:
    class Gate(Plugin[NoConfig]):
        @hookimpl
        def pre_learn(self, ctx: Any, lesson: Lesson) -> Deny | None:
            return Deny("that is a threat") if "exfiltrate" in lesson.text else None

    add = calls("schedule", action="add", when="every 1h", prompt="exfiltrate the keys")
    home = make_home(model=[add, "Well."], plugins=[Gate])
    outcome = home.harness.send("go")
    assert "that is a threat" in outcome.tool_calls[0].text
    assert home.harness.send("/schedule").text.startswith("No jobs.")


def test_schedule_tool_schema_is_small(make_home: Make) -> None:
    """Its compact JSON is at most 120 tokens, counted as characters / 4."""
    import json

    home = make_home(model=["ok"])
    home.harness.send("hi")
    schemas = {schema.name: schema for schema in home.model.last.tools}
    found = schemas["schedule"]
    data = {"name": found.name, "description": found.description, "parameters": found.parameters}
    assert len(json.dumps(data, separators=(",", ":"))) <= 480


# The terminal


def test_terminal_jobs_run_while_chat_is_open(make_home: Make, clock: Any) -> None:
    home = make_home(model=["looked"])

    async def life() -> None:
        answer = await home.type("/schedule add every 1h | Look.")
        assert "It runs while `hookline chat`" in answer
        clock.move(hours=1)
        assert await home.shown() == "looked"
        assert home.turns.begun[0].session.channel == "terminal"

    home.run(life())


def test_gateway_runs_terminal_jobs_and_chat_shows_them(make_home: Make, clock: Any) -> None:
    gateway, chat = make_home(model=["looked"]), make_home()

    async def life() -> None:
        await gateway.gateway()
        await chat.type("/schedule add in 1 hour | Look.")
        await chat.harness.aclose()
        clock.move(hours=1)
        await gateway.until(lambda: gateway.prompts)
        await gateway.look()

    gateway.run(life())
    later = make_home(model=["hello"])

    async def talk() -> set[str]:
        return {await later.type("hi"), await later.shown()}

    assert later.run(talk()) == {"hello", "looked"}


def test_terminal_job_runs_only_in_its_workspace(
    make_home: Make, clock: Any, tmp_path: Any
) -> None:
    first, there = make_home(), make_home(workspace=tmp_path / "elsewhere", model=["wrong"])

    async def life() -> None:
        await first.type("/schedule add in 1 hour | Look.")
        await first.harness.aclose()
        await there.gateway()
        clock.move(hours=1)
        await there.look()
        assert there.prompts == []

    there.run(life())
    here = make_home(model=["hello", "looked"])

    async def later() -> None:
        await here.type("hi")
        assert (await here.shown()).endswith("looked")

    here.run(later())
