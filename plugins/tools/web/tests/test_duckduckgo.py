"""Search with DuckDuckGo, whose page on loopback refuses what the real one refuses."""

from __future__ import annotations

import html
from urllib.parse import parse_qsl, quote

import pytest
from hookline_web.search import engine_query

from .conftest import ROWS, page

VQD = "4-123456789"
PAGE_RESULTS = 12
YES = "Yes, search with DuckDuckGo"


def results_page(first: int) -> str:
    """A page of results from number ``first`` on, as html.duckduckgo.com writes it."""
    ad = (
        '<div class="result results_links result--ad"><a class="result__a" '
        'href="https://duckduckgo.com/y.js?ad_domain=shop.example">Buy tea</a></div>'
    )
    rows = "".join(
        '<div class="result results_links results_links_deep web-result">'
        f'<h2 class="result__title"><a rel="nofollow" class="result__a" href="'
        f'//duckduckgo.com/l/?uddg={quote(url, "")}&amp;rut=abc">{title}</a></h2>'
        f'<a class="result__snippet" href="#">{text}</a></div>'
        for title, url, text in ROWS[first : first + PAGE_RESULTS]
    )
    fields = {"q": "tea", "s": str(first + PAGE_RESULTS), "o": "json", "vqd": VQD, "dc": "13"}
    hidden = "".join(
        f'<input type="hidden" name="{name}" value="{html.escape(value)}">'
        for name, value in fields.items()
    )
    return (
        '<html><body><form action="/html/" method="post"><input name="q" value="tea"></form>'
        f'<div id="links" class="results">{ad}{rows}</div>'
        f'<div class="nav-link"><form action="/html/" method="post">{hidden}</form></div></html>'
    )


def duckduckgo(handler):
    """The search page: form fields by POST, and ``vqd`` for every page but the first."""
    given = dict(parse_qsl(handler.sent.decode(), keep_blank_values=True))
    if handler.command != "POST" or not given.get("q"):
        return page("<html><body>DuckDuckGo</body></html>", status=400)
    if given["q"] == "nothing":
        return page('<div class="no-results">No results.</div>')
    if given.get("s") and given.get("vqd") != VQD:
        return page("forbidden", status=403)
    return page(results_page(int(given.get("s") or 0)))


@pytest.fixture
def search_page(site):
    """The settings with which the plugin uses the search page, and its site."""
    site.answers["/html/"] = duckduckgo
    return {"duckduckgo_base_url": f"{site.url}/html"}, site


def search(make_web_tools, settings, query="tea", **arguments):
    web_tools = make_web_tools(search="duckduckgo", **settings)
    return web_tools.call("web_search", query=query, **arguments)


def test_results_are_listed_without_advertisements(make_web_tools, search_page):
    found = search(make_web_tools, search_page[0]).text.split("\n\n")
    assert found[0] == "1. https://example.org/1\nTitle 1 & more\nText 1"
    assert len(found) == 5
    assert "shop.example" not in "".join(found)


def test_second_page_is_asked_with_its_token(make_web_tools, search_page):
    settings, site = search_page
    assert len(search(make_web_tools, settings, limit=20).text.split("\n\n")) == 20
    assert len(site.asked) == 2


def test_no_result_says_so(make_web_tools, search_page):
    text = search(make_web_tools, search_page[0], "nothing").text
    assert text == "DuckDuckGo found nothing for: nothing"


@pytest.mark.parametrize("status", [202, 403, 418, 429])
def test_refusal_is_an_error_that_says_what_to_do(make_web_tools, search_page, status):
    settings, site = search_page
    site.answers["/html/"] = page("<html>anomaly</html>", status=status)
    result = search(make_web_tools, settings)
    assert not result.ok
    assert result.text == f"Error: DuckDuckGo refused the search ({status}); try again later."


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('<div class="anomaly-modal__mask anomaly-modal">', "as automated"),
        ("<html><body>something else</body></html>", "no list of results"),
        ("", "empty page"),
    ],
)
def test_page_without_results_is_an_error(make_web_tools, search_page, body, words):
    settings, site = search_page
    site.answers["/html/"] = page(body)
    assert words in search(make_web_tools, settings).text


def test_first_page_is_kept_if_the_second_is_refused(make_web_tools, search_page):
    settings, site = search_page

    def stale(handler):
        answer = duckduckgo(handler)
        return answer[0], answer[1], answer[2].replace(VQD.encode(), b"4-stale")

    site.answers["/html/"] = stale
    assert len(search(make_web_tools, settings, limit=20).text.split("\n\n")) == PAGE_RESULTS


def test_requests_pass_the_guard(make_web_tools, search_page):
    settings, site = search_page
    web_tools = make_web_tools(core={}, search="duckduckgo", **settings)
    assert not web_tools.call("web_search", query="tea").ok
    assert site.asked == []


def test_person_is_asked_once_when_a_search_engine_is_opened(make_web_tools, search_page):
    settings, site = search_page
    web_tools = make_web_tools(**settings)
    web_tools.harness.answers[:] = [YES]
    for words in ("green+tea", "black+tea"):
        text = web_tools.fetch(f"https://www.google.com/search?q={words}&hl=en")
        assert text.startswith("1. https://example.org/1\n")
        assert "Note: these are DuckDuckGo's results" in text
    assert [question.kind for question in web_tools.harness.questions] == ["trust"]
    assert len(site.asked) == 2


def test_refusal_is_remembered(make_web_tools, search_page, site):
    settings, _ = search_page
    web_tools = make_web_tools(core={"network.block_hosts": ["duckduckgo.com"]}, **settings)
    web_tools.harness.answers[:] = ["No"]
    for _ in range(2):
        assert "duckduckgo.com" in web_tools.fetch("https://duckduckgo.com/?q=tea")
    assert len(web_tools.harness.questions) == 1
    assert site.asked == []


@pytest.mark.parametrize(
    ("url", "query"),
    [
        ("https://www.google.com/search?q=a+b", "a b"),
        ("https://google.de/search?hl=de&q=tee", "tee"),
        ("https://duckduckgo.com/?q=tea", "tea"),
        ("https://html.duckduckgo.com/html/?q=tea", "tea"),
        ("https://www.bing.com/search?q=tea", "tea"),
        ("https://search.brave.com/search?q=tea", "tea"),
        ("https://google.com.evil.example/search?q=tea", ""),
        ("https://developers.google.com/search?q=tea", ""),
        ("https://duckduckgo.com/about?q=x", ""),
        ("https://www.google.com/search", ""),
        ("http://[", ""),
    ],
)
def test_search_engine_is_recognized_by_its_address(url, query):
    assert engine_query(url) == query
