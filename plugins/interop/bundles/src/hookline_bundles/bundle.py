"""A bundle: what a folder of another agent's plugin holds, whatever its format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

Format: TypeAlias = Literal[
    "agent-plugins", "claude", "open-plugin", "cursor", "codex", "folder", "config"
]
"""Whose rules apply. ``folder`` is a project folder such as ``.claude``; ``config`` is the section
``hooks`` of config.yaml."""


@dataclass(frozen=True, slots=True)
class BundleSkill:
    """A folder with a SKILL.md. ``name`` is that of the folder."""

    name: str
    folder: Path
    description: str = ""


@dataclass(frozen=True, slots=True)
class BundleCommand:
    """A Markdown file that becomes a slash command.

    Attributes:
        name: without the slash.
        body: the prompt, with ``$ARGUMENTS``, ``!`command` `` and ``@file`` in it.
        hint: what its arguments are, such as ``[issue]``.
        allowed_tools: the tools that the file names, as written.
        model: the model that the file names; empty for the session's.
        file: where it stands.
    """

    name: str
    description: str
    body: str
    file: Path
    hint: str = ""
    allowed_tools: tuple[str, ...] = ()
    model: str = ""


@dataclass(frozen=True, slots=True)
class BundleAgent:
    """A Markdown file that becomes a named sub-agent.

    Attributes:
        instruction: its system prompt.
        tools: Hookline's names of the tools that it may use; None for all.
        barred: the tools that it may not use.
        model: as written: ``inherit``, a name such as ``haiku``, or ``provider/model``.
        max_turns: model calls; 0 for the configured limit.
    """

    name: str
    description: str
    instruction: str
    file: Path
    tools: tuple[str, ...] | None = None
    barred: tuple[str, ...] = ()
    model: str = ""
    max_turns: int = 0


@dataclass(frozen=True, slots=True)
class BundleHook:
    """A program that is run at an event.

    Attributes:
        event: the event's name in Claude Code, such as ``PreToolUse``.
        matcher: which tools or kinds it is for, as written; empty for all.
        command: the shell command, or with ``args`` the program.
        args: the arguments, if no shell is used.
        timeout: seconds.
        strict: any failure of it counts as a refusal, not only those of a guard that cannot run.
        sandbox: False to run it outside of the sandbox, which only config.yaml can say.
        detached: nobody waits for it.
        condition: a permission rule that the call must match too, such as ``Bash(git push:*)``.
        files: the files that the command names, each with its hash; see :mod:`.named_files`.
    """

    event: str
    matcher: str
    command: str
    args: tuple[str, ...] | None = None
    timeout: float = 60.0
    strict: bool = False
    sandbox: bool = True
    detached: bool = False
    condition: str = ""
    files: tuple[tuple[str, str], ...] = ()

    @property
    def shown(self) -> str:
        """Its command line."""
        return " ".join([self.command, *(self.args or ())])


@dataclass(frozen=True, slots=True)
class BundleServer:
    """An MCP server. ``entry`` is what an MCP client's configuration would say, expanded."""

    name: str
    entry: Mapping[str, Any]

    @property
    def shown(self) -> str:
        """Its command line or address, and the names of its variables."""
        if url := self.entry.get("url"):
            return str(url)
        words = [str(self.entry.get("command", "")), *map(str, self.entry.get("args", ()))]
        names = ", ".join(sorted(self.entry.get("env", {})))
        return " ".join(words) + (f" (with {names})" if names else "")


@dataclass(frozen=True, slots=True)
class Bundle:
    """What a folder holds.

    Attributes:
        root: the folder, resolved.
        data: the folder that its programs may write to, which outlives updates.
        problems: what is not used, and why, one sentence each.
        ignored: files that Hookline has no use for, such as output styles.
    """

    name: str
    root: Path
    format: Format
    data: Path
    version: str = ""
    description: str = ""
    skills: tuple[BundleSkill, ...] = ()
    commands: tuple[BundleCommand, ...] = ()
    agents: tuple[BundleAgent, ...] = ()
    hooks: tuple[BundleHook, ...] = ()
    servers: tuple[BundleServer, ...] = ()
    problems: tuple[str, ...] = ()
    ignored: tuple[str, ...] = field(default=())

    @property
    def counts(self) -> dict[str, int]:
        """The number of its parts by kind."""
        return {
            "skills": len(self.skills),
            "commands": len(self.commands),
            "agents": len(self.agents),
            "hooks": len(self.hooks),
            "servers": len(self.servers),
        }

    @property
    def is_empty(self) -> bool:
        """True if nothing of it can be used."""
        return not any(self.counts.values())


class InvalidBundle(ValueError):
    """A folder is not a bundle that can be used; the text says why."""
