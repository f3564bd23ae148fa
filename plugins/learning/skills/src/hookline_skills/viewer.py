"""What the model reads of skills: the list in the prompt, a skill or one of its files, by page."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence

from hookline_hookspecs import Context, Refused, ToolError, ToolOutput, merge_origins

from . import names, safe_files
from .library import Skill, SkillLibrary
from .records import SkillUse
from .skill_origins import SkillOrigins, author_note

PAGE_CHARS = 16_000
"""Characters of a page."""
MAX_FILE_BYTES = 1_000_000
"""A larger file is not shown."""
MAX_NAMESPACE_CHARS = 310
"""Characters of the list about the skills of all namespaces, if one line each is too much."""
MIN_NAMESPACE_CHARS = 24
"""Characters of the line of a namespace."""
MAX_DESCRIPTION_CHARS = 160
"""Characters of a description in a list."""
MAX_SEARCH_RESULTS = 10
"""Skills listed when the argument is not the name of a skill."""
LIST_HEADER = (
    "# Skills\nProcedures that worked before. When one fits the task, read it with "
    "skill_view(name) first, unless it is in <skills> already, and follow it."
)
MORE_SKILLS = "… and {count} more: skill_view with words of the task in place of a name finds them."
KIND = "skill"
_PAGE = re.compile(r"(.+)#([1-9]\d{0,4})")


class SkillViewer:
    """Shows skills; every text passes ``pre_read`` first."""

    def __init__(self, library: SkillLibrary, origins: SkillOrigins) -> None:
        self._library = library
        self.origins = origins

    async def index(
        self, ctx: Context, max_chars: int, pins: set[str], uses: Mapping[str, SkillUse]
    ) -> str | None:
        """The list for the stable prompt, pinned and most used first; None without skills."""
        skills = await asyncio.to_thread(self._library.skills)
        if not skills or max_chars <= 0:
            return None
        grouped = await self._namespace_lines(ctx, skills)
        own = [name for name in skills if ":" not in name]
        order = sorted(own, key=lambda n: (n not in pins, -uses[n].count if n in uses else 0, n))
        origins = await self.origins.by_name()
        lines = []
        chars_left = max_chars - len(LIST_HEADER) - len(MORE_SKILLS) - 8
        chars_left -= sum(len(line) + 1 for line in grouped)
        for name in order:
            author = author_note(origins.get(name, ()))
            line = f"- {name}{author and f' ({author})'}: {await self.described(ctx, skills[name])}"
            if len(line) + 1 > chars_left:
                break
            lines.append(line)
            chars_left -= len(line) + 1
        left_out = len(order) - len(lines)
        tail = [MORE_SKILLS.format(count=left_out)] if left_out else []
        return "\n".join([LIST_HEADER, *lines, *grouped, *tail])

    async def _namespace_lines(self, ctx: Context, skills: Mapping[str, Skill]) -> list[str]:
        """The skills with a namespace, which others bring: one line each, or, if that is too much,
        one with the names for each namespace."""
        names = [name for name in skills if ":" in name]
        lines = [f"- {name}: {await self.described(ctx, skills[name])}" for name in names]
        if sum(len(line) + 1 for line in lines) <= MAX_NAMESPACE_CHARS:
            return lines
        spaces: dict[str, list[str]] = {}
        for name in names:
            space, _, rest = name.partition(":")
            spaces.setdefault(space, []).append(rest)
        share = MAX_NAMESPACE_CHARS // len(spaces)
        return [
            _one_line(f"- {space}: {', '.join(found)}", max(MIN_NAMESPACE_CHARS, share))
            for space, found in list(spaces.items())[: MAX_NAMESPACE_CHARS // MIN_NAMESPACE_CHARS]
        ]

    async def described(self, ctx: Context, skill: Skill) -> str:
        """A skill's description for a list, or a note that it is blocked."""
        try:
            text = await ctx.read(skill.description, f"skills/{skill.name}", KIND)
        except Refused as error:
            return f"[blocked: {_one_line(str(error), MAX_DESCRIPTION_CHARS)}]"
        return _one_line(text, MAX_DESCRIPTION_CHARS)

    async def view(
        self, ctx: Context, name: str, file: str | None
    ) -> tuple[ToolOutput, Skill | None]:
        """Return the requested page and its skill; if no skill has this name, search for one.

        Raises:
            ToolError: there is no such skill or file, or it cannot be shown.
        """
        skill = await asyncio.to_thread(self._library.find, name)
        if skill is None:
            return await self._search(ctx, name), None
        path, number = _file_and_page(skill, file)
        text = await self._text(ctx, skill, path)
        pages = _split_pages(text)
        if number > len(pages):
            raise ToolError(f"{path} has only {len(pages)} page(s), not {number}")
        origins = await self.origins.of_file(skill, path)
        author = author_note(origins)
        shown = [f"({author})" if author else "", pages[number - 1]]
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
            data = await asyncio.to_thread(
                safe_files.read_bytes, skill.folder, path, MAX_FILE_BYTES
            )
            return await ctx.read(safe_files.decode_text(data, path), label, KIND)
        except Refused as error:
            raise ToolError(f"{label} is blocked: {error}") from error
        except (safe_files.BadPath, safe_files.TooLarge) as error:
            raise ToolError(str(error)) from error
        except OSError as error:
            others = ", ".join(path for path, _ in skill.files()) or "no other files"
            raise ToolError(
                f"the skill {skill.name} has no readable file {path[:80]!r}; it has {others}"
            ) from error

    async def _search(self, ctx: Context, name: str) -> ToolOutput:
        """List the skills that match words. Raises ``ToolError`` if there are none."""
        reason = self._library.left_out().get(name)
        if reason:
            raise ToolError(f"the skill {name} cannot be used: {reason}")
        words = name.replace("-", " ")
        found = await asyncio.to_thread(self._library.match, words, MAX_SEARCH_RESULTS)
        if not found:
            count = len(self._library.skills())
            raise ToolError(f"no skill {names.normalize(name)[:80]!r} among {count}")
        lines = [f"- {skill.name}: {await self.described(ctx, skill)}" for skill, _ in found]
        text = "\n".join([f"No skill {name[:80]!r}. Similar skills:", *lines])
        by_name = await self.origins.by_name()
        origins = merge_origins(*[by_name.get(skill.name, ()) for skill, _ in found])
        return ToolOutput(text, origins=origins)


def _file_and_page(skill: Skill, file: str | None) -> tuple[str, int]:
    """Split the argument ``file`` into path and page number."""
    if not file or not file.strip():
        return skill.file, 1
    file = file.strip().removeprefix("./")
    paged = _PAGE.fullmatch(file)
    if paged and file not in dict(skill.files()):
        file, number = paged[1], int(paged[2])
    else:
        number = 1
    return (skill.file if file.casefold() == "skill.md" else file), number


def _split_pages(text: str) -> Sequence[str]:
    """Split a text into pages, at line ends where possible."""
    pages = []
    while len(text) > PAGE_CHARS:
        at = text.rfind("\n", PAGE_CHARS // 2, PAGE_CHARS) + 1 or PAGE_CHARS
        pages.append(text[:at])
        text = text[at:]
    return [*pages, text]


def _one_line(text: str, max_chars: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= max_chars else f"{text[: max_chars - 1].rstrip()}…"
