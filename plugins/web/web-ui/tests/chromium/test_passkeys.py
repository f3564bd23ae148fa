"""Passkeys in a real browser with a virtual authenticator: add, sign in, remove, refusals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..browser import PATIENCE, Gateway

pytestmark = pytest.mark.slow
AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}

USB = {**AUTHENTICATOR, "transport": "usb"}
"""A second authenticator, as Chromium has only one that is built in."""


class Browser:
    """A page at ``localhost`` with an authenticator, signed in as a person."""

    def __init__(self, chromium: Any, gateway: Gateway, name: str) -> None:
        self.url = gateway.url.replace("127.0.0.1", "localhost")
        self.context = chromium.new_context()
        self.page = self.context.new_page()
        self.page.set_default_timeout(30_000)
        self.cdp = self.context.new_cdp_session(self.page)
        self.cdp.send("WebAuthn.enable")
        made = self.cdp.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})
        self.authenticator = made["authenticatorId"]
        code = json.loads(Path(gateway.home / "codes.json").read_text())[name]
        self.page.goto(f"{self.url}/login#{code}")
        self.page.get_by_role("textbox", name="Message").wait_for()

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()

    def add(self, name: str) -> None:
        self.page.goto(f"{self.url}/settings")
        self.page.get_by_label("Name of the new passkey").fill(name)
        self.press("Add a passkey")
        self.page.get_by_text("The passkey was added.").wait_for()

    def sign_out(self) -> None:
        self.press("Sign out")
        self.page.get_by_text("You are not signed in.").wait_for()

    def verified(self, is_verified: bool) -> None:
        given = {"authenticatorId": self.authenticator, "isUserVerified": is_verified}
        self.cdp.send("WebAuthn.setUserVerified", given)

    def fetch(self, path: str, value: Any) -> Any:
        """The status and body of a POST from the page."""
        script = """async ([path, value]) => {
          const answer = await fetch(path, { method: "POST", body: JSON.stringify(value),
            headers: { "Content-Type": "application/json", Accept: "application/json" } });
          return [answer.status, await answer.json()];
        }"""
        return self.page.evaluate(script, [path, value])


@pytest.fixture
def mia(chromium: Any, gateway: Gateway) -> Iterator[Browser]:
    pytest.importorskip("webauthn")
    made = Browser(chromium, gateway, "mia")
    yield made
    made.context.close()


def test_passkey_is_added_signs_in_once_each_and_is_removed(mia: Browser) -> None:
    mia.add("My laptop")
    mia.page.get_by_text("never used").wait_for()
    mia.sign_out()
    mia.press("Sign in with a passkey")
    mia.page.get_by_role("textbox", name="Message").wait_for()
    assert mia.page.locator(".foot [title='web:mia']").count() == 1
    mia.page.goto(f"{mia.url}/settings")
    mia.page.get_by_text("last used").wait_for()

    # A signature works once, and only for the challenge that it signs.
    sign = """async (options) => (await navigator.credentials.get(
      { publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) })).toJSON()"""
    _, options = mia.fetch("/login/passkey/options", {})
    assert options["userVerification"] == "required"
    credential = mia.page.evaluate(sign, options)
    assert mia.fetch("/login/passkey", {"credential": credential})[0] == 200
    status, body = mia.fetch("/login/passkey", {"credential": credential})
    assert (status, body["error"]["code"]) == (400, "expired")
    made_up = {**options, "challenge": "AAAA"}
    status, body = mia.fetch("/login/passkey", {"credential": mia.page.evaluate(sign, made_up)})
    assert (status, body["error"]["code"]) == (400, "expired")

    mia.page.goto(f"{mia.url}/settings")
    mia.press("Remove the passkey My laptop")
    mia.page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    mia.page.get_by_text("The passkey was removed.").wait_for()
    mia.sign_out()
    mia.page.wait_for_timeout(300)
    assert not mia.page.get_by_role("button", name="Sign in with a passkey").is_visible()


def test_signature_without_verification_or_of_a_removed_passkey_is_refused(
    chromium: Any, own_gateway: Gateway
) -> None:
    pytest.importorskip("webauthn")
    own_gateway.configure()  # of its own, as logins are limited per minute
    own_gateway.start()
    ben = Browser(chromium, own_gateway, "ben")
    ben.add("Key")
    _, options = ben.fetch("/login/passkey/options", {})
    ben.verified(False)
    weak = {**options, "userVerification": "discouraged"}
    sign = """async (options) => (await navigator.credentials.get(
      { publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) })).toJSON()"""
    status, body = ben.fetch("/login/passkey", {"credential": ben.page.evaluate(sign, weak)})
    assert (status, body["error"]["code"]) == (401, "bad_passkey")
    ben.verified(True)
    _, options = ben.fetch("/login/passkey/options", {})
    credential = ben.page.evaluate(sign, options)
    ben.page.goto(f"{ben.url}/settings")
    ben.press("Remove the passkey Key")
    ben.page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    ben.page.get_by_text("The passkey was removed.").wait_for()
    assert ben.fetch("/login/passkey", {"credential": credential})[0] == 401
    ben.context.close()


SIGN = """async (options) => (await navigator.credentials.get(
  { publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) })).toJSON()"""


def run(gateway: Gateway, *arguments: str) -> str:
    process = gateway.spawn(*arguments)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, (out, err)
    return str(out)


def test_two_passkeys_of_one_person_are_told_apart_limited_audited_and_end_with_the_person(
    chromium: Any, own_gateway: Gateway
) -> None:
    pytest.importorskip("webauthn")
    own_gateway.configure()
    own_gateway.start()
    ben = Browser(chromium, own_gateway, "ben")
    ben.add("Laptop")
    # The same authenticator makes no second passkey, as it would replace the first.
    ben.page.get_by_label("Name of the new passkey").fill("Again")
    ben.press("Add a passkey")
    ben.page.get_by_text("This device already has a passkey for you.").wait_for()
    laptop = ben.authenticator
    ben.cdp.send("WebAuthn.setAutomaticPresenceSimulation", _enabled(laptop, False))
    made = ben.cdp.send("WebAuthn.addVirtualAuthenticator", {"options": USB})
    ben.add("Key")
    names = ben.page.locator(".passkeys strong").all_inner_texts()
    assert sorted(names) == ["Key", "Laptop"]

    # Signing in with one leaves the other unused.
    _, options = ben.fetch("/login/passkey/options", {})
    by_key = ben.page.evaluate(SIGN, options)
    assert ben.fetch("/login/passkey", {"credential": by_key})[0] == 200
    ben.page.reload()
    rows = ben.page.locator(".passkeys li")
    assert "last used" in rows.filter(has_text="Key").inner_text()
    assert "never used" in rows.filter(has_text="Laptop").inner_text()

    # One that is removed no longer works; the other one does.
    ben.press("Remove the passkey Laptop")
    ben.page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    ben.page.get_by_text("The passkey was removed.").wait_for()
    ben.cdp.send("WebAuthn.setAutomaticPresenceSimulation", _enabled(laptop, True))
    ben.cdp.send(
        "WebAuthn.removeVirtualAuthenticator", {"authenticatorId": made["authenticatorId"]}
    )
    _, options = ben.fetch("/login/passkey/options", {})
    removed = ben.page.evaluate(SIGN, options)
    status, body = ben.fetch("/login/passkey", {"credential": removed})
    assert (status, body["error"]["code"]) == (401, "bad_passkey")

    # Attempts are limited, and say when to try again.
    for _ in range(3):
        assert ben.fetch("/login/passkey", {"credential": removed})[0] == 400
    status, body = ben.fetch("/login/passkey", {"credential": removed})
    assert (status, body["error"]["code"]) == (429, "rate_limited")
    assert "Try again in" in body["error"]["fix"]

    # What was done is in the log of changes.
    owner = chromium.new_context()
    page = owner.new_page()
    code = json.loads(Path(own_gateway.home / "codes.json").read_text())["owner"]
    page.goto(f"{own_gateway.url}/login#{code}")
    page.get_by_role("textbox", name="Message").wait_for()
    page.goto(f"{own_gateway.url}/people/log")
    log = page.locator("main").inner_text()
    for done, times in (("added a passkey", 2), ("removed a passkey", 1)):
        assert log.count(done) == times, log
    assert log.count("signed in with a passkey") == 1
    owner.close()
    ben.context.close()


def _enabled(authenticator: str, enabled: bool) -> dict[str, Any]:
    return {"authenticatorId": authenticator, "enabled": enabled}


def test_passkey_of_a_removed_person_and_an_expired_challenge_are_refused(
    chromium: Any, own_gateway: Gateway
) -> None:
    pytest.importorskip("webauthn")
    own_gateway.configure()
    own_gateway.start(PASSKEY_CHALLENGE_SECONDS="0")
    ben = Browser(chromium, own_gateway, "ben")
    ben.page.goto(f"{ben.url}/settings")
    ben.page.get_by_label("Name of the new passkey").fill("Late")
    ben.press("Add a passkey")
    ben.page.get_by_text("This attempt has expired or was used already. Try again.").wait_for()
    assert ben.page.locator(".passkeys li").count() == 0
    own_gateway.end(own_gateway.running[-1])
    own_gateway.start()
    ben.add("Key")
    ben.sign_out()
    run(own_gateway, "pairing", "revoke", "web:ben")
    ben.press("Sign in with a passkey")
    ben.page.get_by_text("The passkey was not accepted.").wait_for()
    assert ben.page.url.startswith(f"{ben.url}/login")
    ben.context.close()


def test_address_without_a_name_says_where_passkeys_work(window: Any) -> None:
    pytest.importorskip("webauthn")
    one = window().open("/settings")
    one.page.get_by_text("Passkeys need HTTPS and a host name, or http://localhost:").wait_for()
    assert not one.page.get_by_role("button", name="Add a passkey").is_visible()
