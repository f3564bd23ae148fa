"""Proposing this home's skills to the team, and adding entries to its store."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from hookline_hookspecs import Context, HooklineError, crash, origins_to_json
from hookline_hookspecs.audit import note
from hookline_teamskills import Ledger, StoreChanged, TeamEntry, digests, merge
from hookline_teamskills.team_store import Files

from ..editor import MAIN_FILE
from ..history import snapshot
from ..parts import SkillParts
from .team_skills import TeamSkills, require_team

MAX_ATTEMPTS = 10
"""Attempts to append if other members append at the same time."""
PlannedEntries = tuple[Sequence[TeamEntry], dict[int, Files], str]
"""Entries, files of new versions by number, and a sentence for the person."""


class TeamActionFailed(HooklineError):
    """An action is not possible; the text says why and what to do."""


async def append_planned(team: TeamSkills, plan: Callable[[Ledger], PlannedEntries]) -> str:
    """Append the entries that ``plan`` returns for the current ledger; return its sentence.

    Raises:
        StoreUnreachable: the store cannot be written.
        TeamActionFailed: other members were faster each time; also what ``plan`` raises.
    """
    for attempt in range(MAX_ATTEMPTS):
        tip = await team.read()
        entries, files, result = plan(team.ledger)
        crash.point("team-before-append")
        try:
            await team.store.append(tip, entries, files)
        except StoreChanged:
            await asyncio.sleep(0.05 * attempt)
            continue
        crash.point("team-after-append")
        await team.refresh(now=True)
        return result
    raise TeamActionFailed("the team's skills keep changing; try again in a minute")


async def propose(
    parts: SkillParts, name: str, *, onto: int = 0, ctx: Context | None = None
) -> str:
    """Propose a skill of this home to the team; return a sentence for the person.

    Args:
        onto: the team's version that the skill takes into account; 0 for the one it was made from.

    Raises:
        HooklineError: it cannot be proposed; the text says why.
    """
    team = require_team(parts.team)
    await team.read()
    skill = parts.library.find(name)
    if skill is None or skill.plugin or skill.team:
        raise TeamActionFailed(_no_draft(parts, name))
    name = skill.name
    if skill.file != MAIN_FILE:
        raise TeamActionFailed(f"rename {name}/{skill.file} to {MAIN_FILE} first")
    files = await asyncio.to_thread(snapshot, skill.folder)
    origins = (await parts.origins.by_name()).get(name, ())
    await parts.proposal_checks.check(name, files, origins, ctx)
    signer = team.signer()
    base = onto or base_version(team, name)
    await refuse_conflict(team, name, files, base, onto)
    hashes = digests(files)
    pairs = tuple((kind, source) for kind, source in origins_to_json(origins))

    def plan(ledger: Ledger) -> PlannedEntries:
        _refuse_same(ledger, name, hashes)
        number = next_number(ledger, name)
        member = (signer.name, signer.key)
        entry = TeamEntry(
            name, number, "proposed", now_micros(), *member, *member, base,
            files=hashes, origins=pairs,
        )  # fmt: skip
        older = [
            v for v in ledger.open_proposals() if v.name == name and v.proposal.key == signer.key
        ]
        replaced = [
            replace(
                v.proposal, kind="rejected", at=now_micros(), why=f"version {number} replaces it"
            )
            for v in older
        ]
        signed = [signer.sign(unsigned) for unsigned in (entry, *replaced)]
        result = f"Proposed {name} version {number} to the team; another member reviews it."
        return signed, {number: files}, result

    audit = {"author": signer.name, "key": signer.key, "files": hashes, "parent": base}
    note(parts.host, "skill", name, "proposed", detail=audit, ctx=ctx)
    return await append_planned(team, plan)


def base_version(team: TeamSkills, name: str) -> int:
    """The newest team version that this home's own skill was made from; 0 if none."""
    key = team.signer().key
    own = [
        v.number
        for v in team.ledger.versions(name)
        if v.proposal.author_key == key
        and v.proposal.action != "merge"
        and v.state in ("approved", "merged", "revoked")
    ]
    return max([team.state.base_version(name), *own])


async def refuse_conflict(team: TeamSkills, name: str, files: Files, base: int, onto: int) -> None:
    """Raise ``TeamActionFailed`` if ``files`` cannot be merged with the team's newest version."""
    ledger = team.ledger
    head = ledger.head(name)
    if onto and onto != head:
        raise TeamActionFailed(
            f"the team's newest version of {name} is {head or 'none'}, not {onto}"
        )
    top = ledger.version(name, head)
    if top is None or base == head:
        return
    was = ledger.version(name, base)
    merged = merge(await team.files(was) if was is not None else {}, await team.files(top), files)
    if merged.conflicts:
        raise TeamActionFailed(
            f"version {head} of {name}, by {top.proposal.author}, changes the same lines of "
            f"{', '.join(merged.conflicts)}. Read it (`hookline skills log {name} --version "
            f"{head}`), adapt yours, then propose it with --onto {head}"
        )


def next_number(ledger: Ledger, name: str) -> int:
    """The number of the next version."""
    return max((v.number for v in ledger.versions(name)), default=0) + 1


def now_micros() -> int:
    """Unix time in microseconds."""
    return time.time_ns() // 1000


def _no_draft(parts: SkillParts, name: str) -> str:
    skill = parts.library.find(name)
    if skill is None:
        return f"no skill {name!r} here"
    if skill.plugin:
        return f"{skill.name} comes with the plugin {skill.plugin} and cannot be proposed"
    return f"{skill.name} is already the team's version {skill.team}, unchanged here"


def _refuse_same(ledger: Ledger, name: str, files: dict[str, str]) -> None:
    """Raise ``TeamActionFailed`` if these files are proposed already or were revoked."""
    same = [v for v in ledger.versions(name) if dict(v.proposal.files) == files]
    for version in same:
        if version.state == "proposed":
            raise TeamActionFailed(f"{name} is already proposed, as version {version.number}")
        if version.state == "revoked":
            raise TeamActionFailed(
                f"this is version {version.number}, which was revoked: {version.why}"
            )
