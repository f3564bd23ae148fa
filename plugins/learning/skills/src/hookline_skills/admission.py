"""What a text must be before it becomes a skill, and what there must not be already."""

from __future__ import annotations

from collections.abc import Mapping

from hookline_hookspecs import ToolError

from . import names
from .frontmatter import BadFrontMatter, Document, read
from .library import KINDS, Library, Skill
from .likeness import ALIKE, SemanticIndex, nearest
from .safely import BadPath, parts_of
from .validation import judge

FILE_CHARS, FILES = 100_000, 30
"""Characters of a file the agent writes beside SKILL.md, and how many of one skill."""
COMPARED = 60
"""Skills that a new one is compared with, the likeliest ones of a larger library."""
FORM = "---\nname: {name}\ndescription: What it does and when to use it.\n---\n\n# Steps\n…"


def checked(name: str, text: str | None, most: int) -> Document:
    """The SKILL.md of a skill called ``name``, as the agent wrote it.

    Raises:
        ToolError: it is missing, too long, or not valid by agentskills.io.
    """
    if not text or not text.strip():
        raise ToolError(f"content must be the whole SKILL.md:\n{FORM.format(name=name)}")
    if len(text) > most:
        raise ToolError(
            f"SKILL.md has {len(text):,} characters, at most {most:,} are allowed; keep what is "
            "needed every time and move details into references/ with action=write_file"
        )
    errors, document = judge(text, name).errors, None
    try:
        document = read(text)
    except BadFrontMatter as error:
        errors = errors or (str(error),)
    if errors or document is None:
        raise ToolError(
            f"SKILL.md is not valid: {'; '.join(errors)}. It begins like this:\n"
            f"{FORM.format(name=name)}"
        )
    if not document.body:
        raise ToolError("there is nothing after the front matter; write the steps below it")
    return document


def check_name(library: Library, name: str) -> None:
    """Raises ``ToolError`` if no new skill may have this name."""
    reason = names.refusal(name)
    if reason:
        raise ToolError(reason)
    known = library.skills()
    taken = [one for one in (*known, *library.left_out()) if _same(one, name)]
    if taken:
        raise ToolError(
            f"there is a skill {taken[0]} already; read it with skill_view and use action=patch"
        )
    alike = [one for one in known if names.skeleton(one) == names.skeleton(name)]
    if alike:
        raise ToolError(f"{name!r} can be taken for the skill {alike[0]!r}; patch that one")


def file_path(file: str | None) -> str:
    """A path that the agent may write to, beside SKILL.md.

    Raises:
        ToolError: it is missing, leads out, or lies elsewhere than in the skill's three folders.
    """
    try:
        parts = parts_of(file or "")
    except BadPath as error:
        raise ToolError(str(error)) from None
    if parts[0] not in KINDS or len(parts) < 2 or any(part.startswith(".") for part in parts):
        raise ToolError(
            f"{file!r} must lie in references/, scripts/ or assets/; SKILL.md itself is changed "
            "by action=patch or action=edit"
        )
    return "/".join(parts)


def check_file(skill: Skill, path: str, content: str | None) -> str:
    """The content of a file that the agent writes. Raises ``ToolError`` over a limit."""
    if content is None:
        raise ToolError("write_file needs the argument 'content'")
    if len(content) > FILE_CHARS:
        raise ToolError(
            f"{path} would have {len(content):,} characters, at most {FILE_CHARS:,} are allowed"
        )
    there = [known for known, _ in skill.files()]
    if path not in there and len(there) >= FILES:
        raise ToolError(f"the skill has {len(there)} files, at most {FILES} are allowed")
    return content


def most_alike(
    library: Library, name: str, document: Document, *, but: str | None = None, team: bool = False
) -> SemanticIndex | None:
    """The skill that ``document`` says again, or None; ``but`` is not looked at. With ``team``,
    only the team's skills are."""
    fields = _fields(name, document)
    known = {n: s for n, s in library.skills().items() if n != but and (s.team or not team)}
    if len(known) > COMPARED:
        likely = library.match(f"{fields['name']} {fields['description']}", COMPARED)
        known = {skill.name: skill for skill, _ in likely if skill.name in known}
    others = {n: _fields(n, Document(s.front, s.body)) for n, s in known.items()}
    found = nearest(fields, others) if others else []
    return found[0] if found and found[0].degree >= ALIKE else None


def likely(library: Library, name: str, document: Document) -> list[str]:
    """The skills that are nearest to ``document``, to say which could be patched."""
    found = library.match(f"{name} {document.front.description}", 3)
    return [skill.name for skill, _ in found]


def _fields(name: str, document: Document) -> Mapping[str, str]:
    return {
        "name": name.replace("-", " "),
        "description": document.front.description,
        "body": document.body,
    }


def _same(one: str, other: str) -> bool:
    return names.normal(one).casefold() == names.normal(other).casefold()
