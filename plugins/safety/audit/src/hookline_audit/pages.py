"""``/audit``: the audit log and its verification."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hookline_hookspecs import Host, Page, Route
from hookline_hookspecs.audit import KINDS
from hookline_hookspecs.web import (
    Action,
    Actions,
    Badge,
    Field,
    Form,
    Link,
    Part,
    Problem,
    RequestLike,
    Row,
    SiteRoute,
    Table,
    Text,
    Timestamp,
    Tone,
    View,
    build_path,
    query_params,
    t,
    tn,
)

from .entries import AuditEntry, format_detail
from .search import EntryFilter, search_entries
from .service import AuditService

MAX_ROWS = 100
TONES: dict[str, Tone] = {"denied": "bad", "failed": "warning", "approved": "good"}
FIELDS = ("kind", "person", "find")


class AuditPage:
    """The page, for the operator and for auditors."""

    def __init__(self, host: Host, service: Callable[[], AuditService]) -> None:
        self._host = host
        self._service = service

    def register(self, register: Callable[[Route], None]) -> None:
        """Register the page and the verification."""
        register(SiteRoute("GET", "/audit", self.show, page=Page("Audit", "Activity", order=45)))
        register(SiteRoute("GET", "/audit/verify", self.verify))

    async def show(self, request: RequestLike) -> View:
        """``GET /audit[?kind=K][&person=P][&find=WORDS]``: the newest rows."""
        filters = {name: query_params(request).get(name, "").strip() for name in FIELDS}
        if filters["kind"] and filters["kind"] not in KINDS:
            raise Problem(400, "bad_kind", t("Unknown kind “{kind}”.", kind=filters["kind"][:40]))
        reader = await self._service().reader()
        conditions = EntryFilter(filters["kind"], person=filters["person"], find=filters["find"])
        if conditions.has_only_kind:
            entries = await reader.newest(MAX_ROWS, filters["kind"])
        else:
            entries = [entry async for entry in search_entries(reader, conditions)][-MAX_ROWS:][
                ::-1
            ]
        fields = [
            Field("kind", t("Kind"), "choice", filters["kind"], ("", *KINDS)),
            Field("person", t("Person"), value=filters["person"], help=t("Such as telegram:222.")),
            Field(
                "find", t("Search"), value=filters["find"], help=t("Part of a statement or a name.")
            ),
        ]
        parts: list[Part] = [
            Actions([Action(t("Verify all rows"), "/audit/verify", get=True)]),
            Form("/audit", fields, t("Search"), get=True),
            _table(entries),
        ]
        hint = t("Who did what. Chat messages are not recorded; SQL statements are.")
        return View(t("Audit"), parts, hint)

    async def verify(self, request: RequestLike) -> View:
        """``GET /audit/verify``: the result of checking every row."""
        report = await self._service().verify()
        if report.ok:
            summary = tn("{n} row is intact.", "All {n} rows are intact.", report.rows)
            checkpoints = tn(
                "{n} checkpoint matches.", "{n} checkpoints match.", report.checkpoints
            )
            text = Text(f"{summary} {checkpoints}", "good")
        else:
            text = Text(t("Broken: {broken}.", broken=report.broken), "bad")
        return View(t("Audit verification"), [text], "", (Link(t("Audit"), "/audit"),))


def _table(entries: Sequence[AuditEntry]) -> Table:
    columns = [t("When"), t("Who"), t("Kind"), t("What"), t("Verdict"), t("Approved by")]
    table_rows = []
    for entry in entries:
        data = entry.as_dict()
        verdict = Badge(data["verdict"] or "-", TONES.get(data["verdict"], "neutral"))
        who = data["actor"] or "-"
        table_rows.append(
            Row(
                [
                    Timestamp(entry.stored["at"] / 1e6),
                    Link(who, build_path("audit", person=who)) if data["actor"] else who,
                    data["kind"],
                    data["object"] if entry.state == "ok" else f"({entry.state})",
                    verdict,
                    data["approver"],
                ],
                detail=format_detail(data["detail"], "\n"),
            )
        )
    return Table(columns, table_rows, "", t("No matching rows."))
