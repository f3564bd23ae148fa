"""Nothing is lost or shown twice after reloads, network failures and kills."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ..browser import Gateway
from .conftest import HUGE, LONG, PARAGRAPH, SCRIPT, Window

New = Callable[..., Window]
PLAIN = LONG.replace("**", "").replace("`", "")
pytestmark = pytest.mark.slow


def answer(one: Window) -> str:
    """What the page has of the last answer, paragraph by paragraph, drawn or not yet."""
    return "\n".join(
        one.log.locator('article[data-role="assistant"]').last.locator("p").all_text_contents()
    )


def memory(one: Window) -> float:
    """The megabytes that the page's objects take."""
    wire = one.page.context.new_cdp_session(one.page)
    wire.send("HeapProfiler.collectGarbage")
    return float(wire.send("Runtime.getHeapUsage")["usedSize"]) / 1e6


def wait_for(one: Window, words: int) -> None:
    one.until(
        "n => ((document.querySelector('article[data-role=assistant]')?.innerText ?? '')"
        ".match(/slow/g) ?? []).length >= n",
        words,
    )


def test_reload_during_reply_loses_and_repeats_nothing(window: New) -> None:
    one = window().open()
    one.say("long please")
    for words in range(10, 200, 10):
        wait_for(one, words)
        one.page.reload()
    one.settled()
    assert answer(one).split() == PLAIN.split()
    assert one.log.get_by_role("article").count() == 2


def test_huge_reply_is_drawn_completely(window: New) -> None:
    one = window().open()
    one.say("huge please")
    one.until("() => (document.querySelector('.md')?.innerText ?? '').length > 500")
    one.page.reload()
    words = HUGE.replace("**", "").replace("`", "").split()
    for _ in range(2):
        one.settled()
        assert memory(one) < 20
        assert answer(one).split() == words
        assert one.log.evaluate("log => log.scrollHeight - log.scrollTop - log.clientHeight") < 2
        one.page.reload()


def test_huge_paragraph_is_drawn_completely(window: New) -> None:
    one = window().open()
    one.say("paragraph please")
    one.settled()
    shown = answer(one)
    wanted = re.sub(r"[*`]|\]\(.*?\)|\[", "", PARAGRAPH)
    assert shown.split() == wanted.split()
    assert one.log.locator("strong").count() == 1500
    one.page.reload()
    one.settled()
    assert answer(one).split() == shown.split()


def test_reply_is_complete_after_network_failures(window: New) -> None:
    one = window().open()
    one.say("long please")
    context = one.page.context
    for words in (20, 60, 100):
        wait_for(one, words)
        context.set_offline(True)
        one.page.wait_for_timeout(150)
        context.set_offline(False)
        one.page.evaluate("dispatchEvent(new Event('online'))")
    one.settled()
    assert answer(one).split() == PLAIN.split()
    one.page.reload()
    one.settled()
    assert answer(one).split() == PLAIN.split()


def test_message_sent_offline_arrives_once(window: New) -> None:
    one = window().open()
    one.say("hello")
    one.settled()
    one.page.context.set_offline(True)
    one.say("sent into the void")
    one.page.get_by_text("Not sent:").wait_for()
    one.page.context.set_offline(False)
    one.settled(2)
    one.page.reload()
    one.settled(2)
    assert one.log.inner_text().count("sent into the void") == 1


def test_three_clicks_send_one_message(window: New) -> None:
    one = window().open()
    one.box.fill("hello")
    one.button("Send").evaluate("b => { b.click(); b.click(); b.click(); }")
    one.settled()
    one.page.wait_for_timeout(300)
    assert one.log.get_by_role("article").count() == 2


def test_lost_response_to_post_causes_no_second_turn(window: New) -> None:
    one = window().open()
    one.say("hello")
    one.settled()
    lost = []

    def lose(route: Any) -> None:
        if not lost:
            lost.append(route.fetch().status)
            route.abort()
        else:
            route.continue_()

    one.page.route("**/messages", lose)
    one.say("once")
    one.settled(2)
    one.page.wait_for_timeout(600)
    assert lost == [202]
    assert one.log.get_by_role("article").count() == 4


def test_eight_tabs_load_and_follow_by_one_stream(window: New) -> None:
    one = window().open()
    one.say("hello")
    one.settled()
    path = one.page.url.removeprefix(one.url)
    tabs = [one, *(window(like=one).open(path) for _ in range(7))]
    tabs[5].say("to all")
    for tab in tabs:
        tab.settled(2)
    assert {tab.log.inner_text() for tab in tabs} == {one.log.inner_text()}
    assert sum(bool(tab.streams) for tab in tabs) == 1
    # The tab that reads for all is closed: another one goes on.
    one.page.close()
    tabs[3].say("still there?")
    for tab in tabs[1:]:
        tab.settled(3)


def test_message_during_turn_waits_and_stop_ends_turn(window: New) -> None:
    one = window().open()
    one.say("held please")  # a turn does not end before it is stopped
    wait_for(one, 10)
    one.say("and then this")
    one.page.get_by_label("Queued messages").wait_for()
    one.button("Stop").click()
    one.settled()
    assert "slow11x19" not in one.log.inner_text()
    one.button("Send").click()
    one.until("() => document.querySelectorAll('article[data-role=user]').length === 2")
    one.settled(2)
    assert "Here is what I found" in answer(one)


def test_resume_command_opens_the_session(window: New) -> None:
    one = window().open()
    one.say("hello, first")
    one.settled()
    first = one.page.url
    one.open("/").say("hello, second")
    one.settled()
    one.say(f"/resume {first.rpartition('/')[2]}")
    one.page.wait_for_url(first)
    one.settled()
    assert "hello, first" in one.log.inner_text()


@pytest.fixture
def own_gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway that a test may kill."""
    made = Gateway(tmp_path_factory.mktemp("own_gateway"))
    made.configure(SCRIPT)
    made.start()
    yield made
    made.close()


@pytest.mark.parametrize("words", [0, 15, 120])
def test_page_shows_complete_reply_after_gateway_kill(
    chromium: Any, own_gateway: Gateway, words: int
) -> None:
    from .conftest import _log_in

    context = chromium.new_context()
    _log_in(context, own_gateway, "owner")
    one = Window(context.new_page(), own_gateway.url).open()
    one.say("long please")
    one.page.wait_for_url("**/chat/**")
    wait_for(one, words)
    own_gateway.end(own_gateway.running[-1], signal.SIGKILL)
    own_gateway.start()
    one.settled()
    shown = answer(one)
    assert shown.split() == PLAIN.split()
    assert one.log.inner_text().count("long please") == 1
    one.page.reload()
    one.settled()
    assert answer(one) == shown
    context.close()


def test_words_for_a_turn_that_was_stopped_stay_until_the_next_one_has_them(window: New) -> None:
    one = window().open()
    one.say("held please")
    wait_for(one, 10)
    one.box.fill("added words")
    one.box.press("Control+Enter")
    added = one.page.get_by_role("article", name="You, added to the running turn")
    added.wait_for()
    one.button("Stop").click()
    one.settled()
    for _ in range(2):
        added.wait_for()
        assert one.log.inner_text().count("added words") == 1
        one.page.reload()
        one.settled()
    one.say("go on")
    one.settled(2)
    for _ in range(2):
        assert one.log.inner_text().count("added words") == 1
        one.page.reload()
        one.settled(2)
