"""web_search with fake services on loopback that are as strict as the real ones."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from hookline_hookspecs import Check, Context, Deny, Excerpt, Plugin, hookimpl
from support.matrices import sampled

FIRST = "1. https://example.org/1\nTitle 1 & more\nText 1"


def search(make_web_tools, service, query="tea", core=None, **arguments):
    return make_web_tools(core=core or {}, **service.config).call(
        "web_search", query=query, **arguments
    )


# --- ordinary use -------------------------------------------------------------------------------


def test_results_are_listed(make_web_tools, service):
    """The service is the operator's: it is reached although it lies on loopback."""
    text = search(make_web_tools, service).text
    entries = text.split("\n\n")
    assert entries[0] == FIRST
    assert len(entries) == 5
    assert entries[4].startswith("5. ")


@pytest.mark.long
@pytest.mark.parametrize(("limit", "count"), [(1, 1), (20, 20), (99, 20), (0, 1), (-3, 1)])
def test_number_of_results_is_bounded(make_web_tools, service, limit, count):
    text = search(make_web_tools, service, limit=limit).text
    assert len(text.split("\n\n")) == count


def test_empty_result_says_so(make_web_tools, service):
    text = search(make_web_tools, service, "nothing").text
    assert text == f"{service.title} found nothing for: nothing"


@pytest.mark.long
@pytest.mark.parametrize("query", ["C++ & #tags?", "größe 茶", "a=b&count=99", '"x" site:a.org'])
def test_query_arrives_unchanged(make_web_tools, service, query):
    assert search(make_web_tools, service, f"  {query}\n").ok
    if service.name == "tavily":
        return
    from urllib.parse import parse_qs, urlsplit

    assert parse_qs(urlsplit(service.site.asked[-1]).query)["q"] == [query]


def test_base_url_may_have_a_path_and_a_final_slash(make_web_tools, service):
    key = f"{service.name}_base_url"
    service.site.answers[f"/sub{service.path}"] = service.site.answers[service.path]
    service.config[key] += "/sub/"
    assert search(make_web_tools, service).text.startswith(FIRST)


# --- the choice ---------------------------------------------------------------------------------


def offered(web_tools):
    web_tools.harness.model.steps[:] = ["done"]
    web_tools.harness.send("hello")
    return [tool.name for tool in web_tools.harness.model.last.tools]


def doctor(web_tools):
    found: list[Check] = []
    runtime = web_tools.harness.run(web_tools.harness.aopen())
    runtime.bus.gather("register_checks", lambda _: found.append)
    return found[0].run()


def test_tool_is_not_offered_without_a_service(make_web_tools):
    web_tools = make_web_tools()
    assert offered(web_tools) == ["web_fetch"]
    result = doctor(web_tools)
    assert result.hint
    assert "no search service is configured" in result.detail
    assert "SEARXNG_BASE_URL" in result.fix


def test_search_can_be_switched_off(make_web_tools, monkeypatch):
    monkeypatch.setenv("BRAVE_API_KEY", "k")
    web_tools = make_web_tools(search="none")
    assert offered(web_tools) == ["web_fetch"]
    assert doctor(web_tools).ok


@pytest.mark.parametrize("name", ["searxng", "brave", "tavily"])
def test_doctor_fails_for_an_incomplete_service(make_web_tools, name):
    web_tools = make_web_tools(search=name)
    assert offered(web_tools) == ["web_fetch"]
    result = doctor(web_tools)
    assert not result.ok
    assert not result.hint
    assert f"search: {name} needs" in result.detail


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"SEARXNG_BASE_URL": "http://s", "BRAVE_API_KEY": "b"}, "SearXNG"),
        ({"BRAVE_API_KEY": "b", "TAVILY_API_KEY": "t"}, "Brave"),
        ({"TAVILY_API_KEY": " t "}, "Tavily"),
        ({"SEARXNG_BASE_URL": "localhost:8888", "TAVILY_API_KEY": "t"}, "Tavily"),
        ({"BRAVE_API_KEY": "  ", "TAVILY_API_KEY": "t"}, "Tavily"),
    ],
)
def test_environment_chooses_the_service(make_web_tools, monkeypatch, variables, expected):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    web_tools = make_web_tools()
    assert offered(web_tools) == ["web_fetch", "web_search"]
    assert doctor(web_tools).detail == f"search service: {expected}"


def test_key_may_come_from_the_environment(make_web_tools, make_service, monkeypatch):
    service = make_service("brave")
    monkeypatch.setenv("BRAVE_API_KEY", service.config.pop("brave_api_key"))
    assert search(make_web_tools, service).text.startswith(FIRST)


def test_key_may_come_from_the_env_file(make_web_tools, make_service, monkeypatch):
    service = make_service("brave")
    key = service.config.pop("brave_api_key")
    web_tools = make_web_tools(**service.config)
    web_tools.harness.home.mkdir(parents=True)
    (web_tools.harness.home / ".env").write_text(f"BRAVE_API_KEY={key}\n", "utf-8")
    assert offered(web_tools) == ["web_fetch", "web_search"]


def test_config_wins_over_the_environment(make_web_tools, make_service, monkeypatch):
    monkeypatch.setenv("TAVILY_API_KEY", "wrong")
    assert search(make_web_tools, make_service("tavily")).ok


# --- what goes wrong ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["brave", "tavily"])
@pytest.mark.parametrize("key", ["wrong-key-5678", "ключ"])
def test_wrong_key_is_an_error_without_the_key(make_web_tools, make_service, name, key, caplog):
    caplog.set_level(logging.DEBUG)
    service = make_service(name)
    service.config[f"{name}_api_key"] = key
    text = search(make_web_tools, service).text
    assert text.startswith(f"Error: {service.title} ")
    if key.isascii():
        assert "its key is missing or wrong" in text
    assert key not in text + caplog.text


def test_searxng_without_json_explains_how_to_enable_it(make_web_tools, make_service):
    service = make_service("searxng")
    service.answers(service.site.page("Forbidden", status=403))
    assert "add json to search.formats" in search(make_web_tools, service).text


@pytest.mark.long
@pytest.mark.parametrize(
    ("status", "words"),
    [(401, "its key is missing or wrong"), (404, "404"), (418, "418"), (500, "service failed"),
     (503, "service failed"), (301, "301"), (204, "204")],
)  # fmt: skip
def test_error_status_has_a_reason(make_web_tools, service, status, words):
    service.answers((status, {"Location": "/elsewhere"} if status == 301 else {}, b""))
    result = search(make_web_tools, service)
    assert result.text.startswith(f"Error: {service.title} answered {status}: ")
    assert words in result.text
    assert "/elsewhere" not in service.site.asked


@pytest.mark.parametrize("status", [432, 433])
def test_exhausted_quota_is_an_error(make_web_tools, make_service, status):
    service = make_service("tavily")
    service.answers((status, {}, b"{}"))
    assert "used up" in search(make_web_tools, service).text


@pytest.mark.parametrize(
    ("headers", "words"),
    [({"Retry-After": "7"}, "; try again in 7 s"), ({}, "; try again later"),
     ({"Retry-After": "rm -rf"}, "; try again later")],
)  # fmt: skip
def test_rate_limit_error_says_when_to_try_again(make_web_tools, service, headers, words):
    service.answers((429, headers, b"{}"))
    text = search(make_web_tools, service).text
    assert text == f"Error: {service.title}: too many requests (429){words}."


@pytest.mark.long
@sampled(
    "body",
    [b"", b"{", b"[]", b"null", b"5", b'"x"', b"<html>", b"\xff\xfe", b"[" * 100_000,
     b'{"results": 5, "web": 5}', b'{"results": {}, "web": {"results": {}}}', b"{}"],
)  # fmt: skip
def test_malformed_responses_are_an_error(make_web_tools, service, body):
    service.answers(service.site.page(body, "application/json"))
    result = search(make_web_tools, service)
    assert not result.ok
    assert result.text.startswith(f"Error: {service.title} answered ")


def row(**fields: Any) -> bytes:
    rows = [None, 5, "x", [], {}, fields, {"url": "https://example.org/ok", "title": "ok"}]
    value = {"type": "search", "results": rows, "web": {"results": rows}}
    return json.dumps(value).encode()


@sampled(
    "fields",
    [{"url": "javascript:alert(1)", "title": "x"}, {"url": 5}, {"url": None, "title": "t"},
     {"url": "file:///etc/passwd"}, {"url": "https://"}, {"url": "https://x/" + "a" * 3_000},
     {"title": "no url"}, {"url": "https://example.org/ok", "title": "again"}],
)  # fmt: skip
def test_invalid_rows_are_left_out(make_web_tools, service, fields):
    service.answers(service.site.page(row(**fields), "application/json"))
    text = search(make_web_tools, service).text
    assert text.count("https://") == 1
    assert text.startswith("1. https://example.org/ok\n")


def test_long_texts_with_markup_are_bounded(make_web_tools, service):
    fields = {"url": "https://example.org/1", "title": "<b>t</b>" * 9_000}
    fields |= {"content": "x <i>y</i>\n" * 20_000, "description": "x <i>y</i>\n" * 20_000}
    service.answers(service.site.page(row(**fields), "application/json"))
    entry = search(make_web_tools, service).text.split("\n\n")[0]
    _, title, snippet = entry.split("\n")
    assert (title[:3], snippet[:7]) == ("ttt", "x y x y")
    assert len(title) == 200
    assert 490 < len(snippet) <= 500
    assert "<" not in entry


def test_endless_response_is_cut_off(make_web_tools, service):
    def endless(handler: Any) -> None:
        handler.send_response(200)
        handler.end_headers()
        while True:
            handler.wfile.write(b" " * 100_000)

    service.answers(endless)
    assert "more than 2,000,000 bytes" in search(make_web_tools, service).text


def test_slow_service_times_out(make_web_tools, service, monkeypatch):
    monkeypatch.setattr("hookline_web.search.request.SEARCH_TIMEOUT", 0.3)
    service.answers(lambda handler: handler.server.released.wait(60) and None)
    assert "took longer than 0.3 s" in search(make_web_tools, service).text


def test_unreachable_service_is_an_error(make_web_tools, service):
    service.config[f"{service.name}_base_url"] = "http://127.0.0.1:1"
    assert search(make_web_tools, service).text.startswith(
        f"Error: {service.title} cannot be reached"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [({}, "needs the argument 'query'"), ({"query": ""}, "empty"), ({"query": " \n"}, "empty"),
     ({"query": "x" * 401}, "too long"), ({"query": "x " * 51}, "too long"),
     ({"query": None}, "'query'"), ({"query": ["a"]}, "'query'"),
     ({"query": "a", "limit": "many"}, "'limit'"), ({"query": "a", "limit": 1.5}, "'limit'"),
     ({"query": "a", "limt": 3}, "did you mean 'limit'")],
)  # fmt: skip
def test_wrong_arguments_are_an_error(make_web_tools, make_service, arguments, words):
    service = make_service("searxng")
    result = make_web_tools(**service.config).call("web_search", **arguments)
    assert not result.ok
    assert words in result.text
    assert service.site.asked == []


class Gate(Plugin):
    """Refuses one result."""

    @hookimpl
    def pre_read(self, ctx: Context, excerpt: Excerpt) -> Deny | None:
        return Deny(f"{excerpt.kind} {excerpt.source}") if "Text 2" in excerpt.text else None


def test_result_refused_by_pre_read_is_left_out(make_web_tools, make_service):
    service = make_service("brave")
    text = make_web_tools(Gate, **service.config).call("web_search", query="x", limit=3).text
    assert "2. https://example.org/2\n[left out: web https://example.org/2]" in text
    assert "Text 1" in text
    assert "Text 3" in text
    assert "Text 2" not in text


@pytest.mark.parametrize("end", ["\nX-Other: 1", "-ключ", "\0"])
def test_key_that_no_header_can_hold_is_never_shown(make_web_tools, service, caplog, end):
    if service.name == "searxng":
        return  # it takes no key
    service.config[f"{service.name}_api_key"] = f"secret-key-987{end}"
    result = search(make_web_tools, service)
    assert result.text.startswith("Error: ")
    assert "check them under plugins.web" in result.text
    assert "secret-key" not in result.text + caplog.text
