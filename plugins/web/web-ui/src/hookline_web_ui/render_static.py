"""Serves the style sheets and modules, under a path that changes with their content."""

from __future__ import annotations

import gzip
import hashlib
import json
import mimetypes
import re
from base64 import b64encode
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path

from hookline_hookspecs.web import Problem, RequestLike, path_param, t
from hookline_webkit.languages import for_page, languages_of
from starlette.responses import Response

PACKAGE = "hookline_web_ui"
LOCALE = Path(__file__).parent / "locale"
MESSAGES = "messages/"
"""The folder of the translations, below the path of the static files."""
FRAME = "diagram.html"
FRAME_SCRIPTS = ("vendor/mermaid.js", "diagram-frame.js")
"""The scripts in the frame of a diagram. It has no origin, so it can load nothing itself."""
FRAME_POLICY = (
    "sandbox allow-scripts; default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
    "img-src data:; font-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
YEAR = "public, max-age=31536000, immutable"
TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}

LAZY_MODULES = (
    *("js/live.js", "js/details.js", "js/view.js", "js/voice.js", "js/push.js"),
    *("js/palette.js", "js/organise.js", "js/settings.js", "js/jump.js", "push-worker.js"),
    *("js/share.js", "js/shared.js", "js/passkeys.js"),
    *("js/highlight.js", "js/files.js", "js/preview.js", "js/formula.js", "js/diagram.js"),
    *("vendor/temml.js", "vendor/mermaid.js", "diagram-frame.js"),
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


@dataclass(frozen=True)
class Asset:
    """A file as it is sent: its media type and its bytes."""

    mime: str
    body: bytes

    @cached_property
    def packed(self) -> bytes:
        """The gzipped bytes."""
        return gzip.compress(self.body, 9, mtime=0)


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
                found[name] = Asset(mime or "application/octet-stream", body)
        return found

    @cached_property
    def base(self) -> str:
        """Their path ``/static/VERSION``, where VERSION is a hash of all files."""
        whole = hashlib.sha256()
        for name, asset in sorted(self.all.items()):
            whole.update(name.encode() + b"\0" + asset.body + b"\0")
        for file in sorted((LOCALE).rglob("*.po")):
            whole.update(file.read_bytes())
        return f"/static/{whole.hexdigest()[:12]}"

    def messages_url(self, code: str) -> str:
        """Return the URL of the translations for our modules; empty for English."""
        return f"{self.base}/{MESSAGES}{code}.json" if code in self._languages else ""

    @cached_property
    def _languages(self) -> list[str]:
        return languages_of(PACKAGE)

    def _messages(self, name: str) -> Asset | None:
        """Return the translations of a language, as JSON; they are read at the first request."""
        code = name.removeprefix(MESSAGES).removesuffix(".json")
        if name != f"{MESSAGES}{code}.json" or code not in self._languages:
            return None
        body = json.dumps(for_page(PACKAGE, code), ensure_ascii=False).encode()
        return Asset("application/json", body)

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

    @cached_property
    def _frame(self) -> tuple[Asset, str]:
        """The document in which a diagram is drawn, and its policy."""
        scripts = [
            self.all[name].body.replace(b"</script", b"<\\/script") for name in FRAME_SCRIPTS
        ]
        hashes = [b64encode(hashlib.sha256(one).digest()).decode() for one in scripts]
        policy = FRAME_POLICY.format(hashes=" ".join(f"'sha256-{one}'" for one in hashes))
        head = (
            b'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Diagram</title><body>'
        )
        body = head + b"".join(b"<script>" + one + b"</script>" for one in scripts)
        return Asset("text/html; charset=utf-8", body), policy

    def _response(self, request: RequestLike, name: str, caching: str) -> Response:
        asset = self._frame[0] if name == FRAME else self.all.get(name) or self._messages(name)
        if asset is None:
            raise Problem(404, "not_found", t("File not found."))
        headers = {"Cache-Control": caching, "Vary": "Accept-Encoding"}
        if name == FRAME:
            headers["Content-Security-Policy"] = self._frame[1]
            headers["X-Frame-Options"] = "SAMEORIGIN"
        accepted = dict(request.scope.get("headers", ())).get(b"accept-encoding", b"")
        if b"gzip" in accepted and len(asset.packed) < len(asset.body):
            headers["Content-Encoding"] = "gzip"
            return Response(asset.packed, headers=headers, media_type=asset.mime)
        return Response(asset.body, headers=headers, media_type=asset.mime)
