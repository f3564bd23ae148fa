"""Reads ``rules.yaml``."""

from __future__ import annotations

import functools
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from .place_table import PlaceTable


@dataclass(frozen=True, slots=True)
class Rules:
    """The content of ``rules.yaml``; see its comments."""

    work: tuple[tuple[str, ...], ...]
    own: PlaceTable
    copies: re.Pattern[str]
    trees: re.Pattern[str]
    devices: PlaceTable | None


@functools.cache
def rules() -> Rules:
    """The rules, read on the first call."""
    text = Path(__file__).with_name("rules.yaml").read_text(encoding="utf-8")
    data: dict[str, Any] = yaml.load(text, Loader=yaml.CSafeLoader)
    return Rules(
        work=tuple(tuple(folder.split("/")) for folder in data["work"]),
        own=PlaceTable(data["own"], copies=True),
        copies=re.compile(data["copies"]),
        trees=re.compile(data["trees"]),
        devices=PlaceTable(data["windows_devices"], copies=False) if os.name == "nt" else None,
    )
