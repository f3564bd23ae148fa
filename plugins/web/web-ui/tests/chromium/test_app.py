"""The page as an app: it can be installed, takes what is shared, and says that one is offline."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from ..browser import Gateway
from ..test_people import PICTURE
from .conftest import Window

pytestmark = pytest.mark.slow
New = Callable[..., Window]
WIDTH = """async (src) => {
  const image = new Image();
  image.src = src;
  await image.decode();
  return image.width;
}"""
REGISTER = """async (src) => {
  await (await import(src)).registerWorker();
  await navigator.serviceWorker.ready;
}"""

FORM = """([action, name, texts]) => {
  const form = document.createElement("form");
  Object.assign(form, { id: "share", method: "post", enctype: "multipart/form-data", action });
  const input = (fields) => Object.assign(document.createElement("input"), fields);
  const fields = Object.entries(texts).map(([name, value]) => input({ name, value }));
  form.append(input({ type: "file", name, multiple: true }), ...fields);
  document.body.append(form);
}"""


def test_page_can_be_installed(window: New) -> None:
    one = window().open()
    cdp = one.page.context.new_cdp_session(one.page)
    found = cdp.send("Page.getAppManifest")
    assert found["errors"] == []
    for icon in json.loads(found["data"])["icons"]:
        assert f"{one.page.evaluate(WIDTH, icon['src'])}" in icon["sizes"]
    errors = cdp.send("Page.getInstallabilityErrors")["installabilityErrors"]
    assert [e["errorId"] for e in errors if e["errorId"] != "in-incognito"] == []


def with_worker(one: Window) -> None:
    """Install the worker, as the page does when it runs as an app."""
    module = one.page.evaluate("document.querySelector('script[type=module]').src")
    one.page.evaluate(REGISTER, module.replace("main.js", "push.js"))
    one.page.reload()
    one.box.wait_for()
    one.until("() => navigator.serviceWorker.controller !== null")


def share(one: Window, files: list[dict[str, Any]], **texts: str) -> None:
    """Share with the app as the system does: it posts the form that the manifest describes."""
    cdp = one.page.context.new_cdp_session(one.page)
    target = json.loads(cdp.send("Page.getAppManifest")["data"])["share_target"]
    assert (target["method"], target["enctype"]) == ("POST", "multipart/form-data")
    one.page.evaluate(FORM, [target["action"], target["params"]["files"][0]["name"], texts])
    one.page.set_input_files("#share input[type=file]", files)
    one.page.evaluate("document.getElementById('share').submit()")


PICTURE_FILE = {"name": "dot.png", "mimeType": "image/png", "buffer": PICTURE}
SHARED = [
    PICTURE_FILE,
    {"name": "Größe.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.4 small"},
    {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"some notes"},
]


def test_shared_files_and_text_go_into_the_message_box_once(window: New) -> None:
    one = window().open()
    with_worker(one)
    share(one, SHARED, title="A page", url="https://a.example/")
    one.until("() => document.querySelectorAll('.composer .chip:not(:has(progress))').length === 3")
    assert one.box.input_value() == "A page\nhttps://a.example/"
    assert one.page.url == f"{one.url}/"
    one.until("() => caches.has('shared').then((kept) => !kept)")
    one.page.reload()
    one.until("() => document.querySelectorAll('.composer .chip').length === 3")
    one.button("Send").click()
    one.settled()
    said = one.log.locator('article[data-role="user"]')
    assert said.locator("img.picture").count() == 1
    for name in ("Größe.pdf", "notes.txt"):
        said.get_by_text(name).wait_for()
    one.open("/")
    one.page.wait_for_timeout(300)
    assert one.page.locator(".composer .chip").count() == 0


def test_shared_file_waits_until_its_person_has_signed_in(window: New, gateway: Gateway) -> None:
    one = window(name="ben").open()
    with_worker(one)
    cookies = one.page.context.cookies()
    one.page.context.clear_cookies()
    share(one, [PICTURE_FILE], text="Look at this")
    one.page.get_by_text("You are not signed in.").wait_for()
    one.page.context.add_cookies(cookies)
    one.open("/")
    one.page.locator(".composer .chip").get_by_text("dot.png").wait_for()
    assert one.box.input_value() == "Look at this"


def test_shared_file_that_cannot_be_uploaded_stays_until_it_is_taken_out(window: New) -> None:
    one = window(name="eve").open()
    with_worker(one)
    one.page.route("**/api/files/**", lambda route: route.abort())
    share(one, [PICTURE_FILE, SHARED[2]])
    chips = one.page.locator(".composer .chip.tone-bad")
    chips.nth(1).wait_for()
    one.page.reload()  # nothing was lost
    chips.nth(1).wait_for()
    one.button("Remove dot.png").click()
    one.page.unroute_all()
    one.button("Try again").click()
    one.until("() => document.querySelectorAll('.composer .chip:not(.tone-bad)').length === 1")
    one.until("() => caches.has('shared').then((kept) => !kept)")


def test_form_of_another_site_shares_nothing(window: New) -> None:
    one = window().open()
    with_worker(one)
    form = f"""<form method=post enctype=multipart/form-data action="{one.url}/share">
      <input name=text value="words of another site"><button>Send</button></form>"""
    other = one.page.context.new_page()
    other.route(
        "http://other.example/", lambda route: route.fulfill(body=form, content_type="text/html")
    )
    other.goto("http://other.example/")
    other.get_by_role("button").click()
    other.get_by_text("A page of another site sent this request.").wait_for()
    assert not one.page.evaluate("caches.has('shared')")


def test_share_without_the_worker_says_that_nothing_arrived(window: New) -> None:
    one = window().open()
    share(one, [PICTURE_FILE])
    one.page.get_by_text("What you shared has not arrived.").wait_for()


def test_worker_says_that_one_is_offline_and_stores_nothing(window: New) -> None:
    one = window().open()
    with_worker(one)
    one.page.context.set_offline(True)
    one.page.goto(one.url)
    one.page.get_by_text("You are offline.").wait_for()
    one.page.context.set_offline(False)
    one.open()
    assert one.page.evaluate("caches.keys()") == []
