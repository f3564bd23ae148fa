"""Views as JSON, and parsing of forms."""

from __future__ import annotations

import json

import pytest
from hookline_hookspecs.web import (
    Badge,
    Identity,
    Link,
    Problem,
    Row,
    Table,
    Timeline,
    TimelineStep,
    View,
    identity,
    read_form,
    view_as_json,
)


class Request:
    def __init__(self, body: bytes = b"", **scope: object) -> None:
        self.scope, self._body = scope, body

    async def body(self) -> bytes:
        return self._body


def test_view_json_names_the_type_of_every_part() -> None:
    table = Table(["State"], [Row([Badge("on", "good"), 3, None, Link("more", "/x")])])
    steps = Timeline([TimelineStep("turn", children=[TimelineStep("pre_tool", "guards", ms=1.5)])])
    told = json.loads(json.dumps(view_as_json(View("Plugins", [table, steps]))))
    assert told["type"] == "view"
    first, second = told["parts"]
    assert first["rows"][0]["cells"][0] == {"type": "badge", "text": "on", "tone": "good"}
    assert first["rows"][0]["cells"][1:3] == [3, None]
    assert second["steps"][0]["children"][0]["who"] == "guards"


async def test_form_is_parsed_and_malformed_form_refused() -> None:
    assert await read_form(Request(b"name=A+b&note=&name=%C3%A9")) == {"name": "é", "note": ""}
    for broken in (b"a=%ff", b"\xff"):
        with pytest.raises(Problem) as refused:
            await read_form(Request(broken))
        assert refused.value.status == 400


def test_page_request_without_identity_is_refused() -> None:
    who = Identity("web", "owner", "operator", "d1")
    assert identity(Request(**{"hookline.identity": who})).person == "web:owner"
    with pytest.raises(Problem) as refused:
        identity(Request())
    assert refused.value.as_json()["error"]["code"] == "unauthorized"
