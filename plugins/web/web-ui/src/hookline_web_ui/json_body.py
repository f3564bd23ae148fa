"""Reads the JSON object that a request sends."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from hookline_hookspecs.strict_json import InvalidJson, parse_off_loop, read_json_object
from hookline_hookspecs.web import Problem

if TYPE_CHECKING:
    from starlette.requests import Request


async def read_body(request: Request) -> dict[str, Any]:
    """Return the JSON object of a body. Raises :class:`Problem` (415, 400)."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    text = await request.body()
    if not text:
        return {}
    if kind != "application/json":
        raise Problem(415, "not_json", "Send the body as application/json.")
    try:
        return await parse_off_loop(partial(read_json_object, any_text=True), text)
    except InvalidJson as error:
        raise Problem(400, "bad_request", f"The body is {error}.") from None
