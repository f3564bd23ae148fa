"""The actions of the tool ``skill_manage``: each is checked, scanned, recorded, then written.

A change is recorded before files change, and a file is replaced in one step. A killed process
leaves every file whole, and a version of what was there.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from hookline_hookspecs import Context, Host, Origin, Refused, ToolError
from hookline_textmatch import EditError, replace

from . import lockfile, safe_files, write_checks
from .config import SkillsConfig
from .folders import place_folder, remove_folder
from .frontmatter import SkillDocument
from .history import SkillHistory, snapshot
from .library import MAX_SKILL_BYTES, Skill, SkillLibrary
from .records import ChangeSource, SkillRecords

KIND = "skill"
"""The ``kind`` of skills in the hooks ``pre_learn`` and ``pre_read``."""
MAIN_FILE = "SKILL.md"
LOCK_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class SkillChange:
    """The arguments of the tool ``skill_manage``."""

    action: str
    name: str
    content: str | None = None
    file: str | None = None
    old_string: str | None = None
    new_string: str | None = None


class TeamCopies(Protocol):
    """The team's skills, as far as copying one into this home needs them."""

    def origins(self) -> Mapping[str, tuple[Origin, ...]]:
        """The origins of its skills by name."""

    def set_base(self, name: str, number: int) -> None:
        """Record the team's version that this home's copy was made from."""


class SkillEditor:
    """Changes skills on behalf of the agent."""

    def __init__(
        self,
        host: Host,
        config: SkillsConfig,
        library: SkillLibrary,
        records: SkillRecords,
        history: SkillHistory,
        copies: TeamCopies | None,
    ) -> None:
        self._host = host
        self._config = config
        self._library = library
        self._records = records
        self._history = history
        self._copies = copies
        self._mutex = asyncio.Lock()

    async def manage(self, ctx: Context, change: SkillChange) -> str:
        """Apply a change and return the result for the model.

        Raises:
            ToolError: it is impossible; the text says what to do instead.
            Refused: it is not allowed, or ``pre_learn`` refused the text; nothing changed.
        """
        actions: dict[str, Callable[[Context, SkillChange, ChangeSource], Awaitable[str]]] = {
            "create": self._create,
            "edit": self._edit,
            "patch": self._patch,
            "write_file": self._write_file,
            "remove_file": self._remove_file,
            "delete": self._delete,
        }
        source = await self._records.change_source(ctx)
        async with self.locked():
            try:
                return await actions[change.action](ctx, change, source)
            except (safe_files.BadPath, safe_files.TooLarge) as error:
                raise ToolError(str(error)) from error
            except OSError as error:
                raise ToolError(f"cannot write the skill: {error}") from error

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

    async def _create(self, ctx: Context, change: SkillChange, source: ChangeSource) -> str:
        name = change.name
        await asyncio.to_thread(write_checks.check_name, self._library, name)
        document = write_checks.require_document(name, change.content, self._config.skill_max_chars)
        await self._refuse_duplicate(name, document)
        await self._refuse_too_many(name, document)
        text = await self._learn(ctx, name, MAIN_FILE, change.content or "")
        write_checks.require_document(name, text, self._config.skill_max_chars)
        files = {MAIN_FILE: text.encode("utf-8")}
        number = await self._history.record(name, {}, files, "create", source)
        marker = await self._records.mark_created(name)
        await asyncio.to_thread(place_folder, self._library.root, name, files, marker)
        await asyncio.to_thread(lockfile.forget, self._library.root, name)
        return f"Created the skill {name} (version {number})."

    async def _edit(self, ctx: Context, change: SkillChange, source: ChangeSource) -> str:
        skill = await self._editable_skill(change.name)
        document = write_checks.require_document(
            skill.name, change.content, self._config.skill_max_chars
        )
        await self._refuse_duplicate(skill.name, document, edited=skill)
        text = await self._learn(ctx, skill.name, MAIN_FILE, change.content or "")
        write_checks.require_document(skill.name, text, self._config.skill_max_chars)
        number = await self._write(skill, skill.file, text, "edit", source)
        return f"Edited skills/{skill.name}/{skill.file} (version {number})."

    async def _patch(self, ctx: Context, change: SkillChange, source: ChangeSource) -> str:
        skill = await self._editable_skill(change.name)
        if change.old_string is None or change.new_string is None:
            raise ToolError("patch needs the arguments 'old_string' and 'new_string'")
        main = change.file in (None, "", MAIN_FILE, skill.file)
        path = skill.file if main else write_checks.require_file_path(change.file)
        text = await asyncio.to_thread(_text_at, skill, path)
        label = f"skills/{skill.name}/{path}"
        try:
            edit = replace(text, change.old_string, change.new_string, name=label)
        except EditError as error:
            raise ToolError(str(error)) from error
        if main:
            write_checks.require_document(skill.name, edit.text, self._config.skill_max_chars)
        else:
            write_checks.check_file(skill, path, edit.text)
        learned = await self._learn(ctx, skill.name, path, edit.text)
        if main:
            write_checks.require_document(skill.name, learned, self._config.skill_max_chars)
        number = await self._write(skill, path, learned, "patch", source)
        return (
            f"Edited {label}: {edit.count} replacement(s), strategy {edit.strategy} "
            f"(version {number})."
        )

    async def _write_file(self, ctx: Context, change: SkillChange, source: ChangeSource) -> str:
        skill = await self._editable_skill(change.name)
        path = write_checks.require_file_path(change.file)
        content = write_checks.check_file(skill, path, change.content)
        text = await self._learn(ctx, skill.name, path, content)
        number = await self._write(skill, path, text, "write_file", source)
        return f"Wrote skills/{skill.name}/{path} (version {number})."

    async def _remove_file(self, _ctx: Context, change: SkillChange, source: ChangeSource) -> str:
        skill = await self._editable_skill(change.name)
        path = write_checks.require_file_path(change.file)
        before = await asyncio.to_thread(snapshot, skill.folder)
        if path not in before:
            others = ", ".join(one for one in before if one != skill.file) or "no other files"
            raise ToolError(f"the skill {skill.name} has no file {path}; it has {others}")
        after = {one: data for one, data in before.items() if one != path}
        number = await self._history.record(skill.name, before, after, "remove_file", source)
        await asyncio.to_thread(safe_files.remove, skill.folder, path)
        return f"Removed skills/{skill.name}/{path} (version {number})."

    async def _delete(self, _ctx: Context, change: SkillChange, source: ChangeSource) -> str:
        skill = await self._editable_skill(change.name, copy=False)
        if skill.team:
            raise Refused(f"the skill {skill.name} is the team's; only a reviewer can revoke it")
        before = await asyncio.to_thread(snapshot, skill.folder)
        await self._history.record(skill.name, before, {}, "delete", source)
        await asyncio.to_thread(remove_folder, self._library.root, skill.name)
        return f"Deleted the skill {skill.name}; `hookline skills restore {skill.name}` undoes it."

    # Shared steps

    async def _editable_skill(self, name: str, *, copy: bool = True) -> Skill:
        """Return a skill that the agent may change; for a skill of the team, its copy in this home.

        Raises:
            ToolError: there is no such skill.
            Refused: the agent may not change it.
        """
        skill = await asyncio.to_thread(self._library.find, name)
        if skill is None:
            near = [one.name for one, _ in self._library.match(name.replace("-", " "), 3)]
            hint = f"; similar: {', '.join(near)}" if near else ""
            raise ToolError(f"no skill {name!r}{hint}")
        reason = await self.edit_refusal(skill.name)
        if reason:
            raise Refused(f"the skill {skill.name} {reason}")
        return await self._copy_team_skill(skill) if skill.team and copy else skill

    async def _copy_team_skill(self, skill: Skill) -> Skill:
        """Copy the team's skill into this home, where the copy takes precedence."""
        root, name = self._library.root, skill.name
        files = await asyncio.to_thread(snapshot, skill.folder)
        origins = self._copies.origins().get(name, ()) if self._copies is not None else ()
        await self._history.record(name, {}, files, "copy", ChangeSource("agent", origins=origins))
        marker = await self._records.mark_created(name)
        if self._copies is not None:
            await asyncio.to_thread(self._copies.set_base, name, skill.team)
        await asyncio.to_thread(root.mkdir, 0o700, True, True)
        await asyncio.to_thread(place_folder, root, name, files, marker)
        return self._library.skills()[name]

    async def edit_refusal(self, name: str) -> str | None:
        """Return why the agent may not change a skill, as a predicate; None if it may."""
        skill = self._library.skills().get(name)
        if skill is not None and skill.plugin:
            return f"comes with the plugin {skill.plugin} and cannot be changed"
        if name in await self._records.pins():
            return "is pinned"
        if skill is not None and skill.team:
            return None
        agents = await self._records.agent_skills(self._library.root)
        if name not in agents and not self._config.allow_editing_hand_written:
            return "was not made by the agent; only a person may change it"
        return None

    async def _refuse_duplicate(
        self, name: str, document: SkillDocument, edited: Skill | None = None
    ) -> None:
        """Raise ``ToolError`` if another skill covers the same."""
        skip = edited.name if edited is not None else None
        found = await asyncio.to_thread(
            lambda: write_checks.find_duplicate(self._library, name, document, skip=skip)
        )
        if found is None:
            return
        other = self._library.skills()[found.name]
        reason = await self.edit_refusal(other.name)
        advice = (
            f"It {reason}, so there is nothing to save."
            if reason
            else f'Patch that one instead: skill_view("{other.name}"), then '
            f'skill_manage(action="patch", name="{other.name}", …).'
        )
        raise ToolError(
            f"the skill {other.name} already covers this (similarity {found.score:.2f}): "
            f"{other.description[:200]} {advice}"
        )

    async def _refuse_too_many(self, name: str, document: SkillDocument) -> None:
        agents = await self._records.agent_skills(self._library.root)
        existing = [skill for skill in agents if skill in self._library.skills()]
        limit = self._config.max_agent_skills
        if len(existing) < limit:
            return
        near = [
            n for n in write_checks.nearest_skills(self._library, name, document) if n in existing
        ]
        uses = await self._records.uses()
        idle = sorted(
            existing, key=lambda one: uses[one].last or 0.0 if one in uses else agents[one]
        )
        raise ToolError(
            f"you have {len(existing)} skills of your own; the limit is {limit}. Patch a similar "
            f"one ({', '.join(near) or 'none'}), or delete an unused one "
            f"({', '.join(idle[:3])})."
        )

    async def _learn(self, ctx: Context, name: str, path: str, text: str) -> str:
        """Return ``text`` as ``pre_learn`` returns it. Raises ``Refused``."""
        return await ctx.learn(text, f"skills/{name}/{path}", KIND)

    async def _write(
        self, skill: Skill, path: str, text: str, action: str, source: ChangeSource
    ) -> int:
        data = text.encode("utf-8")
        before = await asyncio.to_thread(snapshot, skill.folder)
        after = {**before, path: data}
        number = await self._history.record(skill.name, before, after, action, source)
        await asyncio.to_thread(safe_files.write_bytes, skill.folder, path, data)
        return number


def _text_at(skill: Skill, path: str) -> str:
    try:
        data = safe_files.read_bytes(skill.folder, path, MAX_SKILL_BYTES)
    except FileNotFoundError:
        raise ToolError(f"the skill {skill.name} has no file {path}") from None
    return safe_files.decode_text(data, path)
