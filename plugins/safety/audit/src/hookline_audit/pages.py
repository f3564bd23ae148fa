"""``/audit``: the audit log and its verification."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hookline_hookspecs import Host, Page, Route
from hookline_hookspecs.audit import KINDS
from hookline_hookspecs.web import (
    N_,
    Action,
    Actions,
    Badge,
    Cell,
    Field,
    Form,
    Link,
    Named,
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
    named,
    plain_name,
    query_params,
    t,
    tn,
)

from .entries import AuditEntry, format_detail
from .search import EntryFilter, search_entries
from .service import AuditService

MAX_ROWS = 100
KIND_NAMES = {
    "message": N_("message"),
    "tool": N_("tool"),
    "ask": N_("question"),
    "answer": N_("answer"),
    "vault": N_("secret"),
    "skill": N_("skill"),
    "memory": N_("memory"),
    "config": N_("settings"),
    "access": N_("access"),
    "model": N_("model"),
}
"""What the kinds are called; ``sql`` is not translated."""
VERDICTS = {
    "accepted": N_("accepted"),
    "admin": N_("made admin"),
    "answered": N_("answered"),
    "approved": N_("approved"),
    "asked": N_("asked"),
    "auditor": N_("made auditor"),
    "blocked": N_("blocked"),
    "changed": N_("changed"),
    "command": N_("command"),
    "deleted": N_("deleted"),
    "denied": N_("denied"),
    "end": N_("answered"),
    "expired": N_("expired"),
    "failed": N_("failed"),
    "learnt": N_("learnt"),
    "length": N_("cut off"),
    "loaded": N_("loaded"),
    "member": N_("made member"),
    "ran": N_("ran"),
    "revoked": N_("revoked"),
    "tools": N_("called tools"),
}
"""What verdicts are called; others stay as they are."""
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
            Field("kind", t("Kind"), "choice", filters["kind"], ("", *KINDS), labels=_kind_names()),
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
        verdict = data["verdict"] or "-"
        who = data["actor"]
        what, extra = _object(data) if entry.state == "ok" else (f"({entry.state})", {})
        table_rows.append(
            Row(
                [
                    Timestamp(entry.stored["at"] / 1e6),
                    Link(plain_name(who), build_path("audit", person=who)) if who else "-",
                    _kind_names().get(data["kind"], data["kind"]),
                    what,
                    Badge(t(VERDICTS.get(verdict, verdict)), TONES.get(verdict, "neutral")),
                    named(data["approver"]) if data["approver"] else None,
                ],
                detail=format_detail({**extra, **data["detail"]}, "\n"),
            )
        )
    return Table(columns, table_rows, "", t("No matching rows."))


def _kind_names() -> dict[str, str]:
    return {kind: t(name) for kind, name in KIND_NAMES.items()}


def _object(data: Mapping[str, Any]) -> tuple[Cell, Mapping[str, str]]:
    """What a row is about, and the part of it that only its details show."""
    object_ = data["object"]
    if data["kind"] == "message":
        return named(data["chat"]), {"message": object_}
    if data["kind"] == "model":
        return Named(object_.rstrip("/").rpartition("/")[2], object_), {"model": object_}
    return (named(object_), {}) if data["kind"] == "access" else (object_, {})
