"""The settings of the channel: the app, and where it is registered."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from hookline_channelkit import ChannelConfig
from hookline_hookspecs import Host
from pydantic import Field, SecretStr, field_validator

ID, SECRET = "FEISHU_APP_ID", "FEISHU_APP_SECRET"
"""Environment variables (or lines of ``.env``) that are read where config has none."""
DOMAIN = "https://open.feishu.cn"
SCOPES = {
    "im:message": "read and answer messages",
    "im:message:send_as_bot": "send messages as the bot",
    "im:message.p2p_msg:readonly": "hear private chats",
    "im:message.group_at_msg:readonly": "hear mentions in groups",
    "im:message.group_msg": "read what was missed in groups",
    "im:resource": "send and fetch files",
    "im:chat:readonly": "know the groups",
    "cardkit:card:write": "show an answer while it grows",
}
"""What the app needs, and for what (open.feishu.cn, scope list)."""
EVENTS = (
    *("im.message.receive_v1", "im.message.recalled_v1"),
    *("im.message.reaction.created_v1", "card.action.trigger"),
)
_IMPORT = '{"scopes":{"tenant":["' + '","'.join(SCOPES) + '"],"user":[]}}'
GUIDE = f"""1. Make an app at https://open.feishu.cn/app (Lark: https://open.larksuite.com/app), \
add the feature Bot.
2. Permissions & Scopes, Batch import:
{_IMPORT}
3. Events & Callbacks: choose the long connection for both. Events: {", ".join(EVENTS[:-1])}. \
Callback: {EVENTS[-1]}.
4. Version Management: create a version and publish it.
5. Credentials: App ID and App Secret are wanted here."""
"""What to click, as ``hookline init`` tells it."""
_APP = re.compile(r"cli_[A-Za-z0-9]{8,40}")


class FeishuConfig(ChannelConfig):
    """The app, and how the channel behaves."""

    domain: str = Field(
        default=DOMAIN,
        description="Where the app is: feishu.cn, or larksuite.com for Lark.",
        json_schema_extra={"ask": True, "guide": GUIDE},
    )
    app_id: str = Field(
        default="",
        description=f"App ID, which begins with cli_; else the variable {ID}.",
        json_schema_extra={"env": ID, "ask": True},
    )
    app_secret: SecretStr = Field(
        default=SecretStr(""),
        description=f"App Secret, under Credentials; else the variable {SECRET}.",
        json_schema_extra={"env": SECRET},
    )
    edit_every: float = Field(
        default=0.5, ge=0.1, description="Seconds between two edits of a message at least."
    )

    @field_validator("domain")
    @classmethod
    def _origin(cls, value: str) -> str:
        """An address that the secret may be sent to: HTTPS, or this machine."""
        short = value.strip().rstrip("/").removeprefix("https://").removeprefix("open.")
        if short in ("feishu.cn", "larksuite.com"):
            return f"https://open.{short}"
        parts = urlsplit(value.strip().rstrip("/"))
        is_local = parts.hostname in ("127.0.0.1", "localhost", "::1")
        is_safe = parts.scheme == "https" or (parts.scheme == "http" and is_local)
        if not is_safe or not parts.hostname or "@" in parts.netloc or parts.path or parts.query:
            raise ValueError(f"{value} is no address like {DOMAIN}; write https:// and the host")
        return value.strip().rstrip("/")


def account_of(config: FeishuConfig, host: Host) -> tuple[str, str]:
    """App id and secret, of config or of the environment; empty without one."""
    env: Mapping[str, str] = getattr(host, "env", os.environ)
    secret = config.app_secret.get_secret_value() or env.get(SECRET, "")
    return (config.app_id or env.get(ID, "")).strip(), secret.strip()


def fault_of(app_id: str, secret: str) -> str | None:
    """Why the account will not do, as ``PROBLEM; WHAT TO DO``, or None; it is not tried."""
    if not app_id:
        return f"feishu.app_id is missing; `hookline init` says how to have one, as {ID} in .env"
    if _APP.fullmatch(app_id) is None:
        return f"feishu.app_id is none, which looks like cli_a1b2c3d4e5f60000; copy App ID as {ID}"
    if not secret:
        return f"feishu.app_secret is missing; copy App Secret into .env as {SECRET}=…"
    return None
