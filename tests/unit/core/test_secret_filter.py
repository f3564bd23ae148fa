"""The secret filter masks secrets in a text, in any encoding."""

from __future__ import annotations

import base64
import html
import json
import logging
import stat
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from hookline.log import filter_log_records, open_log
from hookline_hookspecs.secrets import MASK, ProcessFilter, SecretFilter, redacted
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, SecretBytes, SecretStr

SECRETS = ["sk-ant-0123456789abcdef", 'pa"ss/wo\\rd+ü&<', "hunter22", "tökén-€uro-ключ"]


def encoded(before: str, after: str, make: Callable[[bytes], bytes]) -> Callable[[str], str]:
    return lambda secret: make(f"{before}{secret}{after}".encode()).decode()


WAYS: dict[str, Callable[[str], str]] = {
    "raw": str,
    "json": json.dumps,
    "json in json": lambda s: json.dumps({"body": json.dumps({"key": s})}),
    "unescaped json": lambda s: json.dumps(s, ensure_ascii=False),
    "repr": repr,
    "repr of bytes": lambda s: repr(s.encode()),
    "quoted": quote,
    "quoted all": lambda s: quote(s, safe=""),
    "quoted plus": quote_plus,
    "html": html.escape,
    "hex": lambda s: s.encode().hex(),
    "upper hex": lambda s: s.encode().hex().upper(),
}
for before in ("", "u:", "me:", "user:", "a"):
    for after in ("", "x", "\n", "xyz"):
        WAYS[f"base64 {before!r} {after!r}"] = encoded(before, after, base64.b64encode)
        WAYS[f"urlsafe {before!r} {after!r}"] = encoded(before, after, base64.urlsafe_b64encode)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("secret", SECRETS)
def test_secret_filter_masks_every_encoding(secret: str, way: str) -> None:
    hidden = SecretFilter([secret]).redacted(f"Error: ({WAYS[way](secret)}) was refused")
    assert MASK in hidden
    assert hidden.startswith("Error: (")
    assert hidden.endswith(") was refused")
    left = hidden.removeprefix("Error: (").removesuffix(") was refused").replace(MASK, "")
    # Of another secret of that form as much is left: what stands around it, and no byte of it.
    assert len(left) <= len(WAYS[way]("x")) + 6
    assert not any(secret[n : n + 4] in left for n in range(len(secret) - 3))


@pytest.mark.slow
@given(st.text(min_size=8, max_size=60), st.text(max_size=40), st.text(max_size=40))
def test_secret_filter_masks_any_text_of_eight_characters(
    secret: str, before: str, after: str
) -> None:
    assert secret not in SecretFilter([secret]).redacted(before + secret + after) or secret in MASK


def test_secret_filter_masks_truncated_secret() -> None:
    secret = "sk-0123456789abcdefghij"
    hidden = SecretFilter([secret]).redacted("refused: sk-0123456789abcde…")
    assert hidden == f"refused: {MASK}…"


def test_secret_filter_keeps_url_schemes() -> None:
    found = SecretFilter(["sqlite:///x.db", "mysql://u:pw123456@h/db"])
    told = "write sqlite:///PATH or mysql://USER@HOST/NAME"
    assert found.redacted(told) == told
    assert found.redacted("sqlite:///x.db, mysql://u:pw1…") == f"{MASK}, {MASK}…"


def test_secret_filter_masks_longest_match_and_skips_short_values() -> None:
    made = SecretFilter(["abcdefgh", "abcdefgh-ijkl", "seven77"])
    assert made.redacted("abcdefgh-ijkl abcdefgh seven77") == f"{MASK} {MASK} seven77"


def test_secret_filter_masks_each_line_of_a_private_key() -> None:
    key = (
        "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSjAgEAAoIB\n-----END KEY-----"
    )
    assert "MIIEvQ" not in SecretFilter([key]).redacted("line 2: MIIEvQIBADANBgkqhkiG9w0B")


class Inner(BaseModel):
    token: SecretStr = SecretStr("inner-token-8812")


class Settings(BaseModel):
    name: str = "plain-name-1234"
    passphrase: SecretStr = SecretStr("correct-horse-77")
    blob: SecretBytes = SecretBytes(b"bytes-secret-55")
    inner: list[Inner] = [Inner()]
    by_name: dict[str, SecretStr] = {"a": SecretStr("dict-secret-99")}


def test_secret_filter_finds_secrets_in_settings() -> None:
    made = ProcessFilter()
    made.hide(Settings(), ["listed-secret-3"])
    told = "inner-token-8812 correct-horse-77 bytes-secret-55 dict-secret-99 listed-secret-3"
    assert redacted(told) == " ".join([MASK] * 5)
    assert redacted("plain-name-1234") == "plain-name-1234"


def test_log_records_hold_no_secret(tmp_path, caplog: pytest.LogCaptureFixture) -> None:
    secret = "log-canary-4711"
    filter_log_records()
    made = ProcessFilter()
    made.hide([secret])
    handler = open_log(tmp_path / "logs")
    log = logging.getLogger("some.library")
    log.addHandler(handler)
    try:
        log.error("asked with %s and %r", secret, {"Authorization": f"Bearer {secret}"})
        log.error(secret)
        log.error("wrong %d", secret)
        try:
            raise ValueError(secret)
        except ValueError as error:
            try:
                raise RuntimeError("second") from error
            except RuntimeError:
                log.exception("failed")
        log.warning("fine", exc_info=(ValueError, ValueError(secret), None), stack_info=True)
    finally:
        log.removeHandler(handler)
        handler.close()
    path = tmp_path / "logs" / "hookline.log"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    written = path.read_text()
    for text in (written, caplog.text):
        assert "canary" not in text
        assert "RuntimeError: second" in text
        assert text.count("Traceback") >= 2


def test_log_record_without_secret_is_unchanged(caplog: pytest.LogCaptureFixture) -> None:
    made = ProcessFilter()
    filter_log_records()
    made.hide(["another-canary-1"])
    logging.getLogger("some.library").warning("plain %s", 1)
    assert caplog.records[-1].args == (1,)


def test_deleted_secret_filter_masks_nothing() -> None:
    made = ProcessFilter()
    made.hide(["fleeting-secret"])
    del made
    assert redacted("fleeting-secret") == "fleeting-secret"


def test_log_message_passes_for_no_other_record(tmp_path: Path) -> None:
    handler = open_log(tmp_path / "logs")
    log = logging.getLogger("some.other.library")
    log.addHandler(handler)
    try:
        log.error("file %s", "a\x1b[2K\n2026-01-01 00:00:00,000 INFO hookline: all is well\u202e")
    finally:
        log.removeHandler(handler)
        handler.close()
    first, second = (tmp_path / "logs" / "hookline.log").read_text("utf-8").splitlines()
    assert first.endswith("file a\\x1b[2K")
    assert second == "  2026-01-01 00:00:00,000 INFO hookline: all is well\\u202e"
