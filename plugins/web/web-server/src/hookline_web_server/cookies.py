"""The cookie by which a browser is known."""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response

from .logins import DEVICE_SECONDS
from .rules import Sender


class Cookies:
    """Writes and reads it.

    Its name is ``__Host-hookline`` on HTTPS, where no other host can set that, and else has the
    port in it, because cookies do not: two servers of one machine would log each other out.

    Args:
        port: returns the port that is listened on.
    """

    def __init__(self, port: Callable[[], int]) -> None:
        self._port = port

    def _name(self, sender: Sender) -> str:
        return "__Host-hookline" if sender.is_https else f"hookline-{self._port()}"

    def read(self, request: Request, sender: Sender) -> str:
        """Return the cookie's value, empty without one, and where it is there twice: somebody else
        may have set the other."""
        header = request.headers.get("cookie", "")
        pairs = [one.strip().partition("=") for one in header.split(";")]
        found = [value for name, _, value in pairs if name == self._name(sender)]
        return found[0] if len(found) == 1 else ""

    def write(self, response: Response, sender: Sender, token: str) -> None:
        """Set the cookie for 30 days; an empty ``token`` deletes it."""
        response.set_cookie(
            self._name(sender),
            token,
            max_age=int(DEVICE_SECONDS) if token else 0,
            path="/",
            secure=sender.is_https,
            httponly=True,
            samesite="strict",
        )
