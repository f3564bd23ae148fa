"""The settings of the channel, and the app that its tokens are of."""

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
"""What a JSON file of this package holds."""
TOKENS: Mapping[str, Credential] = {
    name: Credential(**about) for name, about in data("tokens.json").items()
}
GUIDE = (
    "The link below makes an app with everything it needs: press Create, then Install to Workspace."
)


def manifest_url() -> str:
    """A link that makes the app, with everything it needs
    (docs.slack.dev/app-manifests/configuring-apps-with-app-manifests)."""
    packed = json.dumps(data("manifest.json"), separators=(",", ":"))
    return f"https://api.slack.com/apps?new_app=1&manifest_json={quote(packed, safe='')}"


class SlackConfig(ChannelConfigWithBots):
    """The app, and how it behaves."""

    credentials = tuple(TOKENS.values())
    bot_token: SecretStr = TOKENS["bot_token"].field(guide=GUIDE, link=manifest_url())
    app_token: SecretStr = TOKENS["app_token"].field()
    api_url: str = Field(default="https://slack.com/api/", description="The Web API.")
    native_streams: bool = Field(
        default=False, description="In threads, show a running answer as Slack's own stream."
    )
    thread_days: float = Field(
        default=14.0, gt=0, description="Days after which a silent thread is not read back."
    )
