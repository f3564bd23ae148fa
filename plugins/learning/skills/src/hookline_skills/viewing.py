"""What the model reads: the list of skills, a skill, one of its files, a page at a time."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence

from hookline_hookspecs import Context, Refused, ToolError, ToolOutput, merge_origins

from . import names, safely
from .authors import Authors, by
from .library import Library, Skill
from .records import Use

PAGE = 16_000
"""Characters of a page."""
FILE_BYTES = 1_000_000
"""Bytes of a file that is shown; a larger one is refused."""
DESCRIBED = 160
"""Characters of a description in a list."""
FOUND = 10
"""Skills that are named for words that are no skill's name."""
HEADER = (
    "# Skills\nProcedures that worked before. When one fits the task, read it with "
    "skill_view(name) first, unless it is in <skills> already, and follow it."
)
MORE = "… and {count} more: skill_view with words of the task in place of a name finds them."
KIND = "skill"
_PAGE = re.compile(r"(.+)#([1-9]\d{0,4})")


class Viewer:
    """Shows skills, each text after the gate ``pre_read``."""

    def __init__(self, library: Library, authors: Authors) -> None:
        self._library = library
        self.authors = authors

    async def index(
        self, ctx: Context, most: int, pins: set[str], uses: Mapping[str, Use]
    ) -> str | None:
        """The list for the stable prompt, at most ``most`` characters; pinned ones and those that
        are used most come first. None without skills."""
        skills = await asyncio.to_thread(self._library.skills)
        if not skills or most <= 0:
            return None
        order = sorted(skills, key=lambda n: (n not in pins, -uses[n].count if n in uses else 0, n))
        made = await self.authors.known()
        lines, room = [], most - len(HEADER) - len(MORE) - 8
        for name in order:
            who = by(made.get(name, ()))
            line = f"- {name}{who and f' ({who})'}: {await self.described(ctx, skills[name])}"
            if len(line) + 1 > room:
                break
            lines.append(line)
            room -= len(line) + 1
        left_out = len(order) - len(lines)
        tail = [MORE.format(count=left_out)] if left_out else []
        return "\n".join([HEADER, *lines, *tail])

    async def described(self, ctx: Context, skill: Skill) -> str:
        """A skill's description in a list, or that it is blocked."""
        try:
            text = await ctx.read(skill.description, f"skills/{skill.name}", KIND)
        except Refused as error:
            return f"[blocked: {_one_line(str(error), DESCRIBED)}]"
        return _one_line(text, DESCRIBED)

    async def view(
        self, ctx: Context, name: str, file: str | None
    ) -> tuple[ToolOutput, Skill | None]:
        """Return the requested page and its skill, or the skills that match the words.

        Raises:
            ToolError: there is no such skill or file, or it cannot be shown.
        """
        skill = await asyncio.to_thread(self._library.find, name)
        if skill is None:
            return await self._search(ctx, name), None
        path, number = _place(skill, file)
        text = await self._text(ctx, skill, path)
        pages = _pages(text)
        if number > len(pages):
            raise ToolError(f"{path} has {len(pages)} page(s), there is no page {number}")
        origins = await self.authors.of(skill, path)
        who = by(origins)
        shown = [f"({who})" if who else "", pages[number - 1]]
        if number < len(pages):
            shown.append(
                f"[… page {number} of {len(pages)}; go on with "
                f'skill_view(name="{skill.name}", file="{path}#{number + 1}")]'
            )
        if path == skill.file and number == len(pages):
            shown += [await asyncio.to_thread(self.files, skill)]
        return ToolOutput("\n\n".join(filter(None, shown)), origins=origins), skill

    def files(self, skill: Skill) -> str:
        """The skill's other files, for the model; empty if it has none."""
        files = skill.files()
        if not files:
            return ""
        listed = ", ".join(f"{path} ({size:,} bytes)" for path, size in files)
        return f"Files, to read with skill_view(name, file), in {skill.folder}: {listed}"

    async def _text(self, ctx: Context, skill: Skill, path: str) -> str:
        label = f"skills/{skill.name}/{path}"
        try:
            data = await asyncio.to_thread(safely.read_bytes, skill.folder, path, FILE_BYTES)
            return await ctx.read(safely.text_of(data, path), label, KIND)
        except Refused as error:
            raise ToolError(f"{label} is blocked: {error}") from error
        except (safely.BadPath, safely.TooLarge) as error:
            raise ToolError(str(error)) from error
        except OSError as error:
            there = ", ".join(one for one, _ in skill.files()) or "no other files"
            raise ToolError(
                f"the skill {skill.name} has no file {path[:80]!r} that can be read; it has {there}"
            ) from error

    async def _search(self, ctx: Context, name: str) -> ToolOutput:
        """Return the skills that match words. Raises ``ToolError`` if there are none."""
        reason = self._library.left_out().get(name)
        if reason:
            raise ToolError(f"the skill {name} cannot be used: {reason}")
        words = name.replace("-", " ")
        found = await asyncio.to_thread(self._library.match, words, FOUND)
        if not found:
            there = len(self._library.skills())
            raise ToolError(f"there is no skill {names.normal(name)[:80]!r} among the {there}")
        lines = [f"- {skill.name}: {await self.described(ctx, skill)}" for skill, _ in found]
        text = "\n".join([f"No skill is called {name[:80]!r}. These are near:", *lines])
        known = await self.authors.known()
        origins = merge_origins(*[known.get(skill.name, ()) for skill, _ in found])
        return ToolOutput(text, origins=origins)


def _place(skill: Skill, file: str | None) -> tuple[str, int]:
    """The file and the page of what the model asked for."""
    if not file or not file.strip():
        return skill.file, 1
    file = file.strip().removeprefix("./")
    paged = _PAGE.fullmatch(file)
    if paged and file not in dict(skill.files()):
        file, number = paged[1], int(paged[2])
    else:
        number = 1
    return (skill.file if file.casefold() == "skill.md" else file), number


def _pages(text: str) -> Sequence[str]:
    """``text`` in pages that end with a line where one does."""
    pages = []
    while len(text) > PAGE:
        at = text.rfind("\n", PAGE // 2, PAGE) + 1 or PAGE
        pages.append(text[:at])
        text = text[at:]
    return [*pages, text]


def _one_line(text: str, most: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
