"""The settings of the channel, where its tokens come from, and the app that has them."""

from __future__ import annotations

import json
import os
from importlib.resources import files
from typing import Any, Literal, TypeAlias
from urllib.parse import quote

from hookline_channelkit import ChannelConfig
from hookline_hookspecs import Host
from pydantic import Field, SecretStr

Json: TypeAlias = dict[str, Any]
VARIABLES = {"bot_token": "SLACK_BOT_TOKEN", "app_token": "SLACK_APP_TOKEN"}
"""Environment variables (or lines of ``.env``) that are read where config has no token."""
PREFIXES = {"bot_token": "xoxb-", "app_token": "xapp-"}
WHERE = {
    "bot_token": "the app's page, OAuth & Permissions, Bot User OAuth Token",
    "app_token": "the app's page, Basic Information, App-Level Tokens, scope connections:write",
}


def data(name: str) -> Any:
    """What a JSON file of this package holds."""
    return json.loads(files(__package__).joinpath(name).read_text("utf-8"))


def manifest_url() -> str:
    """A link that makes the app, with everything it needs
    (docs.slack.dev/app-manifests/configuring-apps-with-app-manifests)."""
    packed = json.dumps(data("manifest.json"), separators=(",", ":"))
    return f"https://api.slack.com/apps?new_app=1&manifest_json={quote(packed, safe='')}"


def _token(name: str, **extra: str) -> Any:
    told = f"{PREFIXES[name]}…, from {WHERE[name]}; else the variable {VARIABLES[name]}."
    more: Any = {"env": VARIABLES[name], **extra}
    return Field(default=SecretStr(""), description=told, json_schema_extra=more)


class SlackConfig(ChannelConfig):
    """The app, and how it behaves."""

    bot_token: SecretStr = _token(
        "bot_token",
        guide="The link below makes an app with everything it needs: press Create, then Install to "
        "Workspace.",
        link=manifest_url(),
    )
    app_token: SecretStr = _token("app_token")
    api_url: str = Field(default="https://slack.com/api/", description="The Web API.")
    bots: Literal["none", "mentions"] = Field(
        default="none", description="Other bots: not heard, or where they mention this one."
    )
    native_streams: bool = Field(
        default=False, description="In threads, show a running answer as Slack's own stream."
    )
    thread_days: float = Field(
        default=14.0, gt=0, description="Days after which a silent thread is not read back."
    )


def token_of(config: SlackConfig, host: Host, name: str) -> str:
    """A token, of config or of the environment; empty without one."""
    given: SecretStr = getattr(config, name)
    env = getattr(host, "env", os.environ)
    return (given.get_secret_value() or str(env.get(VARIABLES[name], ""))).strip()


def fault_of(name: str, token: str) -> str | None:
    """Why a token will not do, as ``PROBLEM; WHAT TO DO``, or None; it is not tried."""
    if token.startswith(PREFIXES[name]) and token.isascii() and len(token.split()) == 1:
        return None
    wrong = f"is none, which would begin with {PREFIXES[name]}" if token else "is missing"
    return f"slack.{name} {wrong}; copy it from {WHERE[name]}, into .env as {VARIABLES[name]}=…"
