"""``/trust``: trusted sources.

Imported when a web server asks for routes.
"""

from __future__ import annotations

from collections.abc import Callable

from hookline_hookspecs import HooklineError, Host, Page, Route
from hookline_hookspecs.web import (
    N_,
    Action,
    Field,
    Form,
    Part,
    Redirect,
    RequestLike,
    Row,
    SiteRoute,
    Table,
    View,
    create_tables,
    identity,
    named,
    read_form,
    t,
)

from .trust import Trust


class TrustPage:
    """The page of trusted sources, for the operator."""

    def __init__(self, host: Host, trust: Trust) -> None:
        self._host = host
        self._trust = trust

    def register(self, register: Callable[[Route], None]) -> None:
        """Register the page, and what its forms are sent to."""
        create_tables(self._host, "trusted")
        page = Page("Trusted sources", "Settings", order=100)
        register(SiteRoute("GET", "/trust", self.show, page=page))
        register(SiteRoute("POST", "/trust/add", self.add, log=N_("added a trusted source")))
        register(
            SiteRoute("POST", "/trust/remove", self.remove, log=N_("removed a trusted source"))
        )

    async def show(self, request: RequestLike) -> View:
        """``GET /trust``"""
        return await self._view()

    async def _view(self, wrong: Field | None = None) -> View:
        rows = [
            Row([name, named(by)], [_removal(name)] if by != "config.yaml" else [])
            for name, by in await self._trust.entries()
        ]
        help_ = t("A host (docs.example.com), a person (telegram:222) or a tool (tool NAME).")
        field = wrong or Field("what", t("Trust"), required=True, help=help_)
        empty = t("No trusted sources besides you.")
        parts: list[Part] = [
            Table([t("Source"), t("Added by")], rows, empty=empty),
            Form("/trust/add", [field], t("Trust"), t("Trust a source")),
        ]
        text = t("Their text may be remembered, scheduled and followed without a question.")
        return View(t("Trusted sources"), parts, text, status=422 if wrong else 200)

    async def add(self, request: RequestLike) -> Redirect | View:
        """``POST /trust/add``: ``what``"""
        what = (await read_form(request)).get("what", "")
        try:
            name = await self._trust.add(what, identity(request).person)
        except HooklineError as error:
            return await self._view(
                Field("what", t("Trust"), value=what, required=True, error=_sentence(error))
            )
        told = t(
            "{name} is trusted now: its content may be remembered, scheduled and followed.",
            name=name,
        )
        return Redirect("/trust", told)

    async def remove(self, request: RequestLike) -> Redirect:
        """``POST /trust/remove``: ``what``"""
        what = (await read_form(request)).get("what", "")
        if not await self._trust.remove(what):
            return Redirect("/trust", t("{name} was not on the list.", name=what), "warning")
        return Redirect("/trust", t("{name} is no longer trusted.", name=what))


def _removal(name: str) -> Action:
    return Action(t("Remove trust"), "/trust/remove", {"what": name})


def _sentence(error: Exception) -> str:
    text = str(error)
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?")) else ".")
