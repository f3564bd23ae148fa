"""``/people``: people and their roles, pending requests, invitations, signed-in browsers, recent
activity.

Imported when a web server asks for routes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hookline_hookspecs import HooklineError, Host, Page, Route
from hookline_hookspecs.people import WebRole
from hookline_hookspecs.web import (
    Action,
    Badge,
    Cell,
    Code,
    Field,
    Form,
    Identity,
    Link,
    Paging,
    Part,
    Problem,
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
    WebChange,
    WebServer,
    create_tables,
    identity,
    read_form,
)

from .config import AccessConfig
from .pairing import PairingRequest, PairingRequests
from .people import MAX_LOG_ENTRIES, People, Person, Role
from .texts import on_one_line

CHANNEL = "web"
PAGE_SIZE = 50
CHAT_MESSAGE_ROUTE = re.compile(r"POST /api/sessions/[^/]+/messages")
"""Messages of a chat on the page, which are not listed as activity."""
TONES: Mapping[str, Tone] = {"admin": "good", "blocked": "bad"}
ROLES: Sequence[WebRole] = ("person", "operator", "auditor")
MIN_ERROR_STATUS = 400
"""HTTP statuses from here on mean that nothing was changed."""
BROWSERS = {
    "Edg": "Edge",
    "OPR/": "Opera",
    "Firefox": "Firefox",
    "Chrom": "Chrome",
    "HeadlessC": "Chrome",
    "Safari": "Safari",
}
"""Names in a user agent, the most specific first: nearly all browsers name Safari."""
SYSTEMS = {
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Android": "Android",
    "Windows": "Windows",
    "Mac OS": "macOS",
    "Linux": "Linux",
}


class PeoplePages:
    """The pages ``/people`` and ``/people/log``, for the operator."""

    def __init__(
        self,
        config: AccessConfig,
        host: Host,
        people: People,
        pairing: PairingRequests,
        welcome: Callable[[PairingRequest], None],
    ) -> None:
        self._config = config
        self._host = host
        self._people = people
        self._pairing = pairing
        self._welcome = welcome

    def register(self, register: Callable[[Route], None]) -> None:
        """Register the pages and the routes of their forms."""
        create_tables(self._host, "newest_log", limit=1)
        register(SiteRoute("GET", "/people", self.show, page=Page("People", order=80)))
        register(SiteRoute("GET", "/people/log", self.log))
        for name, handler in (
            ("approve", self.approve),
            ("block", self.block),
            ("forget", self.forget),
            ("invite", self.invite),
            ("log-out", self.log_out),
        ):
            register(SiteRoute("POST", f"/people/{name}", handler))

    async def show(self, request: RequestLike) -> View:
        """``GET /people``"""
        return await self._view(request)

    async def _view(self, request: RequestLike, wrong: Mapping[str, str] | None = None) -> View:
        who, server = identity(request), self._host.services.get(WebServer)
        waiting = await self._pairing.waiting()
        known = await self._known()
        paging = Paging.from_request(request, "/people", PAGE_SIZE)
        admins = sum(row["role"] == "admin" for row in known)
        parts: list[Part] = [
            *(Text(f"{fault}.", "warning") for fault in self._config.faults),
            Stats(
                [
                    Stat("Admins", f"{admins:,}", tone="neutral" if admins else "bad"),
                    Stat("People", f"{len(known):,}"),
                    Stat("Pending", f"{len(waiting):,}", tone="warning" if waiting else "neutral"),
                ]
            ),
            _waiting(waiting),
            Table(
                ["Person", "Role", "Added by", "Since"],
                [_person_row(row, who) for row in paging.slice(known)],
                title="People",
                empty="No people yet. Run “hookline web” in a terminal to add the first admin.",
                more=paging.link(len(known) - paging.offset, "More"),
            ),
        ]
        if server is not None:
            parts.append(await self._devices(server, who))
            given = wrong or {}
            name = Field(
                "name", "Name", value=given.get("name", ""), required=True,
                help="They appear as web:NAME. At most 64 characters.",
                error=given.get("error", ""),
            )  # fmt: skip
            text = (
                "An operator may do everything. A person sees only their own chats. An auditor "
                "sees only the audit log and the insights."
            )
            role = Field("role", "Role", "choice", given.get("role", "person"), ROLES, text)
            parts.append(Form("/people/invite", [name, role], "Create link", "Invite a person"))
        log = [
            Row([Timestamp(entry["at"]), entry["person"], entry["what"]])
            for entry in await self._log(10)
        ]
        columns, more = ["When", "Person", "What"], Link("Show all", "/people/log")
        nothing = "No activity yet."
        parts.append(Table(columns, log, "Recent activity", nothing, more if log else None))
        text = "Who may use Hookline, and what they may do."
        return View("People", parts, text, status=422 if wrong else 200)

    async def _known(self) -> Sequence[dict[str, Any]]:
        """Everyone with a role: ``person role by since``; those in config.yaml first."""
        by_role = zip((Role.ADMIN, Role.MEMBER, Role.AUDITOR), self._config.named, strict=True)
        rows = [
            {"person": name, "role": str(role), "by": "config.yaml", "since": None}
            for role, named in by_role
            for name in named
        ]
        for stored in await self._host.storage.fetch("people"):
            person = str(Person(stored["channel"], stored["user_id"]))
            row = {"person": person, "role": stored["role"], "by": stored["by_whom"]}
            rows.append({**row, "since": stored["since"]})
        return rows

    async def _devices(self, server: WebServer, who: Identity) -> Table:
        devices = sorted(await server.devices(), key=lambda device: -device.seen)
        rows = []
        for device in devices[:PAGE_SIZE]:
            mine = " (this one)" if device.id == who.device else ""
            sure = f"Sign {device.person} out of this browser?"
            action = Action("Sign out", "/people/log-out", {"device": device.id}, sure, "danger")
            agent = f"{browser_name(device.agent)}{mine}"
            cells: list[Cell] = [
                device.person,
                device.role,
                agent,
                Timestamp(device.created),
                Timestamp(device.seen),
            ]
            rows.append(Row(cells, [action]))
        columns = ["Person", "Role", "Browser", "Signed in", "Last seen"]
        return Table(columns, rows, "Signed-in browsers", "No one is signed in.")

    async def _log(self, limit: int) -> Sequence[Mapping[str, Any]]:
        """Decisions on pairing requests and changes through the web, newest first."""
        rows = [dict(row) for row in await self._host.storage.fetch("newest_log", limit=limit)]
        server = self._host.services.get(WebServer)
        if server is not None:
            rows += [
                {"at": change.at, "person": change.person, "what": _change(change)}
                for change in await server.changes(limit * 10)
                if not CHAT_MESSAGE_ROUTE.fullmatch(change.what)
            ]
        return sorted(rows, key=lambda row: -row["at"])[:limit]

    async def log(self, request: RequestLike) -> View:
        """``GET /people/log``"""
        paging = Paging.from_request(request, "/people/log", PAGE_SIZE)
        rows = await self._log(MAX_LOG_ENTRIES)
        table = Table(
            ["When", "Person", "What"],
            [
                Row([Timestamp(entry["at"]), entry["person"], entry["what"]])
                for entry in paging.slice(rows)
            ],
            empty="No activity yet.",
            more=paging.link(len(rows) - paging.offset),
        )
        text = "Requests, decisions and changes by admins."
        return View("Activity", [table], text, (Link("People", "/people"),))

    async def approve(self, request: RequestLike) -> Redirect:
        """``POST /people/approve``: ``person`` or ``code``, and ``role``"""
        form, by = await read_form(request), identity(request).person
        role = Role.ADMIN if form.get("role") == "admin" else Role.MEMBER
        if "code" in form:
            found = await self._pairing.approve(form["code"], by, role)
            if found is None:
                text = "This request has expired or was answered. They can ask again."
                return Redirect("/people", text, "warning")
            if found.chat_id:
                self._welcome(found)
            return Redirect("/people", f"{on_one_line(str(found.person))} can write now.")
        person = _person(form)
        if self._config.is_admin(person.place, person.user_id):
            return Redirect("/people", f"{on_one_line(str(person))} is an admin in config.yaml.")
        if await self._people.role(person) is Role.BLOCKED:
            text = f"{on_one_line(str(person))} is blocked. Remove them first."
            return Redirect("/people", text, "warning")
        await self._people.put(person, role, by)
        what = "is an admin" if role is Role.ADMIN else "can write"
        return Redirect("/people", f"{on_one_line(str(person))} {what} now.")

    async def block(self, request: RequestLike) -> Redirect:
        """``POST /people/block``: ``person``"""
        person, who = _person(await read_form(request)), identity(request)
        if refusal := self._refusal(person, who):
            return Redirect("/people", refusal, "bad")
        await self._people.put(person, Role.BLOCKED, who.person)
        await self._log_out_of_all(person)
        return Redirect(
            "/people", f"{on_one_line(str(person))} is blocked. To undo this, remove them."
        )

    async def forget(self, request: RequestLike) -> Redirect:
        """``POST /people/forget``: ``person``"""
        person, who = _person(await read_form(request)), identity(request)
        if refusal := self._refusal(person, who):
            return Redirect("/people", refusal, "bad")
        if not await self._people.drop(person, who.person):
            return Redirect("/people", f"{on_one_line(str(person))} is not on the list.", "warning")
        await self._log_out_of_all(person)
        return Redirect("/people", f"{on_one_line(str(person))} was removed.")

    def _refusal(self, person: Person, who: Identity) -> str:
        """Why a person cannot be blocked or removed; empty if they can."""
        if str(person) == who.person:
            return "You cannot do this to yourself. Ask another admin or run “hookline pairing”."
        if self._config.is_admin(person.place, person.user_id):
            name = on_one_line(str(person))
            return f"{name} is an admin in config.yaml. Remove them from access.admins."
        return ""

    async def _log_out_of_all(self, person: Person) -> None:
        server = self._host.services.get(WebServer)
        if server is not None and person.channel == CHANNEL:
            await server.revoke(person=str(person))

    async def invite(self, request: RequestLike) -> View:
        """``POST /people/invite``: ``name role``; the link is shown once."""
        form, who = await read_form(request), identity(request)
        name, role = form.get("name", "").strip(), form.get("role", "person")
        server = self._host.services.get(WebServer)
        if server is None:
            raise Problem(404, "not_found", "Invitations need the plugin web-server.")
        try:
            asked: WebRole = next((known for known in ROLES if known == role), "person")
            link = await server.link(name, asked, who.person)
        except HooklineError as error:
            text = f"{error}."
            return await self._view(request, {**form, "error": text[:1].upper() + text[1:]})
        table = Table(["Link", "Expires"], [Row([Code(link.url), Timestamp(link.expires)])])
        text = (
            f"Send this link to {name}. It works once, signs in as {role}, and is not shown again."
        )
        back = (Link("People", "/people"),)
        return View(f"Invitation for {name}", [Text(text), table], "", back)

    async def log_out(self, request: RequestLike) -> Redirect:
        """``POST /people/log-out``: ``device``"""
        server, device = (
            self._host.services.get(WebServer),
            (await read_form(request)).get("device", ""),
        )
        done = await server.revoke(device=device) if server is not None and device else 0
        text = "Signed out." if done else "This browser is already signed out."
        return Redirect("/people", text, "good" if done else "warning")


def browser_name(agent: str) -> str:
    """The common name of a browser and its system, from its user agent."""
    names = [name for mark, name in BROWSERS.items() if mark in agent]
    systems = [name for mark, name in SYSTEMS.items() if mark in agent]
    if not names:
        return agent[:40] or "unknown"
    return f"{names[0]} on {systems[0]}" if systems else names[0]


def _change(one: WebChange) -> str:
    return one.what if one.status < MIN_ERROR_STATUS else f"{one.what}: refused ({one.status})"


def _waiting(waiting: Sequence[PairingRequest]) -> Table:
    rows = []
    for pending in waiting[:PAGE_SIZE]:
        name, code = on_one_line(str(pending.person)), {"code": pending.code}
        sure = f"Make {name} an admin? Admins may do everything."
        actions = [
            Action("Approve", "/people/approve", code, style="primary"),
            Action("Approve as admin", "/people/approve", {**code, "role": "admin"}, sure),
            Action("Block", "/people/block", {"person": str(pending.person)}, style="danger"),
        ]
        rows.append(
            Row(
                [name, Code(pending.code), Timestamp(pending.opened), Timestamp(pending.expires)],
                actions,
            )
        )
    empty = "No one is waiting. New people who message a channel appear here."
    more = Link(f"{len(waiting) - PAGE_SIZE:,} more", "/people") if waiting[PAGE_SIZE:] else None
    return Table(["Person", "Code", "Requested", "Expires"], rows, "Pending requests", empty, more)


def _person_row(row: Mapping[str, Any], who: Identity) -> Row:
    name, fields = on_one_line(row["person"]), {"person": row["person"]}
    actions: list[Action] = []
    if row["by"] != "config.yaml" and row["person"] != who.person:
        if row["role"] == "member":
            sure = f"Make {name} an admin? Admins may do everything."
            actions.append(
                Action("Make admin", "/people/approve", {**fields, "role": "admin"}, sure)
            )
        elif row["role"] == "admin":
            sure = f"Remove admin rights from {name}? They can still write."
            actions.append(Action("Remove admin", "/people/approve", fields, sure))
        if row["role"] != "blocked":
            sure = f"Block {name}? They are signed out and get no more replies."
            actions.append(Action("Block", "/people/block", fields, sure, "danger"))
        sure = f"Remove {name}? They can ask to be let in again."
        actions.append(Action("Remove", "/people/forget", fields, sure))
    role = Badge(row["role"], TONES.get(row["role"], "neutral"))
    since = Timestamp(row["since"]) if row["since"] else None
    return Row([name, role, row["by"], since], actions)


def _person(given: Mapping[str, str]) -> Person:
    person = Person.parse(given.get("person", ""))
    if person is None or not person.can_be_known or "*" in str(person):
        text = "Enter a person as CHANNEL:USER, such as telegram:111."
        raise Problem(400, "bad_person", text)
    return person
