"""Permission rules: ``TOOL`` or ``TOOL(pattern)``, and what they match.

:func:`parse_rule` is the way in. A rule of ``bash`` is matched by :mod:`.command_patterns`, others
by the call's argument that their pattern is about.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

from .command_patterns import CommandPattern
from .network_patterns import NETWORK, NetworkPattern
from .path_patterns import PathPattern
from .web_patterns import WebPattern

Kind: TypeAlias = Literal["deny", "ask", "allow"]
KINDS: tuple[Kind, ...] = ("deny", "ask", "allow")
"""From the strictest to the freest; the strictest matching rule decides."""
COMMAND_TOOL = "bash"
PACKAGED, CHAT, SESSION = "packaged", "chat", "session"
"""Where rules stand that are in no file."""
MAX_RULE_CHARS = 2_000
"""Characters of a rule."""
_RULE = re.compile(
    r"(?P<tool>[\w*?|.-]+)(?:\((?P<pattern>.*)\))?(?:\s+#sha256:(?P<digest>[0-9a-f]{16,64}))?", re.S
)
_URL_START = re.compile(r"(?:domain:|https?://|\*://)")
EXACT = "="
"""A pattern of ``bash`` that begins with it is a whole command as written."""
SANDBOXED = "<sandboxed>"
"""A pattern of ``bash`` for every command that stays in the sandbox."""


_OTHER_NAMES = {
    "Bash": "bash",
    "Read": "read_file",
    "Write": "write_file",
    "Edit": "edit_file",
    "WebFetch": "web_fetch",
}
"""Names that other agents use in their rules."""


class RuleError(ValueError):
    """A rule cannot be read; the text says what to write instead."""


@dataclass(frozen=True)
class Rule:
    """A rule.

    Attributes:
        kind: what it decides.
        text: as written.
        tool: the name of the tool, where ``*`` stands for any characters and ``a|b`` for either.
        pattern: what the call must be about; None for every call of the tool.
        where: the file, or ``chat``, ``session`` or ``packaged``.
        digest: the first digits of the SHA-256 of the file that the command runs, in hexadecimal;
            with another content the rule does not match.
        why: the reason of a packaged rule.
        restorable: no question is needed if the files and the history of the workspace are kept.
        reads: the command only reads, so it may name parts of the system that hold no keys.
        once: the question is asked each time; no rule and no grant answers it.
        reads_from: the rule is about commands that read what one of these programs writes.
        trait: ``downloaded`` for a file that the same line has fetched, ``forks`` for a function
            that starts itself several times.
    """

    kind: Kind
    text: str
    tool: str
    pattern: str | None
    where: str
    digest: str = ""
    why: str = ""
    restorable: bool = False
    reads: bool = False
    once: bool = False
    reads_from: tuple[str, ...] = ()
    trait: Literal["", "downloaded", "forks"] = ""
    unless: tuple[Rule, ...] = ()

    @cached_property
    def tool_names(self) -> re.Pattern[str]:
        """Matches the names of its tools."""
        parts = [re.escape(one).replace(r"\*", ".*").replace(r"\?", ".") for one in self._tools]
        return re.compile("|".join(f"(?:{part})" for part in parts))

    @property
    def _tools(self) -> list[str]:
        return [one for one in self.tool.split("|") if one]

    @property
    def is_sandbox_scope(self) -> bool:
        """True for the rule about every command that stays in the sandbox."""
        return self.tool == COMMAND_TOOL and self.pattern == SANDBOXED

    @property
    def exact_command(self) -> str | None:
        """The command that an exact rule is about; None for other rules."""
        pattern = self.pattern
        return pattern[1:] if pattern is not None and pattern.startswith(EXACT) else None

    @cached_property
    def command(self) -> CommandPattern | None:
        """The pattern of a rule about commands; None if it is about every command, or one line."""
        if self.pattern is None or self.exact_command is not None or self.is_sandbox_scope:
            return None
        return CommandPattern.parse(self.pattern)

    @cached_property
    def web(self) -> WebPattern | None:
        """The pattern of a rule about addresses; None for other rules."""
        if self.pattern is None or not _URL_START.match(self.pattern):
            return None
        return WebPattern.parse(self.pattern)

    @cached_property
    def network(self) -> NetworkPattern | None:
        """The pattern of a rule about hosts of sandboxed programs; None for other rules."""
        if self.pattern is None or self.tool != NETWORK:
            return None
        return NetworkPattern.parse(self.pattern)

    @cached_property
    def path(self) -> PathPattern | None:
        """The pattern of a rule about files; None for other rules."""
        if self.pattern is None or self.web is not None or self.tool == NETWORK:
            return None
        return PathPattern(self.pattern)

    def names(self, tool: str) -> bool:
        """True if the rule is about the tool of this name."""
        return bool(self.tool_names.fullmatch(tool))


def parse_rule(kind: Kind, text: object, where: str, **options: object) -> Rule:
    """Return the rule that ``text`` is.

    Raises:
        RuleError: it is none; the text quotes it and says what to write instead.
    """
    if not isinstance(text, str):
        raise RuleError(f"expected a rule in quotes, got {text!r}. Write 'bash(git log *)'.")
    if len(text) > MAX_RULE_CHARS:
        raise RuleError(f"{text[:40]!r}… is longer than {MAX_RULE_CHARS:,} characters. Shorten it.")
    found = _RULE.fullmatch(text.strip())
    if found is None:
        raise RuleError(f"{text!r} is not a rule. {_suggestion(text)}")
    tool, pattern = found["tool"], found["pattern"]
    if tool in _OTHER_NAMES:
        raise RuleError(f"{text!r}: the tool is called {_OTHER_NAMES[tool]} here.")
    if not tool.strip("|"):
        raise RuleError(f"{text!r} names no tool. {_suggestion(text)}")
    if pattern is not None and not pattern.strip():
        raise RuleError(f"{text!r} has no pattern. Write {tool!r} for every call of the tool.")
    pattern = None if pattern is None or pattern.strip() in ("*", "**") else pattern.strip()
    rule = Rule(kind, text.strip(), tool, pattern, where, found["digest"] or "", **options)  # type: ignore[arg-type]
    if rule.is_sandbox_scope and kind != "allow":
        raise RuleError(f"{text!r}: only an allow rule can be about what stays in the sandbox.")
    try:
        _check_pattern(rule)
    except ValueError as error:
        raise RuleError(f"{text!r}: {error}") from None
    return rule


def _check_pattern(rule: Rule) -> None:
    """Raises ``ValueError`` with a sentence if the pattern does not fit the tool."""
    if rule.pattern is None:
        return
    if rule.tool == COMMAND_TOOL:
        if rule.pattern.endswith(":*"):
            raise ValueError(f"write {f'bash({rule.pattern[:-2]} *)'!r}.")
        if rule.exact_command is None and not rule.is_sandbox_scope:
            CommandPattern.parse(rule.pattern)
        return
    if rule.tool == NETWORK:
        NetworkPattern.parse(rule.pattern)
    if rule.digest:
        raise ValueError("only a rule of bash can end in #sha256:….")
    if rule.web is None and rule.tool in ("web_fetch", "web_extract"):
        raise ValueError(f"write {rule.tool}(domain:HOST), or an address such as https://HOST/*.")


def _suggestion(text: str) -> str:
    bare = text.strip()
    if ":" in bare and "(" not in bare:
        bare = bare.replace(":", " ", 1)
    if "(" not in bare and " " in bare and ")" not in bare:
        name, _, rest = bare.partition(" ")
        if name in ("bash", "read_file", "write_file", "edit_file", "web_fetch"):
            return f"Write {f'{name}({rest})'!r}."
        return f"Write {f'bash({bare})'!r} for a command."
    if "(" in bare and not bare.endswith(")"):
        return f"Close the bracket: {bare + ')'!r}."
    return "Write TOOL or TOOL(pattern), such as 'bash(git log *)'."
