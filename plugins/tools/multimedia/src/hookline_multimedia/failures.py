"""What the failures of the services are told as; ``hookline_providerkit`` sorts them."""

from __future__ import annotations

from hookline_hookspecs import ProviderError
from hookline_providerkit import Cause, Failures

from .endpoints import NO_KEY, Endpoint

_TIMED_OUT = (
    "The {service} service did not answer in time. Try again, or have plugins.multimedia.timeout "
    "(seconds) raised."
)
SENTENCES: dict[Cause, str] = {
    Cause.BAD_KEY: (
        "The {service} service refused the key {status}. Set {setting}.api_key, or "
        "plugins.multimedia.api_key, to one that may use it."
    ),
    Cause.NO_CREDIT: "The account of the {service} service has no credit {status}.",
    Cause.RATE_LIMITED: (
        "The {service} service takes no more requests now {status}. Try again {when}."
    ),
    Cause.CONTEXT_TOO_LONG: "That is too large for the {service} service {status}.",
    Cause.OVERLOADED: (
        "The {service} service is out of order {status}. Try again in a few minutes."
    ),
    Cause.CONTENT_REFUSED: "The {service} service refused the content {status}. Say it otherwise.",
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
        "servers want /v1 at its end."
    ),
    Cause.INVALID_REQUEST: (
        "The {service} service cannot be asked: {detail}. Check {setting}.base_url and api_key, or "
        "plugins.multimedia.api_key."
    ),
}


def failures_at(at: Endpoint) -> Failures:
    """Makes the errors of a service."""
    fields = {
        "service": at.service,
        "base_url": at.base_url,
        "model": at.model,
        "setting": at.setting,
        "what": "an answer",
    }
    return Failures(fields, "" if at.api_key == NO_KEY else at.api_key, SENTENCES)


def no_answer(what: str, said: bytes, at: Endpoint) -> ProviderError:
    """The service answered with success, but not with ``what`` was asked for."""
    return failures_at(at).failure(Cause.NO_ANSWER, said, what=what)
