"""The config of core alone: JSON, and a sentence for whatever else there is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hookline.config import (
    ConfigError,
    NoModel,
    SettingsError,
    choose_model,
    config_reader,
    drivers,
    effective,
    load,
    validate_settings,
)
from pydantic import BaseModel


@pytest.fixture(autouse=True)
def _core_alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(drivers, "find_driver", lambda _group, _name: None)
    config_reader.cache_clear()
    yield
    config_reader.cache_clear()


def test_json_is_read_and_options_are_laid_over_it(tmp_path: Path) -> None:
    text = '{"trace": true, "plugins": {"one": {"a": 1}, "two": false}}'
    (tmp_path / "config.yaml").write_text(text)

    loaded = load(tmp_path, {"A_KEY": "secret-of-mine"}, {"model": "a/b", "session.idle_hours": 2})

    assert (loaded.config.model, loaded.config.trace) == ("a/b", True)
    assert loaded.config.session.idle_hours == 2
    assert loaded.plugins["one"].settings == {"a": 1}
    assert not loaded.plugins["two"].enabled
    assert loaded.secrets == {"secret-of-mine"}
    assert effective(loaded) == {}


def test_a_home_without_a_file_has_the_defaults(tmp_path: Path) -> None:
    loaded = load(tmp_path, {})
    assert loaded.plugins["files"].standard
    with pytest.raises(NoModel):
        choose_model(loaded)


@pytest.mark.parametrize(
    ("text", "env"),
    [
        ("trace: true\n", {}),
        ('{"model": "${MODEL}"}', {}),
        ("{}", {"HOOKLINE_TRACE": "true"}),
        ("{}", {"HOOKLINE_PLUGINS__ONE": "false"}),
    ],
)
def test_plain_config_refuses_yaml_syntax(tmp_path: Path, text: str, env: dict[str, str]) -> None:
    (tmp_path / "config.yaml").write_text(text)
    with pytest.raises(ConfigError, match="needs the package hookline-configfile"):
        load(tmp_path, env)


def test_plain_config_refuses_a_dotenv_file(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A_KEY=abcdefgh\n")
    with pytest.raises(ConfigError, match="needs the package hookline-configfile"):
        load(tmp_path, {})


class Limit(BaseModel):
    """The settings of some plugin."""

    limit: int = 1


def test_errors_name_the_key_and_no_value(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text('{"plugins": {"one": {"limit": "s3cret"}, "two": 3}}')
    loaded = load(tmp_path, {})

    with pytest.raises(SettingsError) as caught:
        validate_settings(Limit, loaded.plugins["one"], loaded)
    assert "plugins.one.limit" in str(caught.value)
    assert "s3cret" not in str(caught.value)
    assert "plugins.two: wanted true, false or a mapping" in (loaded.plugins["two"].error or "")
    with pytest.raises(ConfigError, match="max_iterations"):
        load(tmp_path, {}, {"max_iterations": 0})
