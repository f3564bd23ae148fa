"""Error messages of the services; ``hookline_providerkit`` classifies the errors."""

from __future__ import annotations

from hookline_hookspecs import ProviderError
from hookline_providerkit import Cause, Failures

from .endpoints import NO_KEY, ServiceEndpoint

_TIMED_OUT = (
    "The {service} service did not answer in time. Try again, or raise plugins.multimedia.timeout "
    "(seconds)."
)
MESSAGES: dict[Cause, str] = {
    Cause.BAD_KEY: (
        "The {service} service refused the key {status}. Set {setting}.api_key, or "
        "plugins.multimedia.api_key, to one that may use it."
    ),
    Cause.NO_CREDIT: "The account of the {service} service has no credit {status}.",
    Cause.RATE_LIMITED: (
        "The {service} service accepts no more requests now {status}. Try again {when}."
    ),
    Cause.CONTEXT_TOO_LONG: "That is too large for the {service} service {status}.",
    Cause.OVERLOADED: ("The {service} service failed {status}. Try again in a few minutes."),
    Cause.CONTENT_REFUSED: "The {service} service refused the content {status}. Rephrase it.",
    Cause.NOT_FOUND: (
        "The {service} service does not know the model {model}, or its address is wrong {status}. "
        "Check {setting}.model and base_url."
    ),
    Cause.BAD_REQUEST: "The {service} service refused the request {status}.",
    Cause.SERVER_TIMEOUT: _TIMED_OUT,
    Cause.TIMED_OUT: _TIMED_OUT,
    Cause.CONNECTION_LOST: (
        "The connection to the {service} service ({base_url}) failed: {detail}. Check the network "
        "and {setting}.base_url."
    ),
    Cause.TRUNCATED: (
        "The answer of the {service} service ({base_url}) broke off: {detail}. Try again."
    ),
    Cause.UNREADABLE: (
        "The {service} service sent something unreadable ({detail}). Check {setting}.base_url."
    ),
    Cause.NO_ANSWER: (
        "The {service} service answered without {what}: {detail}. Check {setting}.base_url; most "
        "servers need /v1 at its end."
    ),
    Cause.INVALID_REQUEST: (
        "The {service} service cannot be asked: {detail}. Check {setting}.base_url and api_key, or "
        "plugins.multimedia.api_key."
    ),
}


def failures_of(endpoint: ServiceEndpoint) -> Failures:
    """The errors of a service."""
    fields = {
        "service": endpoint.service,
        "base_url": endpoint.base_url,
        "model": endpoint.model,
        "setting": endpoint.setting,
        "what": "an answer",
    }
    return Failures(fields, "" if endpoint.api_key == NO_KEY else endpoint.api_key, MESSAGES)


def no_answer(what: str, answer: bytes, endpoint: ServiceEndpoint) -> ProviderError:
    """The error for a successful answer that does not contain ``what``."""
    return failures_of(endpoint).failure(Cause.NO_ANSWER, answer, what=what)
