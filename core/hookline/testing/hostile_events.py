"""Hostile events for hooks: empty, huge, malformed or incomplete.

:func:`events` creates them for one hook. An event is created again for every use, so that a hook
that modifies its event can be detected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from hookline_hookspecs import (
    Attachment,
    Audio,
    Excerpt,
    Failure,
    Fragment,
    ImageBlock,
    Inbound,
    Lesson,
    Marker,
    Message,
    ModelRequest,
    ModelResponse,
    Question,
    Reply,
    Session,
    TextBlock,
    ThinkingBlock,
    Tool,
    ToolCall,
    ToolResult,
    ToolResultBlock,
    ToolSchema,
    Turn,
    WireRequest,
)
from hookline_hookspecs.questions import ALLOW_ONCE, DENY

DEPTH = 300
"""Nesting depth of arguments: deeper than people write, but within the limit of ``json``."""

TEXTS: dict[str, str] = {
    "an empty text": "",
    "blanks": " \t\r\n\u00a0",
    "a NUL": "a\0b",
    "lone surrogates": "\ud800 and \udfff",
    "right-to-left text": "\u202egnp.exe\u202c \u05e9\u05dc\u05d5\u05dd \u200f/etc",
    "combined characters": "e" + "\u0301" * 200 + "\U0001f469\u200d\U0001f467",
    "markup and placeholders": "</context><system>{0} %s %(x)d ${HOME} $(id) `id` \\u0000 ']--",
    "a path out of here": "../../../../etc/passwd",
    "nested brackets": "[" * 20_000 + "{(" * 20_000,
    "many lines": "line \n" * 50_000,
    "a million characters": "A" * 1_000_000,
}
"""Hostile texts by their description in failure messages."""

COMMON_TOOLS: dict[str, tuple[str, ...]] = {
    "bash": ("command", "timeout", "workdir"),
    "read_file": ("path", "start_line", "end_line"),
    "write_file": ("path", "content"),
    "edit_file": ("path", "old_string", "new_string", "replace_all"),
    "web_fetch": ("url", "format"),
    "memory": ("action", "content", "old_text", "query"),
    "skill_manage": ("action", "name", "content", "file"),
    "delegate": ("task", "context", "tools"),
}
"""Tools of the standard plugins that guards examine, with their parameters."""


@dataclass(frozen=True, slots=True)
class Case:
    """One event: its description, how to create it, and the tool for ``ctx.tool``."""

    label: str
    make: Callable[[], Any]
    tool: Tool | None = None


def events(hook: str, folder: Path, tools: Iterable[Tool]) -> Iterator[Case]:
    """Yield the events for a hook of a turn; none for startup and shutdown hooks.

    Args:
        hook: its name.
        folder: an empty folder for the files of voice messages.
        tools: the registered tools.
    """
    if hook in ("pre_tool", "around_tool", "post_tool"):
        for case in _calls(tools):
            yield case if hook != "post_tool" else _result(case)
    elif hook == "on_voice":
        yield from _voice_messages(folder)
    elif hook in _MAKERS:
        maker = _MAKERS[hook]
        for label, text in TEXTS.items():
            yield Case(label, _bound(maker, text))
        for label, make in _SPECIAL.get(hook, {}).items():
            yield Case(label, make)


def answer(hook: str, event: Any) -> Any:
    """The result of ``call_next`` for a middleware of ``hook``: a tool result or a response."""
    if hook == "around_tool":
        return ToolResult(event, TEXTS["lone surrogates"], ok=False)
    return ModelResponse((TextBlock(TEXTS["markup and placeholders"]),), "end")


def _bound(make: Callable[[str], Any], text: str) -> Callable[[], Any]:
    return lambda: make(text)


# Tool calls


def _calls(tools: Iterable[Tool]) -> Iterator[Case]:
    for label, text in TEXTS.items():
        yield Case(f"a call of an unknown tool with {label}", _bound(_unknown_tool, text))
        yield Case(f"a call of a tool whose name is {label}", _bound(_odd_name, text))
    yield Case(
        "a call without a name that could not be read",
        lambda: ToolCall("", "", {}, "The tool call has no name; call a tool by its name."),
    )
    known = {tool.name: tool for tool in tools}
    for name, parameters in COMMON_TOOLS.items():
        known.setdefault(name, Tool(name, "A tool.", _no_work, parameters=_schema(parameters)))
    for tool in known.values():
        yield from _calls_of(tool)


def _calls_of(tool: Tool) -> Iterator[Case]:
    names = tuple(tool.schema.parameters.get("properties", {}))

    def case(label: str, value: Callable[[], Any]) -> Case:
        def make() -> ToolCall:
            return ToolCall("call_1", tool.name, {name: value() for name in names})

        return Case(f"a call of {tool.name} with {label} for every argument", make, tool)

    for label, text in TEXTS.items():
        yield case(label, _bound(str, text))
    yield case("null", lambda: None)
    yield case("a negative number", lambda: -(10**30))
    yield case("a list", lambda: ["", None, {}])
    yield case("a deeply nested value", _nested)
    yield Case(
        f"a call of {tool.name} without arguments", lambda: ToolCall("c", tool.name, {}), tool
    )
    yield Case(
        f"a call of {tool.name} with unknown arguments",
        lambda: ToolCall("c", tool.name, {"no such": 1, "": _nested()}),
        tool,
    )


def _unknown_tool(text: str) -> ToolCall:
    return ToolCall("call_1", "no_such_tool", {"text": text, "path": text, text: [text]})


def _odd_name(text: str) -> ToolCall:
    return ToolCall(text, text, {})


def _nested() -> Any:
    value: Any = "inside"
    for level in range(DEPTH):
        value = {"more": value} if level % 2 else [value]
    return value


def _schema(parameters: tuple[str, ...]) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"} for name in parameters}}


def _no_work(**arguments: Any) -> str:
    return ""


def _result(case: Case) -> Case:
    """A case with the result of a call, whose text is one of the call's hostile arguments."""

    def make() -> ToolResult:
        call: ToolCall = case.make()
        odd = next((v for v in call.arguments.values() if isinstance(v, str)), call.name)
        image = ImageBlock("image/png", "not base64", origins=())
        return ToolResult(call, odd, False, (odd[:100],), {"value": _nested()}, (image,))

    return Case(f"the result of {case.label}", make, case.tool)


# Messages, turns and requests


def _session(text: str) -> Session:
    return Session("../odd session", "fake", text, text or None, 0.0)


def _inbound(text: str) -> Inbound:
    return Inbound("fake", text, text, text, text, reply_to=text)


def _message(text: str) -> Message:
    return Message("user", (TextBlock(text),), context=text)


def _conversation(text: str) -> tuple[Message, ...]:
    call = ToolCall("call_1", "no_such_tool", {"text": text})
    return (
        _message(text),
        Message("assistant", (ThinkingBlock(text), TextBlock(text), call)),
        Message("user", (ToolResultBlock("another_call", text, ok=False),)),
    )


def _turn(text: str) -> Turn:
    result = ToolResult(ToolCall("call_1", "no_such_tool", {"text": text}), text, ok=False)
    return Turn(
        "turn_1", _session(text), _inbound(text), _conversation(text), (result,), text, stop="done"
    )


def _request(text: str) -> ModelRequest:
    tools = (ToolSchema("no_such_tool", text, {}),)
    return ModelRequest("test/model", text, tools, _conversation(text), session_id="../odd session")


def _wire(text: str) -> WireRequest:
    data = text.encode("utf-8", "surrogatepass")
    return WireRequest("test", {"model": text}, (Fragment(data, (len(data), -1)), data), (), {})


def _response(text: str) -> ModelResponse:
    call = ToolCall(text, text, {"value": _nested()})
    return ModelResponse((ThinkingBlock(text), TextBlock(text), call), "tools")


def _question(text: str) -> Question:
    return Question(text, (text, text), text)


_FAULT = ValueError("the contract's own")
"""A single object, because exceptions are equal only to themselves."""
_MAKERS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("start_of_session", "system_prompt", "end_of_session"), _session),
    "pre_compact": _session,
    "on_message": _inbound,
    **dict.fromkeys(("start_of_turn", "pre_prompt", "post_answer", "end_of_turn"), _turn),
    **dict.fromkeys(("pre_model", "around_model"), _request),
    "pre_send": _wire,
    "post_model": _response,
    "pre_reply": lambda text: Reply(_session(text), text, in_reply_to=text, choices=(text,)),
    "on_question": _question,
    "pre_learn": lambda text: Lesson(text or "note", text, text),
    "pre_read": lambda text: Excerpt(text or "file", text, text),
    "on_error": lambda text: Failure(text, text),
}
_SPECIAL: dict[str, dict[str, Callable[[], Any]]] = {
    "pre_model": {
        "no message at all": lambda: ModelRequest("", "", (), ()),
        "messages without blocks": lambda: replace(
            _request(""), messages=(Message("user", ()), Message("assistant", ()))
        ),
    },
    "pre_send": {
        "no fragment": lambda: WireRequest("unknown", {}, ()),
        "markers that point nowhere": lambda: WireRequest(
            "test", {}, (b"{}",), (Marker(99, 99), Marker("system"), Marker("no such part"))
        ),
        "deeply nested fields": lambda: WireRequest("test", {"value": _nested()}, (b"{}",)),
    },
    "post_model": {"no block": lambda: ModelResponse((), "incomplete")},
    "on_message": {
        "no sender and no chat": lambda: Inbound("", "", "", "", "", session_id="", system=""),
        "a file that is gone": lambda: replace(
            _inbound("x"), attachments=(Attachment(Path("gone"), "", "", -1, origins=()),)
        ),
    },
    "on_question": {
        "an approval without a call": lambda: Question("", kind="approval"),
        "an approval with odd marks": lambda: Question(
            "Allow it?",
            (ALLOW_ONCE, DENY),
            "rm -rf x\n\x1b[2J",
            kind="approval",
            call=ToolCall("", "", {}),
            id="../odd question",
            marks=("", " ", "\x1b[2J", "rm\n", "\ud800", "not in the preview"),
        ),
        "an approval of an odd call": lambda: Question(
            "", kind="approval", call=ToolCall("", "", {"value": _nested()})
        ),
    },
    "on_error": {"an exception": lambda: Failure("internal", "", _FAULT)},
}
_SPECIAL["around_model"] = _SPECIAL["pre_model"]


# Files


def _voice_messages(folder: Path) -> Iterator[Case]:
    contents = {
        "an empty file": b"",
        "noise": bytes(range(256)) * 64,
        "a lie about its type": b"%PDF",
    }
    paths = {"a file that is gone": folder / "gone", "a folder": folder}
    for number, (label, data) in enumerate(contents.items()):
        paths[label] = folder / f"file{number}"
        paths[label].write_bytes(data)
    for label, path in paths.items():
        for mime in ("", "audio/ogg", "image/png", "no type at all"):
            yield Case(f"{label} as {mime!r}", partial(Audio, path, mime, -1.0, origins=()))
