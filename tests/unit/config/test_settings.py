"""Validation of a plugin's settings by its own model."""

from __future__ import annotations

from pathlib import Path

import pytest
from hookline.config import SettingsError, load, validate_settings
from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator


class Rule(BaseModel):
    match: str
    limit: int = 3


class Memory(BaseModel):
    model_config = ConfigDict(extra="forbid")

    notes_max_chars: int = Field(2200, gt=0)
    half_life: float | None = 30.0
    code: str | int = ""
    name: str = "x"
    token: SecretStr | None = None
    fallback: Rule = Rule(match="*")
    rules: list[Rule] = []
    by_name: dict[str, Rule] = {}
    either: int | bool = 1
    address: str = Field("", pattern=r"^https?://[^/\s]+")
    letters: str = Field("a", pattern="^[a-z]+$")
    few: list[str] = Field([], max_length=2)

    @model_validator(mode="after")
    def _short(self) -> Memory:
        if self.fallback.limit > 8:
            raise ValueError("the limit of fallback is above 8; lower it")
        return self

    @field_validator("code")
    @classmethod
    def _lower(cls, code: str | int) -> str | int:
        if str(code).isupper():
            raise ValueError("write it in small letters")
        return code

    @field_validator("name")
    @classmethod
    def _known(cls, name: str) -> str:
        if name == "y":
            raise ValueError("expected any name but y")
        return name


def checked(home: Path, text: str) -> tuple[Memory, list[str]]:
    (home / "config.yaml").write_text(f"plugins:\n  memory:\n{text}")
    loaded = load(home, {"HOOKLINE_PLUGINS__MEMORY__HALF_LIFE": "7"})
    entry = loaded.plugins["memory"]
    settings, warnings = validate_settings(Memory, entry, loaded)
    assert isinstance(settings, Memory)
    return settings, warnings


def test_settings_are_validated_and_nested(tmp_path: Path) -> None:
    settings, warnings = checked(
        tmp_path,
        "    notes_max_chars: '1_000'\n    code: 012\n"
        "    rules: [{match: a, limit: 4}]\n    by_name: {b: {match: c}}\n",
    )
    assert warnings == []
    assert settings.notes_max_chars == 1000
    assert settings.half_life == 7.0
    assert settings.code == "012"
    assert settings.name == "x"
    assert settings.fallback == Rule(match="*")
    assert settings.rules == [Rule(match="a", limit=4)]
    assert settings.by_name == {"b": Rule(match="c")}


def test_unknown_settings_warn_even_if_the_model_forbids_extras(tmp_path: Path) -> None:
    settings, warnings = checked(
        tmp_path,
        "    notes_max_char: 5\n    rules:\n    - match: a\n      limits: 4\n"
        "    by_name:\n      b:\n        match: c\n        zzz: 1\n",
    )
    path = tmp_path / "config.yaml"
    assert warnings == [
        f"{path}:3: plugins.memory.notes_max_char: unknown key; did you mean notes_max_chars?",
        f"{path}:6: plugins.memory.rules.0.limits: unknown key; did you mean limit?",
        f"{path}:10: plugins.memory.by_name.b.zzz: unknown key, ignored.",
    ]
    assert settings.rules == [Rule(match="a")]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "    notes_max_chars: 0\n",
            ":3: {0}.notes_max_chars: expected a number greater than 0, got 0.",
        ),
        (
            "    notes_max_chars: 0900\n",
            ':3: {0}.notes_max_chars: expected a number without leading zeros, got "0900".',
        ),
        (
            "    rules:\n    - match: 3\n",
            ":4: {0}.rules.0.match: expected text (put it in quotes), got 3.",
        ),
        ("    rules:\n    - limit: 3\n", ":4: {0}.rules.0.match: is missing."),
        ("    either: x\n", ':3: {0}.either: expected a whole number or true or false, got "x".'),
        ("    name: y\n", ':3: {0}.name: expected any name but y, got "y".'),
        ("    code: AB\n", ':3: {0}.code: found "AB"; write it in small letters.'),
        (
            "    fallback: {match: a, limit: 9}\n",
            ":2: {0}: the limit of fallback is above 8; lower it.",
        ),
        (
            "    address: x.org\n",
            ':3: {0}.address: expected an address such as https://example.org, got "x.org".',
        ),
        ("    letters: A1\n", ':3: {0}.letters: expected text that matches ^[a-z]+$, got "A1".'),
        ("    few: [a, b, c]\n", ":3: {0}.few: expected at most 2 items, got a list."),
        ("    token: 123\n", ":3: {0}.token: expected text (put it in quotes), got ********."),
    ],
)
def test_invalid_setting_is_explained_in_a_sentence(
    tmp_path: Path, text: str, sentence: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        checked(tmp_path, text)
    assert str(caught.value) == f"{tmp_path / 'config.yaml'}{sentence.format('plugins.memory')}"


def test_settings_errors_list_every_bad_value(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        checked(tmp_path, "    notes_max_chars: -1\n    name: [a]\n    by_name: {b: {limit: 01}}\n")
    assert len(caught.value.problems) == 3
