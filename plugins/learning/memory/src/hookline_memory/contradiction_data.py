"""The word lists by which facts are compared."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any


@cache
def contradiction_data() -> dict[str, Any]:
    """Return the content of ``contradictions.toml``."""
    path = Path(__file__).with_name("contradictions.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))
