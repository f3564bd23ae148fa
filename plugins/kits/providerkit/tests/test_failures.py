"""Failures of a provider: the error and its sentence."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from hookline_hookspecs import (
    AuthError,
    BadRequest,
    ContextTooLong,
    NetworkError,
    Overloaded,
    ProviderError,
    RateLimited,
)
from hookline_providerkit import (
    MAX_QUOTED_CHARS,
    PROVIDER_SENTENCES,
    Cause,
    ErrorInResponse,
    Failures,
    error_text,
    retry_after,
)
from hypothesis import example, given
from hypothesis import strategies as st

SECRET = "sk-secret-1234"
FAILURES = Failures({"name": "parrot", "key": "PARROT_API_KEY"}, SECRET)
PAGE = "<html><head><title>502 Bad &amp; Gateway</title></head><body>nginx</body></html>"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "message", "detail", "code", "type", "status"]), inner
        )
    ),
    max_leaves=8,
)


@contextmanager
def translating(sdk: Any, **fields: str) -> Iterator[None]:
    """Raise the error that an exception is translated to; others pass."""
    try:
        yield
    except Exception as error:
        failure = FAILURES.from_exception(error, sdk, **fields)
        if failure is None:
            raise
        raise failure from FAILURES.loggable_cause(error)


class SdkError(Exception):
    """The base of an SDK's exceptions."""

    def __init__(self, message: str, body: Any = None) -> None:
        super().__init__(message)
        self.message, self.body = message, body


class StatusError(SdkError):
    def __init__(self, status: int, body: Any) -> None:
        super().__init__(f"Error code: {status}", body)
        self.status_code = status
        self.response = httpx2.Response(status, headers={"retry-after": "7"})


class LostConnection(SdkError):
    pass


class TimedOut(LostConnection):
    pass


SDK = SimpleNamespace(
    APIError=SdkError,
    APIStatusError=StatusError,
    APIConnectionError=LostConnection,
    APITimeoutError=TimedOut,
)


def error_body(message: str, kind: str = "invalid_request_error") -> dict[str, Any]:
    """An error body in the shape of either API."""
    return {"type": "error", "error": {"type": kind, "message": message}}


def refused(status: int, body: Any) -> ProviderError:
    return FAILURES.from_status(status, body, {}, model="polly", host="nest")


@pytest.mark.parametrize(
    ("status", "body", "kind", "sentence"),
    [
        (401, error_body("bad key"), AuthError, "(401: bad key). Set PARROT_API_KEY to"),
        (403, PAGE, AuthError, "(403: a web page, '502 Bad & Gateway')"),
        (400, error_body("API key not valid"), AuthError, "refused the key"),
        (402, error_body("none left"), RateLimited, "no credit left for polly (402: none left)"),
        (400, error_body("Your credit balance is too low"), RateLimited, "no credit"),
        (429, {"code": "insufficient_quota"}, RateLimited, "no credit"),
        (429, error_body("slow down"), RateLimited, "Try again in a minute with /retry."),
        (413, "", ContextTooLong, "(413). Shorten it with /compact"),
        (
            400,
            error_body("Prompt is too long: 9 > 8"),
            ContextTooLong,
            "longer than polly on parrot",
        ),
        (500, error_body("oops"), Overloaded, "/model"),
        (529, error_body("busy"), Overloaded, "(529: busy)"),
        (400, error_body("flagged by our moderation system"), BadRequest, "moderation"),
        (404, error_body("no polly"), BadRequest, "does not know polly"),
        (422, {"detail": [{"msg": "field required"}]}, BadRequest, "(422: field required)"),
        (408, "", NetworkError, "stopped waiting"),
    ],
)
def test_status_becomes_an_error_with_a_sentence(
    status: int, body: Any, kind: type[ProviderError], sentence: str
) -> None:
    error = refused(status, body)
    assert type(error) is kind
    assert sentence in str(error)
    assert str(error).startswith(("parrot ", "The "))


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (error_body("busy", "overloaded_error"), Overloaded),
        (error_body("slow down", "rate_limit_error"), RateLimited),
        (error_body("oops", "api_error"), Overloaded),
        (error_body("bad"), BadRequest),
        ({"message": "gone", "code": 502}, Overloaded),
        ({"message": "prompt is too long"}, ContextTooLong),
        ({"message": "it broke"}, NetworkError),
        (PAGE, BadRequest),
        (None, NetworkError),
    ],
)
def test_error_in_a_stream_needs_no_status(body: Any, kind: type[Exception]) -> None:
    assert type(FAILURES.from_body(body, model="polly")) is kind


@pytest.mark.parametrize(
    ("error", "kind", "sentence"),
    [
        (StatusError(429, error_body("slow down")), RateLimited, "Try again in 7 s with /retry."),
        (StatusError(200, error_body("busy", "overloaded_error")), Overloaded, "busy"),
        (SdkError("the stream ended"), NetworkError, "The response of polly from parrot broke off"),
        (SdkError("", error_body("busy", "overloaded_error")), Overloaded, "busy"),
        (TimedOut("slow"), NetworkError, "providers.parrot.timeout"),
        (httpx2.ReadTimeout("slow"), NetworkError, "providers.parrot.timeout"),
        (LostConnection("Connection error."), NetworkError, "(nest) failed while requesting polly"),
        (httpx2.ReadError("reset"), NetworkError, "reset"),
        (ErrorInResponse(PAGE), BadRequest, "other than a message (a web page"),
        (json.JSONDecodeError("no value", "<", 0), NetworkError, "unreadable"),
        (UnicodeEncodeError("ascii", "ü", 0, 1, "no"), BadRequest, "characters"),
    ],
)
def test_exception_becomes_the_error_of_its_cause(
    error: Exception, kind: type[ProviderError], sentence: str
) -> None:
    with pytest.raises(kind) as caught, translating(SDK, model="polly", host="nest"):
        raise error
    assert type(caught.value) is kind
    assert sentence in str(caught.value)
    assert caught.value.__cause__ is error


def test_exception_of_other_code_passes() -> None:
    with pytest.raises(KeyError, match="screen"), translating(SDK, model="polly"):
        raise KeyError("screen")


def test_invalid_header_is_not_quoted() -> None:
    error = LostConnection("Connection error.")
    error.__cause__ = httpx2.LocalProtocolError(f"Illegal header value b'Bearer {SECRET}'")
    with (
        pytest.raises(BadRequest, match="not valid in HTTP") as caught,
        translating(SDK, model="polly", host="nest"),
    ):
        raise error
    assert SECRET not in str(caught.value)


def test_key_that_a_server_repeats_is_removed() -> None:
    text = str(refused(401, error_body(f"Incorrect key: {SECRET}")))
    assert "Incorrect key: [secret])" in text


def test_plugin_can_have_its_own_sentences() -> None:
    own = PROVIDER_SENTENCES | {
        Cause.RATE_LIMITED: "The {name} is tired {status}; come back {when}."
    }
    failures = Failures({"name": "parrot"}, sentences=own)
    error = failures.from_status(
        429, {"detail": "enough"}, {"retry-after-ms": "1500"}, model="polly"
    )
    assert str(error) == "The parrot is tired (429: enough); come back in 2 s."
    assert error.retry_after == 1.5


@given(st.integers(400, 599), JSON)
@example(407, {})
def test_error_body_of_any_shape_is_readable(status: int, body: Any) -> None:
    in_answer = FAILURES.from_body(body, model="polly", host="nest")
    for error in (refused(status, body), in_answer):
        assert len(str(error)) < MAX_QUOTED_CHARS + 300
        assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'{"error": {"message": "No\\n such  thing."}}', "No such thing"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        ("<p>Welcome</p>", "a web page, 'Welcome'"),
        ("<br>", "a web page"),
        ({"type": "overloaded_error"}, "overloaded_error"),
        ([{"msg": "one"}, {"msg": "two"}], "one; two"),
        ("a\x1b[31mb", "a[31mb"),
        ("x" * 1000, "x" * MAX_QUOTED_CHARS + "…"),
        (7, ""),
    ],
)
def test_error_text_is_one_line(body: Any, text: str) -> None:
    assert error_text(body) == text


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after-ms": "1500", "retry-after": "7"}, 1.5),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_retry_after_reads_seconds(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_retry_after_reads_a_date() -> None:
    wait = retry_after({"retry-after": formatdate(time.time() + 3600, usegmt=True)})
    assert wait is not None
    assert 3000 < wait <= 3600
