"""Validates a skill's folder like the reference validator (``skills-ref`` 0.1.1).

The reference ends the front matter at the first ``---``, wherever it is, and reads it with
StrictYAML: block style only, no tags, no anchors, no duplicate keys, every scalar a string.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from . import frontmatter, names
from .frontmatter import FENCE, FIELDS

MAX_DESCRIPTION_CHARS = 1024
MAX_COMPATIBILITY_CHARS = 500
"""Limits of agentskills.io."""
ADVISED_BODY_LINES = 500
"""agentskills.io advises to move details of a longer body into other files."""
MAIN_FILES = ("SKILL.md", "skill.md")
_HIDE_LINE_ENDS = {0x2028: "\ue028", 0x2029: "\ue029"}
_RESTORE_LINE_ENDS = {0xE028: "\u2028", 0xE029: "\u2029"}
"""U+2028 and U+2029: line ends to PyYAML (YAML 1.1), plain characters to the reference (1.2)."""
_FLOW_TOKENS = (yaml.FlowMappingStartToken, yaml.FlowSequenceStartToken)


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """``errors`` are those of the reference; it does not check what ``warnings`` say."""

    errors: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True without errors."""
        return not self.errors


def find_main_file(folder: Path) -> Path | None:
    """The ``SKILL.md`` of a folder, or ``skill.md``."""
    return next((folder / name for name in MAIN_FILES if (folder / name).exists()), None)


def validate(folder: Path) -> ValidationResult:
    """Validate the skill in ``folder``, whose name the skill must have."""
    if not folder.exists():
        return ValidationResult((f"Path does not exist: {folder}",))
    if not folder.is_dir():
        return ValidationResult((f"Not a directory: {folder}",))
    file = find_main_file(folder)
    if file is None:
        return ValidationResult(("Missing required file: SKILL.md",))
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return ValidationResult((f"SKILL.md cannot be read as UTF-8 text: {error}",))
    return validate_text(text, folder.name)


def validate_text(text: str, folder: str) -> ValidationResult:
    """Validate the text of a ``SKILL.md`` in a folder named ``folder``."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.startswith(FENCE):
        return ValidationResult(("SKILL.md must start with YAML frontmatter (---)",))
    parts = text.split(FENCE, 2)
    if len(parts) < 3:
        return ValidationResult(("SKILL.md frontmatter not properly closed with ---",))
    try:
        fields = _strict(parts[1])
    except yaml.YAMLError as error:
        problem = frontmatter.yaml_problem(error)
        return ValidationResult((f"Invalid YAML in frontmatter: {problem}",))
    if not isinstance(fields, dict):
        return ValidationResult(("SKILL.md frontmatter must be a YAML mapping",))
    return ValidationResult(tuple(_errors(fields, folder)), tuple(_warnings(text, parts[1])))


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
    if folder and unicodedata.normalize("NFKC", folder) != names.normalize(name):
        errors.append(f"Directory name '{folder}' must match skill name '{names.normalize(name)}'")
    return errors


def _description_errors(description: Any) -> list[str]:
    if not isinstance(description, str) or not description.strip():
        return ["Field 'description' must be a non-empty string"]
    if len(description) > MAX_DESCRIPTION_CHARS:
        limit = f"{MAX_DESCRIPTION_CHARS} character limit"
        return [f"Description exceeds {limit} ({len(description)} chars)"]
    return []


def _compatibility_errors(compatibility: Any) -> list[str]:
    if not isinstance(compatibility, str):
        return ["Field 'compatibility' must be a string"]
    if len(compatibility) > MAX_COMPATIBILITY_CHARS:
        limit = f"{MAX_COMPATIBILITY_CHARS} character limit"
        return [f"Compatibility exceeds {limit} ({len(compatibility)} chars)"]
    return []


def _warnings(text: str, front: str) -> list[str]:
    try:
        by_line, body = frontmatter.split_front_matter(text)
    except frontmatter.InvalidFrontMatter as error:
        return [str(error)]
    warnings = []
    if by_line.strip() != front.strip():
        warnings.append(
            "The front matter contains --- within a line; programs disagree about where it ends"
        )
    if not body:
        warnings.append("Nothing follows the front matter")
    elif body.count("\n") >= ADVISED_BODY_LINES:
        warnings.append(
            f"The body has more than {ADVISED_BODY_LINES} lines; move details into references/"
        )
    return warnings


def _strict(text: str) -> Any:
    """Read YAML as StrictYAML does, with every scalar as a string.

    Raises:
        YAMLError: it is not YAML, or StrictYAML would refuse it.
    """
    text = text.translate(_HIDE_LINE_ENDS)
    try:
        for token in yaml.scan(text):
            if isinstance(token, (*_FLOW_TOKENS, yaml.TagToken, yaml.AnchorToken, yaml.AliasToken)):
                kind = "a tag"
                if isinstance(token, _FLOW_TOKENS):
                    kind = "a list or mapping in brackets"
                elif isinstance(token, (yaml.AnchorToken, yaml.AliasToken)):
                    kind = "an anchor or alias"
                raise yaml.MarkedYAMLError(
                    problem=f"{kind} is not allowed; use block style or quotes",
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
        return None  # YAML's keys for merging and default values; not a string to the reference
    return node.value.translate(_RESTORE_LINE_ENDS)


def _mapping(node: yaml.MappingNode) -> dict[Any, Any]:
    values: dict[Any, Any] = {}
    columns = {v.start_mark.column for _, v in node.value if isinstance(v, yaml.MappingNode)}
    if len(columns) > 1:
        raise yaml.MarkedYAMLError(
            problem="mappings of one level are indented differently", problem_mark=node.start_mark
        )
    for key_node, value in node.value:
        if _is_merge(key_node, value):
            _values(value)
            continue  # the reference reads merged values, then ignores them
        key = _values(key_node)
        if not isinstance(key, str) or key in values:
            raise yaml.MarkedYAMLError(
                problem=f"the key {key!r} is a duplicate or not a plain string",
                problem_mark=key_node.start_mark,
            )
        values[key] = _values(value)
    return values


def _is_merge(key: Any, node: Any) -> bool:
    """True for YAML's merge key ``<<`` with a mapping or a list of mappings."""
    if not isinstance(key, yaml.ScalarNode) or key.style is not None or key.value != "<<":
        return False
    if isinstance(node, yaml.SequenceNode):
        return all(isinstance(item, yaml.MappingNode) for item in node.value)
    return isinstance(node, yaml.MappingNode)
