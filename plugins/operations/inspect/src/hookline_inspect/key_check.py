"""Tests a model's key with one tiny request, in the format of the model's driver."""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

from hookline_hookspecs import CheckResult, Configuration, Host, Inspection, ProviderSettings
from hookline_providerkit.servers import is_local

KEY_CHECK_TIMEOUT = 8.0
"""Seconds that the provider has to answer."""
_MAX_BYTES = 100_000
_TEST_MESSAGES = [{"role": "user", "content": "Say: ok"}]
REFUSED_STATUSES = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
KEY_FIX = "replace it with `hookline init`, or skip this check with `hookline doctor --offline`"


async def try_key(host: Host) -> CheckResult:
    """Whether the provider of the default model accepts the key and knows the model."""
    model = host.services[Inspection].default_model()
    name, _, model_name = model.partition("/")
    settings = host.provider(name)
    sections = host.services[Configuration].effective()["providers"]
    driver = (sections.get(name) or {}).get("driver") or name
    request = _anthropic if driver == "anthropic" else _openai
    if not settings.base_url:
        return CheckResult(True, f"{name} has no server, so there is no key to test")
    return await asyncio.to_thread(_send, model, settings, request(settings, model_name))


def _openai(settings: ProviderSettings, model: str) -> Request:
    body = {"model": model, "messages": _TEST_MESSAGES, "max_tokens": 1}
    return _request(
        settings, "chat/completions", body, {"Authorization": f"Bearer {settings.api_key}"}
    )


def _anthropic(settings: ProviderSettings, model: str) -> Request:
    body = {"model": model, "messages": _TEST_MESSAGES, "max_tokens": 1}
    headers = {"x-api-key": settings.api_key, "anthropic-version": "2023-06-01"}
    return _request(settings, "v1/messages", body, headers)


def _request(settings: ProviderSettings, path: str, body: Any, headers: dict[str, str]) -> Request:
    address = f"{(settings.base_url or '').rstrip('/')}/{path}"
    headers = {"Content-Type": "application/json", "User-Agent": "hookline", **headers}
    data = json.dumps(body).encode()
    return Request(address, data, headers | dict(settings.headers))  # noqa: S310 - the operator's


def _send(model: str, settings: ProviderSettings, request: Request) -> CheckResult:
    opener = build_opener(ProxyHandler({})) if is_local(request.full_url) else build_opener()
    try:
        with opener.open(request, timeout=KEY_CHECK_TIMEOUT) as answer:
            answer.read(_MAX_BYTES)
    except HTTPError as error:
        return _refusal(model, settings, error)
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        detail = f"{settings.base_url} cannot be reached: {reason}"
        return CheckResult(False, detail, "start the server, or correct its address: hookline init")
    return CheckResult(True, f"{settings.base_url} answers as {model}")


def _refusal(model: str, settings: ProviderSettings, error: HTTPError) -> CheckResult:
    """The result for an HTTP error; most say nothing about the key."""
    message = _error_message(error.read(_MAX_BYTES))
    if error.code in REFUSED_STATUSES:
        key = settings.key_env or f"providers.{settings.name}.api_key"
        return CheckResult(False, f"{settings.base_url} refuses the key, {key}{message}", KEY_FIX)
    if error.code == HTTPStatus.NOT_FOUND:
        detail = f"{settings.base_url} does not know {model}{message}"
        return CheckResult(False, detail, "hookline config set model PROVIDER/MODEL")
    if error.code == HTTPStatus.BAD_REQUEST:  # such as a parameter that the model refuses
        return CheckResult(True, f"{settings.base_url} accepts the key")
    detail = f"{settings.base_url} answers {error.code}{message}"
    busy = error.code == HTTPStatus.TOO_MANY_REQUESTS
    return CheckResult(False, detail, "try again later", hint=busy)


def _error_message(body: bytes) -> str:
    """The message in an error's JSON, in the format that both APIs use."""
    try:
        found = json.loads(body)["error"]
        text = found["message"] if isinstance(found, dict) else found
    except (ValueError, KeyError, TypeError):
        return ""
    return f" ({' '.join(str(text).split())[:200]})"
