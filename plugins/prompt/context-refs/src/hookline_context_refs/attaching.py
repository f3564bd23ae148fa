"""Resolves the references of a message and builds the context block of its turn."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from hookline_hookspecs import Context, HooklineError, Origin, Refused, merge_origins
from hookline_hookspecs.file_origins import origins_of

from .changes import load_commits, load_diff, load_staged
from .decoding import shortened
from .found import Found, Sources, Unresolved
from .grammar import Reference
from .local import load_file, load_folder
from .web import load_url

Load = Callable[[Reference, Sources], Awaitable[Found]]
_LOADS: Mapping[str, Load] = {
    "file": load_file,
    "folder": load_folder,
    "diff": load_diff,
    "staged": load_staged,
    "git": load_commits,
    "url": load_url,
}
AT_ONCE = 8
"""References that are looked up at the same time."""


@dataclass(slots=True)
class Attached:
    """What a turn gets: ``(reference, text)`` pairs, where they came from, and warnings about what
    it does not get."""

    items: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    """Each that is attached, with its lines, for the person."""
    origins: tuple[Origin, ...] = ()


async def attach(
    ctx: Context, found: Sequence[Reference], sources: Sources, window: int
) -> Attached:
    """Look up ``found``, pass each text through the gate, and keep to the share of ``window``.

    ``window`` is the model's, in tokens. Nothing is raised for a reference: it gets a warning.
    """
    limit = sources.config.max_references
    outcomes = await _load_all(found[:limit], sources, ctx.log)
    attached, budget = Attached(), _Budget(window, sources.config.refuse_share)
    seen: set[Hashable] = set()
    for reference, outcome in zip(found, outcomes, strict=False):
        try:
            if isinstance(outcome, HooklineError):
                raise outcome
            if outcome.key in seen:
                continue
            seen.add(outcome.key)
            text = await ctx.read(outcome.text, outcome.source, "reference")
            text = f"{text}\n{outcome.note}".lstrip("\n") if outcome.note else text
            budget.take(text)
        except HooklineError as reason:
            attached.warnings.append(f"{shortened(reference.raw)} is not attached: {reason}")
        else:
            attached.items.append((reference.raw, text))
            attached.told.append(_told(reference, outcome))
            files = await origins_of(ctx.host, outcome.files) if outcome.files else ()
            attached.origins = merge_origins(attached.origins, outcome.origins, files)
            attached.warnings += outcome.warnings
    if len(found) > limit:
        attached.warnings.append(
            f"only the first {limit} of {len(found)} references are looked at "
            "(max_references of the plugin context-refs)"
        )
    if budget.used > window * sources.config.warn_share:
        attached.warnings.append(
            f"the references take about {budget.used} tokens, {budget.used / window:.0%} of the "
            "model's window; name parts of files, as in @file:path:1-200, to save room"
        )
    return attached


class _Budget:
    """The budget of all texts together, in tokens (a quarter of the characters as sent)."""

    def __init__(self, window: int, share: float) -> None:
        self._window = window
        self._share = share
        self.used = 0

    def take(self, text: str) -> None:
        """Count ``text``. Raises ``Unresolved``, and counts nothing, if there is no room."""
        cost = -(-len(escape(text, quote=False)) // 4)
        if self.used + cost > self._window * self._share:
            raise Unresolved(
                f"its {cost} tokens would take the references of this message over "
                f"{self._share:.0%} of the model's window of {self._window} tokens; "
                "name a part of it, as in @file:path:1-200"
            )
        self.used += cost


async def _load_all(
    found: Sequence[Reference], sources: Sources, log: logging.Logger
) -> list[Found | HooklineError]:
    """Return each reference's outcome, in order; those that take too long are abandoned."""
    turns = asyncio.Semaphore(AT_ONCE)
    tasks = [asyncio.create_task(_load(one, sources, turns, log)) for one in found]
    seconds = sources.config.total_seconds
    try:
        await asyncio.wait(tasks, timeout=seconds)
        late = Unresolved(f"looking it up took longer than {seconds:g} s")
        return [task.result() if task.done() else late for task in tasks]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _load(
    reference: Reference, sources: Sources, turns: asyncio.Semaphore, log: logging.Logger
) -> Found | HooklineError:
    if reference.problem:
        return Unresolved(reference.problem)
    async with turns:
        try:
            return await _LOADS[reference.kind](reference, sources)
        except HooklineError as error:
            return error
        except OSError as error:
            return Refused(error.strerror or str(error))
        except Exception as error:
            # Whatever the error is, the other references and the turn continue.
            log.warning("%s failed", reference.raw, exc_info=error)
            return Unresolved(f"an unexpected error came up ({type(error).__name__})")


def _told(reference: Reference, found: Found) -> str:
    name, lines = shortened(reference.raw.removeprefix("@")), len(found.text.splitlines())
    if not lines:
        return name  # a picture, or something empty
    return f"{name} ({lines} line{'' if lines == 1 else 's'})"
