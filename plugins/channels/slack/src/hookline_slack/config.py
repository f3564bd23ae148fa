"""The settings of the channel, and the link that creates its app."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any, TypeAlias
from urllib.parse import quote

from hookline_channelkit import ChannelConfigWithBots, Credential, package_data
from pydantic import Field, SecretStr

Json: TypeAlias = dict[str, Any]
data = partial(package_data, __package__)
"""Returns the content of a JSON file of this package."""
TOKENS: Mapping[str, Credential] = {
    name: Credential(**about) for name, about in data("tokens.json").items()
}
GUIDE = (
    "The link below creates an app with everything it needs: "
    "press Create, then Install to Workspace."
)


def manifest_url() -> str:
    """Return a link that creates the app with everything it needs
    (docs.slack.dev/app-manifests/configuring-apps-with-app-manifests)."""
    packed = json.dumps(data("manifest.json"), separators=(",", ":"))
    return f"https://api.slack.com/apps?new_app=1&manifest_json={quote(packed, safe='')}"


class SlackConfig(ChannelConfigWithBots):
    """The app, and how it behaves."""

    credentials = tuple(TOKENS.values())
    bot_token: SecretStr = TOKENS["bot_token"].field(
        title="Bot token",
        description=(
            "The bot token, from the app's page, OAuth & Permissions, Bot User OAuth Token; "
            "default: $SLACK_BOT_TOKEN."
        ),
        guide=GUIDE,
        link=manifest_url(),
    )
    app_token: SecretStr = TOKENS["app_token"].field(
        title="App token",
        description=(
            "The app token, from the app's page, Basic Information, App-Level Tokens, scope "
            "connections:write; default: $SLACK_APP_TOKEN."
        ),
    )
    api_url: str = Field(
        default="https://slack.com/api/",
        title="API address",
        description="Address of Slack's Web API.",
    )
    native_streams: bool = Field(
        default=False,
        title="Slack's own streaming",
        description="In threads, stream answers in Slack's own way.",
    )
    thread_days: float = Field(
        default=14.0,
        gt=0,
        title="Check threads for (days)",
        description=(
            "Days without messages after which a thread is no longer checked for missed ones."
        ),
    )
