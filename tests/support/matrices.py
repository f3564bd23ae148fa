"""Long test matrices: a quick run tests some values, ``-m slow`` or ``-m long`` the others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(
    names: str | tuple[str, ...], values: Iterable[Any], quick: int = 6, rest: str = "slow"
) -> Any:
    """``pytest.mark.parametrize`` that marks all but ``quick`` values, spread evenly, as slow.

    For a matrix whose values prove the same thing on other data. Where each proves something of
    its own, ``rest="long"``, so that CI runs them all.
    """
    several = not isinstance(names, str) or "," in names
    found = list(values)
    step = max(1, -(-len(found) // quick))
    chosen = [
        _param(value, several, rest if number % step else "") for number, value in enumerate(found)
    ]
    return pytest.mark.parametrize(names, chosen)


def _param(value: Any, several: bool, mark: str) -> Any:
    marks = [getattr(pytest.mark, mark)] if mark else []
    if hasattr(value, "marks"):  # a pytest.param already
        return pytest.param(*value.values, marks=[*value.marks, *marks], id=value.id)
    return pytest.param(*(value if several else [value]), marks=marks)
