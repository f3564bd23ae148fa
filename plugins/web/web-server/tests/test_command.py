"""``hookline web`` and the gateway it talks to, in real processes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from support.web import free_port, gateway, run, streams

SCRIPT = 'steps: [{when: ".", text: "answered", repeat: true}]\n'
LEAN = dict.fromkeys(
    ("files", "shell", "web", "skills", "osv", "demo", "delegate", "titles", "memory", "insights"),
    False,
)
"""Plugins that cost time and do nothing here."""


@pytest.mark.slow
def test_web_link_of_running_gateway_works_once(tmp_path: Path) -> None:
    with gateway(tmp_path, SCRIPT, **LEAN) as running:
        link = running.link()
        assert link["url"] == f"{running.url}/login#{link['code']}"
        own = {"Origin": running.url}
        with httpx2.Client(base_url=running.url, headers=own, trust_env=False) as client:
            first = client.post("/login", json={"code": link["code"]})
            assert (first.status_code, first.json()) == (200, {"next": "/"})
            assert client.get("/login/who").json() == {"name": "owner"}
        with httpx2.Client(base_url=running.url, headers=own, trust_env=False) as late:
            assert late.post("/login", json={"code": link["code"]}).status_code == 401
            assert late.get("/readyz").json() == {"status": "ready"}
        with running.client("mia") as mia:
            assert mia.get("/login/who").json() == {"name": "mia"}
        done = run(tmp_path, "pairing", "list", "--json")
        assert {(one["person"], one["role"]) for one in json.loads(done.stdout)} == {
            ("web:owner", "admin"),
            ("web:mia", "member"),
        }


@pytest.mark.slow
def test_web_starts_gateway_without_config(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir(mode=0o700)
    (tmp_path / "model.yaml").write_text(SCRIPT)
    port = free_port()
    config = {"model": f"scripted/{tmp_path / 'model.yaml'}", "plugins": LEAN}
    (tmp_path / "home" / "config.yaml").write_text(json.dumps(config))
    wired = streams(tmp_path)
    wired["env"] |= {"HOOKLINE_PLUGINS__WEB_SERVER__LISTEN": f"127.0.0.1:{port}"}
    words = [sys.executable, "-m", "hookline", "web", "--json"]
    process = subprocess.Popen(words, **wired)
    assert process.stdout is not None
    url = json.loads(process.stdout.readline())["url"]
    assert url.startswith(f"http://127.0.0.1:{port}/login#")
    assert httpx2.get(f"http://127.0.0.1:{port}/healthz", trust_env=False).status_code == 200
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "hookline plugins enable web-ui" in err
    assert "no admin yet" not in err


@pytest.mark.slow
def test_web_starts_without_a_model(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir(mode=0o700)
    wired = streams(tmp_path)
    port = free_port()
    wired["env"] |= {"HOOKLINE_PLUGINS__WEB_SERVER__LISTEN": f"127.0.0.1:{port}"}
    process = subprocess.Popen([sys.executable, "-m", "hookline", "web", "--json"], **wired)
    assert process.stdout is not None
    link = json.loads(process.stdout.readline())
    own = {"Origin": f"http://127.0.0.1:{port}"}
    with httpx2.Client(base_url=own["Origin"], headers=own, trust_env=False) as client:
        assert client.post("/login", json={"code": link["code"]}).status_code == 200
        assert client.get("/api/state").json()["model"] == ""
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "warning: No model is set up yet" in err


@pytest.mark.long
def test_web_names_disabled_plugins(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir(mode=0o700)
    (tmp_path / "home" / "config.yaml").write_text("plugins: {web-ui: false}\n")
    done = run(tmp_path, "web", "--json")
    assert done.returncode == 2
    assert "hookline plugins enable web-ui" in done.stderr
