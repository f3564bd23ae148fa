"""The filters of this process, which every log record passes."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from .filter import SecretFilter
from .logs import filter_records

_filters: weakref.WeakSet[ProcessFilter] = weakref.WeakSet()


class ProcessFilter(SecretFilter):
    """A filter whose secrets no log record of the process holds, as long as it is kept."""

    def __init__(self) -> None:
        super().__init__()
        _filters.add(self)
        filter_records(redacted)

    def hide(self, *values: Any) -> Callable[[str], str]:
        """Keep the secrets in ``values`` out of logs from now on; returns :func:`redacted`.

        ``values`` are texts, collections of them, and settings: of a pydantic model what is a
        ``SecretStr`` or ``SecretBytes``, at any depth.
        """
        self.add(found for value in values for found in _texts(value, plain=True))
        return redacted


def redacted(text: str) -> str:
    """``text`` without the secrets of every filter of this process."""
    for each in list(_filters):
        text = each.redacted(text)
    return text


def _texts(value: Any, *, plain: bool) -> Iterator[str]:
    """The secrets in a value; texts count as such only if they are ``plain``."""
    if isinstance(value, str):
        if plain:
            yield value
    elif hasattr(value, "get_secret_value"):
        secret = value.get_secret_value()
        yield secret.decode("utf-8", "replace") if isinstance(secret, bytes) else str(secret)
    elif hasattr(value, "model_fields_set"):
        for inner in dict(value).values():
            yield from _texts(inner, plain=False)
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner, plain=plain)
    elif isinstance(value, Iterable) and not isinstance(value, bytes | Iterator):
        for inner in value:
            yield from _texts(inner, plain=plain)
