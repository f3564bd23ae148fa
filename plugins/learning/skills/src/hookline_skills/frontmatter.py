"""The front matter of a ``SKILL.md``: split by line, read as YAML whose scalars are all text.

:func:`read` is lenient, for loading; the strict reading of the reference is in :mod:`.validation`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

FENCE = "---"
LONGEST = 16_000
"""Characters of a front matter; a longer one is no front matter."""
NATIVE = 4_000
"""Up to this many characters libyaml composes it: its recursion has no limit of its own."""
FIELDS = frozenset({"name", "description", "license", "allowed-tools", "metadata", "compatibility"})
"""What agentskills.io knows; anything else is an error when validated, a warning when loaded."""
_PLAIN = re.compile(r"([A-Za-z][\w-]*):[ \t]+(.*\S)[ \t]*")


class BadFrontMatter(ValueError):
    """The text cannot be read as a skill; the text of the error is a sentence."""


class FrontMatter(BaseModel):
    """The fields of a skill. Unknown ones are kept as extras; ``keywords`` help to find it."""

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
        if isinstance(value, list):  # written as a list by some other programs
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
        """Words by which it should be found, from ``metadata`` or as some other programs do."""
        extras = self.model_extra or {}
        found = [self.metadata.get(name) for name in ("keywords", "tags")]
        found += [_scalars(extras.get(name, "")) for name in ("keywords", "tags", "triggers")]
        return " ".join(one for one in found if one)


@dataclass(frozen=True, slots=True)
class Document:
    """A ``SKILL.md`` that was read: its fields, its body, and what is odd about it."""

    front: FrontMatter
    body: str
    warnings: tuple[str, ...] = ()


def split(text: str) -> tuple[str, str]:
    """The YAML between the two lines ``---``, and the body without white space around it.

    Raises:
        BadFrontMatter: there are no such lines at the start of the text.
    """
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if lines[0].rstrip() != FENCE:
        raise BadFrontMatter("it must begin with a line --- and the fields name and description")
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() == FENCE:
            front = "\n".join(lines[1:number])
            if len(front) > LONGEST:
                raise BadFrontMatter(f"its front matter has more than {LONGEST} characters")
            return front, "\n".join(lines[number + 1 :]).strip()
    raise BadFrontMatter("its front matter is not closed by a second line ---")


def read(text: str) -> Document:
    """A skill's text, read leniently: what can be used is used, and warned about.

    Raises:
        BadFrontMatter: there is no front matter, it is no YAML, or it has no description.
    """
    front, body = split(text)
    values, warnings = _loaded(front)
    unknown = sorted(set(values) - FIELDS)
    if unknown:
        warnings.append(f"fields that agentskills.io does not know: {', '.join(unknown)}")
    try:
        return Document(FrontMatter.model_validate(values), body, tuple(warnings))
    except ValidationError as error:
        fields = ", ".join(str(one["loc"][0]) for one in error.errors(include_url=False))
        raise BadFrontMatter(f"these fields are missing, empty or no text: {fields}") from None


def _loaded(front: str) -> tuple[dict[str, Any], list[str]]:
    try:
        values = _yaml(front)
        warnings: list[str] = []
    except yaml.YAMLError as error:
        try:
            values = _yaml(_quoted(front))
        except yaml.YAMLError:
            raise BadFrontMatter(f"its front matter is no YAML: {said(error)}") from None
        warnings = ["a value holds a colon and needs quotes around it"]
    if not isinstance(values, dict):
        raise BadFrontMatter("its front matter must be fields, a line `name: value` each")
    return {str(key): value for key, value in values.items() if isinstance(key, str)}, warnings


def _yaml(text: str) -> Any:
    native = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    loader = native if len(text) <= NATIVE else yaml.BaseLoader
    try:
        return yaml.load(text, Loader=loader)  # noqa: S506 - it makes texts, lists and dicts alone
    except (RecursionError, ValueError, TypeError) as error:
        raise yaml.YAMLError("it is nested too deeply, or has keys that are no text") from error


def _quoted(front: str) -> str:
    """The front matter with quotes around the plain values of its lines, which often hold a colon
    that their author did not mean as YAML."""
    lines = []
    for line in front.split("\n"):
        found = _PLAIN.fullmatch(line)
        if found and found[2][0] not in "\"'|>[{&*!":
            line = "{}: '{}'".format(found[1], found[2].replace("'", "''"))
        lines.append(line)
    return "\n".join(lines)


def _scalars(value: Any) -> str:
    if isinstance(value, str):
        return value
    items = value if isinstance(value, list) else []
    return " ".join(one for one in items if isinstance(one, str))


def said(error: Exception) -> str:
    """The first line of what a YAML error says, and where."""
    problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
    mark = getattr(error, "problem_mark", None)
    return f"{problem}, line {mark.line + 1}" if mark is not None else str(problem)
