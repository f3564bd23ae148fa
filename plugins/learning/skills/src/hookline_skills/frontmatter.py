"""The front matter of a ``SKILL.md``: YAML between two lines ``---``, all scalars read as text.

:func:`parse_document` is lenient, for loading; :mod:`.validation` is as strict as the reference.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

FENCE = "---"
MAX_FRONT_MATTER_CHARS = 16_000
"""A longer front matter is refused."""
MAX_LIBYAML_CHARS = 4_000
"""Longer ones are not parsed by libyaml, whose recursion has no limit."""
FIELDS = frozenset({"name", "description", "license", "allowed-tools", "metadata", "compatibility"})
"""The fields of agentskills.io; others are an error when validated, a warning when loaded."""
MAX_NESTING = 50
"""Lists and mappings within each other; reading deeper ones takes seconds."""
_PLAIN = re.compile(r"([A-Za-z][\w-]*):[ \t]+(\S.*)")

_FIELD = re.compile(r"\t*([A-Za-z][\w-]*):(?=\s|$)(.*)|\t*((?i:name|description)):(.*)")


class InvalidFrontMatter(ValueError):
    """The text cannot be read as a skill; the error text says why."""


class FrontMatter(BaseModel):
    """The fields of a skill. Unknown ones are kept as extras."""

    model_config = ConfigDict(extra="allow", populate_by_name=True)

    name: str = ""
    description: str = Field(min_length=1)
    license: str | None = None
    compatibility: str | None = None
    allowed_tools: str | None = Field(None, alias="allowed-tools")
    metadata: dict[str, str] = Field(default_factory=dict)

    @field_validator("name", "description", "license", "compatibility", mode="before")
    @classmethod
    def _stripped(cls, value: Any) -> Any:
        return value.strip() if isinstance(value, str) else value

    @field_validator("allowed_tools", mode="before")
    @classmethod
    def _joined(cls, value: Any) -> Any:
        if isinstance(value, list):  # some other programs write a list
            return " ".join(one for one in value if isinstance(one, str))
        return value

    @field_validator("metadata", mode="before")
    @classmethod
    def _texts(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return {}
        return {k: _scalars(v) for k, v in value.items() if isinstance(k, str)}

    @property
    def keywords(self) -> str:
        """Words to find it by, from ``metadata`` or from the fields of other programs."""
        extras = self.model_extra or {}
        found = [self.metadata.get(name) for name in ("keywords", "tags")]
        found += [_scalars(extras.get(name, "")) for name in ("keywords", "tags", "triggers")]
        return " ".join(one for one in found if one)


@dataclass(frozen=True, slots=True)
class SkillDocument:
    """A parsed ``SKILL.md``: its fields, its body, and what was accepted with a warning."""

    front: FrontMatter
    body: str
    warnings: tuple[str, ...] = ()


def split_front_matter(text: str) -> tuple[str, str]:
    """Return the YAML between the two lines ``---``, and the stripped body.

    Raises:
        InvalidFrontMatter: the text does not start with front matter.
    """
    lines = text.lstrip("\ufeff\r\n").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if lines[0].rstrip() != FENCE:
        raise InvalidFrontMatter(
            "it must begin with a line --- and the fields name and description"
        )
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() == FENCE:
            front = "\n".join(lines[1:number])
            if len(front) > MAX_FRONT_MATTER_CHARS:
                raise InvalidFrontMatter(
                    f"its front matter has more than {MAX_FRONT_MATTER_CHARS} characters"
                )
            return front, "\n".join(lines[number + 1 :]).strip()
    raise InvalidFrontMatter("its front matter has no closing line ---")


def parse_document(text: str) -> SkillDocument:
    """Parse a ``SKILL.md`` leniently, with warnings.

    Raises:
        InvalidFrontMatter: the front matter is missing, not YAML, or has no description.
    """
    front, body = split_front_matter(text)
    values, warnings = _loaded(front)
    unknown = sorted(set(values) - FIELDS)
    if unknown:
        warnings.append(f"fields unknown to agentskills.io: {', '.join(unknown)}")
    try:
        return SkillDocument(FrontMatter.model_validate(values), body, tuple(warnings))
    except ValidationError as error:
        fields = ", ".join(str(one["loc"][0]) for one in error.errors(include_url=False))
        raise InvalidFrontMatter(f"fields that are missing, empty or not text: {fields}") from None


def _loaded(front: str) -> tuple[dict[str, Any], list[str]]:
    try:
        values = _yaml(front)
        warnings: list[str] = []
    except yaml.YAMLError as error:
        try:
            values = _yaml(_quoted(front))
            warnings = ["a value contains a colon and needs quotes"]
        except yaml.YAMLError:
            values = _plain_fields(front)
            if "description" not in values:
                raise InvalidFrontMatter(
                    f"its front matter is not valid YAML: {yaml_problem(error)}"
                ) from None
            warnings = [f"its front matter is not valid YAML ({yaml_problem(error)})"]
    plain = _plain_fields(front)
    if plain.get("description") and not (_lower_fields(values) or {}).get("description"):
        values, warnings = plain, ["its description is not what YAML reads; write it in quotes"]
    fields = _lower_fields(values)
    if fields is None:
        raise InvalidFrontMatter("its front matter must consist of lines `field: value`")
    return fields, warnings


def _lower_fields(values: Any) -> dict[str, Any] | None:
    """Return the fields, those of agentskills.io in lower case; None if there are no fields."""
    if not isinstance(values, dict):
        return None
    keys = {key: key.lower() for key in values if isinstance(key, str)}
    return {low if low in FIELDS else key: values[key] for key, low in keys.items()}


class _FlatLoader(yaml.BaseLoader):
    """Stops at :data:`MAX_NESTING`."""

    nesting = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Read a value; raises ``YAMLError`` if it is nested too deeply."""
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            raise yaml.YAMLError("it is nested too deeply")
        try:
            return super().compose_node(parent, index)
        finally:
            self.nesting -= 1

    def fetch_flow_collection_start(self, kind: Any) -> None:
        """Read a bracket; raises ``YAMLError`` if too many are open. The scanner looks ahead."""
        if self.flow_level >= MAX_NESTING:
            raise yaml.YAMLError("it is nested too deeply")
        super().fetch_flow_collection_start(kind)


def _yaml(text: str) -> Any:
    fast_loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    loader = fast_loader if len(text) <= MAX_LIBYAML_CHARS else _FlatLoader
    try:
        return yaml.load(text, Loader=loader)  # noqa: S506 - creates only strings, lists and dicts
    except (RecursionError, ValueError, TypeError) as error:
        raise yaml.YAMLError("it is nested too deeply, or has keys that are not text") from error


def _quoted(front: str) -> str:
    """The front matter with quotes around plain values, which often contain a colon."""
    lines = []
    for line in front.split("\n"):
        found = _PLAIN.fullmatch(line)
        if found and found[2][0] not in "\"'|>[{&*!":
            line = "{}: '{}'".format(found[1], found[2].rstrip().replace("'", "''"))
        lines.append(line)
    return "\n".join(lines)


def _plain_fields(front: str) -> dict[str, str]:
    """The fields of a front matter that is not YAML, as people write it: a line that does not
    begin with a field continues the one before, and quotes around a value are left out."""
    fields: dict[str, str] = {}
    name = ""
    for line in front.split("\n"):
        if found := _FIELD.match(line):
            name = (found[1] or found[3]).lower()
            fields[name] = (found[2] or found[4] or "").strip()
        elif name:
            fields[name] = f"{fields[name]} {line.strip()}".strip()
    return {key: _unquoted(value) for key, value in fields.items()}


def _unquoted(value: str) -> str:
    value = re.sub(r"\A[|>][+-]?\s+", "", value)
    if len(value) > 1 and value[0] in "\"'" and value[-1] == value[0]:
        return value[1:-1]
    return value


def _scalars(value: Any) -> str:
    if isinstance(value, str):
        return value
    items = value if isinstance(value, list) else []
    return " ".join(item for item in items if isinstance(item, str))


def yaml_problem(error: Exception) -> str:
    """The first line of a YAML error, with its line number."""
    problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
    mark = getattr(error, "problem_mark", None)
    return f"{problem}, line {mark.line + 1}" if mark is not None else str(problem)
