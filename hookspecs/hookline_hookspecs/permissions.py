"""The services :class:`PermissionRules` and :class:`CommandCheck`: which calls need no question.

The plugin ``permissions`` provides the first, the plugin ``shell`` the second. A guard that does
not find them decides as if no rule existed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from .host import Context
    from .messages import ToolCall
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
        answers_guards: an ``allow`` that also answers the ``Ask`` of a guard about the risk of the
            call, because a person wrote it, or because the call only reads. It never answers an
            ``Ask`` with ``once``, and no ``Deny``.
    """

    verdict: RuleKind | None = None
    rule: str = ""
    where: str = ""
    why: str = ""
    answers_guards: bool = False


@dataclass(frozen=True, slots=True)
class OfferedScope:
    """What a person may allow beyond one call.

    Attributes:
        label: the choice, which begins with ``Allow``.
        rules: the allow rules that it adds.
        covers: what they cover, as lines for the person.
        lasts: until the end of the ``session``, or for the ``chat`` until they are removed.
    """

    label: str
    rules: tuple[str, ...]
    covers: str
    lasts: Literal["session", "chat"] = "session"


class PermissionRules(Protocol):
    """The permission rules of the person, the project and the chat, and the packaged ones.

    A sandboxed program that reaches for a host counts as a call of :data:`NETWORK` with the
    arguments ``host`` (in lower case) and ``port``.
    """

    async def verdict(self, ctx: Context, call: ToolCall) -> RuleVerdict:
        """Return what the rules say about a call, without the mode and other guards."""

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


@dataclass(frozen=True, slots=True)
class CheckedCommand:
    """How a command would be treated.

    Attributes:
        verdict: that of its guard.
        restorable: no question is needed if a checkpoint of the workspace is made first.
        sandboxed: whether it would run in the sandbox.
    """

    verdict: Deny | Ask | None
    restorable: bool
    sandboxed: bool


class CommandCheck(Protocol):
    """Judges a command as the guard of the tool ``bash`` does, without running it."""

    def check(
        self, call: ToolCall, paths: Paths, ctx: Context | None = None
    ) -> CheckedCommand | None:
        """Return how a call would be treated in a turn, or, without ``ctx``, if the operator
        requested it in the terminal; None if it is not a call of ``bash``. Rules do not count."""
