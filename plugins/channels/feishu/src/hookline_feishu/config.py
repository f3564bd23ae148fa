"""The settings of the channel, and Feishu's constants (``facts.json``)."""

from __future__ import annotations

import json
from urllib.parse import urlsplit

from hookline_channelkit import ChannelConfig, Credential, package_data
from pydantic import Field, SecretStr, field_validator

FACTS = package_data(__package__)
"""``scopes`` are those that the app needs, with the reason; ``stale`` the codes of a token that has
expired or was revoked; ``rates`` those of too many requests, with their scope (230049: the first
attempt is still running); ``scope_codes`` those of a missing scope; ``errors`` others; ``emoji``
the names of reactions (open.feishu.cn: scope list, im-v1, cardkit-v1, emoji list)."""
APP, SECRET = Credential(**FACTS["app_id"]), Credential(**FACTS["app_secret"])
DOMAIN = "https://open.feishu.cn"


def _guide() -> str:
    """Return the setup steps that ``hookline init`` shows."""
    scopes = json.dumps({"scopes": {"tenant": list(FACTS["scopes"]), "user": []}})
    named = {"{scopes}": scopes, "{events}": ", ".join(FACTS["events"])}
    text = "\n".join(FACTS["guide"])
    for mark, words in (named | {"{callback}": FACTS["callback"]}).items():
        text = text.replace(mark, words)
    return text


class FeishuConfig(ChannelConfig):
    """The app, and how the channel behaves."""

    credentials = (APP, SECRET)
    domain: str = Field(
        default=DOMAIN,
        title="Platform",
        description="Where the app is registered: feishu.cn, or larksuite.com for Lark.",
        json_schema_extra={"ask": True, "guide": _guide()},
    )
    app_id: str = APP.field(
        "",
        title="App ID",
        description="The App ID, from the app's page, Credentials; default: $FEISHU_APP_ID.",
        ask=True,
    )
    app_secret: SecretStr = SECRET.field(
        title="App Secret",
        description=(
            "The App Secret, from the app's page, Credentials; default: $FEISHU_APP_SECRET."
        ),
    )
    edit_every: float = Field(
        default=0.5,
        ge=0.1,
        title="Edit interval (seconds)",
        description="Minimum seconds between two edits of a message.",
    )

    @field_validator("domain")
    @classmethod
    def _origin(cls, value: str) -> str:
        """Return the origin; the secret is sent only over HTTPS or to this machine."""
        short = value.strip().rstrip("/").removeprefix("https://").removeprefix("open.")
        if short in ("feishu.cn", "larksuite.com"):
            return f"https://open.{short}"
        parts = urlsplit(value.strip().rstrip("/"))
        is_local = parts.hostname in ("127.0.0.1", "localhost", "::1")
        is_safe = parts.scheme == "https" or (parts.scheme == "http" and is_local)
        if not is_safe or not parts.hostname or "@" in parts.netloc or parts.path or parts.query:
            raise ValueError(
                f"{value} is not an address like {DOMAIN}; write https:// and the host"
            )
        return value.strip().rstrip("/")
