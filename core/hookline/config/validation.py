"""Validates values with a pydantic model and turns errors into sentences.

Some mistakes that pydantic tolerates are found by comparing its result with the input: unknown keys
(warnings), and `012` or `true` for a number (errors).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from hookline_hookspecs.errors import SettingsError
from hookline_hookspecs.setting_errors import Key, quoted, setting_errors
from pydantic import BaseModel, ValidationError

from .keys import Lines, nearest, sentence

M = TypeVar("M", bound=BaseModel)
LEFT_OUT = "is left out."
"""The end of a warning about an entry that is not used."""

_NOT_A_NUMBER = re.compile(r"True|False|\s*[-+]?0[\d_]+(\.\d*)?\s*")


def check_values(
    model: type[M],
    values: Mapping[str, object],
    key: Key,
    path: Path,
    lines: Lines,
    left_out: Mapping[Key, str],
) -> tuple[M, list[str]]:
    """The `values` at `key` as an instance of `model`, and warnings about unknown keys.

    `path` and `lines` are those of the document. `left_out` maps the keys of entries that cannot be
    used (tuples, below `key`) to the reasons. A model that works without some entries has an
    attribute `left_out` of the same form; these become warnings. Raises SettingsError with a
    sentence for each error.
    """
    problems: list[str] = []
    warnings: list[str] = []
    # A model may forbid unknown keys; here they are ignored with a warning.
    forbids = model.model_config.get("extra") == "forbid"
    while True:
        try:
            checked = model.model_validate(
                values,
                extra="ignore" if forbids else None,
                context={"left_out": left_out} if left_out else None,
            )
            break
        except ValidationError as error:
            if problems:
                raise SettingsError(*problems) from None
            wrong = setting_errors(error, values, key)
            problems = [sentence(path, lines, at, text) for at, text in wrong.items()]
            values = _without(values, wrong, key)  # validate the rest, to find unknown keys
    for at, text in _tolerated(checked, values, key):
        kind = warnings if text.startswith("unknown") else problems
        kind.append(sentence(path, lines, at, text))
    for below, text in getattr(checked, "left_out", {}).items():
        warnings.append(
            sentence(path, lines, (*key, *below), f"{text}; only this entry {LEFT_OUT}")
        )
    if problems:
        raise SettingsError(*problems, *warnings)
    return checked, warnings


def _without(values: Mapping[str, Any], wrong: Collection[Key], key: Key) -> dict[str, Any]:
    """The `values` at `key` without the `wrong` ones and without lists that have a wrong item."""
    return {
        name: _without(inner, wrong, (*key, name)) if isinstance(inner, dict) else inner
        for name, inner in values.items()
        if (*key, name)
        not in {at if isinstance(inner, dict) else at[: len(key) + 1] for at in wrong}
    }


def _tolerated(checked: object, written: object, key: Key) -> Iterator[tuple[Key, str]]:
    """Errors for unknown keys, and for values that pydantic converted to a number."""
    if isinstance(checked, BaseModel) and isinstance(written, dict):
        fields = type(checked).model_fields.items()
        known = {field.alias or name: getattr(checked, name) for name, field in fields}
        for name in written:
            if name not in known and checked.model_extra is None:
                guess = nearest(name, known)
                hint = f"; did you mean {guess}?" if guess else ", ignored."
                yield (*key, name), f"unknown key{hint}"
        checked = known
    if isinstance(checked, list) and isinstance(written, list):
        checked, written = dict(enumerate(checked)), dict(enumerate(written))
    if isinstance(checked, dict) and isinstance(written, dict):
        for name in filter(checked.__contains__, written):
            yield from _tolerated(checked[name], written[name], (*key, str(name)))
    elif type(checked) in (int, float) and _NOT_A_NUMBER.fullmatch(str(written)):
        yield key, f"expected a number without leading zeros, got {quoted(written, key)}."
