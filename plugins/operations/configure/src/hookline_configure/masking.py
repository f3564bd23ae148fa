"""config.yaml as it may be shown: what is secret is a mask, which a form may send back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from hookline_hookspecs import Configuration, HooklineError

MASK = "********"
SHORTEST = 4
"""Characters of a secret that is masked wherever it stands in the file."""
_NAME = re.compile(
    r"(api[-_]?keys?|tokens?|secrets?|passwor[dt]|passwd|passphrase|credentials?|authorization|_key)$",
    re.I,
)
_REFERENCE = re.compile(r"\$\{[A-Za-z_]\w*(:-[^}\n]*)?\}")


def is_secret(name: str) -> bool:
    """Return whether the value of a key of this name is a secret."""
    return _NAME.search(name) is not None


def masked(value: Any, shown: Any, name: str = "") -> Any:
    """Return ``value`` as it is written, with a mask for each text that is secret.

    ``shown`` is the same value in effect, in which core has masked what is. A reference such as
    ``${TOKEN}`` holds no secret and stays.
    """
    if isinstance(value, dict):
        inner = shown if isinstance(shown, dict) else {}
        return {key: masked(one, inner.get(key), str(key)) for key, one in value.items()}
    if isinstance(value, list):
        alike = isinstance(shown, list) and len(shown) == len(value)
        others = shown if alike else [None] * len(value)
        return [masked(*pair, name) for pair in zip(value, others, strict=True)]
    if not isinstance(value, str) or _REFERENCE.fullmatch(value):
        return value
    return MASK if is_secret(name) or (isinstance(shown, str) and MASK in shown) else value


def unmasked(value: Any, before: Any) -> Any:
    """Return a value that a form sent back, with what stood in the place of each mask.

    Raises ``ValueError`` with a sentence if nothing did.
    """
    if isinstance(value, dict):
        inner = before if isinstance(before, dict) else {}
        return {key: unmasked(one, inner.get(key)) for key, one in value.items()}
    if isinstance(value, list):
        old = before if isinstance(before, list) else []
        return [unmasked(one, old[n] if n < len(old) else None) for n, one in enumerate(value)]
    if value != MASK:
        return value
    if not isinstance(before, str):
        raise ValueError(f"{MASK} stands for a secret that is there already; write the new one out")
    return before


def hide_all(core: Configuration, *texts: str) -> list[str]:
    """Return texts of config.yaml with every secret of any of them masked."""
    secrets: set[str] = set()
    for text in texts:
        try:
            written = core.parse(text)
        except HooklineError:
            return [MASK if text.strip() else "" for text in texts]
        try:
            shown = core.effective(text)
        except HooklineError:
            shown = {}
        secrets |= set(_hidden(written, masked(written, shown)))
    forms = {form for secret in secrets for form in _forms(secret)}
    ordered = sorted((one for one in forms if len(one) >= SHORTEST), key=len, reverse=True)
    found = list(texts)
    for secret in ordered:
        found = [text.replace(secret, MASK) for text in found]
    return found


def _forms(secret: str) -> Iterator[str]:
    """How a text may be written in YAML: as it is, line by line, and in either quotes."""
    for line in (secret, *secret.split("\n")):
        yield from (line, line.replace("'", "''"))
        yield from (json.dumps(line)[1:-1], json.dumps(line, ensure_ascii=False)[1:-1])


def _hidden(value: Any, shown: Any) -> Iterator[str]:
    """The texts of ``value`` that are masked in ``shown``."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _hidden(one, shown[key])
    elif isinstance(value, list):
        for one, other in zip(value, shown, strict=True):
            yield from _hidden(one, other)
    elif value != shown:
        yield str(value)
