"""``sandbox.yaml``, loaded once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files


@cache
def tables() -> Mapping[str, list[str]]:
    """The lists by name."""
    import yaml

    found: Mapping[str, list[str]] = yaml.safe_load(
        files(__package__).joinpath("sandbox.yaml").read_text("utf-8")
    )
    return found
