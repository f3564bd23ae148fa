"""The plugin: hooks, tools and commands, each a few lines over the modules that do the work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Literal

from hookline_hookspecs import (
    Check,
    CheckResult,
    Context,
    ContextBlock,
    Effect,
    Host,
    Job,
    Plugin,
    Refused,
    Reviewer,
    Route,
    SearchableCorpus,
    Section,
    Session,
    ToolCall,
    ToolError,
    ToolOutput,
    Turn,
    command,
    hookimpl,
    tool,
)
from hookline_hookspecs.importers import Importer, LateImporter

from .config import SkillsConfig
from .parts import Parts, SkillTexts

Action = Literal["create", "edit", "patch", "write_file", "remove_file", "delete"]
EVERY = 6 * 3600.0
"""Seconds between two checks for unused skills."""
ITERATIONS = 10
"""Tool calls since skills were last written after which a review is due (FEATURES)."""


class Skills(Plugin[SkillsConfig]):
    """Finds, shows, learns, repairs and archives skills."""

    def __init__(self, config: SkillsConfig, host: Host) -> None:
        super().__init__(config, host)
        self.parts = Parts(config, host)

    @hookimpl
    def setup(self, host: Host) -> None:
        """Offer to take in another program's skills; let skills be compared by meaning."""
        host.services.add(Importer, LateImporter(frozenset({"skill"}), self._importer))
        host.services.add(SearchableCorpus, SkillTexts(self.parts))

    def _importer(self) -> Importer:
        from .imports import SkillImporter

        return SkillImporter(self.parts)

    # Finding and showing

    @hookimpl
    async def system_prompt(self, ctx: Context, session: Session) -> Section | None:
        """Return the list of skills; none for a sub-agent, which gets only its task."""
        if session.kind == "agent" or not self.parts.any:
            return None
        await self.parts.refresh()
        uses, pins = await self.parts.records.uses(), await self.parts.records.pins()
        text = await self.parts.viewer.index(ctx, self.config.index_max_chars, pins, uses)
        return Section("skills", text) if text else None

    @hookimpl
    async def pre_prompt(self, ctx: Context, turn: Turn) -> ContextBlock | None:
        """Return the skills that match a person's message."""
        if ctx.session.kind != "chat" or not self.parts.any:
            return None
        await self.parts.refresh()
        return await self.parts.injector.block(ctx, turn)

    @tool(read_only=True, paged=True, origin="workspace")
    async def skill_view(self, ctx: Context, name: str, file: str | None = None) -> ToolOutput:
        """Read a skill, or one of its files. Words in place of a name find skills."""
        await self.parts.refresh()
        output, skill = await self.parts.viewer.view(ctx, name, file)
        if skill is not None:
            await self.parts.records.activate(ctx, skill.name, "viewed")
        return output

    # Learning

    def _effects(self, ctx: Context, call: ToolCall) -> tuple[Effect, ...]:
        return (Effect("learn", f"skill {call.arguments.get('name', '')}"),)

    @tool(origin="workspace", effects=_effects)
    async def skill_manage(
        self,
        ctx: Context,
        action: Action,
        name: str,
        content: str | None = None,
        file: str | None = None,
        old_string: str | None = None,
        new_string: str | None = None,
    ) -> str:
        """Keep procedures as skills. Patch the skill that covers the task rather than create a
        second one.

        Args:
            content: for create and edit the whole SKILL.md, front matter name and description
            file: in references/, scripts/ or assets/; patch: or SKILL.md
        """
        if ctx.session.kind == "agent":
            raise ToolError("a sub-agent changes no skills; report what should be saved")
        if self.config.writers == "operator" and not ctx.operator:
            raise Refused("skills are changed only in the operator's own chats")
        from .editing import Change

        await self.parts.refresh()
        change = Change(action, name.strip(), content, file, old_string, new_string)
        return await self.parts.editor.manage(ctx, change)

    @hookimpl
    def register_reviewers(self, register: Callable[[Reviewer], None]) -> None:
        """Register the reviewer that asks, after a turn that achieved something, for a procedure
        worth keeping."""
        from .achieving import achieved

        names = ("skill_view", "skill_manage")
        register(Reviewer("skills", _review(), names, due=achieved, iterations=ITERATIONS))

    # Letting go

    @hookimpl
    def register_jobs(self, register: Callable[[Job], None]) -> None:
        """Archive unused skills."""
        register(Job("idle-skills", self._keep_up, EVERY, at_start=True))

    async def _keep_up(self) -> None:
        parts, root = self.parts, self.parts.root
        if not root.is_dir():
            return
        from .history import snapshot
        from .records import Source
        from .upkeep import archive, clear_temporary, idle

        async with parts.editor.locked():
            await asyncio.to_thread(clear_temporary, root)
            days = self.config.archive_after_days
            changed = await parts.history.changed()
            for name in await idle(parts.library, parts.records, changed, self.host.now(), days):
                files = await asyncio.to_thread(snapshot, root / name)
                await parts.history.add(name, files, files, "archive", Source("idle"))
                await asyncio.to_thread(archive, root, name)
                self.log.info("the skill %s was archived: not used for %g days", name, days)
            await parts.records.prune()
            await parts.history.prune()

    # For people

    @command("/skills", audience="everyone", category="Knowledge")
    async def slash_skills(self, ctx: Context, args: str) -> str:
        """List the skills; with words, those that match. `propose NAME` offers one to the team."""
        from .slash import listing, propose

        await self.parts.refresh()
        if args.split()[:1] == ["propose"]:
            return await propose(self.parts, ctx, args, self.config.writers)
        return await listing(self.parts, ctx, args)

    async def _complete_skill(self, session_id: str, typed: str) -> list[tuple[str, str]]:
        from .slash import offered

        return await offered(self.parts, typed)

    @command("/skill", audience="everyone", category="Knowledge", complete=_complete_skill)
    async def slash_skill(self, ctx: Context, args: str) -> str:
        """Send a skill with your next message: /skill NAME."""
        from .slash import ask_for

        return await ask_for(self.parts, ctx, args)

    @hookimpl
    def register_routes(self, register: Callable[[Route], None]) -> None:
        """Register the pages of the skills."""
        from .pages import SkillPages

        SkillPages(self.parts).register(register)

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """Check for skills that cannot be used."""
        register(Check("skills", self._check))
        if self.config.team is not None:
            register(Check("team skills", self._check_team))

    async def _check_team(self) -> CheckResult:
        from .team.shared import need

        team = need(self.parts.team)
        await team.refresh(now=True)
        if told := team.complaints():
            fix = "`hookline skills log NAME` tells who proposed, approved or revoked what."
            return CheckResult(False, f"the team's skills: {'; '.join(told)}", fix)
        return CheckResult(True, f"{_counted(len(team.folders()))} of the team")

    def _check(self) -> CheckResult:
        from . import lock

        shared = self.parts.team.withheld() if self.parts.team is not None else {}
        left_out = {n: why for n, why in self.parts.library.left_out().items() if n not in shared}
        skills = self.parts.library.skills()
        changed = [name for name in lock.read(self.parts.root) if name in skills]
        changed = [name for name in changed if lock.changes(self.parts.root, name)]
        if left_out:
            said = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
            fix = "Correct or remove these folders; `hookline skills validate DIR` tells more."
            return CheckResult(False, f"skills that cannot be used: {said}", fix)
        if changed:
            fix = "`hookline skills show NAME` tells what; install again with --replace."
            text = f"installed skills whose files were changed: {', '.join(changed)}"
            return CheckResult(True, text, fix, hint=True)
        return CheckResult(True, _counted(len(skills)))


@cache
def _review() -> str:
    return (Path(__file__).parent / "review.md").read_text("utf-8").strip()


def _counted(skills: int) -> str:
    return f"{skills or 'no'} skill{'' if skills == 1 else 's'}"
