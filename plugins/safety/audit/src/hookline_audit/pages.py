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
)

from .reading import Entry, shown_detail
from .search import Wanted, rows
from .service import Service

AT_ONCE = 100
TONES: dict[str, Tone] = {"denied": "bad", "failed": "warning", "approved": "good"}
FIELDS = ("kind", "person", "find")


class AuditPage:
    """The page, for the operator and for auditors."""

    def __init__(self, host: Host, service: Callable[[], Service]) -> None:
        self._host = host
        self._service = service

    def register(self, register: Callable[[Route], None]) -> None:
        """Register the page and the check."""
        register(SiteRoute("GET", "/audit", self.show, page=Page("Audit", order=45)))
        register(SiteRoute("GET", "/audit/verify", self.verify))

    async def show(self, request: RequestLike) -> View:
        """``GET /audit[?kind=K][&person=P][&find=WORDS]``: the newest rows."""
        given = {name: query_params(request).get(name, "").strip() for name in FIELDS}
        if given["kind"] and given["kind"] not in KINDS:
            raise Problem(400, "bad_kind", f"Unknown kind {given['kind'][:40]!r}.")
        reader = await self._service().reader()
        wanted = Wanted(given["kind"], person=given["person"], find=given["find"])
        if wanted.is_all:
            found = await reader.newest(AT_ONCE, given["kind"])
        else:
            found = [entry async for entry in rows(reader, wanted)][-AT_ONCE:][::-1]
        fields = [
            Field("kind", "Kind", "choice", given["kind"], ("", *KINDS)),
            Field("person", "Person", value=given["person"], help="Such as telegram:222."),
            Field("find", "Search", value=given["find"], help="Part of a statement or a name."),
        ]
        parts: list[Part] = [
            Actions([Action("Verify all rows", "/audit/verify", get=True)]),
            Form("/audit", fields, "Search", get=True),
            _table(found),
        ]
        told = "Who did what. Chat messages are not recorded; SQL statements are."
        return View("Audit", parts, told)

    async def verify(self, request: RequestLike) -> View:
        """``GET /audit/verify``: whether every row is as it was written."""
        found = await self._service().verify()
        if found.ok:
            told = f"All {found.rows:,} rows are intact."
            text = Text(f"{told} {found.checkpoints:,} checkpoints match.", "good")
        else:
            text = Text(f"Broken: {found.broken}.", "bad")
        return View("Audit verification", [text], "", (Link("Audit", "/audit"),))


def _table(found: Sequence[Entry]) -> Table:
    columns = ["When", "Who", "Kind", "What", "Verdict", "Approved by"]
    made = []
    for entry in found:
        told = entry.as_dict()
        verdict = Badge(told["verdict"] or "-", TONES.get(told["verdict"], "neutral"))
        who = told["actor"] or "-"
        made.append(
            Row(
                [
                    Timestamp(entry.stored["at"] / 1e6),
                    Link(who, build_path("audit", person=who)) if told["actor"] else who,
                    told["kind"],
                    told["object"] if entry.state == "ok" else f"({entry.state})",
                    verdict,
                    told["approver"],
                ],
                detail=shown_detail(told["detail"], "\n"),
            )
        )
    return Table(columns, made, "", "No matching rows.")
