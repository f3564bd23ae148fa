"""Tool calls of a response: assembled from pieces, and repaired where servers get them wrong.

:class:`ToolCallAssembler` puts streamed pieces together; :func:`read_calls` makes tool calls of
them.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hookline_hookspecs import ProviderState, ToolCall
from hookline_providerkit import LimitExceeded, Limits, UnreadableArguments, read_arguments

from .json_values import as_mapping, as_mappings, as_string
from .message_state import CALL_FIELDS, add_fields

MAX_CALLS = Limits().calls
"""A response with more is refused."""
MAX_QUOTED_CHARS = 120
"""Characters of unreadable arguments that an error quotes."""


@dataclass(slots=True)
class PartialCall:
    """A tool call so far.

    ``given`` are arguments that came as an object instead of text. ``state`` are fields of the call
    that the server expects back.
    """

    id: str = ""
    name: str = ""
    text: list[str] = field(default_factory=list)
    given: dict[str, Any] | None = None
    state: dict[str, Any] = field(default_factory=dict)

    @property
    def begun(self) -> bool:
        """True once there are arguments."""
        return bool(self.text) or self.given is not None

    @property
    def has_whole_arguments(self) -> bool:
        """True if the arguments so far are complete JSON, of which nothing can follow."""
        text = "".join(self.text).strip()
        if not text.endswith("}"):  # without parsing the beginning again for each piece
            return self.given is not None and not text
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return False
        return True

    def is_continued_by(self, call_id: str, name: str) -> bool:
        """Return whether a piece with this id and name may belong to this call."""
        if not name or not self.name:
            return not (name and _other_id(self, call_id))
        if _other_id(self, call_id) or (self.begun and name != self.name):
            return False
        empty_start = call_id == self.id != "" and "".join(self.text).strip() == "{}"
        return empty_start or not self.has_whole_arguments


class ToolCallAssembler:
    """The tool calls of one response, assembled from streamed pieces.

    The wire gives each piece the ``index`` of its call, the id and name once. Servers leave the
    index out, repeat id or name, send the name in pieces, give every call the index 0 or the same
    id, or invent a new id for each piece. A name after complete arguments begins a new call.
    """

    def __init__(self) -> None:
        self.calls: list[PartialCall] = []
        self._by_index: dict[Any, PartialCall] = {}

    def add(self, pieces: object) -> None:
        """Add the ``tool_calls`` of one chunk. Raises ``LimitExceeded``."""
        listed = [pieces] if isinstance(pieces, dict) else pieces
        for position, piece in enumerate(as_mappings(listed)):
            self._add_piece(piece, position)

    def add_whole(self, calls: object) -> None:
        """Add the ``tool_calls`` of a response in one piece: each is a call of its own."""
        for call in as_mappings(calls):
            self._add_piece(call | {"index": len(self.calls)}, 0)

    def _add_piece(self, piece: Mapping[str, Any], position: int) -> None:
        function = as_mapping(piece.get("function")) or piece
        call_id, name = as_string(piece.get("id")), as_string(function.get("name"))
        index = piece.get("index")
        if isinstance(index, int):
            if _repeats(self._by_index.get(index), call_id, function):
                return
            call = self._indexed(index, call_id, name)
        else:
            call = self._unindexed(call_id, name, position)
        call.id = call.id or call_id
        if name and name != call.name:
            call.name += name
        add_fields(call.state, piece, CALL_FIELDS)
        add_arguments(call, function.get("arguments", function.get("parameters")))

    def _indexed(self, index: int, call_id: str, name: str) -> PartialCall:
        call = self._by_index.get(index)
        if call is None or not call.is_continued_by(call_id, name):
            call = self._by_index[index] = self._new()
        return call

    def _unindexed(self, call_id: str, name: str, position: int) -> PartialCall:
        for call in reversed(self.calls):
            if call_id and call.id == call_id:
                return call if call.is_continued_by(call_id, name) else self._new()
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


def _repeats(call: PartialCall | None, call_id: str, function: Mapping[str, Any]) -> bool:
    """Return whether a piece is the whole call again, as some servers send it at the end."""
    if call is None or not call_id or call_id != call.id or function.get("name") != call.name:
        return False
    return call.has_whole_arguments and function.get("arguments") == "".join(call.text)


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


def read_calls(
    partials: Iterable[PartialCall], salt: str, cut: bool, model: str = ""
) -> tuple[ToolCall, ...]:
    """Return the calls of a response, each with an id of its own.

    Args:
        partials: the calls as they came.
        salt: the response's id, from which missing ids are made.
        cut: the response ended early, so that missing arguments are an error and not an empty
            object.
        model: ``provider/model``, the only one that gets the state of these calls back.
    """
    salt = salt or uuid.uuid4().hex
    calls: list[ToolCall] = []
    used: set[str] = set()
    for call in (call for partial in partials for call in _read(partial, cut, model)):
        call_id = call.id
        if not call_id or call_id in used:
            call_id = _make_id(salt, len(calls))
        used.add(call_id)
        calls.append(replace(call, id=call_id))
    return tuple(calls)


def _make_id(salt: str, position: int) -> str:
    return (
        "call_" + hashlib.sha256(f"{salt}/{position}".encode("utf-8", "replace")).hexdigest()[:24]
    )


def _read(partial: PartialCall, cut: bool, model: str) -> Iterator[ToolCall]:
    """Yield the call; several if a server joined calls of one tool."""
    state = ProviderState(model, partial.state) if partial.state else None
    call = ToolCall(partial.id, partial.name, partial.given or {}, state=state)
    text = "".join(partial.text)
    if not partial.name.strip():
        yield replace(call, name="", error="The tool call has no name. Call a tool by its name.")
    elif partial.given is not None or (not text.strip() and not cut):
        yield call
    else:
        try:
            for arguments in read_arguments(text, cut=cut):
                yield replace(call, arguments=arguments)
        except UnreadableArguments as error:
            if (whole := _last_of_repeated(partial.text)) is None:
                yield replace(call, error=_arguments_error(partial.name, str(error), text))
            else:
                yield replace(call, arguments=whole)


def _last_of_repeated(pieces: list[str]) -> dict[str, Any] | None:
    """Return the object in the last piece if each piece repeats all that came before."""
    if len(pieces) < 2 or not all(map(str.startswith, pieces[1:], pieces)):
        return None
    try:
        return as_mapping(json.loads(pieces[-1])) or None
    except (ValueError, RecursionError):
        return None


def _arguments_error(name: str, fault: str, text: str) -> str:
    begin = text[:MAX_QUOTED_CHARS] + ("…" if len(text) > MAX_QUOTED_CHARS else "")
    return (
        f"The arguments of {name} {fault}: {begin or '(nothing)'}. "
        "Send the call again with one complete JSON object."
    )
