"""One question, open at a terminal, on the page and on Telegram: answered in one, closed in all."""

from __future__ import annotations

import getpass
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hookline_hookspecs.web import plain_name
from support.channels.model_script import remove
from support.terminal import TerminalScreen

from .conftest import BOSS, ChannelHome
from .test_telegram_story import question
from .test_web_story import WebHome

pytestmark = pytest.mark.slow
CHROMIUM = os.environ.get("HOOKLINE_CHROMIUM") or shutil.which("chromium") or ""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebHome]:
    """A gateway with the page and Telegram, whose first admin is ``BOSS``."""
    made = WebHome(tmp_path_factory.mktemp("home"))
    made.install("telegram")
    made.api.room(BOSS)
    made.start()
    made.api.say(BOSS, made.claim_code())
    made.api.find("You are the first admin now.", BOSS)
    yield made
    made.close()


@pytest.fixture(scope="module")
def page(home: WebHome) -> Iterator[Any]:
    """The operator's page in a real browser."""
    sync_api = pytest.importorskip("playwright.sync_api")
    if not CHROMIUM:
        pytest.skip("no Chromium: install the package chromium, or set HOOKLINE_CHROMIUM")
    code = home.link()
    with sync_api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        made = browser.new_page()
        made.set_default_timeout(20_000)
        made.goto(f"{home.url}/login#{code}")
        made.get_by_role("textbox", name="Message").wait_for()
        yield made
        browser.close()


def chat(home: ChannelHome) -> TerminalScreen:
    env = {"PATH": os.environ["PATH"], "HOME": str(home.folder), "LANG": "C.UTF-8"}
    env["HOOKLINE_HOME"] = str(home.home)
    argv = [sys.executable, "-m", "hookline", "chat"]
    return TerminalScreen(argv, env=env, cwd=home.workspace, columns=100, rows=40)


def listed(home: ChannelHome) -> list[dict[str, Any]]:
    _, said = home.run("questions", "--json")
    found: list[dict[str, Any]] = json.loads(said.splitlines()[-1])
    return found


@pytest.mark.parametrize("where", ["terminal", "page", "telegram"])
def test_question_of_a_terminal_is_answered_once_for_all(
    home: WebHome, page: Any, where: str
) -> None:
    name = {"terminal": "denied", "page": "allowed", "telegram": "grouped"}[where]
    folder = home.folder_to_remove(name)
    with chat(home) as screen:
        screen.wait_for("›")
        screen.type(f"remove {name}\r")
        screen.wait_for("Allow once")
        (question,) = listed(home)
        page.goto(f"{home.url}/chat/{question['session']}")
        dock = page.get_by_role("group", name="Approval")
        dock.get_by_text(remove(name)).wait_for()
        home.api.say(BOSS, "/questions")
        home.api.find(f"{question['id']} · approval", BOSS)
        if where == "terminal":
            screen.type("1\r")
            who = f"terminal:{getpass.getuser()}"
        elif where == "page":
            dock.get_by_role("button", name="Allow once").click()
            who = "web:owner"
        else:
            home.api.say(BOSS, f"/questions answer {question['id']} 1")
            home.api.find("Answered: Allow once.", BOSS)
            who = f"telegram:{BOSS}"
        screen.wait_for("It is removed.")
        assert not folder.exists()
        if where != "terminal":
            assert re.search(rf"→ answered by {who}: Allow once", screen.text)
        dock.wait_for(state="detached")
        shown = "You" if where == "page" else plain_name(who)
        page.get_by_text(f"{shown} answered: Allow once").wait_for()
        page.goto(f"{home.url}/inbox")
        page.get_by_text("No questions are waiting for you.").wait_for()
        home.api.say(BOSS, f"/questions answer {question['id']} Deny")
        home.api.find(f"{who} has already answered: Allow once. Nothing was changed", BOSS)
    assert listed(home) == []


@pytest.mark.parametrize("where", ["terminal", "page"])
def test_question_of_telegram_is_closed_there_when_it_is_answered_elsewhere(
    home: WebHome, page: Any, where: str
) -> None:
    name = {"terminal": "killed", "page": "revived"}[where]
    api, folder = home.api, home.folder_to_remove(name)

    def count_left() -> int:
        return api.texts(BOSS).count("Then I leave it.")

    left = count_left()
    api.say(BOSS, f"remove {name}")
    shown, before = question(api, remove(name), BOSS)
    (stored,) = listed(home)
    if where == "page":
        page.goto(f"{home.url}/inbox")
        page.get_by_role("button", name="Deny").click()
        page.get_by_text("No questions are waiting for you.").wait_for()
        who = "web:owner"
    else:
        with chat(home) as screen:
            screen.wait_for("›")
            screen.type(f"/questions answer {stored['id']} Deny\r")
            screen.wait_for("Answered: Deny.")
        who = f"terminal:{getpass.getuser()}"
    api.find(f"({stored['id']}) was answered by {who}: Deny.", BOSS)
    api.wait(lambda: count_left() > left)
    api.wait(lambda: not shown.buttons)
    told = f"{who} has already answered: Deny. Nothing was changed."
    press = api.press(before, "Allow once", BOSS)
    api.find(told, BOSS)
    api.wait(lambda: press in api.answered)
    assert folder.exists()
    assert count_left() == left + 1
    assert "It is removed." not in api.texts(BOSS)[-4:]
    assert listed(home) == []
