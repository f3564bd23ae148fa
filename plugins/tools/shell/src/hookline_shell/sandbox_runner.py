"""Decides which commands are sandboxed, with which network, and what happens without a sandbox.

``hookline_sandbox`` creates the sandbox; see ``docs/tool-safety.md`` for the rules.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hookline_hookspecs import Ask, CheckResult, Deny, Origin, ToolError
from hookline_hookspecs.channels import TERMINAL
from hookline_sandbox import Found, Limits, Method, Places, Sandbox, found, keep
from hookline_toolmark import mark_command

from .command_runner import CommandResult, run_command

if TYPE_CHECKING:
    from hookline_hookspecs import Context, Host, Mode
    from hookline_sandbox.proxy import Proxy

    from .config import SandboxConfig

_OFF = "or switch it off with `plugins: {shell: {sandbox: {enabled: false}}}`"
_WARNED_KEY = "no_sandbox_warned"
"""Key in the session's stash once the operator was warned that there is no sandbox."""
_MAX_SHOWN_ADDRESSES = 20
"""Reached addresses that a result names as its origins."""


def is_sandboxed(config: SandboxConfig, ctx: Context) -> bool:
    """Whether commands of this turn are sandboxed.

    With ``enabled: auto``, all are except those that the operator requests in person at the
    terminal or has allowed beforehand (``--yes``). Those of a channel, of a turn without a
    person, of a sub-agent or of a review are sandboxed.
    """
    if config.enabled != "auto":
        return config.enabled
    session = ctx.session
    is_chat = session.parent_id is None and session.kind == "chat"
    return not (is_chat and ctx.channel == TERMINAL and ctx.operator and ctx.approval != "no")


class SandboxRunner:
    """Runs commands in the sandbox, as configured."""

    def __init__(self, config: SandboxConfig, host: Host) -> None:
        self._config = config
        self._host = host
        limits = Limits(**config.limits.model_dump())
        self.sandbox = Sandbox(
            host.home, limits, read_only=config.read_only, writable=config.writable
        )

    @property
    def can_run(self) -> bool:
        """Whether a sandbox can be created on this machine."""
        return found().method is not Method.NONE

    def verdict(self, ctx: Context, command: str, mode: Mode | None) -> Deny | Ask | None:
        """The verdict on a command if no sandbox can be created; None if one can.

        Each command of anyone but the operator needs approval. In the mode ``yolo``, or with no one
        to ask, none is run.
        """
        here = found()
        if here.method is not Method.NONE or self._config.enabled is True:
            return None
        if mode == "yolo":
            return Deny(f"yolo mode runs commands only in the sandbox, but {here.why}; {here.fix}")
        if ctx.approval == "no":
            return Deny(f"no one is here to watch, so nothing was run: {_sandbox_required(here)}")
        if ctx.operator:
            return None
        return Ask(
            "No sandbox can be created on this machine: the command would run with all the rights "
            f"of the account that runs Hookline ({here.why}).",
            command,
            once=True,
        )

    async def run(
        self,
        ctx: Context,
        argv: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        limits: tuple[float, int],
    ) -> tuple[CommandResult, tuple[Origin, ...]]:
        """Run ``argv`` and return the result with its origins.

        ``limits`` are the seconds and the characters of output.

        Raises:
            ToolError: no sandbox can be created, but one is required.
        """
        here = await asyncio.to_thread(found)
        if here.method is Method.NONE:
            self._require_person(ctx, here)
            return await run_command(mark_command(argv), folder, environment, *limits), _origins(
                None
            )
        session = ctx.session.id
        if await asyncio.to_thread(self.sandbox.emptied, session):
            ctx.notify(
                "The /tmp and home of the sandbox had more than "
                f"{self._config.limits.private_mb:,} MiB and were emptied."
            )
        async with self._proxy(ctx) or nullcontext() as proxy:
            socket = proxy.socket if proxy else None
            places = Places(folder, ctx.paths.workspace, ctx.paths.check_path)
            inner = self.sandbox.environment(environment, session, socket)
            view = await asyncio.to_thread(self.sandbox.view, places, environment, session, socket)
            kept = await asyncio.to_thread(keep, view.findings)
            wrapped = self.sandbox.command(argv, folder, view)
            try:
                result = await run_command(wrapped, folder, inner, *limits)
            finally:
                undone = await asyncio.shield(
                    asyncio.to_thread(self.sandbox.put_back, kept, view, places)
                )
        return replace(result, put_back=tuple(undone)), _origins(proxy)

    def _require_person(self, ctx: Context, here: Found) -> None:
        """Raise ``ToolError`` unless a person approved the command or the operator watches."""
        if self._config.enabled is True or ctx.approval == "no":
            raise ToolError(f"nothing was run: {_sandbox_required(here)}")
        if ctx.operator and not ctx.stash.session.setdefault(_WARNED_KEY, False):
            ctx.stash.session[_WARNED_KEY] = True
            ctx.notify(
                f"Commands run without a sandbox: {here.why}. {here.fix[:1].upper()}{here.fix[1:]}."
            )

    def _proxy(self, ctx: Context) -> Proxy | None:
        if not self.has_network(ctx) or self.sandbox.method is not Method.BUBBLEWRAP:
            return None
        from hookline_sandbox.proxy import Proxy

        return Proxy(self._host.http)

    def has_network(self, ctx: Context) -> bool:
        """Whether commands of this turn reach the network through the guarded proxy."""
        if self._config.network == "auto":
            return ctx.operator
        return self._config.network == "guarded"

    def close(self) -> None:
        """Remove the private folders."""
        self.sandbox.close()


def _origins(proxy: Proxy | None) -> tuple[Origin, ...]:
    reached = proxy.reached[:_MAX_SHOWN_ADDRESSES] if proxy else []
    return tuple(Origin("outside", place) for place in reached) or (Origin("workspace", "bash"),)


def _sandbox_required(here: Found) -> str:
    return f"commands must be sandboxed, but {here.why}; {here.fix} {_OFF}"


def check_sandbox(config: SandboxConfig) -> CheckResult:
    """The result of the doctor's check of the sandbox."""
    if config.enabled is False:
        detail = "off: everyone's commands run with all the rights of this account"
        return CheckResult(True, detail, "Set sandbox.enabled to auto to switch it on.", hint=True)
    found.cache_clear()  # the machine may have changed
    here = found()
    fix = f"{here.fix[:1].upper()}{here.fix[1:]}."
    scope = "all commands"
    if config.enabled is not True:
        scope = "all commands except the operator's own at the terminal"
    if here.method is Method.BUBBLEWRAP:
        return CheckResult(True, f"bubblewrap runs {scope}")
    if here.method is Method.LANDLOCK:
        detail = f"Landlock runs {scope}, without network, because {here.why}"
        return CheckResult(True, detail, fix, hint=True)
    if config.enabled is True:
        return CheckResult(False, f"no command is run: {here.why}", fix)
    detail = f"none can be created: each command needs approval ({here.why})"
    return CheckResult(True, detail, fix, hint=True)
