"""The skills on disk: ``home/skills/<name>/SKILL.md``, kept in memory and compared by status.

A skill is known by the name of its folder. What is odd about one is told once, in the log; what
cannot be used is left out, and stays on disk. Below those of the home lie the skills that plugins
bring along; one of the home takes the place of a plugin's of the same name.
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

from . import names, safely
from .frontmatter import BadFrontMatter, FrontMatter, read
from .matching import Matcher
from .validation import FILES

SKILL_BYTES = 1_000_000
"""Bytes of a SKILL.md; a larger one is not read."""
LISTED = 200
"""Files of one skill that are listed."""
SETTLED = 1_000_000_000
"""Nanoseconds after which a folder's time stamp would tell of another change."""
KINDS = ("scripts", "references", "assets")
"""The folders of a skill (agentskills.io)."""

Stamp = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill. ``body`` is the Markdown after the front matter; ``file`` its main file's name;
    ``plugin`` who brings it along, empty for one of the home; ``team`` the version of the team's
    that it is, 0 for none."""

    name: str
    folder: Path
    file: str
    text: str
    front: FrontMatter
    body: str
    problems: tuple[str, ...]
    stamp: Stamp
    plugin: str = ""
    team: int = 0

    @property
    def description(self) -> str:
        """What it does and when it is used, in one line."""
        return " ".join(self.front.description.split())

    @property
    def purpose(self) -> str:
        """What a comparison by meaning looks at."""
        called = self.name.replace("-", " ").replace("_", " ")
        return ". ".join(part for part in (called, self.description, self.front.keywords) if part)

    def files(self) -> list[tuple[str, int]]:
        """The other files, with their sizes in bytes."""
        found = safely.walk(self.folder, LISTED)
        return [(path, status.st_size) for path, status in found if path not in FILES]

    @property
    def fields(self) -> dict[str, str]:
        """Its texts as they are compared with a message."""
        lines = self.body.splitlines()
        return {
            "name": self.name.replace("-", " ").replace("_", " "),
            "keywords": self.front.keywords,
            "description": self.description,
            "headings": " ".join(line for line in lines if line.startswith("#")),
            "body": self.body[:20_000],
        }


class Library:
    """The skills below ``root`` and those that plugins bring, and the matcher that follows them."""

    name = "skills"
    """The corpus, where texts are compared by meaning."""

    def __init__(
        self,
        root: Path,
        log: logging.Logger,
        brought: Callable[[], Sequence[SkillFolder]] = list,
        withheld: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        self.root = root
        self._brought = brought
        self._withheld = withheld
        self._folders_below: tuple[SkillFolder, ...] = ()
        self._below: dict[str, Skill] = {}
        self.matcher = Matcher()
        self._log = log
        self._skills: dict[str, Skill] = {}
        self._left_out: dict[str, tuple[Stamp, str]] = {}
        self._told: set[tuple[str, str]] = set()
        self._listed: tuple[int, list[tuple[str, tuple[str, ...], bool]]] | None = None
        self._looks: list[tuple[str, int, int]] = []
        self._lock = threading.Lock()

    def skills(self) -> dict[str, Skill]:
        """Every skill by name, as the disk holds them now."""
        with self._lock:
            self._scan()
            return {**self._below, **self._skills}

    def left_out(self) -> dict[str, str]:
        """Folders that are not usable skills, and skills of the team that are not loaded, with the
        reason."""
        known = self.skills()
        found = {name: why for name, why in self._withheld().items() if name not in known}
        found |= {name: reason for name, (_, reason) in self._left_out.items()}
        return dict(sorted(found.items()))

    def match(self, text: str, limit: int) -> list[tuple[Skill, float]]:
        """Return the skills that match ``text``, best first, each with its score."""
        with self._lock:
            self._scan()
            found = self.matcher.query(text, limit)
            known = {**self._below, **self._skills}
            return [(known[match.name], match.score) for match in found]

    async def entries(self) -> list[tuple[str, str, str]]:
        """What every skill is for (:class:`hookline_hookspecs.SearchableCorpus`)."""
        skills = await asyncio.to_thread(self.skills)
        return [(one.name, "", one.purpose) for one in skills.values()]

    def find(self, name: str) -> Skill | None:
        """The skill of this name; letter case and compatibility forms do not matter."""
        skills = self.skills()
        wanted = names.normal(name).casefold()
        if name in skills:
            return skills[name]
        return next((s for n, s in skills.items() if names.normal(n).casefold() == wanted), None)

    def _scan(self) -> None:
        """Read what has changed; an unchanged folder costs one ``stat`` of its SKILL.md. What
        plugins bring is read again when other plugins are on."""
        folders = tuple(self._brought())
        if folders != self._folders_below:
            self._lay_below(folders)
        self._scan_home()

    def _lay_below(self, folders: tuple[SkillFolder, ...]) -> None:
        for name in self._below.keys() - self._skills.keys():
            self.matcher.remove(name)
        self._below, self._folders_below = {}, folders
        for brought in folders:
            for file in sorted(brought.path.glob("*/SKILL.md")):
                name = file.parent.name
                try:
                    skill = self._read(file.parent, file.name, (0, 0, 0, 0))
                except (BadFrontMatter, safely.BadPath, safely.TooLarge, OSError) as error:
                    self._tell(name, f"of the plugin {brought.plugin} is left out: {error}")
                    continue
                brought_by = replace(skill, plugin=brought.plugin, team=brought.team)
                self._below.setdefault(name, brought_by)
        for name in self._below.keys() - self._skills.keys():
            self.matcher.put(name, self._below[name].fields)

    def _scan_home(self) -> None:
        try:
            root = os.open(self.root, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        except OSError:
            self._forget(list(self._skills))
            self._left_out.clear()
            return
        try:
            if not self._unchanged(root):
                self._compare(root)
        finally:
            os.close(root)

    def _unchanged(self, root: int) -> bool:
        """True if every main file is as it was when all were last compared. A thousand of them
        are looked at before each message, so this does nothing but look."""
        if self._listed is None or self._listed[0] != os.fstat(root).st_mtime_ns:
            return False
        look = os.stat
        try:
            for path, changed, size in self._looks:
                found = look(path, dir_fd=root, follow_symlinks=False)
                if found.st_ctime_ns != changed or found.st_size != size:
                    return False
        except OSError:
            return False
        return True

    def _compare(self, root: int) -> None:
        folders = self._folders(root)
        seen = set()
        looks = []
        for name, paths, is_link in folders:
            found = _main_file(root, paths)
            if found is None:
                self._listed = None  # it may get a SKILL.md, which only this look would see
                continue
            file, stamp = found
            seen.add(name)
            looks.append((f"{name}/{file}", stamp[3], stamp[1]))
            known = self._skills.get(name)
            if known is not None and known.stamp == stamp and known.file == file:
                continue
            left_out = self._left_out.get(name)
            if left_out is None or left_out[0] != stamp:
                self._load(name, "" if is_link else file, stamp)
        self._looks = looks
        self._forget([name for name in self._skills if name not in seen])
        for name in [name for name in self._left_out if name not in seen]:
            del self._left_out[name]

    def _folders(self, root: int) -> list[tuple[str, tuple[str, ...], bool]]:
        """Name, possible main files and whether it is a link, of every folder; listed anew when
        the root has changed, or has just changed, as its time stamp may not tell twice."""
        changed = os.fstat(root).st_mtime_ns
        if self._listed is None or self._listed[0] != changed:
            now = time.time_ns()
            with os.scandir(root) as entries:
                found = sorted(
                    (e.name, tuple(f"{e.name}/{file}" for file in FILES), e.is_symlink())
                    for e in entries
                    if not e.name.startswith(".")
                    and (e.is_dir(follow_symlinks=False) or e.is_symlink())
                )
            if now - changed < SETTLED:
                self._listed = None
                return found
            self._listed = (changed, found)
        return self._listed[1]

    def _forget(self, gone: Iterable[str]) -> None:
        for name in gone:
            del self._skills[name]
            self.matcher.remove(name)
            if name in self._below:
                self.matcher.put(name, self._below[name].fields)

    def _load(self, name: str, file: str, stamp: Stamp) -> None:
        self._forget([name] if name in self._skills else [])
        self._left_out.pop(name, None)
        try:
            self._refuse_odd_folder(name, file)
            skill = self._read(self.root / name, file, stamp)
        except (BadFrontMatter, safely.BadPath, safely.TooLarge, OSError) as error:
            self._left_out[name] = (stamp, str(error))
            self._tell(name, f"is left out: {error}")
            return
        self._skills[name] = skill
        self.matcher.put(name, skill.fields)
        for problem in skill.problems:
            self._tell(name, problem)

    def _refuse_odd_folder(self, name: str, file: str) -> None:
        """Raise ``BadPath`` if a folder of the home is no place for a skill."""
        if not file:
            raise safely.BadPath("it is a link; install what it leads to instead")
        if not names.loadable(name):
            raise safely.BadPath("its folder's name cannot be shown; rename it")
        alike = [n for n in self._skills if names.normal(n).casefold() == _folded(name)]
        if alike:
            raise safely.BadPath(f"its name differs from {alike[0]} in nothing that can be seen")

    def _read(self, folder: Path, file: str, stamp: Stamp) -> Skill:
        name = folder.name
        text = safely.text_of(safely.read_bytes(folder, file, SKILL_BYTES), file)
        document = read(text)
        problems = [*document.warnings, *self._odd_names(name, document.front.name)]
        return Skill(
            name, folder, file, text, document.front, document.body, tuple(problems), stamp
        )

    def _odd_names(self, folder: str, inside: str) -> list[str]:
        if names.normal(inside) == names.normal(folder):
            errors = names.rule_errors(folder)
            return [f"its name breaks the rule: {'; '.join(errors)}"] if errors else []
        problems = [f"its front matter calls it {inside!r}; it is known by its folder's name"]
        if any(names.normal(inside) == names.normal(one) for one in self._skills):
            problems.append(f"another folder has the name {inside!r}")
        return problems

    def _tell(self, name: str, problem: str) -> None:
        if (name, problem) not in self._told:
            self._told.add((name, problem))
            self._log.warning("skill %s: %s", name, problem)


def _folded(name: str) -> str:
    return names.normal(name).casefold()


def _main_file(root: int, paths: tuple[str, ...]) -> tuple[str, Stamp] | None:
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
