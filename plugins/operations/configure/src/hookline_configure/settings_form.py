"""A form for a plugin's settings, from the JSON schema of its config class, and back.

A switch, a number, a text and a choice have inputs of their own; whatever has another shape is a
text of YAML. A secret is written and never shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import yaml
from hookline_hookspecs import Configuration, HooklineError
from hookline_hookspecs.web import Field

from .masking import MASK, is_secret, masked, unmasked

Kind = Literal["text", "number", "switch", "choice", "long", "yaml", "secret"]
LONG = 80
"""Characters of a text from which its input has several lines."""
_KINDS: Mapping[str, Kind] = {
    "boolean": "switch",
    "integer": "number",
    "number": "number",
    "string": "text",
}


@dataclass(frozen=True, slots=True)
class Setting:
    """A key of a plugin's settings. ``written`` is what config.yaml says, ``shown`` the same with
    secrets masked; both are None where it says nothing."""

    name: str
    kind: Kind
    help: str
    default: Any
    required: bool
    choices: tuple[str, ...]
    may_be_null: bool
    is_written: bool
    written: Any
    shown: Any

    @property
    def text(self) -> str:
        """What the input holds when the form is opened."""
        value = self.shown if self.is_written else self.default
        if self.kind == "secret":
            return ""
        if self.kind == "switch":
            return "true" if value is True else "false"
        if self.kind == "yaml":
            return "" if value is None else _dumped(value)
        return "" if value is None else str(value)

    def field(self, given: str | None = None, error: str = "") -> Field:
        """Return the input, with what a person has typed already."""
        value: Any = self.text if given is None else given
        if self.kind == "secret":
            value = bool(self.is_written and self.written)
        label = self.name.replace("_", " ").capitalize()
        choices = list(dict.fromkeys([*([""] if self.may_be_null else []), *self.choices]))
        kind: Kind = self.kind
        if kind == "text" and (len(str(value)) > LONG or "\n" in str(value)):
            kind = "long"
        return Field(self.name, label, kind, value, choices, self._help(), self.required, error)

    def _help(self) -> str:
        told = self.help.rstrip()
        told += "" if not told or told.endswith((".", "?", "!")) else "."
        if self.kind == "secret" or self.default in (None, "", [], {}):
            return told
        shown = yaml.safe_dump(self.default, default_flow_style=True, allow_unicode=True)
        short = shown.strip().removesuffix("...").strip()
        return f"{told} Default: {short}".strip() if len(short) <= LONG else told

    def change(self, core: Configuration, given: str) -> tuple[bool, str | None]:
        """Return whether what a person typed differs, and the new value as YAML; None is the
        default. Raises ``ValueError`` with a sentence."""
        text = given.replace("\r\n", "\n")
        if self.kind == "secret":
            return (True, _scalar(text.strip())) if text.strip() else (False, None)
        if text.strip() == self.text.strip():
            return False, None
        if not text.strip() and self.kind != "text":
            return self.is_written, None
        if self.kind == "text":
            if not text and (self.may_be_null or not self.default):
                return self.is_written, None
            return True, _scalar(text)
        if self.kind == "number":
            return True, _number(text.strip())
        if self.kind == "yaml":
            return True, self._yaml(core, text)
        return True, "true" if text == "true" else _scalar(
            text
        ) if self.kind == "choice" else "false"

    def _yaml(self, core: Configuration, text: str) -> str:
        try:
            value = core.parse(text, (self.name,))
        except HooklineError as error:
            raise ValueError(str(error)) from None
        if MASK not in text:
            return text
        return _dumped(unmasked(value, self.written))


def settings(schema: Mapping[str, Any], written: Any, shown: Any) -> Iterator[Setting]:
    """Yield the settings of a schema, and the keys of config.yaml that it does not know.

    Args:
        schema: the JSON schema of a config class.
        written: the plugin's section of config.yaml: a mapping, true or false, or None.
        shown: the same in effect, in which core has masked secrets.
    """
    given = written if isinstance(written, dict) else {}
    known = masked(given, shown)
    required = schema.get("required", ())
    fields: Mapping[str, Any] = schema.get("properties", {})
    for name, one in fields.items():
        kind, choices, null = _shape(one, schema.get("$defs", {}))
        value = given.get(name)
        if kind in ("text", "long") and (_is_secret(name, one) or known.get(name) == MASK):
            kind = "secret"
        # What config.yaml holds may have a shape that the input cannot: a reference for a number.
        if kind in ("switch", "number") and isinstance(value, str) and name in given:
            kind = "yaml"
        yield Setting(
            name,
            kind,
            str(one.get("description", "")),
            one.get("default"),
            name in required,
            choices,
            null,
            name in given,
            value,
            known.get(name),
        )
    for name in [key for key in given if key not in fields and key != "enabled"]:
        told = "The plugin does not know this key."
        yield Setting(
            str(name), "yaml", told, None, False, (), True, True, given[name], known[name]
        )


def _is_secret(name: str, field: Mapping[str, Any]) -> bool:
    inner = [field, *field.get("anyOf", ())]
    marked = any(one.get("writeOnly") or one.get("format") == "password" for one in inner)
    return marked or is_secret(name)


def _shape(field: Mapping[str, Any], defs: Mapping[str, Any]) -> tuple[Kind, tuple[str, ...], bool]:
    """The input for a field of a schema, its choices, and whether it may be null."""
    options = [_resolved(one, defs) for one in field.get("anyOf", (field,))]
    null = any(one.get("type") == "null" for one in options)
    options = [one for one in options if one.get("type") != "null"]
    if len(options) != 1:
        return "yaml", (), null
    one = options[0]
    if "enum" in one and all(isinstance(value, str) for value in one["enum"]):
        return "choice", tuple(one["enum"]), null
    if "const" in one and isinstance(one["const"], str):
        return "choice", (one["const"],), null
    kind = _KINDS.get(str(one.get("type")), "yaml")
    # Only a switch that is on or off fits a box; one that may be left open is a choice of words.
    return ("yaml" if kind == "switch" and null else kind), (), null


def _resolved(field: Mapping[str, Any], defs: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a field refers to."""
    name = str(field.get("$ref", "")).removeprefix("#/$defs/")
    found: Mapping[str, Any] = defs.get(name, field)
    return found


def _number(text: str) -> str:
    try:
        float(text)
    except ValueError:
        raise ValueError(f"{text[:40]!r} is no number.") from None
    return text


def _scalar(text: str) -> str:
    """A text as YAML, in quotes where it could be read as something else."""
    shown: str = yaml.safe_dump(text, allow_unicode=True, width=2**31, default_style=None)
    return shown.removesuffix("\n...\n").removesuffix("\n")


def _dumped(value: Any) -> str:
    shown: str = yaml.safe_dump(value, allow_unicode=True, sort_keys=False, width=100)
    return shown.removesuffix("\n...\n").rstrip("\n")
