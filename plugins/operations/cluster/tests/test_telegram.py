"""A Telegram bot in a cluster: one gateway is connected, and workers run the turns."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support.openai_server import OpenAIServer, Reply

from .conftest import Cluster

PLUGINS = Path(__file__).parents[3]
BOSS, ANN = 111, 222
SCRIPT = """steps:
- {when: "^ask",
   tools: [{name: clarify, arguments: {question: "Which one?", choices: [Red, Blue]}}]}
- {when: "^Blue", text: "blue it is"}
- {when: "^launch", tools: [{name: bash, arguments: {command: "sudo true"}}], repeat: true}
- {when: "exit code|Denied|Error", text: "finished", repeat: true}
- {when: "^again", text: "once more"}
- {when: ".", text: "answered", repeat: true}
"""


def _bot_api() -> Any:
    """The fake of the plugin telegram's own tests."""
    package = "_telegram_tests"
    if package not in sys.modules:
        made = ModuleType(package)
        made.__path__ = [str(PLUGINS / "channels" / "telegram" / "tests")]
        sys.modules[package] = made
    return import_module(f"{package}.bot_api")


@pytest.fixture
def api() -> Iterator[Any]:
    made = _bot_api().BotApi()
    for chat in (BOSS, ANN):
        made.room(chat)
    yield made
    made.close()


@pytest.fixture
def bot(cluster: Cluster, api: Any) -> Cluster:
    """A cluster whose machines have the same bot."""
    cluster.script = SCRIPT
    cluster.plugins |= {
        "webhook": False,
        "shell": {},
        "clarify": {},
        "access": {"admins": [f"telegram:{BOSS}"], "allow": [f"telegram:{ANN}"]},
        "telegram": {
            "token": _bot_api().TOKEN,
            "base_url": api.base_url,
            "base_file_url": api.base_file_url,
            "poll_seconds": 1,
            "edit_every": 0.3,
        },
    }
    return cluster


@pytest.mark.slow
def test_buttons_answer_questions_of_any_worker(bot: Cluster, api: Any) -> None:
    bot.start("gateway", "gateway", "--no-turns")
    bot.start("w1", "worker")
    bot.start("w2", "worker")
    api.say(ANN, "ask")
    question = api.find("Which one?", ANN)
    assert question.buttons == ["Red", "Blue"]
    api.press(question, "Blue", ANN)
    api.find("blue it is", ANN)
    # The admin is asked in their own chat, which any worker may have; who asks waits.
    for number in range(3):
        api.say(ANN, f"launch {number}")
        api.press(_asked(api, number + 1), "Deny", BOSS)
        api.wait(lambda count=number: api.texts(ANN).count("finished") == count + 1)
    # An admin's own calls are put to themselves.
    api.say(BOSS, "launch mine")
    api.press(_asked(api, 4), "Deny", BOSS)
    api.wait(lambda: "finished" in api.texts(BOSS))


def _asked(api: Any, count: int) -> Any:
    """The newest of so many questions that the admin was asked."""

    def found() -> list[Any] | None:
        asked = [one for one in api.messages(BOSS) if "sudo true" in one.text]
        return asked if len(asked) == count and asked[-1].buttons else None

    return api.wait(found)[-1]


@pytest.mark.slow
def test_streamed_reply_grows_while_worker_writes(bot: Cluster, api: Any) -> None:
    words = " ".join(f"number{n}" for n in range(120))
    with OpenAIServer([Reply(words, pace=0.05)]) as model:
        provider = {"openai": {"base_url": model.base_url, "api_key": "none"}}
        bot.core |= {"model": "openai/gpt-4.1", "providers": provider}
        bot.plugins |= {"titles": False}
        bot.start("gateway", "gateway", "--no-turns")
        bot.start("w1", "worker")
        api.say(ANN, "count")
        shown = api.find("number119", ANN)
        assert shown.text == words
    edits = [call for call in api.calls if call.method == "editMessageText"]
    assert len(edits) >= 2
    assert any(call.method == "sendChatAction" for call in api.calls)


@pytest.mark.slow
def test_bot_moves_to_another_gateway_after_gateway_kill(bot: Cluster, api: Any) -> None:
    bot.start("g1", "gateway", "--no-turns")
    second = bot.start("g2", "gateway", "--no-turns")
    second.wait_until_said("another gateway owns channel telegram")
    bot.start("worker", "worker")
    api.say(ANN, "hello")
    api.find("answered", ANN)
    bot.machines["g1"].end(signal.SIGKILL)
    api.say(ANN, "again")
    second.wait_until_said("this gateway now owns channel telegram")
    api.find("once more", ANN)
