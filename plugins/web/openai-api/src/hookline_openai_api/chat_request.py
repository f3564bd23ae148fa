"""Reads the body of ``POST /v1/chat/completions``."""

from __future__ import annotations

import json
from typing import Any

from .api_request import ApiRequest, ClientMessage, check_model, present_names, split_last_message
from .errors import invalid_request
from .json_body import read_field
from .message_content import MessageContent, join_texts, read_content

IGNORED = (
    *("max_tokens", "max_completion_tokens", "temperature", "top_p", "stop", "tools", "functions"),
    *("seed", "logprobs", "top_logprobs", "logit_bias", "presence_penalty", "frequency_penalty"),
    *("parallel_tool_calls", "reasoning_effort", "verbosity", "prediction", "modalities", "audio"),
    *("service_tier", "web_search_options"),
)
"""Parameters without effect, because the agent decides."""
NO_LIMIT = -1
"""A limit of tokens that several clients send for no limit."""
SYSTEM_ROLES = ("system", "developer")


def read_chat(data: dict[str, Any]) -> ApiRequest:
    """Read a request. Raises ``ApiError`` (400, 404)."""
    model = check_model(read_field(data, "model", str))
    check_tool_choice(data.get("tool_choice"))
    n = read_field(data, "n", int, 1)
    if n != 1:
        raise invalid_request("n must be 1: a turn runs only once.", "n")
    for name in ("max_tokens", "max_completion_tokens"):
        check_positive(data, name)
    limits, ignored = _read_chat_format(data, model)
    ignored += present_names(data, IGNORED)
    if data.get("tool_choice") not in (None, "none", "auto"):
        ignored += ("tool_choice",)
    most = read_field(data, "max_completion_tokens", int) or read_field(data, "max_tokens", int)
    if model == "hookline-light" and most:
        limits["max_tokens"] = most
        ignored = tuple(n for n in ignored if n not in ("max_tokens", "max_completion_tokens"))
    options = read_field(data, "stream_options", dict, {})
    messages = data.get("messages")
    if not isinstance(messages, list):
        raise invalid_request("messages must be a list.", "messages", "invalid_type")
    system: list[str] = []
    parsed: list[ClientMessage] = []
    for number, message in enumerate(messages):
        _read_message(message, f"messages[{number}]", system, parsed)
    if not parsed and join_texts(system):  # OpenAI answers a system message alone
        parsed, system = [ClientMessage("user", MessageContent(join_texts(system)))], []
    history, content = split_last_message(parsed, "messages")
    return ApiRequest(
        "chat",
        model,
        read_field(data, "stream", bool, False),
        join_texts(system),
        history,
        content,
        ignored,
        include_usage=read_field(options, "include_usage", bool, False),
        limits=limits,
    )


def _read_message(message: Any, where: str, system: list[str], parsed: list[ClientMessage]) -> None:
    if not isinstance(message, dict):
        raise invalid_request(f"{where} must be an object.", where, "invalid_type")
    role = message.get("role")
    is_answer = role == "assistant"
    value = message.get("content")
    if role in ("tool", "function") and isinstance(value, dict | int | float):
        value = json.dumps(value, ensure_ascii=False)  # a result that a client did not encode
    content = read_content(value, f"{where}.content", is_answer=is_answer)
    if role in SYSTEM_ROLES:
        if content.files:
            raise invalid_request(f"{where}: a {role} message may only have text.", where)
        system.append(content.text)
    elif role == "user":
        parsed.append(ClientMessage("user", content))
    elif role == "assistant":
        parsed.append(ClientMessage("assistant", content, is_tool=not content.text.strip()))
    elif role in ("tool", "function"):
        parsed.append(ClientMessage("user", content, is_tool=True))
    else:
        known = "system, developer, user, assistant, tool"
        raise invalid_request(
            f"{where}.role: unknown role {str(role)[:40]!r}. Roles: {known}.", f"{where}.role"
        )


def _read_chat_format(data: dict[str, Any], model: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the schema for the answer, and ignored parameters."""
    format_ = read_field(data, "response_format", dict, {})
    return read_format(format_, model, "response_format", format_.get("json_schema"))


def read_format(
    format_: dict[str, Any], model: str, where: str, schema: Any
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the limits that a format sets, and ignored parameters."""
    kind = format_.get("type")
    if kind in (None, "text"):
        return {}, ()
    if kind not in ("json_schema", "json_object"):
        raise invalid_request(f"{where}.type: unknown type {str(kind)[:40]!r}.", where)
    if model != "hookline-light":
        raise invalid_request(
            f"{where}: the agent answers with text; use hookline-light for a JSON schema.", where
        )
    if kind == "json_object":
        return {"schema": {"type": "object"}}, ()
    found = schema.get("schema") if isinstance(schema, dict) else None
    if not isinstance(found, dict):
        raise invalid_request(f"{where} needs a JSON schema.", where)
    return {"schema": found}, ()


def check_tool_choice(choice: Any) -> None:
    """Refuse a request that forces a call of the client's tools."""
    if choice == "required" or isinstance(choice, dict):
        raise invalid_request(
            "tool_choice: the client's tools are never called; the agent runs its own.",
            "tool_choice",
        )
    if choice not in (None, "auto", "none"):
        raise invalid_request("tool_choice must be auto or none.", "tool_choice")


def check_positive(data: dict[str, Any], name: str) -> None:
    """Refuse a token limit below 1; -1 and null mean no limit, as for llama.cpp's server."""
    value = read_field(data, name, int)
    if value == NO_LIMIT:
        data[name] = None
    elif value is not None and value < 1:
        raise invalid_request(f"{name} must be at least 1.", name)
