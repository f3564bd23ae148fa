"""`read`: values, places, variables, secrets and error messages of a config."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hookline.config.source import ConfigSource, parse, read
from hookline_hookspecs.errors import ConfigError, SettingsError
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel

KEYS = ("model", "trace", "plugins")


def configured(
    home: Path, text: str | None = None, env: dict[str, str] | None = None, **options: object
) -> ConfigSource:
    return read(
        home / "config.yaml", env or {}, options, text, keys=KEYS, secret_variables={"SERVICE"}
    )


def test_later_sources_win_and_each_key_knows_its_source(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("NAME=from-file\nHOOKLINE_TRACE=true\n")
    (tmp_path / "config.yaml").write_text("model: a/b\nplugins:\n  one: {name: '${NAME}'}\n")

    found = configured(tmp_path, env={"HOOKLINE_PLUGINS__ONE__LIMIT": "3"}, model="c/d")

    assert found.values == {
        "model": "c/d",
        "trace": True,
        "plugins": {"one": {"name": "from-file", "limit": 3}},
    }
    assert found.lines[("model",)] == "the command line"
    assert found.lines[("plugins", "one")] == 3
    assert found.lines[("plugins", "one", "limit")] == "HOOKLINE_PLUGINS__ONE__LIMIT"
    assert found.env["NAME"] == "from-file"


def test_unset_variable_is_an_error_of_its_key_only(tmp_path: Path) -> None:
    found = configured(tmp_path, "plugins:\n  one: {token: '${NO_SUCH}'}\n  two: {a: 1}\n")

    assert list(found.faults) == [("plugins", "one", "token")]
    told = found.faults["plugins", "one", "token"]
    assert told.startswith(f"{tmp_path / 'config.yaml'}:2: plugins.one.token: NO_SUCH is not set")


def test_secrets_are_masked_everywhere(tmp_path: Path) -> None:
    env = {"SOME_TOKEN": "t0ken-of-mine", "ADDRESS": "https://me:pass-word@host"}
    found = configured(tmp_path, "plugins: {one: {url: '${ADDRESS}', api_key: abcdefgh}}", env)

    shown = found.masked({**found.values, "note": "it is t0ken-of-mine"})

    assert {"t0ken-of-mine", "pass-word", "abcdefgh"} <= found.secrets
    assert shown["note"] == "it is ********"
    assert shown["plugins"] == {"one": {"url": "https://me:********@host", "api_key": "********"}}
    assert "t0ken" not in repr(found)


def test_secret_unfit_for_a_header_is_named_but_not_shown(tmp_path: Path) -> None:
    found = configured(tmp_path, env={"SERVICE": "abc\x00def"})

    (told,) = found.faults.values()
    assert told.startswith("the environment: SERVICE: contains a control character")
    assert "abc" not in told


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\na: 2\n", ":2: a: written twice, here and in line 1"),
        ("a: *b\n", ":1: *alias and !tag are not supported"),
        ("a: !!python/object:os.system x\n", ":1: *alias and !tag are not supported"),
        ("- a\n", ":1: expected one mapping"),
        ("a: [1\n", ": this is not YAML"),
        ("a:\n\tb: 1\n", ":2: this is not YAML: this line begins with a tab; indent with spaces"),
        ("a:\n  b: 1\n \tc: 1\n", ":3: this is not YAML: this line begins with a tab"),
        ("a: 1\n---\nb: 2\n", ":1: expected one mapping"),
        ("[" * 60, ": nested deeper than 50 levels"),
    ],
)
def test_ambiguous_yaml_is_an_error_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        configured(tmp_path, text)
    assert said in str(caught.value)


def test_unreadable_files_have_different_reasons(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").mkdir()
    (tmp_path / ".env").write_bytes(b"A=\xff\n")

    found = configured(tmp_path)

    assert [told.partition(": ")[2].split(";")[0] for told in found.unreadable] == [
        "this is not UTF-8 text",
        "expected a text file, got a folder",
    ]


class Limits(BaseModel):
    """The settings of some plugin."""

    count: int = 1
    ratio: float = 0.5


def test_values_are_checked_by_model_and_errors_name_line_and_key(tmp_path: Path) -> None:
    found = configured(tmp_path, "plugins:\n  one:\n    count: many\n    ration: 2\n")
    key = ("plugins", "one")

    with pytest.raises(SettingsError) as caught:
        found.check(Limits, found.values["plugins"]["one"], key)
    limits, warnings = found.check(Limits, {"ration": 2}, key)

    place = tmp_path / "config.yaml"
    assert caught.value.problems == (
        f'{place}:3: plugins.one.count: expected a whole number, got "many".',
        f"{place}:4: plugins.one.ration: unknown key; did you mean ratio?",
    )
    assert (limits.count, warnings) == (1, list(caught.value.problems[1:]))


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.mark.parametrize("letter", ["\x85", "\u2028", "\u2029"])
def test_yaml_1_1_line_ends_are_ordinary_characters(letter: str) -> None:
    quoted = f"one{letter}two"
    assert parse("somewhere", f"key: '{quoted}'\nother: {quoted}\n") == {
        "key": quoted,
        "other": quoted,
    }


def test_reserved_placeholder_character_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"U\+10FFF0 cannot be read; remove it"):
        parse("somewhere", "key: '\U0010fff0'")


@pytest.mark.slow
@given(values)
@example("\x85")
@example("\U0010fff0")
def test_json_document_parses_to_the_same_value_or_is_refused(value: Any) -> None:
    text = json.dumps({"value": value}, ensure_ascii=False)
    with suppress(ConfigError):  # a control character, say
        assert parse("somewhere", text)["value"] == value


@given(st.text())
def test_any_text_parses_or_raises_config_error(text: str) -> None:
    told = "somewhere"
    try:
        parse("somewhere", text, ("key",))
    except ConfigError as error:
        told = str(error)
    assert told.startswith("somewhere")
