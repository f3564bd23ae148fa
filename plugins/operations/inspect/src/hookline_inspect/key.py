"""Tries a model's key with one tiny request, as the model's own driver would send it."""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

from hookline_hookspecs import CheckResult, Configuration, Host, ProviderSettings
from hookline_providerkit.servers import is_local

from .service import inspection

SECONDS = 8.0
"""How long the provider has to answer."""
_MOST_BYTES = 100_000
_ASKED = [{"role": "user", "content": "Say: ok"}]
REFUSED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
MEND_KEY = "hookline init replaces it; `hookline doctor --offline` does not try it"


async def try_key(host: Host) -> CheckResult:
    """Whether the provider of the default model takes the key, and knows the model."""
    model = inspection(host).default_model()
    name, _, wanted = model.partition("/")
    settings = host.provider(name)
    sections = host.services[Configuration].effective()["providers"]
    driver = (sections.get(name) or {}).get("driver") or name
    request = _anthropic if driver == "anthropic" else _openai
    if not settings.base_url:
        return CheckResult(True, f"{name} is no server, so there is no key to try")
    return await asyncio.to_thread(_judged, model, settings, request(settings, wanted))


def _openai(settings: ProviderSettings, model: str) -> Request:
    body = {"model": model, "messages": _ASKED, "max_tokens": 1}
    return _request(
        settings, "chat/completions", body, {"Authorization": f"Bearer {settings.api_key}"}
    )


def _anthropic(settings: ProviderSettings, model: str) -> Request:
    body = {"model": model, "messages": _ASKED, "max_tokens": 1}
    headers = {"x-api-key": settings.api_key, "anthropic-version": "2023-06-01"}
    return _request(settings, "v1/messages", body, headers)


def _request(settings: ProviderSettings, path: str, body: Any, headers: dict[str, str]) -> Request:
    address = f"{(settings.base_url or '').rstrip('/')}/{path}"
    headers = {"Content-Type": "application/json", "User-Agent": "hookline", **headers}
    data = json.dumps(body).encode()
    return Request(address, data, headers | dict(settings.headers))  # noqa: S310 - the operator's


def _judged(model: str, settings: ProviderSettings, request: Request) -> CheckResult:
    opener = build_opener(ProxyHandler({})) if is_local(request.full_url) else build_opener()
    try:
        with opener.open(request, timeout=SECONDS) as answer:
            answer.read(_MOST_BYTES)
    except HTTPError as error:
        return _refusal(model, settings, error)
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        detail = f"{settings.base_url} cannot be reached: {reason}"
        return CheckResult(False, detail, "start the server, or mend its address: hookline init")
    return CheckResult(True, f"{settings.base_url} answers as {model}")


def _refusal(model: str, settings: ProviderSettings, error: HTTPError) -> CheckResult:
    """What an answer with an error status means; most say nothing about the key."""
    said = _words(error.read(_MOST_BYTES))
    if error.code in REFUSED:
        key = settings.key_env or f"providers.{settings.name}.api_key"
        return CheckResult(False, f"{settings.base_url} refuses the key, {key}{said}", MEND_KEY)
    if error.code == HTTPStatus.NOT_FOUND:
        detail = f"{settings.base_url} does not know {model}{said}"
        return CheckResult(False, detail, "hookline config set model PROVIDER/MODEL")
    if error.code == HTTPStatus.BAD_REQUEST:  # such as a limit that this model does not take
        return CheckResult(True, f"{settings.base_url} takes the key")
    detail = f"{settings.base_url} answers {error.code}{said}"
    busy = error.code == HTTPStatus.TOO_MANY_REQUESTS
    return CheckResult(False, detail, "try it again later", hint=busy)


def _words(body: bytes) -> str:
    """The message in an error's JSON, in the one shape that both services use."""
    try:
        found = json.loads(body)["error"]
        text = found["message"] if isinstance(found, dict) else found
    except (ValueError, KeyError, TypeError):
        return ""
    return f" ({' '.join(str(text).split())[:200]})"
