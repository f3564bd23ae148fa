"""Choosing the model, how its provider is reached, and the packaged presets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hookline.config import (
    ConfigError,
    Loaded,
    ModelChoice,
    NoModel,
    choose_model,
    load,
    provider_settings,
)
from hookline_hookspecs import ProviderSettings

PRESETS = [
    "anthropic",
    "openai",
    "openrouter",
    "deepseek",
    "moonshot",
    "xiaomi",
    "ollama",
    "vllm",
    "lmstudio",
    "llamacpp",
]
LOCAL = {"ollama", "vllm", "lmstudio", "llamacpp"}


def loaded(home: Path, text: str = "", env: Mapping[str, str] | None = None) -> Loaded:
    (home / "config.yaml").write_text(text)
    return load(home, env or {})


def test_presets_are_complete_and_in_order(tmp_path: Path) -> None:
    presets = loaded(tmp_path).presets
    assert list(presets) == PRESETS
    for name, preset in presets.items():
        assert preset.driver == ("anthropic" if name == "anthropic" else "openai")
        assert preset.base_url.startswith("http://localhost" if name in LOCAL else "https://")
        assert (preset.key_env is None) == (name in LOCAL)
        assert name in LOCAL or preset.model in [model.name for model in preset.models]
    assert [model.name for model in presets["xiaomi"].models] == [
        "mimo-v2.5-pro",
        "mimo-v2.5",
        "mimo-v2-pro",
        "mimo-v2-flash",
        "mimo-v2-omni",
    ]


def test_configured_model_is_split_at_the_first_slash(tmp_path: Path) -> None:
    result = loaded(tmp_path, "model: openrouter/meta/x", {"ANTHROPIC_API_KEY": "k"})
    assert choose_model(result) == ModelChoice("openrouter", "meta/x")


@pytest.mark.parametrize("name", PRESETS)
def test_first_preset_with_its_variable_set_is_chosen(tmp_path: Path, name: str) -> None:
    presets = loaded(tmp_path).presets
    later = [presets[other] for other in PRESETS[PRESETS.index(name) :]]
    env = {preset.base_url_env: "http://h/v1" for preset in later}
    assert choose_model(loaded(tmp_path, "", env)) == (name, presets[name].model)
    for preset in later:
        env[preset.base_url_env] = ""
    env |= {preset.key_env: "k" for preset in later if preset.key_env}
    if name not in LOCAL:
        assert choose_model(loaded(tmp_path, "", env)).provider == name


def test_model_choice_without_a_variable_explains_what_to_set(tmp_path: Path) -> None:
    with pytest.raises(NoModel) as caught:
        choose_model(loaded(tmp_path))
    message = str(caught.value)
    for words in ("hookline init", "ANTHROPIC_API_KEY", "hookline demo"):
        assert words in message
    assert len(message) < 2 * 80  # the first thing a newcomer reads; the set-up knows every name


def test_provider_section_with_a_key_is_chosen_without_variables(tmp_path: Path) -> None:
    text = "providers: {deepseek: {api_key: k}, anthropic: {headers: {}}}"
    assert choose_model(loaded(tmp_path, text)).provider == "deepseek"
    assert choose_model(loaded(tmp_path, text, {"XIAOMI_API_KEY": "k"})).provider == "xiaomi"


def test_dotenv_provides_keys(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("MOONSHOT_API_KEY=k\n")
    result = loaded(tmp_path)
    assert choose_model(result).provider == "moonshot"
    assert provider_settings(result, "moonshot")[1].api_key == "k"


@pytest.mark.parametrize(
    ("provider", "env", "url", "key"),
    [
        ("openai", {}, "https://api.openai.com/v1", None),
        ("openai", {"OPENAI_API_KEY": "k"}, "https://api.openai.com/v1", "k"),
        ("openai", {"OPENAI_BASE_URL": "http://h/v1"}, "http://h/v1", "none"),
        (
            "anthropic",
            {"ANTHROPIC_BASE_URL": "http://h", "ANTHROPIC_API_KEY": "k"},
            "http://h",
            "k",
        ),
        ("anthropic", {"OPENAI_API_KEY": "k"}, "https://api.anthropic.com", None),
        ("ollama", {}, "http://localhost:11434/v1", "none"),
        ("ollama", {"OLLAMA_BASE_URL": "http://h/v1"}, "http://h/v1", "none"),
        ("scripted", {"OPENAI_API_KEY": "k"}, None, None),
        ("somebodys-own", {}, None, None),
    ],
)
def test_provider_address_and_key_for_each_source(
    tmp_path: Path, provider: str, env: dict[str, str], url: str | None, key: str | None
) -> None:
    driver, settings = provider_settings(loaded(tmp_path, "", env), provider)
    assert settings.base_url == url
    assert settings.api_key == (key or "")
    if url is None:
        assert (driver, settings) == (provider, ProviderSettings(provider, None, ""))


def test_provider_section_overrides_environment_and_preset(tmp_path: Path) -> None:
    text = (
        "providers:\n"
        "  openai: {base_url: http://localhost:8080/v1, api_key: ${KEY}, headers: {}}\n"
        "  xiaomi: {headers: {X-A: b}, stream: false}\n"
    )
    env = {
        "KEY": "mine",
        "OPENAI_API_KEY": "k",
        "OPENAI_BASE_URL": "http://h",
        "XIAOMI_API_KEY": "x",
    }
    result = loaded(tmp_path, text, env)
    assert provider_settings(result, "openai") == (
        "openai",
        ProviderSettings(
            "openai", "http://localhost:8080/v1", api_key="mine", key_env="OPENAI_API_KEY"
        ),
    )
    assert provider_settings(result, "xiaomi") == (
        "openai",
        ProviderSettings(
            "xiaomi",
            "https://api.xiaomimimo.com/v1",
            api_key="x",
            headers={"X-A": "b"},
            options={"stream": False},
            key_env="XIAOMI_API_KEY",
        ),
    )


def test_custom_provider_does_not_get_another_providers_key(tmp_path: Path) -> None:
    text = "providers:\n  groq: {base_url: https://h/v1}\n  work: {driver: anthropic}\n"
    env = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "a"}
    result = loaded(tmp_path, text, env)
    assert provider_settings(result, "groq") == (
        "openai",
        ProviderSettings("groq", "https://h/v1", api_key="none"),
    )
    assert provider_settings(result, "work") == (
        "anthropic",
        ProviderSettings(
            "work", "https://api.anthropic.com", api_key="a", key_env="ANTHROPIC_API_KEY"
        ),
    )


def test_unset_provider_variable_fails_only_if_that_provider_is_used(tmp_path: Path) -> None:
    text = (
        "providers:\n  openai:\n    api_key: ${UNSET}\n    headers: {A: ${UNSET}}\n"
        "model: xiaomi/m\n"
    )
    result = loaded(tmp_path, text)
    assert provider_settings(result, "xiaomi")[0] == "openai"
    with pytest.raises(ConfigError, match=r":3: providers\.openai\.api_key: UNSET is not set"):
        provider_settings(result, "openai")
