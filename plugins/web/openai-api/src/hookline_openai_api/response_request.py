"""The body of ``POST /v1/responses``."""

from __future__ import annotations

from typing import Any

from .asked import Asked, Said, model_of, named, split
from .body import take
from .chat_request import SYSTEM, check_positive, check_tool_choice, read_format
from .content import Content, joined, read_content
from .errors import bad

IGNORED = (
    *("max_output_tokens", "max_tool_calls", "temperature", "top_p", "tools", "reasoning"),
    *("parallel_tool_calls", "include", "prompt", "service_tier", "top_logprobs", "truncation"),
    *("stream_options", "context_management"),
)
ECHOED = ("metadata", "instructions", "previous_response_id", "user", "store", "background")
MOST_METADATA = 16
_TOOLS = frozenset(
    {"function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output"}
)


def read_response(data: dict[str, Any]) -> Asked:
    """Return what is asked for. Raises ``ApiError`` (400, 404)."""
    model = model_of(take(data, "model", str))
    check_tool_choice(data.get("tool_choice"))
    check_positive(data, "max_output_tokens")
    wanted = take(take(data, "text", dict, {}), "format", dict, {})
    limits, ignored = read_format(wanted, model, "text.format", wanted)
    ignored += named(data, IGNORED)
    if model == "hookline-light" and (most := take(data, "max_output_tokens", int)):
        limits["max_tokens"] = most
        ignored = tuple(name for name in ignored if name != "max_output_tokens")
    system = [take(data, "instructions", str, "")]
    said: list[Said] = []
    given = data.get("input")
    if isinstance(given, str):
        said.append(Said("user", Content(given)))
    elif isinstance(given, list):
        for number, item in enumerate(given):
            _read_item(item, f"input[{number}]", system, said)
    else:
        raise bad("input must be a string or a list of items.", "input", "invalid_type")
    history, content = split(said, "input")
    previous, conversation = take(data, "previous_response_id", str), _conversation(data)
    if previous is not None and conversation is not None:
        raise bad("Send previous_response_id or conversation, not both.", "conversation")
    store, background = take(data, "store", bool, True), take(data, "background", bool, False)
    if background and not store:
        raise bad("background needs store: true; otherwise nobody could fetch it.", "background")
    _check_metadata(data)
    return Asked(
        "response",
        model,
        take(data, "stream", bool, False),
        joined(system),
        history,
        content,
        ignored,
        limits=limits,
        echo={name: data[name] for name in ECHOED if data.get(name) is not None},
        previous=previous,
        conversation=conversation,
        store=store,
        background=background,
    )


def _read_item(item: Any, where: str, system: list[str], said: list[Said]) -> None:
    if not isinstance(item, dict):
        raise bad(f"{where} must be an object.", where, "invalid_type")
    kind = item.get("type", "message")
    if kind in _TOOLS:
        output = item.get("output")
        text = output if isinstance(output, str) else ""
        said.append(Said("user" if "output" in kind else "assistant", Content(text), is_tool=True))
        return
    if kind == "reasoning":
        return
    if kind != "message":
        raise bad(f"{where}.type {str(kind)[:40]!r} is not known.", f"{where}.type")
    role = item.get("role")
    content = read_content(item.get("content"), f"{where}.content")
    if role in SYSTEM:
        if content.files:
            raise bad(f"{where}: a {role} message holds text only.", where)
        system.append(content.text)
    elif role in ("user", "assistant"):
        said.append(Said("user" if role == "user" else "assistant", content))
    else:
        known = "system, developer, user and assistant"
        raise bad(
            f"{where}.role {str(role)[:40]!r} is not known; there are {known}.", f"{where}.role"
        )


def _conversation(data: dict[str, Any]) -> str | None:
    value = data.get("conversation")
    if isinstance(value, dict):
        value = value.get("id")
    if value is not None and not isinstance(value, str):
        raise bad("conversation must be a name.", "conversation", "invalid_type")
    return value


def _check_metadata(data: dict[str, Any]) -> None:
    found = take(data, "metadata", dict, {})
    if len(found) > MOST_METADATA or not all(isinstance(v, str) for v in found.values()):
        raise bad(f"metadata holds at most {MOST_METADATA} strings.", "metadata")
