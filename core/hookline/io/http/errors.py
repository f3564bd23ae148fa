"""Errors of guarded requests: refused, or failed."""

from hookline_hookspecs import HooklineError, Refused


class HttpError(HooklineError):
    """A guarded request got no response. The text is a sentence that a user can act on."""


class HttpRefused(HttpError, Refused):
    """The URL, a name or address that it leads to, or a redirect is not allowed."""


class HttpFailed(HttpError):
    """The network, the server, a time limit or a size limit ended the request."""
