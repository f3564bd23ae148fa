"""Static files of a plugin's pages: scripts, styles, icons.

They are held in memory, sent compressed, and cached permanently by browsers, because their URL
changes with their content.

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

from hookline_hookspecs.web import Content, Problem, RequestLike, path_param, query_params

MIN_COMPRESSED_BYTES = 512
"""Smaller files are sent as they are."""
COMPRESSED_TYPES = ("text/", "application/json", "application/javascript", "image/svg+xml")
MEDIA_TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".woff2": "font/woff2"}
CACHE_FOREVER = "public, max-age=31536000, immutable"


@dataclass(frozen=True)
class Asset:
    """A file and its compressed form."""

    name: str
    body: bytes

    @cached_property
    def digest(self) -> str:
        """The start of the SHA-256 of the content."""
        return sha256(self.body).hexdigest()[:16]

    @cached_property
    def media_type(self) -> str:
        """The content type. Text is UTF-8."""
        suffix = self.name[self.name.rfind(".") :]
        media_type = (
            MEDIA_TYPES.get(suffix)
            or mimetypes.guess_type(self.name)[0]
            or "application/octet-stream"
        )
        return f"{media_type}; charset=utf-8" if media_type.startswith("text/") else media_type

    @cached_property
    def compressed(self) -> bytes | None:
        """The file as gzip, or None if that saves nothing."""
        if len(self.body) < MIN_COMPRESSED_BYTES or not self.media_type.startswith(
            COMPRESSED_TYPES
        ):
            return None
        return gzip.compress(self.body, 9, mtime=0)


class Assets:
    """The files of one folder, read once. An instance is the handler of a route with ``{name}``.

    Args:
        folder: the folder, such as ``files(__package__) / "assets"``; without subfolders.
        path: the route's path from the root of the server, without ``/{name}``.
    """

    def __init__(self, folder: Traversable, path: str) -> None:
        self._folder = folder
        self._path = path

    @cached_property
    def _files(self) -> dict[str, Asset]:
        files = [entry for entry in self._folder.iterdir() if entry.is_file()]
        return {file.name: Asset(file.name, file.read_bytes()) for file in files}

    def url(self, name: str) -> str:
        """Return the URL of a file. Raises ``KeyError`` if there is no such file."""
        return f"{self._path}/{name}?v={self._files[name].digest}"

    def text(self, name: str) -> str:
        """Return the text of a file. Raises ``KeyError`` if there is no such file."""
        return self._files[name].body.decode("utf-8")

    def names(self) -> list[str]:
        """Return the names of all files, sorted."""
        return sorted(self._files)

    def __call__(self, request: RequestLike) -> Content:
        """Answer a request with a file, or with 304 if the browser has it. Raises ``Problem``."""
        asset = self._files.get(path_param(request, "name"))
        if asset is None:
            raise Problem(404, "not_found", "File not found.")
        headers = dict(request.scope["headers"])
        is_current = query_params(request).get("v") == asset.digest
        response_headers = {
            "ETag": f'"{asset.digest}"',
            "Cache-Control": CACHE_FOREVER if is_current else "no-cache",
            "Vary": "Accept-Encoding",
        }
        if f'"{asset.digest}"'.encode() in headers.get(b"if-none-match", b""):
            return Content(b"", asset.media_type, 304, response_headers)
        body = asset.body
        if asset.compressed is not None and b"gzip" in headers.get(b"accept-encoding", b""):
            body = asset.compressed
            response_headers["Content-Encoding"] = "gzip"
        return Content(body, asset.media_type, 200, response_headers)
