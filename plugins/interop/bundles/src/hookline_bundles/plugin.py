"""The plugin ``bundles``: what bundles bring, and when their hooks run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from hookline_hookspecs import (
    Ask,
    Check,
    CheckResult,
    Context,
    ContextBlock,
    Continue,
    Deny,
    Host,
    Inbound,
    Job,
    Plugin,
    Question,
    QuestionAnswer,
    Section,
    Session,
    StoredQuestion,
    ToolCall,
    ToolResult,
    Turn,
    hookimpl,
)
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.command_source import CommandSource
from hookline_hookspecs.folder_trust import FolderContent, FolderContentSource, FolderTrust
from hookline_hookspecs.mcp_servers import ServerSource
from hookline_hookspecs.named_agents import AgentSource
from hookline_hookspecs.skill_folders import SkillSource

from .config import BundlesConfig

if TYPE_CHECKING:
    from .catalogs import Catalogs
    from .command_limits import CommandLimits
    from .hook_events import HookEvents
    from .hook_runner import HookRunner
    from .installer import BundleInstaller
    from .library import BundleLibrary, BundleStatus
    from .offers import BundleParts

HOOK_SECONDS = 900.0
"""Seconds for an event of Hookline; each program has its own limit."""
DAY = 86_400.0
"""Seconds."""
_TOLD = "told"
"""Key in a session's stash once the person was told what is not used."""


class Bundles(Plugin[BundlesConfig]):
    """Agent plugins of other agents: skills, commands, sub-agents, MCP servers and hooks."""

    hook_seconds: ClassVar[Mapping[str, float]] = {
        "on_message": HOOK_SECONDS,
        "start_of_session": HOOK_SECONDS,
        "end_of_session": HOOK_SECONDS,
        "pre_tool": HOOK_SECONDS,
        "post_tool": HOOK_SECONDS,
        "pre_compact": HOOK_SECONDS,
    }

    def __init__(self, config: BundlesConfig, host: Host) -> None:
        super().__init__(config, host)
        self._is_offered = False
        self._seen: object = None

    @cached_property
    def library(self) -> BundleLibrary:
        """The bundles."""
        from .library import BundleLibrary

        return BundleLibrary(self.host, self.config)

    @cached_property
    def catalogs(self) -> Catalogs:
        """The catalogs."""
        from .catalogs import Catalogs

        return Catalogs(self.host, self.library.root, self.library.removed)

    @cached_property
    def installer(self) -> BundleInstaller:
        """Adds, updates and removes bundles."""
        from .installer import BundleInstaller

        return BundleInstaller(self.host, self.library, self.catalogs)

    @cached_property
    def runner(self) -> HookRunner:
        """Runs hooks."""
        from .hook_runner import HookRunner

        return HookRunner(self.host, self.config)

    @cached_property
    def limits(self) -> CommandLimits:
        """What commands may use during their turns."""
        from .command_limits import CommandLimits

        return CommandLimits(self.host, self.library)

    @cached_property
    def _parts(self) -> BundleParts:
        from .offers import BundleParts

        return BundleParts(self.library, self.config)

    @cached_property
    def events(self) -> HookEvents:
        """What hooks do at each event."""
        from .hook_events import HookEvents

        return HookEvents(self.runner)

    @property
    def _may_have_bundles(self) -> bool:
        """False if there are no bundles; checks only whether folders exist."""
        if (self.host.home / "bundles").is_dir():
            return True
        if not self.config.projects:
            return False
        from .folder_names import TRUST_KIND, has_parts

        folders = (Path(self.host.config.workspace), Path.home())
        trust = self.host.services[FolderTrust]
        return any(
            has_parts(folder) or trust.trusted_content(folder, TRUST_KIND) for folder in folders
        )

    @property
    def _has_hooks(self) -> bool:
        """True if any program may have to be run."""
        return bool(self.config.hooks) or "runner" in self.__dict__

    @hookimpl
    async def setup(self, host: Host) -> None:
        """Offer what the bundles bring."""
        host.services.add(FolderContentSource, self)
        if self._may_have_bundles:
            await self.refresh()
        if self._has_hooks:
            host.signals.connect("question_opened", self._on_question_opened)

    @hookimpl
    def teardown(self, host: Host) -> None:
        """Remove the private folders of programs."""
        if "runner" in self.__dict__:
            self.runner.close()

    def describe(self, folder: Path) -> FolderContent | None:
        """What a folder's bundles are (``FolderContentSource``)."""
        return self.library.describe(folder)

    async def refresh(self, *, session_begins: bool = False) -> None:
        """Find the bundles, and offer what those in use bring."""
        self._seen = self._stamp()
        await asyncio.to_thread(self.library.refresh)
        self.runner.load(self.library, session_begins=session_begins)
        if not self._is_offered:
            self._is_offered = True
            self._offer()

    def _offer(self) -> None:
        from .slash_commands import BundleCommands

        services, parts = self.host.services, self._parts
        services.add(SkillSource, parts)
        services.add(AgentSource, parts)
        services.add(ServerSource, parts)
        commands = BundleCommands(
            self.host, self.library, self.runner.programs, self.limits, parts.model
        )
        services.add(CommandSource, commands)

    def _stamp(self) -> object:
        """What changes when the person adds, updates, removes or trusts something, also by another
        process."""
        return self.library.pins.stamp(), self.library.removed.stamp(), self.library.trusted()

    # Hooks

    @hookimpl
    async def system_prompt(self, ctx: Context, session: Session) -> Section | None:
        """Look for changes, and list the sub-agents."""
        if session.kind != "chat" or not self._may_have_bundles:
            return None
        await self.refresh(session_begins=True)
        return await self._agent_lines(ctx)

    async def _agent_lines(self, ctx: Context) -> Section | None:
        from .agent_lines import agent_lines

        can_delegate = any(tool.name == "delegate" for tool in self.host.tools())
        text = await agent_lines(ctx, self._parts.agents(), self.config) if can_delegate else ""
        return Section("skills", text) if text else None

    @hookimpl
    async def start_of_session(self, ctx: Context, session: Session) -> None:
        """Look for changes, say what is no longer used, and run ``SessionStart``."""
        if session.kind == "chat" and self._may_have_bundles:
            if session.resumed:
                await self.refresh()
            self._tell(ctx)
        if self._has_hooks:
            await self.events.start_of_session(ctx, session)

    def _tell(self, ctx: Context) -> None:
        """Notify the operator, once a session, of bundles that are not used."""
        if ctx.stash.session.get(_TOLD) or not ctx.operator or ctx.channel != TERMINAL:
            return
        ctx.stash.session[_TOLD] = True
        folders: dict[Path, str] = {}
        for status in self.library.statuses:
            if status.state in ("changed", "revoked", "invalid") and status.scope == "installed":
                ctx.notify(f"Bundle {status.name} is not used: {_with_refusals(status)}.")
            is_told = status.scope == "project" or status.state == "changed"
            if is_told and status.folder and status.state in ("untrusted", "changed"):
                folders[status.folder] = max(
                    folders.get(status.folder, ""), _with_refusals(status), key=len
                )
        for reason in folders.values():
            ctx.notify(f"Skills, commands and hooks of this folder are not used: {reason}.")

    async def _look_again(self) -> None:
        """While calls are refused for a changed bundle: see whether the person has decided."""
        if "runner" in self.__dict__ and self.runner.refuses:
            await self.refresh()

    @hookimpl
    async def end_of_session(self, ctx: Context, session: Session) -> None:
        """Run ``SessionEnd``."""
        if self._has_hooks:
            await self.events.end_of_session(ctx, session)

    @hookimpl
    async def on_message(self, ctx: Context, inbound: Inbound) -> Deny | None:
        """Look for what was just added, and run ``UserPromptSubmit``."""
        if self._may_have_bundles and self._stamp() != self._seen:
            await self.refresh()
        await self._look_again()
        return await self.events.on_message(ctx, inbound) if self._has_hooks else None

    @hookimpl
    async def pre_prompt(self, ctx: Context, turn: Turn) -> list[ContextBlock] | None:
        """Add what hooks printed as context."""
        return await self.events.pre_prompt(ctx, turn) if self._has_hooks else None

    @hookimpl
    async def pre_tool(self, ctx: Context, call: ToolCall) -> Deny | Ask | None:
        """Run ``PreToolUse``."""
        await self._look_again()
        verdict = await self.events.pre_tool(ctx, call) if self._has_hooks else None
        if self._is_offered and verdict is None:
            verdict = await self.limits.pre_tool(ctx, call)
        return verdict

    @hookimpl
    def around_tool(self, ctx: Context, call: ToolCall) -> Callable[..., Any] | None:
        """Apply arguments that a hook changed."""
        return self.events.around_tool(ctx, call) if self._has_hooks else None

    @hookimpl
    async def post_tool(self, ctx: Context, result: ToolResult) -> ToolResult | None:
        """Run ``PostToolUse``."""
        return await self.events.post_tool(ctx, result) if self._has_hooks else None

    @hookimpl
    async def post_answer(self, ctx: Context, turn: Turn) -> list[Continue] | None:
        """Run ``Stop`` or ``SubagentStop``."""
        return await self.events.post_answer(ctx, turn) if self._has_hooks else None

    @hookimpl
    async def pre_compact(self, ctx: Context, session: Session) -> None:
        """Run ``PreCompact``."""
        if self._has_hooks:
            await self.events.pre_compact(ctx, session)

    @hookimpl
    async def on_question(self, ctx: Context, question: Question) -> QuestionAnswer | None:
        """Run ``PermissionRequest``."""
        await self._look_again()
        return await self.events.on_question(ctx, question) if self._has_hooks else None

    def _on_question_opened(self, question: StoredQuestion, ctx: Context | None = None) -> None:
        if ctx is not None and self._has_hooks and self.runner.has("Notification"):
            work = self.events.question_opened(ctx, question)
            self.host.spawn(work, "notification hooks")

    @hookimpl
    def register_jobs(self, register: Callable[[Job], None]) -> None:
        """Register the job that reads what the catalogs have removed."""
        register(Job("catalogs", self._read_catalogs, every=DAY))

    async def _read_catalogs(self) -> None:
        if (self.host.home / "bundles").is_dir():
            for problem in await self.catalogs.refresh():
                self.log.warning("%s", problem)

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """Check for bundles that are not used."""
        register(Check("bundles", self._check))

    async def _check(self) -> CheckResult:
        if not self._may_have_bundles:
            return CheckResult(True, "no bundles")
        await asyncio.to_thread(self.library.refresh)
        installed = [one for one in self.library.statuses if one.scope == "installed"]
        bad = [
            f"{one.name}: {one.explanation}" for one in installed if one.state not in ("on", "off")
        ]
        if bad:
            fix = "`hookline bundles info NAME` says more; update or remove them."
            return CheckResult(False, "; ".join(bad), fix)
        count = len(installed)
        return CheckResult(True, f"{count} bundle" if count == 1 else f"{count} bundles")


def _with_refusals(status: BundleStatus) -> str:
    refused = ". Until then, what its guards would check is refused" if status.guards else ""
    return f"{status.explanation}{refused}"
