"""What ``/diff`` and ``/review`` answer."""

from __future__ import annotations

import re
from importlib.resources import files

from hookline_hookspecs import Checkpoints, Context, HooklineError
from hookline_hookspecs.sentences import N_
from hookline_hookspecs.visible_text import spell_out

from .all_changes import has_changes, load_changes
from .decoding import cut_bytes
from .grammar import Reference
from .reference_content import ReferenceSources

CHECKPOINT = "checkpoint"
MAX_DIFF_BYTES = 24_000
"""Bytes of a difference that is shown to a person."""
_NAME = re.compile(r'[^"\r\n]{0,300}')


async def diff(ctx: Context, args: str, sources: ReferenceSources) -> str:
    """Return the changes of the workspace, or why there are none."""
    if args.casefold() == CHECKPOINT:
        checkpoints = ctx.host.services.get(Checkpoints)
        if checkpoints is None:
            return N_("The plugin checkpoints is off. Run `hookline plugins enable checkpoints`.")
        return await checkpoints.changes(ctx)
    if reason := await _nothing(args, sources):
        return reason
    try:
        found = await load_changes(Reference("changes", args, "@changes"), sources)
        patch = await ctx.read(found.text, "@changes", "reference")
    except HooklineError as error:
        return str(error)
    shown, note = cut_bytes(patch, MAX_DIFF_BYTES)
    lines = [*found.warnings, fenced(shown), note or found.note]
    return "\n".join(filter(None, lines))


async def review_prompt(args: str, sources: ReferenceSources) -> tuple[str, str]:
    """Return the message to the model for ``/review``, or a sentence why there is none."""
    if reason := await _nothing(args, sources):
        return "", reason
    text = files("hookline_context_refs").joinpath("review.md").read_text("utf-8").strip()
    reference = f'@changes:"{args}"' if args else "@changes"
    return text.replace("@changes", reference, 1), ""


async def _nothing(args: str, sources: ReferenceSources) -> str:
    if not _NAME.fullmatch(args) or args.startswith("-"):
        return N_(f"{args[:100]!r} is neither a file here nor a commit.")
    return await has_changes(args, sources)


def fenced(patch: str) -> str:
    """Return a patch as a block of code that nothing in it can end."""
    fence = "`" * (1 + max(2, *map(len, re.findall("`+", patch)), 0))
    shown = "\n".join(spell_out(line) for line in patch.split("\n"))
    return f"{fence}diff\n{shown}\n{fence}"
