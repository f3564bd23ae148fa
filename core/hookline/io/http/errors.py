"""The two ways in which a guarded request ends without a response."""

from hookline_hookspecs import HooklineError, Refused


class HttpError(HooklineError):
    """A guarded request that brought no response. Its text is a sentence a user can act on."""


class HttpRefused(HttpError, Refused):
    """The URL, a name or an address it leads to, or a redirect, is not allowed."""


class HttpFailed(HttpError):
    """The network, the other side, a time limit or a size limit ended the request."""
