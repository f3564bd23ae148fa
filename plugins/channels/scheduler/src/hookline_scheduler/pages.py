"""``/schedule``: jobs with their next runs, the results of past runs, and a form for new jobs.

Imported when a web server asks for routes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hookline_hookspecs import HooklineError, Host, Page, Refused, Route
from hookline_hookspecs.stored_origins import named, strangers
from hookline_hookspecs.web import (
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
    identity,
    path_param,
    query_params,
    read_form,
)

from . import wording
from .complaint import Complaint
from .desk import Desk
from .jobs import Chat, Job, Run
from .service import session_named
from .spoken import spoken
from .when import Cron

AT_ONCE = 50
TONES: Mapping[str, Tone] = {
    "ok": "good",
    "silent": "neutral",
    "failed": "bad",
    "interrupted": "warning",
    "on": "good",
    "running": "good",
    "paused": "warning",
}
WHEN_HELP = (
    "every 2h, every monday 9:00, 0 9 * * 1-5, in 20 minutes, tomorrow 9:00 or 2030-01-31 18:00."
)
HERE = "the terminal"
"""The chat of jobs that belong to nobody on a channel."""
ANSWERS = "Where replies go: your chats on this page, the terminal, or a chat that has a job."


class SchedulePages:
    """The pages of the schedule, for the operator, who acts as the terminal does."""

    def __init__(self, host: Host, desk: Callable[[], Desk]) -> None:
        self._host = host
        self._desk = desk

    def register(self, register: Callable[[Route], None]) -> None:
        """Register the pages, and what their forms are sent to."""
        create_tables(self._host, "job", id="")
        register(SiteRoute("GET", "/schedule", self.show, page=Page("Schedule", order=70)))
        register(SiteRoute("GET", "/schedule/runs", self.runs))
        register(SiteRoute("POST", "/schedule/add", self.add))
        for name in ("pause", "resume", "run", "remove"):
            register(SiteRoute("POST", f"/schedule/{{id}}/{name}", self._acting(name)))

    async def show(self, request: RequestLike) -> View:
        """``GET /schedule``"""
        return await self._view(request, {}, {})

    async def _view(
        self, request: RequestLike, given: Mapping[str, str], errors: Mapping[str, str]
    ) -> View:
        desk, now = self._desk(), self._host.now()
        rows = await desk.known(desk.terminal)
        paging = Paging.from_request(request, "/schedule", AT_ONCE)
        late = [job for job, _ in rows if job.due is not None and job.due < now]
        states = [wording.state(job) for job, _ in rows]
        failed = sum(run is not None and run.outcome == "failed" for _, run in rows)
        parts: list[Part] = [
            Stats(
                [
                    Stat("Jobs", f"{len(rows):,}", f"{states.count('paused'):,} paused"),
                    Stat("Missed", f"{len(late):,}", "will run once, late"),
                    Stat("Last run failed", f"{failed:,}", tone="bad" if failed else "neutral"),
                ]
            )
        ]
        if rows and not desk.lives:
            told = "Jobs run only while “hookline gateway” or “hookline chat” is running."
            parts.append(Text(told, "warning"))
        ordered = sorted(rows, key=lambda row: (row[0].due is None, row[0].due or 0.0))
        empty = "No jobs yet. Add one below, or ask for one in a chat: “every morning at 9 …”."
        table = Table(
            ["Job", "When", "Next run", "State", "Last run", "Chat"],
            [_row(job, run, now) for job, run in paging.slice(ordered)],
            empty=empty,
            more=paging.link(len(rows) - paging.offset, "More"),
        )
        add = Form("/schedule/add", _fields(given, errors, rows, _own(request)), "Add", "New job")
        parts += [table, await self._results(""), add]
        told = "Jobs that run on a schedule, each run in its own session."
        return View("Schedule", parts, told, status=422 if errors else 200)

    async def _results(self, job: str, paging: Paging | None = None) -> Table:
        size, start = (paging.size, paging.offset) if paging else (10, 0)
        rows = await self._host.storage.fetch("page_runs", job=job, limit=size + 1, start=start)
        more = Link("All runs", "/schedule/runs") if len(rows) > size else None
        return Table(
            ["Ended", "Job", "Result", "Reply", "Session"],
            [_result(row) for row in rows[:size]],
            title="Runs",
            empty="No runs yet.",
            more=paging.link(len(rows)) if paging else more,
        )

    async def runs(self, request: RequestLike) -> View:
        """``GET /schedule/runs[?job=ID]``"""
        job = query_params(request).get("job", "")
        table = await self._results(job, Paging.from_request(request, "/schedule/runs", AT_ONCE))
        title = f"Runs of job {job}" if job else "Runs"
        return View(title, [table], "", (Link("Schedule", "/schedule"),))

    async def add(self, request: RequestLike) -> Redirect | View:
        """``POST /schedule/add``: ``prompt when zone chat``"""
        given = await read_form(request)
        prompt, source = given.get("prompt", "").strip(), "the page of the schedule"
        when, zone = given.get("when", ""), given.get("zone", "").strip()
        try:
            if prompt:
                prompt = await self._host.learn(prompt, source, "schedule", origins=())
            chat = await self._chat(given.get("chat", HERE), _own(request))
            job = await self._desk().add(chat, when, prompt, zone)
        except Refused as error:
            return await self._view(request, given, {"prompt": _sentence(error)})
        except HooklineError as error:
            return await self._view(request, given, _beside(given, error))
        return Redirect("/schedule", self._desk().added(job))

    async def _chat(self, label: str, own: Chat) -> Chat:
        """The chat that a new job belongs to: whose page it is, one that has a job already, or the
        terminal."""
        desk = self._desk()
        if label == own.name:
            return own
        for job, _ in await desk.known(desk.terminal):
            if job.chat.name == label:
                return job.chat
        return desk.terminal

    def _acting(self, name: str) -> Callable[[RequestLike], Any]:
        """Return the handler of ``POST /schedule/ID/NAME``."""

        async def act(request: RequestLike) -> Redirect:
            desk = self._desk()
            try:
                told = await desk.by_name()[name](desk.terminal, path_param(request, "id"))
            except Complaint as error:
                return Redirect("/schedule", _sentence(error), "bad")
            return Redirect("/schedule", told)

        return act


def _own(request: RequestLike) -> Chat:
    """The chat of who looks at the page, to which answers go if nothing else is chosen."""
    who = identity(request)
    return Chat(who.channel, who.name, who.name)


def _row(job: Job, run: Run | None, now: float) -> Row:
    state = wording.state(job)
    late = job.due is not None and job.due < now and state == "on"
    shown = Badge("late", "warning") if late else Badge(state, TONES.get(state, "neutral"))
    last: Cell = None
    if run is not None:
        last = Link(run.outcome, build_path("schedule", "runs", job=job.id))
    who = strangers(job.origins)
    what = f"{wording.short(job.prompt)}{f' (from {named(who)})' if who else ''}"
    where = HERE if job.chat.workspace else job.chat.name
    when = wording.described(job)
    said = spoken(when) if isinstance(job.schedule, Cron) else when
    cells: list[Cell] = [what, said, Timestamp(job.due) if job.due else None, shown]
    long = len(job.prompt) > wording.QUIET or "\n" in job.prompt
    details = [*([job.prompt] if long else []), *([f"cron: {when}"] if said != when else [])]
    return Row([*cells, last, where], _actions(job), "\n\n".join(details))


def _actions(job: Job) -> Sequence[Action]:
    switch = "pause" if job.state == "on" else "resume"
    path = build_path("schedule", job.id)
    return [
        Action("Run now", f"{path}/run"),
        Action(switch.capitalize(), f"{path}/{switch}"),
        Action("Delete", f"{path}/remove", confirm=f"Delete job {job.id}?", style="danger"),
    ]


def _result(row: Mapping[str, Any]) -> Row:
    prompt = wording.short(row["prompt"] or f"job {row['job_id']}, deleted")
    state = Badge(row["outcome"], TONES.get(row["outcome"], "neutral"))
    said = wording.short(row["reason"] or row["text"])
    link = Link("open", build_path("sessions", session_named(row["job_id"], row["id"])))
    detail = row["text"] or row["reason"]
    return Row(
        [Timestamp(row["ended"]), prompt, state, said, link], (), detail if detail != said else ""
    )


def _fields(
    given: Mapping[str, str],
    errors: Mapping[str, str],
    rows: Sequence[tuple[Job, Run | None]],
    own: Chat,
) -> list[Field]:
    others = (job.chat.name for job, _ in rows if not job.chat.workspace)
    chats = dict.fromkeys([own.name, HERE, *others])
    told = "Include everything it needs to know: it runs in its own session."
    zone = "Such as Europe/Berlin. Leave empty for this machine's time zone."
    return [
        Field(
            "prompt", "What to do", "long", given.get("prompt", ""), (), told, True,
            errors.get("prompt", ""),
        ),
        Field(
            "when", "When", "text", given.get("when", ""), (), WHEN_HELP, True,
            errors.get("when", ""),
        ),
        Field(
            "zone", "Time zone", "text", given.get("zone", ""), (), zone, False,
            errors.get("zone", ""),
        ),
        Field("chat", "Chat", "choice", given.get("chat", own.name), list(chats), ANSWERS),
    ]  # fmt: skip


def _beside(given: Mapping[str, str], error: Exception) -> dict[str, str]:
    """The sentence, at the field that it is about."""
    text = str(error)
    if "time zone" in text:
        return {"zone": _sentence(error)}
    about = "prompt" if not given.get("prompt", "").strip() or "prompt" in text else "when"
    return {about: _sentence(error)}


def _sentence(error: Exception) -> str:
    text = str(error)
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", '"', "?")) else ".")
