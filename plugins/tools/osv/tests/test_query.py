"""Queries: ecosystems, package names, versions, and failures of the service."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest
import yaml
from hookline.testing import Harness, calls
from hookline_hookspecs import ToolResult
from hookline_osv import Osv
from hypothesis import given
from hypothesis import strategies as st
from support.matrices import sampled

Check = Callable[..., ToolResult]
DATA = yaml.safe_load(files("hookline_osv").joinpath("ecosystems.yaml").read_text("utf-8"))
NAMES = {
    "npm": "lodash",
    "PyPI": "requests",
    "crates.io": "serde_json",
    "RubyGems": "nokogiri",
    "Maven": "org.apache.logging.log4j:log4j-core",
    "NuGet": "Newtonsoft.Json",
    "Packagist": "symfony/http-kernel",
    "Hex": "plug_cowboy",
    "Pub": "http",
    "Go": "golang.org/x/net",
}
SPELLINGS = [
    (spelling, key)
    for key, row in DATA.items()
    for spelling in (key, key.lower(), key.upper(), f" {key} ", *row["aliases"])
]


@pytest.mark.long
@sampled(("spelling", "key"), SPELLINGS)
def test_ecosystem_spellings_are_mapped_to_the_services_name(
    osv: Any, check: Check, spelling: str, key: str
) -> None:
    assert check(NAMES[key], spelling).ok
    assert osv.asked[-1]["package"] == {"name": NAMES[key], "ecosystem": key}


def test_ecosystem_table_has_the_documented_ecosystems() -> None:
    assert set(DATA) == set(NAMES)


@pytest.mark.parametrize(
    ("asked", "meant"), [("pypy", "PyPI"), ("carg", "crates.io"), ("composr", "Packagist")]
)
def test_unknown_ecosystem_error_names_the_nearest(
    osv: Any, check: Check, asked: str, meant: str
) -> None:
    result = check("x", asked)
    assert not result.ok
    assert f"did you mean {meant}?" in result.text
    assert not osv.asked


def test_unrecognisable_ecosystem_error_lists_all(check: Check) -> None:
    text = check("x", "zzzzzz").text
    assert "did you mean" not in text
    assert all(key in text for key in NAMES)


@pytest.mark.long
@pytest.mark.parametrize(
    ("ecosystem", "written", "sent"),
    [
        ("PyPI", "Foo__Bar.baz", "foo-bar-baz"),
        ("PyPI", "requests[socks]", "requests"),
        ("npm", "@babel/core", "@babel/core"),
        ("npm", "JSONStream", "JSONStream"),
        ("Packagist", "Symfony/HTTP-Kernel", "symfony/http-kernel"),
        ("Go", "github.com/Masterminds/semver/v3", "github.com/Masterminds/semver/v3"),
        ("Go", "gopkg.in/yaml.v3", "gopkg.in/yaml.v3"),
        ("Go", "stdlib", "stdlib"),
        ("RubyGems", "  rails ", "rails"),
        ("NuGet", "Newtonsoft.Json", "Newtonsoft.Json"),
    ],
)
def test_package_names_are_normalised_for_their_ecosystem(
    osv: Any, check: Check, ecosystem: str, written: str, sent: str
) -> None:
    assert check(written, ecosystem).ok
    assert osv.asked[-1]["package"]["name"] == sent


@pytest.mark.parametrize(
    ("ecosystem", "name", "form"),
    [
        ("Maven", "log4j-core", "group:artifact"),
        ("Maven", "a:b:1.0", "group:artifact"),
        ("npm", "lodash@4.17.15", "the version is a separate argument"),
        ("npm", "@babel", "@scope/name"),
        ("npm", "a/b", "@scope/name"),
        ("PyPI", "requests==2.0", "the version is a separate argument"),
        ("PyPI", "-x", "letters, digits"),
        ("crates.io", "9lives", "letters, digits"),
        ("Packagist", "monolog", "vendor/name"),
        ("Hex", "plug-cowboy", "letters, digits and _"),
        ("Go", "net", "the module's path"),
        ("Go", "golang.org/x/net@v0.1.0", "the module's path"),
        ("npm", "", "name or @scope/name"),
        ("npm", "x" * 301, "name or @scope/name"),
        ("npm", "a\nb", "name or @scope/name"),
    ],
)
def test_wrong_package_name_error_shows_the_right_form(
    osv: Any, check: Check, ecosystem: str, name: str, form: str
) -> None:
    result = check(name, ecosystem)
    assert not result.ok
    assert form in result.text
    assert not osv.asked


@pytest.mark.long
@pytest.mark.parametrize(
    ("ecosystem", "written", "sent"),
    [
        ("Go", "v0.17.0", "0.17.0"),
        ("Go", "0.17.0", "0.17.0"),
        ("npm", "1.0.0-rc.1+build", "1.0.0-rc.1+build"),
        ("PyPI", "1!2.0.post1", "1!2.0.post1"),
        ("Packagist", "v1.2.3", "v1.2.3"),
        ("npm", " 1.0.0 ", "1.0.0"),
        ("npm", "", None),
    ],
)
def test_version_is_sent_exactly(
    osv: Any, check: Check, ecosystem: str, written: str, sent: str | None
) -> None:
    assert check(NAMES[ecosystem], ecosystem, written).ok
    assert osv.asked[-1].get("version") == sent


@pytest.mark.parametrize("version", ["^1.2.3", ">=1.0", "latest", "*", "1.0 || 2.0", "1" * 129])
def test_version_range_is_refused(osv: Any, check: Check, version: str) -> None:
    result = check("lodash", "npm", version)
    assert not result.ok
    assert "exact version" in result.text
    assert not osv.asked


@given(
    package=st.text(max_size=20),
    ecosystem=st.sampled_from(sorted(DATA)) | st.text(max_size=8),
    version=st.none() | st.text(max_size=10),
)
def test_any_arguments_give_a_result_or_an_error_sentence(
    osv: Any, check: Check, package: str, ecosystem: str, version: str | None
) -> None:
    before = len(osv.asked)
    result = check(package, ecosystem, version)
    assert result.ok == (len(osv.asked) == before + 1)
    assert result.ok or result.text.startswith("Error: ")
    assert "refused the query" not in result.text


@pytest.mark.long
@sampled(
    ("status", "headers", "body", "words"),
    [
        (400, {}, b'{"code":3,"message":"invalid\\nquery"}', "refused the query: invalid query"),
        (400, {}, b"<html>", "refused the query: no reason given"),
        (404, {}, b"{}", "check plugins.osv.base_url"),
        (429, {"retry-after": "17"}, b"", "try again in 17 s"),
        (429, {"retry-after": "Wed, 21 Oct"}, b"", "try again in a minute"),
        (500, {}, b"", "OSV failed (500)"),
        (503, {}, b"busy", "OSV failed (503)"),
        (302, {"location": "http://127.0.0.1:1/"}, b"", "answered 302"),
        (200, {}, b"<html>", "not return an OSV answer"),
        (200, {}, b"[]", "not return an OSV answer"),
        (200, {}, b'{"vulns": "many"}', "not return an OSV answer"),
        (200, {}, b"\xff\xfe{", "not return an OSV answer"),
        (200, {}, b"[" * 100_000, "not return an OSV answer"),
    ],
)
def test_service_failure_is_an_error_not_a_clean_result(
    osv: Any, check: Check, status: int, headers: dict[str, str], body: bytes, words: str
) -> None:
    osv.next.append((status, headers, body))
    result = check("lodash", "npm", "4.17.15")
    assert not result.ok
    assert result.text.startswith("Error: ")
    assert words in result.text
    assert check("lodash", "npm", "4.17.15").ok


def test_failure_on_a_later_page_fails_the_call(osv: Any, check: Check) -> None:
    osv.endless = True
    osv.next += [(200, {}, b'{"vulns": [], "next_page_token": "at-0"}'), (500, {}, b"")]
    assert "OSV failed (500)" in check("lodash", "npm", "4.17.15").text


def test_foreign_page_token_is_refused_by_the_service(osv: Any, check: Check) -> None:
    osv.next.append((200, {}, b'{"next_page_token": "elsewhere"}'))
    assert "refused the query: invalid cursor" in check("lodash", "npm", "4.17.15").text


def test_unresponsive_service_times_out(osv: Any, check: Check) -> None:
    osv.stall = True
    result = check("lodash", "npm", "4.17.15", timeout_seconds=0.2)
    assert not result.ok
    assert "took longer than 0.2 s" in result.text


def test_unreachable_service_is_an_error(check: Check) -> None:
    result = check("lodash", "npm", base_url="http://127.0.0.1:9")
    assert not result.ok
    assert "http://127.0.0.1:9/v1/query cannot be reached" in result.text


def test_public_service_is_queried_through_the_guarded_client(
    harness: Callable[..., Harness],
) -> None:
    steps = [calls("osv_check", package="lodash", ecosystem="npm"), "done"]
    h = harness(Osv, core={"network.block_hosts": ["api.osv.dev"]}, model=steps)
    text = h.send("check").tool_calls[0].text
    assert text.startswith("Denied: ")
    assert "api.osv.dev" in text


@pytest.mark.parametrize("url", ["api.osv.dev", "ftp://x", "https://", "http://x/?q=1"])
def test_invalid_base_url_switches_the_plugin_off(
    harness: Callable[..., Harness], url: str
) -> None:
    h = harness(Osv, config={"base_url": url}, strict=False)
    state, reason = h.states()["osv"]
    assert state == "failed"
    assert "base_url" in reason
