"""Keeps secrets out of texts: logs, errors, tool results, whatever is shown or stored.

:func:`redacted` replaces every secret that this process knows. Core adds those of config.yaml,
``.env`` and the environment; a plugin that learns of another adds it to a :class:`ProcessFilter`
that it keeps. Nothing is imported but the standard library.

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
"""What stands in place of a secret."""
SHORTEST = 8
"""Characters; a shorter secret is a word or a number that texts hold anyway."""
_LINE = 16
"""Characters of a line of a secret of several lines, such as a private key, that is one itself."""
_SHORTEST_HEAD = 8
"""Characters: the beginning of a secret, where a text was cut inside it, is replaced from here."""
_BEHIND_SCHEME = 4
"""Characters that it has of an address, beside ``sqlite://``, which is no secret."""


class SecretFilter:
    """Replaces secrets in texts. Secrets are added at any time, from any thread."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._lock = threading.Lock()
        self._known: set[str] = set()
        self._forms: tuple[str, ...] = ()
        self._heads: tuple[tuple[str, str], ...] = ()
        self.add(secrets)

    def add(self, secrets: Iterable[str]) -> None:
        """Look for these too; those shorter than :data:`SHORTEST` are left out."""
        wanted = {part for secret in secrets for part in _parts(secret)}
        with self._lock:
            if wanted <= self._known:
                return
            self._known |= wanted
            found = {form for secret in self._known for form in forms(secret)}
            # The longest first, so that no secret is left half by a shorter one inside it.
            self._forms = tuple(sorted(found, key=len, reverse=True))
            heads = [(secret[: _head(secret)], secret) for secret in self._known]
            self._heads = tuple((head, secret) for head, secret in heads if head != secret)

    def redacted(self, text: str) -> str:
        """``text`` with :data:`MASK` for every secret in any of its forms.

        The beginning of one, from half of its length, is replaced too: a text may have been cut.
        """
        for form in self._forms:
            if form in text:
                text = text.replace(form, MASK)
        for head, secret in self._heads:
            if head in text:
                text = _without_heads(text, head, secret)
        return text


def _parts(secret: str) -> set[str]:
    """The secret and, where it has several, its lines."""
    lines = [line.strip() for line in secret.splitlines()]
    found = {secret, secret.strip(), *(line for line in lines if len(line) >= _LINE)}
    return {part for part in found if len(part) >= SHORTEST}


def _head(secret: str) -> int:
    scheme = secret.find("://") + len("://") if "://" in secret[:24] else 0
    least = scheme + _BEHIND_SCHEME if scheme else _SHORTEST_HEAD
    return min(len(secret), max(_SHORTEST_HEAD, least, -(-len(secret) // 2)))


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
    """A filter that :func:`redacted` uses, and so every log record, for as long as it is kept."""

    def __init__(self) -> None:
        super().__init__()
        _filters.add(self)

    def hide(self, *values: Any) -> None:
        """Replace the secrets in ``values`` from now on.

        ``values`` are texts, collections of them, and settings: of a pydantic model what is a
        ``SecretStr`` or ``SecretBytes``, at any depth.
        """
        self.add(found for value in values for found in _texts(value, plain=True))


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


def forms(secret: str) -> frozenset[str]:
    """Every form of ``secret`` that is looked for."""
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
    for before in range(3):
        # The characters that hold bits of the secret alone, whatever stands around it. Something
        # may stand before it, as the user's name does in Basic authorization.
        whole = base64.b64encode(b"\0" * before + data)
        first = -(-before * 8 // 6)
        core = whole[first : (before + len(data)) * 8 // 6].decode("ascii")
        yield core
        yield core.translate(_URL_SAFE)


_URL_SAFE = str.maketrans("+/", "-_")
