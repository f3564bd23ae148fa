"""Removes secrets from texts that are shown or stored, such as logs, errors and tool results.

:func:`redacted` replaces every secret that this process knows. Core adds those in config.yaml,
``.env`` and the environment. A plugin that learns another secret adds it to a
:class:`ProcessFilter` and keeps a reference to the filter. Only the standard library is imported.

Secret settings, known by the names of their keys, are masked by :mod:`.masking`.
"""

from __future__ import annotations

import base64
import html
import json
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

MASK = "[secret]"
"""The replacement for a secret."""
MIN_SECRET_CHARS = 8
"""A shorter secret is not replaced, because it may be an ordinary word or number."""
_MIN_LINE_CHARS = 16
"""Lines of a multi-line secret, such as a private key, that have this length are secrets too."""
_MIN_HEAD_CHARS = 8
"""Minimum length of the beginning of a secret that is replaced where a text was cut off."""
_MIN_CHARS_AFTER_SCHEME = 4
"""For a URL, the characters that the beginning has in addition to the scheme (``sqlite://``)."""


class SecretFilter:
    """Replaces secrets in texts. Secrets can be added at any time, from any thread."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._lock = threading.Lock()
        self._known: set[str] = set()
        self._forms: tuple[str, ...] = ()
        self._heads: tuple[tuple[str, str], ...] = ()
        self.add(secrets)

    def add(self, secrets: Iterable[str]) -> None:
        """Add secrets; those shorter than :data:`MIN_SECRET_CHARS` are ignored."""
        parts = {part for secret in secrets for part in _parts(secret)}
        with self._lock:
            if parts <= self._known:
                return
            self._known |= parts
            found = {form for secret in self._known for form in forms(secret)}
            # The longest first, so that a shorter secret inside a longer one does not half mask it.
            self._forms = tuple(sorted(found, key=len, reverse=True))
            heads = [(secret[: _head(secret)], secret) for secret in self._known]
            self._heads = tuple((head, secret) for head, secret in heads if head != secret)

    def redacted(self, text: str) -> str:
        """Replace every secret in ``text``, in any of its forms, by :data:`MASK`.

        Because a text may have been cut off, the beginning of a secret, from half of its length on,
        is replaced too.
        """
        for form in self._forms:
            if form in text:
                text = text.replace(form, MASK)
        for head, secret in self._heads:
            if head in text:
                text = _without_heads(text, head, secret)
        return text


def _parts(secret: str) -> set[str]:
    """The secret itself and, if it has several, its long lines."""
    lines = [line.strip() for line in secret.splitlines()]
    found = {secret, secret.strip(), *(line for line in lines if len(line) >= _MIN_LINE_CHARS)}
    return {part for part in found if len(part) >= MIN_SECRET_CHARS}


def _head(secret: str) -> int:
    """The length of the beginning of a secret that is replaced by itself."""
    scheme = secret.find("://") + len("://") if "://" in secret[:24] else 0
    least = scheme + _MIN_CHARS_AFTER_SCHEME if scheme else _MIN_HEAD_CHARS
    return min(len(secret), max(_MIN_HEAD_CHARS, least, -(-len(secret) // 2)))


def _without_heads(text: str, head: str, secret: str) -> str:
    first, *rest = text.split(head)
    tail = secret[len(head) :]
    kept = [first]
    for part in rest:
        same = 0
        while same < min(len(part), len(tail)) and part[same] == tail[same]:
            same += 1
        kept.append(part[same:])
    return MASK.join(kept)


_filters: weakref.WeakSet[ProcessFilter] = weakref.WeakSet()


class ProcessFilter(SecretFilter):
    """A filter that :func:`redacted`, and thus every log record, uses while it is referenced."""

    def __init__(self) -> None:
        super().__init__()
        _filters.add(self)

    def hide(self, *values: Any) -> None:
        """Replace the secrets in ``values`` from now on.

        ``values`` are texts, collections of texts, and settings. In a pydantic model, every
        ``SecretStr`` and ``SecretBytes`` at any depth is a secret.
        """
        self.add(found for value in values for found in _texts(value, plain=True))


def redacted(text: str) -> str:
    """Replace the secrets of all filters of this process in ``text``."""
    for process_filter in list(_filters):
        text = process_filter.redacted(text)
    return text


def _texts(value: Any, *, plain: bool) -> Iterator[str]:
    """The secrets in a value; texts only count as secrets if ``plain``."""
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


def forms(secret: str) -> frozenset[str]:
    """All forms of ``secret`` that are replaced."""
    data = secret.encode("utf-8", "surrogatepass")
    found = {secret, *_escaped(secret), *_encoded(data)}
    return frozenset(form for form in found if form)


def _escaped(secret: str) -> Iterator[str]:
    for ascii_only in (True, False):
        as_json = json.dumps(secret, ensure_ascii=ascii_only)[1:-1]
        yield as_json
        yield as_json.replace("/", "\\/")
        yield json.dumps(as_json, ensure_ascii=ascii_only)[1:-1]  # JSON inside JSON
    yield repr(secret)[1:-1]
    yield repr(secret.encode("utf-8", "surrogatepass"))[2:-1]
    yield secret.encode("unicode_escape").decode("ascii")
    yield html.escape(secret)
    for make in (quote, quote_plus):
        for safe in ("", "/", "/:@"):
            quoted = make(secret, safe=safe, errors="replace")
            yield quoted
            yield _lower_escapes(quoted)


def _lower_escapes(quoted: str) -> str:
    first, *rest = quoted.split("%")
    return "%".join([first, *(part[:2].lower() + part[2:] for part in rest)])


def _encoded(data: bytes) -> Iterator[str]:
    yield data.hex()
    yield data.hex().upper()
    yield data.hex(" ")
    yield data.hex(":")
    yield "".join(f"%{byte:02x}" for byte in data)
    yield "".join(f"%{byte:02X}" for byte in data)
    for before in range(3):
        # Only the characters that encode bits of the secret alone, independent of the text around
        # it. Basic authorization, for example, encodes the user's name before it.
        whole = base64.b64encode(b"\0" * before + data)
        first = -(-before * 8 // 6)
        core = whole[first : (before + len(data)) * 8 // 6].decode("ascii")
        yield core
        yield core.translate(_URL_SAFE)


_URL_SAFE = str.maketrans("+/", "-_")
