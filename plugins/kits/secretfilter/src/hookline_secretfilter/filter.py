"""The filter: which secrets there are, and texts without them."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from .forms import forms

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
