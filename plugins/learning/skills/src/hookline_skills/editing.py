"""What the agent does with ``skill_manage``: each action checked, scanned, recorded, then written.

A change is recorded before the files change, and a file is replaced in one step, so that a process
that is killed leaves every file whole and a version of what was there.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from uuid import uuid4

from hookline_hookspecs import Context, Host, Origin, Refused, ToolError
from hookline_textmatch import EditError, replace

from . import admission, lock, safely
from .config import SkillsConfig
from .frontmatter import Document
from .history import History, snapshot
from .library import SKILL_BYTES, Library, Skill
from .records import MARKER, Records, Source

KIND = "skill"
"""The kind under which skills pass the gates ``pre_learn`` and ``pre_read``."""
MAIN = "SKILL.md"
STAGING = ".staging"
"""Where new folders are made, before they get their place in one step."""
LOCK_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Change:
    """What the model asked for; see the tool ``skill_manage``."""

    action: str
    name: str
    content: str | None = None
    file: str | None = None
    old_string: str | None = None
    new_string: str | None = None


class CopiedFrom(Protocol):
    """What the team shares, for who makes a copy of it."""

    def origins(self) -> Mapping[str, tuple[Origin, ...]]:
        """Whose words its skills are, by name."""

    def set_base(self, name: str, number: int) -> None:
        """Note that this home's own skill is made from a version."""


class Editor:
    """Changes skills on behalf of the agent."""

    def __init__(
        self,
        host: Host,
        config: SkillsConfig,
        library: Library,
        records: Records,
        history: History,
        copies: CopiedFrom | None = None,
    ) -> None:
        self._host = host
        self._config = config
        self._library = library
        self._records = records
        self._history = history
        self._copies = copies
        self._mutex = asyncio.Lock()

    async def manage(self, ctx: Context, change: Change) -> str:
        """Carry out a change; what the model reads then.

        Raises:
            ToolError: it is not possible as asked, with what to do instead.
            Refused: it is not allowed, or a gate refused the text; nothing has changed.
        """
        actions: dict[str, Callable[[Context, Change, Source], Awaitable[str]]] = {
            "create": self._create,
            "edit": self._edit,
            "patch": self._patch,
            "write_file": self._write_file,
            "remove_file": self._remove_file,
            "delete": self._delete,
        }
        source = await self._records.source(ctx)
        async with self.locked():
            try:
                return await actions[change.action](ctx, change, source)
            except (safely.BadPath, safely.TooLarge) as error:
                raise ToolError(str(error)) from error
            except OSError as error:
                raise ToolError(f"the skill could not be written: {error}") from error

    @asynccontextmanager
    async def locked(self) -> AsyncIterator[None]:
        """Lock skills against other changes, in this process or another on this home."""
        from filelock import AsyncFileLock, Timeout

        file = self._host.storage.dir / "skills.lock"
        async with self._mutex:
            held = AsyncFileLock(file, timeout=LOCK_SECONDS)
            try:
                await held.acquire()
            except Timeout:
                raise ToolError("another process is changing skills; try again") from None
            try:
                yield
            finally:
                await held.release()

    # The actions

    async def _create(self, ctx: Context, change: Change, source: Source) -> str:
        name = change.name
        await asyncio.to_thread(admission.check_name, self._library, name)
        document = admission.checked(name, change.content, self._config.skill_max_chars)
        await self._refuse_again(name, document)
        await self._refuse_too_many(name, document)
        text = await self._learned(ctx, name, MAIN, change.content or "")
        admission.checked(name, text, self._config.skill_max_chars)
        files = {MAIN: text.encode("utf-8")}
        number = await self._history.add(name, {}, files, "create", source)
        marker = await self._records.make(name)
        await asyncio.to_thread(place, self._library.root, name, files, marker)
        await asyncio.to_thread(lock.drop, self._library.root, name)
        return f"Created the skill {name} (version {number})."

    async def _edit(self, ctx: Context, change: Change, source: Source) -> str:
        skill = await self._own(change.name)
        document = admission.checked(skill.name, change.content, self._config.skill_max_chars)
        await self._refuse_again(skill.name, document, edited=skill)
        text = await self._learned(ctx, skill.name, MAIN, change.content or "")
        admission.checked(skill.name, text, self._config.skill_max_chars)
        number = await self._write(skill, skill.file, text, "edit", source)
        return f"Edited skills/{skill.name}/{skill.file} (version {number})."

    async def _patch(self, ctx: Context, change: Change, source: Source) -> str:
        skill = await self._own(change.name)
        if change.old_string is None or change.new_string is None:
            raise ToolError("patch needs the arguments 'old_string' and 'new_string'")
        main = change.file in (None, "", MAIN, skill.file)
        path = skill.file if main else admission.file_path(change.file)
        text = await asyncio.to_thread(_text_at, skill, path)
        label = f"skills/{skill.name}/{path}"
        try:
            edit = replace(text, change.old_string, change.new_string, name=label)
        except EditError as error:
            raise ToolError(str(error)) from error
        if main:
            admission.checked(skill.name, edit.text, self._config.skill_max_chars)
        else:
            admission.check_file(skill, path, edit.text)
        learned = await self._learned(ctx, skill.name, path, edit.text)
        if main:
            admission.checked(skill.name, learned, self._config.skill_max_chars)
        number = await self._write(skill, path, learned, "patch", source)
        return (
            f"Edited {label}: {edit.count} replacement(s), strategy {edit.strategy} "
            f"(version {number})."
        )

    async def _write_file(self, ctx: Context, change: Change, source: Source) -> str:
        skill = await self._own(change.name)
        path = admission.file_path(change.file)
        content = admission.check_file(skill, path, change.content)
        text = await self._learned(ctx, skill.name, path, content)
        number = await self._write(skill, path, text, "write_file", source)
        return f"Wrote skills/{skill.name}/{path} (version {number})."

    async def _remove_file(self, _ctx: Context, change: Change, source: Source) -> str:
        skill = await self._own(change.name)
        path = admission.file_path(change.file)
        before = await asyncio.to_thread(snapshot, skill.folder)
        if path not in before:
            there = ", ".join(one for one in before if one != skill.file) or "no other files"
            raise ToolError(f"the skill {skill.name} has no file {path}; it has {there}")
        after = {one: data for one, data in before.items() if one != path}
        number = await self._history.add(skill.name, before, after, "remove_file", source)
        await asyncio.to_thread(safely.remove, skill.folder, path)
        return f"Removed skills/{skill.name}/{path} (version {number})."

    async def _delete(self, _ctx: Context, change: Change, source: Source) -> str:
        skill = await self._own(change.name, copy=False)
        if skill.team:
            raise Refused(f"the skill {skill.name} is the team's; only a reviewer revokes it")
        before = await asyncio.to_thread(snapshot, skill.folder)
        await self._history.add(skill.name, before, {}, "delete", source)
        await asyncio.to_thread(discard, self._library.root, skill.name)
        return f"Deleted the skill {skill.name}; `hookline skills restore {skill.name}` undoes it."

    # What they share

    async def _own(self, name: str, *, copy: bool = True) -> Skill:
        """Return a skill that the agent may change; one of the team's as a copy in this home.
        Raises ``ToolError`` or ``Refused``."""
        skill = await asyncio.to_thread(self._library.find, name)
        if skill is None:
            near = [one.name for one, _ in self._library.match(name.replace("-", " "), 3)]
            hint = f"; near: {', '.join(near)}" if near else ""
            raise ToolError(f"there is no skill {name!r}{hint}")
        reason = await self.untouchable(skill.name)
        if reason:
            raise Refused(f"the skill {skill.name} {reason}")
        return await self._copied(skill) if skill.team and copy else skill

    async def _copied(self, skill: Skill) -> Skill:
        """Make a copy of the team's skill in this home, which lies over it."""
        root, name = self._library.root, skill.name
        files = await asyncio.to_thread(snapshot, skill.folder)
        made_from = self._copies.origins().get(name, ()) if self._copies is not None else ()
        await self._history.add(name, {}, files, "copy", Source("agent", origins=made_from))
        marker = await self._records.make(name)
        if self._copies is not None:
            await asyncio.to_thread(self._copies.set_base, name, skill.team)
        await asyncio.to_thread(root.mkdir, 0o700, True, True)
        await asyncio.to_thread(place, root, name, files, marker)
        return self._library.skills()[name]

    async def untouchable(self, name: str) -> str | None:
        """Return why the agent may not change a skill, or None."""
        skill = self._library.skills().get(name)
        if skill is not None and skill.plugin:
            return f"comes with the plugin {skill.plugin} and stays as it is"
        if name in await self._records.pins():
            return "is pinned and stays as it is"
        if skill is not None and skill.team:
            return None
        agents = await self._records.agents(self._library.root)
        if name not in agents and not self._config.allow_editing_hand_written:
            return "was not made by the agent, and only a person changes it"
        return None

    async def _refuse_again(
        self, name: str, document: Document, edited: Skill | None = None
    ) -> None:
        """Raise ``ToolError`` if another skill says the same."""
        but = edited.name if edited is not None else None
        found = await asyncio.to_thread(
            lambda: admission.most_alike(self._library, name, document, but=but)
        )
        if found is None:
            return
        other = self._library.skills()[found.name]
        reason = await self.untouchable(other.name)
        do = (
            f"It {reason}, so there is nothing to save."
            if reason
            else f'Patch that one instead: skill_view("{other.name}"), then '
            f'skill_manage(action="patch", name="{other.name}", …).'
        )
        raise ToolError(
            f"the skill {other.name} says this already (likeness {found.degree:.2f}): "
            f"{other.description[:200]} {do}"
        )

    async def _refuse_too_many(self, name: str, document: Document) -> None:
        agents = await self._records.agents(self._library.root)
        there = [one for one in agents if one in self._library.skills()]
        most = self._config.max_agent_skills
        if len(there) < most:
            return
        near = [n for n in admission.likely(self._library, name, document) if n in there]
        uses = await self._records.uses()
        idle = sorted(there, key=lambda one: uses[one].last or 0.0 if one in uses else agents[one])
        raise ToolError(
            f"there are {len(there)} skills that you made, at most {most} are kept. Patch one that "
            f"is near ({', '.join(near) or 'none is'}), or delete one that is not used "
            f"({', '.join(idle[:3])})."
        )

    async def _learned(self, ctx: Context, name: str, path: str, text: str) -> str:
        """Return ``text`` as the gate returns it. Raises ``Refused``."""
        return await ctx.learn(text, f"skills/{name}/{path}", KIND)

    async def _write(self, skill: Skill, path: str, text: str, action: str, source: Source) -> int:
        data = text.encode("utf-8")
        before = await asyncio.to_thread(snapshot, skill.folder)
        after = {**before, path: data}
        number = await self._history.add(skill.name, before, after, action, source)
        await asyncio.to_thread(safely.write_bytes, skill.folder, path, data)
        return number


def place(root: Path, name: str, files: Mapping[str, bytes], marker: str = "") -> None:
    """Make the folder of a skill, complete from the first moment on.

    Raises:
        OSError: it could not be written, or a folder of this name is there.
    """
    staging = root / STAGING / uuid4().hex
    staging.mkdir(parents=True)
    try:
        for path, data in files.items():
            safely.write_bytes(staging, path, data)
        if marker:
            safely.write_bytes(staging, MARKER, marker.encode("ascii"))
        staging.rename(root / name)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise


def discard(root: Path, name: str) -> None:
    """Take a skill's folder away in one step, then remove it. Raises ``OSError``."""
    gone = root / STAGING / uuid4().hex
    gone.parent.mkdir(parents=True, exist_ok=True)
    (root / name).rename(gone)
    shutil.rmtree(gone, ignore_errors=True)


def _text_at(skill: Skill, path: str) -> str:
    try:
        data = safely.read_bytes(skill.folder, path, SKILL_BYTES)
    except FileNotFoundError:
        raise ToolError(f"the skill {skill.name} has no file {path}") from None
    return safely.text_of(data, path)
