"""Checks before the agent writes a skill: its form, its name, its limits, and duplicates."""

from __future__ import annotations

from collections.abc import Mapping

from hookline_hookspecs import ToolError

from . import names
from .frontmatter import InvalidFrontMatter, SkillDocument, parse_document
from .library import SKILL_SUBFOLDERS, Skill, SkillLibrary
from .safe_files import BadPath, split_path
from .similarity import DUPLICATE_SIMILARITY, SimilarSkill, rank_similar
from .validation import validate_text

MAX_FILE_CHARS = 100_000
"""Characters of a file that the agent writes beside SKILL.md."""
MAX_FILES = 30
"""Files of a skill beside SKILL.md."""
MAX_COMPARED = 60
"""Skills that a new one is compared with; in a larger library, the best matches."""
TEMPLATE = "---\nname: {name}\ndescription: What it does and when to use it.\n---\n\n# Steps\n…"


def require_document(name: str, text: str | None, max_chars: int) -> SkillDocument:
    """Parse the SKILL.md that the agent wrote for the skill ``name``.

    Raises:
        ToolError: it is missing, longer than ``max_chars``, or not valid by agentskills.io.
    """
    if not text or not text.strip():
        raise ToolError(f"content must be the whole SKILL.md:\n{TEMPLATE.format(name=name)}")
    if len(text) > max_chars:
        raise ToolError(
            f"SKILL.md has {len(text):,} characters; the limit is {max_chars:,}. Keep what is "
            "needed every time, and move details into references/ with action=write_file"
        )
    errors = validate_text(text, name).errors
    document = None
    try:
        document = parse_document(text)
    except InvalidFrontMatter as error:
        errors = errors or (str(error),)
    if errors or document is None:
        raise ToolError(
            f"SKILL.md is not valid: {'; '.join(errors)}. It must begin like this:\n"
            f"{TEMPLATE.format(name=name)}"
        )
    if not document.body:
        raise ToolError("nothing follows the front matter; write the steps below it")
    return document


def check_name(library: SkillLibrary, name: str) -> None:
    """Raise ``ToolError`` if a new skill may not have this name."""
    reason = names.name_error(name)
    if reason:
        raise ToolError(reason)
    known = library.skills()
    taken = [other for other in (*known, *library.left_out()) if _same(other, name)]
    if taken:
        raise ToolError(
            f"the skill {taken[0]} already exists; read it with skill_view and use action=patch"
        )
    lookalikes = [other for other in known if names.skeleton(other) == names.skeleton(name)]
    if lookalikes:
        raise ToolError(f"{name!r} looks like the skill {lookalikes[0]!r}; patch that one")


def require_file_path(file: str | None) -> str:
    """Return the path of a file beside SKILL.md that the agent may write.

    Raises:
        ToolError: it is missing, leads out, or is not in one of the skill's three folders.
    """
    try:
        parts = split_path(file or "")
    except BadPath as error:
        raise ToolError(str(error)) from None
    if (
        parts[0] not in SKILL_SUBFOLDERS
        or len(parts) < 2
        or any(part.startswith(".") for part in parts)
    ):
        raise ToolError(
            f"{file!r} must be in references/, scripts/ or assets/; change SKILL.md itself "
            "with action=patch or action=edit"
        )
    return "/".join(parts)


def check_file(skill: Skill, path: str, content: str | None) -> str:
    """Return the content of a file that the agent writes.

    Raises:
        ToolError: it is missing, too long, or one file too many.
    """
    if content is None:
        raise ToolError("write_file needs the argument 'content'")
    if len(content) > MAX_FILE_CHARS:
        raise ToolError(
            f"{path} would have {len(content):,} characters; the limit is {MAX_FILE_CHARS:,}"
        )
    existing = [known for known, _ in skill.files()]
    if path not in existing and len(existing) >= MAX_FILES:
        raise ToolError(f"the skill has {len(existing)} files; the limit is {MAX_FILES}")
    return content


def find_duplicate(
    library: SkillLibrary,
    name: str,
    document: SkillDocument,
    *,
    skip: str | None,
    team: bool = False,
) -> SimilarSkill | None:
    """Return the skill that ``document`` duplicates, or None.

    Args:
        skip: a skill that is not compared.
        team: compare with the team's skills only.
    """
    fields = _fields(name, document)
    known = {n: s for n, s in library.skills().items() if n != skip and (s.team or not team)}
    if len(known) > MAX_COMPARED:
        best = library.match(f"{fields['name']} {fields['description']}", MAX_COMPARED)
        known = {skill.name: skill for skill, _ in best if skill.name in known}
    others = {n: _fields(n, SkillDocument(s.front, s.body)) for n, s in known.items()}
    found = rank_similar(fields, others) if others else []
    return found[0] if found and found[0].score >= DUPLICATE_SIMILARITY else None


def nearest_skills(library: SkillLibrary, name: str, document: SkillDocument) -> list[str]:
    """The names of the skills most similar to ``document``."""
    found = library.match(f"{name} {document.front.description}", 3)
    return [skill.name for skill, _ in found]


def _fields(name: str, document: SkillDocument) -> Mapping[str, str]:
    return {
        "name": name.replace("-", " "),
        "description": document.front.description,
        "body": document.body,
    }


def _same(one: str, other: str) -> bool:
    return names.normalize(one).casefold() == names.normalize(other).casefold()
