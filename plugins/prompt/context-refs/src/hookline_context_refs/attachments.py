"""Resolves the references of a message and builds the context block of its turn."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from hookline_hookspecs import Context, HooklineError, Origin, Refused, merge_origins
from hookline_hookspecs.file_origins import origins_of

from .all_changes import load_changes
from .changes import load_commits, load_diff, load_staged
from .decoding import shorten
from .grammar import Reference
from .local import load_file, load_folder
from .reference_content import ReferenceContent, ReferenceSources, UnresolvedReference
from .web import load_url

LoadReference = Callable[[Reference, ReferenceSources], Awaitable[ReferenceContent]]
_LOADERS: Mapping[str, LoadReference] = {
    "file": load_file,
    "folder": load_folder,
    "diff": load_diff,
    "staged": load_staged,
    "changes": load_changes,
    "git": load_commits,
    "url": load_url,
}
MAX_CONCURRENT_LOADS = 8
"""References that are loaded at the same time."""


@dataclass(slots=True)
class AttachedReferences:
    """The attached references of a turn.

    ``items`` are ``(reference, text)`` pairs, ``origins`` says where the texts came from,
    ``warnings`` what could not be attached. ``summaries`` names each attached reference and its
    number of lines, for the person.
    """

    items: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    summaries: list[str] = field(default_factory=list)
    origins: tuple[Origin, ...] = ()


async def attach(
    ctx: Context, found: Sequence[Reference], sources: ReferenceSources, window: int
) -> AttachedReferences:
    """Load each reference of ``found``, pass its text through ``pre_read``, and stay within the
    share of ``window``, which is the model's, in tokens. A reference that fails becomes a warning.
    """
    limit = sources.config.max_references
    outcomes = await _load_all(found[:limit], sources, ctx.log)
    attached, budget = AttachedReferences(), _Budget(window, sources.config.refuse_share)
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
            attached.warnings.append(f"{shorten(reference.raw)} is not attached: {reason}")
        else:
            attached.items.append((reference.raw, text))
            attached.summaries.append(_summary(reference, outcome))
            files = await origins_of(ctx.host, outcome.files) if outcome.files else ()
            attached.origins = merge_origins(attached.origins, outcome.origins, files)
            attached.warnings += outcome.warnings
    if len(found) > limit:
        attached.warnings.append(
            f"only the first {limit} of {len(found)} references are attached "
            "(max_references of the plugin context-refs)"
        )
    if budget.used > window * sources.config.warn_share:
        attached.warnings.append(
            f"the references take about {budget.used} tokens, {budget.used / window:.0%} of the "
            "model's window; name parts of files, as in @file:path:1-200, to save room"
        )
    return attached


class _Budget:
    """Token budget of all texts together; tokens are a quarter of the characters as sent."""

    def __init__(self, window: int, share: float) -> None:
        self._window = window
        self._share = share
        self.used = 0

    def take(self, text: str) -> None:
        """Count ``text``. Raises ``UnresolvedReference`` if it does not fit; it is then not
        counted."""
        cost = -(-len(escape(text, quote=False)) // 4)
        if self.used + cost > self._window * self._share:
            raise UnresolvedReference(
                f"its {cost} tokens would take the references of this message over "
                f"{self._share:.0%} of the model's window of {self._window} tokens; "
                "name a part of it, as in @file:path:1-200"
            )
        self.used += cost


async def _load_all(
    found: Sequence[Reference], sources: ReferenceSources, log: logging.Logger
) -> list[ReferenceContent | HooklineError]:
    """Return the content or error of each reference, in order; slow ones are abandoned."""
    slots = asyncio.Semaphore(MAX_CONCURRENT_LOADS)
    tasks = [asyncio.create_task(_load(reference, sources, slots, log)) for reference in found]
    seconds = sources.config.total_seconds
    try:
        await asyncio.wait(tasks, timeout=seconds)
        late = UnresolvedReference(f"loading it took longer than {seconds:g} s")
        return [task.result() if task.done() else late for task in tasks]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _load(
    reference: Reference, sources: ReferenceSources, slots: asyncio.Semaphore, log: logging.Logger
) -> ReferenceContent | HooklineError:
    if reference.problem:
        return UnresolvedReference(reference.problem)
    async with slots:
        try:
            return await _LOADERS[reference.kind](reference, sources)
        except HooklineError as error:
            return error
        except OSError as error:
            return Refused(error.strerror or str(error))
        except Exception as error:
            # Whatever the error is, the other references and the turn continue.
            log.warning("%s failed", reference.raw, exc_info=error)
            return UnresolvedReference(f"an unexpected error occurred ({type(error).__name__})")


def _summary(reference: Reference, found: ReferenceContent) -> str:
    name, lines = shorten(reference.raw.removeprefix("@")), len(found.text.splitlines())
    if not lines:
        return name  # a picture, or something empty
    return f"{name} ({lines} line{'' if lines == 1 else 's'})"
