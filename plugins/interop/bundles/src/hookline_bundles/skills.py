"""Finds the skills of a bundle; the plugin ``skills`` reads and shows them."""

from __future__ import annotations

import unicodedata
from pathlib import Path

from . import bundle_files
from .bundle import BundleCommand, BundleSkill
from .bundle_files import OutsideBundle, Unreadable
from .markdown import MarkdownFile, parse_markdown
from .parts import command_of

MAIN_FILE = "SKILL.md"
_FIELDS = {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
"""The fields of agentskills.io."""
MAX_NAME_CHARS = 64
MAX_DESCRIPTION_CHARS = 1024
MAX_COMPATIBILITY_CHARS = 500


class SkillReader:
    """Collects the skills of one bundle, and why others are left out.

    A skill that only the person uses (``disable-model-invocation``) is one of ``commands``.

    strict: a skill that violates agentskills.io is left out; otherwise one that has a description,
    or a text from which one can be made, is used.
    """

    def __init__(self, root: Path, *, strict: bool) -> None:
        self._root = root
        self._strict = strict
        self.skills: list[BundleSkill] = []
        self.commands: list[BundleCommand] = []
        self.problems: list[str] = []

    def read(self, folder: str) -> None:
        """Add the skills in the immediate subfolders of a folder, or the folder's own."""
        try:
            real = bundle_files.resolve(self._root, folder)
        except OutsideBundle as error:
            self.problems.append(f"{error}; its skills are not used")
            return
        if not real.is_dir():
            if bundle_files.exists(self._root, folder):
                self.problems.append(f"{folder} is not a folder; there are no skills in it")
            return
        if not self._strict and bundle_files.exists(self._root, f"{folder}/{MAIN_FILE}"):
            self._read_one(folder)
            return
        for name in bundle_files.children(self._root, folder):
            path = f"{folder}/{name}"
            if not name.startswith(".") and bundle_files.exists(self._root, f"{path}/{MAIN_FILE}"):
                self._read_one(path)

    def _read_one(self, folder: str) -> None:
        name = Path(folder).name
        try:
            real = bundle_files.resolve(self._root, folder)
            text = bundle_files.read_text(self._root, f"{folder}/{MAIN_FILE}")
        except (OutsideBundle, Unreadable) as error:
            self.problems.append(f"skill {name} is left out: {error}")
            return
        document = parse_markdown(text)
        errors = _errors(document, name) if self._strict else _lenient_errors(document)
        known = [skill.folder for skill in self.skills]
        known += [command.file.parent for command in self.commands]
        if real in known:
            return  # the manifest names a skill in the fixed place too
        if errors:
            self.problems.append(f"skill {name} is left out: {'; '.join(errors)}")
        elif not self._strict and document.fields.get("disable-model-invocation") is True:
            self.commands.append(command_of(name, document, real / MAIN_FILE))
        elif any(skill.name == name for skill in self.skills):
            self.problems.append(f"skill {name} is left out: another one has this name")
        else:
            self.skills.append(BundleSkill(name, real, document.text("description")))


def _lenient_errors(document: MarkdownFile) -> list[str]:
    return [] if document.text("description") else ["it has no description"]


def _errors(document: MarkdownFile, folder: str) -> list[str]:
    """The violations of agentskills.io."""
    errors = [document.problem] if document.problem else []
    if unknown := sorted(document.fields.keys() - _FIELDS):
        errors.append(f"unknown field {unknown[0][:60]!r}")
    name, description = document.fields.get("name"), document.fields.get("description")
    if not isinstance(name, str) or not name.strip():
        errors.append("name is missing")
    elif problem := _name_problem(name.strip(), folder):
        errors.append(problem)
    if not isinstance(description, str) or not description.strip():
        errors.append("description is missing")
    elif len(description) > MAX_DESCRIPTION_CHARS:
        errors.append(f"description is longer than {MAX_DESCRIPTION_CHARS:,} characters")
    compatibility = document.fields.get("compatibility", "")
    if not isinstance(compatibility, str) or len(compatibility) > MAX_COMPATIBILITY_CHARS:
        errors.append(f"compatibility: expected at most {MAX_COMPATIBILITY_CHARS} characters")
    metadata = document.fields.get("metadata", {})
    if not isinstance(metadata, dict):
        errors.append("metadata: expected a mapping")
    return errors


def _name_problem(name: str, folder: str) -> str:
    name = unicodedata.normalize("NFKC", name)
    if name != unicodedata.normalize("NFKC", folder):
        return f"its name {name[:80]!r} is not that of its folder"
    is_plain = all(char.isalnum() or char == "-" for char in name) and name == name.lower()
    if len(name) > MAX_NAME_CHARS or not is_plain or name.strip("-") != name or "--" in name:
        return f"its name {name[:80]!r} is not valid"
    return ""
