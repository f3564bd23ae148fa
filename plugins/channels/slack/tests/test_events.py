"""Events are read, texts are escaped, payloads stay within Slack's limits."""

from __future__ import annotations

import re

import pytest
from hookline_channelkit import SendOptions
from hookline_channelkit.testing import malformed
from hookline_hookspecs import Choice
from hookline_hookspecs.visible_text import spell_out_prose
from hookline_slack import events
from hookline_slack.config import TOKENS, data, manifest_url
from hookline_slack.renderer import payload_of, rendered
from hypothesis import given, settings
from hypothesis import strategies as st

from .fake_rules import GRANTED, PINGS, checked_blocks, checked_text, words_of

ME = "U0BOT"
TEXT = st.text(st.sampled_from("a<>&!@#[]()*_`~|\n :;/.é🙂"), max_size=60) | st.text(max_size=60)


@settings(max_examples=40)
@given(TEXT)
def test_rendered_text_has_no_pings_and_keeps_its_words(text: str) -> None:
    shown = rendered(text)
    assert PINGS.findall(shown) == []
    back = shown.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    plain = re.sub(r"<(https?://[^\s<>]+)>", r"\1", re.sub(r"!(?=\[[^\]\n]*\]\()", "", text))
    plain = spell_out_prose(plain)
    assert back == plain or "&" in text


@settings(max_examples=40)
@given(TEXT.filter(str.strip), st.booleans())
def test_payload_is_within_slack_limits(text: str, rich: bool) -> None:
    post = SendOptions(rich=rich, choices=(Choice("A" * 100), Choice("b", "B & <C>", "danger")))
    fields = payload_of(rendered(text) if rich else text, post)
    checked_text(fields)
    checked_blocks(fields)
    if not rich:
        raw = fields["blocks"][0]["text"]["text"]
        assert raw == text


@settings(max_examples=40)
@given(TEXT, TEXT)
def test_received_text_is_unescaped(before: str, after: str) -> None:
    sent = events.escaped(before) + "<https://a.org|a.org>" + events.escaped(after)
    assert events.plain(sent, ME) == (before + "https://a.org" + after).strip().lstrip(" ,:\n") or (
        before.strip() != before or after.strip() != after or "\n" in before + after
    )


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        (f"<@{ME}> !new", "/new"),
        (f"<@{ME}>: hello", "hello"),
        ("!!! wow", "!!! wow"),
        ("! no", "! no"),
        ("<@U1|ann> and <#C1|room> <!here>", "@ann and #room @here"),
        ("<mailto:a@b.org|a@b.org> <https://x.org|see>", "a@b.org see (https://x.org)"),
        ("a &lt;b&gt; &amp;amp;", "a <b> &amp;"),
    ],
)
def test_message_text_drops_mention_and_reads_commands(sent: str, text: str) -> None:
    event = {"channel": "D1", "ts": "1.000001", "user": "U1", "text": sent}
    assert events.message(event, ME).inbound.text == text


def test_shared_message_names_its_author_and_runs_no_command() -> None:
    shared = {"is_share": True, "author_id": "U2", "author_name": "Carl (x)", "text": "!stop now"}
    event = {"channel": "D1", "ts": "1.000001", "user": "U1", "text": "", "attachments": [shared]}
    found = events.message(event, ME).inbound
    assert (found.text, found.forwarded) == ("!stop now", "Carl x (slack:U2)")
    event["text"] = "look"
    found = events.message(event, ME).inbound
    assert (found.text, found.quoted, found.forwarded) == ("look", "!stop now", "")
    assert [one.source for one in found.origins] == ["quoted from Carl x (slack:U2)"]


@settings(max_examples=40)
@given(st.integers(0, 2**32))
def test_message_with_odd_fields_is_still_read(seed: int) -> None:
    event = {
        "channel": "C1",
        "ts": "5.000001",
        "user": "U1",
        "text": "hi",
        "thread_ts": "4.000001",
        "files": [{"id": "F1", "name": "a.txt", "size": 3}],
    }
    optional = {"text", "thread_ts", "files.name", "files.size"}
    found = events.message(malformed(seed, event, optional.__contains__), ME)
    assert found.inbound.message_id == "C1:5.000001"
    assert found.files[0].ref == "F1"


def test_link_previews_and_own_edits_are_ignored() -> None:
    message = {"ts": "1.000001", "user": "U1", "text": "hi"}
    event = {"channel": "D1", "subtype": "message_changed", "message": message}
    assert events.change(event | {"previous_message": message | {"attachments": []}}, ME) is None
    found = events.change(event | {"previous_message": message | {"text": "ho"}}, ME)
    assert found is not None
    assert (found[1].inbound.kind, found[1].inbound.target) == ("edit", "D1:1.000001")
    gone = event | {"message": message | {"subtype": "tombstone"}, "previous_message": message}
    found = events.change(gone, ME)
    assert found is not None
    assert (found[1].inbound.kind, found[1].inbound.text) == ("delete", "")


def test_manifest_holds_all_needed_scopes() -> None:
    manifest = data("manifest.json")
    granted = manifest["oauth_config"]["scopes"]["bot"]
    assert set(data("scopes.json")) | {"commands", "assistant:write"} == set(granted)
    assert set(GRANTED) <= set(granted)
    assert "app_mention" not in manifest["settings"]["event_subscriptions"]["bot_events"]
    assert manifest_url().startswith("https://api.slack.com/apps?new_app=1&manifest_json=%7B")
    assert words_of({"text": "a &lt;b"}) == "a <b"


@pytest.mark.parametrize("token", ["", "xapp-1", "xoxb-1 2", "xoxb-é"])
def test_invalid_bot_token_is_explained_without_showing_it(token: str) -> None:
    bot_token = TOKENS["bot_token"]
    problem = bot_token.problem(token, "slack") or ""
    assert "SLACK_BOT_TOKEN" in problem
    assert token[5:] == "" or token not in problem
    assert bot_token.problem("xoxb-1-2", "slack") is None


def test_link_that_names_another_host_says_its_own() -> None:
    shown = rendered("[paypal.com](https://evil.example/x) and [docs](https://a.example)")
    assert shown == (
        "[paypal.com](https://evil.example/x) (→ evil.example) and [docs](https://a.example)"
    )
