"""The forms in which a secret turns up: as it is, escaped, quoted, and encoded at any alignment."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Iterator
from urllib.parse import quote, quote_plus


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
