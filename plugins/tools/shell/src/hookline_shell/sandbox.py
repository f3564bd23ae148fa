"""Who is sandboxed, with which network, and what happens where no sandbox can be made.

How it is done is ``hookline_sandbox``'s; here stands the rule (see ``docs/hands.md``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from hookline_hookspecs import Ask, CheckResult, Deny, Origin, ToolError
from hookline_hookspecs.channels import TERMINAL
from hookline_sandbox import Found, Limits, Method, Places, Sandbox, found
from hookline_toolmark import branding

from .running import Outcome, run

if TYPE_CHECKING:
    from hookline_hookspecs import Context, Host, Mode
    from hookline_sandbox.proxy import Proxy

    from .config import SandboxConfig

_OFF = "or switch it off with `plugins: {shell: {sandbox: {enabled: false}}}`"
_MOST_SHOWN = 20
"""Addresses that a command reached and that its result names."""


def is_wanted(config: SandboxConfig, ctx: Context) -> bool:
    """True if commands of this turn are to be sandboxed.

    With ``enabled: auto`` all but those that the terminal's operator asks for in person or has
    allowed beforehand (``--yes``): not those of a channel, of a turn without a person, of a
    sub-agent or of a review.
    """
    if config.enabled != "auto":
        return config.enabled
    session = ctx.session
    own = session.parent_id is None and session.kind == "chat"
    return not (own and ctx.channel == TERMINAL and ctx.operator and ctx.approval != "no")


class Apart:
    """Runs commands in the sandbox, as the settings say."""

    def __init__(self, config: SandboxConfig, host: Host) -> None:
        self._config, self._host = config, host
        limits = Limits(**config.limits.model_dump())
        self.sandbox = Sandbox(
            host.home, limits, read_only=config.read_only, writable=config.writable
        )

    @property
    def can_run(self) -> bool:
        """True if a sandbox can be made here."""
        return found().method is not Method.NONE

    def verdict(self, ctx: Context, command: str, mode: Mode | None) -> Deny | Ask | None:
        """What is to be said of a command where no sandbox can be made; None where one can.

        Who is no operator is asked about each; where nobody is there to be asked, none is run, nor
        in the mode ``yolo``.
        """
        here = found()
        if here.method is not Method.NONE or self._config.enabled is True:
            return None
        if mode == "yolo":
            return Deny(f"yolo mode runs commands in the sandbox alone, and {here.why}; {here.fix}")
        if ctx.approval == "no":
            return Deny(f"nobody is here to watch, and nothing was run: {_needed(here)}")
        if ctx.operator:
            return None
        return Ask(
            "No sandbox can be made on this machine: the command would run with all the rights of "
            f"the account that runs Hookline ({here.why}).",
            command,
            once=True,
        )

    async def run(
        self,
        ctx: Context,
        argv: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        bounds: tuple[float, int],
    ) -> tuple[Outcome, tuple[Origin, ...]]:
        """Run ``argv``; ``bounds`` are seconds and characters. Also where its output came from.

        Raises:
            ToolError: no sandbox can be made, and one is demanded.
        """
        here = await asyncio.to_thread(found)
        if here.method is Method.NONE:
            self._require_person(ctx, here)
            return await run(branding(argv), folder, environment, *bounds), _origins(None)
        session = ctx.session.id
        if await asyncio.to_thread(self.sandbox.emptied, session):
            ctx.notify(
                "The sandbox's /tmp and home held more than "
                f"{self._config.limits.private_mb:,} MiB and were emptied."
            )
        async with self._proxy(ctx) or nullcontext() as proxy:
            socket = proxy.socket if proxy else None
            places = Places(folder, ctx.paths.workspace, ctx.paths.judge)
            inner = self.sandbox.environment(environment, session, socket)
            wrapped = await asyncio.to_thread(
                self.sandbox.wrapped, argv, places, environment, session, socket
            )
            outcome = await run(wrapped, folder, inner, *bounds)
        return outcome, _origins(proxy)

    def _require_person(self, ctx: Context, here: Found) -> None:
        """Without a sandbox, only what a person was asked about, or an operator watches, is run."""
        if self._config.enabled is True or ctx.approval == "no":
            raise ToolError(f"nothing was run: {_needed(here)}")
        if ctx.operator and not ctx.stash.session.setdefault("told", False):
            ctx.stash.session["told"] = True
            ctx.notify(
                f"Commands run without a sandbox: {here.why}. {here.fix[:1].upper()}{here.fix[1:]}."
            )

    def _proxy(self, ctx: Context) -> Proxy | None:
        if not self.has_network(ctx) or self.sandbox.method is not Method.BUBBLEWRAP:
            return None
        from hookline_sandbox.proxy import Proxy

        return Proxy(self._host.http)

    def has_network(self, ctx: Context) -> bool:
        """True if commands of this turn reach the network through the guarded proxy."""
        if self._config.network == "auto":
            return ctx.operator
        return self._config.network == "guarded"

    def close(self) -> None:
        """Remove the private folders."""
        self.sandbox.close()


def _origins(proxy: Proxy | None) -> tuple[Origin, ...]:
    reached = proxy.reached[:_MOST_SHOWN] if proxy else []
    return tuple(Origin("outside", place) for place in reached) or (Origin("workspace", "bash"),)


def _needed(here: Found) -> str:
    return f"commands are sandboxed here, and {here.why}; {here.fix} {_OFF}"


def checked(config: SandboxConfig) -> CheckResult:
    """What the doctor says of the sandbox."""
    if config.enabled is False:
        said = "off: commands of everybody run with all the rights of this account"
        return CheckResult(True, said, "Set sandbox.enabled to auto to have it back.", hint=True)
    found.cache_clear()  # the machine may have been changed since
    here = found()
    fix = f"{here.fix[:1].upper()}{here.fix[1:]}."
    whose = (
        "all commands" if config.enabled is True else "all but the operator's own at the terminal"
    )
    if here.method is Method.BUBBLEWRAP:
        return CheckResult(True, f"bubblewrap works and holds {whose}")
    if here.method is Method.LANDLOCK:
        said = f"Landlock holds {whose}, without network, because {here.why}"
        return CheckResult(True, said, fix, hint=True)
    if config.enabled is True:
        return CheckResult(False, f"no command is run: {here.why}", fix)
    said = f"none can be made: a person is asked about each command ({here.why})"
    return CheckResult(True, said, fix, hint=True)
