"""``@diff``, ``@staged`` and ``@git:N``: what changed in the workspace, without secret files."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from .decoding import cut_bytes, shorten
from .grammar import Reference
from .patches import allowed_part
from .reference_content import ReferenceContent, ReferenceSources, UnresolvedReference
from .repository import GitOutput, Repository, open_repository

PATCH = (
    "--relative", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv",
    "--src-prefix=a/", "--dst-prefix=b/", "--ignore-submodules=dirty", "--submodule=short",
)  # fmt: skip
"""``--relative`` restricts the output to the workspace if the repository is larger; renames are
off, so that both names of a file are equal and a renamed secret is shown as a new file."""
_FORMAT = "--format=commit %h%nAuthor: %an%nDate: %ad%n%n%w(0,4,4)%B"


async def load_diff(reference: Reference, sources: ReferenceSources) -> ReferenceContent:
    """Return the unstaged changes."""
    return await _load(reference, sources, "diff", *PATCH)


async def load_staged(reference: Reference, sources: ReferenceSources) -> ReferenceContent:
    """Return the staged changes."""
    return await _load(reference, sources, "diff", "--cached", *PATCH)


async def load_commits(reference: Reference, sources: ReferenceSources) -> ReferenceContent:
    """Return the last commits with their messages and patches."""
    log = ("log", f"-{reference.value}", "--no-show-signature", "--date=iso-strict")
    patch = (*log, "--patch", "--encoding=UTF-8", _FORMAT, *PATCH)
    return await _load(reference, sources, *patch, commits=(*log, "--format=%H"))


async def _load(
    reference: Reference, sources: ReferenceSources, *arguments: str, commits: tuple[str, ...] = ()
) -> ReferenceContent:
    """``commits`` lists the ids of the commits whose messages are shown."""
    folder = sources.paths.workspace
    async with open_repository(folder, sources.config.git_seconds) as repository:
        _require_commits(reference, repository)
        output = await repository.run(*arguments)
        listed = (await repository.run(*commits)).text.split() if commits else []
    shown = await asyncio.to_thread(content, reference, sources, output)
    # A message is in no file of the workspace: who wrote the commit's object wrote it.
    objects = [repository.objects / id_[:2] / id_[2:] for id_ in listed]
    return replace(shown, files=(*shown.files, *objects))


def _require_commits(reference: Reference, repository: Repository) -> None:
    if reference.kind == "git" and not repository.commit:
        raise UnresolvedReference("the repository has no commits yet")


def content(reference: Reference, sources: ReferenceSources, output: GitOutput) -> ReferenceContent:
    """Return what git printed, without files that may not be read."""
    paths = sources.paths
    files: dict[Path, None] = {}

    def allowed(name: str) -> bool:
        files[paths.workspace / name] = None
        return paths.check_path(str(paths.workspace / name)) is None

    patch, refused = allowed_part(output.text, allowed)
    text, note = cut_bytes(patch.strip("\n"), sources.config.diff_max_bytes)
    if not output.whole:
        note = "[… the rest is left out]"
    warnings: tuple[str, ...] = ()
    if refused:
        names = ", ".join(shorten(name)[:100] for name in refused[:10])
        more = f" and {len(refused) - 10} more" if len(refused) > 10 else ""
        warnings = (f"{reference.raw} is shown without files that may not be read: {names}{more}",)
    key = (reference.kind, reference.value)
    note = note or ("" if text else "(no changes)")
    return ReferenceContent(key, reference.raw, text, note, warnings, files=tuple(files))
