"""The page of people: pairing requests, known people, invitations and devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import Harness
from hookline.testing.pages import OPERATOR, PERSON, PageClient
from hookline_access import AccessControl
from hookline_access.pages import browser_name
from hookline_hookspecs import Plugin, hookimpl
from hookline_hookspecs.plugin import NoConfig
from hookline_hookspecs.web import (
    Device,
    LoginLink,
    Problem,
    Redirect,
    Table,
    View,
    WebChange,
    WebServer,
)

from .conftest import Chats, MakeChats, code_in


class Listener(Plugin[NoConfig]):
    """Stands in for the web server: links, and two browsers."""

    @hookimpl
    def setup(self, host: Any) -> None:
        self.out: list[str] = []
        self.logged_in = [
            Device("device-1", "web:owner", "operator", "Firefox", 1.0, 3.0),
            Device("device-2", "web:mia", "person", "Chromium", 2.0, 2.0),
        ]
        host.services.provide(WebServer, self)

    async def devices(self, person: str | None = None) -> list[Device]:
        return self.logged_in

    async def changes(self, limit: int = 100) -> list[WebChange]:
        said = "POST /api/sessions/0a1b/messages"
        return [
            WebChange(2.0, "web:owner", "device-1", what, 200)
            for what in (*[said] * 20, "POST /plugins/shell/off")
        ][:limit]

    async def link(self, person: str, role: str, by: str = "terminal") -> LoginLink:
        from hookline_hookspecs import HooklineError

        if " " in person or not person:
            raise HooklineError("a name holds no blanks")
        return LoginLink(f"http://x/login#{person}-{role}-{by}", "c", 9e9)

    async def revoke(self, *, device: str | None = None, person: str | None = None) -> int:
        self.out.append(device or person or "")
        return int(device != "gone")


Make = Callable[..., tuple[Chats, PageClient]]


@pytest.fixture
def make_site(chats: MakeChats) -> Make:
    def make(**access: Any) -> tuple[Chats, PageClient]:
        made = chats(Listener, model=["hi"], config={"listener": {}}, **access)
        return made, PageClient(made.h)

    return make


def table(view: View, title: str) -> Table:
    return next(one for one in view.parts if isinstance(one, Table) and one.title == title)


def people(site: PageClient) -> dict[Any, Any]:
    rows = table(site.get("/people"), "People").rows
    return {row.cells[0].id: getattr(row.cells[1], "text", "") for row in rows}


def listener(h: Harness) -> Listener:
    return h.plugin(Listener)


def test_waiting_person_is_let_in_and_may_write(make_site: Make) -> None:
    chats, site = make_site(admins=["fake:boss"])
    assert "No one is waiting" in site.text(site.get("/people"))
    code = code_in(chats.h.run(chats.say("ann", "hello")))
    row = table(site.get("/people"), "Pending requests").rows[0]
    assert row.cells[0].id == "fake:ann"
    let_in = row.actions[0]
    assert let_in.fields == {"code": code}
    assert site.post(let_in.path, dict(let_in.fields)).message == "ann (Fake) can write now."
    assert people(site) == {"fake:boss": "Admin", "fake:ann": "Member"}
    assert chats.h.run(chats.say("ann", "hello")) == "hi"
    assert site.post("/people/approve", {"code": "BBBBBBBB"}).tone == "warning"
    assert "let in as Member by owner (web page)" in site.text(site.get("/people/log"))


def test_person_can_be_made_admin_blocked_and_removed(make_site: Make) -> None:
    chats, site = make_site(admins=["fake:boss"])
    mia = {"person": "web:mia"}
    site.post("/people/approve", mia)
    site.post("/people/approve", {**mia, "role": "admin"})
    assert people(site)["web:mia"] == "Admin"
    site.post("/people/approve", mia)
    assert people(site)["web:mia"] == "Member"
    assert "blocked" in site.post("/people/block", mia).message
    assert people(site)["web:mia"] == "Blocked"
    assert site.post("/people/approve", mia).tone == "warning"
    assert site.post("/people/forget", mia).tone == "good"
    assert "web:mia" not in people(site)
    assert listener(chats.h).out == ["web:mia", "web:mia"]
    assert site.post("/people/forget", mia).tone == "warning"


def test_operator_cannot_remove_themselves_or_config_entries(make_site: Make) -> None:
    _, site = make_site(admins=["fake:boss", "web:owner"])
    for person in ("web:owner", "fake:boss"):
        for path in ("/people/block", "/people/forget"):
            assert site.post(path, {"person": person}).tone == "bad"
    assert people(site) == {"fake:boss": "Admin", "web:owner": "Admin"}
    for wrong in ("", "x", "a:*", "web:"):
        with pytest.raises(Problem) as refused:
            site.post("/people/block", {"person": wrong})
        assert refused.value.status == 400


def test_invitation_is_shown_once_and_a_wrong_name_is_returned(make_site: Make) -> None:
    _, site = make_site(admins=["fake:boss"])
    view = site.post("/people/invite", {"name": "mia", "role": "person"})
    assert "http://x/login#mia-person-web:owner" in site.text(view)
    for name in ("", "a b"):
        view = site.post("/people/invite", {"name": name, "role": "person"})
        assert isinstance(view, View)
        assert view.status == 422
        assert "A name holds no blanks." in site.text(view)


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0 Safari/537.36", "Chrome on Linux"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Safari/604.1", "Safari on iPhone"),
        ("Mozilla/5.0 (Windows NT 10.0) Chrome/140.0 Safari/537.36 Edg/140.0", "Edge on Windows"),
        ("curl/8", "curl/8"),
        ("", "unknown"),
    ],
)
def test_browser_has_a_readable_name(agent: str, name: str) -> None:
    assert browser_name(agent) == name


def test_browser_can_be_logged_out(make_site: Make) -> None:
    chats, site = make_site(admins=["fake:boss"])
    rows = table(site.get("/people"), "Signed-in browsers").rows
    assert rows[0].cells[2] == "Firefox (this one)"
    action = rows[1].actions[0]
    assert site.post(action.path, dict(action.fields)) == Redirect("/people", "Signed out.")
    assert site.post("/people/log-out", {"device": "gone"}).tone == "warning"
    assert listener(chats.h).out == ["device-2", "gone"]


def test_log_lists_decisions_without_message_text(make_site: Make) -> None:
    _, site = make_site(admins=["fake:boss"])
    rows = table(site.get("/people"), "Recent activity").rows
    assert [row.cells[2] for row in rows] == ["POST /plugins/shell/off"]


def test_page_is_for_the_operator_and_viewing_writes_nothing(make_site: Make) -> None:
    _, site = make_site(admins=["fake:boss"], allow=["fake:*"])
    before = site.stored()
    for path in ("/people", "/people/log", "/people?from=50"):
        site.get(path, OPERATOR)
        with pytest.raises(Problem) as refused:
            site.get(path, PERSON)
        assert refused.value.status == 403
    assert site.stored() == before


def test_invitations_are_not_offered_without_a_web_server(harness: Any) -> None:
    site = PageClient(harness(AccessControl))
    assert "Invite" not in site.text(site.get("/people"))
    with pytest.raises(Problem):
        site.post("/people/invite", {"name": "mia"})


def test_roles_are_shown_in_words(make_site: Make) -> None:
    _, site = make_site()
    view = site.get("/people")
    text = site.text(view)
    assert "Talk to the agent; see, rename and delete one's own chats" in text
    roles = [row.cells[1] for row in table(view, "Signed-in browsers").rows]
    assert roles == ["Admin", "Member"]
    invited = site.text(site.post("/people/invite", {"name": "mia", "role": "person"}))
    assert "gives the role Member" in invited
