"""The environment variables of programs that are started for a model."""

from __future__ import annotations

import pytest
from hookline_sandbox import allowed, without_secrets

UNLISTED = """
DATABASE_URL GH_PAT AWS_ACCESS_KEY_ID PGPASSFILE COOKIE SLACK_WEBHOOK X SSH_AUTH_SOCK DISPLAY
DBUS_SESSION_BUS_ADDRESS BASH_ENV LD_PRELOAD path
"""


@pytest.mark.parametrize("name", UNLISTED.split())
def test_unlisted_variable_is_not_passed(name: str) -> None:
    assert allowed({name: "a value"}) == {}
    assert allowed({name: "a value"}, [name]) == {name: "a value"}


@pytest.mark.parametrize("name", ["PATH", "HOME", "LC_MESSAGES", "CFLAGS", "VIRTUAL_ENV", "TZ"])
def test_listed_variable_is_passed(name: str) -> None:
    assert allowed({name: "a value"}) == {name: "a value"}


def test_listed_variable_with_secret_is_not_passed() -> None:
    environment = {"CFLAGS": "-DKEY=long-secret", "APP_TOKEN": "long-secret", "LANG": "C"}
    assert allowed(environment) == {"LANG": "C"}
    assert allowed({"CFLAGS": "-DKEY=configured"}, secrets=["configured"]) == {}
    assert allowed({"CFLAGS": "-DKEY=1"}, secrets=["1"]) == {"CFLAGS": "-DKEY=1"}


def test_url_with_login_is_not_passed() -> None:
    urls = {"HTTPS_PROXY": "http://me:word@proxy.example", "PIP_INDEX_URL": "https://a.example/@x"}
    assert allowed(urls) == {"PIP_INDEX_URL": "https://a.example/@x"}


def test_path_in_secret_named_variable_removes_nothing_else() -> None:
    environment = {"APP_TOKEN_DIR": "/usr/bin", "PATH": "/usr/bin:/bin", "CFLAGS": "-B/usr/bin"}
    assert allowed(environment) == {"PATH": "/usr/bin:/bin", "CFLAGS": "-B/usr/bin"}


def test_path_variable_is_passed_although_part_of_it_is_a_secret() -> None:
    environment = {"APP_TOKEN": "/opt/app", "PATH": "/opt/app/bin:/usr/bin"}
    assert allowed(environment) == {"PATH": "/opt/app/bin:/usr/bin"}


def test_program_outside_gets_all_but_secrets() -> None:
    passed = {"SSH_AUTH_SOCK": "/dev/null", "DISPLAY": ":0", "EDITOR": "vim", "PATH": "/bin"}
    secret = {"GH_TOKEN": "abc", "DATABASE_URL": "postgres://me:word@db", "COPY": "long-secret"}
    assert without_secrets(passed | secret, secrets=["long-secret"]) == passed
    assert without_secrets(secret, ["GH_TOKEN"], ["long-secret"]) == {"GH_TOKEN": "abc"}
