"""The app: its address, what the doctor finds, and one gateway for each."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import Harness
from hookline_feishu import Feishu as Plugin
from hookline_feishu import FeishuConfig
from pydantic import ValidationError

from .conftest import ANN, Gateways, end
from .feishu import Feishu
from .service import APP, SECRET


def doctor_results(
    harness: Callable[..., Harness], feishu: Feishu, **settings: Any
) -> dict[str, Any]:
    """What the doctor's checks say, by name."""
    config = {"app_id": APP, "app_secret": SECRET, "domain": feishu.url, **settings}
    h = harness(Plugin, config=config)
    return {check.name: h.run(check.run()) for _, check in h.checks()}


def test_doctor_checks_app_and_scopes(harness: Callable[..., Harness], feishu: Feishu) -> None:
    feishu.scopes -= {"im:resource", "cardkit:card:write"}
    found = doctor_results(harness, feishu)
    assert found["token"].ok
    assert "Hook" in found["token"].detail
    lacking = found["permissions"]
    assert not lacking.ok
    assert "im:resource is missing (send and fetch files)" in lacking.detail
    assert "cardkit:card:write is missing" in lacking.detail
    assert f"{feishu.url}/app/{APP}/auth" in lacking.fix


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"app_id": ""}, "feishu.app_id is missing"),
        ({"app_id": "12345"}, "feishu.app_id is not a valid App ID"),
        ({"app_secret": ""}, "feishu.app_secret is missing"),
        ({"app_secret": "another-secret"}, "rejected the app"),
        ({"domain": "http://127.0.0.1:9"}, "no response from Feishu"),
    ],
)
def test_doctor_names_the_app_problem(
    harness: Callable[..., Harness], feishu: Feishu, settings: dict[str, str], sentence: str
) -> None:
    result = doctor_results(harness, feishu, **settings)["token"]
    assert not result.ok
    assert sentence in result.detail
    assert result.fix
    assert SECRET not in result.detail + result.fix
    assert "another-secret" not in result.detail + result.fix


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("larksuite.com", "https://open.larksuite.com"),
        ("https://open.feishu.cn/", "https://open.feishu.cn"),
        ("http://127.0.0.1:80", "http://127.0.0.1:80"),
        ("http://open.feishu.cn", None),
        ("https://user@open.feishu.cn", None),
        ("https://open.feishu.cn/path", None),
        ("ftp://x", None),
    ],
)
def test_domain_setting_accepts_only_safe_addresses(written: str, address: str | None) -> None:
    if address is None:
        with pytest.raises(ValidationError, match="is not an address like"):
            FeishuConfig(domain=written)
    else:
        assert FeishuConfig(domain=written).domain == address


@pytest.mark.slow
def test_wrong_app_secret_stops_start(gateways: Gateways) -> None:
    gateways.configure()
    code, said = gateways.run("gateway", FEISHU_APP_SECRET="another-secret")
    assert code == 1
    assert "rejected the app" in said
    assert "another-secret" not in said


@pytest.mark.slow
def test_second_gateway_needs_another_app(
    gateways: Gateways, feishu: Feishu, tmp_path_factory: pytest.TempPathFactory
) -> None:
    gateways.configure()
    gateway = gateways.start()
    other = Gateways(tmp_path_factory.mktemp("other"), feishu)
    other.configure()
    code, said = other.run("gateway")
    other.close()
    assert code == 1
    assert "another gateway on this machine" in said
    assert end(gateway) == 0

    second = Feishu(app="cli_ffffffffffffffff", secret="another-secret-of-another-app")
    try:
        config = {"app_id": second.app, "app_secret": second.secret, "domain": second.url}
        access = {"admins": ["feishu:ou_boss"], "allow": ["feishu:*", "feishu:home:*"]}
        gateways.configure(access=access, **{"feishu:home": config})
        gateway = gateways.start()
        for one in (feishu, second):
            chat = one.room(ANN)
            one.say(chat, "hello")
            one.find("answered", chat)
        assert end(gateway) == 0
    finally:
        second.close()


@pytest.mark.slow
def test_doctor_command_names_missing_permission(gateways: Gateways, feishu: Feishu) -> None:
    feishu.scopes.discard("im:message.group_msg")
    gateways.configure()
    code, said = gateways.run("doctor", "--json")
    assert code == 1
    rows = {(row["plugin"], row["name"]): row for row in json.loads(said[said.index("[") :])}
    assert rows["feishu", "token"]["ok"]
    assert "im:message.group_msg is missing" in rows["feishu", "permissions"]["detail"]
