"""The verdict on a skill's folder, the same as the reference validator's (``skills-ref`` 0.1.1).

The reference ends the front matter at the first ``---`` wherever it stands, and reads it with
StrictYAML: block style alone, no tags, no anchors, no key twice, every scalar a text.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from . import frontmatter, names
from .frontmatter import FENCE, FIELDS

DESCRIPTION, COMPATIBILITY = 1024, 500
"""Characters of these fields at most (agentskills.io)."""
BODY_LINES = 500
"""Lines of a body from which agentskills.io advises to move details into other files."""
FILES = ("SKILL.md", "skill.md")
_ASIDE = {0x2028: "\ue028", 0x2029: "\ue029"}
_BACK = {0xE028: "\u2028", 0xE029: "\u2029"}
"""Line ends to PyYAML, which reads YAML 1.1, and plain characters to the reference (1.2)."""
_FLOW = (yaml.FlowMappingStartToken, yaml.FlowSequenceStartToken)


@dataclass(frozen=True, slots=True)
class Verdict:
    """``errors`` are the reference's; ``warnings`` are what it does not look at."""

    errors: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True if there is no error."""
        return not self.errors


def skill_file(folder: Path) -> Path | None:
    """The ``SKILL.md`` of a folder, or ``skill.md``."""
    return next((folder / name for name in FILES if (folder / name).exists()), None)


def validate(folder: Path) -> Verdict:
    """The verdict on the skill in ``folder``, which its name must match."""
    if not folder.exists():
        return Verdict((f"Path does not exist: {folder}",))
    if not folder.is_dir():
        return Verdict((f"Not a directory: {folder}",))
    file = skill_file(folder)
    if file is None:
        return Verdict(("Missing required file: SKILL.md",))
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return Verdict((f"SKILL.md cannot be read as UTF-8 text: {error}",))
    return judge(text, folder.name)


def judge(text: str, folder: str) -> Verdict:
    """The verdict on the text of a ``SKILL.md`` in a folder of the name ``folder``."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.startswith(FENCE):
        return Verdict(("SKILL.md must start with YAML frontmatter (---)",))
    parts = text.split(FENCE, 2)
    if len(parts) < 3:
        return Verdict(("SKILL.md frontmatter not properly closed with ---",))
    try:
        fields = _strict(parts[1])
    except yaml.YAMLError as error:
        problem = frontmatter.said(error)
        return Verdict((f"Invalid YAML in frontmatter: {problem}",))
    if not isinstance(fields, dict):
        return Verdict(("SKILL.md frontmatter must be a YAML mapping",))
    return Verdict(tuple(_errors(fields, folder)), tuple(_warnings(text, parts[1])))


def _errors(fields: dict[Any, Any], folder: str) -> list[str]:
    errors = []
    extra = sorted(str(key) for key in fields if key not in FIELDS)
    if extra:
        errors.append(
            f"Unexpected fields in frontmatter: {', '.join(extra)}. "
            f"Only {sorted(FIELDS)} are allowed."
        )
    if "name" not in fields:
        errors.append("Missing required field in frontmatter: name")
    else:
        errors += _name_errors(fields["name"], folder)
    if "description" not in fields:
        errors.append("Missing required field in frontmatter: description")
    else:
        errors += _description_errors(fields["description"])
    if "compatibility" in fields:
        errors += _compatibility_errors(fields["compatibility"])
    return errors


def _name_errors(name: Any, folder: str) -> list[str]:
    if not isinstance(name, str) or not name.strip():
        return ["Field 'name' must be a non-empty string"]
    errors = names.rule_errors(name)
    # The reference does not strip a folder's name.
    if folder and unicodedata.normalize("NFKC", folder) != names.normal(name):
        errors.append(f"Directory name '{folder}' must match skill name '{names.normal(name)}'")
    return errors


def _description_errors(description: Any) -> list[str]:
    if not isinstance(description, str) or not description.strip():
        return ["Field 'description' must be a non-empty string"]
    if len(description) > DESCRIPTION:
        return [f"Description exceeds {DESCRIPTION} character limit ({len(description)} chars)"]
    return []


def _compatibility_errors(compatibility: Any) -> list[str]:
    if not isinstance(compatibility, str):
        return ["Field 'compatibility' must be a string"]
    if len(compatibility) > COMPATIBILITY:
        return [
            f"Compatibility exceeds {COMPATIBILITY} character limit ({len(compatibility)} chars)"
        ]
    return []


def _warnings(text: str, front: str) -> list[str]:
    try:
        by_line, body = frontmatter.split(text)
    except frontmatter.BadFrontMatter as error:
        return [str(error)]
    warnings = []
    if by_line.strip() != front.strip():
        warnings.append(
            "The front matter holds --- within a line; programs differ about where it ends"
        )
    if not body:
        warnings.append("There is nothing after the front matter")
    elif body.count("\n") >= BODY_LINES:
        warnings.append(f"The body has more than {BODY_LINES} lines; move details into references/")
    return warnings


def _strict(text: str) -> Any:
    """The YAML of ``text`` with every scalar as text.

    Raises:
        YAMLError: it is no YAML, or none that StrictYAML takes.
    """
    text = text.translate(_ASIDE)
    try:
        for token in yaml.scan(text):
            if isinstance(token, (*_FLOW, yaml.TagToken, yaml.AnchorToken, yaml.AliasToken)):
                kind = "a list or mapping in brackets" if isinstance(token, _FLOW) else "a tag"
                if isinstance(token, (yaml.AnchorToken, yaml.AliasToken)):
                    kind = "an anchor or alias"
                raise yaml.MarkedYAMLError(
                    problem=f"{kind} is not allowed, write block style or quotes",
                    problem_mark=token.start_mark,
                )
        return _values(yaml.compose(text, Loader=yaml.BaseLoader))
    except RecursionError:
        raise yaml.YAMLError("it is nested too deeply") from None


def _values(node: Any) -> Any:
    if isinstance(node, yaml.MappingNode):
        return _mapping(node)
    if isinstance(node, yaml.SequenceNode):
        return [_values(item) for item in node.value]
    if node is None:
        return ""
    if node.style is None and node.value in ("<<", "="):
        return None  # YAML's own keys for merging and default values; no text to the reference
    return node.value.translate(_BACK)


def _mapping(node: yaml.MappingNode) -> dict[Any, Any]:
    values: dict[Any, Any] = {}
    columns = {v.start_mark.column for _, v in node.value if isinstance(v, yaml.MappingNode)}
    if len(columns) > 1:
        raise yaml.MarkedYAMLError(
            problem="mappings side by side are indented differently", problem_mark=node.start_mark
        )
    for key_node, value in node.value:
        if _is_merge(key_node, value):
            _values(value)
            continue  # the reference reads what is merged and does not see it afterwards
        key = _values(key_node)
        if not isinstance(key, str) or key in values:
            raise yaml.MarkedYAMLError(
                problem=f"the key {key!r} stands there twice or is no plain text",
                problem_mark=key_node.start_mark,
            )
        values[key] = _values(value)
    return values


def _is_merge(key: Any, node: Any) -> bool:
    """True for YAML's plain key ``<<`` with a mapping, or a list of mappings."""
    if not isinstance(key, yaml.ScalarNode) or key.style is not None or key.value != "<<":
        return False
    if isinstance(node, yaml.SequenceNode):
        return all(isinstance(item, yaml.MappingNode) for item in node.value)
    return isinstance(node, yaml.MappingNode)
