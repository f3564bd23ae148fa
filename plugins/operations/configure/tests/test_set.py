"""``config set`` and ``plugins enable|disable`` keep comments and order of config.yaml."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .conftest import WRITTEN, RunCli

COMMENTS = re.findall(r"(?m)(?:^|\s)(# .*?)$", WRITTEN.replace("# b", "@ b"))
KEYS = {
    "model": st.sampled_from(["a/b", "null", "'c/d'"]),
    "trace": st.sampled_from(["true", "false"]),
    "session": st.sampled_from(["{idle_hours: 3}", "null", "{}"]),
    "session.idle_hours": st.integers(1, 99).map(str),
    "session.max_days": st.floats(1, 99).map(str),
    "providers.openai.api_key": st.sampled_from(["key-one", "${KEY}", "'#key-two'"]),
    "providers.new.base_url": st.just("http://h"),
    "plugins.memory": st.sampled_from(["true", "false", "{notes_max_chars: 300}", "null"]),
    "plugins.memory.notes_max_chars": st.integers(200, 9999).map(str),
    "plugins.not-here.a.b": st.text(alphabet="ab#\u00e9: ", max_size=9).map(json.dumps),
    "plugins.titles": st.sampled_from(["true", "false"]),
    "plugins.not-here.x": st.sampled_from(["012", "no", "'1'", "2020-01-01", "'a: b'"]),
    "plugins.telegram.max_bytes": st.integers(1000, 9999).map(str),
    "plugins.my-own": st.just("true"),
    "operator_message": st.text(alphabet="ab #:\\n'\"{}é", max_size=30).map(json.dumps),
}


@settings(suppress_health_check=list(HealthCheck))
@given(
    edits=st.lists(
        st.sampled_from(sorted(KEYS)).flatmap(lambda key: st.tuples(st.just(key), KEYS[key])),
        min_size=1,
        max_size=3,
    )
)
@pytest.mark.slow
def test_set_keeps_comments_and_order(
    line: RunCli, path: Path, edits: list[tuple[str, str]]
) -> None:
    path.write_text(WRITTEN)
    for key, value in edits:
        before = path.read_text()
        done = line("config", "set", "--", key, value)
        if done.exit_code:
            # Only a value that takes others' place can be refused.
            assert value in ("null", "[]")
            assert done.stderr.endswith("its comments would be lost; edit the file by hand.\n")
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


@pytest.mark.slow
def test_set_value_is_read_back(line: RunCli, path: Path) -> None:
    for key, value in (
        ("plugins.memory.notes_max_chars", "3000"),
        ("plugins.memory.recall_limit", "3"),
        ("session.idle_hours", "1.5"),
        ("plugins.prompt-cache.ttl", "5m"),
    ):
        done = line("config", "set", key, value)
        assert (done.stdout, done.stderr) == (f"Set {key} in {path}\n", "")
    shown = json.loads(line("config", "show", "--json").stdout)
    assert shown["plugins"]["memory"] == {"notes_max_chars": 3000, "recall_limit": 3}
    assert shown["plugins"]["prompt-cache"] == {"ttl": "5m"}
    assert shown["session"]["idle_hours"] == 1.5
    assert "${KEY}" in path.read_text()


@pytest.mark.slow
def test_set_creates_a_missing_config(line: RunCli, path: Path) -> None:
    path.unlink()
    line("config", "set", "model", "openai/b")
    assert path.read_text() == "model: openai/b\n"
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text("# only\n# comments\n")
    line("plugins", "disable", "titles")
    assert path.read_text() == "# only\n# comments\nplugins:\n  titles: false\n"


@pytest.mark.slow
def test_set_keeps_a_symlink(line: RunCli, path: Path, tmp_path: Path) -> None:
    target = path.rename(tmp_path / "elsewhere.yaml")
    path.symlink_to(target)
    assert line("config", "set", "trace", "true").exit_code == 0
    assert path.is_symlink()
    assert "trace: true" in target.read_text()


@pytest.mark.long
@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("max_iterations", "many", "expected a whole number"),
        ("max_iterations", "012", "without leading zeros"),
        ("model", "no-slash", "provider/model"),
        ("model", "[a", "not YAML"),
        ("model", "{a: 1, a: 2}", "written twice"),
        ("network", "3", "expected a mapping"),
        ("workspace", "${UNSET}", "UNSET is not set"),
        ("session", "null", "edit the file by hand"),
        ("a..b", "1", "not a key"),
    ],
)
def test_set_refuses_a_value_that_would_not_load(
    line: RunCli, path: Path, key: str, value: str, words: str
) -> None:
    done = line("config", "set", key, value)
    assert (done.exit_code, done.stdout) == (2, "")
    assert words in done.stderr
    assert path.read_text() == WRITTEN
    assert [file.name for file in path.parent.glob("*config*")] == ["config.yaml"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("plugins:\n  a: &x {n: {v: 1}}\n  b: *x\n", "*alias and !tag"),
        ("trace: true\ntrace: false\n", "written twice"),
        ("trace: [\n", "not YAML"),
    ],
)
def test_set_refuses_an_unreadable_config(
    process: RunCli, path: Path, written: str, words: str
) -> None:
    path.write_text(written)
    for command in (["set", "plugins.b.n.v", "2"], ["unset", "trace"]):
        done = process("config", *command)
        assert (done.exit_code, done.stdout) == (2, "")
        assert words in done.stderr
        assert path.read_text() == written


@pytest.mark.slow
def test_undecodable_config_is_reported_with_its_line(process: RunCli, path: Path) -> None:
    path.write_bytes(b"trace: true\nmodel: \xff\n")
    done = process("config", "set", "trace", "false")
    assert (done.exit_code, done.stdout) == (2, "")
    told = f"{path}:2: this is not UTF-8 text; restore the file, or save it as UTF-8."
    assert done.stderr == f"hookline: {told}\n"


def test_set_refuses_a_value_that_the_plugin_rejects(line: RunCli, path: Path) -> None:
    for key, value in (("plugins.memory.notes_max_chars", "lots"), ("plugins.titles.x", "[")):
        done = line("config", "set", key, value)
        assert (done.exit_code, done.stdout) == (2, "")
        assert key in done.stderr
        assert path.read_text() == WRITTEN
    told = 'plugins.memory.notes_max_chars: expected a whole number, got "lots".\n'
    assert line("config", "set", "plugins.memory.notes_max_chars", "lots").stderr.endswith(told)


@pytest.mark.slow
def test_several_config_errors_can_be_fixed_one_by_one(process: RunCli, path: Path) -> None:
    path.write_text("trace: maybe\nmax_iterations: lots\n")
    done = process("config", "set", "trace", "true")
    assert (done.exit_code, "max_iterations" in done.stderr) == (0, True)
    assert process("config", "set", "model", "nowhere").exit_code == 2
    assert process("config", "unset", "max_iterations").exit_code == 0
    assert path.read_text() == "trace: true\n"


@pytest.mark.long
@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("max_iteration", "5", "max_iteration: unknown key; did you mean max_iterations?"),
        ("modle.x", "5", "modle: unknown key; did you mean model?"),
        ("frobnicate", "5", "frobnicate: unknown key; `hookline config schema` shows all keys"),
        ("memory", "{on: 1}", "`plugins.memory`"),
        ("session.idle_hour", "5", "session.idle_hour: unknown key; did you mean session.idle_"),
        ("session", "{idle_hour: 5}", "session.idle_hour: unknown key; did you mean session.idle_"),
        ("session.zzz", "5", "session.zzz: unknown key"),
        ("plugins.memory.notes_max_char", "3000", "did you mean plugins.memory.notes_max_chars?"),
        ("plugins.memory.zzz", "3000", "plugins.memory.zzz: unknown key; its settings are "),
        (
            "plugins.memry.x",
            "1",
            "plugins.memry: no plugin has this name; did you mean plugins.mem",
        ),
        ("plugins.memry", "true", "did you mean plugins.memory?"),
        ("plugins", "{telegarm: {token: x}}", "did you mean plugins.telegram?"),
        ("plugins.slak:work.token", "x", "did you mean plugins.slack?"),
        ("providers.opnai.api_key", "x", "providers.opnai: no provider has this name; did you me"),
        ("providers.deepsek.base_url", "http://127.0.0.1:1/v1", "did you mean providers.deepseek"),
        ("store", "sqlit", "store: the store 'sqlit' is not installed; did you mean sqlite?"),
        ("store", "mysql://host/x", "the store 'mysql' is not installed"),
    ],
)
def test_set_refuses_an_unknown_key(
    line: RunCli, path: Path, key: str, value: str, words: str
) -> None:
    done = line("config", "set", key, value)
    assert (done.exit_code, done.stdout) == (2, "")
    assert words in done.stderr
    assert path.read_text() == WRITTEN


def test_setting_of_a_plugin_that_is_not_installed_is_written(line: RunCli, path: Path) -> None:
    path.write_text("modle: a/b\nsession: {zzz: 5}\n")  # what is there already stops nothing
    assert line("config", "set", "plugins.not-here-yet.room", "5").exit_code == 0
    assert "room: 5" in path.read_text()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("plugins.standup.room", "5"),
        ("plugins.webhook:second.secret", "x"),
        ("providers.openai-work.base_url", "http://127.0.0.1:1/v1"),
        ("providers.ollama2.base_url", "http://127.0.0.1:1/v1"),
        ("providers.mine.base_url", "http://127.0.0.1:1/v1"),
        ("providers.deepseek.api_key", "x"),
    ],
)
def test_set_accepts_names_that_are_new(line: RunCli, path: Path, key: str, value: str) -> None:
    assert line("config", "set", key, value).exit_code == 0, line
    assert value in path.read_text()


def test_set_changes_a_misspelt_section_that_is_there(line: RunCli, path: Path) -> None:
    path.write_text("plugins: {memry: {a: 1}}\n")
    assert line("config", "set", "plugins.memry.a", "5").exit_code == 0


@pytest.mark.parametrize(
    ("words", "near"),
    [
        ("get max_itera", "max_iterations"),
        ("get session.idle_hour", "session.idle_hours"),
        ("get sesion.max_day", "session.max_days"),
        ("unset sesion.idle", "session.idle_hours"),
        ("unset modle", "model"),
    ],
)
def test_missing_key_is_answered_with_the_nearest_one(
    line: RunCli, path: Path, words: str, near: str
) -> None:
    path.write_text("model: a/b\nsession: {idle_hours: 5}\n")
    done = line("config", *words.split())
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.rstrip().endswith(f"; did you mean {near}?")


def test_check_reports_a_store_that_is_not_installed(line: RunCli, path: Path) -> None:
    path.write_text("# mine\nstore: sqlit\n")
    done = line("config", "check")
    assert done.exit_code == 2
    assert ":2: store: the store 'sqlit' is not installed; did you mean sqlite?" in done.stderr


@pytest.mark.slow
def test_invalid_plugin_value_is_written_with_a_warning(line: RunCli, path: Path) -> None:
    warning = line("config", "set", "plugins.web", "12").stderr
    assert "expected true, false or a mapping" in warning
    assert "web: 12" in path.read_text()


@pytest.mark.slow
def test_set_merges_a_mapping(line: RunCli, path: Path) -> None:
    line("config", "set", "session", "{idle_hours: 3}")
    assert json.loads(line("config", "get", "session", "--json").stdout) == {
        "idle_hours": 3,
        "max_days": 30,
    }


@pytest.mark.slow
def test_disable_and_enable_keep_plugin_settings(line: RunCli, path: Path) -> None:
    off = line("plugins", "disable", "memory")
    assert (off.exit_code, off.stdout) == (0, f"memory is off in {path}\n")
    assert line("config", "get", "plugins.memory").stdout == "false\n"
    for name in ("memory", "titles"):
        on = line("plugins", "enable", name)
        assert (on.exit_code, on.stdout) == (0, f"{name} is on in {path}\n")
    text = path.read_text()
    assert line("config", "get", "plugins.memory.notes_max_chars").stdout == "2200\n"
    assert re.search(r"titles: true +# dull", text)


def test_disable_of_unknown_plugin_is_refused(line: RunCli, path: Path) -> None:
    done = line("plugins", "disable", "memmory")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "unknown plugin memmory. Did you mean memory?" in done.stderr
    assert path.read_text() == WRITTEN


@pytest.mark.slow
def test_disable_names_plugins_that_need_it(line: RunCli, path: Path) -> None:
    assert line("plugins", "enable", "web-ui", "openai-api").exit_code == 0
    one = line("plugins", "disable", "web-server")
    assert one.exit_code == 0
    told = "openai-api and web-ui need web-server and will not start without it"
    assert told in " ".join(one.stderr.split())
    line("plugins", "enable", "web-server")
    both = line("plugins", "disable", "openai-api", "web-ui", "web-server")
    assert both.stdout.splitlines() == [
        f"{name} is off in {path}" for name in ("openai-api", "web-ui", "web-server")
    ]
    assert "need" not in both.stderr


@pytest.mark.slow
def test_enable_turns_on_required_plugins(line: RunCli, path: Path) -> None:
    done = line("plugins", "enable", "web-ui", "openai-api")
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        f"web-server is on in {path}, because web-ui needs it",
        f"web-ui is on in {path}",
        f"openai-api is on in {path}",
    ]
    for name in ("web-server", "web-ui", "openai-api"):
        assert path.read_text().count(f"  {name}: true\n") == 1
    path.write_text("plugins: {web-server: {enabled: false, listen: '127.0.0.1:1'}}\n")
    assert "web-server is on" in line("plugins", "enable", "web-ui").stdout
    assert line("config", "get", "plugins.web-server.listen").stdout == "127.0.0.1:1\n"
    again = line("plugins", "enable", "web-ui").stdout
    assert again == f"web-ui is on in {path}\n"


def test_set_list_keeps_the_comments_of_entries_that_stay(line: RunCli, path: Path) -> None:
    kept = "plugins:\n  x:\n    names:\n    # one\n    - a   # the first\n"
    path.write_text(f"{kept}    - b\n    - c\n")
    assert line("config", "set", "--", "plugins.x.names", '["a", "c", "d"]').exit_code == 0
    assert path.read_text() == f"{kept}    - c\n    - d\n"
    refused = line("config", "set", "--", "plugins.x.names", '["c"]')
    assert "its comments would be lost" in refused.stderr
