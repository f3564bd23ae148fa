"""Files that a plugin's pages need: scripts, styles, icons. They are in memory, sent compressed,
and kept by browsers for good, because their address changes with what is in them.

::

    assets = Assets(files(__package__) / "assets", "/web-ui/assets")
    register(Route("GET", "/assets/{name}", assets, auth="none"))
    assets.url("live.js")  # /web-ui/assets/live.js?v=3f2a…
"""

from __future__ import annotations

import gzip
import mimetypes
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from importlib.resources.abc import Traversable

from .requests import Problem, RequestLike, part, query
from .views import Content

SMALLEST = 512
"""Bytes of a file that is worth compressing."""
TEXTS = ("text/", "application/json", "application/javascript", "image/svg+xml")
TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".woff2": "font/woff2"}
FOR_GOOD = "public, max-age=31536000, immutable"


@dataclass(frozen=True)
class Asset:
    """A file, plain and compressed."""

    name: str
    body: bytes

    @cached_property
    def digest(self) -> str:
        """What changes with the content."""
        return sha256(self.body).hexdigest()[:16]

    @cached_property
    def media_type(self) -> str:
        """The content type; texts are UTF-8."""
        suffix = self.name[self.name.rfind(".") :]
        found = (
            TYPES.get(suffix) or mimetypes.guess_type(self.name)[0] or "application/octet-stream"
        )
        return f"{found}; charset=utf-8" if found.startswith("text/") else found

    @cached_property
    def compressed(self) -> bytes | None:
        """The file as gzip, or None where that is no use."""
        if len(self.body) < SMALLEST or not self.media_type.startswith(TEXTS):
            return None
        return gzip.compress(self.body, 9, mtime=0)


class Assets:
    """The files of one folder, read once; itself the handler of a route with ``{name}``.

    Args:
        folder: the folder, such as ``files(__package__) / "assets"``; its folders are not served.
        path: the route's path from the root of the server, without ``/{name}``.
    """

    def __init__(self, folder: Traversable, path: str) -> None:
        self._folder = folder
        self._path = path

    @cached_property
    def _files(self) -> dict[str, Asset]:
        found = [one for one in self._folder.iterdir() if one.is_file()]
        return {one.name: Asset(one.name, one.read_bytes()) for one in found}

    def url(self, name: str) -> str:
        """Return a file's address. Raises ``KeyError`` if there is no such file."""
        return f"{self._path}/{name}?v={self._files[name].digest}"

    def text(self, name: str) -> str:
        """Return a file's text. Raises ``KeyError`` if there is no such file."""
        return self._files[name].body.decode("utf-8")

    def names(self) -> list[str]:
        """Return the names of all files, sorted."""
        return sorted(self._files)

    def __call__(self, request: RequestLike) -> Content:
        """Answer a request with a file, or 304 where the browser has it. Raises ``Problem``."""
        asset = self._files.get(part(request, "name"))
        if asset is None:
            raise Problem(404, "not_found", "There is no such file.")
        headers = dict(request.scope["headers"])
        is_newest = query(request).get("v") == asset.digest
        sent = {
            "ETag": f'"{asset.digest}"',
            "Cache-Control": FOR_GOOD if is_newest else "no-cache",
            "Vary": "Accept-Encoding",
        }
        if f'"{asset.digest}"'.encode() in headers.get(b"if-none-match", b""):
            return Content(b"", asset.media_type, 304, sent)
        body = asset.body
        if asset.compressed is not None and b"gzip" in headers.get(b"accept-encoding", b""):
            body, sent["Content-Encoding"] = asset.compressed, "gzip"
        return Content(body, asset.media_type, 200, sent)
