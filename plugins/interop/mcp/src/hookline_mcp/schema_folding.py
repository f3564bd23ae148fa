"""Folds a server's JSON schema into what model providers take.

MCP allows any JSON schema. Providers refuse a whole request over one tool whose schema has a
choice at its root, a reference, an array without items or a property name with a dollar sign.
Folding never narrows a schema: what it drops, the server still checks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .schema_keywords import valid_keywords, valid_type

MAX_NODES = 2_000
"""Schemas in a folded schema; what lies beyond is left open."""
MAX_RECURSIONS = 1
"""How often a schema that contains itself is written out inside itself."""
MAX_PROPERTY_CHARS = 64
"""Characters of a property's name (Anthropic: ``^[a-zA-Z0-9_.-]{1,64}$``)."""
RESERVED_NAMES = {"ctx": "ctx_"}
"""Properties whose names core uses itself, and the names shown to the model instead."""
_INVALID_CHARS = re.compile(r"[^A-Za-z0-9_-]+")
_DROPPED = frozenset(
    [
        "$schema",
        "$id",
        "$comment",
        "$anchor",
        "$dynamicAnchor",
        "$defs",
        "definitions",
        "if",
        "then",
        "else",
        "not",
        "contains",
        "minContains",
        "maxContains",
        "dependentSchemas",
        "dependentRequired",
        "dependencies",
        "propertyNames",
        "patternProperties",
        "unevaluatedProperties",
        "unevaluatedItems",
        "additionalItems",
        "prefixItems",
    ]
)
"""Keywords that some providers refuse, and no model needs."""
_CHOICES = ("anyOf", "oneOf")


def fold_schema(schema: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Return a schema of type ``object`` for the model, and a sentence about choices at its root.

    The sentence is empty without such choices.
    """
    folder = _Folder(schema)
    root, alternatives = folder.merge_root(dict(schema), 0)
    folded = folder.fold({**root, "type": "object"}, ())
    folded.setdefault("properties", {})
    sets = list(dict.fromkeys(", ".join(names) for names in alternatives if names))
    sentence = f"Give one of these sets of arguments: {'; '.join(sets)}." if len(sets) > 1 else ""
    return folded, sentence


def own_arguments(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call's arguments under the server's own property names, at any depth."""
    folder = _Folder(schema)
    root, _ = folder.merge_root(dict(schema), 0)
    found = folder.restore(dict(arguments), root, 0)
    assert isinstance(found, dict)
    return found


def offered_names(properties: Mapping[str, Any]) -> dict[str, str]:
    """Return the names that providers take, by the properties' own names; all differ."""
    offered: dict[str, str] = {}
    taken = {name for name in properties if _offered(name) == name}
    for name in properties:
        made = _offered(name)
        if made != name:
            base, number = made, 2
            while made in taken:
                made, number = f"{base[: MAX_PROPERTY_CHARS - 4]}_{number}", number + 1
            taken.add(made)
        offered[name] = made
    return offered


def _offered(name: str) -> str:
    if name in RESERVED_NAMES:
        return RESERVED_NAMES[name]
    if not _INVALID_CHARS.search(name) and 0 < len(name) <= MAX_PROPERTY_CHARS:
        return name
    return _INVALID_CHARS.sub("_", name).strip("_")[:MAX_PROPERTY_CHARS] or "argument"


class _Folder:
    """Folds one schema; ``root`` is where its references point into."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._nodes = 0

    def resolve(self, schema: Any, seen: tuple[str, ...] = ()) -> tuple[Any, tuple[str, ...]]:
        """Follow references; a boolean, unknown or endless one becomes the open schema."""
        while isinstance(schema, dict) and isinstance(ref := schema.get("$ref"), str):
            if seen.count(ref) > MAX_RECURSIONS:
                return {"description": "nested like the above"}, seen
            seen = (*seen, ref)
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            target = self._target(ref)
            schema = {**target, **rest} if isinstance(target, dict) else rest
        return (schema if isinstance(schema, dict) else {}), seen

    def _target(self, ref: str) -> Any:
        found: Any = self._root if ref.startswith("#") else None
        for name in ref.lstrip("#").strip("/").split("/") if ref.strip("#/") else ():
            name = name.replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, dict) else None
        return found

    def merge_root(
        self, schema: dict[str, Any], depth: int
    ) -> tuple[dict[str, Any], list[tuple[str, ...]]]:
        """Return an object's schema without ``allOf``, ``anyOf`` and ``oneOf`` at its root.

        Properties of all branches are joined; only those that every branch requires stay required.
        Also returns the required names of each branch of a choice.
        """
        schema, _ = self.resolve(schema)
        unfit = ("allOf", "enum", "const", *_CHOICES)  # at the root
        merged = {key: value for key, value in schema.items() if key not in unfit}
        merged["properties"] = dict(_mapping(schema.get("properties")))
        required = _names(schema.get("required"))
        alternatives: list[tuple[str, ...]] = []
        for key in ("allOf", *_CHOICES):
            branches = schema.get(key)
            if not isinstance(branches, list) or depth > 8:
                continue
            inner = [self.merge_root(_mapping(one), depth + 1) for one in branches]
            for branch, deeper in inner:
                for name, value in branch["properties"].items():
                    _join(merged["properties"], name, value)
                alternatives += deeper
            wanted = [_names(branch.get("required")) for branch, _ in inner]
            if key == "allOf":
                required += [name for names in wanted for name in names]
            elif wanted:
                required += [name for name in wanted[0] if all(name in one for one in wanted)]
                alternatives += [tuple(dict.fromkeys([*required, *names])) for names in wanted]
        merged["required"] = list(dict.fromkeys(required))
        return merged, alternatives

    def fold(self, schema: Any, seen: tuple[str, ...]) -> dict[str, Any]:
        """Return a schema of any kind, folded."""
        self._nodes += 1
        if self._nodes > MAX_NODES:
            return {}
        schema, seen = self.resolve(schema, seen)
        kind = schema.get("type")
        if isinstance(kind, list):
            kinds = list(dict.fromkeys(filter(None, map(valid_type, kind))))
            if len(kinds) != 1:
                return self._fold_types(schema, kinds, seen)
            schema = {**schema, "type": kinds[0]}
        if "const" in schema:
            schema = {**schema, "enum": [schema["const"]]}
        folded = valid_keywords(
            {
                key: value
                for key, value in schema.items()
                if key not in _DROPPED and key not in ("allOf", *_CHOICES, "const")
            }
        )
        self._add_type(folded, schema)
        self._fold_parts(folded, schema, seen)
        return folded

    def _fold_types(
        self, schema: dict[str, Any], kinds: list[str], seen: tuple[str, ...]
    ) -> dict[str, Any]:
        """Write a list of types as a choice."""
        about: dict[str, Any] = {
            key: schema[key] for key in ("description", "title", "default") if key in schema
        }
        rest = {key: value for key, value in schema.items() if key not in about}
        rest.pop("type")
        branches = [
            {"type": "null"} if one == "null" else self.fold({**rest, "type": one}, seen)
            for one in kinds
        ]
        return {**about, **({"anyOf": branches} if branches else {})}

    @staticmethod
    def _add_type(folded: dict[str, Any], schema: Mapping[str, Any]) -> None:
        """Add a missing type where the other keywords imply it."""
        if written := valid_type(folded.get("type")):
            folded["type"] = written
            return
        folded.pop("type", None)
        if any(key in schema for key in _CHOICES):
            return
        values = folded.get("enum")
        if isinstance(schema.get("properties"), dict):
            folded["type"] = "object"
        elif "items" in schema or "prefixItems" in schema:
            folded["type"] = "array"
        elif isinstance(values, list) and values and all(isinstance(one, str) for one in values):
            folded["type"] = "string"

    def _fold_parts(
        self, folded: dict[str, Any], schema: Mapping[str, Any], seen: tuple[str, ...]
    ) -> None:
        """Fold the schemas inside a schema."""
        parts: list[dict[str, Any]] = []
        for one in schema.get("allOf") or () if isinstance(schema.get("allOf"), list) else ():
            parts.append(self.fold(one, seen))
        for part in parts:
            for key, value in part.items():
                if key == "properties":
                    for name, inner in value.items():
                        folded.setdefault("properties", {}).setdefault(name, inner)
                elif key == "required":
                    folded["required"] = list(dict.fromkeys([*folded.get("required", ()), *value]))
                else:
                    folded.setdefault(key, value)
        choices = [
            self.fold(one, seen)
            for key in _CHOICES
            if isinstance(schema.get(key), list)
            for one in schema[key]
            if one is not False
        ]
        if choices:
            folded["anyOf"] = choices
        if folded.get("type") == "array":
            items = schema.get("prefixItems", schema.get("items"))
            inner = [self.fold(one, seen) for one in items] if isinstance(items, list) else None
            folded["items"] = {"anyOf": inner} if inner else self.fold(items, seen)
        else:
            folded.pop("items", None)
        self._fold_properties(folded, schema, seen)
        if isinstance(more := folded.get("additionalProperties"), dict):
            folded["additionalProperties"] = self.fold(more, seen)

    def _fold_properties(
        self, folded: dict[str, Any], schema: Mapping[str, Any], seen: tuple[str, ...]
    ) -> None:
        own = {
            name: value
            for name, value in _mapping(schema.get("properties")).items()
            if value is not False
        }
        names = offered_names(own)
        inherited = folded.pop("properties", None) if schema.get("allOf") else None
        properties = {names[name]: self.fold(value, seen) for name, value in own.items()}
        for name, value in _mapping(inherited).items():
            if name not in own:
                properties.setdefault(name, value)
        if own or "properties" in schema or properties:
            folded["properties"] = properties
        required = [names.get(name, name) for name in _names(folded.pop("required", ()))]
        kept = [name for name in dict.fromkeys(required) if name in properties]
        if kept:
            folded["required"] = kept

    def restore(self, value: Any, schema: Any, depth: int) -> Any:
        """Return a value with the server's own property names, as far as ``schema`` has them."""
        if depth > 40 or not isinstance(value, dict | list):
            return value
        schema, _ = self.resolve(schema)
        if isinstance(value, list):
            items = schema.get("items")
            return [self.restore(one, items, depth + 1) for one in value]
        properties = dict(_mapping(schema.get("properties")))
        for key in ("allOf", *_CHOICES):
            for one in schema[key] if isinstance(schema.get(key), list) else ():
                branch, _ = self.resolve(one)
                for name, inner in _mapping(branch.get("properties")).items():
                    properties.setdefault(name, inner)
        known = {name: inner for name, inner in properties.items() if inner is not False}
        own = {offered: name for name, offered in offered_names(known).items()}
        names: dict[str, str] = {one: own.get(str(one), str(one)) for one in value}
        return {
            names[given]: self.restore(one, properties.get(names[given]), depth + 1)
            for given, one in value.items()
        }


def _join(properties: dict[str, Any], name: str, value: Any) -> None:
    """Add a property of another branch; two different schemas become a choice."""
    known = properties.get(name, value)
    if known == value:
        properties[name] = value
        return
    many = known["anyOf"] if isinstance(known, dict) and set(known) == {"anyOf"} else [known]
    if value not in many:
        properties[name] = {"anyOf": [*many, value]}


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _names(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
