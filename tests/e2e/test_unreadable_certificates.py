"""A file of certificates that cannot be read is named, whatever uses the network."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.machine import Machine, is_sentence

CONFIG = """
plugins:
  osv: {base_url: 'https://127.0.0.1:9'}
  web: {search: brave, brave_api_key: abcdefghijklmnop, brave_base_url: 'https://127.0.0.1:9'}
  multimedia: {base_url: 'https://127.0.0.1:9/v1', api_key: abcdefghijklmnop}
"""
CALLS = [
    ("web_fetch", {"url": "https://page.example/"}),
    ("osv_check", {"package": "requests", "ecosystem": "PyPI"}),
    ("web_search", {"query": "x"}),
    ("generate_image", {"prompt": "x"}),
]
CHANNELS = {
    "telegram": "{token: '123456:ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghi'}",
    "slack": "{bot_token: xoxb-1111111111-aaaaaaaaaaaa, app_token: xapp-1-aaaaaaaaaaaaaaaaaaa}",
    "discord": "{token: 'MTIzNDU2Nzg5MDEyMzQ1Njc4.Gabcde.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'}",
    "feishu": "{app_id: cli_aaaaaaaaaaaa, app_secret: aaaaaaaaaaaaaaaaaaaaaaaaaaaa}",
}


@pytest.fixture
def fault(machine: Machine, tmp_path: Path) -> str:
    file = tmp_path / "company.pem"
    file.write_text("no certificate\n")
    machine.env["SSL_CERT_FILE"] = str(file)
    return f"SSL_CERT_FILE names {file}, from which no certificates can be read"


@pytest.mark.long
def test_tools_name_unreadable_certificates(machine: Machine, fault: str) -> None:
    machine.config(CONFIG)
    steps = [{"tools": [{"name": name, "arguments": values}]} for name, values in CALLS]
    model = machine.script(*steps, {"text": "done"})
    events = machine.run("run", "go", "--model", model, "--json").events
    found = {one["name"]: one["text"] for one in events if one["type"] == "tool_result"}
    assert found.keys() == dict(CALLS).keys()
    assert all(text.startswith(f"Error: {fault}") and is_sentence(text) for text in found.values())
    assert not [one for one in events if one["type"] == "notice"]


@pytest.mark.long
@pytest.mark.parametrize("name", CHANNELS)
def test_channels_name_unreadable_certificates(machine: Machine, fault: str, name: str) -> None:
    config = f"plugins: {{{name}: {CHANNELS[name]}}}\nmodel: {machine.script({'text': 'hi'})}\n"
    machine.config(config)
    ended = machine.run("gateway")
    assert (ended.code, is_sentence(ended.err)) == (1, True)
    assert f"channel {name} cannot start: {fault}" in ended.err
