"""Texts for people: lists of snapshots, results of rewinds, and differences."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from hookline_hookspecs.sentences import N_
from hookline_hookspecs.web import tn

from .owned_plan import OwnedPlan
from .ownership import Owner
from .rewind import RewindResult
from .store import SavedSnapshot

MAX_NAMED_PATHS = 30
"""Paths that an answer names; the rest are only counted."""
HASH_CHARS = 10
TITLE_CHARS = 60
_SPACE = re.compile(r"\s+")
USAGE = N_(
    "/rewind HASH goes back (with files, all, conversation, both or history), /rewind HASH -- PATH "
    "puts back one file or folder, /rewind diff HASH shows what has changed since."
)
NOTHING = N_("Nothing was put back.")
NO_COMMIT_IS_LOST = N_("No commit is lost: what is replaced is kept under refs/before-rewind/.")
OWNER_HEADINGS: Mapping[Owner, str] = {
    "agent": N_("Changed by the agent, put back:"),
    "other": N_("Not changed by the agent, left as it is:"),
    "both": N_("Changed by the agent and by someone else, left unless you say otherwise:"),
}
OWNER_REASONS: Mapping[Owner, str] = {
    "agent": N_("changed by the agent"),
    "other": N_("not changed by the agent"),
    "both": N_("changed by the agent and by someone else"),
}


def clock(saved: SavedSnapshot) -> str:
    """Return when a snapshot was taken, in local time."""
    return datetime.fromtimestamp(saved.time).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def title_of(text: str) -> str:
    """Return the beginning of a message, on one line."""
    line = _SPACE.sub(" ", text).strip()
    line = "".join(char for char in line if char.isprintable())
    return line if len(line) <= TITLE_CHARS else line[: TITLE_CHARS - 1] + "…"


def name(path: str) -> str:
    """Return a path for display, with unprintable characters escaped."""
    if path.isprintable():
        return path
    escaped = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in escaped)


def listed(
    found: Sequence[SavedSnapshot],
    counts: Mapping[str, Mapping[str, int]],
    workspace: str,
    lost: Collection[str],
) -> str:
    """Return the list that ``/rewind`` shows; ``counts`` are changes by commit, ``lost`` are those
    after which a repository lost some of its history."""
    lines = [
        f"{N_('Checkpoints of this chat, newest first; ± is what changed until the next.')} {USAGE}"
    ]
    for saved in found:
        count = counts.get(saved.commit)
        changed = ""
        if count is not None:
            edits = count["M"] + count["T"]
            changed = f"  +{count['A']} ~{edits} -{count['D']}"
        if saved.commit in lost:
            changed += "  history changed"
        where = "" if str(saved.folder) == workspace else f"  in {name(str(saved.folder))}"
        title = saved.title or "(no words)"
        lines.append(f"{saved.commit[:HASH_CHARS]}  {clock(saved)}{changed}  {title}{where}")
    return "\n".join(lines)


def offered(target: SavedSnapshot, files: OwnedPlan, turns: int) -> str:
    """Return what a rewind would do, in groups by who changed the files."""
    lines = []
    for owner, heading in OWNER_HEADINGS.items():
        if paths := files.paths(owner):
            lines += [heading, *signed(paths)]
    if turns:
        lines.append(
            tn(
                "The conversation loses {n} turn; files can be restored again.",
                "The conversation loses {n} turns; files can be restored again.",
                turns,
            )
        )
    hash_ = target.commit[:HASH_CHARS]
    lines.append(N_(f"Without a question: /rewind {hash_} files, all, conversation or both"))
    return "\n".join(lines)


def signed(paths: Mapping[str, str]) -> list[str]:
    """Return a line for each path: + created, ~ changed or − deleted since."""
    lines = [f"  {sign} {name(path)}" for path, sign in paths.items()]
    if len(lines) > MAX_NAMED_PATHS:
        lines[MAX_NAMED_PATHS:] = [f"  … and {len(lines) - MAX_NAMED_PATHS} more"]
    return lines


def rewound(
    target: SavedSnapshot, within: str, done: RewindResult, left: Mapping[str, Owner], undo: str
) -> str:
    """Return what a rewind did, what it ``left`` because others changed it, and how to undo it."""
    what = name(within) if within else "The files"
    verb = "is" if within else "are"
    restored, removed = len(set(done.restored)), len(done.removed)
    lines = [
        f"{what} {verb} back as of {clock(target)}, before “{target.title}”: "
        f"{counted(restored, 'file')} restored, {counted(removed, 'file')} removed."
    ]
    if not restored and not removed:
        lines = [f"{what} {verb} as of {clock(target)} already; nothing was changed."]
        if left or done.skipped:
            lines = [N_(f"Nothing that the agent changed differs from {clock(target)}.")]
    if done.removed:
        lines.append(N_(f"Removed, because they were created since: {_names(done.removed)}"))
    reasons = done.skipped | {path: OWNER_REASONS[owner] for path, owner in left.items()}
    for reason, paths in _by_reason(reasons).items():
        lines.append(N_(f"Left as it is ({reason}): {_names(paths)}"))
    if left:
        lines.append(N_(f"To put these back too: /rewind {target.commit[:HASH_CHARS]} all"))
    lines.append(N_(f"To undo this: /rewind {undo[:HASH_CHARS]}"))
    return "\n".join(lines)


def history_lost(target: SavedSnapshot, lines: Sequence[str]) -> str:
    """Return what a repository lost, which was not restored, and how to restore it."""
    hash_ = target.commit[:HASH_CHARS]
    head = N_("The history of the repository has changed since, and was left as it is:")
    return "\n".join((head, *lines, N_(f"To restore it: /rewind {hash_} history")))


def history_problem(reason: str) -> str:
    """Return why it is unknown what a repository lost."""
    return N_(f"The history of the repository cannot be compared: {reason}.")


def choice_hint(target: SavedSnapshot) -> str:
    """Return how to restore without a question."""
    hash_ = target.commit[:HASH_CHARS]
    return N_(f"/rewind {hash_} files, all, conversation or both does it without a question.")


def elsewhere(target: SavedSnapshot, session: str) -> str:
    """Return why the conversation cannot go back to a checkpoint."""
    of = str(target.about.get("session", ""))
    if of and of != session:
        return N_(f"That checkpoint is of session {of}; /resume {of} goes there first.")
    return N_("The turn of that checkpoint is not in this conversation.")


def undo_hint(saved: SavedSnapshot) -> str:
    """Return how to restore the files of a turn that was removed from the conversation."""
    return N_(
        "The files that it changed stay as they are; "
        f"/rewind {saved.commit[:HASH_CHARS]} files puts them back."
    )


def interrupted(target: str, undo: str) -> str:
    """Return how to finish or undo an interrupted rewind."""
    return N_(
        f"A rewind was interrupted: /rewind {target[:HASH_CHARS]} completes it, "
        f"/rewind {undo[:HASH_CHARS]} undoes it."
    )


def model_notice(target: SavedSnapshot, within: str, done: RewindResult) -> str:
    """Return the notice for the model at its next turn."""
    what = name(within) if within else f"The files in {name(str(target.folder))}"
    return (
        f"{what} were put back by the person to how they were at {clock(target)}, before the turn "
        f"“{target.title}”: {counted(len(set(done.restored)), 'file')} restored, "
        f"{counted(len(done.removed), 'file')} removed. What you changed since then is gone from "
        "disk; read a file again before you edit it."
    )


def difference(target: SavedSnapshot, patch: str, whole: bool, modes: Sequence[str]) -> str:
    """Return the answer to ``/rewind diff``."""
    head = N_(f"What has changed since {clock(target)}, before “{target.title}”:")
    parts = [*modes]
    if patch:
        fence = "`" * (1 + max(2, *map(len, re.findall("`+", patch)), 0))
        parts.append(f"{fence}diff\n{patch.rstrip()}\n{fence}")
    if not whole:
        parts.append(N_("(shortened: the diff is longer)"))
    return "\n".join([head, *parts]) if parts else N_(f"Nothing has changed since {clock(target)}.")


def _names(paths: Iterable[str]) -> str:
    names = [name(path) for path in sorted(paths)]
    more = f" and {len(names) - MAX_NAMED_PATHS} more" if len(names) > MAX_NAMED_PATHS else ""
    return ", ".join(names[:MAX_NAMED_PATHS]) + more


def _by_reason(skipped: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path, reason in skipped.items():
        found.setdefault(reason, []).append(path)
    return found


def counted(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
