"""Keys of services, generated for each run so that no file contains one."""

from __future__ import annotations

import random
import string

import pytest
from hookline_redact.key_shapes import load_key_shapes
from hookline_redact.redactor import Redactor

ANY = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits
DIGITS = string.digits
KEYS: dict[str, list[tuple[str, int] | str]] = {
    "anthropic": ["sk-ant-api03-", (ANY, 93), "AA"],
    "openai": ["sk-", (ANY, 20), "T3BlbkFJ", (ANY, 20)],
    "openai project": ["sk-proj-", (ANY, 60), "_", (ANY, 40)],
    "openrouter": ["sk-or-v1-", (HEX, 64)],
    "github": ["ghp_", (ANY, 36)],
    "github oauth": ["gho_", (ANY, 36)],
    "github server": ["ghs_", (ANY, 36)],
    "github fine-grained": ["github_pat_", (ANY, 22), "_", (ANY, 59)],
    "gitlab": ["glpat-", (ANY, 20)],
    "gitlab runner": ["glrt-", (ANY, 20)],
    "slack bot": ["xoxb-", (DIGITS, 12), "-", (DIGITS, 12), "-", (ANY, 24)],
    "slack user": ["xoxp-", (DIGITS, 12), "-", (DIGITS, 12), "-", (HEX, 32)],
    "slack app": ["xapp-1-A", (UPPER, 10), "-", (DIGITS, 13), "-", (HEX, 64)],
    "slack webhook": [
        "https://hooks.slack.com/services/T",
        (UPPER, 8),
        "/B",
        (UPPER, 8),
        "/",
        (ANY, 24),
    ],
    "aws": ["AKIA", (UPPER, 16)],
    "aws session": ["ASIA", (UPPER, 16)],
    "google": ["AIza", (ANY, 35)],
    "google client secret": ["GOCSPX-", (ANY, 28)],
    "google oauth": ["ya29.", (ANY, 60)],
    "stripe": ["sk_live_", (ANY, 24)],
    "stripe restricted": ["rk_live_", (ANY, 24)],
    "stripe webhook": ["whsec_", (ANY, 32)],
    "twilio": ["SK", (HEX, 32)],
    "sendgrid": ["SG.", (ANY, 22), ".", (ANY, 43)],
    "mailgun": ["key-", (HEX, 32)],
    "mailchimp": [(HEX, 32), "-us12"],
    "npm": ["npm_", (ANY, 36)],
    "pypi": ["pypi-AgEIcHlwaS5vcmc", (ANY, 70)],
    "docker": ["dckr_pat_", (ANY, 27)],
    "hugging face": ["hf_", (string.ascii_letters, 34)],
    "groq": ["gsk_", (ANY, 52)],
    "perplexity": ["pplx-", (ANY, 48)],
    "xai": ["xai-", (ANY, 80)],
    "replicate": ["r8_", (ANY, 37)],
    "telegram": [("123456789", 10), ":AA", (ANY, 33)],
    "discord": ["M", (ANY, 25), ".", (ANY, 6), ".", (ANY, 38)],
    "discord webhook": ["https://discord.com/api/webhooks/", (DIGITS, 18), "/", (ANY, 68)],
    "digitalocean": ["dop_v1_", (HEX, 64)],
    "shopify": ["shpat_", (HEX, 32)],
    "square": ["sq0atp-", (ANY, 22)],
    "azure storage": ["AccountName=x;AccountKey=", (ANY, 86), "=="],
    "azure entra": [(ANY, 3), "8Q~", (ANY, 34)],
    "datadog": ["DD_APP_KEY=", (HEX, 40)],
    "linear": ["lin_api_", (ANY, 40)],
    "notion": ["ntn_", (ANY, 46)],
    "notion, old": ["secret_", (ANY, 43)],
    "airtable": ["pat", (ANY, 14), ".", (HEX, 64)],
    "figma": ["figd_", (ANY, 40)],
    "atlassian": ["ATATT3xFfGF0", (ANY, 60)],
    "vercel": ["vcp_", (ANY, 56)],
    "supabase": ["sbp_", (HEX, 40)],
    "supabase secret": ["sb_secret_", (ANY, 31)],
    "fly.io": ["fo1_", (ANY, 43)],
    "databricks": ["dapi", (HEX, 32)],
    "doppler": ["dp.pt.", (ANY, 43)],
    "vault": ["hvs.", (ANY, 95)],
    "terraform": [(ANY, 14), ".atlasv1.", (ANY, 64)],
    "pulumi": ["pul-", (HEX, 40)],
    "grafana": ["glsa_", (ANY, 32), "_", (HEX, 8)],
    "new relic": ["NRAK-", (UPPER, 27)],
    "sentry": ["sntrys_", (ANY, 80)],
    "posthog": ["phx_", (ANY, 43)],
    "postman": ["PMAK-", (HEX, 24), "-", (HEX, 34)],
    "alibaba": ["LTAI", (ANY, 20)],
    "age": ["AGE-SECRET-KEY-1", (UPPER, 58)],
    "tailscale": ["tskey-auth-", (ANY, 12), "-", (ANY, 24)],
    "1password": ["ops_eyJ", (ANY, 200)],
    "rubygems": ["rubygems_", (HEX, 48)],
    "tavily": ["tvly-", (ANY, 32)],
    "nvidia": ["nvapi-", (ANY, 64)],
    "elevenlabs": ["sk_", (HEX, 48)],
    "brevo": ["xkeysib-", (HEX, 64), "-", (ANY, 16)],
    "planetscale": ["pscale_tkn_", (ANY, 43)],
}
PLACES = ("{}", "key {} here", "`{}`", '"{}",', "({})", "\n{}\n", "a: {}", "X={}", "用{}户", "{}.")
redactor = Redactor()


def made(name: str) -> tuple[str, str]:
    """A key, and its longest random part."""
    chance = random.Random(name)
    parts = [part if isinstance(part, str) else _random(chance, *part) for part in KEYS[name]]
    secret = max(
        (text for text, part in zip(parts, KEYS[name], strict=True) if not isinstance(part, str)),
        key=len,
    )
    return "".join(parts), secret


def _random(chance: random.Random, alphabet: str, length: int) -> str:
    """Characters among which there is a digit, a small and a capital letter where there are any."""
    kinds = (string.digits, string.ascii_lowercase, string.ascii_uppercase)
    while True:
        text = "".join(chance.choice(alphabet) for _ in range(length))
        if length < 5 or all(set(text) & set(kind) for kind in kinds if set(alphabet) & set(kind)):
            return text


@pytest.mark.parametrize("name", KEYS)
def test_key_is_replaced_in_any_context(name: str) -> None:
    key, secret = made(name)
    for place in PLACES:
        result = redactor.redact(place.replace("{}", key))
        assert secret not in result, place
        assert "[REDACTED:" in result


@pytest.mark.parametrize("name", KEYS)
def test_prefix_alone_is_not_a_key(name: str) -> None:
    first = KEYS[name][0]
    if isinstance(first, str) and "=" not in first:
        text = f"Keys of this service begin with {first} and are secret."
        assert redactor.redact(text) == text


def test_key_shapes_have_a_source() -> None:
    assert len(load_key_shapes()) > 80
    for shape in load_key_shapes():
        assert shape.source
        assert shape.starts
