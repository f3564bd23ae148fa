"""The schedule pages: jobs, runs, and their buttons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing.pages import PERSON, PageClient
from hookline_hookspecs import Deny, Lesson, Plugin, hookimpl
from hookline_hookspecs.plugin import NoConfig
from hookline_hookspecs.web import Badge, Problem, Redirect, Table, View

Make = Callable[..., Any]
NEW = {"prompt": "Look at the news", "when": "every 2h", "zone": "", "chat": "the terminal"}


class Gate(Plugin[NoConfig]):
    """A guard that refuses to learn orders."""

    @hookimpl
    def pre_learn(self, ctx: Any, lesson: Lesson) -> Deny | None:
        return Deny("it gives orders") if "EVIL" in lesson.text else None


@pytest.fixture
def home(make_home: Make) -> Any:
    return make_home(plugins=[Gate], model=["All quiet."])


@pytest.fixture
def site(home: Any) -> PageClient:
    return PageClient(home.harness)


def jobs(view: View) -> Table:
    return next(one for one in view.parts if isinstance(one, Table) and not one.title)


def press(site: PageClient, label: str) -> Any:
    actions = jobs(site.get("/schedule")).rows[0].actions
    return site.post(next(one.path for one in actions if one.label == label))


def test_job_is_added_paused_resumed_and_deleted(site: PageClient) -> None:
    assert "No jobs yet" in site.text(site.get("/schedule"))
    done = site.post("/schedule/add", NEW)
    assert isinstance(done, Redirect)
    assert "every 2 hours" in done.message
    row = jobs(site.get("/schedule")).rows[0]
    assert row.cells[:2] == ["Look at the news", "every 2 hours"]
    assert "paused" in press(site, "Pause").message
    assert Badge("paused", "warning") in jobs(site.get("/schedule")).rows[0].cells
    assert press(site, "Resume").tone == "good"
    assert "removed" in press(site, "Delete").message
    assert not jobs(site.get("/schedule")).rows
    assert site.post("/schedule/gone/run").tone == "bad"


@pytest.mark.parametrize(
    ("when", "said"),
    [
        ("0 9 * * 1-5", "every weekday at 9:00"),
        ("5 18 * * *", "every day at 18:05"),
        ("30 7 * * 7", "every Sunday at 7:30"),
        ("*/15 * * * *", "every 15 minutes"),
        ("0 */6 * * *", "every 6 hours"),
        ("10 * * * *", "every hour at 10 past"),
        ("0 9 1 * *", "on day 1 of every month at 9:00"),
        ("*/7 * * * *", "*/7 * * * *"),
        ("0 9 1 * 1", "0 9 1 * 1"),
        ("0 9-17 * * 1-5", "0 9-17 * * 1-5"),
    ],
)
def test_cron_expression_is_shown_in_words_with_source_below(
    site: PageClient, when: str, said: str
) -> None:
    site.post("/schedule/add", {**NEW, "when": when})
    row = jobs(site.get("/schedule")).rows[0]
    assert row.cells[1] == said
    assert row.detail == ("" if said == when else f"cron: {when}")


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"when": "now and then"}, "when"),
        ({"when": ""}, "when"),
        ({"prompt": "  "}, "prompt"),
        ({"prompt": "x" * 5000}, "prompt"),
        ({"prompt": "EVIL"}, "prompt"),
        ({"zone": "Europe/Bern"}, "zone"),
    ],
)
def test_invalid_form_shows_an_error_at_its_field(
    site: PageClient, wrong: dict[str, str], field: str
) -> None:
    view = site.post("/schedule/add", {**NEW, **wrong})
    assert isinstance(view, View)
    assert view.status == 422
    fields = {one.name: one for one in view.parts[-1].fields}  # type: ignore[union-attr]
    assert fields[field].error.endswith((".", '"', "?"))
    assert [name for name, one in fields.items() if one.error] == [field]
    assert fields["when"].value == {**NEW, **wrong}["when"]
    assert not jobs(view).rows


def test_run_page_shows_outcome_and_session(home: Any, site: PageClient, clock: Any) -> None:
    site.post("/schedule/add", NEW)

    async def life() -> None:
        await home.gateway()
        await home.type("hello")

    home.model.steps.insert(0, "Hello.")
    home.run(life())
    assert "runs now" in press(site, "Run now").message
    home.run(home.until(lambda: home.prompts))
    home.run(home.look())
    runs = site.get("/schedule/runs").parts[0]
    assert Badge("ok", "good") in runs.rows[0].cells
    assert "All quiet." in runs.rows[0].cells
    session = runs.rows[0].cells[-1].href
    assert session.startswith("/sessions/schedule-")
    assert "All quiet." in site.text(site.get("/schedule"))


def test_missed_job_is_marked_late_and_viewing_stores_nothing(site: PageClient, clock: Any) -> None:
    site.post("/schedule/add", NEW)
    clock.move(hours=3)
    before = site.stored()
    view = site.get("/schedule")
    assert Badge("late", "warning") in jobs(view).rows[0].cells
    assert "Jobs run only while “hookline gateway”" in site.text(view)
    site.get("/schedule/runs")
    assert site.stored() == before


def test_schedule_pages_are_only_for_operator(site: PageClient) -> None:
    for path in ("/schedule", "/schedule/runs"):
        with pytest.raises(Problem) as refused:
            site.get(path, PERSON)
        assert refused.value.status == 403
    with pytest.raises(Problem):
        site.post("/schedule/add", NEW, PERSON)
