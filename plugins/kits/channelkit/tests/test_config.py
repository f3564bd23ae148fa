"""Tokens: where they come from, and what is said of invalid ones."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hookline_channelkit import ChannelConfig, Credential
from pydantic import SecretStr

TOKEN = Credential(
    name="token",
    env_var="PIGEON_TOKEN",
    pattern="[0-9]+",
    label="token",
    format_hint="has only digits",
    create_hint="create a bot in the loft",
    source="the loft",
)


class PigeonConfig(ChannelConfig):
    credentials = (TOKEN,)
    token: SecretStr = TOKEN.field()


def host(plugin: str = "pigeon", **env: str) -> Any:
    return SimpleNamespace(plugin=plugin, env=env)


@pytest.mark.parametrize(
    ("given", "plugin", "env", "value"),
    [
        ("", "pigeon", "11", "11"),
        (" 22 ", "pigeon", "11", "22"),
        ("", "pigeon:work", "11", ""),
        ("22", "pigeon:work", "11", "22"),
    ],
)
def test_credential_comes_from_config_or_environment(
    given: str, plugin: str, env: str, value: str
) -> None:
    config = PigeonConfig(token=SecretStr(given))
    assert config.account(host(plugin, PIGEON_TOKEN=env)) == {"token": value}
    assert (config.account_problem(host(plugin, PIGEON_TOKEN=env)) is None) is bool(value)


@pytest.mark.parametrize(
    ("value", "plugin", "problem"),
    [
        ("1", "pigeon", None),
        (
            "",
            "pigeon",
            "pigeon.token is missing; create a bot in the loft and set PIGEON_TOKEN=… in .env",
        ),
        (
            "a secret",
            "pigeon",
            "pigeon.token is not a valid token (it has only digits); copy it from the loft and set "
            "PIGEON_TOKEN=… in .env",
        ),
        (
            "",
            "pigeon:work",
            "plugins.pigeon:work.token is missing; create a bot in the loft, set NAME=… in .env "
            'and `token: "${NAME}"` in config',
        ),
    ],
)
def test_credential_problem_says_what_to_do(value: str, plugin: str, problem: str | None) -> None:
    assert TOKEN.problem(value, plugin) == problem
    assert "PIGEON_TOKEN" in TOKEN.rejected("The loft")
