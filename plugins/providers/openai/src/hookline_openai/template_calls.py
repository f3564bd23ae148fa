"""Reads tool calls in the notations of chat templates, in JSON and in Python.

Whether a text calls a tool or only explains it is decided in :mod:`.text_tool_calls`.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from .json_in_prose import fits_schema
from .json_values import as_mapping, as_mappings, as_string
from .tool_elements import element_at, written_in
from .written_arguments import objects, only_argument, typed

Call: TypeAlias = tuple[str, dict[str, Any]]
Tools: TypeAlias = Mapping[str, Mapping[str, Any]]
"""The JSON schema of the arguments of each offered tool, by name."""

_VENDOR = r"(?:[a-z]+:|[|｜]?DSML[|｜]|longcat_)?"
"""What some models write before the names of their tags."""
MARK = re.compile(
    rf"<[|｜]?{_VENDOR}(?:tool[_▁]?(?:calls?|code|use|request)|function_calls?|tools)(?:[_▁][a-z▁_]+)?[|｜]?>"
    rf"|<{_VENDOR}(?:invoke|function|tool)(?: name)?="
    r"|<\|(?:python_tag|python_start|action_start|start_action)\|>"
    r"|<\|channel\|>\w+ to=|<\|start\|>assistant to=|\[TOOL_(?:CALLS|REQUEST)\]"
    r"|^[ \t]*functools(?=\[)|^call:(?=[\w.-]+\{)",
    re.IGNORECASE | re.MULTILINE,
)
"""What a call begins with, in the templates of Qwen, Hermes, GLM, Mistral, Llama, DeepSeek, Kimi,
gpt-oss, MiniMax, Gemma, Phi, Granite, LFM, Cohere and others."""
_SPELLING = re.compile(
    rf"<(/?){_VENDOR}(?=(?:tool_?calls?|function_calls|invoke|parameter|arg_key|arg_value)\b)"
    r"|(</?)longcat_(?=arg_)|<[|｜](/?[\w▁]+)[|｜]>"
)
_SKIPPED = re.compile(
    r"(?:\s|[,;]|```\w*|</?(?:tool_?(?:calls?|code|use|request)|function_calls?|tools)>|<\|/?\w+\|>"
    r"|<\|tool_call>|<tool_call\|>|\[(?:/?TOOL_CALLS|(?:END_)?TOOL_REQUEST)\]|functools|</s>)*",
    re.IGNORECASE,
)
"""What stands between calls."""
_END = re.compile(
    r"(?=<(?:function|invoke|tool)[ =])"
    r"|</?(?:tool_?(?:calls?|code|use|request)|function_calls?|tools?|function|invoke)>|<\|/?\w+\|>"
    r"|<\|tool_call>|<tool_call\|>|\[(?:TOOL_CALLS|(?:END_)?TOOL_REQUEST)\]|</s>|\Z",
    re.IGNORECASE,
)
"""What ends a call that does not end by itself."""
NAMED_CALL = re.compile(
    r"(?:function<\|tool_sep\|>|(?:\w+ )?to=)?([\w.-]+)(?::\d+)?"
    r"(?:\s*+(?:<\|\w+\|>|\[[A-Z_]+\])\s*+\w{0,20}+| \w{1,12}(?=<\|))*+\s*(?:```\w*\s*)?(?=\{)"
)
"""A name, separators, and JSON. Possessive, so that no row of separators takes long."""
_ELEMENT = re.compile(
    r"<(function|invoke|tool)(?: name)?=[\"']?([\w.-]+)[\"']?\s*>?\(?\s*+(.*?)"
    r"(?:</\1>|(?=<\1[ =])|\Z)",
    re.DOTALL,
)
_PARAMETER = re.compile(
    r"<(param(?:eter)?)(?: name)?=[\"']?([\w.$-]++)[\"']?[^>]*>\n?(.*?)\n?"
    r"(?:</\1>|(?=<\1[ =])|\Z)",
    re.DOTALL,
)
_PAIRS = re.compile(
    r"([\w.-]+)\s*(?:<tool_sep>\s*)?((?:<arg_key>.*?(?:</arg_value>|\Z)\s*)+)", re.DOTALL
)
_PAIR = re.compile(
    r"<arg_key>([^<]*+)</arg_key>\s*+<arg_value>\n?(.*?)\n?(?:</arg_value>|\Z)", re.DOTALL
)
_NAME_ELEMENT = re.compile(
    r"<name>\s*+([\w.-]+)\s*+</name>\s*+<(arguments|parameters|args|input)>(.*?)</\2>\s*+",
    re.DOTALL,
)
_LONE_NAME = re.compile(r"([\w.-]+)\s*(?=</tool_call>|\Z)")
_GEMMA = re.compile(
    r"call:([\w.-]+)(\{.*?\})\s*+(?:(?=<tool_call\|>|<\|tool_call>|\Z)|(?<=\n)(?=call:))", re.DOTALL
)
_GEMMA_STRING = re.compile(r'<\|"\|>(.*?)<\|"\|>', re.DOTALL)
_PREFIX = re.compile(r"\A(?:functions?|tools?|default_api)[./:]", re.IGNORECASE)
MAX_PLACES = 100
"""Places of an answer at which a call is looked for."""
MAX_PYTHON_CHARS = 20_000
"""A longer text is not read as Python, which may take long."""
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "tool_input", "action_input")
_NAME_KEYS = ("name", "tool", "tool_name", "function", "action", "recipient_name")
_WRAPPER_KEYS = ("tool_call", "function_call", "tool_calls", "tool_uses")
CALL_KEYS = (*_NAME_KEYS, *_ARGUMENT_KEYS, *_WRAPPER_KEYS, "type", "id")
"""Keys that the object of a call begins with."""


def marked_calls(text: str, tools: Tools) -> Iterator[Call]:
    """Yield the calls of a text that begins with a mark; other text between them is skipped."""
    text = _SPELLING.sub(_plain_spelling, text)
    at = 0
    for _ in range(MAX_PLACES):
        at = _SKIPPED.match(text, at).end()  # type: ignore[union-attr]  # it always matches
        if at == len(text):
            break
        calls, end = _calls_at(text, at, tools)
        yield from calls
        at = end if end > at else _END.search(text, at + 1).start()  # type: ignore[union-attr]


def _plain_spelling(mark: re.Match[str]) -> str:
    """Return a mark without a vendor's name, and with ASCII letters."""
    return f"<|{mark[3].replace('▁', '_').lower()}|>" if mark[3] else mark[2] or f"<{mark[1]}"


def _calls_at(text: str, at: int, tools: Tools) -> tuple[list[Call], int]:
    """Return the calls that begin at a place, and where they end."""
    if found := _ELEMENT.match(text, at):
        name, inner = found[2], found[3].rstrip()
        if inner.startswith("{"):
            return [(name, given) for given in objects(inner.removesuffix(")"))], found.end()
        given = {one[2]: one[3] for one in _PARAMETER.finditer(inner)}
        return [(name, typed(given, tools.get(name, {})))], found.end()
    if found := _PAIRS.match(text, at):
        given = {pair[1].strip(): pair[2] for pair in _PAIR.finditer(found[2])}
        return [(found[1], typed(given, tools.get(found[1], {})))], found.end()
    if found := _NAME_ELEMENT.match(text, at):
        name = offered_name(found[1], tools)
        arguments = written_in(found[3], tools.get(name, {}))
        return ([] if arguments is None else [(name, arguments)]), found.end()
    if element := element_at(text, at, tools):
        return [element[:2]], element[2]
    if found := _GEMMA.match(text, at):
        return [(found[1], _gemma_arguments(found[2], tools.get(found[1], {})))], found.end()
    if found := NAMED_CALL.match(text, at):
        value, end = json_value_at(text, found.end())
        return ([(found[1], value)] if isinstance(value, dict) else []), end
    if (found := _LONE_NAME.match(text, at)) and found[1] in tools:
        return [(found[1], {})], found.end()
    if text[at] in "{[":
        value, end = json_value_at(text, at)
        if value is not None:
            return list(_calls_in(value, tools)), end
    end = _END.search(text, at).start()  # type: ignore[union-attr]  # it always matches
    return python_calls(text[at:end]), end


def json_value_at(text: str, at: int) -> tuple[Any, int]:
    """Return the JSON that begins at a place, and where it ends; None if there is none."""
    try:
        return json.JSONDecoder(strict=False).raw_decode(text, at)
    except (ValueError, RecursionError):
        end = _END.search(text, at).start()  # type: ignore[union-attr]  # it always matches
        inner = text[at:end].strip()
        # Small models forget a brace. At the end of the text the rest may be missing instead.
        found = objects(inner) or (objects(inner + "}") if end < len(text) else [])
        return next(iter(found), None), end


def python_calls(text: str) -> list[Call]:
    """Return the calls of ``[one(key=value), two()]`` in Python, as Llama and Gemma write them."""
    if "(" not in text or len(text) > MAX_PYTHON_CHARS:
        return []
    try:
        with warnings.catch_warnings(action="ignore"):  # of the parser, about what a model wrote
            lines = ast.parse(text.strip()).body
        values = [line.value for line in lines if isinstance(line, ast.Expr)]
        nodes = [one for value in values for one in getattr(value, "elts", [value])]
        if len(values) < len(lines) or not all(isinstance(one, ast.Call) for one in nodes):
            return []
        return [_python_call(one) for one in nodes]
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        return []


def _python_call(node: Any) -> Call:
    """Return a call in Python. Raises ``ValueError`` if an argument is not a literal."""
    name = ast.unparse(node.func).removesuffix(".call")
    if name == "print" and len(node.args) == 1 and isinstance(node.args[0], ast.Call):
        return _python_call(node.args[0])
    given = {word.arg: _literal(word.value) for word in node.keywords}
    for one in node.args:
        given |= dict(_literal(one))
    return name, given


def _literal(node: ast.expr) -> Any:
    if isinstance(node, ast.Name) and node.id in ("true", "false", "null"):
        return json.loads(node.id)
    return ast.literal_eval(node)


def _gemma_arguments(text: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of ``{key:<|"|>text<|"|>,other:5}``, or without the quotes."""
    parts = _GEMMA_STRING.split(text)
    for at, part in enumerate(parts):
        quoted = re.sub(r"([{,]\s*)([\w$-]+)\s*:", r'\1"\2":', part)
        parts[at] = json.dumps(part) if at % 2 else quoted
    if found := objects("".join(parts)):
        return found[0]
    keys = "|".join(map(re.escape, as_mapping(schema.get("properties")))) or r"\w+"
    _, *pairs = re.split(rf"(?:\A|,)\s*({keys})\s*:", text[1:-1])
    return typed(dict(zip(pairs[::2], pairs[1::2], strict=True)), schema)


def offered_name(name: str, tools: Tools) -> str:
    """Return the offered tool that a name stands for; the name itself if there is not one."""
    if name in tools:
        return name
    names = {_PREFIX.sub("", name).casefold(), name.casefold()}
    found = [one for one in tools if one.casefold() in names]
    return found[0] if len(found) == 1 else name


def json_calls(text: str, tools: Tools) -> Iterator[Call]:
    """Yield the calls in JSON: an object, several, or a list of them."""
    if not text.startswith(("{", "[")):
        return
    try:
        listed = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        listed = None
    yield from _calls_in(listed if isinstance(listed, list) else objects(text), tools)


def _calls_in(value: Any, tools: Tools) -> Iterator[Call]:
    """Yield the calls of decoded JSON."""
    for found in as_mappings(value if isinstance(value, list) else [value]):
        listed = as_mappings(found.get("tool_calls") or found.get("tool_uses"))
        for one in listed or [found]:
            if call := _call(one, tools):
                yield call


def _call(found: Mapping[str, Any], tools: Tools) -> Call | None:
    """Return the call that an object stands for; None if it is something else."""
    for wrapper in ("function", *_WRAPPER_KEYS):
        if isinstance(inner := found.get(wrapper), dict):
            return _call(inner, tools)
    name_key = next((key for key in _NAME_KEYS if as_string(found.get(key))), "")
    key = next((key for key in _ARGUMENT_KEYS if key in found), "")
    name, given = offered_name(as_string(found.get(name_key)), tools), found.get(key)
    if isinstance(given, str):
        written = objects(given)
        given = written[0] if written else only_argument(given, tools.get(name, {}))
    if not key and len(found) == 1 and not tools.get(name, {}).get("required"):
        given = {}
    if not key and name in tools:
        flat = {one: value for one, value in found.items() if one != name_key}
        given = flat if flat and fits_schema(flat, tools[name]) else given
    if not name and len(found) == 1:
        [(name, given)] = found.items()
        if isinstance(given, dict) and len(given) == 1 and next(iter(given)) in _ARGUMENT_KEYS:
            [given] = given.values()
        if name not in tools or not isinstance(given, dict) or not fits_schema(given, tools[name]):
            return None
    return (name, given) if name and isinstance(given, dict) else None
