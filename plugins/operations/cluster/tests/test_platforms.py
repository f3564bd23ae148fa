"""Discord, Slack and Feishu in a cluster: streamed replies, buttons, and a killed worker."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from support.openai_server import OpenAIServer

from .conftest import Cluster
from .pages import COUNT, model_says, module_of

pytestmark = pytest.mark.slow


@dataclass
class Platform:
    """A fake platform as a person sees it, and what a machine needs to be on it."""

    name: str
    api: Any
    settings: Mapping[str, Any]
    env: Mapping[str, str]
    boss: Any
    ann: Any
    boss_chat: Any
    chat: Any
    has_grown: Callable[[], bool]
    asked: Callable[[], list[Any]]
    """The boss's questions that have buttons."""

    def texts(self, chat: Any) -> list[str]:
        return list(self.api.texts(chat))

    def find(self, text: str, chat: Any) -> Any:
        return self.api.find(text, chat)


def _discord() -> Platform:
    api, people = module_of("discord", "discord_api").DiscordApi(), module_of("discord", "conftest")

    def has_grown() -> bool:
        return any(one.history for one in list(api.place(people.ANN).messages.values()))

    settings = {"api_url": api.api_url, "edit_every": 0.5}
    env = {"DISCORD_BOT_TOKEN": api.token}
    ann, boss = people.ANN, people.BOSS

    def asked() -> list[Any]:
        return [one for one in api.messages(boss) if one.buttons]

    return Platform("discord", api, settings, env, boss, ann, boss, ann, has_grown, asked)


def _slack() -> Platform:
    fake, people = module_of("slack", "fake_slack"), module_of("slack", "conftest")
    api = fake.Slack()
    api.room("D0BOSS", people.BOSS)
    api.room("D0ANN", people.ANN)

    def has_grown() -> bool:
        return any(api.count(m) for m in ("chat.appendStream", "chat.update"))

    def asked() -> list[Any]:
        buttons_of = module_of("slack", "fake_rules").buttons_of
        return [one for one in api.messages("D0BOSS") if buttons_of(one)]

    env = {"SLACK_BOT_TOKEN": fake.BOT_TOKEN, "SLACK_APP_TOKEN": fake.APP_TOKEN}
    return Platform(
        "slack",
        api,
        {"api_url": api.api_url},
        env,
        people.BOSS,
        people.ANN,
        "D0BOSS",
        "D0ANN",
        has_grown,
        asked,
    )


def _feishu() -> Platform:
    service, people = module_of("feishu", "service"), module_of("feishu", "conftest")
    api = module_of("feishu", "feishu").Feishu()
    boss_chat, chat = api.room(people.BOSS), api.room(people.ANN)

    def has_grown() -> bool:
        return sum("/elements/" in call.path for call in list(api.calls)) > 1

    def asked() -> list[Any]:
        return [one for one in api.shown(boss_chat) if api.buttons(one)]

    env = {"FEISHU_APP_ID": service.APP, "FEISHU_APP_SECRET": service.SECRET}
    return Platform(
        "feishu",
        api,
        {"domain": api.url},
        env,
        people.BOSS,
        people.ANN,
        boss_chat,
        chat,
        has_grown,
        asked,
    )


@pytest.fixture(params=[_discord, _slack, _feishu], ids=["discord", "slack", "feishu"])
def platform(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Platform]:
    """A gateway and a worker that are on a platform."""
    made: Platform = request.param()
    with OpenAIServer(model_says) as model:
        provider = {"base_url": model.base_url, "api_key": "none", "wire": "chat"}
        cluster.core |= {"model": "openai/gpt-4.1", "providers": {"openai": provider}}
        cluster.plugins |= {
            "webhook": False,
            "permissions": False,
            "provenance": False,
            "shell": {},
            "access": {
                "admins": [f"{made.name}:{made.boss}"],
                "allow": [f"{made.name}:{made.ann}"],
            },
            made.name: made.settings,
        }
        cluster.start("g1", "gateway", "--no-turns", env=made.env)
        cluster.start("w1", "worker", env=made.env)
        yield made
        cluster.close()
    made.api.close()


def test_streamed_reply_is_complete_once_after_worker_kill(
    cluster: Cluster, platform: Platform
) -> None:
    platform.api.say(platform.chat, "count")
    cluster.wait(platform.has_grown)
    cluster.start("w2", "worker", env=platform.env)
    cluster.machines["w1"].end(signal.SIGKILL)
    cluster.wait(lambda: COUNT in "\n".join(platform.texts(platform.chat)))
    platform.api.say(platform.chat, "hello")
    platform.find("answered", platform.chat)
    answers = [one for one in platform.texts(platform.chat) if "number" in one]
    assert answers == [COUNT]


def test_approval_works_with_button(cluster: Cluster, platform: Platform) -> None:
    platform.api.say(platform.boss_chat, "hello")
    platform.find("answered", platform.boss_chat)
    for number in range(2):
        platform.api.say(platform.chat, f"launch {number}")
        cluster.wait(lambda: len(platform.asked()) == 1)
        platform.api.press(platform.asked()[0], "Deny", platform.boss)
        cluster.wait(
            lambda count=number: platform.texts(platform.chat).count("finished") == count + 1
        )
        cluster.wait(lambda: not platform.asked())
