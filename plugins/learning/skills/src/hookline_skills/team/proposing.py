"""A skill of one's own, offered to the team."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from hookline_hookspecs import Context, HooklineError, crash, origins_to_json
from hookline_hookspecs.audit import note
from hookline_teamskills import Entry, Ledger, Moved, Unreachable, Version, digests, merge
from hookline_teamskills.store import Files

from ..editing import MAIN
from ..history import snapshot
from ..parts import Parts
from .shared import Team, need

TRIES = 10
"""How often a change is made anew because somebody else was first."""
Plan = tuple[Sequence[Entry], dict[int, Files], str]
"""Entries, files of new versions by number, and what a person is told."""


class NotDone(HooklineError):
    """A step is not possible; a sentence that says what to do."""


async def add(team: Team, plan: Callable[[Ledger], Plan]) -> str:
    """Add what ``plan`` makes of the store as it is; what it tells.

    Raises:
        Unreachable: the store cannot be written.
        NotDone: others were faster each time; and what ``plan`` raises.
    """
    for attempt in range(TRIES):
        tip = await team.read()
        entries, files, told = plan(team.ledger)
        crash.point("team-before-append")
        try:
            await team.store.append(tip, entries, files)
        except Moved:
            await asyncio.sleep(0.05 * attempt)
            continue
        crash.point("team-after-append")
        await team.refresh(now=True)
        return told
    raise NotDone("others change the team's skills all the time; try again in a minute")


async def propose(parts: Parts, name: str, *, onto: int = 0, ctx: Context | None = None) -> str:
    """Offer a skill of this home to the team; what a person is told.

    ``onto`` says that it takes this version of the team's into account.

    Raises:
        HooklineError: it cannot be offered; the sentence says why.
    """
    team = need(parts.team)
    await team.read()
    skill = parts.library.find(name)
    if skill is None or skill.plugin or skill.team:
        raise NotDone(_no_draft(parts, name))
    name = skill.name
    if skill.file != MAIN:
        raise NotDone(f"rename {name}/{skill.file} to {MAIN} first")
    files = await asyncio.to_thread(snapshot, skill.folder)
    origins = (await parts.authors.known()).get(name, ())
    await parts.doors.check(name, files, origins, ctx)
    signer = team.signer()
    base = onto or base_of(team, name)
    await refuse_conflict(team, name, files, base, onto)
    wanted = digests(files)
    pairs = tuple((kind, source) for kind, source in origins_to_json(origins))

    def plan(ledger: Ledger) -> Plan:
        _refuse_same(ledger, name, wanted)
        number = next_number(ledger, name)
        whose = (signer.name, signer.key)
        entry = Entry(
            name, number, "proposed", now(), *whose, *whose, base, files=wanted, origins=pairs
        )
        older = [v for v in ledger.open() if v.name == name and v.proposal.key == signer.key]
        gone = [
            replace(v.proposal, kind="rejected", at=now(), why=f"version {number} replaces it")
            for v in older
        ]
        signed = [signer.sign(one) for one in (entry, *gone)]
        told = f"Proposed {name} version {number} to the team; a reviewer who is not you decides."
        return signed, {number: files}, told

    audit = {"author": signer.name, "key": signer.key, "files": wanted, "parent": base}
    note(parts.host, "skill", name, "proposed", detail=audit, ctx=ctx)
    return await add(team, plan)


def base_of(team: Team, name: str) -> int:
    """The newest version of the team's that this home's own skill is made from; 0 for none."""
    key = team.signer().key
    own = [
        v.number
        for v in team.ledger.versions(name)
        if v.proposal.author_key == key
        and v.proposal.action != "merge"
        and v.state in ("approved", "merged", "revoked")
    ]
    return max([team.memory.base(name), *own])


async def refuse_conflict(team: Team, name: str, files: Files, base: int, onto: int) -> None:
    """Raise ``NotDone`` if what is offered cannot be joined with what the team has."""
    ledger = team.ledger
    head = ledger.head(name)
    if onto and onto != head:
        raise NotDone(f"the team's newest version of {name} is {head or 'none'}, not {onto}")
    top = ledger.version(name, head)
    if top is None or base == head:
        return
    was = ledger.version(name, base)
    merged = merge(await team.files(was) if was is not None else {}, await team.files(top), files)
    if merged.conflicts:
        raise NotDone(
            f"version {head} of {name}, by {top.proposal.author}, changes the same lines of "
            f"{', '.join(merged.conflicts)}. Read it (`hookline skills log {name} --version "
            f"{head}`), bring yours in line with it, then propose it with --onto {head}"
        )


def next_number(ledger: Ledger, name: str) -> int:
    """The number of the next version."""
    return max((v.number for v in ledger.versions(name)), default=0) + 1


def now() -> int:
    """Unix time in microseconds."""
    return time.time_ns() // 1000


def _no_draft(parts: Parts, name: str) -> str:
    skill = parts.library.find(name)
    if skill is None:
        return f"there is no skill {name!r} here"
    if skill.plugin:
        return f"{skill.name} comes with the plugin {skill.plugin}; there is nothing to propose"
    return f"{skill.name} is the team's version {skill.team} already, and nothing here differs"


def _refuse_same(ledger: Ledger, name: str, files: dict[str, str]) -> None:
    """Raise ``NotDone`` if the team has these files already."""
    same = [v for v in ledger.versions(name) if dict(v.proposal.files) == files]
    for version in same:
        if version.state == "proposed":
            raise NotDone(f"{name} is proposed already, as version {version.number}")
        if version.state == "revoked":
            raise NotDone(f"this is version {version.number}, which was revoked: {version.why}")


__all__ = ["NotDone", "Unreachable", "Version", "add", "propose"]
