"""Tool calls of a response: assembled from pieces, and repaired where servers get them wrong.

:class:`ToolCallAssembler` puts streamed pieces together; :func:`read_calls` makes tool calls of
them.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from hookline_hookspecs import ToolCall
from hookline_providerkit import LimitExceeded, Limits

from .json_values import as_mapping, as_mappings, as_string

MAX_CALLS = Limits().calls
"""A response with more is refused."""
MAX_QUOTED_CHARS = 120
"""Characters of unreadable arguments that an error quotes."""


@dataclass(slots=True)
class PartialCall:
    """A tool call so far; ``given`` are arguments that came as an object instead of text."""

    id: str = ""
    name: str = ""
    text: list[str] = field(default_factory=list)
    given: dict[str, Any] | None = None

    @property
    def begun(self) -> bool:
        """True once there are arguments."""
        return bool(self.text) or self.given is not None


class ToolCallAssembler:
    """The tool calls of one response, assembled from streamed pieces.

    The wire gives each piece the ``index`` of its call, the id and name once. Servers leave the
    index out, repeat id or name, send the name in pieces, give every call the index 0, or invent
    a new id for each piece.
    """

    def __init__(self) -> None:
        self.calls: list[PartialCall] = []
        self._by_index: dict[Any, PartialCall] = {}

    def add(self, pieces: object) -> None:
        """Add the ``tool_calls`` of one chunk. Raises ``LimitExceeded``."""
        for position, piece in enumerate(as_mappings(pieces)):
            self._add_piece(piece, position)

    def add_whole(self, calls: object) -> None:
        """Add the ``tool_calls`` of a response in one piece: each is a call of its own."""
        for call in as_mappings(calls):
            self._add_piece(call | {"index": len(self.calls)}, 0)

    def _add_piece(self, piece: Mapping[str, Any], position: int) -> None:
        function = as_mapping(piece.get("function"))
        call_id, name = as_string(piece.get("id")), as_string(function.get("name"))
        index = piece.get("index")
        if isinstance(index, int):
            call = self._indexed(index, call_id, name)
        else:
            call = self._unindexed(call_id, name, position)
        call.id = call.id or call_id
        if name and name != call.name:
            call.name += name
        add_arguments(call, function.get("arguments"))

    def _indexed(self, index: int, call_id: str, name: str) -> PartialCall:
        call = self._by_index.get(index)
        if call is None or (name and _other_id(call, call_id)):
            call = self._by_index[index] = self._new()
        return call

    def _unindexed(self, call_id: str, name: str, position: int) -> PartialCall:
        for call in self.calls:
            if call_id and call.id == call_id:
                return call
        last = self.calls[-1] if self.calls else None
        if last is None or (name and (_other_id(last, call_id) or last.begun or position)):
            return self._new()
        return last

    def _new(self) -> PartialCall:
        if len(self.calls) >= MAX_CALLS:
            raise LimitExceeded(f"more than {MAX_CALLS} tool calls")
        call = PartialCall()
        self.calls.append(call)
        return call


def _other_id(call: PartialCall, call_id: str) -> bool:
    return bool(call_id and call.id and call_id != call.id)


def add_arguments(call: PartialCall, arguments: object) -> None:
    """Add arguments, or a piece of them, in any form that servers send."""
    if isinstance(arguments, str):
        if arguments:
            call.text.append(arguments)
    elif isinstance(arguments, dict):
        call.given = (call.given or {}) | arguments
    elif arguments is not None:
        call.text.append(json.dumps(arguments))


def read_calls(partials: Iterable[PartialCall], salt: str, cut: bool) -> tuple[ToolCall, ...]:
    """Return the calls of a response, each with an id of its own.

    Args:
        partials: the calls as they came.
        salt: the response's id, from which missing ids are made.
        cut: the response ended early, so that missing arguments are an error and not an empty
            object.
    """
    salt = salt or uuid.uuid4().hex
    calls: list[ToolCall] = []
    used: set[str] = set()
    for position, partial in enumerate(partials):
        call_id = partial.id
        if not call_id or call_id in used:
            call_id = _make_id(salt, position)
        used.add(call_id)
        calls.append(_read(partial, call_id, cut))
    return tuple(calls)


def _make_id(salt: str, position: int) -> str:
    return (
        "call_" + hashlib.sha256(f"{salt}/{position}".encode("utf-8", "replace")).hexdigest()[:24]
    )


def _read(partial: PartialCall, call_id: str, cut: bool) -> ToolCall:
    if not partial.name.strip():
        return ToolCall(call_id, "", {}, "The tool call has no name. Call a tool by its name.")
    if partial.given is not None:
        return ToolCall(call_id, partial.name, partial.given)
    text = "".join(partial.text)
    if not text.strip() and not cut:
        return ToolCall(call_id, partial.name, {})
    try:
        arguments = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        fault = "were cut off" if cut else "are not JSON"
    else:
        if isinstance(arguments, dict):
            return ToolCall(call_id, partial.name, arguments)
        fault = "are not a JSON object"
    return ToolCall(call_id, partial.name, {}, _arguments_error(partial.name, fault, text))


def _arguments_error(name: str, fault: str, text: str) -> str:
    begin = text[:MAX_QUOTED_CHARS] + ("…" if len(text) > MAX_QUOTED_CHARS else "")
    return (
        f"The arguments of {name} {fault}: {begin or '(nothing)'}. "
        "Send the call again with one complete JSON object."
    )


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
