"""Secrets repeated in error messages are never stored or shown."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.config import ConfigError, load
from hookline_hookspecs import (
    Deny,
    NetworkError,
    Plugin,
    ToolCall,
    ToolError,
    ToolOutput,
    hookimpl,
    tool,
)
from pydantic import BaseModel, SecretStr

Make = Callable[..., Any]
SECRET = "canary/6f1d2c+8842ab"
FORMS = {
    "raw": SECRET,
    "json": json.dumps(SECRET),
    "repr": repr(SECRET),
    "base64": base64.b64encode(f"user:{SECRET}".encode()).decode(),
    "hex": SECRET.encode().hex(),
}
TRACES = (
    "canary",
    "6f1d2c",
    SECRET.encode().hex()[:12],
    "jYW5hcnk",
    base64.b64encode(SECRET.encode()).decode()[4:14],
)


class Leaky(BaseModel):
    passphrase: SecretStr = SecretStr("none")


class Leaks(Plugin[Leaky]):
    """Repeats its secret wherever it can fail."""

    def told(self) -> str:
        secret = self.config.passphrase.get_secret_value()
        ways = [secret, json.dumps({"k": secret}), repr(secret), secret.encode().hex()]
        ways += [base64.b64encode(f"{n * 'u'}:{secret}".encode()).decode() for n in range(3)]
        return " ".join(ways)

    @tool
    def breaks(self) -> str:
        """Break."""
        raise ValueError(self.told())

    @tool
    def fails(self) -> str:
        """Fail."""
        raise ToolError(self.told())

    @tool
    def answers(self) -> ToolOutput:
        """Answer with a failure."""
        return ToolOutput(f"Error: {self.told()}", ok=False)

    @hookimpl
    def pre_tool(self, ctx: Any, call: ToolCall) -> Deny | None:
        self.log.error("judging %s with %s", call.name, self.told())
        ctx.notify(f"asked with {self.told()}")
        return Deny(self.told()) if call.name == "fails" else None

    @hookimpl
    def end_of_turn(self, ctx: Any, turn: Any) -> None:
        raise RuntimeError(self.told())

    @hookimpl
    def pre_prompt(self, ctx: Any, turn: Any) -> None:
        raise RuntimeError(self.told())


def check_clean(*texts: str) -> None:
    for text in texts:
        for trace in TRACES:
            assert trace not in text, text[max(0, text.index(trace) - 200) :][:400]


def test_secrets_are_masked_in_every_failure(
    harness: Make, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(_request: Any) -> Any:
        return NetworkError(f"401: {' '.join(FORMS.values())}")

    calls = [ToolCall("", name, {}) for name in ("breaks", "fails", "answers")]
    config = {"leaks": {"passphrase": SECRET}}
    h = harness(Leaks, config=config["leaks"], model=[calls, "done", refuse], strict=False)
    told = [h.send("go"), h.send("again")]
    assert [one.stop for one in told] == ["done", "error"]
    h.run(h.runtime.finish_background(20))
    results = [result.text for one in told for result in one.turn.tool_calls]
    assert len(results) == 3
    notices = [notice.text for one in told for notice in one.notices]
    assert notices
    shown = [json.dumps(message.to_dict()) for message in h.model.last.messages]
    check_clean(*results, *notices, *shown, *(one.text for one in told), caplog.text)
    assert "[secret]" in told[1].text
    home = h.home
    h.run(h.aclose())
    for path in home.rglob("*"):
        if path.is_file() and path.name != "config.yaml":
            check_clean(path.read_bytes().decode("latin-1"))


def test_secrets_are_masked_in_logs_of_any_library(harness: Make, caplog: Any) -> None:
    h = harness(Leaks, config={"passphrase": SECRET}, model=["hi"], strict=False)
    h.send("hello")
    logging.getLogger("httpx2").error("sending %r", {"authorization": f"Bearer {SECRET}"})
    try:
        raise OSError(FORMS["base64"])
    except OSError:
        logging.getLogger("asyncio").exception("lost")
    check_clean(caplog.text)
    assert "OSError" in caplog.text


REFUSED = ["a\\x1b{s}", "{s}\\x00", "a\\n{s}", "a\\x85{s}"]


@pytest.mark.parametrize("form", REFUSED)
def test_secret_setting_with_a_control_character_is_refused(tmp_path: Path, form: str) -> None:
    value = form.format(s=SECRET)
    (tmp_path / "config.yaml").write_text(
        f'providers: {{openai: {{api_key: "{value}"}}}}\n'
        f'plugins: {{telegram: {{token: "{value}"}}}}\n'
    )
    loaded = load(tmp_path, {})
    told = [loaded.provider_errors["openai"], loaded.plugins["telegram"].error or ""]
    assert "config.yaml:1: providers.openai.api_key: " in told[0]
    assert "config.yaml:2: plugins.telegram.token: " in told[1]
    check_clean(*told)
    assert not loaded.plugins["telegram"].enabled


@pytest.mark.parametrize("value", [f"{SECRET}\n", f" {SECRET}", f"\t{SECRET}\r\n"])
def test_whitespace_around_a_secret_is_stripped_with_a_warning(tmp_path: Path, value: str) -> None:
    (tmp_path / ".env").write_text(f'MY_TOKEN="{SECRET}\\n"\n')
    (tmp_path / "config.yaml").write_text(
        f"providers: {{openai: {{api_key: {json.dumps(value)}}}}}\n"
        "plugins: {telegram: {token: '${MY_TOKEN}'}, slack: {token: '${SOME}'}}\n"
    )
    loaded = load(tmp_path, {"ANTHROPIC_API_KEY": value, "SOME": value})
    openai = loaded.config.providers["openai"].api_key.get_secret_value()
    assert (openai, loaded.env["ANTHROPIC_API_KEY"]) == (SECRET, SECRET)
    assert loaded.plugins["telegram"].settings["token"] == SECRET
    assert loaded.plugins["slack"].settings["token"] == SECRET
    told = [text for text in loaded.warnings if "whitespace" in text]
    names = ("ANTHROPIC_API_KEY", "MY_TOKEN", "providers.openai.api_key", "plugins.slack.token")
    for name in names:
        assert [text for text in told if name in text], (name, told)
    check_clean(*told)


@pytest.mark.parametrize("value", [f"a\n{SECRET}", f"{SECRET}\x07"])
def test_secret_variable_with_a_control_character_is_refused_by_name(
    tmp_path: Path, value: str
) -> None:
    with pytest.raises(ConfigError, match="the environment: ANTHROPIC_API_KEY: ") as caught:
        load(tmp_path, {"ANTHROPIC_API_KEY": value})
    check_clean(str(caught.value))
    (tmp_path / ".env").write_text(f'MY_TOKEN="a\\n{SECRET}"\n')
    with pytest.raises(ConfigError, match=r"\.env: MY_TOKEN: ") as caught:
        load(tmp_path, {})
    check_clean(str(caught.value))


def test_invalid_http_header_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(
        "providers: {openai: {headers: {X-Team: 'ключ', X-Fine: 'grün'}}}\n"
    )
    told = load(tmp_path, {}).provider_errors["openai"]
    assert "providers.openai.headers.X-Team" in told
    assert "ключ" not in told


def test_short_secret_warns_and_private_key_may_have_lines(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(
        "plugins:\n  telegram: {token: ab12}\n  github:\n    private_key: |\n"
        "      -----BEGIN KEY-----\n      MIIEvQIBADANBgkqhkiG9w0B\n      -----END KEY-----\n"
    )
    loaded = load(tmp_path, {})
    [warning] = [text for text in loaded.warnings if "too short" in text]
    assert "plugins.telegram.token" in warning
    assert "ab12" not in warning
    assert loaded.plugins["github"].error is None
