"""Approve pairing requests, and manage who has access.

``hookline pairing``.
"""

from __future__ import annotations

import json as jsonlib
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from hookline_hookspecs import CommandError
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.cli import with_plugin

from .codes import PAIRING_CODE_CHARS, format_code, parse_code
from .config import EVERYBODY
from .people import MAX_LOG_ENTRIES, Person, Role, choose_role
from .person_importer import forget_proposal, list_proposals
from .texts import on_one_line

if TYPE_CHECKING:
    from .plugin import AccessControl


Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Who = Annotated[str, typer.Argument(metavar="PERSON", help="CHANNEL:USER, such as telegram:111.")]

app = typer.Typer(no_args_is_help=True)


@app.command("list")
@with_plugin
async def list_people(plugin: AccessControl, json: Json = False) -> None:
    """List everyone with access and all pairing requests."""
    rows = await _rows(plugin)
    if json:
        _say(jsonlib.dumps(rows, ensure_ascii=False))
        return
    for row in rows:
        code = f"  code {row['code']}" if row["code"] else ""
        when = f"  since {_day(row['since'])}" if row["since"] else ""
        who, by = on_one_line(row["person"]), on_one_line(row["by"])
        _say(f"{row['role']:<8} {who}  by {by}{when}{code}")
    if not rows:
        _say("No one is known yet. Run `hookline pairing claim` to make yourself the first admin.")


async def _rows(plugin: AccessControl) -> Sequence[dict[str, Any]]:
    """People and requests: ``person role by since code``; times are Unix seconds."""
    by_role = zip((Role.ADMIN, Role.MEMBER, Role.AUDITOR), plugin.config.named, strict=True)
    config = [(role, person) for role, named in by_role for person in named]
    rows = [_row(person, role, "config.yaml", None) for role, person in config]
    for one in await plugin.host.storage.fetch("people"):
        person = str(Person(one["channel"], one["user_id"]))
        rows.append(_row(person, one["role"], one["by_whom"], one["since"]))
    for request in await plugin.pairing.waiting():
        person = str(request.person)
        rows.append(_row(person, "waiting", "itself", request.opened, request.code))
    for who, origin, at in await list_proposals(plugin.host, plugin.people):
        rows.append(_row(str(who), "proposed", origin, at))
    return rows


@app.command("approve")
@with_plugin
async def approve(
    plugin: AccessControl,
    code: Annotated[str, typer.Argument(help="The person's pairing code, or CHANNEL:USER.")],
    admin: Annotated[bool, typer.Option("--admin", help="Make them an admin.")] = False,
    auditor: Annotated[
        bool, typer.Option("--auditor", help="Allow only reading the audit log and usage.")
    ] = False,
) -> None:
    """Approve a person's pairing request."""
    if admin and auditor:
        raise CommandError("--admin and --auditor cannot be combined", 2)
    role = choose_role(admin=admin, auditor=auditor)
    if ":" in code:
        who = _person(code)
        if who.user_id == EVERYBODY or not await plugin.pairing.let_in(who, TERMINAL, role):
            _stop(f"{on_one_line(code)} is blocked or not one person. See `hookline pairing list`")
        _say(_let_in(code, role))
        return
    found = await plugin.pairing.approve(parse_code(code, PAIRING_CODE_CHARS) or "", TERMINAL, role)
    if found is None:
        _stop(
            f"no open request has the code {on_one_line(code, 20)}. A code is valid for "
            f"{plugin.config.code_minutes:g} minutes. `hookline pairing list` shows who is waiting"
        )
    _say(_let_in(str(found.person), role))


@app.command("revoke")
@with_plugin
async def revoke(plugin: AccessControl, person: Who) -> None:
    """Revoke a person's access."""
    who = _person(person)
    dropped = await plugin.people.drop(who)
    dropped |= await forget_proposal(plugin.host, who)
    listed = _listed(plugin, who)
    still = f"{on_one_line(person)} is let in by {listed} in config.yaml. Remove the entry there"
    if not dropped and listed is not None:
        _stop(still)
    if not dropped:
        _stop(f"{on_one_line(person)} is not known. `hookline pairing list` shows everyone who is")
    _say(f"{on_one_line(person)} is forgotten.")
    if listed is not None:
        _say(still)
    if not await plugin.people.has_admin():
        _say("No admin is left. Run `hookline pairing claim` to make one.")


def _listed(plugin: AccessControl, who: Person) -> str | None:
    if plugin.config.is_admin(who.place, who.user_id):
        return "access.admins"
    if plugin.config.is_auditor(who.place, who.user_id):
        return "access.auditors"
    return "access.allow" if plugin.config.allows(who.place, who.user_id) else None


@app.command("block")
@with_plugin
async def block(plugin: AccessControl, person: Who) -> None:
    """Block a person, even one listed in access.allow."""
    who = _person(person)
    if plugin.config.is_admin(who.place, who.user_id):
        _stop(
            f"{on_one_line(person)} is an admin in config.yaml. Remove the entry in access.admins"
        )
    await plugin.people.put(who, Role.BLOCKED, TERMINAL)
    _say(f"{on_one_line(person)} is blocked. `hookline pairing revoke` undoes this.")


@app.command("claim")
@with_plugin
async def claim(plugin: AccessControl) -> None:
    """Print a code that makes the first person to send it the admin."""
    if await plugin.people.has_admin():
        _stop("there is already an admin, who can let people in with /pair")
    code = await plugin.claims.make()
    _say(f"{format_code(code)}\nWorks once, within {plugin.config.claim_minutes:g} minutes.")


@app.command("log")
@with_plugin
async def log(
    plugin: AccessControl,
    limit: Annotated[
        int, typer.Option(min=1, max=MAX_LOG_ENTRIES, help="Maximum number of entries.")
    ] = 50,
    json: Json = False,
) -> None:
    """Show pairing requests and decisions, newest first."""
    rows = await plugin.host.storage.fetch("newest_log", limit=limit)
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
        _stop(f"{on_one_line(text)} is not a person. Write CHANNEL:USER, such as telegram:111")
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
        return f"{name} may now read the audit log and usage, and nothing else."
    return f"{name} may write now. They have to send their message again."
