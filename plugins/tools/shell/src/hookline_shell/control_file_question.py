"""Asks a person about files that a command made, and that programs or agents follow later.

They were put aside after the command, with the caution that ``write_file`` takes: what a person
allows is put in place, everything else stays away.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from hookline_hookspecs import Question
from hookline_hookspecs.questions import ALLOW_ONCE, DENY
from hookline_sandbox.control_files import Changes, PutAside

if TYPE_CHECKING:
    from hookline_hookspecs import Context, Mode
    from hookline_sandbox import Places
    from hookline_sandbox.control_file_guard import ControlFileGuard
    from hookline_sandbox.kept_trees import KeptEntry

MAX_PREVIEW_CHARS = 20_000
"""Characters of a change that is asked about: it must be shown whole."""
MAX_LISTED_NAMES = 8


async def settle(
    ctx: Context, guard: ControlFileGuard, places: Places, changes: Changes, mode: Mode | None
) -> tuple[str, ...]:
    """Ask about what was put aside, and put in place what is allowed.

    Return notes for the model.
    """
    notes = []
    if changes.undone:
        notes.append(f"put back, because only a person may change it: {listed(changes.undone)}")
    if changes.aside:
        notes.append(await _settle_aside(ctx, guard, places, changes.aside, mode))
    return tuple(notes)


async def _settle_aside(
    ctx: Context,
    guard: ControlFileGuard,
    places: Places,
    aside: Sequence[PutAside],
    mode: Mode | None,
) -> str:
    names = listed([each.shown for each in aside])
    reason = await _refusal(ctx, places, aside, mode)
    if reason:
        return f"not kept, because programs or agents follow it, and {reason}: {names}"
    failed = [each.shown for each in aside if not await guard.put_in_place(places, each)]
    if failed:
        return f"not kept, because it was changed meanwhile: {listed(failed)}"
    return f"kept, as a person allowed it: {names}"


async def _refusal(
    ctx: Context, places: Places, aside: Sequence[PutAside], mode: Mode | None
) -> str:
    """Return why the files are not kept; empty if a person, or ``--yes``, allows them."""
    if mode == "yolo" or ctx.approval == "no":
        return "nobody is here to allow it; write_file asks"
    if ctx.approval == "yes":
        is_tainted = any(origin.kind in ("outside", "person") for origin in ctx.origins)
        return "the conversation has read text from outside" if is_tainted else ""
    shown = "\n".join(line for each in aside for line in _lines(each))
    if len(shown) > MAX_PREVIEW_CHARS or "\0" in shown:
        return "it cannot be shown whole; write_file asks about one file"
    question = Question(
        text="Keep what the command made? Programs or agents follow it.",
        choices=(ALLOW_ONCE, DENY),
        preview=shown,
        kind="approval",
        reason="; ".join(dict.fromkeys(_reason(places, each) for each in aside)),
    )
    answer = await ctx.ask(question)
    if answer is None:
        return "nobody answered; write_file asks"
    return "" if answer == ALLOW_ONCE else "the person did not allow it"


def _reason(places: Places, aside: PutAside) -> str:
    what = places.protection(aside.path) or "decides what other programs follow"
    return f"{aside.shown} {what}"


def _lines(aside: PutAside) -> Iterator[str]:
    """Yield the change of one file, link or folder as a diff."""
    for below in sorted({*(aside.before or {}), *aside.after}):
        before, after = (tree.get(below) for tree in (aside.before or {}, aside.after))
        if before == after or "folder" in (before or after or aside.after[""]).kind:
            continue
        name = f"{aside.shown}/{below}" if below else aside.shown
        old, new = _text(before), _text(after)
        label = "/dev/null" if before is None else name
        yield from difflib.unified_diff(old, new, label, name + _kind(after), lineterm="")
        if old == new:
            yield f"--- {label}"
            yield f"+++ {name}{_kind(after)}"


def _kind(entry: KeptEntry | None) -> str:
    if entry is None:
        return " (deleted)"
    if entry.kind == "link":
        return " (link)"
    return " (executable)" if entry.mode & 0o111 else ""


def _text(entry: KeptEntry | None) -> list[str]:
    """Return the lines; a NUL character stands for what is not text, which cannot be shown."""
    if entry is None:
        return []
    try:
        return entry.data.decode("utf-8").splitlines()
    except UnicodeDecodeError:
        return ["\0"]


def listed(names: Sequence[str]) -> str:
    """Return the first names as a list."""
    more = len(names) - MAX_LISTED_NAMES
    return ", ".join(names[:MAX_LISTED_NAMES]) + (f" and {more} more" if more > 0 else "")
