"""The plugin: its hooks, tools and commands."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from hookline_hookspecs import (
    Check,
    CheckResult,
    Content,
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
from .parts import SkillCorpus, SkillParts

Action = Literal["create", "edit", "patch", "write_file", "remove_file", "delete"]
ARCHIVE_INTERVAL = 6 * 3600.0
"""Seconds between two runs of the job that archives unused skills."""
REVIEW_AFTER_CALLS = 10
"""Tool calls since skills were last written after which a review is due."""


class Skills(Plugin[SkillsConfig]):
    """Finds, shows, learns, repairs and archives skills."""

    def __init__(self, config: SkillsConfig, host: Host) -> None:
        super().__init__(config, host)
        self.parts = SkillParts(config, host)

    @hookimpl
    def setup(self, host: Host) -> None:
        """Provide the importer of skills and the corpus that semantic search indexes."""
        host.services.add(Importer, LateImporter(frozenset({"skill"}), self._importer))
        host.services.add(SearchableCorpus, SkillCorpus(self.parts))

    def _importer(self) -> Importer:
        from .importer import SkillImporter

        return SkillImporter(self.parts)

    # Finding and showing

    @hookimpl
    async def system_prompt(self, ctx: Context, session: Session) -> Section | None:
        """Return the list of skills; None for a sub-agent."""
        if session.kind == "agent" or not self.parts.may_have_skills:
            return None
        await self.parts.refresh()
        uses, pins = await self.parts.records.uses(), await self.parts.records.pins()
        text = await self.parts.viewer.index(ctx, self.config.index_max_chars, pins, uses)
        return Section("skills", text) if text else None

    @hookimpl
    async def pre_prompt(self, ctx: Context, turn: Turn) -> ContextBlock | None:
        """Return the skills that match a person's message."""
        if ctx.session.kind != "chat" or not self.parts.may_have_skills:
            return None
        await self.parts.refresh()
        return await self.parts.injector.context_block(ctx, turn)

    @tool(read_only=True, paged=True, origin="workspace")
    async def skill_view(self, ctx: Context, name: str, file: str | None = None) -> ToolOutput:
        """Read a skill, or one of its files. Words in place of a name find skills."""
        await self.parts.refresh()
        output, skill = await self.parts.viewer.view(ctx, name, file)
        if skill is not None:
            await self.parts.records.record_use(ctx, skill.name, "viewed")
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
        content: Annotated[str | None, Content()] = None,
        file: str | None = None,
        old_string: str | None = None,
        new_string: Annotated[str | None, Content()] = None,
    ) -> str:
        """Keep procedures as skills. Patch the skill that covers the task rather than create a
        second one.

        Args:
            content: for create and edit the whole SKILL.md, front matter name and description
            file: in references/, scripts/ or assets/; patch: or SKILL.md
        """
        if ctx.session.kind == "agent":
            raise ToolError("a sub-agent cannot change skills; report what should be saved")
        if self.config.writers == "operator" and not ctx.operator:
            raise Refused("skills can only be changed in the operator's own chats")
        from .editor import SkillChange

        await self.parts.refresh()
        change = SkillChange(action, name.strip(), content, file, old_string, new_string)
        return await self.parts.editor.manage(ctx, change)

    @hookimpl
    def register_reviewers(self, register: Callable[[Reviewer], None]) -> None:
        """Register the reviewer that looks for a procedure worth saving."""
        from .review_trigger import is_worth_review

        names = ("skill_view", "skill_manage")
        register(
            Reviewer(
                "skills",
                _review_prompt(),
                names,
                due=is_worth_review,
                iterations=REVIEW_AFTER_CALLS,
            )
        )

    # Archiving

    @hookimpl
    def register_jobs(self, register: Callable[[Job], None]) -> None:
        """Archive unused skills."""
        register(Job("idle-skills", self._archive_unused, ARCHIVE_INTERVAL, at_start=True))

    async def _archive_unused(self) -> None:
        parts = self.parts
        if not parts.root.is_dir():
            return
        from .archive import archive_unused_skills
        from .folders import remove_stale_temporary

        async with parts.editor.locked():
            await asyncio.to_thread(remove_stale_temporary, parts.root)
        days = self.config.archive_after_days
        for name in await archive_unused_skills(parts, days):
            self.log.info("archived the skill %s: unused for %g days", name, days)
        await parts.records.prune()
        await parts.history.prune()

    # Commands, pages and checks

    @command("/skills", audience="everyone", category="Knowledge")
    async def slash_skills(self, ctx: Context, args: str) -> str:
        """List the skills, or those that match: /skills WORDS; `propose NAME` shares one."""
        from .slash_commands import list_skills, propose

        await self.parts.refresh()
        if args.split()[:1] == ["propose"]:
            return await propose(self.parts, ctx, args, self.config.writers)
        return await list_skills(self.parts, ctx, args)

    async def _complete_skill(self, session_id: str, typed: str) -> list[tuple[str, str]]:
        from .slash_commands import complete_name

        return await complete_name(self.parts, typed)

    @command("/skill", audience="everyone", category="Knowledge", complete=_complete_skill)
    async def slash_skill(self, ctx: Context, args: str) -> str:
        """Send a skill with your next message: /skill NAME."""
        from .slash_commands import request_skill

        return await request_skill(self.parts, ctx, args)

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
        from .team.team_skills import require_team

        team = require_team(self.parts.team)
        await team.refresh(now=True)
        if problems := team.describe_problems():
            fix = "Run `hookline skills log NAME` to see who proposed, approved or revoked what."
            return CheckResult(False, f"the team's skills: {'; '.join(problems)}", fix)
        return CheckResult(True, f"{_count(len(team.folders()))} of the team")

    def _check(self) -> CheckResult:
        from . import lockfile

        withheld = self.parts.team.withheld() if self.parts.team is not None else {}
        unusable = {n: w for n, w in self.parts.library.left_out().items() if n not in withheld}
        skills = self.parts.library.skills()
        changed = [
            name
            for name in lockfile.read(self.parts.root)
            if name in skills and lockfile.describe_changes(self.parts.root, name)
        ]
        if unusable:
            listed = "; ".join(f"{name}: {reason}" for name, reason in unusable.items())
            fix = "Correct or remove these folders; `hookline skills validate DIR` shows details."
            return CheckResult(False, f"skills that cannot be used: {listed}", fix)
        if nested := self.parts.library.nested_folders():
            fix = f"Move them to {self.parts.root}/NAME."
            return CheckResult(
                True, f"skills that are not loaded: {', '.join(nested)}", fix, hint=True
            )
        if changed:
            fix = "`hookline skills show NAME` shows what changed; reinstall with --replace."
            text = f"installed skills whose files were changed: {', '.join(changed)}"
            return CheckResult(True, text, fix, hint=True)
        return CheckResult(True, _count(len(skills)))


@cache
def _review_prompt() -> str:
    return (Path(__file__).parent / "review.md").read_text("utf-8").strip()


def _count(skills: int) -> str:
    return f"{skills or 'no'} skill{'' if skills == 1 else 's'}"
