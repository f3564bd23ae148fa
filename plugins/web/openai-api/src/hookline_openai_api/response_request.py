"""Reads the body of ``POST /v1/responses``."""

from __future__ import annotations

from typing import Any

from .api_request import ApiRequest, ClientMessage, check_model, present_names, split_last_message
from .chat_request import SYSTEM_ROLES, check_positive, check_tool_choice, read_format
from .errors import invalid_request
from .json_body import read_field
from .message_content import MessageContent, join_texts, read_content

IGNORED = (
    *("max_output_tokens", "max_tool_calls", "temperature", "top_p", "tools", "reasoning"),
    *("parallel_tool_calls", "include", "prompt", "service_tier", "top_logprobs", "truncation"),
    *("stream_options", "context_management"),
)
ECHOED = ("metadata", "instructions", "previous_response_id", "user", "store", "background")
MAX_METADATA = 16
_TOOLS = frozenset(
    {"function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output"}
)


def read_response(data: dict[str, Any]) -> ApiRequest:
    """Read a request. Raises ``ApiError`` (400, 404)."""
    model = check_model(read_field(data, "model", str))
    check_tool_choice(data.get("tool_choice"))
    check_positive(data, "max_output_tokens")
    format_ = read_field(read_field(data, "text", dict, {}), "format", dict, {})
    limits, ignored = read_format(format_, model, "text.format", format_)
    ignored += present_names(data, IGNORED)
    if model == "hookline-light" and (most := read_field(data, "max_output_tokens", int)):
        limits["max_tokens"] = most
        ignored = tuple(name for name in ignored if name != "max_output_tokens")
    system = [read_field(data, "instructions", str, "")]
    parsed: list[ClientMessage] = []
    input_ = data.get("input")
    if isinstance(input_, str):
        parsed.append(ClientMessage("user", MessageContent(input_)))
    elif isinstance(input_, list):
        for number, item in enumerate(input_):
            _read_item(item, f"input[{number}]", system, parsed)
    else:
        raise invalid_request("input must be a string or a list of items.", "input", "invalid_type")
    history, content = split_last_message(parsed, "input")
    previous = read_field(data, "previous_response_id", str)
    conversation = _conversation(data)
    if previous is not None and conversation is not None:
        raise invalid_request(
            "Send previous_response_id or conversation, not both.", "conversation"
        )
    store = read_field(data, "store", bool, True)
    background = read_field(data, "background", bool, False)
    if background and not store:
        raise invalid_request(
            "background needs store: true, to fetch the response later.", "background"
        )
    _check_metadata(data)
    return ApiRequest(
        "response",
        model,
        read_field(data, "stream", bool, False),
        join_texts(system),
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


def _read_item(item: Any, where: str, system: list[str], parsed: list[ClientMessage]) -> None:
    if not isinstance(item, dict):
        raise invalid_request(f"{where} must be an object.", where, "invalid_type")
    kind = item.get("type", "message")
    if kind in _TOOLS:
        output = item.get("output")
        text = output if isinstance(output, str) else ""
        parsed.append(
            ClientMessage(
                "user" if "output" in kind else "assistant", MessageContent(text), is_tool=True
            )
        )
        return
    if kind == "reasoning":
        return
    if kind != "message":
        raise invalid_request(f"{where}.type: unknown type {str(kind)[:40]!r}.", f"{where}.type")
    role = item.get("role")
    is_answer = item.get("role") == "assistant"
    content = read_content(item.get("content"), f"{where}.content", is_answer=is_answer)
    if role in SYSTEM_ROLES:
        if content.files:
            raise invalid_request(f"{where}: a {role} message may only have text.", where)
        system.append(content.text)
    elif role in ("user", "assistant"):
        parsed.append(ClientMessage("user" if role == "user" else "assistant", content))
    else:
        known = "system, developer, user, assistant"
        raise invalid_request(
            f"{where}.role: unknown role {str(role)[:40]!r}. Roles: {known}.", f"{where}.role"
        )


def _conversation(data: dict[str, Any]) -> str | None:
    value = data.get("conversation")
    if isinstance(value, dict):
        value = value.get("id")
    if value is not None and not isinstance(value, str):
        raise invalid_request("conversation must be a name.", "conversation", "invalid_type")
    return value


def _check_metadata(data: dict[str, Any]) -> None:
    found = read_field(data, "metadata", dict, {})
    if len(found) > MAX_METADATA or not all(isinstance(v, str) for v in found.values()):
        raise invalid_request(f"metadata may have at most {MAX_METADATA} strings.", "metadata")
