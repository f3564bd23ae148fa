"""What OpenAI's service refuses, and its error messages.

:func:`check_chat` and :func:`check_responses` raise :class:`Refusal` with the status, message,
``type``, ``param`` and ``code`` of the real one.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

ROLES = ("system", "assistant", "user", "function", "tool", "developer")
USER_PARTS = ("text", "image_url", "input_audio", "file")
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]+")
MAX_TOOL_NAME = 64
MAX_CALL_ID = 40
MAX_TOOLS = 128
IMAGE_TYPES = ("png", "jpeg", "gif", "webp")
_CHAT_FIELDS = (
    "audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens "
    "max_tokens messages metadata modalities model n parallel_tool_calls prediction "
    "presence_penalty prompt_cache_key prompt_cache_retention reasoning_effort response_format "
    "safety_identifier seed service_tier stop store stream stream_options temperature tool_choice "
    "tools top_logprobs top_p user verbosity web_search_options"
)
_RESPONSES_FIELDS = (
    "background conversation include input instructions max_output_tokens max_tool_calls metadata "
    "model parallel_tool_calls previous_response_id prompt prompt_cache_key "
    "prompt_cache_retention reasoning safety_identifier service_tier store stream stream_options "
    "temperature text tool_choice tools top_logprobs top_p truncation user"
)
CHAT_FIELDS = frozenset(_CHAT_FIELDS.split())
RESPONSES_FIELDS = frozenset(_RESPONSES_FIELDS.split())
MESSAGE_FIELDS = {
    "system": {"role", "content", "name"},
    "developer": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "function": {"role", "content", "name"},
    "tool": {"role", "content", "tool_call_id"},
    "assistant": {"role", "content", "name", "refusal", "audio", "tool_calls", "function_call"},
}


class Refusal(Exception):
    """A refusal as the service sends it."""

    def __init__(
        self,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        status: int = 400,
        kind: str = "invalid_request_error",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = dict(headers or {})
        self.body = {"error": {"message": message, "type": kind, "param": param, "code": code}}


def check_headers(headers: Mapping[str, str]) -> None:
    """Refuse a request without a key or of another type than JSON."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not key.strip():
        raise Refusal(
            "You didn't provide an API key. You need to provide your API key in an Authorization "
            "header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
            status=401,
        )


def read_json(headers: Mapping[str, str], raw: bytes) -> dict[str, Any]:
    """The body of a POST. Refuses another content type, and what is no JSON object."""
    kind = headers.get("content-type", "").split(";")[0].strip()
    if kind != "application/json":
        raise Refusal(
            f"Unsupported content type: '{kind}'. This API method only accepts "
            "'application/json' requests, but you specified the header 'Content-Type: "
            f"{kind}'. Please try again with a supported content type.",
            code="unsupported_content_type",
            status=415,
        )
    try:
        body = json.loads(raw.decode("utf-8"), parse_constant=_no_constant)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise Refusal(
            "We could not parse the JSON body of your request. (HINT: This likely means you "
            "aren't using your HTTP library correctly. The OpenAI API expects a JSON payload, "
            "but what was sent was not valid JSON.)"
        )
    return body


def check_chat(body: Mapping[str, Any]) -> None:
    """Refuse what ``/chat/completions`` refuses."""
    _known_fields(body, CHAT_FIELDS)
    _model(body)
    _messages(body)
    _tools(body, lambda tool, where: _chat_function(tool, where))
    _numbers(body, ("max_tokens", "max_completion_tokens"))
    if body.get("stream_options") is not None and not body.get("stream"):
        raise Refusal(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
            param="stream_options",
        )


def check_responses(body: Mapping[str, Any]) -> None:
    """Refuse what ``/responses`` refuses."""
    _known_fields(body, RESPONSES_FIELDS)
    _model(body)
    _tools(body, _responses_function)
    _numbers(body, ("max_output_tokens",))
    items = body.get("input")
    if isinstance(items, str) and items:
        return
    if not isinstance(items, list) or not items:
        raise Refusal("Missing required parameter: 'input'.", param="input", code=MISSING)
    _items(items)


MISSING = "missing_required_parameter"


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _bad(message: str, param: str, code: str = "invalid_value") -> Refusal:
    return Refusal(message, param=param, code=code)


def _kind(value: object) -> str:
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean"}
    return names.get(type(value), "null" if value is None else "a number")


def _need(where: str, value: Mapping[str, Any], key: str, type_: type, wanted: str) -> Any:
    path = f"{where}.{key}" if where else key
    if value.get(key) is None:
        raise _bad(f"Missing required parameter: '{path}'.", path, MISSING)
    if not isinstance(value[key], type_):
        got = _kind(value[key])
        raise _bad(
            f"Invalid type for '{path}': expected {wanted}, but got {got} instead.",
            path,
            "invalid_type",
        )
    return value[key]


def _not_empty(where: str, value: Sequence[Any]) -> None:
    if not value:
        raise _bad(
            f"Invalid '{where}': empty array. Expected an array with minimum length 1, but got "
            "an empty array instead.",
            where,
            "empty_array",
        )


def _known_fields(body: Mapping[str, Any], known: frozenset[str]) -> None:
    for key in body:
        if key not in known:
            raise Refusal(f"Unknown parameter: '{key}'.", param=key, code="unknown_parameter")


def _model(body: Mapping[str, Any]) -> None:
    if not isinstance(body.get("model"), str) or not body["model"]:
        raise Refusal("you must provide a model parameter")


def _messages(body: Mapping[str, Any]) -> None:
    messages = _need("", body, "messages", list, "an array of objects")
    _not_empty("messages", messages)
    waiting: list[str] = []
    for number, message in enumerate(messages):
        where = f"messages[{number}]"
        if not isinstance(message, dict):
            raise _bad(
                f"Invalid type for '{where}': expected an object, but got {_kind(message)} "
                "instead.",
                where,
                "invalid_type",
            )
        role = message.get("role")
        if role not in ROLES:
            supported = ", ".join(f"'{known}'" for known in ROLES[:-1])
            raise _bad(
                f"Invalid value: '{role}'. Supported values are: {supported}, and 'developer'.",
                f"{where}.role",
            )
        _known_in_message(message, role, where)
        if role == "tool":
            _answers(message, waiting, where, number)
            continue
        _all_answered(waiting, where)
        if role == "assistant":
            waiting = _assistant(message, where)
        else:
            _content(message, where)
    _all_answered(waiting, f"messages[{len(messages) - 1}]")


def _known_in_message(message: Mapping[str, Any], role: str, where: str) -> None:
    for key in message:
        if key not in MESSAGE_FIELDS[role]:
            path = f"{where}.{key}"
            raise _bad(f"Unknown parameter: '{path}'.", path, "unknown_parameter")


def _answers(message: Mapping[str, Any], waiting: list[str], where: str, number: int) -> None:
    call_id = _need(where, message, "tool_call_id", str, "a string")
    if call_id not in waiting:
        raise Refusal(
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding "
            "message with 'tool_calls'.",
            param=f"messages.[{number}].role",
        )
    waiting.remove(call_id)
    _content(message, where)


def _all_answered(waiting: list[str], where: str) -> None:
    if waiting:
        raise Refusal(
            "An assistant message with 'tool_calls' must be followed by tool messages responding "
            "to each 'tool_call_id'. The following tool_call_ids did not have response messages: "
            + ", ".join(waiting),
            param=f"{where}.role",
        )


def _assistant(message: Mapping[str, Any], where: str) -> list[str]:
    calls = message.get("tool_calls")
    if message.get("content") is not None or calls is None:
        _content(message, where)
    if calls is None:
        return []
    calls = _need(where, message, "tool_calls", list, "an array of objects")
    _not_empty(f"{where}.tool_calls", calls)
    ids: list[str] = []
    for number, call in enumerate(calls):
        ids.append(_call(call, f"{where}.tool_calls[{number}]"))
        if ids.count(ids[-1]) > 1:
            path = f"{where}.tool_calls"
            raise _bad(f"Duplicate value for 'tool_call_id' of {ids[-1]} in {path}", path)
    return ids


def _call(call: Any, where: str) -> str:
    if not isinstance(call, dict):
        raise _bad(
            f"Invalid type for '{where}': expected an object, but got {_kind(call)} instead.",
            where,
            "invalid_type",
        )
    call_id: str = _need(where, call, "id", str, "a string")
    if not 0 < len(call_id) <= MAX_CALL_ID:
        raise _bad(
            f"Invalid '{where}.id': string too long or empty. Expected a string with maximum "
            f"length {MAX_CALL_ID}, but got a string with length {len(call_id)} instead.",
            f"{where}.id",
            "string_above_max_length",
        )
    if _need(where, call, "type", str, "a string") != "function":
        raise _bad(
            f"Invalid value: '{call['type']}'. Supported values are: 'function' and 'custom'.",
            f"{where}.type",
        )
    function = _need(where, call, "function", dict, "an object")
    _name(function, f"{where}.function")
    _need(f"{where}.function", function, "arguments", str, "a string")
    return call_id


def _name(value: Mapping[str, Any], where: str) -> str:
    name: str = _need(where, value, "name", str, "a string")
    if not TOOL_NAME.fullmatch(name):
        raise _bad(
            f"Invalid '{where}.name': string does not match pattern. Expected a string that "
            "matches the pattern '^[a-zA-Z0-9_-]+$'.",
            f"{where}.name",
        )
    if len(name) > MAX_TOOL_NAME:
        raise _bad(
            f"Invalid '{where}.name': string too long. Expected a string with maximum length "
            f"{MAX_TOOL_NAME}, but got a string with length {len(name)} instead.",
            f"{where}.name",
            "string_above_max_length",
        )
    return name


def _content(message: Mapping[str, Any], where: str) -> None:
    content = message.get("content")
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        raise Refusal(
            f"Invalid value for 'content': expected a string, got {_kind(content)}.",
            param=f"{where}.content",
        )
    _not_empty(f"{where}.content", content)
    allowed: Sequence[str] = USER_PARTS if message["role"] == "user" else ("text",)
    if message["role"] == "assistant":
        allowed = ("text", "refusal")
    for number, part in enumerate(content):
        _part(part, allowed, f"{where}.content[{number}]")


def _part(part: Any, allowed: Sequence[str], where: str) -> None:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind not in allowed:
        supported = ", ".join(f"'{known}'" for known in allowed)
        raise _bad(f"Invalid value: '{kind}'. Supported values are: {supported}.", f"{where}.type")
    if kind == "text":
        _need(where, part, "text", str, "a string")
    if kind == "image_url":
        image = _need(where, part, "image_url", dict, "an object")
        _image(_need(f"{where}.image_url", image, "url", str, "a string"), where)


def _image(url: str, where: str) -> None:
    if re.match(r"https?://[^/\s]+", url):
        return
    match = re.fullmatch(rf"data:image/(?:{'|'.join(IMAGE_TYPES)});base64,(.+)", url, re.DOTALL)
    try:
        valid = match is not None and bool(base64.b64decode(match[1], validate=True))
    except binascii.Error:
        valid = False
    if not valid:
        raise _bad(
            "Invalid image data. Expected a base64-encoded data URL with an image MIME type "
            "(e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), or an http(s) URL.",
            f"{where}.image_url.url",
            "invalid_image_url",
        )


def _tools(
    body: Mapping[str, Any], function: Callable[[Mapping[str, Any], str], Mapping[str, Any]]
) -> None:
    tools = body.get("tools")
    if tools is None:
        if body.get("tool_choice") is not None:
            raise Refusal(
                "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are "
                "specified.",
                param="tool_choice",
            )
        return
    tools = _need("", body, "tools", list, "an array of objects")
    _not_empty("tools", tools)
    if len(tools) > MAX_TOOLS:
        raise _bad(
            f"Invalid 'tools': array too long. Expected an array with maximum length {MAX_TOOLS}, "
            f"but got an array with length {len(tools)} instead.",
            "tools",
            "array_above_max_length",
        )
    names: set[str] = set()
    for number, tool in enumerate(tools):
        where = f"tools[{number}]"
        described = function(tool, where)
        name = _name(described, where)
        if name in names:
            raise _bad(f"Tool names must be unique: '{name}' is given twice.", f"{where}.name")
        names.add(name)
        _schema(described, name, where)


def _chat_function(tool: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    if _need(where, tool, "type", str, "a string") != "function":
        raise _bad(
            f"Invalid value: '{tool['type']}'. Supported values are: 'function' and 'custom'.",
            f"{where}.type",
        )
    found: Mapping[str, Any] = _need(where, tool, "function", dict, "an object")
    return found


def _responses_function(tool: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    _need(where, tool, "type", str, "a string")
    return tool


def _schema(function: Mapping[str, Any], name: str, where: str) -> None:
    parameters = function.get("parameters")
    if parameters is None:
        return
    if not isinstance(parameters, dict) or parameters.get("type") != "object":
        got = parameters.get("type") if isinstance(parameters, dict) else parameters
        raise _bad(
            f"Invalid schema for function '{name}': schema must be a JSON Schema of 'type: "
            f'"object"\', got \'type: "{got}"\'.',
            f"{where}.parameters",
            "invalid_function_parameters",
        )


def _numbers(body: Mapping[str, Any], limits: Sequence[str]) -> None:
    for key in (*limits, "n"):
        value = body.get(key)
        if value is not None and (type(value) is not int or value < 1):
            raise _bad(
                f"Invalid '{key}': integer below minimum value. Expected a value >= 1, but got "
                f"{value} instead.",
                key,
                "integer_below_min_value",
            )
    if (body.get("n") or 1) > MAX_TOOLS:
        raise _bad(
            f"Invalid 'n': integer above maximum value. Expected a value <= {MAX_TOOLS}, but got "
            f"{body['n']} instead.",
            "n",
            "integer_above_max_value",
        )
    heat = body.get("temperature")
    if heat is not None and not 0 <= heat <= 2:
        raise _bad(
            "Invalid 'temperature': decimal out of range. Expected a value >= 0 and <= 2, but "
            f"got {heat} instead.",
            "temperature",
            "decimal_above_max_value",
        )


def _items(items: Sequence[Any]) -> None:
    open_calls: list[str] = []
    for number, item in enumerate(items):
        where = f"input[{number}]"
        kind = item.get("type", "message")
        if kind == "function_call":
            open_calls.append(_need(where, item, "call_id", str, "a string"))
            _name(item, where)
            _need(where, item, "arguments", str, "a string")
        elif kind == "function_call_output":
            call_id = _need(where, item, "call_id", str, "a string")
            if call_id not in open_calls:
                raise Refusal(
                    f"No tool call found for function call output with call_id {call_id}.",
                    param="input",
                )
            open_calls.remove(call_id)
            _need(where, item, "output", str | list, "a string or an array")  # type: ignore[arg-type]
        elif kind == "message":
            _input_message(item, where)
        elif kind == "reasoning":
            _need(where, item, "summary", list, "an array")
        else:
            raise _bad(f"Invalid value: '{kind}'.", f"{where}.type")
    if open_calls:
        raise Refusal(f"No tool output found for function call {open_calls[0]}.", param="input")


def _input_message(item: Mapping[str, Any], where: str) -> None:
    role = _need(where, item, "role", str, "a string")
    if role not in ("user", "assistant", "system", "developer"):
        raise _bad(
            f"Invalid value: '{role}'. Supported values are: 'assistant', 'system', 'developer', "
            "and 'user'.",
            f"{where}.role",
        )
    content = item.get("content")
    if isinstance(content, str):
        return
    content = _need(where, item, "content", list, "a string or an array")
    allowed = ("output_text", "refusal") if role == "assistant" else ("input_text", "input_image")
    for number, part in enumerate(content):
        path = f"{where}.content[{number}]"
        if part.get("type") not in allowed:
            supported = ", ".join(f"'{known}'" for known in allowed)
            raise _bad(
                f"Invalid value: '{part.get('type')}'. Supported values are: {supported}.", path
            )
        if part["type"] == "input_image":
            _image(_need(path, part, "image_url", str, "a string"), path)
