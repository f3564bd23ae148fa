"""Turns what handlers return, and problems, into HTTP responses for programs or people."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from string import ascii_letters, digits
from typing import Any
from urllib.parse import quote

from hookline_hookspecs.web import (
    Content,
    Download,
    Problem,
    Redirect,
    Renderer,
    View,
    language,
    view_as_json,
)
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response

API_PREFIXES = ("/api/", "/v1/")
"""Below these paths every response is JSON."""
_TYPES = {
    **dict.fromkeys((400, 405, 408, 413, 415, 421), "invalid_request_error"),
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
"""OpenAI's error types by status."""
_IN_NAMES = frozenset(ascii_letters + digits + "._-")


def wants_page(scope: Mapping[str, Any]) -> bool:
    """Return whether to answer with a page.

    Not below :data:`API_PREFIXES`, and not if the request accepts JSON but no HTML, or sends JSON.
    """
    if scope["path"].startswith(API_PREFIXES):
        return False
    headers = scope["headers"]
    accept = b",".join(value for name, value in headers if name == b"accept")
    sends = any(name == b"content-type" and b"json" in value for name, value in headers)
    return b"text/html" in accept or not (sends or b"json" in accept)


async def to_response(request: Request, returned: Any, renderer: Renderer | None) -> Response:
    """Return the response for what a handler returned. Raises ``TypeError`` for other types."""
    if isinstance(returned, Response):
        return returned
    if isinstance(returned, View):
        if renderer is not None and wants_page(request.scope):
            page: Response = await renderer.page(request, returned)
            return page
        return JSONResponse(view_as_json(returned), returned.status)
    if isinstance(returned, Redirect):
        if wants_page(request.scope):
            return Response(status_code=303, headers={"Location": local_path(returned.path)})
        return JSONResponse(view_as_json(returned))
    if isinstance(returned, Download):
        return _download_response(returned)
    if isinstance(returned, Content):
        headers = {**returned.headers, "Content-Type": returned.content_type}
        return Response(returned.body, returned.status, headers)
    if isinstance(returned, str):
        return PlainTextResponse(returned)
    if returned is None:
        return Response(status_code=204)
    if isinstance(returned, dict | list):
        return JSONResponse(returned)
    if callable(returned):  # another framework's response: an ASGI application
        return returned  # type: ignore[no-any-return]
    raise TypeError(f"a handler returned {type(returned).__name__}, which cannot be sent")


def local_path(path: str) -> str:
    """Return ``path`` if it is a path of this server, with unsafe characters quoted; otherwise
    ``/``."""
    is_local = path.startswith("/") and not path.startswith(("//", "/\\"))
    sound = is_local and all(32 < ord(one) < 127 for one in path) and "\\" not in path
    if not is_local:
        return "/"
    return path if sound else quote(path, safe="/?=&%#+,;:@!~*'()")


def _download_response(download: Download) -> Response:
    """Return the response for a file, which browsers save and never open."""
    ascii_name = "".join(one if one in _IN_NAMES else "_" for one in download.name)
    name = (
        f"attachment; filename=\"{ascii_name}\"; filename*=UTF-8''{quote(download.name, safe='')}"
    )
    headers = {"Content-Disposition": name, "Content-Type": download.content_type}
    return Response(download.body, headers=headers)


async def problem_response(
    request: Request, problem: Problem, renderer: Renderer | None
) -> Response:
    """Return the response for a problem: JSON for a program, a page for a person."""
    if not wants_page(request.scope):
        return JSONResponse(_problem_json(request, problem), problem.status, problem.headers)
    if problem.status == 401 and request.method in ("GET", "HEAD"):
        sent = request.scope["raw_path"]
        query = request.scope["query_string"]
        asked = (sent + (b"?" + query if query else b"")).decode("ascii", "replace")
        where = (
            "/login"
            if asked == "/" or local_path(asked) != asked
            else f"/login?next={quote(asked, safe='/')}"
        )
        return Response(status_code=303, headers={"Location": where, **problem.headers})
    response = None
    if renderer is not None:
        response = await renderer.problem(request, problem)
    if response is None:
        response = HTMLResponse(_page(problem), problem.status)
    response.status_code = problem.status
    response.headers.update(problem.headers)
    return response


def _problem_json(request: Request, problem: Problem) -> Any:
    """Return a problem as JSON; outside of ``/api`` with the fields of OpenAI's errors."""
    body = problem.as_json()
    if not request.scope["path"].startswith("/api/"):
        kind = _TYPES.get(problem.status, "server_error")
        message = f"{problem.message} {problem.fix}".strip()
        body["error"] |= {"message": message, "type": kind, "param": None}
    return body


def _page(problem: Problem) -> str:
    """Return a page without a renderer."""
    fix = f"<p>{escape(problem.fix)}</p>" if problem.fix else ""
    return (
        f'<!doctype html><html lang="{language().code}"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><meta name="color-scheme" '
        'content="light dark"><title>Hookline</title>'
        f"<h1>{problem.status}</h1><p>{escape(problem.message)}</p>{fix}"
    )
