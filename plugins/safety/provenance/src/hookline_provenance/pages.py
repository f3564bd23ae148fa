"""``/proposals``: actions held for approval, and trusted sources.

Imported when a web server asks for routes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hookline_hookspecs import HooklineError, Host, Page, Route
from hookline_hookspecs.web import (
    Action,
    Cell,
    Code,
    Field,
    Form,
    Link,
    Part,
    Redirect,
    RequestLike,
    Row,
    SiteRoute,
    Table,
    Timestamp,
    View,
    build_path,
    create_tables,
    identity,
    path_param,
    read_form,
)

from .proposals import Proposal, Proposals
from .trust import Trust
from .wording import literal

SHOWN = 500
"""Characters of a result in a sentence."""


class ProposalPages:
    """The pages of proposals and trust, for the operator."""

    def __init__(self, host: Host, proposals: Proposals, trust: Trust) -> None:
        self._host = host
        self._proposals = proposals
        self._trust = trust

    def register(self, register: Callable[[Route], None]) -> None:
        """Register the pages, and what their forms are sent to."""
        create_tables(self._host, "trusted")
        page = Page("Proposals", "Internals", order=5)
        register(SiteRoute("GET", "/proposals", self.show, page=page))
        register(SiteRoute("POST", "/proposals/{id}/accept", self.accept))
        register(SiteRoute("POST", "/proposals/{id}/reject", self.reject))
        register(SiteRoute("POST", "/proposals/trust", self.add))
        register(SiteRoute("POST", "/proposals/distrust", self.remove))

    async def show(self, request: RequestLike) -> View:
        """``GET /proposals``"""
        return await self._view()

    async def _view(self, wrong: Field | None = None) -> View:
        found = await self._proposals.open()
        named = await self._trust.entries()
        rows = [
            Row([name, by], [_removal(name)] if by != "config.yaml" else []) for name, by in named
        ]
        help_ = "A host (docs.example.com), a person (telegram:222) or a tool (tool NAME)."
        field = wrong or Field("what", "Trust", required=True, help=help_)
        parts: list[Part] = [
            _proposals(found),
            Table(
                ["Source", "Added by"], rows, "Trusted sources", "No trusted sources besides you."
            ),
            Form("/proposals/trust", [field], "Trust", "Trust a source"),
        ]
        told = (
            "Actions held because the chat had read untrusted content and no one was there to ask."
        )
        return View("Proposals", parts, told, status=422 if wrong else 200)

    async def accept(self, request: RequestLike) -> Redirect:
        """``POST /proposals/ID/accept``: makes the call"""
        try:
            told = await self._proposals.accept(path_param(request, "id"))
        except HooklineError as error:
            return Redirect("/proposals", _sentence(error), "bad")
        return Redirect("/proposals", f"Done. {' '.join(told.split())[:SHOWN]}")

    async def reject(self, request: RequestLike) -> Redirect:
        """``POST /proposals/ID/reject``"""
        try:
            found = await self._proposals.reject(path_param(request, "id"))
        except HooklineError as error:
            return Redirect("/proposals", _sentence(error), "bad")
        return Redirect("/proposals", f"Rejected: {' '.join(found.what.split())[:SHOWN]}")

    async def add(self, request: RequestLike) -> Redirect | View:
        """``POST /proposals/trust``: ``what``"""
        what = (await read_form(request)).get("what", "")
        try:
            name = await self._trust.add(what, identity(request).person)
        except HooklineError as error:
            return await self._view(
                Field("what", "Trust", value=what, required=True, error=_sentence(error))
            )
        told = f"{name} is trusted now: its content may be remembered, scheduled and followed."
        return Redirect("/proposals", told)

    async def remove(self, request: RequestLike) -> Redirect:
        """``POST /proposals/distrust``: ``what``"""
        what = (await read_form(request)).get("what", "")
        if not await self._trust.remove(what):
            return Redirect("/proposals", f"{what} was not on the list.", "warning")
        return Redirect("/proposals", f"{what} is no longer trusted.")


def _proposals(found: Sequence[Proposal]) -> Table:
    rows = []
    for one in found:
        path = build_path("proposals", one.id)
        session = Link("session", build_path("sessions", one.session))
        actions = [
            Action("Accept", f"{path}/accept", confirm=f"Do this now? {one.what}", style="primary"),
            Action("Reject", f"{path}/reject"),
        ]
        cells: list[Cell] = [Code(one.id), one.what, one.origin, session, Timestamp(one.expires)]
        rows.append(Row(cells, actions, literal(one.call)))
    empty = "Nothing is waiting for approval."
    return Table(["Id", "Action", "Read from", "Session", "Expires"], rows, "Pending", empty)


def _removal(name: str) -> Action:
    return Action("Remove trust", "/proposals/distrust", {"what": name})


def _sentence(error: Exception) -> str:
    text = str(error)
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?")) else ".")
