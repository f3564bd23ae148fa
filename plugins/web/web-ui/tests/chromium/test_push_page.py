"""Notifications in a real browser: the service worker, the switch, and what a push shows."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SUBSCRIBED = """
PushManager.prototype.subscribe = async function (options) {
  const key = new Uint8Array(options.applicationServerKey);
  window.subscribedWith = [options.userVisibleOnly, key.length, key[0]];
  const made = {
    endpoint: "https://push.example/1",
    toJSON: () => ({ endpoint: made.endpoint, keys: { p256dh: "p", auth: "a" } }),
    unsubscribe: async () => ((window.subscription = null), true),
  };
  window.subscription = made;
  return made;
};
PushManager.prototype.getSubscription = async () => window.subscription ?? null;
"""
"""Headless Chromium reaches no push service, so the subscription itself is made up."""


OPEN_QUESTION = "fetch('/api/state').then((one) => one.json()).then((one) => one.questions[0].id)"
NOTIFY = """(tag) => navigator.serviceWorker.ready
  .then((one) => one.showNotification("Hookline", { tag }))"""


def test_switch_registers_the_worker_and_a_push_shows_only_the_chat(
    window: Callable[..., Any],
) -> None:
    pytest.importorskip("pywebpush")
    made = window()
    page = made.page
    page.add_init_script(SUBSCRIBED)
    page.context.grant_permissions(["notifications"], origin=made.url)
    made.open("/")
    assert (
        page.evaluate("navigator.serviceWorker.getRegistrations().then((all) => all.length)") == 0
    )
    made.button("Notifications").click()
    dialog = page.get_by_role("dialog", name="Notifications")
    dialog.get_by_text("Notifications are off in this browser.").wait_for()
    dialog.get_by_role("button", name="Turn on").click()
    dialog.get_by_text("Notifications are on in this browser.").wait_for()
    assert page.evaluate("window.subscribedWith") == [True, 65, 4]
    scope = page.evaluate("navigator.serviceWorker.ready.then((one) => one.scope)")
    assert scope == f"{made.url}/"
    message = {"body": "A question is waiting in “Tea”", "path": "/inbox", "tag": "Q"}
    deliver = _deliverer(page, scope)
    deliver(message)
    page.wait_for_timeout(1000)
    assert _shown(page) == [], "the page has the focus"
    dialog.get_by_role("button", name="Turn off").click()
    dialog.get_by_text("Notifications are off in this browser.").wait_for()
    page.goto("about:blank")
    deliver(message)
    page.wait_for_timeout(1000)
    made.open("/")
    assert _shown(page) == [["Hookline", message["body"], "Q"]]
    closing = {**message, "body": "Answered by mia (web page)", "closes": "yes"}
    page.goto("about:blank")
    deliver(closing)
    page.wait_for_timeout(1000)
    made.open("/")
    assert _shown(page) == [["Hookline", "Answered by mia (web page)", "Q"]]
    page.bring_to_front()
    deliver(closing)
    page.wait_for_timeout(1000)
    assert _shown(page) == [], "the page has the focus"
    made.say("remove it")
    page.get_by_role("group", name="Approval").wait_for()
    question = page.evaluate(OPEN_QUESTION)
    page.evaluate(NOTIFY, question)
    assert [tag for _, _, tag in _shown(page)] == [question]
    made.button("Deny").click()
    made.settled()
    page.wait_for_timeout(500)
    assert _shown(page) == [], "the page has heard of the answer"
    assert made.faults == []


def test_refused_permission_changes_nothing_and_says_what_to_do(window: Callable[..., Any]) -> None:
    pytest.importorskip("pywebpush")
    made = window()
    made.page.add_init_script(SUBSCRIBED)
    made.open("/")
    dialog = _dialog(made)
    dialog.get_by_role("button", name="Turn on").click()
    dialog.get_by_text("Nothing was changed. The browser blocks notifications").wait_for()
    assert made.page.evaluate("window.subscribedWith") is None
    assert dialog.get_by_role("button", name="Turn on").is_enabled()


def test_browser_without_push_or_its_service_says_so(window: Callable[..., Any]) -> None:
    pytest.importorskip("pywebpush")
    made = window()
    made.page.add_init_script("delete globalThis.PushManager")
    made.open("/")
    dialog = _dialog(made)
    dialog.get_by_text("This browser cannot show notifications here.").wait_for()
    assert dialog.get_by_role("button", name="Turn on").is_hidden()

    made = window()  # headless Chromium has no push service
    made.page.context.grant_permissions(["notifications"], origin=made.url)
    made.open("/")
    dialog = _dialog(made)
    dialog.get_by_role("button", name="Turn on").click()
    dialog.get_by_text("The browser could not reach its push service.").wait_for()
    dialog.get_by_role("button", name="Turn on").wait_for()
    made.faults.clear()  # the console says why there is none in a private window


def test_subscription_is_stored_and_removed_and_a_refused_one_does_not_count(
    window: Callable[..., Any],
) -> None:
    pytest.importorskip("pywebpush")
    made = window()
    page = made.page
    page.add_init_script(SUBSCRIBED)
    page.context.grant_permissions(["notifications"], origin=made.url)
    made.open("/")
    dialog = _dialog(made)
    dialog.get_by_text("Notifications are off in this browser.").wait_for()
    refuse = "**/api/push"
    page.route(
        refuse, lambda route: route.fulfill(status=503, json={"error": {"message": "Full."}})
    )
    dialog.get_by_role("button", name="Turn on").click()
    dialog.get_by_text("Nothing was changed. Full.").wait_for()
    assert page.evaluate("window.subscription") is None
    page.unroute(refuse)

    with page.expect_response(lambda one: one.request.method == "POST") as stored:
        dialog.get_by_role("button", name="Turn on").click()
    assert stored.value.status == 201
    dialog.get_by_text("Notifications are on in this browser.").wait_for()
    dialog.get_by_role("button", name="Close").click()
    with page.expect_response(lambda one: one.request.method == "POST") as again:
        dialog = _dialog(made)  # the server knows what the dialog says
    assert again.value.status == 201
    with page.expect_response(lambda one: one.request.method == "DELETE") as removed:
        dialog.get_by_role("button", name="Turn off").click()
    assert removed.value.status == 200
    assert removed.value.request.post_data_json == {"endpoint": "https://push.example/1"}
    dialog.get_by_text("Notifications are off in this browser.").wait_for()
    assert page.evaluate("window.subscription") is None


def _dialog(made: Any) -> Any:
    """Open the dialog with the switch."""
    made.button("Notifications").click()
    return made.page.get_by_role("dialog", name="Notifications")


def _deliverer(page: Any, scope: str) -> Callable[[dict[str, str]], None]:
    """What gives the worker a push, as the browser does when its push service has one."""
    session = page.context.new_cdp_session(page)
    found: list[str] = []
    session.on(
        "ServiceWorker.workerRegistrationUpdated",
        lambda event: found.extend(
            one["registrationId"] for one in event["registrations"] if one["scopeURL"] == scope
        ),
    )
    session.send("ServiceWorker.enable")
    page.wait_for_timeout(300)

    def deliver(message: dict[str, str]) -> None:
        origin, data = scope.rstrip("/"), json.dumps(message)
        about = {"origin": origin, "registrationId": found[-1], "data": data}
        session.send("ServiceWorker.deliverPushMessage", about)

    return deliver


def _shown(page: Any) -> Any:
    return page.evaluate(
        "navigator.serviceWorker.ready.then((one) => one.getNotifications())"
        ".then((all) => all.map((one) => [one.title, one.body, one.tag]))"
    )
