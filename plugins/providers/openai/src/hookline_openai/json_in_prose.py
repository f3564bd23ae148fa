"""Decides whether JSON within an answer is a call that the model meant, or part of an explanation.

It is a call only if all of this holds:

- It is the only JSON and the only code fence of the answer, and begins a line.
- It names an offered tool, and its arguments fit the tool's schema.
- It ends the answer, but for a short sentence; what precedes it is short too.
- No word of the prose says that it is an example.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from .json_values import as_mapping

MAX_CHARS_BEFORE = 600
MAX_CHARS_AFTER = 120
"""Characters of prose around a call."""
_FENCED = re.compile(r"^[ \t]*```[\w-]*[ \t]*\n?(?P<json>.*?)\s*```", re.DOTALL | re.MULTILINE)
_BARE = re.compile(r"^[ \t]*(?=[{\[])", re.MULTILINE)
_EXAMPLE = re.compile(
    r"\b(?:examples?|e\.g|for instance|such as|looks? like|like (?:this|so)|formats?|syntax|schema"
    r"|would|could|you can|if you|documentation|beispiel\w*|z\.\s?b|bspw|würden?|könnten?"
    r"|kannst du|exemples?|ejemplos?|esempi\w?|exemplos?|podr[íi]a\w*|pourrai\w*)\b"
    r"|пример|например|формат|例えば|たとえば|例如|比如|示例|格式|예를|예시|형식",
    re.IGNORECASE,
)
"""Words that say that what follows only shows how a call is written."""
_FIRST_KEY = re.compile(r'"(\w+)"\s*:\s*(.*)', re.DOTALL)


def find_json(text: str) -> tuple[str, str, str] | None:
    """Return prose, JSON and prose of an answer that may call a tool; None for an explanation."""
    if text.count("```") not in (0, 2):
        return None
    if found := _FENCED.search(text):
        before, inner, after = text[: found.start()], found["json"], text[found.end() :]
    elif found := _BARE.search(text):
        try:
            _, end = json.JSONDecoder(strict=False).raw_decode(text, found.end())
        except (ValueError, RecursionError):
            return None
        before, inner, after = text[: found.start()], text[found.end() : end], text[end:]
    else:
        return None
    before, after = before.strip(), after.strip()
    return (before, inner, after) if _announces(before, after) else None


def _announces(before: str, after: str) -> bool:
    """Return whether prose around JSON may announce a call; no other JSON, code or tag is in it."""
    prose = f"{before}\n{after}"
    if len(before) > MAX_CHARS_BEFORE or len(after) > MAX_CHARS_AFTER or "\n" in after:
        return False
    if before.count("`") % 2 or re.search(r"[{}<]", prose):
        return False
    return not is_about_examples(prose)


def is_about_examples(prose: str) -> bool:
    """Return whether prose says that what is beside it is an example."""
    return _EXAMPLE.search(prose) is not None


def fits_schema(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> bool:
    """Return whether arguments are valid, and all of them known where the schema names any."""
    import jsonschema

    known = as_mapping(schema.get("properties"))
    if known and any(name not in known for name in arguments):
        return False
    try:
        return bool(jsonschema.Draft202012Validator(schema).is_valid(dict(arguments)))
    except Exception:  # the schema is another server's, and may be invalid in any way
        return False


def may_begin_call(text: str, tools: Mapping[str, Any], keys: tuple[str, ...]) -> bool:
    """Return whether ``text``, which begins a line, may become a call in JSON.

    Args:
        text: the text so far.
        tools: the offered tools by name.
        keys: the keys that an object of a call begins with.
    """
    if re.fullmatch(r"\s*`{0,2}", text):
        return bool(text.strip())
    text = re.sub(r"\A\s*```[\w-]*\s*", "", text).lstrip()
    if not text or text == "[":
        return True
    start = re.match(r"\[?\s*\{\s*", text)
    if start is None:
        return False
    rest = text[start.end() :]
    found = _FIRST_KEY.match(rest)
    if found is None:
        return re.fullmatch(r'(?:"\w*"?\s*)?:?\s*', rest) is not None
    key, value = found[1], found[2]
    named = re.match(r'"([^"]*)"', value)
    if key in keys and named:
        return named[1] in tools or named[1] == "function"
    return key in keys or key in tools
