"""The chat page: messages, approvals, keyboard, phone, several windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .conftest import COMMAND, Window

New = Callable[..., Window]
PLACE = "document.querySelector('article[data-role=assistant]').getBoundingClientRect().top"


@pytest.mark.slow
def test_reply_is_shown_after_reload(window: New) -> None:
    one = window().open()
    one.say("hello")
    one.settled()
    assert "/chat/" in one.page.url
    shown = one.log.inner_text()
    for piece in ("hello", "Here is what I found", "print('hi')", "two with a link", "310"):
        assert piece in shown
    article = one.log.locator('article[data-role="user"]')
    assert article.get_attribute("data-message").isdigit()
    one.page.reload()
    one.settled()
    assert one.log.inner_text() == shown
    one.page.get_by_role("navigation", name="Main").get_by_role("link", name="Chat").click()
    one.box.wait_for()
    assert one.page.get_by_role("link", name="hello").count() == 1  # the list of recent chats


@pytest.mark.slow
@pytest.mark.parametrize("command", ["/help", "/resume"])
def test_command_in_new_chat_gets_one_reply(window: New, command: str) -> None:
    one = window().open()
    one.box.fill(command)
    one.page.keyboard.press("Escape")  # what is proposed
    one.button("Send").click()
    card = one.log.get_by_role("region", name="Command")
    card.locator(".md").wait_for()
    one.page.wait_for_timeout(1000)  # what would come a second time has come by then
    assert card.count() == 1
    assert card.inner_text().startswith(command)
    assert one.log.locator(".note").count() == 0
    assert one.page.get_by_text("Next:").count() == 0
    shown = one.log.inner_text()
    one.page.reload()
    card.locator(".md").wait_for()
    assert one.log.inner_text() == shown


@pytest.mark.slow
def test_answer_to_question_is_shown_once(window: New) -> None:
    one = window().open()
    inbox = one.page.get_by_role("navigation", name="Main").get_by_role("link", name="Inbox")
    for said, press in (("ask me", "Yes"), ("ask me", "")):
        one.open("/").say(said)
        group = one.page.get_by_role("group", name="Question")
        group.wait_for()
        assert group.get_by_text("Tea?").count() == 1
        inbox.get_by_text("1 open question").wait_for()
        assert one.log.locator(".md").get_by_text("Tea?").count() == 0
        if press:
            group.get_by_role("button", name=press, exact=True).click()
        else:
            one.say("Neither")
        one.settled(2)
        inbox.get_by_text("1 open question").wait_for(state="detached")
        assert one.log.locator(".note").count() == 0
        assert one.log.locator("article[data-role=user]").count() == 2
        assert one.log.locator(".md").get_by_text("Tea?").count() == 1


@pytest.mark.slow
def test_end_of_turn_does_not_move_the_page(window: New) -> None:
    one = window().open()
    one.say("long please")
    answer = one.log.locator('article[data-role="assistant"]').first
    one.until("() => document.querySelector('.live .md p')")
    top = one.page.evaluate(PLACE)
    one.button("Stop").click()
    one.settled()
    assert one.page.evaluate(PLACE) == top
    assert answer.is_visible()


@pytest.mark.slow
def test_new_chat_is_named_during_its_first_turn(window: New) -> None:
    one = window().open()
    one.say("remove it")
    group = one.page.get_by_role("group", name="Approval")
    group.wait_for()
    one.page.get_by_role("heading", name="remove it", exact=True).wait_for()
    here = one.page.get_by_role("link", name="remove it (waiting for your answer)")
    here.wait_for()
    assert here.get_attribute("aria-current") == "page"
    group.get_by_role("button", name="Deny", exact=True).click()
    one.settled()
    assert one.page.get_by_role("link", name="remove it").count() == 1


@pytest.mark.slow
def test_inbox_shows_and_answers_the_approval_of_another_person(window: New) -> None:
    one, other = window().open(), window(name="mia").open()
    one.say("hello")
    one.settled()
    listed = window(like=one).open("/inbox")
    listed.page.get_by_text("No questions are waiting for you.").wait_for()
    other.say("remove it")
    group = listed.page.get_by_role("group", name="Approval")
    group.wait_for()  # without a reload by hand
    assert group.locator("code").inner_text().startswith("rm -rf /tmp/never-there")
    assert "For mia (web page) in chat" in group.inner_text()
    for each in (one, listed):
        link = each.page.get_by_role("navigation", name="Main").get_by_role("link", name="Inbox")
        link.get_by_text("1 open question").wait_for()
        each.until("() => document.title.startsWith('(1) ')")
    assert one.page.get_by_role("group", name="Approval").count() == 0
    theirs = other.page.get_by_role("group", name="Approval")
    theirs.get_by_text("Only an admin can answer this.").wait_for()
    for name in ("Allow once", "Deny"):
        assert theirs.get_by_role("button", name=name).count() == 0
    other.until("() => document.title.startsWith('● waiting')")
    group.get_by_role("button", name="Deny", exact=True).click()
    listed.page.get_by_text("Answered: Deny.").wait_for()
    listed.page.get_by_text("No questions are waiting for you.").wait_for()
    theirs.wait_for(state="detached")
    other.settled()
    for each in (one, listed):
        each.until("() => !document.querySelector('.count') && !/^\\(/.test(document.title)")
    for _ in range(2):
        other.log.get_by_text("owner (web page) denied this.").wait_for()
        assert "Denied" not in one.log.inner_text()
        assert "mia (web page)" not in one.log.inner_text()
        other.page.reload()
        one.page.reload()
        other.settled()
        one.settled()


@pytest.mark.slow
def test_parked_turn_is_stopped_and_its_question_closes_in_every_tab(window: New) -> None:
    one = window().open()
    one.say("remove it")
    group = one.page.get_by_role("group", name="Approval")
    group.wait_for()
    two = window(like=one).open(one.page.url.removeprefix(one.url))
    second = two.page.get_by_role("group", name="Approval")
    second.wait_for()
    one.page.reload()
    group.wait_for()
    one.say("and later this")
    one.log.get_by_text("A question is waiting for an answer").wait_for()
    one.page.get_by_role("list", name="Queued messages").get_by_text("and later this").wait_for()
    two.button("Stop").click()
    for each, shown in ((one, group), (two, second)):
        shown.wait_for(state="detached")
        each.settled()
        text = each.log.inner_text()
        assert text.index("The question was closed.") < text.index("Stopped.")
        assert "and later this" not in text


@pytest.mark.slow
def test_chat_list_names_the_owner_of_each_chat(window: New) -> None:
    one, other = window().open(), window(name="mia").open()
    for each, said in ((one, "of the owner"), (other, "of another")):
        each.say(said)
        each.settled()
    recent = one.page.get_by_role("region", name="Recent")
    recent.get_by_role("link", name="of another mia", exact=True).wait_for()
    assert recent.get_by_role("link", name="of the owner", exact=True).count() == 1
    one.open("/")
    recent.get_by_role("link", name="of another mia", exact=True).click()
    one.page.get_by_text("This chat belongs to mia. To continue it as your own").wait_for()
    assert one.page.locator("header .badge").inner_text() == "mia"
    recent = other.page.get_by_role("region", name="Recent")
    assert recent.get_by_role("link", name="of another", exact=True).count() == 1


@pytest.mark.slow
def test_chat_list_scrolls_to_every_chat(window: New) -> None:
    one = window().open()
    one.page.evaluate("""async () => {
      for (let n = 0; n < 45; n += 1) {
        const body = JSON.stringify({ message_id: crypto.randomUUID(), text: `chat number ${n}` });
        const headers = { "Content-Type": "application/json" };
        const path = `/api/sessions/${crypto.randomUUID()}/messages`;
        await fetch(path, { method: "POST", headers, body });
      }
    }""")
    one.until(
        "() => fetch('/api/sessions?q=chat+number+44').then(r => r.text())"
        ".then(text => text.includes('chat number 44'))"
    )
    one.open("/")
    recent = one.page.get_by_role("region", name="Recent")
    recent.get_by_role("link").nth(39).wait_for()
    bottom = one.page.get_by_role("navigation", name="Main").bounding_box()["y"]
    ends = recent.get_by_role("link").evaluate_all(
        "links => links.map(one => one.getBoundingClientRect().bottom)"
    )
    assert sum(end <= bottom for end in ends) >= 10
    for link in one.page.get_by_role("navigation", name="Main").get_by_role("link").all():
        assert link.evaluate("one => one.firstChild.scrollWidth <= one.firstChild.clientWidth")
    late = recent.get_by_role("link").nth(25)
    name = late.inner_text()
    late.focus()
    one.say("a new one")  # the list is drawn anew
    recent.get_by_role("link", name="a new one").wait_for()
    one.settled()
    recent.get_by_role("link", name=name, exact=True).press("Enter")
    one.page.wait_for_url(lambda url: "/chat/" in url)
    here = recent.get_by_role("link", name=name, exact=True)
    here.wait_for()
    assert here.get_attribute("aria-current") == "page"
    box = here.bounding_box()
    assert box["y"] + box["height"] <= bottom + 1
    recent.get_by_role("link", name="All chats").click()
    one.page.get_by_role("heading", name="Sessions", level=1).wait_for()


@pytest.mark.slow
def test_focus_stays_on_chat_while_list_is_redrawn(window: New) -> None:
    one = window().open()
    one.say("hello")
    one.settled()
    here = one.page.get_by_role("region", name="Recent").get_by_role("link", name="hello").first
    here.focus()
    one.page.evaluate("""() => {
      const headers = { "Content-Type": "application/json" };
      const body = JSON.stringify({ message_id: crypto.randomUUID(), text: "elsewhere" });
      const path = `/api/sessions/${crypto.randomUUID()}/messages`;
      return fetch(path, { method: "POST", headers, body });
    }""")
    one.page.get_by_role("link", name="elsewhere").first.wait_for()
    assert one.page.evaluate("document.activeElement.textContent") == "hello"


@pytest.mark.slow
def test_long_queue_keeps_buttons_in_view(window: New) -> None:
    one = window(360, 640).open()
    one.say("remove it")
    group = one.page.get_by_role("group", name="Approval")
    group.wait_for()
    post = """async session => {
      for (let n = 0; n < 30; n += 1) {
        const body = JSON.stringify({
          message_id: crypto.randomUUID(), text: `later ${n}`, mode: "queue",
        });
        const headers = { "Content-Type": "application/json" };
        await fetch(`/api/sessions/${session}/messages`, { method: "POST", headers, body });
      }
    }"""
    one.page.evaluate(post, one.page.url.rpartition("/")[2])
    one.page.get_by_text("… and 10 more").wait_for()
    deny = group.get_by_role("button", name="Deny", exact=True)
    bottom = one.button("Send").bounding_box()
    assert bottom["y"] + bottom["height"] <= 640
    assert one.page.locator(".queue").bounding_box()["height"] < 40  # the command comes first
    deny.click(timeout=5000)  # it is not covered
    group.wait_for(state="detached")
    one.button("Stop").click()


@pytest.mark.slow
def test_question_answered_in_one_browser_closes_in_the_other(window: New) -> None:
    one = window().open()
    one.say("remove it")
    groups = [one.page.get_by_role("group", name="Approval")]
    groups[0].wait_for()
    other = window().open(one.page.url.removeprefix(one.url))
    groups.append(other.page.get_by_role("group", name="Approval"))
    groups[1].get_by_role("button", name="Deny", exact=True).click()
    for each, group in zip((one, other), groups, strict=True):
        group.wait_for(state="detached")
        each.settled()
        text = each.log.inner_text()
        assert "You denied this." in text
        assert "`" not in text  # what a guard quotes is set in another face
        places = [text.index(one) for one in ("I remove it.", "You denied this.", "Here is what")]
        assert places == sorted(places)
        assert each.log.locator("details.tool.failed").count() == 1
    one.page.reload()
    one.settled()
    one.log.get_by_text("You denied this.").wait_for()
    text = one.log.inner_text()
    places = [text.index(one) for one in ("I remove it.", "You denied this.", "Here is what")]
    assert places == sorted(places)


@pytest.mark.slow
def test_card_title_and_list_show_what_is_hidden(window: New) -> None:
    one = window().open()
    one.say("remove it \u202ehs.txt p\u0430ypal")
    one.page.get_by_role("group", name="Approval").wait_for()
    gist = one.log.locator(".tool .gist").last.inner_text()
    assert gist.startswith("rm -rf /tmp/never-there # U+202E")
    for shown in (one.page.locator("h1.title"), one.page.locator("[data-recent] a").first):
        shown.get_by_text("[U+202E]hs.txt p[U+0430]ypal").wait_for()
    assert "\u202e" not in one.page.locator("body").inner_text()
    assert "\u202e" not in one.page.title()


@pytest.mark.slow
def test_long_command_can_be_read_and_denied_on_a_phone(window: New) -> None:
    one = window(360, 640, has_touch=True, is_mobile=True).open()
    assert not one.box.evaluate("box => box === document.activeElement")  # with its keyboard
    one.say("remove it")
    group = one.page.get_by_role("group", name="Approval")
    group.wait_for()
    code = group.locator("code")
    assert "characters are not shown here" in code.inner_text()
    allows = group.get_by_role("button", name="Allow once", exact=True)
    assert allows.is_disabled()
    assert group.get_by_role("button", name="Deny").is_enabled()
    group.get_by_role("button", name="Show all").click()
    allows.click(trial=True)
    shown = code.inner_text().replace("U+202E", "\u202e")
    assert shown.startswith(COMMAND)
    assert code.locator("mark").first.inner_text().startswith("rm -rf")
    end = code.evaluate(
        """code => {
          code.scrollIntoView({ block: "end" });
          const last = document.createRange();
          const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
          let node; while (walker.nextNode()) node = walker.currentNode;
          last.setStart(node, node.length - 1); last.setEnd(node, node.length);
          const { left, top, right, bottom } = last.getBoundingClientRect();
          const seen = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
          return [last.toString(), code.contains(seen)];
        }"""
    )
    assert end == [shown[-1], True]
    why = group.get_by_text("rm -rf deletes").bounding_box()  # the reason is still in view
    assert group.bounding_box()["y"] < why["y"]
    assert why["y"] + why["height"] < allows.bounding_box()["y"]
    for name in ("Allow once", "Allow in this session", "Allow always", "Deny"):
        box = group.get_by_role("button", name=name, exact=True).bounding_box()
        assert box["x"] >= 0
        assert box["y"] >= 0
        assert box["x"] + box["width"] <= 360
        assert box["y"] + box["height"] <= 640
    assert one.page.evaluate("document.documentElement.scrollWidth") == 360
    group.get_by_role("button", name="Deny").click()
    group.wait_for(state="detached")
    one.settled()
    assert "You denied this." in one.log.inner_text()


@pytest.mark.long
def test_hostile_markdown_stays_text(window: New) -> None:
    one = window().open()
    one.page.evaluate(
        "document.addEventListener('securitypolicyviolation', e => console.error(e.blockedURI))"
    )
    one.say("hostile please")
    one.settled()
    answer = one.log.locator('article[data-role="assistant"]')
    tags = set(answer.evaluate("a => [...a.querySelectorAll('*')].map(e => e.localName)"))
    assert not tags & {"script", "img", "iframe", "style", "svg", "b"}
    hrefs = answer.evaluate("a => [...a.querySelectorAll('a')].map(e => e.href)")
    assert all(
        href.startswith(("https://evil.example/", "https://fine.example/")) for href in hrefs
    )
    text = answer.inner_text()
    assert '<script>document.title = "owned"</script>' in text
    assert "<b onclick=alert(1)>raw</b>" in text
    assert "owned" not in one.page.title()


@pytest.mark.slow
def test_chat_page_works_with_keyboard_only(window: New) -> None:
    one = window().open()
    keys = one.page.keyboard
    keys.type("hello")
    keys.press("Shift+Enter")
    keys.type("again")
    assert one.box.input_value() == "hello\nagain"
    keys.press("Enter")
    one.settled()
    keys.press("Escape")  # leaves nothing; the box keeps what is typed
    one.log.focus()
    keys.press("?")
    dialog = one.page.get_by_role("dialog", name="Keyboard shortcuts")
    dialog.wait_for()
    assert "Go to the latest message" in dialog.inner_text()
    keys.press("Escape")
    keys.press("d")
    turn = one.page.get_by_role("region", name="Turn")
    turn.wait_for()
    keys.press("Escape")
    turn.wait_for(state="detached")
    assert one.page.evaluate("document.activeElement.textContent.trim()") == "Details"
    keys.press("/")
    assert one.box.evaluate("box => box === document.activeElement")
    keys.type("/hel")
    option = one.page.get_by_role("option", name="/help")
    option.wait_for()
    keys.press("Tab")
    keys.press("Enter")
    one.until("() => document.querySelector('.aside')?.innerText.includes('/status')")
    keys.type("remove it")
    keys.press("Enter")
    one.page.get_by_role("group", name="Approval").wait_for()
    keys.press("Shift+Tab")
    assert one.page.evaluate("document.activeElement.textContent.trim()") == "Deny"
    keys.press("Enter")
    one.until("() => document.activeElement === document.querySelector('.composer textarea')")


@pytest.mark.slow
def test_two_tabs_share_one_stream_and_show_the_same(window: New) -> None:
    one = window().open()
    one.say("hello")
    one.settled()
    two = window(like=one).open(one.page.url.removeprefix(one.url))
    two.settled()
    two.say("and again")
    one.settled(2)
    two.settled(2)
    assert one.log.inner_text() == two.log.inner_text()
    assert one.streams
    assert two.streams == []


@pytest.mark.slow
def test_draft_and_file_survive_reload(window: New, tmp_path: Any) -> None:
    note = tmp_path / "note.txt"
    note.write_text("remember the milk")
    one = window().open()
    one.box.fill("read this")
    with one.page.expect_file_chooser() as chooser:
        one.button("Attach").click()
    chooser.value.set_files(note)
    one.button("Remove note.txt").wait_for()
    one.until("() => !document.querySelector('progress')")
    path = one.page.url
    assert path == f"{one.url}/"
    one.button("Send").click()
    one.settled()
    assert "note.txt" in one.log.inner_text()
    one.box.fill("half a thought")
    one.page.reload()
    one.settled()
    assert one.box.input_value() == "half a thought"
