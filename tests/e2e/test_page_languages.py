"""Every page and dialog: translated, with no text cut off, no wider than a phone, for all readers.

``HOOKLINE_SCREENSHOTS=FOLDER`` keeps a picture of each.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hookline_webkit.languages import load
from support.web import Gateway, gateway

pytestmark = pytest.mark.slow
CHROMIUM = os.environ.get("HOOKLINE_CHROMIUM") or shutil.which("chromium") or ""
PICTURES = os.environ.get("HOOKLINE_SCREENSHOTS", "")
COMMAND = 'find . -name "*.pyc" -delete && git push --force origin main'
STEPS = [
    {"when": "clean up", "tools": [{"name": "bash", "arguments": {"command": COMMAND}}]},
    {
        "when": "ask me",
        "tools": [{"name": "clarify", "arguments": {"question": "Tea?", "choices": ["Yes", "No"]}}],
    },
    {"when": ".", "text": "Done.", "repeat": True},
]
SIZES = {"computer": (1280, 800), "phone": (360, 640)}
PAGE_SIZES = {**SIZES, "tablet": (768, 1024)}
PAGES = (
    *("/", "/inbox", "/settings", "/sessions", "/plugins", "/plugins/web-server", "/insights"),
    *("/plugins/compaction", "/plugins/telegram"),
    *("/memory", "/memory/log", "/user-model", "/skills", "/schedule", "/schedule/runs"),
    *("/people", "/people/log", "/doctor", "/prompt", "/hooks", "/trust", "/audit"),
    *("/audit/verify", "/setup", "/setup?provider=openai", "/missing"),
)
LANGUAGES = {
    "de": ("de-DE", "Neuer Chat", "Einmal erlauben"),
    "zh-Hans": ("zh-CN", "新对话", "允许一次"),
}
CUT = """() => [...document.querySelectorAll(
    'button, a.button, nav a, nav summary, h2, label, summary, .badge, select + span'
  )].filter(e => e.offsetParent && e.clientWidth > 1 && !e.closest('.unseen, pre, .recent, .log'))
    .filter(e => e.scrollWidth > e.clientWidth + 1)
    .map(e => `${e.tagName} ${e.textContent.trim()}: ${e.scrollWidth} > ${e.clientWidth}`)
    .concat(document.documentElement.scrollWidth > innerWidth ? ['the page is too wide'] : [])"""
"""What does not fit into its element."""
TEXTS = """() => [...document.querySelectorAll('body *')]
    .filter(e => e.checkVisibility() && !e.closest('code, pre, option, textarea, .recent, .log'))
    .flatMap(e => [...e.childNodes].filter(n => n.nodeType === 3).map(n => n.data.trim()))
    .filter(text => text)"""
"""What stands in the page, without code and what people and the model wrote."""
SMALL = """() => [...document.querySelectorAll('button, a.button, select, input, summary, nav a')]
    .filter(e => e.checkVisibility() && !e.closest('.unseen, label, .field.switch, p, .chat-list'))
    .map(e => [e, e.getBoundingClientRect()])
    .filter(([e, r]) => r.height > 1 && (r.height < 39.5 || r.width < 39.5))
    .map(([e, r]) => `${e.outerHTML.slice(0, 80)}: ${r.width} x ${r.height}`)"""
"""What is too small for a finger."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    if not CHROMIUM:
        pytest.skip("no Chromium: install the package chromium, or set HOOKLINE_CHROMIUM")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder = tmp_path_factory.mktemp("languages")
    script, auto = json.dumps({"steps": STEPS}), {"mode": "auto"}
    on = {"scheduler": True, "audit": True, "permissions": auto}
    with gateway(folder, script, {"trace": True}, **on) as made:
        yield made


@pytest.fixture(scope="module")
def state(chromium: Any, running: Gateway) -> Any:
    """A login with three chats, of which two have a question."""
    context = chromium.new_context()
    page = context.new_page()
    page.goto(running.link()["url"])
    for text, end in (("hello", "[data-details]"), ("clean up", ".dock"), ("ask me", ".dock")):
        page.locator("form.composer textarea").fill(text)
        page.keyboard.press("Enter")
        page.locator(end).wait_for()
        page.goto(running.url)
        page.locator("form.composer textarea").wait_for()
    stored = context.storage_state()
    context.close()
    return stored


def _keep(page: Any, name: str) -> None:
    if PICTURES:
        Path(PICTURES).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(PICTURES) / f"{name}.png")


@pytest.mark.parametrize("size", PAGE_SIZES)
@pytest.mark.parametrize("code", LANGUAGES)
def test_pages_are_translated_and_nothing_is_cut(
    chromium: Any, running: Gateway, state: Any, chats: dict[str, str], code: str, size: str
) -> None:
    locale, new_chat, once = LANGUAGES[code]
    width, height = PAGE_SIZES[size]
    sentences = load(code).messages
    viewport = {"width": width, "height": height}
    context = chromium.new_context(viewport=viewport, locale=locale, storage_state=state)
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(f"error: {error}"))
    for path in [*PAGES, *_session_pages(page, running.url, chats)]:
        page.goto(running.url + path)
        page.locator(".recent li").first.wait_for(state="attached")
        assert page.locator("html").get_attribute("lang") == code
        assert new_chat in page.locator(".side a.new").text_content()
        if path == "/inbox":
            page.get_by_role("button", name=once).wait_for()
        _keep(page, f"{code}-{size}-{path.strip('/').replace('/', '-') or 'chat'}")
        faults += [f"{path}: {one}" for one in page.evaluate(CUT)]
        faults += [
            f"{path}: not translated: {text}"
            for text in page.evaluate(TEXTS)
            if " " in text and sentences.get(text, (text,))[0] != text
        ]
    context.close()
    assert not faults, "\n".join(faults)


@pytest.fixture(scope="module")
def chats(running: Gateway) -> dict[str, str]:
    """The ids of the chats by their first words."""
    with running.client() as client:
        found = client.get("/api/sessions").json()["sessions"]
    return {one["first_words"]: one["id"] for one in found}


def _dialogs(page: Any, url: str, chats: dict[str, str], phone: bool) -> Iterator[str]:
    """Open each dialog, menu and panel of the chat, and yield its name."""

    def chat(words: str, ready: str = "[data-details]") -> None:
        page.goto(f"{url}/chat/{chats[words]}")
        page.locator(ready).last.wait_for()
        page.locator(".recent li").first.wait_for(state="attached")

    def press(selector: str) -> None:
        if phone and not page.locator("#side").is_visible():
            page.locator(".bar [popovertarget=side]").click()
        page.locator(selector).first.click()

    chat("clean up", ".dock")
    yield "approval"
    chat("ask me", ".dock")
    yield "question"
    chat("hello")
    for name in ("palette", "organise", "keys", "notifications"):
        if name == "keys" and phone:
            continue
        press(f"[data-{name}]")
        page.locator("dialog[open]").wait_for()
        yield name
        page.keyboard.press("Escape")
        page.locator("dialog").wait_for(state="detached")
    if phone:
        chat("hello")
    press(".recent a[aria-current] + .row-more, .recent li:has(a[aria-current]) .row-more")
    yield "menu of a chat in the list"
    for number, name in enumerate(("rename", "pin", "move to folder", "archive", "delete")):
        if name in ("pin", "archive"):
            continue
        page.locator("#row-menu button").nth(number).click()
        page.locator("dialog[open]").wait_for()
        yield name
        chat("hello")
        press(".recent li:has(a[aria-current]) .row-more")
    chat("hello")
    page.locator("[popovertarget=chat-menu]").click()
    yield "chat menu"
    page.locator("#chat-menu button").nth(4).click()
    page.locator("dialog.share").wait_for()
    yield "share"
    page.locator("dialog.share button.primary").click()
    page.locator("#share-link").wait_for()
    yield "shared"
    page.keyboard.press("Escape")
    page.locator("[data-files]").click()
    page.locator(".files-panel").wait_for()
    yield "files"
    chat("hello")
    page.locator("[data-details]").last.click()
    page.locator(".details .stats").wait_for()
    yield "details"
    chat("hello")
    page.locator("form.composer textarea").fill("/")
    page.locator(".completions").wait_for()
    yield "commands"


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("code", LANGUAGES)
def test_dialogs_are_translated_and_nothing_is_cut(
    chromium: Any, running: Gateway, state: Any, chats: dict[str, str], code: str, size: str
) -> None:
    locale, _, once = LANGUAGES[code]
    width, height = SIZES[size]
    viewport, phone = {"width": width, "height": height}, size == "phone"
    context = chromium.new_context(
        viewport=viewport, locale=locale, storage_state=state, has_touch=phone, is_mobile=phone
    )
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(f"error: {error}"))
    for name in _dialogs(page, running.url, chats, phone):
        if name == "approval":
            page.locator(".dock").get_by_role("button", name=once).wait_for()
        _keep(page, f"{code}-{size}-{name}")
        faults += [f"{name}: {one}" for one in page.evaluate(CUT)]
        if phone:
            faults += [f"{name}: too small: {one}" for one in page.evaluate(SMALL)]
    context.close()
    assert not faults, "\n".join(faults)


def _session_pages(page: Any, url: str, chats: dict[str, str]) -> list[str]:
    """The page of a session and what it leads to."""
    page.goto(f"{url}/sessions/{chats['hello']}")
    hrefs = page.locator("main .actions a").evaluate_all(
        "all => all.map(a => a.pathname + a.search)"
    )
    return [f"/sessions/{chats['hello']}", *(one for one in hrefs if "export" not in one)]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_page_suits_a_phone_and_all_readers(
    chromium: Any, running: Gateway, state: Any, chats: dict[str, str], theme: str
) -> None:
    axe: Any = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    context = chromium.new_context(color_scheme=theme, storage_state=state, **phone)
    page = context.new_page()
    page.goto(running.url)
    page.locator(".recent li").first.wait_for(state="attached")
    links = page.locator(".nav-main a").evaluate_all("all => all.map(a => a.pathname)")
    assert "/audit" in links
    faults: list[str] = []
    for path in dict.fromkeys([*links, *PAGES, *_session_pages(page, running.url, chats)]):
        page.goto(running.url + path)
        page.locator(".recent li").first.wait_for(state="attached")
        _keep(page, f"{theme}-{path.strip('/').replace('/', '-') or 'chat'}")
        if page.evaluate("document.documentElement.scrollWidth > 390"):
            faults.append(f"{path} is too wide")
        faults += [f"{path}: too small: {one}" for one in page.evaluate(SMALL)]
        faults += [
            f"{path} {rule['id']}: {node['html'][:160]} {node['failureSummary'][:200]}"
            for rule in axe.run(page).response["violations"]
            if rule["impact"] in ("serious", "critical")
            for node in rule["nodes"]
        ]
    context.close()
    assert not faults, "\n".join(faults)


def test_login_page_is_translated(chromium: Any, running: Gateway) -> None:
    context = chromium.new_context(locale="de-DE", viewport={"width": 360, "height": 640})
    page = context.new_page()
    page.goto(f"{running.url}/login")
    page.get_by_text("Nicht angemeldet.").wait_for()
    assert page.get_by_role("button", name="Anmelden").is_visible()
    assert page.evaluate(CUT) == []
    _keep(page, "de-phone-login")
    context.close()


def test_a_person_chooses_a_language_for_all_their_browsers(
    chromium: Any, running: Gateway, state: Any
) -> None:
    context = chromium.new_context(locale="en-GB", storage_state=state)
    page = context.new_page()
    page.goto(f"{running.url}/settings")
    page.get_by_label("Language").select_option(label="Deutsch")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("heading", name="Deine Einstellungen").wait_for()
    other = chromium.new_context(locale="en-GB", storage_state=state).new_page()
    other.goto(f"{running.url}/sessions")
    other.get_by_role("heading", name="Sitzungen").wait_for()
    page.get_by_label("Sprache").select_option("")
    page.get_by_role("button", name="Speichern").click()
    page.get_by_role("heading", name="Your settings").wait_for()
    other.context.close()
    context.close()
