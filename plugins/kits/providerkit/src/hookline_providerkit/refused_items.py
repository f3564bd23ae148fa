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
    r"image|picture|vision|\bvlm\b|multi-?modal|mmproj|content (?:part )?type|content\b.*\bstring"
    r"|(?:valid|be a|expected a) string|sequence, expected|content(?:\[\d+\])?\.type|array content"
    r"|item type in content|\bbild|im[aá]gen|immagin|изображени|画像|이미지|图片|图像|多模态",
    re.IGNORECASE,
)
_BAD_IMAGE = re.compile(
    r"too (?:large|big|small)|exceed|size|dimension|corrupt|decod|could not process"
    r"|(?:failed|unable) to (?:process|load|open|read)|cannot identify|media type|base64"
    r"|invalid image|download|过大",
    re.IGNORECASE,
)
_THIS_IMAGE = re.compile(
    r"your image|valid image|image (?:format|data)|following formats|invalid format|valid url"
    r"|(?:media|mime) type|image/(?:hei[cf]|bmp|tiff|svg|avif|webp|gif)",
    re.IGNORECASE,
)
"""Words about one picture, also beside "unsupported"."""
_MOST_IMAGES = re.compile(
    r"(?:at most|maximum(?: of)?|max|limit(?: of| is)?|up to|exceeds?|>)\D{0,12}([1-9]\d{0,3})\b"
    r"(?!\s*(?:MB|KB|px|\S*pixel))|最多\D{0,6}([1-9]\d{0,3})",
    re.IGNORECASE,
)
_MANY_IMAGES = re.compile(
    r"too many|at most|\d+ (?:image|picture)|number of|limit of|最多|数量", re.I
)
_NOT_SUPPORTED = re.compile(r"not support|unsupported|不支持", re.IGNORECASE)
_REPEATED = re.compile(
    r"duplicat|repeat|unique|already (?:used|exist|been)|found multiple|重复", re.IGNORECASE
)
_CALL_ID = re.compile(r"(?:call|use)s?(?:\[?\.?\d+\]?)?[ _.]?ids?\b", re.IGNORECASE)
_ID_FORMAT = re.compile(
    r"length|pattern|alphanum|a-z|characters|constraint|too long|长度", re.IGNORECASE
)
_TOOLS = re.compile(
    r"\btools?\b|tool[- ](?:use|call)|function[- ]call|工具|函数调用|werkzeug|инструмент"
    r"|herramienta|\boutils\b|strumenti|ferramenta|ツール|도구",
    re.IGNORECASE,
)
_NO_TOOLS = re.compile(
    r"(?:not|n't|no endpoints found that|cannot|can't) (?:support|use|call)|unsupported|requires --"
    r"|not (?:be |been )?(?:supported|enabled|available|allowed)|disabled|unavailable"
    r"|requires an? \w*\s?template|no tool parser|nicht unterstützt|не поддержив"
    r"|no admite|no soporta|ne prend pas en charge|non supporta|não suporta"
    r"|対応していません|지원하지|不支持",
    re.IGNORECASE,
)
_TOOLS_FIELD = re.compile(r"support parameters: \[[^\]]*['\"]tools\b", re.IGNORECASE)
_REASONING = re.compile(
    r"reasoning[_ ]content.*(?:passed back|missing|require|must|回传|缺少|必须)"
    r"|(?:missing|require|must (?:contain|include|have)|回传|缺少|必须).*reasoning[_ ]content",
    re.IGNORECASE,
)
_ROLES = re.compile(
    r"roles? must alternate|alternating roles|alternate between|role 'user' after role 'tool'"
    r"|角色.*交替",
    re.IGNORECASE,
)
_FIRST_SYSTEM = re.compile(
    r"system messages?\b.*\b(?:beginning|first|start|one|once|multiple)\b"
    r"|(?:multiple|one|single|first) system messages?\b|role 'system' after",
    re.IGNORECASE,
)
_SYSTEM_ROLE = re.compile(
    r"(?:system (?:role|message|prompt|instruction)|developer instruction)s?\b.*"
    r"\b(?:not (?:be )?(?:support|enabl|allow)|unsupported)"
    r"|only user and assistant roles"
    r"|role[: ]+['\"`]?system['\"`]?.*\b(?:not (?:supported|allowed|valid)|invalid|unknown)"
    r"|(?:invalid|unknown|unsupported|unexpected) role:? ['\"`]?system|system ?角色|不支持 ?system",
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
    is_these = is_bad or _THIS_IMAGE.search(text) or most_images(text)
    return "these" if is_these else "all"


def most_images(text: str) -> int | None:
    """Return how many images an error allows in a request; None if it is about something else."""
    if not _MANY_IMAGES.search(text) or re.search(r"at most 0\b", text, re.IGNORECASE):
        return None
    found = _MOST_IMAGES.search(text)
    return int(found[1] or found[2]) if found else 1 if re.search("too many", text, re.I) else None


def refuses_repeated_ids(text: str) -> bool:
    """Return whether an error is about ids of calls, or about something that must be unique.

    Servers that match results with calls by their ids may also miss one, or find several.
    """
    return bool(_REPEATED.search(text) or _CALL_ID.search(text))


def refuses_ids(text: str) -> bool:
    """Return whether an error is about how the ids of tool calls are written."""
    return bool(_CALL_ID.search(text) and _ID_FORMAT.search(text))


def refuses_tools(text: str) -> bool:
    """Return whether a model, or its server as it was started, cannot be offered any tool."""
    if _TOOLS_FIELD.search(text):
        return True
    return bool(_TOOLS.search(text) and _NO_TOOLS.search(text) and not _SCHEMA.search(text))


def misses_reasoning(text: str) -> bool:
    """Return whether an error asks for reasoning with each assistant message."""
    return bool(_REASONING.search(text))


def refuses_roles(text: str, *, several: bool) -> str:
    """Return what an error refuses; empty for something else.

    It is ``roles`` that do not alternate, a ``system`` message, or, if ``several`` were sent, the
    second one (``one_system``).
    """
    if _ROLES.search(text):
        return "roles"
    if several and _FIRST_SYSTEM.search(text):
        return "one_system"
    return "system" if _SYSTEM_ROLE.search(text) else ""


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
        "older": f"{model} takes fewer images, so earlier ones were left out of the request.",
        "tool": f"{model} refuses the schema of the tool {what}, so it is not offered to it.",
        "field": f"{model} refuses {what} in the history, so it was left out of the request.",
        "ids": f"{model} refuses repeated ids of tool calls, so they were renamed.",
        "written_ids": f"{model} refuses other ids of tool calls, so they were renamed.",
        "tools": f"{model} cannot be offered tools, so it can only talk. /model chooses another.",
        "reasoning": f"{model} expects reasoning with each answer, so gaps were filled.",
        "roles": f"{model} refuses two messages of one side in a row, so empty ones were added.",
        "system": f"{model} takes no system message, so it was sent as the first message.",
        "one_system": f"{model} takes one system message, so two were joined.",
        "signatures": f"{model} refuses unsigned tool calls, so they were marked as another's.",
        "thinking": f"{model} refuses earlier thinking, so it was left out of the request.",
    }[kind]
