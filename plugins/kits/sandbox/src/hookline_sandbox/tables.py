"""Loads the data files, each once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files


@cache
def tables(name: str = "sandbox.yaml") -> Mapping[str, list[str]]:
    """Return the lists of a data file of this package, by name."""
    import yaml

    text = files(__package__).joinpath(name).read_text("utf-8")
    # libyaml's loader, if available, takes a tenth of the time.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found: Mapping[str, list[str]] = yaml.load(text, Loader=loader)  # noqa: S506
    return found
