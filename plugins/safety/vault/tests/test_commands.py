"""``hookline vault``, and references to it in config.yaml."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hookline.testing import Harness, calls
from hookline_hookspecs import HooklineError, Plugin, tool
from hookline_vault import VaultPlugin
from pydantic import BaseModel, SecretStr

CANARY = "canary-7f3a/+é-value"


class KeyedConfig(BaseModel):
    token: SecretStr
    headers: dict[str, str] = {}


class Keyed(Plugin[KeyedConfig]):
    """Takes a key."""


@pytest.fixture
def home(tmp_path: Path, harness: Callable[..., Harness]) -> Path:
    """A home whose vault has a key in a file, and one secret."""
    made = harness(VaultPlugin, home=tmp_path / "home")
    assert made.cli("vault rekey --to file").exit_code == 0
    assert made.cli("vault set bot/token", input=f"{CANARY}\n").exit_code == 0
    made.close()
    return tmp_path / "home"


@pytest.mark.slow
def test_plugin_setting_holds_the_referenced_value(
    home: Path, harness: Callable[..., Harness]
) -> None:
    settings = {"token": "vault:bot/token", "headers": {"X-Key": "vault:bot/token"}}
    (home / "config.yaml").write_text(json.dumps({"plugins": {"keyed": settings}}))
    opened = harness(VaultPlugin, Keyed, home=home, config={"keyed": settings})
    config = opened.plugin(Keyed).config
    assert config.token.get_secret_value() == CANARY
    assert config.headers == {"X-Key": CANARY}


class Dialler(Plugin[KeyedConfig]):
    """Has a driver whose error repeats the password of a URL."""

    @tool
    def dial(self, text: str) -> str:
        """Dial."""
        return f"password authentication failed: {text}"


@pytest.mark.slow
def test_password_of_a_url_is_hidden_without_its_url(
    home: Path, harness: Callable[..., Harness]
) -> None:
    with closing(harness(VaultPlugin, home=home)) as made:
        made.cli("vault set db/shop", input="postgresql://me:s3cret%2Fof-me@db.example/shop")
    settings = {"token": "vault:db/shop"}
    (home / "config.yaml").write_text(json.dumps({"plugins": {"dialler": settings}}))
    h = harness(VaultPlugin, Dialler, home=home, config={"dialler": settings})
    for said in ("s3cret/of-me", "s3cret%2Fof-me"):
        h.model.steps += [calls("dial", text=said), "done"]
        result = h.send("dial", session=f"s{len(said)}").tool_calls[-1]
        assert result.text == "password authentication failed: [secret]"


@pytest.mark.slow
def test_unknown_reference_disables_only_its_own_plugin(
    home: Path, harness: Callable[..., Harness]
) -> None:
    (home / "config.yaml").write_text('{"plugins": {"keyed": {"token": "vault:other"}}}')
    config = {"keyed": {"token": "vault:other"}}
    opened = harness(VaultPlugin, Keyed, home=home, config=config, strict=False)
    assert opened.states()["vault"][0] == "on"
    state, reason = opened.states()["keyed"]
    assert state == "failed"
    assert "`hookline vault set other`" in reason


@pytest.mark.slow
def test_provider_gets_its_key_and_headers(home: Path, harness: Callable[..., Harness]) -> None:
    section = {"base_url": "http://127.0.0.1:1/v1", "api_key": "vault:bot/token"}
    section |= {"headers": {"X-Key": "vault:bot/token"}}  # type: ignore[dict-item]
    (home / "config.yaml").write_text(json.dumps({"providers": {"mine": section}}))
    opened = harness(VaultPlugin, home=home)
    settings = opened.runtime.engine.providers.settings("mine")
    assert (settings.api_key, settings.headers) == (CANARY, {"X-Key": CANARY})


@pytest.mark.slow
def test_list_shows_names_and_no_value(home: Path, harness: Callable[..., Harness]) -> None:
    opened = harness(VaultPlugin, home=home)
    for command in ("vault list", "vault list --json"):
        done = opened.cli(command)
        assert "bot/token" in done.stdout
        assert CANARY not in done.stdout + done.stderr
    (row,) = json.loads(opened.cli("vault list --json").stdout)
    assert (row["name"], row["version"]) == ("bot/token", 1)
    assert opened.cli("vault get bot/token").exit_code == 2


def test_set_without_a_key_says_how_to_create_one(harness: Callable[..., Harness]) -> None:
    done = harness(VaultPlugin).cli("vault set api", input="something\n")
    assert done.exit_code == 1
    assert "`hookline vault rekey --to file` makes one" in done.stderr
    assert "something" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("change", ["vault rotate bot/token", "vault set bot/token"])
def test_new_value_replaces_the_old_one(
    home: Path, harness: Callable[..., Harness], change: str
) -> None:
    opened = harness(VaultPlugin, home=home)
    assert opened.cli(change, input="the new value").exit_code == 0
    secret = opened.run(opened.plugin(VaultPlugin).secrets.use("bot/token"))
    assert secret.get_secret_value() == "the new value"
    assert [row["version"] for row in json.loads(opened.cli("vault list --json").stdout)] == [2]


def test_removed_secret_is_gone(home: Path, harness: Callable[..., Harness]) -> None:
    opened = harness(VaultPlugin, home=home)
    assert opened.cli("vault rm bot/token --yes").exit_code == 0
    assert opened.cli("vault rm bot/token --yes").exit_code == 1
    with pytest.raises(HooklineError, match="the vault has no secret bot/token"):
        opened.run(opened.plugin(VaultPlugin).secrets.use("bot/token"))


@pytest.mark.slow
def test_vault_without_its_key_is_usable_once_it_is_empty(
    home: Path, harness: Callable[..., Harness]
) -> None:
    (home / "vault.key").unlink()
    opened = harness(VaultPlugin, home=home)
    assert opened.cli("vault rekey --to file").exit_code == 1
    refused = opened.cli("vault set other", input="a value")
    assert refused.exit_code == 1
    assert "Restore that key, or remove the secrets" in refused.stderr
    assert opened.cli("vault rm bot/token --yes").exit_code == 0
    assert opened.cli("vault rekey --to file").exit_code == 0
    assert opened.cli("vault set bot/token", input="the new value").exit_code == 0
    secret = opened.run(opened.plugin(VaultPlugin).secrets.use("bot/token"))
    assert secret.get_secret_value() == "the new value"


@pytest.mark.slow
def test_rekey_keeps_the_secrets_readable(home: Path, harness: Callable[..., Harness]) -> None:
    before = (home / "vault.key").read_bytes()
    opened = harness(VaultPlugin, home=home)
    assert opened.cli("vault rekey").exit_code == 0
    assert (home / "vault.key").read_bytes() != before
    secret = opened.run(opened.plugin(VaultPlugin).secrets.use("bot/token"))
    assert secret.get_secret_value() == CANARY
