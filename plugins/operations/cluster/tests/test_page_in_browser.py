"""The page of a cluster in a real browser."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.openai_server import OpenAIServer

from .conftest import Cluster
from .pages import COUNT, address, configure, model_says, module_of, start

pytestmark = pytest.mark.slow
chromium = module_of("web-ui", "chromium.conftest").chromium
Open = Callable[..., Any]


@pytest.fixture
def window(cluster: Cluster, chromium: Any) -> Iterator[Open]:
    """Open the page of a cluster with one worker; at the end nothing must have gone wrong in it."""
    made, contexts = [], []

    def new(name: str = "owner") -> Any:
        url = address(cluster, "g1")
        code = json.loads((cluster.machines["g1"].home / "codes.json").read_text())[name]
        contexts.append(chromium.new_context(viewport={"width": 1280, "height": 800}))
        one = module_of("web-ui", "chromium.conftest").Window(contexts[-1].new_page(), url)
        one.page.goto(f"{url}/login#{code}")
        one.box.wait_for()
        made.append(one)
        return one

    with OpenAIServer(model_says) as model:
        configure(cluster, model)
        start(cluster, "g1", "w1")
        yield new
        for context in contexts:
            context.close()
        cluster.close()
    assert [fault for one in made for fault in one.faults] == []


def last_reply(one: Any) -> str:
    """The last answer on the page."""
    texts = one.log.locator('article[data-role="assistant"] .md').all_inner_texts()
    return str(texts[-1]) if texts else ""


def wait_for(one: Any, words: int) -> None:
    one.until(
        "n => ([...document.querySelectorAll('article[data-role=assistant]')].at(-1)?.innerText"
        " ?? '').match(/number/g)?.length >= n",
        words,
    )


def test_reply_is_complete_after_page_reload_and_worker_kill(
    cluster: Cluster, window: Open
) -> None:
    one = window()
    one.say("count")
    wait_for(one, 5)
    one.page.reload()
    start(cluster, "w2")
    wait_for(one, 15)
    assert COUNT.startswith(last_reply(one).removesuffix(last_reply(one).split()[-1]).strip())
    cluster.machines["w1"].end(signal.SIGKILL)
    one.settled()
    for _ in range(2):
        assert last_reply(one) == COUNT
        assert one.log.get_by_role("article").count() == 2
        one.page.reload()
        one.settled()


def test_stop_button_and_commands_work_on_page(window: Open) -> None:
    one = window()
    one.say("count")
    wait_for(one, 3)
    one.button("Stop").click()
    one.settled()
    assert last_reply(one) != COUNT
    one.say("count")
    wait_for(one, 3)
    one.say("/stop")
    one.settled(2)
    one.log.get_by_text("Stopping.").wait_for()
    one.say("hello")
    one.settled(3)
    assert last_reply(one) == "answered"


def test_own_and_other_peoples_approvals_are_answered_on_page(window: Open) -> None:
    one, other = window(), window("mia")
    one.say("launch")
    group = one.page.get_by_role("group", name="Approval")
    group.get_by_role("button", name="Deny", exact=True).click()
    group.wait_for(state="detached")
    one.settled()
    assert one.log.locator("details.tool.failed").count() == 1
    assert last_reply(one) == "finished"
    other.say("launch")
    group.get_by_role("button", name="Deny", exact=True).click()
    group.wait_for(state="detached")
    other.settled()
    assert last_reply(other) == "finished"
