"""The skills on disk, ``home/skills/NAME/SKILL.md``, cached in memory until a file changes.

A skill is identified by the name of its folder. Problems are logged once; a folder that cannot be
used is left out and stays on disk. Plugins and the team bring further skills; a skill of the home
replaces one of those with the same name.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hookline_hookspecs.skill_folders import SkillFolder

from . import names, safe_files
from .bm25 import TermIndex
from .frontmatter import FrontMatter, InvalidFrontMatter, parse_document
from .validation import MAIN_FILES

MAX_SKILL_BYTES = 1_000_000
"""A larger SKILL.md is not read."""
MAX_LISTED_FILES = 200
"""Files listed of one skill."""
NESTED_PATTERNS = ("*/SKILL.md", "*/*/SKILL.md")
"""Where skills in a folder of a group are looked for."""
TIMESTAMP_SETTLE_NS = 1_000_000_000
"""Age in ns from which a folder's time stamp is sure to differ after another change."""
SKILL_SUBFOLDERS = ("scripts", "references", "assets")
"""The subfolders of a skill (agentskills.io)."""

FileStamp = tuple[int, int, int, int]
"""Modification time (ns), size, inode and status change time (ns) of a file."""


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill.

    ``file`` is the name of its main file, ``body`` the Markdown after the front matter. ``plugin``
    is the plugin that brings it, empty for others. ``team`` is its version if it is the team's,
    else 0.
    """

    name: str
    folder: Path
    file: str
    text: str
    front: FrontMatter
    body: str
    problems: tuple[str, ...]
    stamp: FileStamp
    plugin: str = ""
    team: int = 0

    @property
    def description(self) -> str:
        """The description of the front matter, in one line."""
        return " ".join(self.front.description.split())

    @property
    def purpose(self) -> str:
        """Name, description and keywords: the text for semantic search."""
        name = self.name.replace("-", " ").replace("_", " ")
        return ". ".join(part for part in (name, self.description, self.front.keywords) if part)

    def files(self) -> list[tuple[str, int]]:
        """The other files as path and size in bytes."""
        found = safe_files.list_files(self.folder, MAX_LISTED_FILES)
        return [(path, status.st_size) for path, status in found if path not in MAIN_FILES]

    @property
    def fields(self) -> dict[str, str]:
        """The texts that are indexed, by field."""
        lines = self.body.splitlines()
        return {
            "name": self.name.replace("-", " ").replace("_", " "),
            "keywords": self.front.keywords,
            "description": self.description,
            "headings": " ".join(line for line in lines if line.startswith("#")),
            "body": self.body[:20_000],
        }


class SkillLibrary:
    """The skills below ``root``, those of plugins and the team, and an index of all.

    Args:
        root: the folder of the home's own skills.
        plugin_folders: returns the folders of skills that plugins and the team bring.
        withheld: returns the reasons, by name, why skills of the team are not loaded.
    """

    name = "skills"
    """The name of the corpus for semantic search."""

    def __init__(
        self,
        root: Path,
        log: logging.Logger,
        plugin_folders: Callable[[], Sequence[SkillFolder]] = list,
        withheld: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        self.root = root
        self._plugin_folders = plugin_folders
        self._withheld = withheld
        self._known_plugin_folders: tuple[SkillFolder, ...] = ()
        self._plugin_skills: dict[str, Skill] = {}
        self.index = TermIndex()
        self._log = log
        self._skills: dict[str, Skill] = {}
        self._left_out: dict[str, tuple[FileStamp, str]] = {}
        self._warned: set[tuple[str, str]] = set()
        self._folder_list: tuple[int, list[tuple[str, tuple[str, ...], bool]]] | None = None
        self._file_stats: list[tuple[str, int, int]] = []
        self._lock = threading.Lock()

    def skills(self) -> dict[str, Skill]:
        """Every skill by name, as they are on disk now."""
        with self._lock:
            self._scan()
            return {**self._plugin_skills, **self._skills}

    def left_out(self) -> dict[str, str]:
        """Why folders are not usable and skills of the team not loaded, by name."""
        skills = self.skills()
        reasons = {name: why for name, why in self._withheld().items() if name not in skills}
        reasons |= {name: reason for name, (_, reason) in self._left_out.items()}
        return dict(sorted(reasons.items()))

    def nested_folders(self) -> dict[str, str]:
        """Why skills in folders of a group are not loaded, by the path of their folder."""
        try:
            groups = [one for one in sorted(self.root.iterdir()) if _is_group(one)]
        except OSError:
            return {}
        reason = f"skills are only loaded from {self.root}/NAME; move this folder there"
        return {
            str(file.parent.relative_to(self.root)): reason
            for group in groups
            for pattern in NESTED_PATTERNS
            for file in sorted(group.glob(pattern))[:MAX_LISTED_FILES]
        }

    def match(self, text: str, limit: int) -> list[tuple[Skill, float]]:
        """Return the skills that match ``text``, best first, each with its score."""
        with self._lock:
            self._scan()
            found = self.index.search(text, limit)
            known = {**self._plugin_skills, **self._skills}
            return [(known[match.name], match.score) for match in found]

    async def entries(self) -> list[tuple[str, str, str]]:
        """The text of every skill for semantic search
        (:class:`hookline_hookspecs.SearchableCorpus`)."""
        skills = await asyncio.to_thread(self.skills)
        return [(skill.name, "", skill.purpose) for skill in skills.values()]

    def find(self, name: str) -> Skill | None:
        """The skill of this name, ignoring letter case and compatibility forms; None if missing."""
        skills = self.skills()
        folded = names.normalize(name).casefold()
        if name in skills:
            return skills[name]
        found = [s for n, s in skills.items() if names.normalize(n).casefold() == folded]
        if not found:  # ``namespace:name`` without its namespace, if only one has this name
            ends = f":{folded}"
            found = [s for n, s in skills.items() if names.normalize(n).casefold().endswith(ends)]
        return found[0] if len(found) == 1 else None

    def _scan(self) -> None:
        """Read what changed. An unchanged folder costs one ``stat`` of its SKILL.md; skills of
        plugins are read again only when the set of their folders changes."""
        folders = tuple(self._plugin_folders())
        if folders != self._known_plugin_folders:
            self._load_plugin_skills(folders)
        self._scan_home()

    def _load_plugin_skills(self, folders: tuple[SkillFolder, ...]) -> None:
        for name in self._plugin_skills.keys() - self._skills.keys():
            self.index.remove(name)
        self._plugin_skills, self._known_plugin_folders = {}, folders
        for folder in folders:
            for file in sorted(folder.path.glob("*/SKILL.md")):
                name = file.parent.name
                if folder.names and name not in folder.names:
                    continue
                try:
                    skill = self._read(file.parent, file.name, (0, 0, 0, 0))
                except (
                    InvalidFrontMatter,
                    safe_files.BadPath,
                    safe_files.TooLarge,
                    OSError,
                ) as error:
                    self._warn_once(name, f"of the plugin {folder.plugin} is left out: {error}")
                    continue
                if folder.namespace:
                    name = f"{folder.namespace}:{name}"
                skill = replace(skill, name=name, plugin=folder.plugin, team=folder.team)
                self._plugin_skills.setdefault(name, skill)
        for name in self._plugin_skills.keys() - self._skills.keys():
            self.index.add(name, self._plugin_skills[name].fields)

    def _scan_home(self) -> None:
        try:
            root = os.open(self.root, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        except OSError:
            self._forget(list(self._skills))
            self._left_out.clear()
            return
        try:
            if not self._unchanged(root):
                self._reload_changed(root)
        finally:
            os.close(root)

    def _unchanged(self, root: int) -> bool:
        """True if no main file changed since the last comparison. It runs before each message, for
        up to a thousand files, so it only calls ``stat``."""
        if self._folder_list is None or self._folder_list[0] != os.fstat(root).st_mtime_ns:
            return False
        stat = os.stat
        try:
            for path, changed, size in self._file_stats:
                found = stat(path, dir_fd=root, follow_symlinks=False)
                if found.st_ctime_ns != changed or found.st_size != size:
                    return False
        except OSError:
            return False
        return True

    def _reload_changed(self, root: int) -> None:
        folders = self._folders(root)
        seen = set()
        stats = []
        for name, paths, is_link in folders:
            found = _main_file(root, paths)
            if found is None:
                self._folder_list = None  # a SKILL.md added later would not change the root's time
                continue
            file, stamp = found
            seen.add(name)
            stats.append((f"{name}/{file}", stamp[3], stamp[1]))
            known = self._skills.get(name)
            if known is not None and known.stamp == stamp and known.file == file:
                continue
            left_out = self._left_out.get(name)
            if left_out is None or left_out[0] != stamp:
                self._load(name, "" if is_link else file, stamp)
        self._file_stats = stats
        self._forget([name for name in self._skills if name not in seen])
        for name in [name for name in self._left_out if name not in seen]:
            del self._left_out[name]

    def _folders(self, root: int) -> list[tuple[str, tuple[str, ...], bool]]:
        """Name, possible main files and whether it is a link, of every folder.

        The list is cached once the root's time stamp is old enough to detect the next change.
        """
        changed = os.fstat(root).st_mtime_ns
        if self._folder_list is None or self._folder_list[0] != changed:
            now = time.time_ns()
            with os.scandir(root) as entries:
                found = sorted(
                    (e.name, tuple(f"{e.name}/{file}" for file in MAIN_FILES), e.is_symlink())
                    for e in entries
                    if not e.name.startswith(".")
                    and (e.is_dir(follow_symlinks=False) or e.is_symlink())
                )
            if now - changed < TIMESTAMP_SETTLE_NS:
                self._folder_list = None
                return found
            self._folder_list = (changed, found)
        return self._folder_list[1]

    def _forget(self, names_gone: Iterable[str]) -> None:
        for name in names_gone:
            del self._skills[name]
            self.index.remove(name)
            if name in self._plugin_skills:
                self.index.add(name, self._plugin_skills[name].fields)

    def _load(self, name: str, file: str, stamp: FileStamp) -> None:
        self._forget([name] if name in self._skills else [])
        self._left_out.pop(name, None)
        try:
            self._check_folder(name, file)
            skill = self._read(self.root / name, file, stamp)
        except (InvalidFrontMatter, safe_files.BadPath, safe_files.TooLarge, OSError) as error:
            self._left_out[name] = (stamp, str(error))
            self._warn_once(name, f"is left out: {error}")
            return
        self._skills[name] = skill
        self.index.add(name, skill.fields)
        for problem in skill.problems:
            self._warn_once(name, problem)

    def _check_folder(self, name: str, file: str) -> None:
        """Raise ``BadPath`` if a folder of the home may not hold a skill."""
        if not file:
            raise safe_files.BadPath("it is a link; install its target instead")
        if not names.is_loadable(name):
            raise safe_files.BadPath(
                "its folder's name has characters that cannot be shown; rename it"
            )
        lookalikes = [n for n in self._skills if names.normalize(n).casefold() == _folded(name)]
        if lookalikes:
            raise safe_files.BadPath(f"its name looks the same as {lookalikes[0]}")

    def _read(self, folder: Path, file: str, stamp: FileStamp) -> Skill:
        name = folder.name
        text = safe_files.decode_text(safe_files.read_bytes(folder, file, MAX_SKILL_BYTES), file)
        document = parse_document(text)
        problems = [*document.warnings, *self._name_problems(name, document.front.name)]
        return Skill(
            name, folder, file, text, document.front, document.body, tuple(problems), stamp
        )

    def _name_problems(self, folder: str, inside: str) -> list[str]:
        if names.normalize(inside) == names.normalize(folder):
            errors = names.rule_errors(folder)
            return [f"its name is not valid: {'; '.join(errors)}"] if errors else []
        problems = [f"its front matter calls it {inside!r}; the folder's name is used"]
        if any(names.normalize(inside) == names.normalize(skill) for skill in self._skills):
            problems.append(f"another folder has the name {inside!r}")
        return problems

    def _warn_once(self, name: str, problem: str) -> None:
        if (name, problem) not in self._warned:
            self._warned.add((name, problem))
            self._log.warning("skill %s: %s", name, problem)


def _is_group(folder: Path) -> bool:
    """True for a folder that is not a skill itself, and neither hidden nor a link."""
    if folder.name.startswith(".") or folder.is_symlink() or not folder.is_dir():
        return False
    return not any((folder / file).exists() for file in MAIN_FILES)


def _folded(name: str) -> str:
    return names.normalize(name).casefold()


def _main_file(root: int, paths: tuple[str, ...]) -> tuple[str, FileStamp] | None:
    """The name of a folder's SKILL.md and its stamp."""
    for path in paths:
        try:
            found = os.stat(path, dir_fd=root, follow_symlinks=False)
        except NotADirectoryError:
            return None
        except OSError:
            continue
        stamp = (found.st_mtime_ns, found.st_size, found.st_ino, found.st_ctime_ns)
        return path.rpartition("/")[2], stamp
    return None
