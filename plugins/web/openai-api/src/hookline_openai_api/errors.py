"""Errors in OpenAI's format: ``{"error": {"message", "type", "code", "param"}}``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hookline_hookspecs import HooklineError

_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}


class ApiError(HooklineError):
    """A request is refused.

    Args:
        status: the HTTP status.
        message: why, as a sentence.
        code: a short code for programs.
        param: the invalid part of the request, such as ``messages[2].content``.
        headers: additional response headers.
    """

    def __init__(
        self,
        status: int,
        message: str,
        code: str | None = None,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.param = param
        self.headers = dict(headers or {})

    def as_json(self) -> dict[str, Any]:
        """Return the body of the response."""
        return {"error": error_object(self.status, self.message, self.code, self.param)}


def error_object(status: int, message: str, code: str | None, param: str | None) -> dict[str, Any]:
    """Return the value of ``error`` in a response or a stream."""
    kind = _TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    return {"message": message, "type": kind, "param": param, "code": code}


def invalid_request(
    message: str, param: str | None = None, code: str = "invalid_value"
) -> ApiError:
    """Return the error for an invalid request."""
    return ApiError(400, message, code, param)


ERRORS_BY_KIND = {
    "rate": (429, "rate_limit_exceeded"),
    "budget": (429, "insufficient_quota"),
    "overloaded": (503, "overloaded"),
    "context": (400, "context_length_exceeded"),
    "denied": (403, "denied"),
    "stopped": (503, "stopped"),
}
"""Status and code by the kind of a failed turn; other kinds are 502."""
NO_RETRY_HEADERS = {"x-should-retry": "false"}
"""The turn has run; repeating the request would return the same error."""


def turn_failed(kind: str, message: str) -> ApiError:
    """Return the error for a turn that failed."""
    status, code = ERRORS_BY_KIND.get(kind, (502, "model_failed"))
    return ApiError(status, message, code, headers=NO_RETRY_HEADERS)
