"""The page ``/schedule``: jobs with their next runs, past runs, and a form for new jobs.

Imported only if a web server asks for routes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hookline_hookspecs import HooklineError, Host, Page, Refused, Route
from hookline_hookspecs.stored_origins import named, strangers
from hookline_hookspecs.web import (
    N_,
    Action,
    Badge,
    Cell,
    Field,
    Form,
    Link,
    Paging,
    Part,
    Redirect,
    RequestLike,
    Row,
    SiteRoute,
    Stat,
    Stats,
    Table,
    Text,
    Timestamp,
    Tone,
    View,
    build_path,
    create_tables,
    format_number,
    identity,
    path_param,
    plain_name,
    query_params,
    read_form,
    t,
    tn,
)
from hookline_hookspecs.web import named as named_cell

from . import job_text
from .cron_text import describe
from .errors import ScheduleError
from .job_runner import run_session_id
from .job_store import Job, JobChat, JobRun
from .schedule_commands import ScheduleCommands
from .schedule_parser import CronSchedule, OneTimeSchedule, format_time

PAGE_SIZE = 50
TONES: Mapping[str, Tone] = {
    N_("ok"): "good",
    N_("silent"): "neutral",
    N_("failed"): "bad",
    N_("interrupted"): "warning",
    N_("on"): "good",
    N_("running"): "good",
    N_("paused"): "warning",
}
WHEN_HELP = N_("every 2h, every monday 9:00, 0 9 * * 1-5, in 20 minutes or 2030-01-31 18:00.")
TERMINAL_LABEL = N_("the terminal")
"""Shown as the chat of the terminal's jobs."""
CHAT_HELP = N_("Where replies go: your chats on this page, the terminal, or a chat that has a job.")


class SchedulePages:
    """The pages of the schedule. They are for the operator, with the rights of the terminal."""

    def __init__(self, host: Host, commands: Callable[[], ScheduleCommands]) -> None:
        self._host = host
        self._commands = commands

    def register(self, register: Callable[[Route], None]) -> None:
        """Register the routes of the pages and their forms."""
        create_tables(self._host, "job", id="")
        register(
            SiteRoute("GET", "/schedule", self.show, page=Page("Schedule", "Activity", order=70))
        )
        register(SiteRoute("GET", "/schedule/runs", self.runs))
        register(SiteRoute("POST", "/schedule/add", self.add, log=N_("added a job")))
        for name, log in (
            ("pause", N_("paused job {id}")),
            ("resume", N_("resumed job {id}")),
            ("run", N_("ran job {id}")),
            ("remove", N_("removed job {id}")),
        ):
            register(SiteRoute("POST", f"/schedule/{{id}}/{name}", self._action(name), log=log))

    async def show(self, request: RequestLike) -> View:
        """``GET /schedule``"""
        return await self._view(request, {}, {})

    async def _view(
        self, request: RequestLike, given: Mapping[str, str], errors: Mapping[str, str]
    ) -> View:
        commands, now = self._commands(), self._host.now()
        rows = await commands.stored_rows(commands.terminal)
        paging = Paging.from_request(request, "/schedule", PAGE_SIZE)
        late = [job for job, _ in rows if job.due is not None and job.due < now]
        states = [job_text.state(job) for job, _ in rows]
        failed = sum(run is not None and run.outcome == "failed" for _, run in rows)
        parts: list[Part] = [
            Stats(
                [
                    Stat(
                        t("Jobs"),
                        format_number(len(rows)),
                        tn("{n} paused", "{n} paused", states.count("paused")),
                    ),
                    Stat(t("Missed"), format_number(len(late)), t("will run once, late")),
                    Stat(
                        t("Last run failed"),
                        format_number(failed),
                        tone="bad" if failed else "neutral",
                    ),
                ]
            )
        ]
        if rows and not commands.is_running:
            hint = t("Jobs run only while “hookline gateway” or “hookline chat” is running.")
            parts.append(Text(hint, "warning"))
        ordered = sorted(rows, key=lambda row: (row[0].due is None, row[0].due or 0.0))
        empty = t("No jobs yet. Add one below, or ask for one in a chat: “every morning at 9 …”.")
        table = Table(
            [t("Job"), t("When"), t("Next run"), t("State"), t("Last run"), t("Chat")],
            [_row(job, run, now) for job, run in paging.slice(ordered)],
            empty=empty,
            more=paging.link(len(rows) - paging.offset, t("More")),
        )
        add = Form(
            "/schedule/add", _fields(given, errors, rows, _own(request)), t("Add"), t("New job")
        )
        parts += [table, await self._results(""), add]
        description = t("Jobs that run on a schedule, each run in its own session.")
        return View(t("Schedule"), parts, description, status=422 if errors else 200)

    async def _results(self, job: str, paging: Paging | None = None) -> Table:
        size, start = (paging.size, paging.offset) if paging else (10, 0)
        rows = await self._host.storage.fetch("page_runs", job=job, limit=size + 1, start=start)
        more = Link(t("All runs"), "/schedule/runs") if len(rows) > size else None
        return Table(
            [t("Ended"), t("Job"), t("Result"), t("Reply"), t("Session")],
            [_result(row) for row in rows[:size]],
            title="" if paging else t("Runs"),
            empty=t("No runs yet."),
            more=paging.link(len(rows)) if paging else more,
        )

    async def runs(self, request: RequestLike) -> View:
        """``GET /schedule/runs[?job=ID]``"""
        job = query_params(request).get("job", "")
        table = await self._results(job, Paging.from_request(request, "/schedule/runs", PAGE_SIZE))
        title = t("Runs of job {job}", job=job) if job else t("Runs")
        return View(title, [table], "", (Link(t("Schedule"), "/schedule"),))

    async def add(self, request: RequestLike) -> Redirect | View:
        """``POST /schedule/add``: ``prompt when zone chat``"""
        form = await read_form(request)
        prompt, source = form.get("prompt", "").strip(), "the page of the schedule"
        when, zone = form.get("when", ""), form.get("zone", "").strip()
        try:
            if prompt:
                prompt = await self._host.learn(prompt, source, "schedule", origins=())
            chat = await self._chat(form.get("chat", TERMINAL_LABEL), _own(request))
            job = await self._commands().add(chat, when, prompt, zone)
        except Refused as error:
            return await self._view(request, form, {"prompt": _sentence(error)})
        except HooklineError as error:
            return await self._view(request, form, _field_error(form, error))
        added = t("Job {id} is added: {when}.", id=job.id, when=_in_words(job))
        return Redirect("/schedule", added)

    async def _chat(self, label: str, own: JobChat) -> JobChat:
        """Return the chosen chat: the viewer's own, one that has a job already, or the terminal."""
        commands = self._commands()
        if label == own.name:
            return own
        for job, _ in await commands.stored_rows(commands.terminal):
            if job.chat.name == label:
                return job.chat
        return commands.terminal

    def _action(self, name: str) -> Callable[[RequestLike], Any]:
        """Return the handler of ``POST /schedule/ID/NAME``."""

        async def act(request: RequestLike) -> Redirect:
            commands = self._commands()
            try:
                text = await commands.job_actions()[name](
                    commands.terminal, path_param(request, "id")
                )
            except ScheduleError as error:
                return Redirect("/schedule", _sentence(error), "bad")
            return Redirect("/schedule", text)

        return act


def _own(request: RequestLike) -> JobChat:
    """Return the viewer's own chat, the default for answers."""
    who = identity(request)
    return JobChat(who.channel, who.name, who.name)


def _row(job: Job, run: JobRun | None, now: float) -> Row:
    state = job_text.state(job)
    late = job.due is not None and job.due < now and state == "on"
    shown = Badge(t("late"), "warning") if late else Badge(t(state), TONES.get(state, "neutral"))
    last: Cell = None
    if run is not None:
        last = Link(t(run.outcome), build_path("schedule", "runs", job=job.id))
    who = strangers(job.origins)
    what = (
        f"{job_text.short(job.prompt)}{' ' + t('(from {names})', names=named(who)) if who else ''}"
    )
    where = t(TERMINAL_LABEL) if job.chat.workspace else named_cell(job.chat.name)
    cells: list[Cell] = [
        what,
        in_words := _in_words(job),
        Timestamp(job.due) if job.due else None,
        shown,
    ]
    details = []
    if len(job.prompt) > job_text.MAX_LINE_CHARS or "\n" in job.prompt:
        details.append(job.prompt)
    if isinstance(job.schedule, CronSchedule) and in_words != str(job.schedule):
        details.append(f"cron: {job.schedule}")
    elif isinstance(job.schedule, OneTimeSchedule):
        details.append(format_time(job.schedule.at, job.zone))
    return Row([*cells, last, where], _actions(job), "\n\n".join(details))


def _in_words(job: Job) -> str:
    """Return when a job runs."""
    return t("once") if isinstance(job.schedule, OneTimeSchedule) else describe(job.schedule)


def _actions(job: Job) -> Sequence[Action]:
    switch = "pause" if job.state == "on" else "resume"
    path = build_path("schedule", job.id)
    return [
        Action(t("Run now"), f"{path}/run"),
        Action(t("Pause") if switch == "pause" else t("Resume"), f"{path}/{switch}"),
        Action(
            t("Delete"), f"{path}/remove", confirm=t("Delete job {id}?", id=job.id), style="danger"
        ),
    ]


def _result(row: Mapping[str, Any]) -> Row:
    prompt = job_text.short(row["prompt"] or t("job {id}, deleted", id=row["job_id"]))
    state = Badge(t(row["outcome"]), TONES.get(row["outcome"], "neutral"))
    text = job_text.short(row["reason"] or row["text"])
    link = Link(t("open"), build_path("sessions", run_session_id(row["job_id"], row["id"])))
    detail = row["text"] or row["reason"]
    return Row(
        [Timestamp(row["ended"]), prompt, state, text, link], (), detail if detail != text else ""
    )


def _fields(
    given: Mapping[str, str],
    errors: Mapping[str, str],
    rows: Sequence[tuple[Job, JobRun | None]],
    own: JobChat,
) -> list[Field]:
    others = (job.chat.name for job, _ in rows if not job.chat.workspace)
    chats = dict.fromkeys([own.name, TERMINAL_LABEL, *others])
    labels = {name: plain_name(name) for name in chats} | {TERMINAL_LABEL: t(TERMINAL_LABEL)}
    prompt = t("Include everything it needs to know: it runs in its own session.")
    zone = t("Such as Europe/Berlin. Leave empty for this machine's time zone.")
    return [
        Field(
            "prompt", t("What to do"), "long", given.get("prompt", ""), (), prompt, True,
            errors.get("prompt", ""),
        ),
        Field(
            "when", t("When"), "text", given.get("when", ""), (), t(WHEN_HELP), True,
            errors.get("when", ""),
        ),
        Field(
            "zone", t("Time zone"), "text", given.get("zone", ""), (), zone, False,
            errors.get("zone", ""),
        ),
        Field("chat", t("Chat"), "choice", given.get("chat", own.name), list(chats), t(CHAT_HELP),
            labels=labels),
    ]  # fmt: skip


def _field_error(given: Mapping[str, str], error: Exception) -> dict[str, str]:
    """Return the error by the field that it is about."""
    text = str(error)
    if "time zone" in text:
        return {"zone": _sentence(error)}
    field = "prompt" if not given.get("prompt", "").strip() or "prompt" in text else "when"
    return {field: _sentence(error)}


def _sentence(error: Exception) -> str:
    text = str(error)
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", '"', "?")) else ".")
