"""The routes below ``/api/sessions/{id}/workspace``: a chat's files."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import quote

from hookline_hookspecs import Route
from hookline_hookspecs.web import N_, Problem, SiteRoute, identity, t

from .files import MAX_FILE_BYTES
from .workspace_files import SHOWN, ChatWorkspace, WorkspaceFiles, described, mime_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from .page import Pages

READ_BYTES = 65536
NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
SANDBOXED = f"sandbox; {NOTHING}; style-src 'unsafe-inline'; img-src data:; font-src data:"
"""For a page or drawing of the agent: no scripts, no requests, and an origin of its own."""
PDF = f"{NOTHING}; style-src 'unsafe-inline'; object-src 'self'; img-src data: blob:"
"""For a PDF, whose viewer is a part of the browser, which runs in no sandbox."""
FRAMED = {"X-Frame-Options": "SAMEORIGIN", "X-Content-Type-Options": "nosniff"}


class WorkspaceApi:
    """The handlers. The web server turns a :class:`Problem` into a response."""

    def __init__(self, pages: Callable[[], Pages]) -> None:
        self._pages = pages

    @property
    def _files(self) -> WorkspaceFiles:
        return self._pages().workspace_files

    def register(self, register: Callable[[Route], None]) -> None:
        """Register every route."""
        base = "/api/sessions/{id}/workspace"
        for path, handler in (
            ("", self.list),
            ("/changes", self.changes),
            ("/text", self.text),
            ("/before", self.before),
            ("/show", self.show),
            ("/download", self.download),
        ):
            register(SiteRoute("GET", base + path, handler, "person"))
        for path, handler in (("text", self.attached_text), ("show", self.attached_show)):
            register(SiteRoute("GET", f"/api/files/{{id}}/{path}", handler, "person"))
        most, log = MAX_FILE_BYTES, N_("put a file into the folder of a chat")
        register(SiteRoute("PUT", base, self.put, "person", max_bytes=most, log=log))

    async def _place(self, request: Request) -> tuple[ChatWorkspace, str]:
        workspace = await self._files.of(identity(request), str(request.path_params["id"]))
        return workspace, request.query_params.get("path", "")

    async def list(self, request: Request) -> Response:
        """``GET …/workspace?path=FOLDER``."""
        return _json(await self._files.list(*await self._place(request)))

    async def changes(self, request: Request) -> Response:
        """``GET …/workspace/changes``."""
        workspace, _ = await self._place(request)
        return _json(await self._files.changes(workspace))

    async def text(self, request: Request) -> Response:
        """``GET …/workspace/text?path=FILE``."""
        return _json(await self._files.text(*await self._place(request)))

    async def before(self, request: Request) -> Response:
        """``GET …/workspace/before?path=FILE``: its text at the last checkpoint."""
        return _json(await self._files.before(*await self._place(request)))

    async def show(self, request: Request) -> Response:
        """``GET …/workspace/show?path=FILE``: an image, a PDF or a page, for a frame."""
        workspace, path = await self._place(request)
        headers = _frame_headers(path)
        return _stream(await self._files.open(workspace, path), headers)

    async def attached_text(self, request: Request) -> Response:
        """``GET /api/files/{id}/text``: as of a file of the workspace."""
        path, about = await self._attached(request)
        return _json(await asyncio.to_thread(_describe, path, about["name"]))

    async def attached_show(self, request: Request) -> Response:
        """``GET /api/files/{id}/show``: as of a file of the workspace."""
        path, about = await self._attached(request)
        headers = _frame_headers(about["name"])
        return _stream(await asyncio.to_thread(path.open, "rb"), headers)

    async def _attached(self, request: Request) -> tuple[Path, dict[str, Any]]:
        return await self._pages().files.get(identity(request), str(request.path_params["id"]))

    async def download(self, request: Request) -> Response:
        """``GET …/workspace/download?path=FILE``."""
        workspace, path = await self._place(request)
        name = quote(path.rpartition("/")[2], safe="")
        headers = {
            "Content-Disposition": f"attachment; filename*=UTF-8''{name}",
            "Content-Type": "application/octet-stream",
            "X-Content-Type-Options": "nosniff",
        }
        return _stream(await self._files.open(workspace, path), headers)

    async def put(self, request: Request) -> Response:
        """``PUT …/workspace?path=FILE&overwrite=1``."""
        workspace, path = await self._place(request)
        overwrite = request.query_params.get("overwrite") == "1"
        await self._files.put(workspace, path, _chunks(request), overwrite=overwrite)
        return _json({}, 201)


def _frame_headers(name: str) -> dict[str, str]:
    """Return the headers with which a file is shown in a frame. Raises :class:`Problem` (404)."""
    how = SHOWN.get("." + name.rpartition(".")[2].lower(), "")
    if how not in ("image", "pdf", "page"):
        raise Problem(404, "not_found", t("Only images, PDFs and web pages are shown."))
    mime = "text/html; charset=utf-8" if how == "page" else mime_of(name)
    policy = PDF if how == "pdf" else SANDBOXED
    return {**FRAMED, "Content-Security-Policy": policy, "Content-Type": mime}


def _describe(path: Path, name: str) -> dict[str, Any]:
    with path.open("rb") as file:
        return described(file, name)


def _stream(file: BinaryIO, headers: dict[str, str]) -> Response:
    from starlette.concurrency import iterate_in_threadpool
    from starlette.responses import StreamingResponse

    def pieces() -> Any:
        with file:
            while piece := file.read(READ_BYTES):
                yield piece

    return StreamingResponse(iterate_in_threadpool(pieces()), headers=headers)


def _json(value: Any, status: int = 200) -> Response:
    from starlette.responses import Response

    body = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return Response(body, status, {"Cache-Control": "no-store"}, "application/json")


async def _chunks(request: Request) -> AsyncIterator[bytes]:
    async for chunk in request.stream():
        yield chunk
