"""Reads commands and agents: Markdown files with front matter."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from . import bundle_files
from .bundle import BundleAgent, BundleCommand
from .bundle_files import OutsideBundle, Unreadable
from .markdown import MarkdownFile, parse_markdown
from .tool_names import own_names

MAX_DESCRIPTION_CHARS = 300
"""Characters of a description that is shown."""
_UNUSED_OF_AGENTS = ("hooks", "mcpServers", "skills", "permissionMode", "memory", "isolation")
"""Fields of an agent that would do something in Claude Code."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,63}")
_HEADING = re.compile(r"#+\s*")


@dataclass
class PartReader:
    """Collects the commands and agents of one bundle, and why others are left out."""

    root: Path
    commands: list[BundleCommand] = field(default_factory=list)
    agents: list[BundleAgent] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def read_commands(self, path: str) -> None:
        """Add the commands of a folder, or of one file."""
        for file in self._files(path):
            document = self._document(file, "command")
            if document is not None:
                self._add_command(file, document)

    def add_commands(self, commands: Iterable[BundleCommand]) -> None:
        """Add skills that only the person uses; a command of the same name stays."""
        for one in commands:
            if any(known.name == one.name for known in self.commands):
                self.problems.append(f"skill {one.name} is left out: a command has its name")
            else:
                self.commands.append(one)

    def read_agents(self, path: str) -> None:
        """Add the agents of a folder, or of one file."""
        for file in self._files(path):
            document = self._document(file, "agent")
            if document is not None:
                self._add_agent(file, document)

    def _files(self, path: str) -> list[str]:
        try:
            real = bundle_files.resolve(self.root, path)
            if real.is_file() and path.lower().endswith(".md"):
                return [path]
            return list(bundle_files.markdown_files(self.root, path))
        except OutsideBundle as error:
            self.problems.append(f"{error}; it is not read")
            return []

    def _document(self, file: str, what: str) -> MarkdownFile | None:
        try:
            return parse_markdown(bundle_files.read_text(self.root, file))
        except (OutsideBundle, Unreadable) as error:
            self.problems.append(f"{what} {file} is left out: {error}")
            return None

    def _add_command(self, file: str, document: MarkdownFile) -> None:
        name = PurePosixPath(file).stem
        if any(known.file == self.root / file for known in self.commands):
            return  # the manifest names a file in the fixed place too
        if any(known.name == name for known in self.commands):
            # Two files of this name in different folders: the second is told apart by its folder.
            name = ":".join(PurePosixPath(file).with_suffix("").parts[-2:])
        if not all(_NAME.fullmatch(part) for part in name.split(":")):
            self.problems.append(
                f"command {file} is left out: /{name[:60]} is not a command's name"
            )
        elif not document.body:
            self.problems.append(f"command {file} is left out: it is empty")
        else:
            self.commands.append(command_of(name, document, self.root / file))

    def _add_agent(self, file: str, document: MarkdownFile) -> None:
        if any(known.file == self.root / file for known in self.agents):
            return  # the manifest names a file in the fixed place too
        name = document.text("name") or PurePosixPath(file).stem
        name = re.sub(r"\s+", "-", name)
        if not _NAME.fullmatch(name):
            self.problems.append(f"agent {file} is left out: {name[:60]!r} is not a name")
            return
        if not document.body:
            self.problems.append(f"agent {file} is left out: it has no instruction")
            return
        if any(known.name == name for known in self.agents):
            self.problems.append(f"agent {file} is left out: another one is called {name}")
            return
        unused = [field for field in _UNUSED_OF_AGENTS if document.fields.get(field)]
        if unused:
            self.problems.append(f"agent {name}: ignored fields: {', '.join(unused)}")
        tools = self._tools(document, "tools", name)
        barred = self._tools(document, "disallowedTools", name) or ()
        turns = document.fields.get("maxTurns")
        self.agents.append(
            BundleAgent(
                name,
                _description(document),
                document.body,
                self.root / file,
                tools,
                barred,
                document.text("model"),
                turns
                if isinstance(turns, int) and not isinstance(turns, bool) and turns > 0
                else 0,
            )
        )

    def _tools(self, document: MarkdownFile, field_name: str, agent: str) -> tuple[str, ...] | None:
        words = document.words(field_name)
        if words is None or "*" in words:
            return None
        found, unknown = own_names(words)
        if unknown:
            shown = ", ".join(name[:40] for name in unknown)
            self.problems.append(f"agent {agent}: Hookline has no tool {shown}")
        return found


def command_of(name: str, document: MarkdownFile, file: Path) -> BundleCommand:
    """Return a command, or a skill that only the person uses, which is one too."""
    return BundleCommand(
        name,
        _description(document),
        document.body.replace("${CLAUDE_SKILL_DIR}", str(file.parent)),
        file,
        hint=_hint(document),
        allowed_tools=document.words("allowed-tools") or (),
        model=document.text("model"),
    )


def _description(document: MarkdownFile) -> str:
    """The description, or the first line of the text."""
    text = document.text("description")
    if not text:
        text = next((line for line in document.body.split("\n") if line.strip()), "")
        text = _HEADING.sub("", text)
    # Some write examples of a conversation into it, with literal \n.
    text = " ".join(text.replace("\\n", " ").split())
    text = text.partition("<example>")[0].removesuffix("Examples:").strip() or text
    return text if len(text) <= MAX_DESCRIPTION_CHARS else f"{text[: MAX_DESCRIPTION_CHARS - 1]}…"


def _hint(document: MarkdownFile) -> str:
    value = document.fields.get("argument-hint")
    if isinstance(value, list):  # `argument-hint: [issue]` without quotation marks is a YAML list
        return " ".join(f"[{one}]" for one in value)
    return document.text("argument-hint")
