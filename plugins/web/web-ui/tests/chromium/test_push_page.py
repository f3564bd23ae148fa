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
    assert made.faults == []


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
