"""``hookline doctor``: the key check, repairs, and what it says when nothing can start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from support.openai_server import OpenAIServer, Reply
from support.serving import serving

Rows = tuple[int, dict[str, dict[str, Any]]]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a model on a server of its own."""
    made = tmp_path / "home"
    made.mkdir(mode=0o700)
    return made


@pytest.fixture
def doctor(home: Path, tmp_path: Path) -> Callable[..., Rows]:
    """Runs ``hookline doctor --json``: the exit code, and the rows by name."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("HOOKLINE") and not name.endswith(("_KEY", "_TOKEN", "_URL"))
    }

    def run(*options: str, **env: str) -> Rows:
        done = subprocess.run(
            [sys.executable, "-m", "hookline", "doctor", "--json", *options],
            env=kept | {"HOOKLINE_HOME": str(home)} | env,
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
        )
        assert "Traceback" not in done.stderr
        return done.returncode, {row["name"]: row for row in json.loads(done.stdout)}

    return run


def use(home: Path, server: OpenAIServer) -> None:
    section = {"base_url": server.base_url, "api_key": "sk-never-to-be-seen"}
    config = {"model": "mine/small", "providers": {"mine": section}}
    (home / "config.yaml").write_text(json.dumps(config))


@pytest.mark.slow
def test_doctor_tries_the_key_and_fails_if_refused(home: Path, doctor: Callable[..., Rows]) -> None:
    refusal = {"error": {"message": "Incorrect API key", "type": "auth"}}
    replies = [Reply("ok"), Reply(status=401, body=refusal), Reply(status=429, body=refusal)]
    with OpenAIServer(replies, models=["small"]) as server:
        use(home, server)
        code, rows = doctor()
        assert (code, rows["key"]["ok"]) == (0, True)
        asked = server.requests[0]
        assert (asked.json["model"], asked.json["max_tokens"]) == ("small", 1)
        assert asked.headers["authorization"] == "Bearer sk-never-to-be-seen"
        code, rows = doctor()
        assert (code, rows["key"]["ok"]) == (1, False)
        assert (
            "refuses the key, providers.mine.api_key (Incorrect API key)" in rows["key"]["detail"]
        )
        assert "hookline init" in rows["key"]["fix"]
        assert doctor()[0] == 0  # a busy server is a hint
        asked_so_far = len(server.requests)
        code, rows = doctor("--offline")
        assert (code, "key" in rows, len(server.requests)) == (0, False, asked_so_far)
    code, rows = doctor()
    assert (code, rows["key"]["ok"]) == (1, False)
    assert "cannot be reached" in rows["key"]["detail"]


@pytest.mark.slow
def test_certificates_that_cannot_be_used_are_named(
    home: Path, doctor: Callable[..., Rows]
) -> None:
    row = doctor("--offline", SSL_CERT_FILE=str(home / "company.pem"))[1]["certificates"]
    assert not row["ok"]
    assert f"SSL_CERT_FILE names {home / 'company.pem'}" in row["detail"]


@pytest.mark.slow
def test_fix_repairs_what_is_safe_and_reports_it(
    home: Path, tmp_path: Path, doctor: Callable[..., Rows]
) -> None:
    (home / "config.yaml").write_text(f"model: openai/gpt-5\nworkspace: {tmp_path / 'made'}\n")
    (home / ".env").write_text("OPENAI_API_KEY=sk-1234567890\n")
    (home / ".env").chmod(0o644)
    home.chmod(0o755)
    left = home / ".env.4711.new"
    left.write_text("half")
    os.utime(left, (time.time() - 3600,) * 2)
    code, rows = doctor("--offline")
    assert code == 1
    assert {name for name, row in rows.items() if not row["ok"]} == {
        "home",
        "secrets file",
        "workspace",
    }
    code, rows = doctor("--offline", "--fix")
    assert (code, rows["fixed"]["ok"]) == (0, True)
    assert [path.stat().st_mode & 0o777 for path in (home, home / ".env")] == [0o700, 0o600]
    assert (tmp_path / "made").is_dir()
    assert rows["disk"]["detail"].endswith(" GB free")
    assert not left.exists()
    assert "fixed" not in doctor("--offline", "--fix")[1]


@pytest.mark.slow
def test_doctor_explains_invalid_config_and_checks_files(
    home: Path, doctor: Callable[..., Rows]
) -> None:
    (home / "config.yaml").write_text("model: nowhere\nplugins: {inspect: false}\n")
    home.chmod(0o755)
    code, rows = doctor("--fix")
    assert code == 1
    assert "config.yaml:1: model: expected" in rows["config"]["detail"]
    assert "hookline init" in rows["config"]["fix"]
    assert "home" in rows["fixed"]["detail"]
    assert rows["home"]["ok"]
    (home / "config.yaml").write_text("plugins: {inspect: false}\n")
    code, rows = doctor()
    assert (code, rows["start"]["detail"]) == (
        1,
        "plugin inspect is not on: config.yaml switches it off",
    )


class WebPage(BaseHTTPRequestHandler):
    """Answers everything with a page."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<html>Hello</html>")

    def log_message(self, *_given: Any) -> None:
        """Keep quiet."""


@pytest.fixture
def local_servers() -> Iterator[dict[str, str]]:
    """Addresses of servers on this machine: LM Studio is one, a web page sits on vLLM's port."""
    with (
        OpenAIServer(models=["small", "large", "huge"]) as models,
        serving(HTTPServer(("127.0.0.1", 0), WebPage)) as page,
    ):
        page_url = f"http://127.0.0.1:{page.server_port}/v1"
        yield {
            **dict.fromkeys(("OLLAMA_BASE_URL", "LLAMACPP_BASE_URL"), "http://127.0.0.1:9/v1"),
            "VLLM_BASE_URL": page_url,
            "LMSTUDIO_BASE_URL": models.base_url,
        }


@pytest.mark.slow
def test_doctor_without_model_lists_local_servers(
    home: Path, doctor: Callable[..., Rows], local_servers: dict[str, str]
) -> None:
    (home / "config.yaml").write_text("model: openai/gpt-5\n")
    code, rows = doctor(**local_servers)
    assert (code, rows["model"]["ok"]) == (1, False)
    at = local_servers["LMSTUDIO_BASE_URL"].removeprefix("http://").removesuffix("/v1")
    assert rows["local servers"] == {
        "name": "local servers",
        "plugin": "inspect",
        "ok": True,
        "detail": f"lmstudio runs at {at} with 3 models",
        "fix": "`hookline init` can use it",
    }
    assert "local servers" not in doctor("--offline", **local_servers)[1]


@pytest.mark.slow
def test_doctor_lists_local_servers_if_local_model_fails(
    home: Path, doctor: Callable[..., Rows], local_servers: dict[str, str]
) -> None:
    (home / "config.yaml").write_text("model: ollama/small\n")
    code, rows = doctor(**local_servers)
    assert (code, rows["key"]["ok"], rows["local servers"]["ok"]) == (1, False, True)
    (home / "config.yaml").write_text("model: lmstudio/small\n")
    code, rows = doctor(**local_servers)
    assert (code, rows["key"]["ok"], "local servers" in rows) == (0, True, False)


WINDOWS = {
    "/props": {"default_generation_settings": {"n_ctx": 8192}},
    "/api/show": {"model_info": {"qwen3.context_length": 40_960}},
    "/v1/models": {"data": [{"id": "small", "max_model_len": 16_384}]},
}


@pytest.mark.slow
@pytest.mark.parametrize("path", WINDOWS)
def test_doctor_shows_the_window_that_the_server_has(
    home: Path, doctor: Callable[..., Rows], path: str
) -> None:
    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            found = {path: WINDOWS[path], "/v1/chat/completions": {}}.get(self.path)
            self.send_response(404 if found is None else 200)
            self.end_headers()
            self.wfile.write(json.dumps(found).encode())

        do_GET = do_POST = _answer

        def log_message(self, *_args: Any) -> None:
            """Say nothing."""

    with serving(HTTPServer(("127.0.0.1", 0), Handler)) as server:
        section = {
            "base_url": f"http://127.0.0.1:{server.server_port}/v1",
            "api_key": "sk-never-to-be-seen",
        }
        config = {"model": "mine/small", "providers": {"mine": section}}
        (home / "config.yaml").write_text(json.dumps(config))
        code, rows = doctor()
        assert code == 0, [row for row in rows.values() if not row["ok"]]
        tokens = {"/props": "8,192", "/api/show": "40,960", "/v1/models": "16,384"}[path]
        assert f"{tokens} tokens for mine/small, from the server" in rows["window"]["detail"]
        section["window"] = 4096
        (home / "config.yaml").write_text(json.dumps(config))
        assert "4,096 tokens" in doctor()[1]["window"]["detail"]
