"""The environment of programs that are started for a model."""

from __future__ import annotations

import pytest
from hookline_sandbox import allowed

UNLISTED = """
DATABASE_URL GH_PAT AWS_ACCESS_KEY_ID PGPASSFILE COOKIE SLACK_WEBHOOK X SSH_AUTH_SOCK DISPLAY
DBUS_SESSION_BUS_ADDRESS BASH_ENV LD_PRELOAD path
"""


@pytest.mark.parametrize("name", UNLISTED.split())
def test_what_is_not_listed_is_not_passed(name: str) -> None:
    assert allowed({name: "a value"}) == {}
    assert allowed({name: "a value"}, [name]) == {name: "a value"}


@pytest.mark.parametrize("name", ["PATH", "HOME", "LC_MESSAGES", "CFLAGS", "VIRTUAL_ENV", "TZ"])
def test_what_is_listed_is_passed(name: str) -> None:
    assert allowed({name: "a value"}) == {name: "a value"}


def test_a_listed_variable_that_holds_a_secret_is_not_passed() -> None:
    environment = {"CFLAGS": "-DKEY=long-secret", "APP_TOKEN": "long-secret", "LANG": "C"}
    assert allowed(environment) == {"LANG": "C"}
    assert allowed({"CFLAGS": "-DKEY=configured"}, secrets=["configured"]) == {}
    assert allowed({"CFLAGS": "-DKEY=1"}, secrets=["1"]) == {"CFLAGS": "-DKEY=1"}


def test_an_address_with_a_login_is_not_passed() -> None:
    urls = {"HTTPS_PROXY": "http://me:word@proxy.example", "PIP_INDEX_URL": "https://a.example/@x"}
    assert allowed(urls) == {"PIP_INDEX_URL": "https://a.example/@x"}


def test_a_path_in_a_variable_named_like_a_secret_takes_nothing_away() -> None:
    environment = {"APP_TOKEN_DIR": "/usr/bin", "PATH": "/usr/bin:/bin", "CFLAGS": "-B/usr/bin"}
    assert allowed(environment) == {"PATH": "/usr/bin:/bin", "CFLAGS": "-B/usr/bin"}


def test_programs_are_found_whatever_else_is_a_secret() -> None:
    environment = {"APP_TOKEN": "/opt/app", "PATH": "/opt/app/bin:/usr/bin"}
    assert allowed(environment) == {"PATH": "/opt/app/bin:/usr/bin"}
