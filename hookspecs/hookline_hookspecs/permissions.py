"""The services :class:`PermissionRules`, :class:`CommandEffects` and :class:`CommandCheck`.

They say which calls need no question, and what a command may do. The plugin ``permissions``
provides the first two, the plugin ``shell`` the third. A guard that does not find them decides as
if no rule existed, and as if a command could do anything.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path

    from .host import Context
    from .messages import ToolCall
    from .origins import Effect
    from .paths import Paths
    from .verdicts import Ask, Deny

NETWORK = "network"
"""The name of a call with which a sandboxed program asks for a host."""
RuleKind: TypeAlias = Literal["deny", "ask", "allow"]


@dataclass(frozen=True, slots=True)
class RuleVerdict:
    """What the permission rules say about a call.

    Attributes:
        verdict: the kind of the rule that decides; None if no rule does.
        rule: the rule as written, such as ``bash(git push *)``.
        where: where it stands: ``config.yaml``, ``.hookline/permissions.yaml``, ``chat``,
            ``session`` or ``packaged``.
        why: the reason of a packaged rule.
        outside: the part of a command that does not work in the sandbox, such as ``docker ps``;
            empty if there is none.
        outside_why: why, as a predicate: ``needs your keys``.
    """

    verdict: RuleKind | None = None
    rule: str = ""
    where: str = ""
    why: str = ""
    outside: str = ""
    outside_why: str = ""


@dataclass(frozen=True, slots=True)
class OfferedScope:
    """What a person may allow beyond one call.

    Attributes:
        label: the choice, which begins with ``Allow``.
        rules: the allow rules that it adds.
        covers: what they cover, as lines for the person.
        lasts: until the end of the ``turn`` or ``session``, or for the ``chat`` until they are
            removed.
        remember: called when a person has chosen it; None for scopes that consist of rules.
    """

    label: str
    rules: tuple[str, ...]
    covers: str
    lasts: Literal["turn", "session", "chat"] = "session"
    remember: Callable[[], Awaitable[None]] | None = field(default=None, compare=False)


class PermissionRules(Protocol):
    """The permission rules of the person, the project and the chat, and the packaged ones.

    A sandboxed program that reaches for a host counts as a call of :data:`NETWORK` with the
    arguments ``host`` (in lower case) and ``port``.
    """

    async def verdict(self, ctx: Context, call: ToolCall) -> RuleVerdict:
        """Return what the rules say about a call, without the mode and other guards."""

    async def matches(self, ctx: Context, rule: str, call: ToolCall) -> bool:
        """Return whether a rule such as ``bash(git push *)`` is about a call.

        True too for a command of which a part cannot be read, and for a rule that cannot.
        """
        return True

    async def covers(self, ctx: Context, rules: Sequence[str], call: ToolCall) -> bool:
        """Return whether allow rules such as these would allow a call, with every part of it.

        False too for a command of which a part cannot be read, and for rules that cannot.
        """
        return False

    async def offered_scopes(self, ctx: Context, call: ToolCall) -> Sequence[OfferedScope]:
        """Return up to three scopes that would have allowed this call, the narrowest first."""

    async def local_ports(self, ctx: Context) -> Sequence[int]:
        """Return the ports of this machine that sandboxed programs may reach, by allow rules such
        as ``network(localhost:5432)``."""

    async def add_scope(self, ctx: Context, scope: OfferedScope, by: str) -> None:
        """Store the rules of a scope for the chat of ``ctx``; ``by`` is the person who chose it.

        Raises:
            StoreError: they could not be stored.
        """


class CommandEffects(Protocol):
    """What a command may do, by the words of the programs that it starts."""

    def effects(self, call: ToolCall, paths: Paths) -> Sequence[Effect]:
        """Return what a call of ``bash`` may do. Nothing is run, and no script is read.

        Empty for a command whose programs only read, or change files of the workspace.
        """

    def files_read(self, call: ToolCall, paths: Paths) -> Sequence[Path] | None:
        """Return every file that a call of ``bash`` can read; None if that cannot be known.

        Only programs that open nothing but the files among their words are known, such as ``cat``,
        and those that print no content, such as ``ls``. Files of the system do not count.
        """


@dataclass(frozen=True, slots=True)
class CheckedCommand:
    """How a command would be treated.

    Attributes:
        verdict: that of its guard. An ``Ask`` with ``answered_by_rules`` is not asked if an
            ``allow`` rule covers the command.
        sandboxed: whether it would run in the sandbox, unless it needs the machine itself.
    """

    verdict: Deny | Ask | None
    sandboxed: bool


class CommandCheck(Protocol):
    """Checks a command as the guard of the tool ``bash`` does, without running it."""

    def check(
        self, call: ToolCall, paths: Paths, ctx: Context | None = None
    ) -> CheckedCommand | None:
        """Return how a call would be treated in a turn, or, without ``ctx``, if the operator
        requested it in the terminal; None if it is not a call of ``bash``. Rules do not count."""
