"""Decides where a command runs, and whether a person must be asked about it first.

In the sandbox nothing is asked here. On the machine itself, because there is no sandbox or because
the command does not work in one, everything is asked that no permission rule allows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from hookline_hookspecs import Ask, Deny, PermissionRules, RuleVerdict
from hookline_hookspecs.sentences import N_
from hookline_sandbox import Method, found

from .sandbox_runner import (
    OFFLINE,
    is_sandboxed,
    no_sandbox_verdict,
    offline_refusal,
    outside_refusal,
    outside_verdict,
)

if TYPE_CHECKING:
    from hookline_hookspecs import Context, Host, Mode, ToolCall

    from .config import ShellConfig

Place = Literal["sandbox", "outside", "host"]
"""In the sandbox; outside, although there is a sandbox; on a machine without one."""
OUTSIDE = N_("the command would run outside the sandbox")
MAX_PART_CHARS = 100
"""Characters of a command's part in a sentence; a question shows the whole command below."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a command runs, the verdict that follows, and a note for the model."""

    place: Place
    verdict: Deny | Ask | None = None
    note: str = ""


class CommandGuard:
    """The verdicts on commands. ``dangerous`` are the operator's patterns."""

    def __init__(self, config: ShellConfig, host: Host) -> None:
        self._config, self._host = config, host
        self._dangerous = [re.compile(pattern) for pattern in config.dangerous_patterns]

    async def placement(
        self, ctx: Context, call: ToolCall, command: str, mode: Mode | None, *, offline: bool
    ) -> Placement:
        """Where a call runs in a turn, and what is asked about it.

        offline: a person has cut off the chat's commands from the network.
        """
        rules = self._host.services.get(PermissionRules)
        ruled = await rules.verdict(ctx, call) if rules is not None else None
        placed = self._placement(ctx, call, command, mode, ruled, offline=offline)
        dangerous = self.dangerous_verdict(command)
        if dangerous is None or isinstance(placed.verdict, Deny):
            return placed
        return replace(placed, verdict=_both(dangerous, placed.verdict))

    def _placement(
        self,
        ctx: Context,
        call: ToolCall,
        command: str,
        mode: Mode | None,
        ruled: RuleVerdict | None,
        *,
        offline: bool,
    ) -> Placement:
        if mode != "yolo" and not offline and not is_sandboxed(self._config.sandbox, ctx):
            return Placement("host", self._unsandboxed(ctx, command, ruled))
        if found().method is Method.NONE:
            if offline:
                return Placement("host", Deny(offline_refusal()))
            verdict = no_sandbox_verdict(self._config.sandbox, ctx, command, mode)
            if verdict is None and self._config.sandbox.enabled is not True:
                verdict = self._unsandboxed(ctx, command, ruled)
            return Placement("host", verdict)
        if call.arguments.get("outside") is True and offline:
            return Placement("sandbox", Deny(OFFLINE))
        if call.arguments.get("outside") is True:
            reason = str(call.arguments.get("reason") or "")
            return Placement("outside", outside_verdict(ctx, command, reason, mode))
        if ruled is None or not ruled.outside:
            return Placement("sandbox")
        return self._needs_machine(ctx, command, mode, ruled, offline=offline)

    def _needs_machine(
        self, ctx: Context, command: str, mode: Mode | None, ruled: RuleVerdict, *, offline: bool
    ) -> Placement:
        """A command that does not work in the sandbox: outside if a rule or a person allows it."""
        if not offline and self._is_allowed(ctx, ruled):
            return Placement("outside")
        part = _shortened(ruled.outside)
        if offline or outside_refusal(ctx, mode):
            note = f"it ran in the sandbox, where `{part}` hardly works: it {ruled.outside_why}"
            return Placement("sandbox", note=note)
        why = f"{ruled.outside_why}; {OUTSIDE}"
        reason = f"`{part}` {why}"
        return Placement("outside", Ask(reason, command, answered_by_rules=True))

    def _unsandboxed(self, ctx: Context, command: str, ruled: RuleVerdict | None) -> Ask | None:
        """The question about a command that no rule allows and no sandbox confines."""
        if ruled is not None and self._is_allowed(ctx, ruled):
            return None
        if ruled is None:
            reason = N_(
                "it would run without a sandbox, with all rights of this account, and the plugin "
                "permissions is off, so no rule allows it"
            )
        else:
            reason = N_(
                "it would run without a sandbox, with all rights of this account, and no rule "
                "allows it"
            )
        return Ask(reason, command, answered_by_rules=ruled is not None)

    def _is_allowed(self, ctx: Context, ruled: RuleVerdict) -> bool:
        """True if an allow rule covers the command.

        The packaged ones allow nothing where Hookline's keys are below the workspace: programs that
        read whole folders would print them.
        """
        if ruled.verdict != "allow":
            return False
        home = self._host.home.expanduser().resolve()
        return ruled.where != "packaged" or not home.is_relative_to(ctx.paths.workspace.resolve())

    def dangerous_verdict(self, command: str) -> Ask | None:
        """The question about a command that one of the operator's patterns matches."""
        for pattern in self._dangerous:
            if match := pattern.search(command):
                # People read the words that match, not the expression.
                words = " ".join(match[0].split()) or command.strip()
                reason = N_(f"{words!r} is on the list of dangerous commands")
                return Ask(reason, command, marks=(match[0].strip(),) if match[0].strip() else ())
        return None


def _both(one: Ask, other: Ask | None) -> Ask:
    """One question with the reasons of both."""
    if other is None:
        return one
    reason, once = f"{one.reason}; {other.reason}", one.once or other.once
    return Ask(reason, one.preview, once, one.marks + other.marks)


def _shortened(text: str) -> str:
    one_line = " ".join(text.split()).replace("`", "'")
    return one_line if len(one_line) <= MAX_PART_CHARS else one_line[: MAX_PART_CHARS - 1] + "…"
