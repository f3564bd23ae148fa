"""Schemas that providers refuse are folded, and arguments go back under the server's names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hookline_mcp.schema_folding import fold_schema, own_arguments
from hypothesis import given
from hypothesis import strategies as st

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Narrower than what any provider takes as a property's name."""
TEXT = {"type": "string"}
TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "v": {}}}


def schemas(value: Any) -> Iterator[dict[str, Any]]:
    """Every schema in a folded one."""
    assert isinstance(value, dict)
    yield value
    for inner in value.get("properties", {}).values():
        yield from schemas(inner)
    for inner in value.get("anyOf", ()):
        yield from schemas(inner)
    for key in ("items", "additionalProperties"):
        if isinstance(value.get(key), dict):
            yield from schemas(value[key])


def expect_acceptable(folded: dict[str, Any]) -> None:
    """Refuse what OpenAI, Anthropic or Gemini refuses in the parameters of a function."""
    assert folded["type"] == "object"
    assert not {"anyOf", "oneOf", "allOf", "enum", "not", "$ref"} & set(folded)
    for one in schemas(folded):
        assert not {"$ref", "$defs", "oneOf", "allOf", "const"} & set(one)
        assert one.get("type", "string") in TYPES
        assert (one.get("type") == "array") == ("items" in one)
        names = one.get("properties", {})
        assert all(NAME.fullmatch(name) for name in names)
        assert set(one.get("required", ())) <= set(names)


@pytest.mark.long
@pytest.mark.parametrize(
    ("schema", "given", "own"),
    [
        ({"properties": {"$filter": TEXT, "filter": TEXT}}, {"filter_2": "a"}, {"$filter": "a"}),
        ({"properties": {"with space": TEXT}}, {"with_space": "a"}, {"with space": "a"}),
        ({"properties": {"x" * 90: TEXT}}, {"x" * 64: "a"}, {"x" * 90: "a"}),
        (
            {"properties": {"in": {"type": "array", "items": {"properties": {"@id": TEXT}}}}},
            {"in": [{"id": "a"}]},
            {"in": [{"@id": "a"}]},
        ),
        (
            {"anyOf": [{"properties": {"a.b": TEXT}}, {"$ref": "#/$defs/c"}],
             "$defs": {"c": {"properties": {"c d": TEXT}}}},
            {"a_b": "1", "c_d": "2"},
            {"a.b": "1", "c d": "2"},
        ),
        ({"properties": {"n": {"$ref": "#/$defs/node"}}, "$defs": {"node": NODE}},
         {"n": {"next": {"v": 1}}}, {"n": {"next": {"v": 1}}}),
    ],
    ids=["dollar", "space", "long", "nested", "root choice", "recursive"],
)  # fmt: skip
def test_arguments_reach_the_server_under_its_own_names(
    mcp_home: Any, schema: dict[str, Any], given: dict[str, Any], own: dict[str, Any]
) -> None:
    expect_acceptable(fold_schema(schema)[0])
    mcp_home.serve("small", mcp_home.tool("say", inputSchema={"type": "object", **schema}))
    assert json.loads(mcp_home.call("mcp__small__say", given).text) == own


@pytest.mark.parametrize(
    ("part", "folded"),
    [
        ({"type": "array"}, {"type": "array", "items": {}}),
        ({"items": [TEXT, {"type": "integer"}]},
         {"type": "array", "items": {"anyOf": [TEXT, {"type": "integer"}]}}),
        ({"type": ["string", "null"], "description": "d"},
         {"description": "d", "anyOf": [TEXT, {"type": "null"}]}),
        ({"const": "a"}, {"type": "string", "enum": ["a"]}),
        (True, {}),
        ({"properties": {"a": TEXT}}, {"type": "object", "properties": {"a": TEXT}}),
        ({"oneOf": [TEXT, False]}, {"anyOf": [TEXT]}),
        ({"$ref": "#/nowhere"}, {}),
        ({"type": "STRING"}, TEXT),
        ({"type": "int"}, {"type": "integer"}),
        ({"type": ["str", "none"]}, {"anyOf": [TEXT, {"type": "null"}]}),
        ({"type": "any"}, {}),
        ({"type": "file", "description": "f"}, {"description": "f"}),
        ({"type": "string", "enum": []}, TEXT),
        ({"enum": ["a", "b", "a"]}, {"enum": ["a", "b"], "type": "string"}),
        ({"type": "number", "minimum": 0, "exclusiveMinimum": True},
         {"type": "number", "minimum": 0}),
        ({"type": "integer", "maximum": "9", "maxLength": -1, "description": ["d"]},
         {"type": "integer"}),
        ({"type": "number", "maximum": float("inf"), "default": [float("nan")]},
         {"type": "number"}),
        ({"type": "string", "x-order": {"$ref": "#/nowhere"}, "$comment": "c"}, TEXT),
    ],
)  # fmt: skip
def test_parts_are_folded(part: Any, folded: Any) -> None:
    parameters, _ = fold_schema({"type": "object", "properties": {"x": part}})
    expect_acceptable(parameters)
    assert parameters["properties"] == {"x": folded}


def test_long_list_of_values_is_told_in_the_description() -> None:
    part = {"type": "string", "enum": [f"v{i}" for i in range(5000)], "description": "Which."}
    parameters, _ = fold_schema({"properties": {"x": part}})
    (folded,) = parameters["properties"].values()
    assert "enum" not in folded
    assert folded["description"].startswith('Which.\nOne of 5000 values, such as "v0", "v1", ')
    assert len(json.dumps(parameters)) < 500


@pytest.mark.parametrize("more", [{"enum": [{}]}, {"const": {}}])
def test_values_at_the_root_are_left_out(more: dict[str, Any]) -> None:
    expect_acceptable(fold_schema({"type": "object", "properties": {"a": TEXT}, **more})[0])


def test_choice_at_the_root_is_told_in_the_description() -> None:
    by_id = {"properties": {"id": TEXT}, "required": ["id"]}
    by_name = {"properties": {"name": TEXT}, "required": ["name"]}
    schema = {"properties": {"n": TEXT}, "required": ["n", "gone"], "oneOf": [by_id, by_name]}
    parameters, sentence = fold_schema(schema)
    assert (list(parameters["properties"]), parameters["required"]) == (["n", "id", "name"], ["n"])
    assert sentence == "Give one of these sets of arguments: n, gone, id; n, gone, name."


def test_false_property_is_left_out_and_endless_references_end() -> None:
    parameters, _ = fold_schema({"properties": {"no": False, "a": {"$ref": "#"}}})
    expect_acceptable(parameters)
    assert "no" not in parameters["properties"]
    loop = {"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"$ref": "#/$defs/a"}}}
    expect_acceptable(fold_schema(loop)[0])


ANY = st.recursive(
    st.booleans() | st.none() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "properties",
                    "items",
                    "anyOf",
                    "oneOf",
                    "allOf",
                    "required",
                    "$ref",
                    "$defs",
                    "const",
                    "enum",
                    "a",
                    "$b",
                ]
            ),
            inner | st.sampled_from(["object", "array", "string", "#", "#/$defs/a", ["a", "$b"]]),
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["properties", "anyOf", "allOf", "$defs", "a"]), ANY))
def test_any_schema_is_folded(schema: dict[str, Any]) -> None:
    parameters, _ = fold_schema(schema)
    expect_acceptable(parameters)
    assert own_arguments({"x": 1}, schema) == {"x": 1}
