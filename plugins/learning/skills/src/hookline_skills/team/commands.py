"""``hookline skills propose``, ``review``, ``rollback``, ``revoke``, ``log`` and ``key``.

Imported when the command line is built, because of Typer.
"""

from __future__ import annotations

import datetime as dt
import json as jsonlib
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from hookline_hookspecs import HooklineError
from hookline_hookspecs.hooks.boot import RegisterCli

from ..parts import Parts

if TYPE_CHECKING:
    from hookline_teamskills import Version

    from .reviewing import Change

FAILED, USAGE = 1, 2
Name = Annotated[str, typer.Argument(metavar="NAME", help="The skill.")]
Json = Annotated[bool, typer.Option("--json", help="JSON.")]
Why = Annotated[str, typer.Option("--why", metavar="TEXT", help="The reason.")]
WHICH = "NAME, or NAME@VERSION where several are proposed."


def register_team(parts: Parts, register: RegisterCli) -> None:
    """Register the commands of the group ``hookline skills`` that are about the team."""
    named = TeamCommands(parts)
    for name, run, text in (
        ("propose", named.propose, "Offer a skill to the team."),
        ("review", named.review, "See what is proposed; approve, reject or take over."),
        ("rollback", named.rollback, "Bring back an approved version for the whole team."),
        ("revoke", named.revoke, "Have no home of the team load a skill any more."),
        ("log", named.log, "The team's versions of a skill: author, reviewer, state."),
        ("key", named.key, "Your public key, for the others' plugins.skills.trust."),
    ):
        register(f"skills {name}", run, help=text)


class TeamCommands:
    """One method for each command, called by its name."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def propose(
        self,
        name: Name,
        onto: Annotated[
            int, typer.Option(metavar="N", help="It takes the team's version N into account.")
        ] = 0,
    ) -> None:
        """Offer a skill to the team."""
        from .proposing import propose

        _print(await _or_fail(propose(self._parts, name, onto=onto)))

    async def review(
        self,
        approve: Annotated[str, typer.Option(metavar="NAME", help=WHICH)] = "",
        reject: Annotated[str, typer.Option(metavar="NAME", help=f"{WHICH} Needs --why.")] = "",
        change: Annotated[
            str, typer.Option(metavar="NAME", help="Make it a skill of yours, to change it.")
        ] = "",
        why: Why = "",
        json: Json = False,
    ) -> None:
        """Everything that is proposed, as diffs; or what becomes of one."""
        from . import reviewing

        if sum(map(bool, (approve, reject, change))) > 1 or (bool(reject) and not why.strip()):
            typer.echo("say one of --approve, --change, and --reject with --why", err=True)
            raise SystemExit(USAGE)
        parts = self._parts
        if approve:
            _print(await _or_fail(reviewing.approve(parts, approve, _show, _sure)))
        elif reject:
            _print(await _or_fail(reviewing.reject(parts, reject, why.strip())))
        elif change:
            _print(await _or_fail(reviewing.take_over(parts, change)))
        else:
            found = await _or_fail(reviewing.changes(parts))
            if json:
                _print(jsonlib.dumps([_row(one) for one in found], ensure_ascii=False))
                return
            for one in found:
                _show(one)
            _print(_advice(found))

    async def rollback(
        self,
        name: Name,
        to: Annotated[int | None, typer.Option(metavar="N", help="Which version.")] = None,
    ) -> None:
        """A new version with the files of an approved one; by default of the one before."""
        from .reviewing import roll_back

        _print(await _or_fail(roll_back(self._parts, name, to)))

    async def revoke(self, name: Name, why: Why = "") -> None:
        """Have no home load it from its next message on."""
        from .reviewing import revoke

        _print(await _or_fail(revoke(self._parts, name, why.strip())))

    async def log(
        self,
        name: Name,
        version: Annotated[int | None, typer.Option(help="The text of this version.")] = None,
        json: Json = False,
    ) -> None:
        """Every version, oldest first, and what is loaded here."""
        await _or_fail(self._log(name, version, json))

    async def _log(self, name: str, number: int | None, json: bool) -> None:
        from ..editing import MAIN
        from .proposing import base_of
        from .shared import need

        team = need(self._parts.team)
        await team.read()
        versions = team.ledger.versions(name)
        if number is not None:
            chosen = team.ledger.version(name, number)
            if chosen is None:
                raise HooklineError(f"there is no version {number} of {name!r}")
            files = await team.files(chosen)
            _print(files.get(MAIN, b"").decode("utf-8", "replace"))
            return
        own = self._parts.library.skills().get(name)
        draft = own is not None and not own.plugin and not own.team
        if not versions and not draft:
            raise HooklineError(f"the team has no skill {name!r}, and there is none here")
        rows = [_version_row(one) for one in versions]
        if draft:
            rows.append({**dict.fromkeys(rows[0] if rows else _EMPTY, ""), "state": "draft"})
            rows[-1] |= {"version": 0, "parent": base_of(team, name)}
        if json:
            _print(jsonlib.dumps(rows, ensure_ascii=False))
            return
        for row in rows:
            _print(_version_line(row))
        here = self._parts.library.left_out().get(name, "")
        if draft:
            _print("Loaded here: the draft in skills/, which lies over the team's.")
        elif own is not None and own.team:
            _print(f"Loaded here: version {own.team}.")
        else:
            _print(f"Loaded here: none; {here}." if here else "Loaded here: none.")

    async def key(
        self,
        name: Annotated[str, typer.Option(metavar="NAME", help="What others call you.")] = "",
        json: Json = False,
    ) -> None:
        """Your public key; made when it is first asked for."""
        from .shared import signer_of

        signer = await _or_fail(signer_of(self._parts.host, name))
        found = {"name": signer.name, "key": signer.key}
        _print(jsonlib.dumps(found, ensure_ascii=False) if json else signer.key)


_EMPTY = ("version", "state", "author", "reviewer", "why", "at", "parent", "into", "action")


def _version_row(version: Version) -> dict[str, Any]:
    proposal = version.proposal
    return {
        "version": version.number,
        "state": version.state,
        "author": proposal.author,
        "reviewer": version.reviewer,
        "why": version.why,
        "at": proposal.at / 1e6,
        "parent": proposal.parent,
        "into": version.into,
        "action": proposal.action,
    }


def _version_line(row: dict[str, Any]) -> str:
    if row["state"] == "draft":
        return f"-  draft, made from version {row['parent']}" if row["parent"] else "-  draft"
    words = [f"{row['version']}  {_time(row['at'])}  {row['state']}"]
    words += [f"into {row['into']}"] if row["into"] else []
    words += [f"by {row['author']}"]
    words += [f"{row['action']}"] if row["action"] != "propose" else []
    words += [f"reviewer {row['reviewer']}"] if row["reviewer"] else []
    return "  ".join(words) + (f"  ({row['why']})" if row["why"] else "")


def _row(change: Change) -> dict[str, Any]:
    row = _version_row(change.version)
    return {
        "name": change.version.name,
        **{key: row[key] for key in ("version", "author", "at", "parent")},
        "head": change.head,
        "diff": change.diff,
        "closed": change.closed,
        "scripts": list(change.scripts),
    }


def _show(change: Change) -> None:
    """A proposal as a person reads it."""
    version, proposal = change.version, change.version.proposal
    key = f"{proposal.key[:12]}…"
    _print(f"{version.name} version {version.number}, by {proposal.author} ({key})")
    made_from = f"version {proposal.parent}" if proposal.parent else "nothing of the team's"
    _print(f"  {_time(proposal.at / 1e6)}, made from {made_from}")
    if change.merged:
        _print(f"  joined with the team's version {change.head}")
    for kind, source in proposal.origins:
        if kind in ("outside", "person"):
            _print(f"  made from words of {source or kind}")
    for path in change.scripts:
        _print(f"  holds a script: {path}")
    _print(f"\n{change.diff or 'nothing differs'}\n")
    if change.closed:
        _print(f"It cannot be approved: {change.closed}\n")


def _advice(found: list[Change]) -> str:
    if not found:
        return "Nothing is proposed."
    name = found[-1].version.name
    return (
        f"hookline skills review --approve {name}, --reject {name} --why TEXT, or --change {name}"
    )


def _sure(change: Change) -> bool:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    scripts = ", ".join(change.scripts)
    return typer.confirm(f"It holds scripts ({_clean(scripts)}). Have you read them, and approve?")


def _time(at: float) -> str:
    return dt.datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")


def _clean(text: str) -> str:
    """What somebody else wrote cannot steer a terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\u{ord(c):04x}" for c in text)


def _print(text: str) -> None:
    typer.echo(_clean(text))


async def _or_fail(work: Any) -> Any:
    try:
        return await work
    except (HooklineError, LookupError, OSError) as error:
        typer.echo(_clean(str(error)), err=True)
        raise SystemExit(FAILED) from error
