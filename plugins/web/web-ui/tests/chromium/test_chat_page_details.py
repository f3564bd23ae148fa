"""The chat page: files, drafts, other scripts, formulas, failures, small windows, menus."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ..browser import Gateway
from .conftest import Window

New = Callable[..., Window]
FORMULAS = r"""Inline \(a_1 * b_2 * c\) and $x_i * y_i$, but it costs $5 or $6.

$$
- \int_0^1 x^2 dx
$$

\[ \sum_{i=0}^n i^2 \]

&mdash; 3 &euro; &le; 4 &unknown;
"""
ARABIC = "مرحبا بالعالم 123\n\n- عنصر\n\nplain"
QUESTION = "Which of these would you like? " * 3
CHOICES = [
    "Tea",
    "Coffee, with a long explanation of where the beans come from and how it is made",
    "No",
]
MODEL = [
    {"when": "formulas", "text": FORMULAS, "repeat": True},
    {"when": "arabic", "text": ARABIC, "repeat": True},
    {"when": "break", "fault": "context", "repeat": True},
    {
        "when": "ask me",
        "tools": [{"name": "clarify", "arguments": {"question": QUESTION, "choices": CHOICES}}],
        "repeat": True,
    },
    {
        "when": "remove it",
        "tools": [{"name": "bash", "arguments": {"command": "rm -rf a\n" + "echo b\n" * 200}}],
        "repeat": True,
    },
    {"when": ".", "text": "answered", "repeat": True},
]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    made = Gateway(tmp_path_factory.mktemp("week"))
    made.configure(MODEL, review=False, scheduler=True)
    made.start()
    yield made
    made.close()


def picture(path: Path) -> Path:
    """A picture of 40 x 30 pixels."""
    rows = b"".join(b"\0" + b"\x40\x80\xc0" * 40 for _ in range(30))
    head = struct.pack(">IIBBBBB", 40, 30, 8, 2, 0, 0, 0)
    parts = [(b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    made = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    ]
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(made))
    return path


def attach(one: Window, *files: Path) -> None:
    """Attach files, and wait until they are there."""
    one.page.set_input_files("input[type=file]", list(files))
    one.page.wait_for_function(
        "n => document.querySelectorAll('.chip').length === n"
        " && !document.querySelector('progress')",
        arg=len(files),
    )


@pytest.mark.slow
def test_picture_is_shown_once_without_its_path(window: New, tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text("milk")
    one = window().open()
    attach(one, picture(tmp_path / "cat.png"), note)
    one.say("look at these")
    one.settled()
    one.page.get_by_role("link", name="look at these", exact=True).first.wait_for()
    for _ in range(2):
        assert one.log.locator("img.picture").count() == 1
        assert one.log.get_by_role("link", name="note.txt").count() == 1
        assert "attached file" not in one.page.locator("body").inner_text()
        assert one.page.get_by_role("heading", level=1).inner_text() == "look at these"
        one.page.reload()
        one.settled()


@pytest.mark.slow
def test_edited_message_keeps_its_files(window: New, tmp_path: Path) -> None:
    note = tmp_path / "list.txt"
    note.write_text("milk")
    one = window().open()
    attach(one, picture(tmp_path / "cat.png"), note)
    one.say("look at both")
    one.settled()
    first = one.page.url
    one.button("Edit").click()
    editor = one.page.get_by_role("textbox", name="Edit message")
    for name in ("cat.png", "list.txt"):
        one.button(f"Remove {name}").wait_for()
    assert editor.input_value() == "look at both"
    editor.fill("look at both again")
    editor.press("Enter")
    one.log.get_by_text("look at both again").wait_for()
    one.settled()
    for _ in range(2):
        assert one.log.locator("img.picture").count() == 1
        assert one.log.get_by_role("link", name="list.txt").count() == 1
        one.open(first.removeprefix(one.url)).settled()
    one.open("/sessions")
    assert "attached file" not in one.page.locator("main").inner_text()


@pytest.mark.slow
def test_chat_started_with_picture_is_named_after_it(window: New, tmp_path: Path) -> None:
    one = window().open()
    attach(one, picture(tmp_path / "holiday.png"))
    one.button("Send").click()
    one.settled()
    one.page.reload()
    one.settled()
    assert "no text" not in one.page.locator("body").inner_text()
    assert one.page.get_by_role("heading", level=1).inner_text() == "holiday.png"


DROP = """() => {
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File(["x"], "dropped.txt", { type: "text/plain" }));
  return ["dragover", "drop"].map(kind => {
    const event = new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer });
    document.querySelector(".log").dispatchEvent(event);
    return event.defaultPrevented;
  });
}"""


@pytest.mark.long
def test_file_can_be_dropped_anywhere_on_the_page(window: New, tmp_path: Path) -> None:
    one = window().open()
    assert one.page.evaluate(DROP) == [True, True]  # else the browser opens it in place of the chat
    one.button("Remove dropped.txt").wait_for()
    (tmp_path / "photos").mkdir()
    wire = one.page.context.new_cdp_session(one.page)
    data = {"items": [], "files": [str(tmp_path / "photos")], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        wire.send("Input.dispatchDragEvent", {"type": kind, "x": 600, "y": 300, "data": data})
    one.page.get_by_text("“photos” cannot be read. Only files").wait_for()


@pytest.mark.slow
def test_draft_of_new_chat_survives_navigation(window: New) -> None:
    one = window()
    held: list[Any] = []
    one.page.route("**/api/state", lambda route: held.append(route), times=1)
    one.page.goto(one.url, wait_until="domcontentloaded")
    one.page.keyboard.type("not lost while the page loads")  # n and t are shortcuts elsewhere
    one.until("() => document.querySelector('[data-theme-switch][title]')")
    while not held:
        one.page.wait_for_timeout(20)
    held[0].continue_()
    one.box.wait_for()
    one.page.keyboard.type(", nor then")
    assert one.box.input_value() == "not lost while the page loads, nor then"
    one.box.fill("half a thought")
    one.page.get_by_text("Activity", exact=True).click()
    one.page.get_by_role("link", name="Sessions").click()
    one.page.get_by_role("heading", name="Sessions", level=1).wait_for()
    one.open("/")
    assert one.box.input_value() == "half a thought"
    one.button("Send").click()
    one.settled()
    one.open("/")
    assert one.box.input_value() == ""


@pytest.mark.slow
def test_long_own_message_is_folded(window: New) -> None:
    one = window().open()
    text = "\n".join(f"line {n} of what was pasted" for n in range(600))
    one.say(text)
    one.settled()
    bubble = one.log.locator(".bubble")
    assert bubble.bounding_box()["height"] < 1500
    assert bubble.inner_text().startswith("line 0 of what was pasted")
    bubble.get_by_role("button", name="Show all").click()
    assert bubble.inner_text() == text


@pytest.mark.slow
def test_formulas_that_cannot_be_drawn_are_shown_as_written(window: New) -> None:
    one = window().open()
    one.page.route("**/formula.js*", lambda route: route.abort())
    one.say("formulas")
    one.settled()
    shown = one.log.locator('article[data-role="assistant"] .md')
    shown.locator("code").nth(3).wait_for()
    codes = shown.locator("code").all_inner_texts()
    assert [code.strip() for code in codes] == [
        r"\(a_1 * b_2 * c\)",
        "$x_i * y_i$",
        "$$ - \\int_0^1 x^2 dx $$",
        r"\[ \sum_{i=0}^n i^2 \]",
    ]
    assert shown.locator("em, li").count() == 0
    assert "it costs $5 or $6." in shown.inner_text()
    assert "— 3 € ≤ 4 &unknown;" in shown.inner_text()


RIGHT = """node => {
  const range = document.createRange();
  range.selectNodeContents(node);
  const [text, box] = [range.getBoundingClientRect(), node.getBoundingClientRect()];
  return Math.round(box.right - text.right) < Math.round(text.left - box.left);
}"""


@pytest.mark.slow
def test_text_is_shown_in_its_own_direction(window: New) -> None:
    one = window().open()
    one.say("arabic")
    one.settled()
    answer = one.log.locator('article[data-role="assistant"] .md')
    assert [node.evaluate(RIGHT) for node in answer.locator("p").all()] == [True, False]
    assert answer.locator("li").evaluate("node => getComputedStyle(node).direction") == "rtl"
    one.box.fill("مرحبا")
    assert one.box.evaluate("box => getComputedStyle(box).direction") == "rtl"


@pytest.mark.slow
def test_error_is_shown_once_also_after_reload(window: New) -> None:
    one = window().open()
    one.say("break")
    one.settled()
    for _ in range(2):
        assert one.log.get_by_text("The scripted model failed").count() == 1
        assert one.log.locator(".broke").count() == 1
        one.page.reload()
        one.settled()


@pytest.mark.slow
@pytest.mark.parametrize("size", [(640, 400), (844, 390)])
def test_question_is_visible_in_a_low_window(window: New, size: tuple[int, int]) -> None:
    one = window(*size).open()
    for said, name, last in (("remove it", "Approval", "Deny"), ("ask me", "Question", "Other")):
        one.say(said)
        group = one.page.get_by_role("group", name=name)
        group.wait_for()
        for each in (group.get_by_role("button", name=last, exact=True), one.button("Send")):
            box = each.bounding_box()
            assert box["y"] + box["height"] <= size[1]
        text = group.locator(".dock-body")
        assert text.bounding_box()["height"] >= 20
        assert group.get_by_text("Allow bash?" if name == "Approval" else "Which of").is_visible()
        group.get_by_role("button", name=last, exact=True).click()
        if name == "Approval":
            one.settled()


@pytest.mark.slow
def test_expired_login_offers_sign_in_and_returns_to_chat(window: New) -> None:
    one = window(name="ben").open()
    one.say("hello")
    one.settled()
    one.page.context.clear_cookies()
    one.say("too late")
    link = one.page.get_by_role("link", name="Sign in again")
    link.wait_for()
    path = one.page.url.removeprefix(one.url)
    assert link.get_attribute("href") == f"/login?next={path}"


@pytest.mark.slow
def test_invalid_field_is_scrolled_into_view(window: New) -> None:
    one = window(1280, 500).open("/schedule")
    one.page.get_by_label("What to do").fill("say hi")
    one.page.get_by_label("When").fill("every 2h")
    zone = one.page.get_by_label("Time zone")
    zone.fill("Mars/Olympus")
    zone.press("Enter")
    one.page.get_by_text("unknown time zone").wait_for()
    one.until("() => document.activeElement.getAttribute('aria-invalid') === 'true'")
    box = one.page.get_by_text("unknown time zone").bounding_box()
    assert 0 <= box["y"] <= 500 - box["height"]


@pytest.mark.slow
def test_chat_menu_is_below_its_button(window: New) -> None:
    one = window().open()
    one.say("hello")
    one.settled()
    one.button("Details").click()
    one.page.get_by_role("region", name="Turn").wait_for()
    button = one.button("Chat menu")
    button.click()
    menu: Any = one.page.locator("#chat-menu")
    menu.wait_for()
    at, below = button.bounding_box(), menu.bounding_box()
    assert abs(at["x"] + at["width"] - below["x"] - below["width"]) < 12
    edges = menu.evaluate("m => [...m.children].map(one => getComputedStyle(one).paddingLeft)")
    assert len(set(edges)) == 1


@pytest.mark.slow
def test_title_edit_is_saved_by_enter_and_cancelled_by_escape(window: New) -> None:
    one = window().open()
    sent: list[str] = []
    one.page.on("request", lambda asked: sent.append(asked.method))
    one.say("hello")
    one.settled()
    heading = one.page.get_by_role("heading", level=1)
    for text, key, title in (("No", "Escape", "hello"), ("Greeting", "Enter", "Greeting")):
        one.button("Chat menu").press("Enter")
        one.button("Rename").press("Enter")
        assert one.page.get_by_role("textbox", name="Title").input_value() == "hello"
        one.page.keyboard.type(text)
        one.page.keyboard.press(key)
        heading.get_by_text(title, exact=True).wait_for()
        focused = "document.activeElement.getAttribute('aria-label')"
        assert one.page.evaluate(focused) == "Chat menu"
        one.page.wait_for_timeout(200)  # a menu that Enter opens would be open by now
        assert one.page.locator(":popover-open").count() == 0
    assert sent.count("PATCH") == 1


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_escape_closes_open_menu(window: New, width: int) -> None:
    one = window(width, 800).open()
    one.say("hello")
    one.settled()
    for button, inside in (("Chat menu", "Rename"), ("Menu", "Sign out")):
        if width == 1280 and button == "Menu":
            continue
        one.button(button).press("Enter")
        one.button(inside).wait_for()
        one.page.keyboard.press("Escape")
        one.button(inside).wait_for(state="hidden")


@pytest.mark.slow
def test_question_is_announced_above_open_details(window: New) -> None:
    one = window(390, 844).open()
    one.say("hello")
    one.settled()
    one.button("Details").click()
    one.page.get_by_role("region", name="Turn").wait_for()
    notice = one.button("A question is waiting in the chat")
    assert notice.count() == 0
    other = window(like=one).open(one.page.url.removeprefix(one.url))
    other.say("remove it")
    notice.click()
    one.page.get_by_role("group", name="Approval").get_by_role("button", name="Deny").click()
    other.settled(2)


@pytest.mark.slow
def test_focus_returns_to_message_box_after_stop(window: New) -> None:
    one = window().open()
    one.say("remove it")
    one.page.get_by_role("group", name="Approval").wait_for()
    one.button("Stop").press("Enter")
    one.settled()
    assert one.box.evaluate("box => box === document.activeElement")


@pytest.mark.slow
def test_job_added_from_chat_page_replies_there(window: New) -> None:
    one = window().open()
    one.say("hello")
    one.settled()
    chat = one.page.url.removeprefix(one.url)
    one.open("/schedule")
    one.page.get_by_label("What to do").fill("look at the news")
    one.page.get_by_label("When").fill("every 2h")
    one.button("Add").click()
    one.button("Run now").click()
    one.open(chat)
    card = one.log.get_by_role("region", name="Command")
    card.get_by_text("answered").wait_for()
    for _ in range(2):
        assert card.inner_text().split() == ["schedule", "answered"]
        one.page.reload()
        card.wait_for()
