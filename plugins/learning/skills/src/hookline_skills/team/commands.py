"""Share skills with a team: its commands under ``hookline skills``."""

from __future__ import annotations

import datetime as dt
import json as jsonlib
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from hookline_hookspecs import HooklineError
from hookline_hookspecs.cli import confirm, with_plugin

if TYPE_CHECKING:
    from hookline_teamskills import Version

    from ..plugin import Skills
    from .reviews import ProposalReview

EXIT_FAILED, EXIT_USAGE = 1, 2
Name = Annotated[str, typer.Argument(metavar="NAME", help="The skill's name.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Why = Annotated[str, typer.Option("--why", metavar="TEXT", help="The reason.")]
WHICH = "NAME, or NAME@VERSION if several are proposed."


app = typer.Typer()


@app.command("propose")
@with_plugin
async def propose_skill(
    plugin: Skills,
    name: Name,
    onto: Annotated[
        int, typer.Option(metavar="N", help="The team's version that yours is based on.")
    ] = 0,
) -> None:
    """Propose a skill to the team."""
    from .proposals import propose

    _print(await _or_fail(propose(plugin.parts, name, onto=onto)))


@app.command("review")
@with_plugin
async def review(
    plugin: Skills,
    approve: Annotated[
        str, typer.Option(metavar="NAME", help=f"The proposal to approve: {WHICH}")
    ] = "",
    reject: Annotated[
        str, typer.Option(metavar="NAME", help=f"The proposal to reject: {WHICH} Needs --why.")
    ] = "",
    change: Annotated[
        str, typer.Option(metavar="NAME", help="Copy this proposal to your own skills to edit it.")
    ] = "",
    why: Why = "",
    json: Json = False,
) -> None:
    """Show proposals as diffs, or approve, reject or edit one."""
    from . import reviews

    if sum(map(bool, (approve, reject, change))) > 1 or (bool(reject) and not why.strip()):
        typer.echo("use one of --approve, --change, or --reject with --why", err=True)
        raise SystemExit(EXIT_USAGE)
    parts = plugin.parts
    if approve:
        _print(await _or_fail(reviews.approve(parts, approve, _show, _confirm_scripts)))
    elif reject:
        _print(await _or_fail(reviews.reject(parts, reject, why.strip())))
    elif change:
        _print(await _or_fail(reviews.take_over(parts, change)))
    else:
        found = await _or_fail(reviews.open_reviews(parts))
        if json:
            _print(jsonlib.dumps([_row(skill) for skill in found], ensure_ascii=False))
            return
        for one in found:
            _show(one)
        _print(_advice(found))


@app.command("rollback")
@with_plugin
async def rollback(
    plugin: Skills,
    name: Name,
    to: Annotated[int | None, typer.Option(metavar="N", help="The version to return to.")] = None,
) -> None:
    """Roll the whole team back to an approved version. Default: the previous one."""
    from .reviews import roll_back

    _print(await _or_fail(roll_back(plugin.parts, name, to)))


@app.command("revoke")
@with_plugin
async def revoke_skill(plugin: Skills, name: Name, why: Why = "") -> None:
    """Stop the whole team from loading a skill. Takes effect with the next message."""
    from .reviews import revoke

    _print(await _or_fail(revoke(plugin.parts, name, why.strip())))


@app.command("log")
@with_plugin
async def log(
    plugin: Skills,
    name: Name,
    version: Annotated[int | None, typer.Option(help="Print the text of this version.")] = None,
    json: Json = False,
) -> None:
    """List the team's versions of a skill, oldest first, with the one loaded here."""
    await _or_fail(_log(plugin, name, version, json))


async def _log(plugin: Skills, name: str, number: int | None, json: bool) -> None:
    from ..editor import MAIN_FILE
    from .proposals import base_version
    from .team_skills import require_team

    team = require_team(plugin.parts.team)
    await team.read()
    versions = team.ledger.versions(name)
    if number is not None:
        chosen = team.ledger.version(name, number)
        if chosen is None:
            raise HooklineError(f"no version {number} of {name!r}")
        files = await team.files(chosen)
        _print(files.get(MAIN_FILE, b"").decode("utf-8", "replace"))
        return
    own = plugin.parts.library.skills().get(name)
    draft = own is not None and not own.plugin and not own.team
    if not versions and not draft:
        raise HooklineError(f"neither the team nor this home has a skill {name!r}")
    rows = [_version_row(version) for version in versions]
    if draft:
        rows.append({**dict.fromkeys(rows[0] if rows else _VERSION_FIELDS, ""), "state": "draft"})
        rows[-1] |= {"version": 0, "parent": base_version(team, name)}
    if json:
        _print(jsonlib.dumps(rows, ensure_ascii=False))
        return
    for row in rows:
        _print(_version_line(row))
    here = plugin.parts.library.left_out().get(name, "")
    if draft:
        _print("Loaded here: the draft in skills/, instead of the team's version.")
    elif own is not None and own.team:
        _print(f"Loaded here: version {own.team}.")
    else:
        _print(f"Loaded here: none; {here}." if here else "Loaded here: none.")


@app.command("key")
@with_plugin
async def key(
    plugin: Skills,
    name: Annotated[str, typer.Option(metavar="NAME", help="Your name, shown to the team.")] = "",
    json: Json = False,
) -> None:
    """Print your public key, for others' plugins.skills.trust."""
    from .team_skills import open_signer

    signer = await _or_fail(open_signer(plugin.parts.host, name))
    found = {"name": signer.name, "key": signer.key}
    _print(jsonlib.dumps(found, ensure_ascii=False) if json else signer.key)


_VERSION_FIELDS = (
    "version",
    "state",
    "author",
    "reviewer",
    "why",
    "at",
    "parent",
    "into",
    "action",
)


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
        return f"-  draft, based on version {row['parent']}" if row["parent"] else "-  draft"
    words = [f"{row['version']}  {_time(row['at'])}  {row['state']}"]
    words += [f"into {row['into']}"] if row["into"] else []
    words += [f"by {row['author']}"]
    words += [f"{row['action']}"] if row["action"] != "propose" else []
    words += [f"reviewer {row['reviewer']}"] if row["reviewer"] else []
    return "  ".join(words) + (f"  ({row['why']})" if row["why"] else "")


def _row(review: ProposalReview) -> dict[str, Any]:
    row = _version_row(review.version)
    return {
        "name": review.version.name,
        **{key: row[key] for key in ("version", "author", "at", "parent")},
        "head": review.head,
        "diff": review.diff,
        "closed": review.blocked_by,
        "scripts": list(review.scripts),
    }


def _show(review: ProposalReview) -> None:
    """Print a proposal for a person."""
    version, proposal = review.version, review.version.proposal
    key = f"{proposal.key[:12]}…"
    _print(f"{version.name} version {version.number}, by {proposal.author} ({key})")
    base = f"based on version {proposal.parent}" if proposal.parent else "a new skill"
    _print(f"  {_time(proposal.at / 1e6)}, {base}")
    if review.merged:
        _print(f"  merged with the team's version {review.head}")
    for kind, source in proposal.origins:
        if kind in ("outside", "person"):
            _print(f"  contains text from {source or kind}")
    for path in review.scripts:
        _print(f"  contains a script: {path}")
    _print(f"\n{review.diff or 'no difference'}\n")
    if review.blocked_by:
        _print(f"It cannot be approved: {review.blocked_by}\n")


def _advice(found: list[ProposalReview]) -> str:
    if not found:
        return "There are no proposals."
    name = found[-1].version.name
    return (
        f"hookline skills review --approve {name}, --reject {name} --why TEXT, or --change {name}"
    )


def _confirm_scripts(review: ProposalReview) -> bool:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    scripts = ", ".join(review.scripts)
    return confirm(
        f"It contains scripts ({_clean(scripts)}). Have you read them, and do you approve?"
    )


def _time(at: float) -> str:
    return dt.datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")


def _clean(text: str) -> str:
    """Escape control characters, so that other members' text cannot control the terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\u{ord(c):04x}" for c in text)


def _print(text: str) -> None:
    typer.echo(_clean(text))


async def _or_fail(work: Any) -> Any:
    try:
        return await work
    except (HooklineError, LookupError, OSError) as error:
        typer.echo(_clean(str(error)), err=True)
        raise SystemExit(EXIT_FAILED) from error
