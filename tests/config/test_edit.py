"""Editing keeps what people wrote; showing keeps what they hid."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hookline.config import ConfigError, effective, load, set_value
from hookline.config.model import ConfigFile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

WRITTEN = """\
# my config

model: anthropic/claude-sonnet-4-5  # the good one
session:   # how long
  # a day
  idle_hours: 24
  max_days: 30 # a month
# who answers
providers:
  openai: {base_url: http://localhost:8080/v1, api_key: ${KEY}}  # local
plugins:
  # notes
  memory:
    # room
    notes_max_chars: 2200   # characters
    # after notes
  titles: false  # dull
  telegram: {token: ${BOT:-none}, admins: ["a # b", 'c']}
# the end
"""
COMMENTS = re.findall(r"(?m)(?:^|\s)(# .*?)$", WRITTEN.replace("# b", "@ b"))
ENV = {"KEY": "sk-1"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "config.yaml").write_text(WRITTEN)
    return tmp_path / "config.yaml"


KEYS = {
    "model": st.sampled_from(["a/b", "null", "'c/d'"]),
    "trace": st.sampled_from(["true", "false"]),
    "session": st.sampled_from(["{idle_hours: 3}", "null", "{}"]),
    "session.idle_hours": st.integers(1, 99).map(str),
    "session.max_days": st.floats(1, 99).map(str),
    "providers.openai.api_key": st.sampled_from(["x", "${KEY}", "'#'"]),
    "providers.new.base_url": st.just("http://h"),
    "plugins.memory": st.sampled_from(["true", "false", "{a: 1}", "null"]),
    "plugins.memory.notes_max_chars": st.integers().map(str),
    "plugins.memory.a.b": st.text(alphabet="ab#\u00e9: ", max_size=9).map(json.dumps),
    "plugins.titles": st.sampled_from(["true", "{x: [1, 2]}"]),
    "plugins.titles.x": st.sampled_from(["012", "no", "'1'", "2020-01-01", "'a: b'"]),
    "plugins.telegram.admins": st.just("[]"),
    "plugins.my-own": st.just("true"),
    "operator_message": st.text(alphabet="ab #:\\n'\"{}é", max_size=30).map(json.dumps),
}


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    edits=st.lists(
        st.sampled_from(sorted(KEYS)).flatmap(lambda key: st.tuples(st.just(key), KEYS[key])),
        min_size=1,
        max_size=3,
    )
)
def test_every_comment_and_the_order_stay(path: Path, edits: list[tuple[str, str]]) -> None:
    path.write_text(WRITTEN)
    for key, value in edits:
        before = path.read_text()
        with suppress(ConfigError):
            set_value(path, key, value, ENV)
            continue
        # Only a value that takes others' place can be refused.
        assert value in ("null", "[]")
        assert path.read_text() == before
    text = path.read_text()
    assert [comment for comment in COMMENTS if text.count(comment) != 1] == []
    top = re.findall(r"(?m)^(\w+):", text)
    assert [key for key in top if key in ("model", "session", "providers", "plugins")] == [
        "model",
        "session",
        "providers",
        "plugins",
    ]


def test_a_value_is_read_back_as_it_was_set(path: Path) -> None:
    assert set_value(path, "plugins.memory.notes_max_chars", "3000", ENV) == ()
    set_value(path, "plugins.memory.code", "012", ENV)
    set_value(path, "session.idle_hours", "1.5", ENV)
    set_value(path, "plugins.prompt-cache.ttl", "5m", ENV)
    loaded = load(path.parent, ENV)
    assert loaded.plugins["memory"].settings == {"notes_max_chars": 3000, "code": "012"}
    assert loaded.plugins["prompt-cache"].settings == {"ttl": "5m"}
    assert loaded.config.session.idle_hours == 1.5
    assert "${KEY}" in path.read_text()


def test_a_file_is_made_where_there_is_none(tmp_path: Path) -> None:
    path = tmp_path / "home" / "config.yaml"
    set_value(path, "model", "a/b", {})
    assert path.read_text() == "model: a/b\n"
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text("# only\n# comments\n")
    set_value(path, "plugins.titles", "false", {})
    assert path.read_text() == "# only\n# comments\nplugins:\n  titles: false\n"


def test_a_link_stays_a_link(tmp_path: Path, path: Path) -> None:
    link = tmp_path / "link" / "config.yaml"
    link.parent.mkdir()
    link.symlink_to(path)
    set_value(link, "trace", "true", ENV)
    assert link.is_symlink()
    assert "trace: true" in path.read_text()


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("max_iterations", "many", "wanted a whole number"),
        ("max_iterations", "012", "without leading zeros"),
        ("model", "no-slash", "provider/model"),
        ("model", "[a", "not YAML"),
        ("model", "{a: 1, a: 2}", "written twice"),
        ("network", "3", "wanted a mapping"),
        ("workspace", "${UNSET}", "UNSET is not set"),
        ("session", "null", "edit the file by hand"),
        ("a..b", "1", "not a key"),
    ],
)
def test_what_would_not_load_is_not_written(path: Path, key: str, value: str, words: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(words)):
        set_value(path, key, value, ENV)
    assert path.read_text() == WRITTEN
    assert [file.name for file in path.parent.iterdir()] == ["config.yaml"]


def test_a_file_with_aliases_is_not_edited(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    text = "plugins:\n  a: &x {n: {v: 1}}\n  b: *x\n"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"no \*alias"):
        set_value(path, "plugins.b.n.v", "2", {})
    assert path.read_text() == text


def test_an_unknown_key_is_written_with_a_warning(path: Path) -> None:
    (warning,) = set_value(path, "max_iteration", "5", ENV)
    assert "did you mean max_iterations?" in warning


def test_what_switches_a_plugin_off_is_written_with_a_warning(path: Path) -> None:
    (warning,) = set_value(path, "plugins.web", "12", ENV)
    assert "wanted true, false or a mapping" in warning


def test_a_mapping_is_merged(path: Path) -> None:
    set_value(path, "session", "{idle_hours: 3}", ENV)
    session = load(path.parent, ENV).config.session
    assert (session.idle_hours, session.max_days) == (3, 30)


def test_switching_a_plugin_off_and_on_keeps_its_settings(path: Path) -> None:
    set_value(path, "plugins.memory", "false", ENV)
    off = load(path.parent, ENV).plugins["memory"]
    assert not off.enabled
    assert off.settings == {"notes_max_chars": 2200}
    set_value(path, "plugins.memory", "true", ENV)
    assert load(path.parent, ENV).plugins["memory"].enabled
    set_value(path, "plugins.titles", "true", ENV)
    set_value(path, "plugins.web-ui", "true", ENV)
    text = path.read_text()
    assert re.search(r"titles: true +# dull", text)
    assert "web-ui: true" in text


def test_secrets_are_masked_in_what_is_shown(tmp_path: Path) -> None:
    text = (
        "store: postgresql://u:hunter2@h/db\n"
        "providers: {openai: {api_key: ${KEY}, "
        "headers: {Authorization: Bearer abc}, x: 'a sk-1 b'}}\n"
        "plugins: {telegram: {token: tok}, titles: false, web: {deep: [{secret: s}]}, bad: 3}\n"
    )
    (tmp_path / "config.yaml").write_text(text)
    shown = effective(load(tmp_path, ENV))
    assert shown["store"] == "postgresql://u:********@h/db"
    assert shown["providers"]["openai"] == {
        "driver": None,
        "base_url": None,
        "api_key": "********",
        "headers": {"Authorization": "********"},
        "x": "a ******** b",
    }
    assert shown["plugins"]["telegram"] == {"token": "********"}
    assert shown["plugins"]["web"] == {"deep": [{"secret": "********"}]}
    assert shown["plugins"]["files"] is True
    assert shown["plugins"]["titles"] is False
    assert shown["plugins"]["bad"] is False
    assert shown["max_iterations"] == 90
    assert json.loads(json.dumps(shown)) == shown


def test_every_key_of_the_schema_is_described() -> None:
    schema = ConfigFile.model_json_schema()
    tables = [schema, *schema["$defs"].values()]
    fields = [(name, field) for table in tables for name, field in table["properties"].items()]
    assert {"model", "plugins", "idle_hours", "allow_hosts"} <= {name for name, _ in fields}
    assert [name for name, field in fields if not field.get("description")] == []


def test_importing_the_package_loads_no_editor() -> None:
    code = "import sys, hookline.config; print({'ruamel.yaml', 'jsonschema'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"
