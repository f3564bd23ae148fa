"""Builds a form from the JSON schema of a plugin's settings, and reads what a person typed into it.

Booleans, numbers, texts and choices have inputs of their own; any other value is edited as YAML. A
secret can be entered and is never shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import yaml
from hookline_hookspecs import Configuration, HooklineError
from hookline_hookspecs.masking import MASK, is_secret_name
from hookline_hookspecs.web import Field, t, translate

from .masking import mask_values, restore_secrets

Kind = Literal["text", "number", "switch", "choice", "long", "yaml", "secret"]
MULTILINE_CHARS = 80
"""A longer text gets an input of several lines; a longer default is not shown in the help."""
ACRONYMS = {"api", "cpu", "dns", "gpu", "http", "id", "ip", "sql", "ssh", "tls", "ttl", "url"}
_KINDS: Mapping[str, Kind] = {
    "boolean": "switch",
    "integer": "number",
    "number": "number",
    "string": "text",
}


@dataclass(frozen=True, slots=True)
class SettingInput:
    """The input for one key of a plugin's settings.

    ``written`` is the value in config.yaml and ``shown`` the same with secrets masked; both are
    None if ``is_written`` is False.
    """

    name: str
    kind: Kind
    title: str
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
        """The text of the input when the form is opened."""
        value = self.shown if self.is_written else self.default
        if self.kind == "secret":
            return ""
        if self.kind == "switch":
            return "true" if value is True else "false"
        if self.kind == "yaml":
            return "" if value is None else _to_yaml(value)
        return "" if value is None else str(value)

    def field(self, given: str | None = None, error: str = "") -> Field:
        """Return the form field; ``given`` is the text that the person has already typed."""
        value: Any = self.text if given is None else given
        if self.kind == "secret":
            value = bool(self.is_written and self.written)
        label = translate(self.title)
        choices = list(dict.fromkeys([*([""] if self.may_be_null else []), *self.choices]))
        kind: Kind = self.kind
        if kind == "text" and (len(str(value)) > MULTILINE_CHARS or "\n" in str(value)):
            kind = "long"
        texts = (self._help(), self.required, error)
        key = self.name if self.title != self.name else ""
        return Field(self.name, label, kind, value, choices, *texts, key=key)

    def _help(self) -> str:
        text = translate(self.help.rstrip())
        text += "" if not text or text.endswith((".", "?", "!", "。", "？", "！")) else "."
        if self.kind == "secret" or self.default in (None, "", [], {}):
            return text
        shown = yaml.safe_dump(self.default, default_flow_style=True, allow_unicode=True)
        short = shown.strip().removesuffix("...").strip()
        return (
            f"{text} {t('Default: {value}', value=short)}".strip()
            if len(short) <= MULTILINE_CHARS
            else text
        )

    def change(self, core: Configuration, given: str) -> tuple[bool, str | None]:
        """Return whether the text is a change, and the new value as YAML; None is the default.

        Raises ``ValueError`` with a message for the person.
        """
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
        if self.kind == "choice" and text != "true":
            return True, _scalar(text)
        return True, "true" if text == "true" else "false"

    def _yaml(self, core: Configuration, text: str) -> str:
        try:
            value = core.parse(text, (self.name,))
        except HooklineError as error:
            raise ValueError(str(error)) from None
        if MASK not in text:
            return text
        return _to_yaml(restore_secrets(value, self.written))


def setting_inputs(schema: Mapping[str, Any], written: Any, shown: Any) -> Iterator[SettingInput]:
    """Yield an input for each setting of a schema, and for each written key that is not in it.

    Args:
        schema: the JSON schema of a config class.
        written: the plugin's section of config.yaml: a mapping, true or false, or None.
        shown: its effective value, in which core has masked secrets.
    """
    given = written if isinstance(written, dict) else {}
    known = mask_values(given, shown)
    required = schema.get("required", ())
    fields: Mapping[str, Any] = schema.get("properties", {})
    for name, one in fields.items():
        kind, choices, null = _shape(one, schema.get("$defs", {}))
        value = given.get(name)
        if kind in ("text", "long") and (_is_secret(name, one) or known.get(name) == MASK):
            kind = "secret"
        # config.yaml may have a text where the schema has a number, such as a reference ${VAR}.
        if kind in ("switch", "number") and isinstance(value, str) and name in given:
            kind = "yaml"
        yield SettingInput(
            name,
            kind,
            _title(name, one),
            " ".join(str(one.get("description", "")).split()),
            _short(one.get("default")),
            name in required,
            choices,
            null,
            name in given,
            value,
            _short(known.get(name)),
        )
    for name in [key for key in given if key not in fields and key != "enabled"]:
        note = t("The plugin does not know this key.")
        yield SettingInput(
            str(name),
            "yaml",
            str(name),
            note,
            None,
            False,
            (),
            True,
            True,
            given[name],
            known[name],
        )


def _short(value: Any) -> Any:
    """Return 30 for 30.0, and other values as they are."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _is_secret(name: str, field: Mapping[str, Any]) -> bool:
    inner = [field, *field.get("anyOf", ())]
    marked = any(option.get("writeOnly") or option.get("format") == "password" for option in inner)
    return marked or is_secret_name(name)


def _shape(field: Mapping[str, Any], defs: Mapping[str, Any]) -> tuple[Kind, tuple[str, ...], bool]:
    """The kind of input for a field of a schema, its choices, and whether it may be null."""
    options = [_resolved(option, defs) for option in field.get("anyOf", (field,))]
    null = any(option.get("type") == "null" for option in options)
    options = [option for option in options if option.get("type") != "null"]
    if len(options) != 1:
        return "yaml", (), null
    one = options[0]
    if "enum" in one and all(isinstance(value, str) for value in one["enum"]):
        return "choice", tuple(one["enum"]), null
    if "const" in one and isinstance(one["const"], str):
        return "choice", (one["const"],), null
    kind = _KINDS.get(str(one.get("type")), "yaml")
    # A checkbox cannot show null, so a boolean that may be null is edited as YAML.
    return ("yaml" if kind == "switch" and null else kind), (), null


def _resolved(field: Mapping[str, Any], defs: Mapping[str, Any]) -> Mapping[str, Any]:
    """The field that ``$ref`` refers to, or the field itself."""
    name = str(field.get("$ref", "")).removeprefix("#/$defs/")
    found: Mapping[str, Any] = defs.get(name, field)
    return found


def _number(text: str) -> str:
    try:
        float(text)
    except ValueError:
        raise ValueError(t("“{text}” is not a number.", text=text[:40])) from None
    return text


def _title(name: str, field: Mapping[str, Any]) -> str:
    """Return the title of a setting, or its key as words: ``public_url`` is "Public URL"."""
    title = str(field.get("title", ""))
    if title and title != name.replace("_", " ").title():  # else pydantic made it from the key
        return title
    words = [one.upper() if one in ACRONYMS else one for one in name.split("_")]
    return " ".join([words[0][:1].upper() + words[0][1:], *words[1:]])


def _scalar(text: str) -> str:
    """A text as YAML, in quotes if it could be read as something else."""
    shown: str = yaml.safe_dump(text, allow_unicode=True, width=2**31, default_style=None)
    return shown.removesuffix("\n...\n").removesuffix("\n")


def _to_yaml(value: Any) -> str:
    shown: str = yaml.safe_dump(value, allow_unicode=True, sort_keys=False, width=100)
    return shown.removesuffix("\n...\n").rstrip("\n")
