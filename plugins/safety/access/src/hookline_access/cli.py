"""``hookline pairing``: who waits, who is known, and what was decided.

Core reads the signatures when it builds the command line. Imported only then, because of Typer.
"""

from __future__ import annotations

import json as jsonlib
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, NoReturn

import typer
from hookline_hookspecs import CommandError, Host
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.hooks.boot import RegisterCli

from .claims import Claims
from .codes import PAIRING, shown, typed
from .config import EVERYBODY, AccessConfig
from .door import Door
from .imports import forget, proposed
from .people import LOGGED, People, Person, Role
from .wording import on_one_line

Json = Annotated[bool, typer.Option("--json", help="JSON.")]
Who = Annotated[str, typer.Argument(metavar="PERSON", help="CHANNEL:USER, such as telegram:111.")]


class Commands:
    """One method for each command."""

    def __init__(
        self, config: AccessConfig, host: Host, people: People, door: Door, claims: Claims
    ) -> None:
        self._config = config
        self._host = host
        self._people = people
        self._door = door
        self._claims = claims

    def register(self, register: RegisterCli) -> None:
        """Register ``pairing list|approve|revoke|block|claim|log``."""
        register("pairing list", self.list_, help="Who is known, and who waits to be let in.")
        register("pairing approve", self.approve, help="Let in whoever has this code.")
        register("pairing revoke", self.revoke, help="Forget a person: no admin, not known.")
        register("pairing block", self.block, help="Never let a person in.")
        register("pairing claim", self.claim, help="A code that makes the first admin.")
        register("pairing log", self.log, help="What was asked for and decided, newest first.")

    async def list_(self, json: Json = False) -> None:
        """Who is known, from config and from pairing, and who waits."""
        rows = await self._rows()
        if json:
            _say(jsonlib.dumps(rows, ensure_ascii=False))
            return
        for row in rows:
            code = f"  code {row['code']}" if row["code"] else ""
            when = f"  since {_day(row['since'])}" if row["since"] else ""
            who, by = on_one_line(row["person"]), on_one_line(row["by"])
            _say(f"{row['role']:<8} {who}  by {by}{when}{code}")
        if not rows:
            _say("Nobody is known. hookline pairing claim makes the first admin.")

    async def _rows(self) -> Sequence[dict[str, Any]]:
        """People and requests: ``person role by since code``; times are Unix seconds."""
        by_role = zip((Role.ADMIN, Role.MEMBER, Role.AUDITOR), self._config.named, strict=True)
        config = [(role, one) for role, named in by_role for one in named]
        rows = [_row(person, role, "config.yaml", None) for role, person in config]
        for one in await self._host.storage.fetch("people"):
            person = str(Person(one["channel"], one["user_id"]))
            rows.append(_row(person, one["role"], one["by_whom"], one["since"]))
        for request in await self._door.waiting():
            person = str(request.person)
            rows.append(_row(person, "waiting", "itself", request.opened, request.code))
        for who, origin, at in await proposed(self._host, self._people):
            rows.append(_row(str(who), "proposed", origin, at))
        return rows

    async def approve(
        self,
        code: Annotated[str, typer.Argument(help="The person's code, or CHANNEL:USER.")],
        admin: Annotated[bool, typer.Option("--admin", help="As an admin.")] = False,
        auditor: Annotated[
            bool, typer.Option("--auditor", help="To read the audit and what was used alone.")
        ] = False,
    ) -> None:
        """Let a person in."""
        if admin and auditor:
            raise CommandError("--admin and --auditor exclude each other", 2)
        role = Role.ADMIN if admin else Role.AUDITOR if auditor else Role.MEMBER
        if ":" in code:
            who = _person(code)
            if who.user_id == EVERYBODY or not await self._door.let_in(who, TERMINAL, role):
                _stop(f"{on_one_line(code)} is blocked, or nobody; see hookline pairing list")
            _say(_let_in(code, role))
            return
        found = await self._door.approve(typed(code, PAIRING) or "", TERMINAL, role)
        if found is None:
            _stop(
                f"no open request has the code {on_one_line(code, 20)}; it is good for "
                f"{self._config.code_minutes:g} minutes. hookline pairing list shows who waits"
            )
        _say(_let_in(str(found.person), role))

    async def revoke(self, person: Who) -> None:
        """Forget a person."""
        who = _person(person)
        dropped = await self._people.drop(who)
        dropped |= await forget(self._host, who)
        listed = self._listed(who)
        still = f"{on_one_line(person)} is let in by {listed} in config.yaml; take it out there"
        if not dropped and listed is not None:
            _stop(still)
        if not dropped:
            _stop(f"{on_one_line(person)} is not known; hookline pairing list shows who is")
        _say(f"What pairing knew of {on_one_line(person)} is forgotten.")
        if listed is not None:
            _say(still)
        if not await self._people.has_admin():
            _say("Nobody is admin now; hookline pairing claim makes a code for the next one.")

    def _listed(self, who: Person) -> str | None:
        if self._config.is_admin(who.place, who.user_id):
            return "access.admins"
        if self._config.is_auditor(who.place, who.user_id):
            return "access.auditors"
        return "access.allow" if self._config.allows(who.place, who.user_id) else None

    async def block(self, person: Who) -> None:
        """Never let a person in, whatever access.allow says."""
        who = _person(person)
        if self._config.is_admin(who.place, who.user_id):
            _stop(f"{on_one_line(person)} is admin by config.yaml; take it out of access.admins")
        await self._people.put(who, Role.BLOCKED, TERMINAL)
        _say(f"{on_one_line(person)} is blocked; hookline pairing revoke takes it back.")

    async def claim(self) -> None:
        """Print a code that makes whoever sends it first the first admin."""
        if await self._people.has_admin():
            _stop("there is an admin already, who can let people in by /pair")
        code = await self._claims.make()
        _say(f"{shown(code)}\nGood for {self._config.claim_minutes:g} minutes, once.")

    async def log(
        self,
        limit: Annotated[int, typer.Option(min=1, max=LOGGED, help="Entries.")] = 50,
        json: Json = False,
    ) -> None:
        """What was asked for and decided."""
        rows = await self._host.storage.fetch("newest_log", limit=limit)
        if json:
            _say(jsonlib.dumps([dict(row) for row in rows], ensure_ascii=False))
            return
        for row in rows:
            what = on_one_line(row["what"])
            _say(f"{_day(row['at'])}  {on_one_line(row['person'])}  {what}")


def _row(person: str, role: str, by: str, since: float | None, code: str = "") -> dict[str, Any]:
    return {"person": person, "role": str(role), "by": by, "since": since, "code": code}


def _person(text: str) -> Person:
    person = Person.parse(text)
    if person is None or not person.can_be_known:
        _stop(f"{on_one_line(text)} is no person; write CHANNEL:USER, such as telegram:111")
    return person


def _day(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


def _stop(text: str) -> NoReturn:
    sys.stderr.write(f"hookline: {text}\n")
    raise SystemExit(1)


def _let_in(person: str, role: Role) -> str:
    name = on_one_line(person)
    if role is Role.AUDITOR:
        return f"{name} may read the audit and what was used now, and nothing else."
    return f"{name} may write now, and has to write again."
