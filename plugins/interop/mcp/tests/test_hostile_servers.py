"""Servers that send what the protocol does not allow: no turn and no server fails over one part."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hookline.testing import ScriptedModel, calls

from .test_schemas import TEXT, expect_acceptable


def nested(levels: int) -> dict[str, Any]:
    """A schema of objects inside one another."""
    found: dict[str, Any] = TEXT
    for _ in range(levels):
        found = {"type": "object", "properties": {"a": found}}
    return found


ODD_NAMES = ("", "🎉", "__proto__", "a.b", "a b", "x" * 300, "ctx", "self", "n\0", "$", "-", "id")
CYCLE = {"x": {"properties": {name: {"$ref": "#/$defs/y"} for name in "abc"}},
         "y": {"anyOf": [{"$ref": "#/$defs/x"}, {"items": {"$ref": "#/$defs/y"}}]}}  # fmt: skip
SCHEMAS: dict[str, Any] = {
    "one of": {"oneOf": [{"properties": {"a": TEXT}, "required": ["a"]}, {"properties": {}}]},
    "any of any of": {"anyOf": [{"anyOf": [{"type": "object"}, True]}, False, None, "x", 5]},
    "all of each other": {
        "allOf": [{"$ref": "#/$defs/a"}],
        "$defs": {name: {"allOf": [{"$ref": f"#/$defs/{other}"}]} for name, other in ("ab", "ba")},
    },
    "choices that are no lists": {"oneOf": {"a": 1}, "anyOf": None, "allOf": "x"},
    "wide cycle": {"type": "object", "properties": {name: {"$ref": "#"} for name in "abcdefgh"}},
    "cycle of two": {"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": CYCLE},
    "reference to itself": {"$ref": "#"},
    "references to each other": {
        "$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}
    },
    "odd references": {
        "properties": {str(n): {"$ref": one} for n, one in enumerate(("http://x/y", 5, "#x", "a"))}
    },
    "reference into a list": {"properties": {"a": {"$ref": "#/anyOf/0"}}, "anyOf": [TEXT]},
    "arrays": {
        "properties": {
            str(n): {"type": "array", "items": one} for n, one in enumerate((False, None, [], "x"))
        }
    },
    "names": {"properties": dict.fromkeys(ODD_NAMES, TEXT)},
    "parts": {"properties": {"b": None, "c": "string", "d": [], "e": 5, "f": [TEXT]}},
    "types": {
        "properties": {
            str(n): {"type": one} for n, one in enumerate((None, [], ["x"], {}, 5, [["string"]]))
        }
    },
    "values": {
        "properties": {str(n): {"enum": one} for n, one in enumerate(("x", [None, {}, [], 1], []))}
    },
    "booleans": {
        "properties": {"b": {"allOf": [True, False]}, "c": {"not": True}, "d": {"items": True}}
    },
    "numbers": {
        "properties": {"b": {"minimum": float("inf"), "maximum": 10**400, "default": float("nan")}}
    },
    "keywords": {
        "properties": {"b": {"pattern": "(", "format": 5, "title": {}}}, "title": [],
        "description": {},
    },
    "definitions": {"$defs": [], "properties": {"b": {"$ref": "#/$defs/0"}}},
    "fifteen levels": nested(15),
    "half a character": {"properties": {"b\ud800": {"description": "\udfff"}}},
    "required": {"required": ["a", "a", "gone"], "properties": {"a": TEXT}},
}  # fmt: skip
TOO_DEEP = {"forty levels": nested(40), "ninety levels": nested(90)}
NO_TOOLS = [None, "x", 5, [], {}, {"name": None}, {"name": 5}, {"name": ""}, {"name": "n" * 200}]


@pytest.mark.long
def test_no_definition_fails_a_server_or_a_turn(mcp_home: Any) -> None:
    both = {**SCHEMAS, **TOO_DEEP}
    tools = [mcp_home.tool(f"t{n}", inputSchema=one) for n, one in enumerate(both.values())]
    small = mcp_home.server(*NO_TOOLS, *tools, mcp_home.tool("last"))
    mcp_home.config = {"servers": {"small": small.config()}, "discovery": "direct"}
    mcp_home.cli("mcp approve small --yes")
    names = [f"mcp__small__t{n}" for n in range(len(SCHEMAS))]
    model = ScriptedModel([[calls(name, a="v") for name in names], "done"])
    outcome = mcp_home.agent(model=model).send("go")
    offered = {tool.name: dict(tool.parameters) for tool in model.requests[0].tools}
    assert set(offered) == {*names, "mcp__small__last"}
    for schema in offered.values():
        expect_acceptable(schema)
    assert outcome.text == "done"
    assert {one.call.name for one in outcome.tool_calls if one.ok} == set(names)


@pytest.mark.long
@pytest.mark.parametrize("levels", [150, 3000, 200_000])
def test_definition_that_no_parser_reads_is_held_back_alone(mcp_home: Any, levels: int) -> None:
    raw = '{"properties":{"a":' * levels + "{}" + "}}" * levels
    answer = {"tools": [mcp_home.tool("say"), mcp_home.tool("deep", inputSchema="DEEP")]}
    small = mcp_home.server(
        mcp_home.tool("say"), lines={"tools/list": json.dumps(answer).replace('"DEEP"', raw)}
    )
    mcp_home.config["servers"]["small"] = small.config()
    approved = mcp_home.cli("mcp approve small --yes")
    assert "deep is not offered: it is nested more than 40 levels deep" in approved
    assert mcp_home.call("mcp__small__say").ok


VIOLATION = "Error: MCP server small: its answer violates the protocol"
WORDS = [{"type": "text", "text": "words"}]
RESULTS: list[tuple[Any, str]] = [
    *[(one, VIOLATION) for one in (None, [], "x", 5, {}, {"toolResult": "old"})],
    ({"content": "words"}, "words"),
    ({"content": WORDS[0]}, "words"),
    ({"content": WORDS, "_meta": [], "nextCursor": 5, "resultType": 5}, "words"),
    ({"content": [{**WORDS[0], "_meta": 5, "annotations": "x"}]}, "words"),
    ({"content": [[]]}, "[part left out: unknown type None]"),
    ({"content": [{"type": "tool_use", "id": "1"}]}, "[part left out: unknown type tool_use]"),
    ({"content": WORDS, "isError": "yes"}, "Error: words"),
    ({"content": WORDS, "isError": 0}, "words"),
    ({"content": [], "structuredContent": [1]}, "[1]"),
    ({"content": WORDS, "structuredContent": "x"}, "words"),
    ({"structuredContent": {}}, "{}"),
    ({"content": [{"type": "text", "text": "half \ud83d"}]}, "half \ufffd"),
    ({"content": [{"type": "resource", "resource": {"uri": "?", "text": "T", "mimeType": 5}}]},
     "[resource ?]\nT"),
    ({"content": [{"type": "resource_link", "name": "x", "uri": "::", "size": "big"}]},
     "[resource x: ::]"),
    ({"task": {"taskId": 5}}, "(no output)"),
]  # fmt: skip


def test_no_result_makes_a_call_wait_or_fails_the_turn(mcp_home: Any) -> None:
    tools = [mcp_home.tool(f"t{n}", {"raw": one}) for n, (one, _) in enumerate(RESULTS)]
    mcp_home.serve("small", *tools)
    script = [calls(f"mcp__small__t{n}") for n in range(len(RESULTS))]
    outcome = mcp_home.agent(model=[*script, "done"]).send("go")
    assert [
        VIOLATION if one.text.startswith(VIOLATION) else one.text for one in outcome.tool_calls
    ] == [text for _, text in RESULTS]
    assert outcome.text == "done"


def note(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": f"notifications/{method}", "params": params}


def request(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": "r-1", "method": method, "params": params}


SENT: list[list[Any]] = [
    [note("progress", progressToken=99, progress=1), note("progress", progressToken=1)],
    [note("message", level="info", data="x"), note("message", level="shout"), note("unknown")],
    [note("tools/list_changed"), note("prompts/list_changed"), note("resources/updated")],
    [note("cancelled", requestId=0)],
    [request("roots/list"), request("sampling/createMessage"), request("ping"), request("x/y")],
    [request("elicitation/create", message=5)],
    [{"jsonrpc": "2.0", "id": 9999, "result": {}}, {"jsonrpc": "2.0", "id": None, "error": {}}],
    [{"jsonrpc": "1.0", "id": 9, "result": 5}, {"id": 9, "error": "x"}],
    ["null", "5", "[]", '"x"', "{", "[{}]", "\0", r'"\ud83d"'],
]


def test_messages_during_a_call_do_not_disturb_it(mcp_home: Any) -> None:
    tools = [mcp_home.tool(f"t{n}", sends=one) for n, one in enumerate(SENT)]
    mcp_home.serve("small", *tools)
    script = [calls(f"mcp__small__t{n}", text=str(n)) for n in range(len(SENT))]
    outcome = mcp_home.agent(model=[*script, "done"]).send("go")
    assert [one.text for one in outcome.tool_calls] == [
        json.dumps({"text": str(n)}) for n in range(len(SENT))
    ]


ABOUT: dict[str, dict[str, Any]] = {
    "no name": {"serverInfo": None},
    "no version": {"serverInfo": {"name": "x"}},
    "PHP's empty objects": {"capabilities": {"tools": [], "prompts": [], "logging": []}},
    "no capabilities": {"capabilities": []},
    "flags": {"capabilities": {"tools": True, "prompts": False}},
    "instructions": {"instructions": ["a"]},
}


@pytest.mark.long
@pytest.mark.parametrize("about", ABOUT.values(), ids=ABOUT)
def test_odd_handshake_fails_no_server(mcp_home: Any, about: dict[str, Any]) -> None:
    mcp_home.serve("small", mcp_home.tool("say"), about=about)
    assert mcp_home.call("mcp__small__say").ok


ALL = {"capabilities": {"tools": {}, "prompts": {}, "resources": {}}}


@pytest.mark.parametrize("cursor", [None, "", "again", 5])
def test_invalid_prompts_are_left_out_alone(mcp_home: Any, cursor: Any) -> None:
    prompts = [
        *(None, "x", {}, {"name": None}, {"name": "bad", "arguments": "x"}),
        {"name": "good", "arguments": None},
        {"name": "needy", "arguments": [{"name": "a", "required": True}, {"name": "b"}]},
    ]
    listed = {"prompts": prompts, "nextCursor": cursor}
    message = {"role": "user", "content": {"type": "text", "text": "Hello."}}
    read = {"messages": [message, {"role": "assistant", "content": {"type": "hologram"}}]}
    mcp_home.serve(
        "small",
        mcp_home.tool("say"),
        about=ALL,
        answers={"prompts/list": listed, "prompts/get": read},
    )
    model = ScriptedModel(["done"])
    agent = mcp_home.agent(model=model)
    assert agent.send("/mcp").text == "/mcp__small__good\n/mcp__small__needy <a> [b]"
    assert agent.send("/mcp__small__needy b=x").text.startswith("Missing: a. Usage: ")
    assert agent.send("/mcp__small__needy x").text == "done"
    assert model.requests[0].messages[-1].text == (
        "Hello.\n\nAssistant: [part left out: unknown type hologram]"
    )


@pytest.mark.parametrize("cursor", [None, "", "again", 5])
def test_invalid_resources_are_left_out_alone(mcp_home: Any, cursor: Any) -> None:
    resources = [
        *(None, "x", {}, {"uri": None, "name": "x"}, {"uri": "a:0"}),
        {"uri": "no address", "name": "one", "description": None},
    ]
    templates = [{"name": "bad"}, {"uriTemplate": "a:{x}", "name": "two"}]
    contents = [
        {"uri": "a:1", "blob": "AAAA", "mimeType": "application/zip"},
        *({"uri": "a:2", "text": None}, {"text": "no uri"}, "x"),
        {"uri": "a:3", "text": "fine", "mimeType": 7},
        {"uri": "a:4", "blob": "?", "mimeType": "image/png"},
    ]
    mcp_home.serve(
        "small",
        mcp_home.tool("say"),
        about=ALL,
        answers={
            "resources/list": {"resources": resources, "nextCursor": cursor},
            "resources/templates/list": {"resourceTemplates": templates, "nextCursor": cursor},
            "resources/read": {"contents": contents},
        },
    )
    steps = [calls("mcp_resource", server="small", **more) for more in ({}, {"uri": "a:1"})]
    listed, read = mcp_home.agent(model=[*steps, "done"]).send("go").tool_calls
    assert listed.text.splitlines()[:2] == ["no address one", "a:{x} two"]
    assert read.text.split("\n\n") == [
        "[a:1 left out: application/zip]", "fine", "[image left out: not valid base64]"
    ]  # fmt: skip


def test_tools_of_one_name_are_told_apart_by_their_servers(mcp_home: Any) -> None:
    mcp_home.serve("a", mcp_home.tool("say", "of a"))
    mcp_home.serve("b", mcp_home.tool("say", "of b"))
    names = ("mcp__a__say", "mcp__b__say")
    model = ScriptedModel([[calls(name) for name in names], "done"])
    outcome = mcp_home.agent(model=model).send("go")
    assert [result.text for result in outcome.tool_calls] == ["of a", "of b"]


def test_server_that_dies_returns_for_the_next_call_of_the_turn(mcp_home: Any) -> None:
    mcp_home.serve("small", mcp_home.tool("die", "die once"), mcp_home.tool("say"))
    script = [calls("mcp__small__die"), calls("mcp__small__say"), calls("mcp__small__die")]
    first, second, third = mcp_home.agent(model=[*script, "done"]).send("go").tool_calls
    assert first.text.startswith("Interrupted: ")
    assert (second.ok, third.ok) == (True, True)
