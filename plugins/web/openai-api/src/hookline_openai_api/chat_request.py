"""The body of ``POST /v1/chat/completions``."""

from __future__ import annotations

from typing import Any

from .asked import Asked, Said, model_of, named, split
from .body import take
from .content import joined, read_content
from .errors import bad

IGNORED = (
    *("max_tokens", "max_completion_tokens", "temperature", "top_p", "stop", "tools", "functions"),
    *("seed", "logprobs", "top_logprobs", "logit_bias", "presence_penalty", "frequency_penalty"),
    *("parallel_tool_calls", "reasoning_effort", "verbosity", "prediction", "modalities", "audio"),
    *("service_tier", "web_search_options"),
)
"""What the agent decides itself."""
SYSTEM = ("system", "developer")


def read_chat(data: dict[str, Any]) -> Asked:
    """Return what is asked for. Raises ``ApiError`` (400, 404)."""
    model = model_of(take(data, "model", str))
    check_tool_choice(data.get("tool_choice"))
    n = take(data, "n", int, 1)
    if n != 1:
        raise bad("n must be 1: a turn acts once.", "n")
    for name in ("max_tokens", "max_completion_tokens"):
        check_positive(data, name)
    limits, ignored = _format(data, model)
    ignored += named(data, IGNORED)
    if data.get("tool_choice") not in (None, "none", "auto"):
        ignored += ("tool_choice",)
    most = take(data, "max_completion_tokens", int) or take(data, "max_tokens", int)
    if model == "hookline-light" and most:
        limits["max_tokens"] = most
        ignored = tuple(n for n in ignored if n not in ("max_tokens", "max_completion_tokens"))
    options = take(data, "stream_options", dict, {})
    messages = data.get("messages")
    if not isinstance(messages, list):
        raise bad("messages must be a list.", "messages", "invalid_type")
    system: list[str] = []
    said: list[Said] = []
    for number, message in enumerate(messages):
        _read_message(message, f"messages[{number}]", system, said)
    history, content = split(said, "messages")
    return Asked(
        "chat",
        model,
        take(data, "stream", bool, False),
        joined(system),
        history,
        content,
        ignored,
        include_usage=take(options, "include_usage", bool, False),
        limits=limits,
    )


def _read_message(message: Any, where: str, system: list[str], said: list[Said]) -> None:
    if not isinstance(message, dict):
        raise bad(f"{where} must be an object.", where, "invalid_type")
    role = message.get("role")
    content = read_content(message.get("content"), f"{where}.content")
    if role in SYSTEM:
        if content.files:
            raise bad(f"{where}: a {role} message holds text only.", where)
        system.append(content.text)
    elif role == "user":
        said.append(Said("user", content))
    elif role == "assistant":
        said.append(Said("assistant", content, is_tool=not content.text.strip()))
    elif role in ("tool", "function"):
        said.append(Said("user", content, is_tool=True))
    else:
        known = "system, developer, user, assistant and tool"
        raise bad(
            f"{where}.role {str(role)[:40]!r} is not known; there are {known}.", f"{where}.role"
        )


def _format(data: dict[str, Any], model: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the schema that an answer must follow, and whether a format is ignored."""
    wanted = take(data, "response_format", dict, {})
    return read_format(wanted, model, "response_format", wanted.get("json_schema"))


def read_format(
    wanted: dict[str, Any], model: str, where: str, schema: Any
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the limits that a format sets, and the names that are ignored."""
    kind = wanted.get("type")
    if kind in (None, "text"):
        return {}, ()
    if kind not in ("json_schema", "json_object"):
        raise bad(f"{where}.type {str(kind)[:40]!r} is not known.", where)
    if model != "hookline-light":
        raise bad(
            f"{where}: the agent answers in words; hookline-light follows a JSON schema.", where
        )
    if kind == "json_object":
        return {"schema": {"type": "object"}}, ()
    found = schema.get("schema") if isinstance(schema, dict) else None
    if not isinstance(found, dict):
        raise bad(f"{where} needs a JSON schema.", where)
    return {"schema": found}, ()


def check_tool_choice(choice: Any) -> None:
    """Refuse a request whose answer must be a call of the client's tools."""
    if choice == "required" or isinstance(choice, dict):
        raise bad(
            "tool_choice: the tools of the client are never called; the agent runs its own.",
            "tool_choice",
        )
    if choice not in (None, "auto", "none"):
        raise bad("tool_choice must be auto or none.", "tool_choice")


def check_positive(data: dict[str, Any], name: str) -> None:
    """Refuse a limit of tokens that is no positive number."""
    value = take(data, name, int)
    if value is not None and value < 1:
        raise bad(f"{name} must be at least 1.", name)
