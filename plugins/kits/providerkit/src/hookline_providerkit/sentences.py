"""The sentence for each cause, as the providers of models have it.

The fields: ``name`` of the provider, ``model``, ``key`` (what to set in place of a key), ``said``
(the server's words, or what went wrong), ``told`` (a status with the server's words, in brackets),
``when`` to try again, and ``host``.
"""

from __future__ import annotations

from .causes import Cause

PROVIDER: dict[Cause, str] = {
    Cause.NO_KEY: "There is no key for {name}. Set {key}.",
    Cause.BAD_KEY: (
        "{name} refused the key for {model} {told}. Set {key} to a key that may use this model."
    ),
    Cause.NO_CREDIT: (
        "The account at {name} has no credit left for {model} {told}. Add credit or raise its "
        "limit with the provider, or choose another model with /model."
    ),
    Cause.TOO_MANY: "{name} takes no more requests for {model} now {told}. Try again {when}.",
    Cause.TOO_LONG: (
        "The conversation is longer than {model} on {name} can read {told}. Shorten it with "
        "/compact, or begin anew with /new."
    ),
    Cause.OVERLOADED: (
        "{name} cannot serve {model} at the moment {told}. Try again soon, or choose another "
        "model with /model or `--model`."
    ),
    Cause.CONTENT: "{name} refused the request to {model} {told}.",
    Cause.UNKNOWN: (
        "{name} does not know {model}, or the address is wrong {told}. Check `model` and "
        "`providers.{name}.base_url`."
    ),
    Cause.REFUSED: "{name} refused the request to {model} {told}.",
    Cause.GAVE_UP: "{name} gave up waiting for the request to {model} {told}. Try again.",
    Cause.TIMED_OUT: (
        "{name} did not answer for {model} in time. Try again, or raise "
        "`providers.{name}.timeout` and `total_timeout` beside it (seconds)."
    ),
    Cause.LOST: (
        "The connection to {name} ({host}) failed while asking {model}: {said}. Check the "
        "network and `providers.{name}.base_url`, then try again."
    ),
    Cause.BROKEN: "{name} broke off its answer from {model}: {said}. Try again.",
    Cause.UNREADABLE: (
        "{name} sent something unreadable in its answer from {model} ({said}). Try again; if it "
        "stays, check `providers.{name}.base_url`: the server does not speak this API."
    ),
    Cause.NO_ANSWER: (
        "{name} answered the request to {model} with something other than a message "
        "({said}). Check `providers.{name}.base_url`."
    ),
    Cause.MOVED: (
        "{name} sends the request to {model} on to another address ({said}), which is not "
        "followed, so that the key goes nowhere else. If that address is right, set it as "
        "`providers.{name}.base_url`."
    ),
    Cause.TOO_MUCH: (
        "{name} sent more for {model} than is taken of an answer: {said}. Try again; if it "
        "stays, check `providers.{name}.base_url` or choose another model with /model."
    ),
    Cause.UNUSABLE: (
        "No request can be sent to {name}: {said}. Check `base_url`, `api_key` and `headers` "
        "under `providers.{name}`."
    ),
}
