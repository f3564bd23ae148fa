"""Recognizes which item of a request an error refuses: pictures, a tool, repeated call ids.

One refused item would otherwise end a session, because every later request repeats it. The
providers leave the item out and send the request again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Literal

REPAIR_STATUSES = frozenset({400, 404, 415, 422, 500, 501})
"""OpenRouter answers 404 if no server of a model reads images, llama.cpp 500."""
MAX_REPAIRS = 8
"""Repairs of one request; after that its error is shown."""
LEFT_OUT_IMAGE = "(An image was left out: the model cannot read it.)"
"""Sent in place of an image."""
_IMAGE = re.compile(
    r"image|picture|vision|\bvlm\b|multi-?modal|mmproj|content type|content\b.*\bstring"
    r"|valid string|\bbild|im[aá]gen|immagin|изображени|画像|이미지|图片|图像|多模态",
    re.IGNORECASE,
)
_BAD_IMAGE = re.compile(
    r"too (?:large|big|small)|exceed|size|dimension|corrupt|decod|could not process"
    r"|unable to process|base64|invalid image|download|过大",
    re.IGNORECASE,
)
_THIS_IMAGE = re.compile(
    r"your image|valid image|image (?:format|data)|following formats|invalid format|valid url",
    re.IGNORECASE,
)
"""Words about one picture, also beside "unsupported"."""
_NOT_SUPPORTED = re.compile(r"not support|unsupported|不支持", re.IGNORECASE)
_REPEATED = re.compile(r"duplicat|repeat|unique|already (?:used|exist|been)|重复", re.IGNORECASE)
_CALL_ID = re.compile(r"(?:call|use)s?(?:\[?\.?\d+\]?)?[ _.]ids?\b", re.IGNORECASE)
_ID_FORMAT = re.compile(r"length|pattern|alphanum|a-z|characters|长度", re.IGNORECASE)
_TOOLS = re.compile(r"\btools?\b|function[- ]call|工具|函数调用", re.IGNORECASE)
_NO_TOOLS = re.compile(
    r"(?:not|n't|no endpoints found that) support|not supported|unsupported|requires --|不支持",
    re.IGNORECASE,
)
_REASONING = re.compile(
    r"reasoning_content.*(?:passed back|missing|require|must|回传|缺少|必须)"
    r"|(?:missing|require|回传|缺少|必须).*reasoning_content",
    re.IGNORECASE,
)
_ROLES = re.compile(r"roles? must alternate|alternating roles|角色.*交替", re.IGNORECASE)
_SYSTEM_ROLE = re.compile(
    r"(?:system (?:role|message|prompt|instruction)|developer instruction)s?\b.*"
    r"\b(?:not (?:be )?(?:support|enabl|allow)|unsupported)",
    re.IGNORECASE,
)
_SCHEMA = re.compile(
    r"schema|parameters|properties|declaration|(?:all|any|one)Of|\$ref|function\.name|pattern",
    re.IGNORECASE,
)
_TOOL_NUMBER = re.compile(r"(?:function_?declarations|tools)(?:\[(\d+)\]|\.(\d+))", re.IGNORECASE)


def refused_images(text: str) -> Literal["all", "these", ""]:
    """Return whether an error refuses images: ``all``, only ``these``, or none (empty)."""
    if not _IMAGE.search(text):
        return ""
    is_bad = _BAD_IMAGE.search(text) and not _NOT_SUPPORTED.search(text)
    return "these" if is_bad or _THIS_IMAGE.search(text) else "all"


def refuses_repeated_ids(text: str) -> bool:
    """Return whether an error is about something that must be unique."""
    return bool(_REPEATED.search(text))


def refuses_ids(text: str) -> bool:
    """Return whether an error is about how the ids of tool calls are written."""
    return bool(_CALL_ID.search(text) and _ID_FORMAT.search(text))


def refuses_tools(text: str) -> bool:
    """Return whether a model, or its server as it was started, cannot be offered any tool."""
    return bool(_TOOLS.search(text) and _NO_TOOLS.search(text) and not _SCHEMA.search(text))


def misses_reasoning(text: str) -> bool:
    """Return whether an error asks for reasoning with each assistant message."""
    return bool(_REASONING.search(text))


def refuses_roles(text: str) -> str:
    """Return whether an error asks for ``roles`` that alternate or refuses a ``system`` message."""
    return "roles" if _ROLES.search(text) else "system" if _SYSTEM_ROLE.search(text) else ""


def refused_tool(text: str, body: Any, names: Sequence[str]) -> str:
    """Return the tool whose schema an error refuses, named or by its number; empty for none.

    Args:
        text: of the error.
        body: the error as the server gave it.
        names: of the request's tools, in order.
    """
    if not _SCHEMA.search(text):
        return ""
    for name in sorted(names, key=len, reverse=True):
        if re.search(rf"['\"`]{re.escape(name)}['\"`:.]", text):
            return name
    numbers = _TOOL_NUMBER.findall(f"{json.dumps(body, default=str)} {text}")
    at = int(numbers[-1][0] or numbers[-1][1]) if numbers else len(names)
    return names[at] if at < len(names) else ""


def describe_repair(kind: str, model: str, what: str = "") -> str:
    """Return a sentence for the person about what was changed in the request.

    Args:
        kind: of the repair, one of the keys below.
        model: that refused it.
        what: the name of the tool or field.
    """
    return {
        "images": f"{model} cannot read images, so they were left out of the request.",
        "image": f"{model} could not read an image, so it was left out of the request.",
        "tool": f"{model} refuses the schema of the tool {what}, so it is not offered to it.",
        "field": f"{model} refuses {what} in the history, so it was left out of the request.",
        "ids": f"{model} refuses repeated ids of tool calls, so they were renamed.",
        "written_ids": f"{model} refuses other ids of tool calls, so they were renamed.",
        "tools": f"{model} cannot be offered tools, so it can only talk. /model chooses another.",
        "reasoning": f"{model} expects reasoning with each answer, so gaps were filled.",
        "roles": f"{model} refuses two messages of one side in a row, so empty ones were added.",
        "system": f"{model} takes no system message, so it was sent as the first message.",
        "signatures": f"{model} refuses unsigned tool calls, so they were marked as another's.",
        "thinking": f"{model} refuses earlier thinking, so it was left out of the request.",
    }[kind]
