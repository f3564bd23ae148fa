"""``@changes``: all that differs from a commit, with new files; for ``/review`` and ``/diff``."""

from __future__ import annotations

import asyncio
import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from hookline_hookspecs import HooklineError

from .changes import PATCH, content
from .grammar import Reference
from .reference_content import ReferenceContent, ReferenceSources, UnresolvedReference
from .repository import Repository, open_repository


@dataclass(frozen=True, slots=True)
class ChangeScope:
    """What to compare: the work tree with the commit ``base``, only below ``path``.

    An empty ``base`` is HEAD, an empty ``path`` the whole workspace.
    """

    base: str = ""
    path: str = ""


def scope_of(named: str, sources: ReferenceSources) -> ChangeScope:
    """Return what a person means by a base or a path; a file that exists is a path."""
    name = named.strip().strip('"')
    if not name:
        return ChangeScope()
    try:
        is_path = (sources.paths.workspace / name).exists() or name in (".", "..")
    except (OSError, ValueError):
        is_path = False
    return ChangeScope(path=name) if is_path else ChangeScope(base=name)


async def load_changes(reference: Reference, sources: ReferenceSources) -> ReferenceContent:
    """Return what differs from the last commit, or from the base or below the path it names.

    Raises:
        UnresolvedReference: there is no repository, or no such commit.
    """
    scope = scope_of(reference.value, sources)
    if scope.path:
        reason = sources.paths.check_path(str(sources.paths.workspace / scope.path))
        if reason is not None:
            raise UnresolvedReference(f"{scope.path} may not be read: {reason}")
    seconds = sources.config.git_seconds
    async with open_repository(sources.paths.workspace, seconds, scope.base) as repository:
        base = await _base(repository)
        made = _with_new_files(repository)
        await made.run("add", "--intent-to-add", "--", scope.path or ".")
        output = await made.run("diff", *PATCH, base, "--", scope.path or ".")
    return await asyncio.to_thread(content, reference, sources, output)


async def has_changes(named: str, sources: ReferenceSources) -> str:
    """Return why there is nothing to show, as a sentence; empty if there are changes."""
    try:
        found = await load_changes(Reference("changes", named, "@changes"), sources)
    except HooklineError as error:
        return f"{str(error)[:1].upper()}{str(error)[1:].rstrip('.')}."
    if found.text:
        return ""
    where = f" compared with {named}" if scope_of(named, sources).base else ""
    below = f" in {named}" if scope_of(named, sources).path else ""
    return f"Nothing is changed{where}{below}. Name a base to compare with, such as main."


async def _base(repository: Repository) -> str:
    """Return the commit to compare with: where a named base and HEAD part, as a pull request."""
    if not repository.commit:
        return (await repository.run("hash-object", "-t", "tree", "--stdin")).text.strip()
    if not repository.base:
        return repository.commit
    try:
        return (await repository.run("merge-base", repository.base, repository.commit)).text.strip()
    except UnresolvedReference:  # no common history
        return repository.base


def _with_new_files(repository: Repository) -> Repository:
    """Return the repository with its own index and objects, to which new files can be added."""
    made = Path(repository.env["GIT_DIR"])
    index, objects = made / "index", made / "objects"
    real = Path(repository.env["GIT_INDEX_FILE"])
    if real.is_file():
        # With its time: git reads a file again if it is no older than the index, by whole seconds.
        shutil.copy2(real, index)
    kept = repository.env["GIT_OBJECT_DIRECTORY"]
    others = {
        "GIT_INDEX_FILE": str(index),
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_OBJECT_DIRECTORY": str(objects),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{kept}"' if os.pathsep in kept else kept,
    }
    return replace(repository, env={**repository.env, **others})
