"""How to set the level of reasoning: a style for each model, and its fields in a request.

======================== ======================================================================
style                    fields
======================== ======================================================================
effort                   ``reasoning_effort``: none, low, medium, high; with the Responses API
                         ``reasoning: {effort}``
effort-always            the same for a model that always thinks
openrouter               ``reasoning: {effort}``, or ``{enabled: false}``
anthropic-adaptive       ``thinking: {type: adaptive}`` and ``output_config: {effort}``, or
                         ``thinking: {type: disabled}``
anthropic-adaptive-always the same for a model that always thinks
anthropic-budget         ``thinking: {type: enabled, budget_tokens}``, or none at all
======================== ======================================================================
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any, Literal, TypeAlias, get_args

Level: TypeAlias = Literal["off", "low", "medium", "high"]
LEVELS: tuple[Level, ...] = get_args(Level)
Style: TypeAlias = Literal[
    "effort",
    "effort-always",
    "openrouter",
    "anthropic-adaptive",
    "anthropic-adaptive-always",
    "anthropic-budget",
    "none",
]
BUDGETS: Mapping[str, int] = {"low": 2048, "medium": 8192, "high": 24_576}
"""Tokens of thinking, for a model that takes a number (the API's minimum is 1,024)."""
ANSWER_TOKENS = 8192
"""Tokens left for the answer besides."""


@cache
def _table() -> tuple[tuple[str, Style], ...]:
    text = files(__package__).joinpath("models.toml").read_text("utf-8")
    return tuple((pattern, style) for pattern, style in tomllib.loads(text)["models"])


def style_of(model: str, own: Mapping[str, Style]) -> Style:
    """Return the style of ``provider/model``; ``own`` are the patterns of the settings."""
    name = model.casefold()
    for pattern, style in (*own.items(), *_table()):
        if fnmatchcase(name, pattern.casefold()):
            return style
    return "none"


def supports(style: Style, level: Level) -> bool:
    """Return whether a model of this style accepts the level."""
    return style != "none" and not (level == "off" and style.endswith("-always"))


def with_level(style: Style, level: Level, sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields ``sent`` of a request with the level set."""
    changed = dict(sent)
    if style in ("effort", "effort-always"):
        effort = "none" if level == "off" else level
        if "input" in sent or "store" in sent or "max_output_tokens" in sent:
            changed["reasoning"] = {**sent.get("reasoning", {}), "effort": effort}
        else:
            changed["reasoning_effort"] = effort
    elif style == "openrouter":
        changed["reasoning"] = {"enabled": False} if level == "off" else {"effort": level}
    elif style == "anthropic-budget":
        return _with_budget(level, changed)
    elif style.startswith("anthropic-adaptive"):
        changed["thinking"] = {"type": "disabled" if level == "off" else "adaptive"}
        if level != "off":
            changed["output_config"] = {**sent.get("output_config", {}), "effort": level}
    return changed


def _with_budget(level: Level, changed: dict[str, Any]) -> dict[str, Any]:
    changed.pop("thinking", None)
    if level != "off":
        budget = BUDGETS[level]
        changed["thinking"] = {"type": "enabled", "budget_tokens": budget}
        if changed.get("max_tokens", 0) <= budget:
            changed["max_tokens"] = budget + ANSWER_TOKENS
    return changed
