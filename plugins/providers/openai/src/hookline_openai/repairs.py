"""Repairs a request after a server has refused something in its history or its tools.

One refused picture, field, call id or tool would otherwise end the session, because every later
request repeats it. A repair is a word such as ``images`` or ``tool:NAME:DIGEST``, so that it can be
remembered for a model.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hookline_hookspecs import Fragment, WireRequest
from hookline_providerkit import (
    LEFT_OUT_IMAGE,
    REPAIR_STATUSES,
    describe_repair,
    error_text,
    is_context_too_long,
    refused_images,
    refused_tool,
    refuses_repeated_ids,
)
from hookline_providerkit.refused_items import (
    misses_reasoning,
    most_images,
    refuses_ids,
    refuses_roles,
    refuses_tools,
)

from .encode import EMPTY, encode
from .json_values import as_mapping, as_mappings, as_string

IMAGES, IDS, SIGNATURES = "images", "ids", "signatures"
WRITTEN_IDS, TOOLS, REASONING = "written_ids", "tools", "reasoning"
ROLES, SYSTEM, ONE_SYSTEM = "roles", "system", "one_system"
NO_REASONING = " "
"""Sent where another model made a message without reasoning; DeepSeek refuses an empty text."""
_IMAGE_TYPES = ("image_url", "input_image")
_FIELD = re.compile(
    r"\bmessages?(?:\[\d+\]|\.\d+)(?:\.tool_calls(?:\[\d+\]|\.\d+))?\.([a-z]\w*)", re.IGNORECASE
)
_LOC_FIELD = re.compile(r"property ['\"`]?(\w+)['\"`]? is unsupported|\b(reasoning_\w+)\b")
_REQUIRED_FIELDS = frozenset({"role", "content", "tool_calls", "tool_call_id", "id", "type"})
_SIGNATURE = re.compile(r"thought[_ ]signature", re.IGNORECASE)
ID_CHARS = 9
"""Of a renamed call id: Mistral accepts no other length."""
ANY_SIGNATURE = "skip_thought_signature_validator"
"""Accepted by Gemini for calls that another model made
(ai.google.dev/gemini-api/docs/thought-signatures)."""


def find_repair(status: int, body: Any, wire: WireRequest) -> str | None:
    """Return the repair for what an error names in ``wire``; None if nothing can be repaired."""
    text = error_text(body)
    if status not in REPAIR_STATUSES or not text or is_context_too_long(body):
        return None
    finders = (_find_signatures, _find_reasoning, _find_tool, _find_ids, _find_field, _find_images)
    for find in (*finders, _find_roles, _find_tools):
        if found := find(text, body, wire):
            return found
    return None


def _find_signatures(text: str, _body: Any, wire: WireRequest) -> str | None:
    has_calls = any(b'"tool_calls"' in fragment for fragment in wire.fragments)
    return SIGNATURES if has_calls and _SIGNATURE.search(text) else None


def _find_images(text: str, _body: Any, wire: WireRequest) -> str | None:
    images = [url for message in _messages(wire.fragments) for url in _image_urls(message)]
    refused = refused_images(text) if images else ""
    if refused == "these":
        most = most_images(text)
        is_over = most is not None and len(images) > most
        kind, found = ("older", images[:-most]) if is_over and most else ("image", images)
        return f"{kind}:" + ",".join(dict.fromkeys(map(_digest, found)))
    return IMAGES if refused else None


def _find_ids(text: str, _body: Any, wire: WireRequest) -> str | None:
    ids = [
        as_string(call.get("id") or call.get("call_id"))
        for message in _messages(wire.fragments)
        for call in _calls(message)
    ]
    if refuses_repeated_ids(text) and len(set(ids)) < len(ids):
        return IDS
    return WRITTEN_IDS if ids and refuses_ids(text) else None


def _find_reasoning(text: str, _body: Any, wire: WireRequest) -> str | None:
    has_answers = any(message.get("role") == "assistant" for message in _messages(wire.fragments))
    return REASONING if has_answers and misses_reasoning(text) else None


def _find_roles(text: str, _body: Any, wire: WireRequest) -> str | None:
    several = bool(wire.stable.get("system") and wire.stable.get("ephemeral"))
    return refuses_roles(text, several=several) or None


def _find_tools(text: str, _body: Any, wire: WireRequest) -> str | None:
    return TOOLS if _encoded_tools(wire.stable) and refuses_tools(text) else None


def _find_field(text: str, body: Any, wire: WireRequest) -> str | None:
    param = as_string(as_mapping(as_mapping(body).get("error")).get("param"))
    param = param or as_string(as_mapping(body).get("param"))
    names = [match[1] for match in _FIELD.finditer(f"{param} {text}")]
    names += [match[1] or match[2] for match in _LOC_FIELD.finditer(text)]
    sent = {key for message in _messages(wire.fragments) for key in _all_keys(message)}
    found = [name for name in names if name in sent - _REQUIRED_FIELDS]
    return f"field:{found[0]}" if found else None


def _find_tool(text: str, body: Any, wire: WireRequest) -> str | None:
    tools = _encoded_tools(wire.stable)
    name = refused_tool(text, body, [*tools])
    return f"tool:{name}:{_digest(tools[name].decode())}" if name else None


def repair_sentence(repair: str, model: str) -> str:
    """Return a sentence for the person about a repair."""
    kind, _, what = repair.partition(":")
    return describe_repair(kind, model, what.partition(":")[0])


def apply_repairs(wire: WireRequest, repairs: Collection[str]) -> WireRequest:
    """Return the request with every repair made."""
    if not repairs:
        return wire
    tools = {repair for repair in repairs if repair.startswith("tool:")}
    if tools:
        wire = replace(wire, stable=_without_tools(wire.stable, tools))
    if TOOLS in repairs:
        fields = {name: value for name, value in wire.fields.items() if name != "tool_choice"}
        wire = replace(wire, stable={**wire.stable, "tools": b"[]"}, fields=fields)
    if ONE_SYSTEM in repairs:
        wire = replace(wire, stable=_with_one_system(wire.stable))
    if SYSTEM in repairs:
        wire = replace(wire, stable=_without_system(wire.stable))
    steps = [step for repair in repairs if (step := _step(repair)) is not None]
    if not steps:
        return wire
    fragments = []
    for fragment in wire.fragments:
        messages = _messages([fragment])
        changed = [message for step in steps for message in step(messages)]
        if changed:
            role = fragment.role if isinstance(fragment, Fragment) else ""
            fragment = Fragment(b",".join(map(encode, messages)), role=role)
        fragments.append(fragment)
    return replace(wire, fragments=tuple(fragments))


def has_image(fragment: bytes) -> bool:
    """Return whether an encoded message may hold an image."""
    return any(kind.encode() in fragment for kind in _IMAGE_TYPES)


_Step = Callable[[list[dict[str, Any]]], Iterable[dict[str, Any]]]
"""Changes decoded messages in place and returns those that it changed."""


def _step(repair: str) -> _Step | None:
    kind, _, what = repair.partition(":")
    if kind == IMAGES:
        return lambda messages: [m for m in messages if _drop_images(m, lambda _url: True)]
    if kind in ("image", "older"):
        refused = set(what.split(","))
        return lambda messages: [
            m for m in messages if _drop_images(m, lambda url: _digest(url) in refused)
        ]
    if kind == "field":
        return lambda messages: [m for m in messages if _drop_field(m, what)]
    if kind == SIGNATURES:
        return lambda messages: [m for m in messages if _sign_calls(m)]
    if kind == REASONING:
        return lambda messages: [m for m in messages if _add_reasoning(m)]
    if kind == WRITTEN_IDS:
        return lambda messages: [m for m in messages if _rewrite_ids(m)]
    if kind == ROLES:
        return _AlternatingRoles().fill
    return _CallIds().rename if kind == IDS else None


def _messages(fragments: Iterable[bytes]) -> list[dict[str, Any]]:
    return as_mappings(json.loads(b"[" + b",".join(fragments) + b"]"))


def _calls(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    if message.get("type") == "function_call":
        return [message]  # type: ignore[list-item]  # decoded JSON is a dict
    return as_mappings(message.get("tool_calls"))


def _all_keys(message: Mapping[str, Any]) -> set[str]:
    return {*message, *(key for call in _calls(message) for key in call)}


def _url(part: Mapping[str, Any]) -> str:
    url = part.get("image_url")
    return as_string(url.get("url") if isinstance(url, dict) else url)


def _image_urls(message: Mapping[str, Any]) -> list[str]:
    parts = as_mappings(message.get("content"))
    return [_url(part) for part in parts if part.get("type") in _IMAGE_TYPES]


def _drop_images(message: dict[str, Any], is_refused: Callable[[str], bool]) -> bool:
    """Replace refused images by a line; True if there were any."""
    parts = as_mappings(message.get("content"))
    kept, dropped = [], False
    for part in parts:
        if part.get("type") in _IMAGE_TYPES and is_refused(_url(part)):
            kind = "input_text" if part["type"] == "input_image" else "text"
            part, dropped = {"type": kind, "text": LEFT_OUT_IMAGE}, True
        kept.append(part)
    if not dropped:
        return False
    texts = [as_string(part.get("text")) for part in kept]
    # A model without images may refuse a list of parts too.
    message["content"] = "\n\n".join(dict.fromkeys(texts)) if all(texts) else kept
    return True


def _drop_field(message: dict[str, Any], name: str) -> bool:
    holders = [one for one in (message, *_calls(message)) if name in one]
    for holder in holders:
        del holder[name]
    return bool(holders)


def _sign_calls(message: dict[str, Any]) -> bool:
    """Give each call without a signature the one for calls of other models."""
    changed = False
    for call in as_mappings(message.get("tool_calls")):
        extra = as_mapping(call.get("extra_content"))
        google = as_mapping(extra.get("google"))
        if not google.get("thought_signature"):
            call["extra_content"] = extra | {
                "google": google | {"thought_signature": ANY_SIGNATURE}
            }
            changed = True
    return changed


def _add_reasoning(message: dict[str, Any]) -> bool:
    """Give an assistant message without reasoning a blank one; True if it had none."""
    if message.get("role") != "assistant" or message.get("reasoning_content"):
        return False
    message["reasoning_content"] = NO_REASONING
    return True


def _rewrite_ids(message: dict[str, Any]) -> bool:
    """Write call ids as nine letters and digits, the only ones that Mistral accepts."""
    holders = [(call, "call_id" if "call_id" in call else "id") for call in _calls(message)]
    holders += [(message, key) for key in ("tool_call_id", "call_id") if key in message]
    for holder, key in holders:
        if not re.fullmatch(r"[A-Za-z0-9]{9}", given := as_string(holder.get(key))):
            holder[key] = _digest(given)[:ID_CHARS]
    return bool(holders)


class _AlternatingRoles:
    """Adds an empty message of the other side between two of one side.

    Calls and their results do not count, as in the templates that ask for it.
    """

    def __init__(self) -> None:
        self._last = ""

    def fill(self, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Fill the gaps of ``messages``, which follow those of earlier calls of this method."""
        filled: list[dict[str, Any]] = []
        for message in messages:
            role = message.get("role")
            if role in ("user", "assistant") and not message.get("tool_calls"):
                if role == self._last:
                    other = "assistant" if role == "user" else "user"
                    filled.append({"role": other, "content": EMPTY})
                self._last = role
            filled.append(message)
        is_changed = len(filled) > len(messages)
        messages[:] = filled
        return filled if is_changed else []


class _CallIds:
    """Renames call ids that an earlier message has used, with their results."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._renamed: dict[str, str] = {}

    def rename(self, messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Rename the ids of ``messages``, which follow those of earlier calls of this method."""
        changed = []
        for message in messages:
            before = json.dumps(message)
            for call in _calls(message):
                key = "call_id" if "call_id" in call else "id"
                call[key] = self._new_id(as_string(call.get(key)))
            key = "call_id" if message.get("type") == "function_call_output" else "tool_call_id"
            if key in message:
                message[key] = self._renamed.get(message[key], message[key])
            if json.dumps(message) != before:
                changed.append(message)
        return changed

    def _new_id(self, given: str) -> str:
        name, number = given, 1
        while name in self._seen:
            number += 1
            name = _digest(f"{given}/{number}")[:ID_CHARS]
        self._seen.add(name)
        self._renamed[given] = name
        return name


def _encoded_tools(stable: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return each encoded tool by name, in order."""
    tools = as_mappings(json.loads(stable.get("tools") or b"[]"))
    return {
        as_string(as_mapping(tool.get("function", tool)).get("name")): encode(tool)
        for tool in tools
    }


def _without_system(stable: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the parts with system messages as messages of the user, each with an empty answer."""
    changed = dict(stable)
    for name in ("system", "ephemeral"):
        for message in _messages([stable[name]] if stable.get(name) else []):
            pair = message | {"role": "user"}, {"role": "assistant", "content": EMPTY}
            changed[name] = b",".join(map(encode, pair))
    return changed


def _with_one_system(stable: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the parts with one system message that has the text of both."""
    found = _messages(part for name in ("system", "ephemeral") if (part := stable.get(name)))
    texts = [as_string(message.get("content")) for message in found]
    joined = encode({"role": "system", "content": "\n\n".join(texts)}) if texts else b""
    return {**stable, "system": joined, "ephemeral": b""}


def _without_tools(stable: Mapping[str, bytes], repairs: Collection[str]) -> dict[str, bytes]:
    kept = [
        tool
        for name, tool in _encoded_tools(stable).items()
        if f"tool:{name}:{_digest(tool.decode())}" not in repairs
    ]
    return {**stable, "tools": b"[" + b",".join(kept) + b"]"}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
