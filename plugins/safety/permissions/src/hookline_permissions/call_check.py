"""What would happen with a call in the terminal: the rules, the mode, and the guard of commands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Ask, CheckedCommand, CommandCheck, Deny, ToolCall
from hookline_hookspecs.channels import TERMINAL

from .chat_rules import Chat, readable_rules
from .rule_guard import is_allowed_by_person, rule_verdict
from .rule_levels import rule_set
from .rule_set import part_outside
from .rules import Kind

if TYPE_CHECKING:
    from .plugin import Permissions

TERMINAL_CHAT = "default"
NO_COMMAND_CHECK = CheckedCommand(None, sandboxed=False)


@dataclass(frozen=True, slots=True)
class CallCheck:
    """The verdict on a call, the rule and where it stands; without a rule, ``where`` is the mode
    (``mode auto``) or ``shell``, and ``reason`` may say more."""

    verdict: Kind
    where: str
    rule: str = ""
    reason: str = ""
    sandboxed: bool = False

    def as_json(self) -> dict[str, Any]:
        """``verdict rule where sandboxed``."""
        return {
            "verdict": self.verdict,
            "rule": self.rule,
            "where": self.where,
            "sandboxed": self.sandboxed,
        }


async def check_call(plugin: Permissions, call: ToolCall) -> CallCheck:
    """Check a call as the operator would request it in the terminal, in a session without a mode
    of its own. Nothing is run, and no checkpoint is made."""
    paths, mode = plugin.host.paths, plugin.config.mode
    fixed = plugin.levels.fixed(paths.workspace)
    stored = await plugin.levels.chats.of(Chat(TERMINAL, TERMINAL_CHAT))
    service = plugin.host.services.get(CommandCheck)
    checked = (service.check(call, paths) if service is not None else None) or NO_COMMAND_CHECK
    rules = rule_set([*fixed.rules, *readable_rules(stored)])
    decision = rules.decide(call, paths, sandboxed=checked.sandboxed)
    outside = part_outside(call, paths) if checked.sandboxed else None
    found = rule_verdict(decision, outside)
    read_only = any(one.name == call.name and one.read_only for one in plugin.host.tools())

    def result(verdict: Kind, where: str, rule: str = "", reason: str = "") -> CallCheck:
        return CallCheck(verdict, where, rule, reason, checked.sandboxed and outside is None)

    if found.verdict == "deny":
        return result("deny", found.where, found.rule, found.why)
    if isinstance(checked.verdict, Deny):
        return result("deny", "shell", reason=checked.verdict.reason)
    if not read_only and mode == "plan":
        return result("deny", "mode plan")
    if not read_only and fixed.errors:
        return result("deny", "config.yaml", reason="\n".join(fixed.errors))
    if found.verdict == "ask":
        return result("ask", found.where, found.rule, found.why)
    asked = checked.verdict if isinstance(checked.verdict, Ask) else None
    if asked is not None and not (asked.answered_by_rules and found.verdict == "allow"):
        return result("ask", "shell", reason=asked.reason)
    if outside is not None and found.verdict != "allow":
        return result("ask", "shell", reason=f"`{outside.text}` {outside.why}")
    if not read_only and mode == "ask" and not is_allowed_by_person(decision):
        return result("ask", "mode ask")
    if found.verdict == "allow":
        return result("allow", found.where, found.rule)
    return result("allow", f"mode {mode}")
