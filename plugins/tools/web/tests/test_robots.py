"""web_fetch obeys robots.txt as RFC 9309 defines it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.matrices import sampled

PLAIN = "text/plain"


@pytest.fixture
def rules(site: Any) -> Callable[..., None]:
    """Says what the site's robots.txt is."""

    def say(text: str | bytes, status: int = 200) -> None:
        site.answers["/robots.txt"] = site.page(text, PLAIN, status)

    site.answers |= {path: site.page("words", PLAIN) for path in ("/", "/a", "/a/b", "/b", "/ü")}
    return say


def asked(site):
    return site.asked.count("/robots.txt")


@sampled(
    ("text", "path", "allowed"),
    [
        ("User-agent: *\nDisallow: /", "/", False),
        ("User-agent: *\nDisallow: /a", "/a", False),
        ("User-agent: *\nDisallow: /a", "/a/b", False),
        ("User-agent: *\nDisallow: /a", "/b", True),
        ("User-agent: *\nDisallow:", "/a", True),
        ("User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b", True),
        ("User-agent: *\nAllow: /a\nDisallow: /a", "/a", True),
        ("User-agent: *\nDisallow: /*b$", "/a/b", False),
        ("User-agent: *\nDisallow: /a$", "/a/b", True),
        ("User-agent: *\nDisallow: /%C3%BC", "/%c3%bc", False),
        ("User-agent: *\nDisallow: /ü", "/%C3%BC", False),
        ("User-agent: Hookline\nDisallow: /a", "/a", False),
        ("user-agent: HOOKLINE\ndisallow: /a", "/a", False),
        ("User-agent: Hookline/1.0\nDisallow: /a", "/a", False),
        ("User-agent: Hook\nDisallow: /a", "/a", True),
        ("User-agent: Hooklines\nDisallow: /a", "/a", True),
        ("User-agent: *\nDisallow: /\n\nUser-agent: hookline\nDisallow: /b", "/a", True),
        ("User-agent: hookline\nDisallow: /b\n\nUser-agent: *\nDisallow: /", "/b", False),
        ("User-agent: other\nUser-agent: hookline\nDisallow: /a", "/a", False),
        ("User-agent: other\nDisallow: /", "/a", True),
        ("User-agent: hookline\nDisallow: /a\nUser-agent: hookline\nDisallow: /b", "/a", False),
        ("\ufeffUser-agent: *\r\nDisallow: /a\r\n", "/a", False),
        ("User-agent: *\rDisallow: /a # why", "/a", False),
        ("Sitemap: x\nUser-agent: *\nCrawl-delay: 5\nDisallow: /a", "/a", False),
        ("<html>not found</html>", "/a", True),
        ("", "/a", True),
        ("Disallow: /", "/a", True),
    ],
)
def test_robots_rules_are_obeyed(web_tools, site, rules, text, path, allowed):
    rules(text)
    found = web_tools.fetch(site.url + path)
    if allowed:
        assert found == "words"
        return
    assert found.startswith(
        f"Denied: {site.url}/robots.txt does not allow Hookline to fetch {path}"
    )
    assert set(site.asked) == {"/robots.txt"}


def test_robots_txt_itself_may_be_read(web_tools, site, rules):
    rules("User-agent: *\nDisallow: /")
    assert web_tools.fetch(f"{site.url}/robots.txt") == "User-agent: *\nDisallow: /"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 429, 451])
def test_missing_robots_txt_allows_everything(web_tools, site, rules, status):
    rules("User-agent: *\nDisallow: /", status)
    assert web_tools.fetch(f"{site.url}/a") == "words"


@pytest.mark.parametrize("status", [500, 502, 503, 504, 599])
def test_server_error_for_robots_txt_forbids_everything(web_tools, site, rules, status):
    rules("", status)
    found = web_tools.fetch(f"{site.url}/a")
    assert found == (
        f"Error: {site.url} was not fetched, because its robots.txt answered {status}; "
        "try again later"
    )
    assert "/a" not in site.asked


def test_unreadable_robots_txt_forbids_everything(web_tools, site, rules):
    site.answers["/robots.txt"] = lambda handler: setattr(handler, "close_connection", True)
    found = web_tools.fetch(f"{site.url}/a")
    assert "its robots.txt could not be read: " in found
    assert "/a" not in site.asked


def test_unreachable_site_is_an_error(web_tools):
    assert "cannot be reached" in web_tools.fetch("http://127.0.0.1:1/")


def test_robots_txt_is_fetched_again_after_a_day(web_tools, site, rules, clock):
    rules("User-agent: *\nDisallow: /a")
    for path in ("/", "/a", "/b"):
        web_tools.fetch(site.url + path)
    web_tools.calls(*(("web_fetch", {"url": f"{site.url}/{n}"}) for n in range(5)))
    assert asked(site) == 1
    clock.ahead(86_000)
    web_tools.fetch(f"{site.url}/")
    assert asked(site) == 1
    rules("")
    clock.ahead(86_500)
    assert web_tools.fetch(f"{site.url}/a") == "words"
    assert asked(site) == 2


def test_robots_txt_is_fetched_again_a_minute_after_an_error(web_tools, site, rules, clock):
    rules("", 503)
    web_tools.fetch(f"{site.url}/a")
    rules("")
    assert web_tools.fetch(f"{site.url}/a").startswith("Error: ")
    clock.ahead(61)
    assert web_tools.fetch(f"{site.url}/a") == "words"


def test_concurrent_calls_fetch_robots_txt_once(web_tools, site, rules):
    rules("User-agent: *\nDisallow: /b")
    paths = ["/", "/a", "/b", "/a/b"]
    found = web_tools.calls(*(("web_fetch", {"url": site.url + path}) for path in paths))
    assert [result.ok for result in found] == [True, True, False, True]
    assert asked(site) == 1


def test_each_site_has_its_own_robots_txt(web_tools, site, rules, make_site):
    other = make_site()
    other.answers |= {"/robots.txt": site.page("User-agent: *\nDisallow: /secret", PLAIN)}
    other.answers |= {"/secret": site.page("secret", PLAIN), "/open": site.page("open", PLAIN)}
    rules("")
    site.answers |= {"/to": site.redirect(f"{other.url}/secret")}
    site.answers |= {"/open": site.redirect(f"{other.url}/open")}
    assert web_tools.fetch(f"{site.url}/to").startswith(
        f"Denied: {other.url}/robots.txt does not allow"
    )
    assert "/secret" not in other.asked
    assert web_tools.fetch(f"{site.url}/open").startswith("open\n")


def test_redirect_within_a_site_is_checked(web_tools, site, rules):
    rules("User-agent: *\nDisallow: /b")
    site.answers["/a"] = site.redirect("/b")
    assert web_tools.fetch(f"{site.url}/a").startswith("Denied: ")
    assert "/b" not in site.asked


@pytest.mark.parametrize(("hops", "allowed"), [(1, False), (5, False), (6, True), (50, True)])
def test_five_redirects_of_robots_txt_are_followed(web_tools, site, rules, hops, allowed):
    """With more it counts as absent (RFC 9309, section 2.3.1.2)."""
    site.answers |= {f"/r{n}": site.redirect(f"/r{n + 1}") for n in range(1, hops)}
    site.answers["/robots.txt"] = site.redirect("/r1")
    site.answers[f"/r{hops}"] = site.page("User-agent: *\nDisallow: /a", PLAIN)
    assert (web_tools.fetch(f"{site.url}/a") == "words") is allowed


def test_redirected_robots_txt_applies_to_the_site(web_tools, site, rules, make_site):
    other = make_site()
    other.answers["/robots.txt"] = site.page("User-agent: *\nDisallow: /a", PLAIN)
    site.answers["/robots.txt"] = site.redirect(f"{other.url}/robots.txt")
    assert web_tools.fetch(f"{site.url}/a").startswith(f"Denied: {site.url}/robots.txt")


def test_robots_txt_at_a_private_address_forbids_everything(web_tools, site, rules):
    site.answers["/robots.txt"] = site.redirect("http://10.0.0.1/robots.txt")
    found = web_tools.fetch(f"{site.url}/a")
    assert "its robots.txt leads to a refused address" in found
    assert "/a" not in site.asked


def test_500_kib_of_robots_txt_are_read(web_tools, site, rules):
    comment = "#" * 99 + "\n"
    rules("User-agent: *\nDisallow: /a\n" + comment * 6_000 + "Disallow: /b")
    assert web_tools.fetch(f"{site.url}/a").startswith("Denied: ")
    assert web_tools.fetch(f"{site.url}/b") == "words"


def test_endless_robots_txt_is_read_to_the_limit(web_tools, site, rules):
    def endless(handler: Any) -> None:
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(b"User-agent: *\nDisallow: /a\n")
        while True:
            handler.wfile.write(b"# comment\n" * 10_000)

    site.answers["/robots.txt"] = endless
    assert web_tools.fetch(f"{site.url}/a").startswith("Denied: ")


@pytest.mark.long
@pytest.mark.parametrize(
    "text",
    [
        "User-agent: a{n}\n" * 25_000 + "Disallow: /x\n" * 8_000,
        "User-agent: *\n" + "Disallow: /" + "a*" * 200_000,
        "User-agent: *\n" + "Disallow: /*a*a*a*a*a*b\n" * 15_000,
        "User-agent: *\n" + "Allow: " + "$" * 200_000,
        "User-agent: *\n" + "Disallow: /" + "%" * 400_000,
        "User-agent: " * 30_000,
    ],
)
def test_hostile_robots_txt_is_parsed_quickly(make_web_tools, site, rules, text):
    lines = [line.replace("{n}", str(n)) for n, line in enumerate(text.split("\n"))]
    rules("\n".join(lines))
    assert make_web_tools(timeout=60).fetch(f"{site.url}/b") == "words"


@pytest.mark.parametrize("body", [bytes(range(256)) * 40, b"\0" * 5_000, b"\xff\xfeU\0s\0"])
def test_binary_robots_txt_has_no_rules(web_tools, site, rules, body):
    rules(body)
    assert web_tools.fetch(f"{site.url}/a") == "words"


def test_robots_check_can_be_switched_off(make_web_tools, site, rules):
    rules("User-agent: *\nDisallow: /")
    assert make_web_tools(robots=False).fetch(f"{site.url}/a") == "words"
    assert asked(site) == 0


def test_user_agent_can_be_configured(make_web_tools, site, rules):
    rules("User-agent: Ours\nDisallow: /a")
    web_tools = make_web_tools(user_agent="Ours/2.0 (+https://example.org/bot)")
    assert web_tools.fetch(f"{site.url}/a").startswith(
        f"Denied: {site.url}/robots.txt does not allow Ours"
    )
    assert web_tools.fetch(f"{site.url}/b") == "words"
    sent = {headers["user-agent"] for headers in site.headers}
    assert sent == {"Ours/2.0 (+https://example.org/bot)"}


def test_number_of_cached_sites_is_limited(web_tools, site, make_site, monkeypatch):
    monkeypatch.setattr("hookline_web.robots.MAX_CACHED_ORIGINS", 2)
    others = [make_site(), make_site()]
    for one in (site, others[0], site, others[0], others[1], site):
        web_tools.fetch(f"{one.url}/")
    assert [asked(one) for one in (site, *others)] == [2, 1, 1]
