"""Secrets that a trace never contains."""

from __future__ import annotations

import json

import pytest
from hookline_inspect.trace_masking import MASK, MAX_SCANNED_CHARS, is_secret, mask_json, mask_text
from hypothesis import given
from hypothesis import strategies as st

BODY = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
SECRETS = {
    "openai": f"sk-proj-{BODY}",
    "stripe": f"sk_live_{BODY}",
    "aws": "AKIAIOSFODNN7EXAMPLE",
    "github": f"ghp_{BODY}",
    "github fine": f"github_pat_{BODY}",
    "gitlab": f"glpat-{BODY[:20]}",
    "google": f"AIza{BODY}",
    "slack": f"xoxb-{BODY}",
    "telegram": f"123456789:{BODY}",
    "hugging face": f"hf_{BODY}",
    "jwt": f"eyJhbGciOiJIUzI1NiJ9.eyJ{BODY}.{BODY}",
    "private key": f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n-----END RSA PRIVATE KEY-----",
    "cut private key": f"-----BEGIN PRIVATE KEY-----\n{BODY}",
}


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
@pytest.mark.parametrize("around", ["{}", "it is {}, he said", "curl 'X: {}' x", '{{"a": "{}"}}'])
def test_key_shapes_are_masked_in_any_text(secret: str, around: str) -> None:
    shown = mask_text(around.format(secret), 1000)
    assert MASK in shown
    assert BODY[:16] not in shown
    assert secret not in shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Authorization: Bearer abcdefgh12345", f"Authorization: {MASK} {MASK}"),
        ("postgresql://me:hunter2@db/x", f"postgresql://me:{MASK}@db/x"),
        ("export API_KEY=hunter22 && go", f"export API_KEY={MASK} && go"),
        ('{"password": "hunter22"}', f'{{"password": "{MASK}"}}'),
        ("--token=hunter22", f"--token={MASK}"),
    ],
)
def test_value_after_a_secret_name_is_masked(text: str, shown: str) -> None:
    assert "hunter2" not in mask_text(text, 1000)
    assert "abcdefgh12345" not in mask_text(text, 1000)
    assert mask_text(text, 1000).startswith(shown[:12])


@pytest.mark.parametrize(
    "text", ["ls -la /tmp", "the key to it all", "https://example.com/a?b=c", "5 tokens, 3 keys"]
)
def test_ordinary_text_is_not_masked(text: str) -> None:
    assert mask_text(text, 1000) == text


@pytest.mark.parametrize(
    "key", ["key", "api_key", "API-KEY", "apiKey", "access_token", "X-Authorization", "secret"]
)
def test_values_are_masked_by_the_end_of_their_key(key: str) -> None:
    assert is_secret(key)
    value = {"deep": [{key: "hunter2"}], key: ["hunter2", {"a": "hunter2"}]}
    assert "hunter2" not in mask_json(value, 1000)


@pytest.mark.parametrize("key", ["path", "keyword", "tokens_left", "secretary", "query"])
def test_other_values_are_not_masked(key: str) -> None:
    assert json.loads(mask_json({key: "plain"}, 1000)) == {key: "plain"}


@given(st.text(), st.integers(1, 50))
def test_masked_text_is_one_short_line(text: str, most: int) -> None:
    shown = mask_text(text, most)
    assert len(shown) <= most
    assert len(shown.splitlines()) <= 1


@given(st.text(alphabet="a \n:=-", max_size=50), st.integers(-30, 30))
def test_secret_at_the_scan_limit_is_not_cut_open(before: str, shift: int) -> None:
    text = "x " * ((MAX_SCANNED_CHARS + shift) // 2) + before + " sk-" + BODY
    assert BODY[:8] not in mask_text(text, MAX_SCANNED_CHARS * 2)


@pytest.mark.slow
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_mask_json_accepts_any_arguments(value: object) -> None:
    assert len(mask_json({"a": value}, 100)) <= 100
