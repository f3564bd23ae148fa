"""Page paths, pagination, and the client with which tests open pages."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hookline.testing import Harness
from hookline.testing.pages import OPERATOR, PERSON, FakeRequest, PageClient
from hookline_hookspecs import Page, Plugin, Route, hookimpl
from hookline_hookspecs.web import (
    Paging,
    Problem,
    Redirect,
    RequestLike,
    Row,
    SiteRoute,
    Table,
    View,
    build_path,
    identity,
    path_param,
    query_params,
    read_form,
)

MakeHarness = Callable[..., Harness]


def page_request(text: str) -> FakeRequest:
    return FakeRequest({"query_string": text.encode()}, b"")


def test_build_path_quotes_segments_and_query() -> None:
    assert build_path("sessions", "a/b ?") == "/sessions/a%2Fb%20%3F"
    assert build_path("sessions", "telegram:1", q="a&b") == "/sessions/telegram:1?q=a%26b"


def test_pagination_links_keep_the_search() -> None:
    first = Paging.from_request(page_request("q=cats+%26+dogs"), "/x", size=2)
    assert first.slice([1, 2, 3]) == [1, 2]
    more = first.link(3)
    assert more is not None
    assert more.href == "/x?q=cats+%26+dogs&from=2"
    last = Paging.from_request(page_request(more.href.partition("?")[2]), "/x", size=2)
    assert (last.slice([1, 2, 3]), last.link(1)) == ([3], None)


@pytest.mark.parametrize("text", ["from=-1", "from=x", "from=9999999999999", "from=\u0663", ""])
def test_invalid_page_number_is_the_first_page(text: str) -> None:
    assert Paging.from_request(FakeRequest({"query_string": text.encode()}, b""), "/x").offset == 0


def test_person_owns_only_the_chat_with_their_name() -> None:
    assert PERSON.owns("web", "mia")
    for other in ("mia2", "Mia", "x:mia", "mia:", " mia", ""):
        assert not PERSON.owns("web", other)
        assert OPERATOR.may_see("web", other)
    assert not PERSON.owns("telegram", "mia")


def test_query_with_1000_parameters_is_refused() -> None:
    with pytest.raises(Problem) as refused:
        query_params(page_request("&".join(f"n{number}=1" for number in range(1000))))
    assert refused.value.status == 400


class Guests(Plugin):
    """A page and a form."""

    names = ("Ada",)

    @hookimpl
    def register_routes(self, register: Callable[[Route], None]) -> None:
        register(SiteRoute("GET", "/guests", self.page, auth="person", page=Page("Guests")))
        register(Route("POST", "/{name}/rename", self.rename))

    async def page(self, request: RequestLike) -> View:
        return View("Guests", [Table(["Name"], [Row([one]) for one in self.names])])

    async def rename(self, request: RequestLike) -> Redirect:
        self.names = ((await read_form(request))["to"],)
        return Redirect(
            "/guests", f"{path_param(request, 'name')} is renamed by {identity(request).name}."
        )


def test_page_client_opens_pages_and_sends_forms(harness: MakeHarness) -> None:
    site = PageClient(harness(Guests))
    assert "Ada" in site.text(site.get("/guests"))
    done = site.post("/guests/Ada%20L./rename", {"to": "Grace & co"})
    assert done == Redirect("/guests", "Ada L. is renamed by owner.")
    assert "Grace & co" in site.text(site.get("/guests", PERSON))
    for wrong, status in (("/guests/a/b/rename", 404), ("/guests/a/rename", 403)):
        with pytest.raises(Problem) as refused:
            site.post(wrong, {"to": "x"}, PERSON)
        assert refused.value.status == status
