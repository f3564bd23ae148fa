"""What a reviewer does: looks at the change, and approves, takes over or rejects it; and what is
done with what was approved: it is brought back, or revoked."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from hookline_hookspecs.audit import note
from hookline_teamskills import Entry, Ledger, Signer, Unreachable, Version, digests, merge
from hookline_teamskills.store import Files

from ..editing import place
from ..parts import Parts
from ..records import Source
from .doors import DoorClosed, has_scripts
from .proposing import NotDone, Plan, add, next_number, now
from .shared import Team, need, origins_of


@dataclass(frozen=True, slots=True)
class Change:
    """A proposal as a reviewer sees it.

    ``diff`` is from the team's newest version, ``head``, to ``files``, which are what an approval
    would make of it. ``closed`` is why it cannot be approved; ``scripts`` are files that are run.
    """

    version: Version
    head: int
    files: Files
    diff: str
    closed: str
    scripts: tuple[str, ...]
    merged: bool


async def changes(parts: Parts) -> list[Change]:
    """Everything that waits for a reviewer. Raises ``Unreachable``."""
    team = need(parts.team)
    await team.read()
    found = [await _change(parts, team, version) for version in team.ledger.open()]
    for one in found:
        await asyncio.to_thread(team.memory.show, one.version.name, one.version.number)
    return found


async def approve(
    parts: Parts, wanted: str, show: Callable[[Change], None], sure: Callable[[Change], bool]
) -> str:
    """Sign a proposal; what a person is told.

    Args:
        wanted: a skill's name, or ``NAME@NUMBER``.
        show: is given the change before anything else happens.
        sure: asks a person, where it holds scripts.

    Raises:
        HooklineError: it cannot be approved; the sentence says why.
    """
    team = need(parts.team)
    signer = _reviewer(team)
    await team.read()
    version = _pick(team.ledger, wanted)
    change = await _change(parts, team, version)
    show(change)
    if version.proposal.key == signer.key:
        raise NotDone("you have proposed it yourself; somebody else has to approve it")
    seen = await asyncio.to_thread(team.memory.shown, version.name)
    await asyncio.to_thread(team.memory.show, version.name, version.number)
    if seen and seen < version.number and "@" not in wanted:
        raise NotDone(
            f"since you looked, version {version.number} has been proposed; it is shown above. "
            f"Approve it with --approve {version.name}@{version.number}"
        )
    if change.closed:
        note(parts.host, "skill", version.name, "refused", detail=_told(version, signer))
        raise DoorClosed(f"version {version.number} cannot be approved: {change.closed}")
    if change.scripts and not sure(change):
        raise NotDone("it holds scripts, so a person has to say yes at a terminal")

    def plan(ledger: Ledger) -> Plan:
        still = ledger.version(version.name, version.number)
        if still is None or still.state != "proposed" or ledger.head(version.name) != change.head:
            raise NotDone("the team's skills have changed meanwhile; look at it again")
        return _approval(ledger, signer, change)

    note(
        parts.host,
        "skill",
        version.name,
        "approved",
        detail=_told(version, signer),
        approver=f"team:{signer.name}",
    )
    return await _decided(team, version.name, plan)


async def reject(parts: Parts, wanted: str, why: str) -> str:
    """Refuse a proposal, with the reason. Raises ``HooklineError``."""
    team = need(parts.team)
    signer = team.signer()
    await team.read()
    version = _pick(team.ledger, wanted)
    if version.proposal.key != signer.key:
        _reviewer(team)

    def plan(ledger: Ledger) -> Plan:
        _pick(ledger, f"{version.name}@{version.number}")
        entry = signer.sign(replace(version.proposal, kind="rejected", at=now(), why=why))
        return [entry], {}, f"Rejected {version.name} version {version.number}."

    note(parts.host, "skill", version.name, "rejected", detail=_told(version, signer, why))
    return await _decided(team, version.name, plan)


async def take_over(parts: Parts, wanted: str) -> str:
    """Make a proposal, or without one the team's version, one's own skill, to be changed and
    proposed. Raises ``HooklineError``."""
    team = need(parts.team)
    await team.read()
    version = team.ledger.active(wanted)
    if version is None or any(v.name == wanted for v in team.ledger.open()):
        version = _pick(team.ledger, wanted)
    name, root = version.name, parts.root
    if version.state == "approved":
        files: Files = await team.files(version)
    else:
        change = await _change(parts, team, version)
        files = change.files
        if not files:
            raise NotDone(change.closed)
    if (root / name).exists():
        raise NotDone(f"there is a skill {name} of yours in the way; archive it first")
    async with parts.editor.locked():
        source = Source("person", origins=origins_of(version.proposal))
        await parts.history.add(name, {}, files, "take over", source)
        await asyncio.to_thread(root.mkdir, 0o700, True, True)
        await asyncio.to_thread(place, root, name, files)
        await asyncio.to_thread(team.memory.keep, name, team.ledger.head(name))
        await asyncio.to_thread(team.memory.set_base, name, team.ledger.head(name))
    return (
        f"{root / name} holds version {version.number} now, as a skill of your own. Change "
        f"it, then `hookline skills propose {name}`; another reviewer approves it."
    )


async def roll_back(parts: Parts, name: str, to: int | None) -> str:
    """Make a new version with the files of an approved one. Raises ``HooklineError``."""
    team = need(parts.team)
    signer = _reviewer(team)
    await team.read()
    target = _earlier(team.ledger, name, to)
    files = await team.files(target)
    await parts.doors.check(name, files, origins_of(target.proposal))
    own = target.proposal.author_key == signer.key

    def plan(ledger: Ledger) -> Plan:
        number = next_number(ledger, name)
        author = (signer.name, signer.key) if own else _author(target)
        entry = replace(
            target.proposal, number=number, kind="proposed", at=now(), parent=ledger.head(name),
            action="rollback", of=target.number, author=author[0], author_key=author[1],
        )  # fmt: skip
        if own:
            told = (
                f"Proposed {name} version {number}, with the files of version {target.number}: "
                "they are yours, so another reviewer decides."
            )
            return [signer.sign(entry)], {number: files}, told
        both = [signer.sign(entry), signer.sign(replace(entry, kind="approved"))]
        told = f"{name} version {number} has the files of version {target.number}."
        return both, {number: files}, told

    note(parts.host, "skill", name, "rolled back", detail=_told(target, signer))
    return await add(team, plan)


async def revoke(parts: Parts, name: str, why: str) -> str:
    """Have no home load a skill any more. Raises ``HooklineError``."""
    team = need(parts.team)
    signer = _reviewer(team)

    def plan(ledger: Ledger) -> Plan:
        head = ledger.version(name, ledger.head(name))
        if head is None:
            raise NotDone(f"the team has approved no skill {name!r}")
        if head.state == "revoked":
            raise NotDone(f"{name} version {head.number} was revoked by {head.reviewer}")
        entry = signer.sign(replace(head.proposal, kind="revoked", at=now(), why=why))
        told = (
            f"Revoked {name} version {head.number}: no home of the team loads it from its next "
            "message on."
        )
        return [entry], {}, told

    detail = {"by": signer.name, "key": signer.key, "why": why}
    note(parts.host, "skill", name, "revoked", detail=detail)
    return await add(team, plan)


# Parts


async def _decided(team: Team, name: str, plan: Callable[[Ledger], Plan]) -> str:
    told = await add(team, plan)
    await asyncio.to_thread(team.memory.show, name, 0)
    return told


def _reviewer(team: Team) -> Signer:
    """This home's member. Raises ``NotDone`` if its signature would count nowhere."""
    signer = team.signer()
    if not team.trusts(signer.key):
        raise NotDone(
            f"your key {signer.key} is not in plugins.skills.trust, so nobody would load what you "
            "sign; whoever administers the team's homes adds it there"
        )
    return signer


def _pick(ledger: Ledger, wanted: str) -> Version:
    """The open proposal that is meant. Raises ``NotDone``."""
    name, _, number = wanted.partition("@")
    found = [v for v in ledger.open() if v.name == name and number in ("", str(v.number))]
    if not found:
        odd = [v for v in ledger.versions(name) if number in ("", str(v.number))]
        said = f"; version {odd[-1].number} is {odd[-1].state}" if odd else ""
        raise NotDone(f"nothing is proposed of {wanted!r}{said}")
    if len(found) > 1:
        several = ", ".join(f"{v.name}@{v.number} by {v.proposal.author}" for v in found)
        raise NotDone(f"there are several proposals; say which: {several}")
    return found[0]


def _earlier(ledger: Ledger, name: str, to: int | None) -> Version:
    head = ledger.head(name)
    approved = [v for v in ledger.versions(name) if v.state == "approved" and v.number != head]
    if to is not None:
        approved = [v for v in approved if v.number == to]
    if not approved:
        which = f"version {to} of {name!r}" if to is not None else f"earlier version of {name!r}"
        raise NotDone(f"there is no approved {which}; `hookline skills log {name}` lists them")
    return approved[-1]


def _author(version: Version) -> tuple[str, str]:
    return version.proposal.author, version.proposal.author_key


async def _change(parts: Parts, team: Team, version: Version) -> Change:
    """A proposal joined with what the team has, and judged by the doors of this home."""
    proposal, name = version.proposal, version.name
    head = team.ledger.head(name)
    files: Mapping[str, bytes] = {}
    before: Mapping[str, bytes] = {}
    closed = ""
    try:
        files = await team.files(version)
        top = team.ledger.version(name, head)
        before = await team.files(top) if top is not None else {}
        if head and proposal.parent != head:
            files, closed = await _joined(team, version, before, files)
        if not closed:
            await parts.doors.check(name, files, origins_of(proposal))
    except (NotDone, DoorClosed, Unreachable) as error:
        closed = str(error)
    return Change(
        version, head, files, diff(before, files), closed, tuple(has_scripts(files)),
        merged=dict(proposal.files) != digests(files),
    )  # fmt: skip


async def _joined(team: Team, version: Version, head: Files, files: Files) -> tuple[Files, str]:
    was = team.ledger.version(version.name, version.proposal.parent)
    base = await team.files(was) if was is not None else {}
    merged = await asyncio.to_thread(merge, base, head, files)
    if merged.conflicts:
        return files, (
            f"it changes the same lines of {', '.join(merged.conflicts)} as the team's version "
            f"{team.ledger.head(version.name)}, and only a person can join them: reject it, so "
            "that its author does, or take it over with --change"
        )
    if merged.files == dict(head):
        return merged.files, "the team's version says all of it already; reject it"
    return merged.files, ""


def _approval(ledger: Ledger, signer: Signer, change: Change) -> Plan:
    proposal, name = change.version.proposal, change.version.name
    if not change.merged:
        entry = replace(proposal, kind="approved", at=now())
        told = f"Approved {name} version {proposal.number}, signed by {signer.name}."
        return [signer.sign(entry)], {}, told
    number = next_number(ledger, name)
    made = Entry(
        name, number, "proposed", now(), "", "", proposal.author, proposal.key, change.head,
        digests(change.files), proposal.origins, "merge", proposal.number,
    )  # fmt: skip
    told = (
        f"Approved {name} version {number}: version {proposal.number} joined with version "
        f"{change.head}, signed by {signer.name}."
    )
    both = [signer.sign(made), signer.sign(replace(made, kind="approved"))]
    return both, {number: change.files}, told


def diff(before: Files, after: Files) -> str:
    """The unified diff of all files that differ."""
    lines: list[str] = []
    for path in sorted({*before, *after}):
        old, new = before.get(path), after.get(path)
        if old == new:
            continue
        lines += difflib.unified_diff(
            (old or b"").decode("utf-8", "replace").splitlines(),
            (new or b"").decode("utf-8", "replace").splitlines(),
            f"a/{path}" if old is not None else "/dev/null",
            f"b/{path}" if new is not None else "/dev/null",
            lineterm="",
        )
    return "\n".join(lines)


def _told(version: Version, signer: Signer, why: str = "") -> dict[str, object]:
    proposal = version.proposal
    found: dict[str, object] = {
        "version": version.number,
        "author": proposal.author,
        "author_key": proposal.author_key,
        "reviewer": signer.name,
        "key": signer.key,
        "files": dict(proposal.files),
    }
    return {**found, "why": why} if why else found
