"""Masks secrets in what the pages show of config.yaml, and puts them back when a form is sent.

Which keys are secret, and the mask itself, are defined in ``hookline_hookspecs.masking``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from hookline_hookspecs import Configuration, HooklineError
from hookline_hookspecs.masking import MASK, is_secret_name

MIN_SECRET_CHARS = 4
"""Shorter secrets are not searched for in the rest of the file."""
_REFERENCE = re.compile(r"\$\{[A-Za-z_]\w*(:-[^}\n]*)?\}")


def mask_values(value: Any, shown: Any, name: str = "") -> Any:
    """Return ``value`` as written in config.yaml, with a mask in place of each secret.

    ``shown`` is the effective value, in which core has already masked secrets; ``name`` is the key.
    A reference such as ``${TOKEN}`` contains no secret and stays.
    """
    if isinstance(value, dict):
        inner = shown if isinstance(shown, dict) else {}
        return {key: mask_values(one, inner.get(key), str(key)) for key, one in value.items()}
    if isinstance(value, list):
        alike = isinstance(shown, list) and len(shown) == len(value)
        others = shown if alike else [None] * len(value)
        return [mask_values(*pair, name) for pair in zip(value, others, strict=True)]
    if not isinstance(value, str) or _REFERENCE.fullmatch(value):
        return value
    return MASK if is_secret_name(name) or (isinstance(shown, str) and MASK in shown) else value


def restore_secrets(value: Any, before: Any) -> Any:
    """Return a value sent by a form, with the secrets of ``before`` in place of the masks.

    Raises ``ValueError`` with a sentence if there is no secret for a mask.
    """
    if isinstance(value, dict):
        inner = before if isinstance(before, dict) else {}
        return {key: restore_secrets(one, inner.get(key)) for key, one in value.items()}
    if isinstance(value, list):
        old = before if isinstance(before, list) else []
        return [
            restore_secrets(one, old[n] if n < len(old) else None) for n, one in enumerate(value)
        ]
    if value != MASK:
        return value
    if not isinstance(before, str):
        raise ValueError(
            f"{MASK} stands for an existing secret, and there is none here; enter the value"
        )
    return before


def mask_texts(core: Configuration, *texts: str) -> list[str]:
    """Return several versions of config.yaml, each with the secrets of all of them masked.

    If one of them is not valid YAML, all are masked entirely.
    """
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
        secrets |= set(_masked_texts(written, mask_values(written, shown)))
    forms = {form for secret in secrets for form in _yaml_forms(secret)}
    longest_first = sorted((f for f in forms if len(f) >= MIN_SECRET_CHARS), key=len, reverse=True)
    masked = list(texts)
    for form in longest_first:
        masked = [text.replace(form, MASK) for text in masked]
    return masked


def _yaml_forms(secret: str) -> Iterator[str]:
    """The ways to write a text in YAML: plain, line by line, and in either kind of quotes."""
    for line in (secret, *secret.split("\n")):
        yield from (line, line.replace("'", "''"))
        yield from (json.dumps(line)[1:-1], json.dumps(line, ensure_ascii=False)[1:-1])


def _masked_texts(value: Any, shown: Any) -> Iterator[str]:
    """The texts of ``value`` that are masked in ``shown``."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _masked_texts(one, shown[key])
    elif isinstance(value, list):
        for one, other in zip(value, shown, strict=True):
            yield from _masked_texts(one, other)
    elif value != shown:
        yield str(value)
