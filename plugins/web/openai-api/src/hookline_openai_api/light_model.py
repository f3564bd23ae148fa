"""``hookline-light``: one call of the auxiliary model, without tools and without storage."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import TypeAlias

from hookline_hookspecs import (
    Access,
    HooklineError,
    Host,
    ModelRequest,
    ModelResponse,
    ProviderError,
)

from .api_request import ApiRequest
from .api_run import ApiRun
from .errors import ApiError, invalid_request
from .keys import CHANNEL

CallModel: TypeAlias = Callable[[ModelRequest], Awaitable[ModelResponse]]
Middleware: TypeAlias = Callable[[ModelRequest, CallModel], Awaitable[ModelResponse]]
_run: ContextVar[ApiRun | None] = ContextVar("_run", default=None)
"""The run whose call is running in this task."""


def count_tokens() -> Middleware | None:
    """Return middleware that counts tokens for the run of this task; None without a run."""
    run = _run.get()
    if run is None:
        return None

    async def count(request: ModelRequest, call_next: CallModel) -> ModelResponse:
        response = await call_next(request)
        for name in run.usage:
            run.usage[name] += getattr(response.usage, name)
        run.finish = "length" if response.stop in ("length", "context") else "stop"
        return response

    return count


async def begin(host: Host, run: ApiRun, api_request: ApiRequest) -> None:
    """Start the call, which ends the run. Raises ``ApiError``."""
    if api_request.content.files:
        raise invalid_request("hookline-light accepts only text.")
    access = host.services.get(Access)
    if access is not None and not await access.may_write(CHANNEL, run.owner):
        raise ApiError(403, "You may not write here.", "denied")
    run.created = host.now()
    host.spawn(_answer(host, run, api_request), "light")


async def _answer(host: Host, run: ApiRun, api_request: ApiRequest) -> None:
    reply, error = "", None
    _run.set(run)
    try:
        reply = await host.ask_model(
            build_prompt(api_request),
            system=api_request.system or None,
            schema=api_request.limits.get("schema"),
            max_tokens=api_request.limits.get("max_tokens"),
        )
    except HooklineError as problem:
        kind = problem.kind if isinstance(problem, ProviderError) else "internal"
        error = {"kind": kind, "message": str(problem)}
    except Exception:
        host.log.exception("hookline-light failed")
        error = {"kind": "internal", "message": "The model call failed. See the server's log."}
    if reply:
        run.add("text", reply)
    state = "failed" if error else "completed"
    end = {"state": state, "reply": reply, "usage": run.usage, "finish": run.finish}
    run.add("end", {**end, "error": error, "turn": ""})


def build_prompt(api_request: ApiRequest) -> str:
    """Return the conversation as one prompt."""
    if not api_request.history:
        return api_request.content.text
    earlier = [
        f"{'User' if one.role == 'user' else 'Assistant'}: {one.content.text}"
        for one in api_request.history
        if not one.is_tool and one.content.text.strip()
    ]
    return "\n\n".join([*earlier, f"User: {api_request.content.text}"])
