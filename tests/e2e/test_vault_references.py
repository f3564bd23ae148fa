"""Every secret setting takes ``vault:NAME``; the settings models list them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, get_args

import pytest
from hookline.config import load
from hookline.config.load import validate_settings
from pydantic import BaseModel, SecretStr

REF = "vault:the/key"
VALUES: dict[str, str] = {
    "audit": "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
    "databases": "sqlite:///shop.db",
    "telegram": "123456789:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc",
    "discord": "MTAwMDAwMDAwMDAwMDAwMDAwMA.GAAAAA.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "slack": "xoxb-1-2-abcdefghijkl",
}
"""What the vault holds, where a key has a form of its own."""
SECTIONS: dict[str, dict[str, Any]] = {
    "audit": {"key": REF},
    "databases": {"connections": {"shop": {"url": REF}}},
    "discord": {"token": REF},
    "feishu": {"app_id": "cli_a1b2c3d4e5f6", "app_secret": REF},
    "mcp": {
        "servers": {
            "local": {"command": "server"},
            "remote": {
                "url": "https://mcp.example/mcp",
                "headers": {"X-Key": REF},
                "oauth": {"client_id": "me", "client_secret": REF},
            },
        }
    },
    "multimedia": {
        "api_key": REF,
        "image": {"api_key": REF},
        "vision": {"api_key": REF},
        "speech": {"api_key": REF},
        "transcription": {"api_key": REF},
    },
    "semantic": {"api_key": REF},
    "slack": {"bot_token": REF, "app_token": REF},
    "telegram": {"token": REF},
    "web": {"brave_api_key": REF, "tavily_api_key": REF},
    "webhook": {"secret": REF},
}
"""Settings with a reference at every secret of a plugin."""


def classes(annotation: Any) -> Iterator[Any]:
    """The classes in an annotation, at any depth."""
    inner = get_args(annotation)
    if not inner:
        yield annotation
    for one in inner:
        yield from classes(one)


def secrets_of(model: Any, seen: tuple[Any, ...] = ()) -> Iterator[str]:
    """The names of all fields that hold a secret, in nested settings, too."""
    for name, field in model.model_fields.items():
        for kind in classes(field.annotation):
            if kind is SecretStr:
                yield f"{model.__name__}.{name}"
            elif isinstance(kind, type) and issubclass(kind, BaseModel) and kind not in seen:
                yield from secrets_of(kind, (*seen, kind))


def held(value: Any) -> Iterator[str]:
    """The secrets that settings hold."""
    if isinstance(value, SecretStr):
        yield value.get_secret_value()
    elif isinstance(value, BaseModel):
        yield from held(dict(value))
    elif isinstance(value, dict):
        for one in value.values():
            yield from held(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from held(one)


def plugins() -> dict[str, Any]:
    """The settings' model of every plugin with a secret."""
    found = {}
    for point in entry_points(group="hookline.plugins"):
        model = getattr(point.load(), "config_class", None)
        if model is not None and [*secrets_of(model)]:
            found[point.name] = model
    return found


def test_vault_reference_cases_cover_every_plugin_with_a_secret() -> None:
    found = plugins()
    assert {*found} == {*SECTIONS}
    for name, model in found.items():
        refs = json.dumps(SECTIONS[name]).count(REF)
        assert len({*secrets_of(model)}) == refs, (name, [*secrets_of(model)])


@pytest.mark.parametrize("name", SECTIONS)
def test_plugin_secret_may_be_a_vault_reference(name: str, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(json.dumps({"plugins": {name: SECTIONS[name]}}))
    loaded = load(tmp_path, {})
    value = VALUES.get(name, "the value of the key")
    loaded.source.vault.fill({"the/key": value}, {})
    settings, _warnings = validate_settings(plugins()[name], loaded.plugins[name], loaded)
    assert [*held(settings)].count(value) == json.dumps(SECTIONS[name]).count(REF)
    assert value not in json.dumps(loaded.source.values)


def test_provider_key_and_headers_may_be_vault_references(tmp_path: Path) -> None:
    section = {"base_url": "http://127.0.0.1:1/v1", "api_key": REF, "headers": {"X-Key": REF}}
    (tmp_path / "config.yaml").write_text(json.dumps({"providers": {"mine": section}}))
    loaded = load(tmp_path, {})
    assert REF in json.dumps(loaded.source.values)
    loaded.source.vault.fill({"the/key": "a value"}, {})
    assert loaded.source.vault.value(REF) == "a value"
