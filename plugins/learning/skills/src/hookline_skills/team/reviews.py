"""What a reviewer does: approve, reject or take over a proposal; roll back or revoke a version."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from hookline_hookspecs.audit import note
from hookline_teamskills import Ledger, Signer, StoreUnreachable, TeamEntry, Version, digests, merge
from hookline_teamskills.team_store import Files

from ..folders import place_folder
from ..parts import SkillParts
from ..records import ChangeSource
from .proposal_checks import ProposalRefused, script_files
from .proposals import PlannedEntries, TeamActionFailed, append_planned, next_number, now_micros
from .team_skills import TeamSkills, entry_origins, require_team


@dataclass(frozen=True, slots=True)
class ProposalReview:
    """A proposal as a reviewer sees it.

    ``files`` are what an approval would publish, ``diff`` their difference from the team's newest
    version, ``head``. ``blocked_by`` is why it cannot be approved, empty if it can. ``scripts`` are
    the paths of programs. ``merged`` is true if ``files`` were merged with ``head``.
    """

    version: Version
    head: int
    files: Files
    diff: str
    blocked_by: str
    scripts: tuple[str, ...]
    merged: bool


async def open_reviews(parts: SkillParts) -> list[ProposalReview]:
    """Return all open proposals. Raises ``StoreUnreachable``."""
    team = require_team(parts.team)
    await team.read()
    found = [await _review(parts, team, version) for version in team.ledger.open_proposals()]
    for one in found:
        await asyncio.to_thread(team.state.mark_shown, one.version.name, one.version.number)
    return found


async def approve(
    parts: SkillParts,
    proposal: str,
    show: Callable[[ProposalReview], None],
    confirm_scripts: Callable[[ProposalReview], bool],
) -> str:
    """Sign a proposal; return a sentence for the person.

    Args:
        proposal: a skill's name, or ``NAME@NUMBER``.
        show: called with the review before anything is decided.
        confirm_scripts: asks a person about a proposal with scripts.

    Raises:
        HooklineError: it cannot be approved; the text says why.
    """
    team = require_team(parts.team)
    signer = _reviewer(team)
    await team.read()
    version = _pick(team.ledger, proposal)
    review = await _review(parts, team, version)
    show(review)
    if version.proposal.key == signer.key:
        raise TeamActionFailed("you proposed it; another reviewer must approve it")
    seen = await asyncio.to_thread(team.state.shown_version, version.name)
    await asyncio.to_thread(team.state.mark_shown, version.name, version.number)
    if seen and seen < version.number and "@" not in proposal:
        raise TeamActionFailed(
            f"version {version.number} was proposed since you last looked; it is shown above. "
            f"Approve it with --approve {version.name}@{version.number}"
        )
    if review.blocked_by:
        note(parts.host, "skill", version.name, "refused", detail=_audit_detail(version, signer))
        raise ProposalRefused(f"version {version.number} cannot be approved: {review.blocked_by}")
    if review.scripts and not confirm_scripts(review):
        raise TeamActionFailed("it contains scripts, so a person must confirm it at a terminal")

    def plan(ledger: Ledger) -> PlannedEntries:
        still = ledger.version(version.name, version.number)
        if still is None or still.state != "proposed" or ledger.head(version.name) != review.head:
            raise TeamActionFailed("the team's skills changed meanwhile; review it again")
        return _approval(ledger, signer, review)

    note(
        parts.host,
        "skill",
        version.name,
        "approved",
        detail=_audit_detail(version, signer),
        approver=f"team:{signer.name}",
    )
    return await _append_decision(team, version.name, plan)


async def reject(parts: SkillParts, proposal: str, why: str) -> str:
    """Reject a proposal; ``why`` is stored. Raises ``HooklineError``."""
    team = require_team(parts.team)
    signer = team.signer()
    await team.read()
    version = _pick(team.ledger, proposal)
    if version.proposal.key != signer.key:
        _reviewer(team)

    def plan(ledger: Ledger) -> PlannedEntries:
        _pick(ledger, f"{version.name}@{version.number}")
        entry = signer.sign(replace(version.proposal, kind="rejected", at=now_micros(), why=why))
        return [entry], {}, f"Rejected {version.name} version {version.number}."

    note(parts.host, "skill", version.name, "rejected", detail=_audit_detail(version, signer, why))
    return await _append_decision(team, version.name, plan)


async def take_over(parts: SkillParts, proposal: str) -> str:
    """Copy a proposal, or else the team's version, into this home to change and propose it.

    Raises:
        HooklineError: there is neither, or a skill is in the way.
    """
    team = require_team(parts.team)
    await team.read()
    version = team.ledger.active(proposal)
    if version is None or any(v.name == proposal for v in team.ledger.open_proposals()):
        version = _pick(team.ledger, proposal)
    name, root = version.name, parts.root
    if version.state == "approved":
        files: Files = await team.files(version)
    else:
        review = await _review(parts, team, version)
        files = review.files
        if not files:
            raise TeamActionFailed(review.blocked_by)
    if (root / name).exists():
        raise TeamActionFailed(f"you already have a skill {name}; archive it first")
    async with parts.editor.locked():
        source = ChangeSource("person", origins=entry_origins(version.proposal))
        await parts.history.record(name, {}, files, "take over", source)
        await asyncio.to_thread(root.mkdir, 0o700, True, True)
        await asyncio.to_thread(place_folder, root, name, files)
        await asyncio.to_thread(team.state.keep_draft, name, team.ledger.head(name))
        await asyncio.to_thread(team.state.set_base, name, team.ledger.head(name))
    return (
        f"Copied version {version.number} to {root / name}. Change it, then run "
        f"`hookline skills propose {name}`; another reviewer approves it."
    )


async def roll_back(parts: SkillParts, name: str, to: int | None) -> str:
    """Make a new version with the files of an approved one. Raises ``HooklineError``."""
    team = require_team(parts.team)
    signer = _reviewer(team)
    await team.read()
    target = _earlier(team.ledger, name, to)
    files = await team.files(target)
    await parts.proposal_checks.check(name, files, entry_origins(target.proposal))
    own = target.proposal.author_key == signer.key

    def plan(ledger: Ledger) -> PlannedEntries:
        number = next_number(ledger, name)
        author = (signer.name, signer.key) if own else _author(target)
        entry = replace(
            target.proposal, number=number, kind="proposed", at=now_micros(),
            parent=ledger.head(name), action="rollback", of=target.number,
            author=author[0], author_key=author[1],
        )  # fmt: skip
        if own:
            result = (
                f"Proposed {name} version {number}, with the files of version {target.number}. "
                "They are yours, so another reviewer must approve them."
            )
            return [signer.sign(entry)], {number: files}, result
        both = [signer.sign(entry), signer.sign(replace(entry, kind="approved"))]
        result = f"{name} version {number} has the files of version {target.number}."
        return both, {number: files}, result

    note(parts.host, "skill", name, "rolled back", detail=_audit_detail(target, signer))
    return await append_planned(team, plan)


async def revoke(parts: SkillParts, name: str, why: str) -> str:
    """Stop the whole team from loading a skill. Raises ``HooklineError``."""
    team = require_team(parts.team)
    signer = _reviewer(team)

    def plan(ledger: Ledger) -> PlannedEntries:
        head = ledger.version(name, ledger.head(name))
        if head is None:
            raise TeamActionFailed(f"the team has no approved skill {name!r}")
        if head.state == "revoked":
            raise TeamActionFailed(f"{name} version {head.number} was revoked by {head.reviewer}")
        entry = signer.sign(replace(head.proposal, kind="revoked", at=now_micros(), why=why))
        result = (
            f"Revoked {name} version {head.number}; each home stops loading it at its next message."
        )
        return [entry], {}, result

    detail = {"by": signer.name, "key": signer.key, "why": why}
    note(parts.host, "skill", name, "revoked", detail=detail)
    return await append_planned(team, plan)


# Shared steps


async def _append_decision(
    team: TeamSkills, name: str, plan: Callable[[Ledger], PlannedEntries]
) -> str:
    result = await append_planned(team, plan)
    await asyncio.to_thread(team.state.mark_shown, name, 0)
    return result


def _reviewer(team: TeamSkills) -> Signer:
    """This home's member. Raises ``TeamActionFailed`` if its key is not trusted."""
    signer = team.signer()
    if not team.trusts(signer.key):
        raise TeamActionFailed(
            f"your key {signer.key} is not in plugins.skills.trust, so no home would load what you "
            "sign; ask the administrator of the team's homes to add it"
        )
    return signer


def _pick(ledger: Ledger, proposal: str) -> Version:
    """The open proposal ``NAME`` or ``NAME@NUMBER``. Raises ``TeamActionFailed``."""
    name, _, number = proposal.partition("@")
    found = [v for v in ledger.open_proposals() if v.name == name and number in ("", str(v.number))]
    if not found:
        others = [v for v in ledger.versions(name) if number in ("", str(v.number))]
        hint = f"; version {others[-1].number} is {others[-1].state}" if others else ""
        raise TeamActionFailed(f"no proposal {proposal!r}{hint}")
    if len(found) > 1:
        several = ", ".join(f"{v.name}@{v.number} by {v.proposal.author}" for v in found)
        raise TeamActionFailed(f"there are several proposals; choose one: {several}")
    return found[0]


def _earlier(ledger: Ledger, name: str, to: int | None) -> Version:
    head = ledger.head(name)
    approved = [v for v in ledger.versions(name) if v.state == "approved" and v.number != head]
    if to is not None:
        approved = [v for v in approved if v.number == to]
    if not approved:
        which = f"version {to} of {name!r}" if to is not None else f"earlier version of {name!r}"
        raise TeamActionFailed(f"no approved {which}; `hookline skills log {name}` lists them")
    return approved[-1]


def _author(version: Version) -> tuple[str, str]:
    return version.proposal.author, version.proposal.author_key


async def _review(parts: SkillParts, team: TeamSkills, version: Version) -> ProposalReview:
    """Merge a proposal with the team's newest version, and check it in this home."""
    proposal, name = version.proposal, version.name
    head = team.ledger.head(name)
    files: Mapping[str, bytes] = {}
    before: Mapping[str, bytes] = {}
    blocked_by = ""
    try:
        files = await team.files(version)
        top = team.ledger.version(name, head)
        before = await team.files(top) if top is not None else {}
        if head and proposal.parent != head:
            files, blocked_by = await _merge_with_head(team, version, before, files)
        if not blocked_by:
            await parts.proposal_checks.check(name, files, entry_origins(proposal))
    except (TeamActionFailed, ProposalRefused, StoreUnreachable) as error:
        blocked_by = str(error)
    return ProposalReview(
        version, head, files, diff(before, files), blocked_by, tuple(script_files(files)),
        merged=dict(proposal.files) != digests(files),
    )  # fmt: skip


async def _merge_with_head(
    team: TeamSkills, version: Version, head: Files, files: Files
) -> tuple[Files, str]:
    was = team.ledger.version(version.name, version.proposal.parent)
    base = await team.files(was) if was is not None else {}
    merged = await asyncio.to_thread(merge, base, head, files)
    if merged.conflicts:
        return files, (
            f"it changes the same lines of {', '.join(merged.conflicts)} as the team's version "
            f"{team.ledger.head(version.name)}: reject it, so that its author merges them, or take "
            "it over with --change"
        )
    if merged.files == dict(head):
        return merged.files, "the team's version already contains all of it; reject it"
    return merged.files, ""


def _approval(ledger: Ledger, signer: Signer, review: ProposalReview) -> PlannedEntries:
    proposal, name = review.version.proposal, review.version.name
    if not review.merged:
        entry = replace(proposal, kind="approved", at=now_micros())
        result = f"Approved {name} version {proposal.number}, signed by {signer.name}."
        return [signer.sign(entry)], {}, result
    number = next_number(ledger, name)
    merge_entry = TeamEntry(
        name, number, "proposed", now_micros(), "", "", proposal.author, proposal.key, review.head,
        digests(review.files), proposal.origins, "merge", proposal.number,
    )  # fmt: skip
    result = (
        f"Approved {name} version {number}: version {proposal.number} merged with version "
        f"{review.head}, signed by {signer.name}."
    )
    both = [signer.sign(merge_entry), signer.sign(replace(merge_entry, kind="approved"))]
    return both, {number: review.files}, result


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


def _audit_detail(version: Version, signer: Signer, why: str = "") -> dict[str, object]:
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
