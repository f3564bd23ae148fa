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
    r"image|picture|vision|multi-?modal|mmproj|content type|content\b.*\bstring|图片|图像|多模态",
    re.IGNORECASE,
)
_BAD_IMAGE = re.compile(
    r"too (?:large|big|small)|exceed|size|dimension|corrupt|decod|could not process"
    r"|unable to process|base64|invalid image|download|过大",
    re.IGNORECASE,
)
_NOT_SUPPORTED = re.compile(r"not support|unsupported|不支持", re.IGNORECASE)
_REPEATED = re.compile(r"duplicat|repeat|unique|already (?:used|exist|been)|重复", re.IGNORECASE)
_SCHEMA = re.compile(
    r"schema|parameters|properties|declaration|(?:all|any|one)Of|\$ref|function\.name|pattern",
    re.IGNORECASE,
)
_TOOL_NUMBER = re.compile(r"(?:function_?declarations|tools)(?:\[(\d+)\]|\.(\d+))", re.IGNORECASE)


def refused_images(text: str) -> Literal["all", "these", ""]:
    """Return whether an error refuses images: ``all``, only ``these``, or none (empty)."""
    if not _IMAGE.search(text):
        return ""
    return "these" if _BAD_IMAGE.search(text) and not _NOT_SUPPORTED.search(text) else "all"


def refuses_repeated_ids(text: str) -> bool:
    """Return whether an error is about something that must be unique."""
    return bool(_REPEATED.search(text))


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
        kind: ``images image tool field ids signatures thinking``.
        model: that refused it.
        what: the name of the tool or field.
    """
    return {
        "images": f"{model} cannot read images, so they were left out of the request.",
        "image": f"{model} could not read an image, so it was left out of the request.",
        "tool": f"{model} refuses the schema of the tool {what}, so it is not offered to it.",
        "field": f"{model} refuses {what} in the history, so it was left out of the request.",
        "ids": f"{model} refuses repeated ids of tool calls, so they were renamed.",
        "signatures": f"{model} refuses unsigned tool calls, so they were marked as another's.",
        "thinking": f"{model} refuses earlier thinking, so it was left out of the request.",
    }[kind]
