"""Accessibility: axe in both themes and enlarged, the status line, and a phone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .conftest import Window

New = Callable[..., Window]
PAGES = ("/sessions", "/doctor", "/people", "/prompt", "/nothing-here")


def faults(one: Window) -> list[str]:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found: Any = axe.run(one.page).response["violations"]
    return [
        f"{one.page.url} {rule['id']}: {node['html'][:160]} {node['failureSummary'][:200]}"
        for rule in found
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ]


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("zoom", [1, 2])
def test_axe_finds_no_serious_issue(window: New, theme: str, zoom: int) -> None:
    one = window(1280 // zoom, 800 // zoom, color_scheme=theme).open()
    found = faults(one)
    one.say("look twice")
    one.settled()
    one.button("Details").click()
    one.page.get_by_role("region", name="Turn").locator(".part, .empty").first.wait_for()
    found += faults(one)
    one.page.keyboard.press("Escape")
    one.box.fill("/")
    one.page.get_by_role("listbox").wait_for()
    found += faults(one)
    one.page.keyboard.press("Escape")
    one.say("remove it")
    group = one.page.get_by_role("group", name="Approval")
    group.wait_for()
    found += faults(one)
    listed = window(like=one).open("/inbox")
    listed.page.get_by_role("group", name="Approval").wait_for()
    found += faults(listed)
    group.get_by_role("button", name="Deny").click()
    one.settled(2)
    one.log.focus()
    one.page.keyboard.press("?")
    found += faults(one)
    for path in PAGES:
        one.open(path)
        found += faults(one)
    assert found == []


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_axe_finds_no_serious_issue_in_dialogs(window: New, theme: str, width: int) -> None:
    one = window(width, 640, color_scheme=theme).open()
    settings = one.page.get_by_role("group", name="Settings of this chat")
    if width < 500:
        one.button("Settings of this chat").click()
    settings.get_by_role("combobox", name="Mode", exact=True).wait_for()
    found = faults(one)
    one.say("tell me of axes")
    one.settled()
    if width < 500:
        one.button("Settings of this chat").click()
    settings.get_by_role("combobox", name="Model").focus()
    found += faults(one)
    one.page.keyboard.press("Escape")
    one.button("Files").click()
    files = one.page.get_by_role("region", name="Files")
    files.get_by_text("There are no files yet.").wait_for()
    found += faults(one)
    one.page.keyboard.press("Escape")
    files.wait_for(state="detached")
    one.page.keyboard.press("Control+k")
    search = one.page.get_by_role("combobox", name="Search")
    search.wait_for()
    found += faults(one)
    search.fill("axes")
    one.page.get_by_role("option", name="tell me of axes").first.wait_for()
    found += faults(one)
    search.fill("nothing has these words")
    one.page.get_by_text("Nothing found.").wait_for()
    found += faults(one)
    search.fill("organise")
    one.page.keyboard.press("Enter")
    dialog = one.page.get_by_role("dialog", name="Organise chats")
    dialog.get_by_role("checkbox", name="tell me of axes").first.check()
    found += faults(one)
    for button, name in (("Move to folder", "Move to folder"), ("Delete", "Delete")):
        dialog.get_by_role("button", name=button).click()
        inner = one.page.get_by_role("dialog", name=name)
        inner.wait_for()
        found += faults(one)
        inner.get_by_role("button", name="Cancel").click()
    assert found == []


@pytest.mark.slow
def test_status_announces_start_question_and_end_once(window: New) -> None:
    one = window().open()
    one.page.evaluate(
        """() => {
          window.announced = [];
          const watch = () => {
            const text = document.querySelector('[role=status]').textContent;
            if (text && text !== announced.at(-1)) announced.push(text);
          };
          new MutationObserver(watch).observe(document.body, { subtree: true,
            childList: true, characterData: true });
        }"""
    )
    assert one.log.get_attribute("aria-live") == "off"
    one.say("remove it")
    group = one.page.get_by_role("group", name="Approval")
    group.wait_for()
    group.get_by_role("button", name="Deny").click()
    one.settled()
    announced = one.page.evaluate("announced")
    # A question may come before the first picture of the turn is drawn.
    assert announced[-3:] == ["Waiting for your answer", "Working", "Done"]
    assert announced[:-3] in ([], ["Working"])


@pytest.mark.slow
def test_phone_menu_reaches_every_page_and_other_focuses_the_box(window: New) -> None:
    one = window(360, 480).open()  # lower than the menu
    one.say("ask me")
    dock = one.page.get_by_role("group", name="Question")
    dock.wait_for()
    assert "1." not in dock.inner_text()
    dock.get_by_role("button", name="Other").click()
    assert one.page.evaluate("document.activeElement.tagName") == "TEXTAREA"
    one.button("Menu").click()
    side = one.page.locator("#side")
    side.get_by_text("Settings", exact=True).click()
    assert side.evaluate("side => side.scrollHeight > side.clientHeight")
    inner = "one => one.scrollHeight > one.clientHeight"
    assert not one.page.locator(".side .nav-main").evaluate(inner)
    tops = "all => all.filter(a => a.checkVisibility()).map(a => a.getBoundingClientRect().top)"
    seen = side.locator("a:not(.recent a)").evaluate_all(tops)  # the chats scroll by themselves
    assert seen == sorted(seen)  # one is led through it from top to bottom
    side.get_by_role("link", name="Doctor").click()
    one.page.wait_for_url("**/doctor")


@pytest.mark.slow
def test_menus_take_the_focus_and_escape_gives_it_back(window: New) -> None:
    one = window().open()
    one.say("hello")
    one.settled()
    focused = (
        "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"
    )
    for button in ("Chat menu", "Options of hello"):
        opener = one.page.get_by_role("button", name=button).first
        opener.focus()
        one.page.keyboard.press("Enter")
        one.until(f"() => ({focused}) === 'Rename'")
        assert one.page.evaluate("document.activeElement.matches(':focus-visible')")
        one.page.keyboard.press("Escape")
        assert one.page.evaluate(focused) == button
