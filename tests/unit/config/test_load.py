"""`load`: config from files, variables and flags, and its error messages."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hookline.config import ConfigError, Loaded, load
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


def loaded(home: Path, text: str, env: Mapping[str, str] | None = None, **flags: Any) -> Loaded:
    (home / "config.yaml").write_text(text, encoding="utf-8")
    return load(home, env or {}, flags)


def refused(home: Path, text: str | bytes, env: Mapping[str, str] | None = None) -> str:
    raw = text.encode() if isinstance(text, str) else text
    (home / "config.yaml").write_bytes(raw)
    with pytest.raises(ConfigError) as caught:
        load(home, env or {})
    return str(caught.value)


@pytest.mark.parametrize("text", [None, "", "# nothing\n", "---\n", "model:\nsession:\nplugins:\n"])
def test_config_absent_or_empty_means_defaults(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "config.yaml").write_text(text)
    result = load(tmp_path, {})
    assert result.warnings == ()
    assert result.config.model is None
    assert result.config.max_iterations == 90
    assert result.config.session.idle_hours == 24
    assert result.config.network.block_private is True
    assert [entry.name for entry in result.plugins.values() if not entry.enabled] == []


def test_standard_plugins_keep_their_order_and_others_follow(tmp_path: Path) -> None:
    text = "plugins:\n  zebra: true\n  titles: false\n  aardvark: {a: 1}\n  memory:\n"
    result = loaded(tmp_path, text)
    standard = [entry.name for entry in result.plugins.values() if entry.standard]
    assert list(result.plugins) == [*standard, "zebra", "aardvark"]
    assert {"files", "shell", "terminal", "demo", "memory"} <= set(standard)
    zebra, titles, memory = (result.plugins[name] for name in ("zebra", "titles", "memory"))
    assert (zebra.enabled, zebra.named, zebra.standard) == (True, True, False)
    assert (titles.enabled, titles.named, titles.standard) == (False, True, True)
    assert (memory.enabled, memory.named) == (True, True)
    assert result.plugins["aardvark"].settings == {"a": 1}
    assert not result.plugins["files"].named


def test_enabled_key_switches_a_plugin_and_is_not_a_setting(tmp_path: Path) -> None:
    text = "plugins:\n  memory: {enabled: false, notes_max_chars: 1}\n  web: {enabled: on, x: 2}\n"
    plugins = loaded(tmp_path, text).plugins
    assert not plugins["memory"].enabled
    assert plugins["memory"].settings == {"notes_max_chars": 1}
    assert plugins["memory"].error is None
    assert plugins["web"].enabled
    assert plugins["web"].settings == {"x": 2}


@pytest.mark.parametrize("value", ["12", "[a]", "perhaps", "{enabled: 3}"])
def test_plugin_entry_of_the_wrong_type_is_off_with_a_reason(tmp_path: Path, value: str) -> None:
    result = loaded(tmp_path, f"trace: true\nplugins:\n  memory: {value}\n")
    entry = result.plugins["memory"]
    assert not entry.enabled
    assert entry.error is not None
    assert entry.error.startswith(
        f"{tmp_path / 'config.yaml'}:3: plugins.memory: expected true, false or a mapping"
    )


def test_yaml_words_yes_and_off_become_text_or_boolean_by_key(tmp_path: Path) -> None:
    text = "operator_message: no\ntrace: yes\nnetwork: {block_private: off}\n"
    config = loaded(tmp_path, text).config
    assert config.operator_message == "no"
    assert config.trace is True
    assert config.network.block_private is False


@pytest.mark.parametrize("scalar", ["012", "2024-01-02", "1:30", "1_0", "on", "0b1", "=", "1.2.3"])
def test_config_keeps_yaml_1_1_words_as_text(tmp_path: Path, scalar: str) -> None:
    result = loaded(tmp_path, f"operator_message: {scalar}\nplugins: {{memory: {{a: {scalar}}}}}\n")
    assert result.config.operator_message == scalar
    assert result.plugins["memory"].settings == {"a": scalar}


@pytest.mark.parametrize(
    ("scalar", "value"), [("0x10", 16), ("0o17", 15), ("-3", -3), ("1.5", 1.5), ("1e3", 1000.0)]
)
def test_config_reads_numbers_as_yaml_1_2(tmp_path: Path, scalar: str, value: float) -> None:
    assert loaded(tmp_path, f"plugins: {{a: {{n: {scalar}}}}}").plugins["a"].settings == {
        "n": value
    }


@pytest.mark.parametrize(
    ("line", "found", "expected"),
    [
        ("max_iterations: 012", '"012"', "without leading zeros"),
        ("max_iterations: true", "true", "a number"),
        ("max_iterations: many", '"many"', "a whole number"),
        ("max_iterations: 0", "0", "greater than or equal to 1"),
        ("max_iterations: 1.5", "1.5", "a whole number"),
        ("session: {idle_hours: -1}", "-1", "greater than 0"),
        ("session: {max_days: .nan}", '".nan"', "a number"),
        ("session: [1]", "a list", "a mapping"),
        ("model: claude-sonnet-4-5", '"claude-sonnet-4-5"', "provider/model"),
        ("model: anthropic/", '"anthropic/"', "provider/model"),
        ("fallback_models: [a/b, c]", '"c"', "provider/model"),
        ("operator_message: 12", "12", "text (put it in quotes)"),
        ("trace: 7", "7", "true or false"),
        ("store: ''", '""', "sqlite"),
        ("workspace: ' '", '" "', "a folder"),
        ("network: {allow_hosts: example.org}", '"example.org"', "a list"),
        ("network: {allow_hosts: ['http://x.org']}", '"http://x.org"', "no scheme"),
        ("network: {allow_hosts: ['x.org:port']}", '"x.org:port"', "a host"),
        ("network: {block_hosts: ['300.1.1.1']}", '"300.1.1.1"', "a host"),
        ("network: {block_hosts: ['*']}", '"*"', "a host"),
        ("providers: {openai: {headers: [a]}}", "a list", "a mapping"),
        ("providers: {openai: 3}", "3", "a mapping"),
        ("plugins: [memory]", "a list", "a mapping"),
    ],
)
def test_invalid_core_value_error_names_file_line_key_and_value(
    tmp_path: Path, line: str, found: str, expected: str
) -> None:
    message = refused(tmp_path, f"# first\n{line}\n")
    assert message.startswith(f"{tmp_path / 'config.yaml'}:2: {line.split(':')[0]}")
    assert ": expected " in message
    assert expected in message
    assert message.endswith(f", got {found}.")
    assert message.count("\n") == 0


def test_allow_hosts_accepts_names_patterns_addresses_and_networks(tmp_path: Path) -> None:
    hosts = ["example.org", "*.example.org", "10.0.0.0/8", "10.0.0.1:80", "[::1]:8080", "fd00::/8"]
    text = yaml.safe_dump({"network": {"allow_hosts": hosts}})
    assert loaded(tmp_path, text).config.network.allow_hosts == hosts


def test_config_error_lists_all_problems(tmp_path: Path) -> None:
    text = "max_iterations: x\nmodel: b\nsession: {idle_hours: -1}\n"
    message = refused(tmp_path, text)
    assert [key in message for key in ("max_iterations", "model", "idle_hours")] == [True] * 3
    assert len(message.split("\n")) == 3


def test_unknown_key_only_warns_with_a_suggestion(tmp_path: Path) -> None:
    text = "max_iteration: 3\nsession: {idle_hour: 2}\nplugin: {}\nxyzzy: 1\n"
    result = loaded(tmp_path, text)
    path = tmp_path / "config.yaml"
    assert sorted(result.warnings) == [
        f"{path}:1: max_iteration: unknown key; did you mean max_iterations?",
        f"{path}:2: session.idle_hour: unknown key; did you mean idle_hours?",
        f"{path}:3: plugin: unknown key; did you mean plugins?",
        f"{path}:4: xyzzy: unknown key, ignored.",
    ]


def test_driver_options_are_not_unknown_keys(tmp_path: Path) -> None:
    result = loaded(tmp_path, "providers: {openai: {stream: false, api: responses}}")
    assert result.warnings == ()
    assert result.config.providers["openai"].model_extra == {"stream": False, "api": "responses"}


def test_duplicate_key_error_names_both_lines(tmp_path: Path) -> None:
    message = refused(tmp_path, "trace: true\nmodel: a/b\ntrace: false\n")
    assert message == (
        f"{tmp_path / 'config.yaml'}:3: trace: written twice, here and in line 1; keep one of them."
    )
    assert "plugins.memory: written twice" in refused(tmp_path, "plugins: {memory: , memory: }")


def test_duplicate_key_inside_a_plugin_is_an_error(tmp_path: Path) -> None:
    message = refused(tmp_path, "plugins:\n  memory:\n    a: 1\n    a: 2\n")
    assert ":4: plugins.memory.a: written twice, here and in line 3" in message


@pytest.mark.parametrize(
    ("raw", "line", "words"),
    [
        ("trace: true\n\tmodel: a/b\n", 2, "indent with spaces"),
        ("trace: true\nmodel: [a\n", 3, "not YAML"),
        ("a: b: c\n", 1, "not YAML"),
        ("- model\n", 1, "expected one mapping"),
        ("model\n", 1, "expected one mapping"),
        ("trace: true\n---\nmodel: a/b\n", 1, "expected one mapping"),
        (b"trace: true\nmodel: \xff/b\n", 2, "not UTF-8"),
        (b"trace: true\nmodel: \x01/b\n", 2, "not YAML"),
        ("trace: true\nworkspace: *nowhere\n", 2, "*alias and !tag"),
        ("trace: true\nworkspace: !!python/name:os.system x\n", 2, "or quote it"),
        ("trace: true\n? [a]\n: b\n", 2, "a key must be text"),
        ("trace: true\n*a : 3\n", 2, "a key must be text"),
        ("a:\n " + "[" * 60 + "]" * 60, 2, "nested deeper"),
        ("- " * 100_000, 1, "nested deeper"),
        ("a: &a [*a]\n", 1, "*alias and !tag"),
        ("a: &a {<<: *a}\n", 1, "*alias and !tag"),
        ("max_iterations: " + "9" * 5000, 1, "exceeded maximum size"),
    ],
)
def test_unreadable_config_error_names_the_place(
    tmp_path: Path, raw: str | bytes, line: int, words: str
) -> None:
    message = refused(tmp_path, raw)
    assert f"config.yaml:{line}: " in message
    assert words in message


def test_yaml_alias_bomb_is_a_config_error(tmp_path: Path) -> None:
    rows = ["a0: &a0 [x, x]"]
    rows += [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}, *a{n - 1}]" for n in range(1, 40)]
    assert "*alias and !tag" in refused(tmp_path, "\n".join(rows))


def large(path: Path) -> None:
    path.write_bytes(b"#" * 2_000_000)


NO_TEXT: dict[str, tuple[Callable[[Path], object], str]] = {
    "a folder": (Path.mkdir, "expected a text file, got a folder; move it away."),
    "a pipe": (os.mkfifo, "expected a text file, got a pipe or a device; move it away."),
    "ten books": (large, "expected a text file, got a file larger than 1 MB; move it away."),
    "a link to nowhere": (
        lambda path: path.symlink_to("gone"),
        "this is a broken link; restore its target or remove the link.",
    ),
    "a link to itself": (
        lambda path: path.symlink_to(path.name),
        "cannot be read: Too many levels of symbolic links. Fix that, or move the file away.",
    ),
    "binary": (
        lambda path: path.write_bytes(b"\x7fELF\x00\xff\xfe"),
        "1: this is not UTF-8 text; restore the file, or save it as UTF-8.",
    ),
}


@pytest.mark.parametrize("name", ["config.yaml", ".env"])
@pytest.mark.parametrize("kind", NO_TEXT)
def test_config_refuses_a_file_that_is_not_text(tmp_path: Path, name: str, kind: str) -> None:
    make, words = NO_TEXT[kind]
    make(tmp_path / name)
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, {})
    assert str(caught.value).startswith(f"{tmp_path / name}:")
    assert str(caught.value).endswith(words)


def test_unreadable_env_does_not_hide_config_errors(tmp_path: Path) -> None:
    (tmp_path / ".env").mkdir()
    (tmp_path / "config.yaml").write_text("max_iterations: many\n")
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, {"HOOKLINE_TRACE": "maybe"})
    for place in (".env: ", "config.yaml:1: ", "HOOKLINE_TRACE: "):
        assert any(place in text for text in caught.value.problems), place


def test_env_linked_to_dev_null_is_empty(tmp_path: Path) -> None:
    (tmp_path / ".env").symlink_to(os.devnull)
    assert load(tmp_path, {}).warnings == ()


def test_variables_are_expanded_only_in_values(tmp_path: Path) -> None:
    text = (
        "max_iterations: ${N}\ntrace: ${T}\nworkspace: ${W:-/tmp}/${N}\n"
        "operator_message: 'a $${N} ${EMPTY:-b} $N'\n"
        "plugins: {memory: {'${N}': '${N}'}, web: '${T}'}\n"
    )
    result = loaded(tmp_path, text, {"N": "7", "T": "true", "EMPTY": ""})
    assert result.config.max_iterations == 7
    assert result.config.trace is True
    assert result.config.workspace == "/tmp/7"
    assert result.config.operator_message == "a ${N} b $N"
    assert result.plugins["memory"].settings == {"${N}": "7"}
    assert result.plugins["web"].enabled


@pytest.mark.parametrize("text", ["${UNSET}", "x ${UNSET} y", "${1}", "${", "${A-b}"])
def test_unset_variable_in_core_config_is_an_error(tmp_path: Path, text: str) -> None:
    message = refused(tmp_path, f"trace: true\noperator_message: '{text}'\n")
    assert message.startswith(f"{tmp_path / 'config.yaml'}:2: operator_message: ")
    assert " is not set; " in message


def test_variable_needs_no_quotes_in_flow_mapping(tmp_path: Path) -> None:
    text = "plugins: {memory: {a: ${KEY}, b: [x${KEY}, ${U:-d}], 'c': '${KEY}', ${KEY}: $${KEY}}}"
    entry = loaded(tmp_path, text, {"KEY": "v"}).plugins["memory"]
    expected = {"a": "v", "b": ["xv", "d"], "c": "v", "${KEY}": "${KEY}"}
    assert entry.settings == expected


def test_unset_variable_in_a_plugin_switches_that_plugin_off(tmp_path: Path) -> None:
    text = (
        "plugins:\n  telegram:\n    token: ${BOT}\n"
        "  web: {enabled: false, key: '${BOT}'}\n  v: '${BOT}'\n"
    )
    plugins = loaded(tmp_path, text).plugins
    assert not plugins["telegram"].enabled
    assert plugins["telegram"].error is not None
    assert ":3: plugins.telegram.token: BOT is not set" in plugins["telegram"].error
    assert plugins["web"].error is None
    assert not plugins["v"].enabled
    assert plugins["v"].named
    assert plugins["memory"].enabled


def test_environment_overrides_file_and_flags_override_both(tmp_path: Path) -> None:
    env = {
        "HOOKLINE_MODEL": "openai/x",
        "HOOKLINE_PLUGINS__MEMORY__NOTES_MAX_CHARS": "3000",
        "HOOKLINE_PLUGINS__PROMPT_CACHE": "false",
        "HOOKLINE_PLUGINS__MY_OWN": "true",
        "HOOKLINE_PROVIDERS__OPENAI__BASE_URL": "http://h:1/v1",
        "HOOKLINE_SESSION__IDLE_HOURS": "2.5",
        "HOOKLINE_WORKSPACE": "",
    }
    text = "model: a/b\ntrace: true\nplugins: {memory: {a: 1}, prompt-cache: {ttl: 5m}}\n"
    result = loaded(tmp_path, text, env, trace=False, workspace="w", max_iterations=None)
    assert result.config.model == "openai/x"
    assert result.config.trace is False
    assert result.config.workspace == "w"
    assert result.config.max_iterations == 90
    assert result.config.session.idle_hours == 2.5
    assert result.config.providers["openai"].base_url == "http://h:1/v1"
    assert result.plugins["memory"].settings == {"a": 1, "notes_max_chars": 3000}
    assert not result.plugins["prompt-cache"].enabled
    assert result.plugins["prompt-cache"].settings == {"ttl": "5m"}
    assert result.plugins["my-own"].named
    assert result.warnings == ()


def test_flag_replaces_an_unset_variable_in_the_file(tmp_path: Path) -> None:
    result = loaded(tmp_path, "model: ${UNSET}\n", model="a/b")
    assert result.config.model == "a/b"


def test_setting_by_variable_does_not_enable_a_disabled_plugin(tmp_path: Path) -> None:
    entry = loaded(tmp_path, "plugins: {memory: no}", {"HOOKLINE_PLUGINS__MEMORY": "false"})
    assert not entry.plugins["memory"].enabled
    env = {"HOOKLINE_PLUGINS__MEMORY__A": "1"}
    entry = loaded(tmp_path, "plugins: {memory: false}", env)
    assert not entry.plugins["memory"].enabled
    assert entry.plugins["memory"].settings == {"a": 1}


def test_error_in_a_variable_names_the_variable(tmp_path: Path) -> None:
    message = refused(tmp_path, "max_iterations: 3\n", {"HOOKLINE_MAX_ITERATIONS": "x"})
    assert message == 'HOOKLINE_MAX_ITERATIONS: max_iterations: expected a whole number, got "x".'
    message = refused(tmp_path, "operator_message: a\n", {"HOOKLINE_OPERATOR_MESSAGE": "Note: x"})
    assert message.startswith(
        "HOOKLINE_OPERATOR_MESSAGE: operator_message: expected text (put it in quotes), got a"
    )
    message = refused(tmp_path, "", {"HOOKLINE_TRACE__X": "1"})
    assert message.startswith("HOOKLINE_TRACE__X: trace: expected true or false, got a mapping")


def test_variable_with_a_too_long_key_is_ignored(tmp_path: Path) -> None:
    result = loaded(tmp_path, "", {"HOOKLINE_PLUGINS" + "__A" * 5000: "1"})
    assert "a" not in result.plugins


def test_environment_value_that_is_not_yaml_is_text(tmp_path: Path) -> None:
    for text in ("[a", "@b", "*c", "[" * 100_000, "{a: 1, a: 2}"):
        result = loaded(tmp_path, "", {"HOOKLINE_PLUGINS__MEMORY__A": text})
        assert result.plugins["memory"].settings == {"a": text}


def test_hookline_variables_that_are_not_keys_are_ignored(tmp_path: Path) -> None:
    env = {
        "HOOKLINE_HOME": "x",
        "HOOKLINE_STRICT": "1",
        "HOOKLINE_CRASH_AT": "a:1",
        "HOOKLINE_CLOCK_OFFSET": "5",
        "HOOKLINE_WEBHOOK_SECRET": "s",
        "HOOKLINE_SOMETHING_ELSE": "1",
        "HOOKLINE_MAX_ITERATION": "1",
        "HOOKLINE_SESSION_IDLE_HOURS": "1",
        "HOOKLINE_SESSION__IDLE_HOUR": "1",
    }
    assert load(tmp_path, env).warnings == (
        "HOOKLINE_SESSION__IDLE_HOUR: session.idle_hour: unknown key; did you mean idle_hours?",
    )


def test_dotenv_syntax_and_precedence(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(
        "# comment\n\nexport A=1\nB='two # 2' # c\nC=\"x\\ny\"\nD=a#b # c\nE= # c\n"
        'what is this\nF="open\nHOOKLINE_TRACE=true\nREAL=file\n'
    )
    result = loaded(tmp_path, "operator_message: ${A}${D}", {"REAL": "process"})
    assert {name: result.env[name] for name in "ABCDE"} == {
        "A": "1",
        "B": "two # 2",
        "C": "x\ny",
        "D": "a#b",
        "E": "",
    }
    assert result.env["REAL"] == "process"
    assert result.config.trace is True
    assert result.config.operator_message == "1a#b"
    assert [warning.split(": ")[0] for warning in result.warnings] == [
        f"{tmp_path / '.env'}:8",
        f"{tmp_path / '.env'}:9",
    ]


def test_dotenv_error_does_not_quote_the_line(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("sk-secret-without-a-name\n")
    (warning,) = load(tmp_path, {}).warnings
    assert "sk-secret" not in warning


def test_secrets_are_collected_and_never_shown_in_messages(tmp_path: Path) -> None:
    text = (
        "providers: {openai: {api_key: '${K}'}}\n"
        "plugins: {telegram: {token: tok-1}, web: {listen: '${MY_TOKEN}'}}\nworkspace: ${N}\n"
    )
    env = {"K": "sk-1", "MY_TOKEN": "token-in-env", "N": "plain-value"}
    result = loaded(tmp_path, text, env)
    assert result.secrets == {"sk-1", "tok-1", "token-in-env"}
    assert "sk-1" not in repr(result)
    message = refused(tmp_path, "providers: {openai: {api_key: 12345678}}")
    assert "12345678" not in message
    assert "expected text (put it in quotes), got ********" in message


def has_sentences(outcome: object) -> bool:
    told = outcome.problems if isinstance(outcome, ConfigError) else ()
    return bool(told) and all(len(text) > 20 and text[-1] in ".?" for text in told)


@settings(suppress_health_check=list(HealthCheck))
@given(
    raw=st.one_of(
        st.binary(max_size=60),
        st.text(max_size=60).map(lambda t: t.encode("utf-8", "surrogatepass")),
        st.text(alphabet="ab:-[]{}&*!|>'\"%@#,?~<0123. \n\t$", max_size=40).map(str.encode),
    )
)
def test_config_of_any_bytes_loads_or_raises_config_error(tmp_path: Path, raw: bytes) -> None:
    for name in ("config.yaml", ".env"):
        (tmp_path / name).write_bytes(raw)
        try:
            result = load(tmp_path, {"HOOKLINE_PLUGINS__A": raw.decode("latin-1")})
        except ConfigError as error:
            outcome: object = error
        else:
            outcome = result
        assert isinstance(outcome, Loaded) or has_sentences(outcome)
        (tmp_path / name).unlink()


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(
        alphabet=st.characters(exclude_categories=["C"], exclude_characters="$"), max_size=20
    ),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)


@settings(suppress_health_check=list(HealthCheck))
@given(value=values)
def test_variable_value_is_loaded_unchanged(tmp_path: Path, value: object) -> None:
    text = json.dumps(value, ensure_ascii=False)
    result = load(tmp_path, {"HOOKLINE_PLUGINS__MEMORY__SOME_VALUE": text})
    assert result.plugins["memory"].settings == {"some_value": value}
