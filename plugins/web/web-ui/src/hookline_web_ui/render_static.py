"""Serves the style sheets and modules, under a path that changes with their content."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
import re
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files

from hookline_hookspecs.web import Problem, RequestLike, path_param
from starlette.responses import Response

YEAR = "public, max-age=31536000, immutable"
TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}

LAZY_MODULES = (
    *("js/live.js", "js/details.js", "js/view.js", "js/voice.js", "js/push.js"),
    "push-worker.js",
)
"""Modules that the chat loads on demand."""
COMMENT = re.compile(
    r"^[ \t]*/\*(?:(?!\*/).)*\*/[ \t]*\n|/\*\* @type (?:(?!\*/).)*\*/ ?", re.DOTALL | re.MULTILINE
)
"""A comment of whole lines, or a type."""
INDENT = re.compile(r"^[ \t]+", re.MULTILINE)
EMPTY = re.compile(r"^(?://[^\n]*)?\n", re.MULTILINE)
"""A line that is blank, or a comment."""
LOOSE = re.compile(r"\s*([{};,>])\s*|(?<=[a-z]:)\s+(?=[^{}]*[;}])|(?<=[\s(,])0(?=\.\d)")
"""Insignificant white space of a style sheet."""


def sent(name: str, body: bytes) -> bytes:
    """Return a file as it is sent: our modules and style sheets without comments, indentation and
    blank lines."""
    if name.startswith("vendor/") or not name.endswith((".js", ".css")):
        return body
    text = EMPTY.sub("", INDENT.sub("", COMMENT.sub("", body.decode("utf-8"))))
    if name.endswith(".css"):
        text = LOOSE.sub(r"\1", text).replace(";}", "}")
    return text.encode()


@dataclass(frozen=True, slots=True)
class Asset:
    """A file as it is sent: its media type, its bytes, and its gzipped bytes."""

    mime: str
    body: bytes
    packed: bytes


class Assets:
    """The files of ``static/``, read and compressed once."""

    @cached_property
    def all(self) -> dict[str, Asset]:
        """Every file by its path below ``static/``, such as ``js/main.js``."""
        found: dict[str, Asset] = {}
        folders = [("", files(__package__) / "static")]
        while folders:
            prefix, folder = folders.pop()
            for entry in folder.iterdir():
                name = prefix + entry.name
                if entry.is_dir():
                    folders.append((f"{name}/", entry))
                    continue
                suffix = entry.name[entry.name.rfind(".") :]
                body = sent(name, entry.read_bytes())
                mime = TYPES.get(suffix) or mimetypes.guess_type(entry.name)[0]
                packed = gzip.compress(body, 9, mtime=0)
                found[name] = Asset(mime or "application/octet-stream", body, packed)
        return found

    @cached_property
    def base(self) -> str:
        """Their path ``/static/VERSION``, where VERSION is a hash of all files."""
        whole = hashlib.sha256()
        for name, asset in sorted(self.all.items()):
            whole.update(name.encode() + b"\0" + asset.body + b"\0")
        return f"/static/{whole.hexdigest()[:12]}"

    @cached_property
    def modules(self) -> list[str]:
        """The modules of the chat, so that a browser can load them all at once."""
        return sorted(
            name for name in self.all if name.endswith(".js") and name not in LAZY_MODULES
        )

    async def serve(self, request: RequestLike) -> Response:
        """Answer ``GET /static/{version}/{name:path}``. Raises :class:`Problem` (404)."""
        current = self.base == f"/static/{path_param(request, 'version')}"
        return self._response(request, path_param(request, "name"), YEAR if current else "no-cache")

    async def serve_worker(self, request: RequestLike) -> Response:
        """Answer ``GET /push-worker.js``."""
        return self._response(request, "push-worker.js", "no-cache")

    def _response(self, request: RequestLike, name: str, caching: str) -> Response:
        asset = self.all.get(name)
        if asset is None:
            raise Problem(404, "not_found", "File not found.")
        headers = {"Cache-Control": caching, "Vary": "Accept-Encoding"}
        accepted = dict(request.scope.get("headers", ())).get(b"accept-encoding", b"")
        if b"gzip" in accepted and len(asset.packed) < len(asset.body):
            headers["Content-Encoding"] = "gzip"
            return Response(asset.packed, headers=headers, media_type=asset.mime)
        return Response(asset.body, headers=headers, media_type=asset.mime)
