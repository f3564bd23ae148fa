"""The cookie that identifies a browser."""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response

from .logins import DEVICE_SECONDS
from .request_rules import RequestSender


class LoginCookie:
    """Reads and writes the cookie.

    It is named ``__Host-hookline`` on HTTPS, which no other host can set. On HTTP its name contains
    the port, because two servers on one machine would share it otherwise.

    Args:
        port: returns the server's port.
    """

    def __init__(self, port: Callable[[], int]) -> None:
        self._port = port

    def _name(self, sender: RequestSender) -> str:
        return "__Host-hookline" if sender.is_https else f"hookline-{self._port()}"

    def read(self, request: Request, sender: RequestSender) -> str:
        """Return the value of the cookie, or an empty string if there is none or more than one:
        another site may have set the second."""
        header = request.headers.get("cookie", "")
        pairs = [one.strip().partition("=") for one in header.split(";")]
        found = [value for name, _, value in pairs if name == self._name(sender)]
        return found[0] if len(found) == 1 else ""

    def write(self, response: Response, sender: RequestSender, token: str) -> None:
        """Set the cookie for 30 days. An empty ``token`` deletes it."""
        response.set_cookie(
            self._name(sender),
            token,
            max_age=int(DEVICE_SECONDS) if token else 0,
            path="/",
            secure=sender.is_https,
            httponly=True,
            samesite="strict",
        )
