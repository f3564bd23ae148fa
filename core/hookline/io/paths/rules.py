"""``rules.yaml``, read once."""

from __future__ import annotations

import functools
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from .table import Table


@dataclass(frozen=True, slots=True)
class Rules:
    """The data of this package; see the comments in ``rules.yaml``."""

    work: tuple[tuple[str, ...], ...]
    own: Table
    copies: re.Pattern[str]
    trees: re.Pattern[str]
    devices: Table | None


@functools.cache
def rules() -> Rules:
    """The rules."""
    text = Path(__file__).with_name("rules.yaml").read_text(encoding="utf-8")
    data: dict[str, Any] = yaml.load(text, Loader=yaml.CSafeLoader)
    return Rules(
        work=tuple(tuple(folder.split("/")) for folder in data["work"]),
        own=Table(data["own"], copies=True),
        copies=re.compile(data["copies"]),
        trees=re.compile(data["trees"]),
        devices=Table(data["windows_devices"], copies=False) if os.name == "nt" else None,
    )
