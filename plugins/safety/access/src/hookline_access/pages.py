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
    N_,
    Action,
    Badge,
    Cell,
    Code,
    Field,
    Form,
    Group,
    Identity,
    Link,
    Markdown,
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
    format_number,
    identity,
    named,
    plain_name,
    read_form,
    t,
    tn,
    translate,
)

from .config import AccessConfig
from .pairing import PairingRequest, PairingRequests
from .people import MAX_LOG_ENTRIES, People, Person, Role
from .role_permissions import TABLE_ROLES
from .roles import role_table
from .texts import ROLE_NAMES, on_one_line

CHANNEL = "web"
PAGE_SIZE = 50
CHAT_MESSAGE_ROUTE = re.compile(r"POST /api/sessions/[^/]+/messages")
"""Messages of a chat on the page, which are not listed as activity."""
DECISIONS: Mapping[str, str] = {
    "let in as": N_("let in as {role} by {person}"),
    "revoked": N_("removed by {person}"),
    "blocked": N_("blocked by {person}"),
}
"""Stored entries that name a person, by their first words."""
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
        register(SiteRoute("GET", "/people", self.show, page=Page("People", "Settings", order=80)))
        register(SiteRoute("GET", "/people/log", self.log))
        for name, handler, log in (
            ("approve", self.approve, N_("let in a person or changed their role")),
            ("block", self.block, N_("blocked a person")),
            ("forget", self.forget, N_("removed a person")),
            ("invite", self.invite, N_("created a sign-in link")),
            ("log-out", self.log_out, N_("signed out a browser")),
        ):
            register(SiteRoute("POST", f"/people/{name}", handler, log=log))

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
                    Stat(t("Admins"), format_number(admins), tone="neutral" if admins else "bad"),
                    Stat(t("People"), format_number(len(known))),
                    Stat(
                        t("Pending"),
                        format_number(len(waiting)),
                        tone="warning" if waiting else "neutral",
                    ),
                ]
            ),
            _waiting(waiting),
            Table(
                [t("Person"), t("Role"), t("Added by"), t("Since")],
                [_person_row(row, who) for row in paging.slice(known)],
                title=t("People"),
                empty=t("No people yet. Run “hookline web” in a terminal to add the first admin."),
                more=paging.link(len(known) - paging.offset, t("More")),
            ),
        ]
        if server is not None:
            parts.append(await self._devices(server, who))
            given = wrong or {}
            name = Field(
                "name", t("Name"), value=given.get("name", ""), required=True,
                help=t("At most 64 characters. In commands, the person is called web:NAME."),
                error=given.get("error", ""),
            )  # fmt: skip
            role = Field(
                "role", t("Role"), "choice", given.get("role", "person"), ROLES,
                labels={one: t(ROLE_NAMES[TABLE_ROLES[one]]) for one in ROLES},
            )  # fmt: skip
            parts.append(
                Form("/people/invite", [name, role], t("Create link"), t("Invite a person"))
            )
        parts.append(_roles())
        log = [
            Row([Timestamp(entry["at"]), named(entry["person"]), entry["what"]])
            for entry in await self._log(10)
        ]
        columns, more = [t("When"), t("Person"), t("What")], Link(t("Show all"), "/people/log")
        nothing = t("No activity yet.")
        parts.append(Table(columns, log, t("Recent activity"), nothing, more if log else None))
        text = t("Who may use Hookline, and what they may do.")
        return View(t("People"), parts, text, status=422 if wrong else 200)

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
            mine = " " + t("(this one)") if device.id == who.device else ""
            sure = t("Sign {person} out of this browser?", person=_name(device.person))
            action = Action(t("Sign out"), "/people/log-out", {"device": device.id}, sure, "danger")
            agent = f"{browser_name(device.agent)}{mine}"
            cells: list[Cell] = [
                named(device.person),
                t(ROLE_NAMES[TABLE_ROLES[device.role]]),
                agent,
                Timestamp(device.created),
                Timestamp(device.seen),
            ]
            rows.append(Row(cells, [action]))
        columns = [t("Person"), t("Role"), t("Browser"), t("Signed in"), t("Last seen")]
        return Table(columns, rows, t("Signed-in browsers"), t("No one is signed in."))

    async def _log(self, limit: int) -> Sequence[Mapping[str, Any]]:
        """Decisions on pairing requests and changes through the web, newest first."""
        stored = await self._host.storage.fetch("newest_log", limit=limit)
        rows: list[Mapping[str, Any]] = [{**row, "what": _decision(row["what"])} for row in stored]
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
            [t("When"), t("Person"), t("What")],
            [
                Row([Timestamp(entry["at"]), named(entry["person"]), entry["what"]])
                for entry in paging.slice(rows)
            ],
            empty=t("No activity yet."),
            more=paging.link(len(rows) - paging.offset),
        )
        text = t("Requests, decisions and changes by admins.")
        return View(t("Activity"), [table], text, (Link(t("People"), "/people"),))

    async def approve(self, request: RequestLike) -> Redirect:
        """``POST /people/approve``: ``person`` or ``code``, and ``role``"""
        form, by = await read_form(request), identity(request).person
        role = Role.ADMIN if form.get("role") == "admin" else Role.MEMBER
        if "code" in form:
            found = await self._pairing.approve(form["code"], by, role)
            if found is None:
                text = t("This request has expired or was answered. They can ask again.")
                return Redirect("/people", text, "warning")
            if found.chat_id:
                self._welcome(found)
            return Redirect("/people", t("{name} can write now.", name=_name(str(found.person))))
        person = _person(form)
        if self._config.is_admin(person.place, person.user_id):
            return Redirect(
                "/people", t("{name} is an admin in config.yaml.", name=_name(str(person)))
            )
        if await self._people.role(person) is Role.BLOCKED:
            text = t("{name} is blocked. Remove them first.", name=_name(str(person)))
            return Redirect("/people", text, "warning")
        await self._people.put(person, role, by)
        name = _name(str(person))
        is_admin = role is Role.ADMIN
        return Redirect(
            "/people",
            t("{name} is an admin now.", name=name)
            if is_admin
            else t("{name} can write now.", name=name),
        )

    async def block(self, request: RequestLike) -> Redirect:
        """``POST /people/block``: ``person``"""
        person, who = _person(await read_form(request)), identity(request)
        if refusal := self._refusal(person, who):
            return Redirect("/people", refusal, "bad")
        await self._people.put(person, Role.BLOCKED, who.person)
        await self._log_out_of_all(person)
        return Redirect(
            "/people", t("{name} is blocked. To undo this, remove them.", name=_name(str(person)))
        )

    async def forget(self, request: RequestLike) -> Redirect:
        """``POST /people/forget``: ``person``"""
        person, who = _person(await read_form(request)), identity(request)
        if refusal := self._refusal(person, who):
            return Redirect("/people", refusal, "bad")
        if not await self._people.drop(person, who.person):
            return Redirect(
                "/people", t("{name} is not on the list.", name=_name(str(person))), "warning"
            )
        await self._log_out_of_all(person)
        return Redirect("/people", t("{name} was removed.", name=_name(str(person))))

    def _refusal(self, person: Person, who: Identity) -> str:
        """Why a person cannot be blocked or removed; empty if they can."""
        if str(person) == who.person:
            return t("You cannot do this to yourself. Ask another admin or run “hookline pairing”.")
        if self._config.is_admin(person.place, person.user_id):
            name = _name(str(person))
            return t(
                "{name} is an admin in config.yaml. Remove them from access.admins.", name=name
            )
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
            raise Problem(404, "not_found", t("Invitations need the plugin web-server."))
        try:
            asked: WebRole = next((known for known in ROLES if known == role), "person")
            link = await server.link(name, asked, who.person)
        except HooklineError as error:
            text = f"{error}."
            return await self._view(request, {**form, "error": text[:1].upper() + text[1:]})
        table = Table([t("Link"), t("Expires")], [Row([Code(link.url), Timestamp(link.expires)])])
        text = t(
            "Send this link to {name}. It works once, within 10 minutes, gives the role {role}, "
            "and is not shown again.",
            name=name,
            role=t(ROLE_NAMES[TABLE_ROLES[asked]]),
        )
        back = (Link(t("People"), "/people"),)
        return View(t("Invitation for {name}", name=name), [Text(text), table], "", back)

    async def log_out(self, request: RequestLike) -> Redirect:
        """``POST /people/log-out``: ``device``"""
        server, device = (
            self._host.services.get(WebServer),
            (await read_form(request)).get("device", ""),
        )
        done = await server.revoke(device=device) if server is not None and device else 0
        text = t("Signed out.") if done else t("This browser is already signed out.")
        return Redirect("/people", text, "good" if done else "warning")


def browser_name(agent: str) -> str:
    """The common name of a browser and its system, from its user agent."""
    names = [name for mark, name in BROWSERS.items() if mark in agent]
    systems = [name for mark, name in SYSTEMS.items() if mark in agent]
    if not names:
        return agent[:40] or t("unknown")
    return t("{browser} on {system}", browser=names[0], system=systems[0]) if systems else names[0]


def _name(id_: str) -> str:
    return on_one_line(plain_name(id_))


def _decision(what: str) -> str:
    """A stored entry, in the language of the page: ``let in as member by owner (web page)``."""
    done, by, person = what.rpartition(" by ")
    if not by:
        return translate(what)
    letting, role = done.rpartition(" ")[::2]
    sentence = DECISIONS.get(letting or role, N_("{role} by {person}"))
    name = t(ROLE_NAMES.get(role, role))
    return t(sentence, role=name, person=_name(person))


def _change(one: WebChange) -> str:
    done = one.words or one.what
    if one.status < MIN_ERROR_STATUS:
        return done
    return t("{request}: refused ({status})", request=done, status=str(one.status))


def _waiting(waiting: Sequence[PairingRequest]) -> Table:
    rows = []
    for pending in waiting[:PAGE_SIZE]:
        name, code = _name(str(pending.person)), {"code": pending.code}
        sure = t("Make {name} an admin? Admins may do everything.", name=name)
        actions = [
            Action(t("Approve"), "/people/approve", code, style="primary"),
            Action(t("Approve as admin"), "/people/approve", {**code, "role": "admin"}, sure),
            Action(t("Block"), "/people/block", {"person": str(pending.person)}, style="danger"),
        ]
        rows.append(
            Row(
                [
                    named(str(pending.person)),
                    Code(pending.code),
                    Timestamp(pending.opened),
                    Timestamp(pending.expires),
                ],
                actions,
            )
        )
    empty = t("No one is waiting. New people who message a channel appear here.")
    more = (
        Link(tn("{n} more", "{n} more", len(waiting) - PAGE_SIZE), "/people")
        if waiting[PAGE_SIZE:]
        else None
    )
    return Table(
        [t("Person"), t("Code"), t("Requested"), t("Expires")],
        rows,
        t("Pending requests"),
        empty,
        more,
    )


def _roles() -> Group:
    """What each role may do, in words."""
    table = role_table()
    texts = []
    for role in ("admin", "member", "auditor"):
        may = "\n".join(f"- {t(one.what)}" for one in table.actions.values() if role in one.may)
        texts.append(f"**{t(ROLE_NAMES[role])}**\n\n{may}")
    return Group(t("What each role may do"), [Markdown("\n\n".join(texts))], open=False)


def _person_row(row: Mapping[str, Any], who: Identity) -> Row:
    name, fields = _name(row["person"]), {"person": row["person"]}
    actions: list[Action] = []
    if row["by"] != "config.yaml" and row["person"] != who.person:
        if row["role"] == "member":
            sure = t("Make {name} an admin? Admins may do everything.", name=name)
            actions.append(
                Action(t("Make admin"), "/people/approve", {**fields, "role": "admin"}, sure)
            )
        elif row["role"] == "admin":
            sure = t("Remove admin rights from {name}? They can still write.", name=name)
            actions.append(Action(t("Remove admin"), "/people/approve", fields, sure))
        if row["role"] != "blocked":
            sure = t("Block {name}? They are signed out and get no more replies.", name=name)
            actions.append(Action(t("Block"), "/people/block", fields, sure, "danger"))
        sure = t("Remove {name}? They can ask to be let in again.", name=name)
        actions.append(Action(t("Remove"), "/people/forget", fields, sure))
    role = Badge(t(ROLE_NAMES.get(row["role"], row["role"])), TONES.get(row["role"], "neutral"))
    since = Timestamp(row["since"]) if row["since"] else None
    return Row([named(row["person"]), role, named(row["by"]), since], actions)


def _person(given: Mapping[str, str]) -> Person:
    person = Person.parse(given.get("person", ""))
    if person is None or not person.can_be_known or "*" in str(person):
        text = t("Enter a person as CHANNEL:USER, such as telegram:111.")
        raise Problem(400, "bad_person", text)
    return person
