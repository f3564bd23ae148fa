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
    bot_token: SecretStr = TOKENS["bot_token"].field(guide=GUIDE, link=manifest_url())
    app_token: SecretStr = TOKENS["app_token"].field()
    api_url: str = Field(
        default="https://slack.com/api/", description="Address of Slack's Web API."
    )
    native_streams: bool = Field(
        default=False, description="In threads, stream answers in Slack's own way."
    )
    thread_days: float = Field(
        default=14.0,
        gt=0,
        description=(
            "Days without messages after which a thread is no longer checked for missed ones."
        ),
    )
