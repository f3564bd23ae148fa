"""The plugin ``openai-api``: its channel, routes, keys, jobs and checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from hookline_hookspecs import (
    Access,
    Channel,
    Check,
    CheckResult,
    Context,
    Host,
    Job,
    ModelRequest,
    Plugin,
    Question,
    Route,
    Turn,
    hookimpl,
)
from hookline_hookspecs.people import PeopleDirectory
from hookline_hookspecs.web import Keys, SiteRoute

from . import light_model
from .active_runs import ActiveRuns
from .channel import ApiChannel
from .config import OpenAIApiConfig
from .keys import CHANNEL, KeyRing

if TYPE_CHECKING:
    from .endpoints import ApiEndpoints

HOUR = 3600.0
DENY = "Deny"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
ENDPOINTS = {
    ("GET", "/models"): "models",
    ("GET", "/models/{name}"): "model",
    ("POST", "/chat/completions"): "chat",
    ("POST", "/responses"): "respond",
    ("GET", "/responses/{id}"): "response",
    ("DELETE", "/responses/{id}"): "delete_response",
    ("POST", "/responses/{id}/cancel"): "cancel_response",
    ("GET", "/responses/{id}/input_items"): "input_items",
    ("POST", "/audio/transcriptions"): "transcription",
    ("POST", "/audio/speech"): "speech",
}
"""Methods of ``ApiEndpoints`` by HTTP method and path."""
UNVERSIONED_PATHS = (
    *dict.fromkeys(path for _, path in ENDPOINTS),
    *("/completions", "/embeddings", "/moderations", "/engines", "/files", "/files/{id}"),
    *("/images/{rest:path}", "/batches", "/conversations", "/assistants", "/threads"),
)
"""Paths of OpenAI's API that are answered without ``/v1`` too, if only with an explanation."""


class OpenAIApi(Plugin[OpenAIApiConfig]):
    """Serves clients of OpenAI's API."""

    requires: ClassVar[tuple[str, ...]] = ("web-server",)
    for_people = False
    """Its channel is for programs, so `hookline init` does not offer it."""

    def __init__(self, config: OpenAIApiConfig, host: Host) -> None:
        super().__init__(config, host)
        self.keys = KeyRing(host)
        self.runs = ActiveRuns(host, config.keep_days * 86_400)
        self.channel = ApiChannel(host, self.runs)
        self._api: ApiEndpoints | None = None

    @hookimpl
    def setup(self, host: Host) -> None:
        """Provide the keys, and listen to turns."""
        host.services.add(Keys, self.keys)
        self.runs.listen()

    @property
    def api(self) -> ApiEndpoints:
        """The endpoints; created at the first request, because they import Starlette."""
        if self._api is None:
            from .endpoints import ApiEndpoints

            self._api = ApiEndpoints(self.host, self.config, self.runs)
        return self._api

    @hookimpl
    def register_channels(self, register: Callable[[Channel], None]) -> None:
        """Register the channel ``api``."""
        register(self.channel)

    @hookimpl
    def register_routes(self, register: Callable[[Route], None]) -> None:
        """Register everything below ``/v1``, and the same for clients whose address lacks it."""
        most = self.config.max_bytes

        def add(method: str, path: str, name: str) -> None:
            handler = self._lazy_endpoint(name)
            register(SiteRoute(method, path, handler, auth="key", max_bytes=most))

        for prefix in ("/v1", ""):
            for (method, path), name in ENDPOINTS.items():
                add(method, f"{prefix}{path}", name)
        for method in METHODS:
            add(method, "/v1/{rest:path}", "missing")
            for path in UNVERSIONED_PATHS:
                if (method, path) not in ENDPOINTS:
                    add(method, path, "missing")

    def _lazy_endpoint(self, name: str) -> Callable[..., Any]:
        """Return a handler that looks the endpoint up at the first request."""

        async def endpoint(request: Any) -> Any:
            return await getattr(self.api, name)(request)

        return endpoint

    @hookimpl
    def register_jobs(self, register: Callable[[Job], None]) -> None:
        """Register the job that deletes old answers and files."""
        register(Job("prune", self._prune, HOUR))

    async def _prune(self) -> None:
        await self.runs.prune()
        await self.api.files.prune(self.host.now() - self.config.keep_days * 86_400)

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """Register checks for keys and for access control."""
        register(Check("keys", self._check_keys))
        register(Check("access", self._check_access))

    async def _check_keys(self) -> CheckResult:
        names = [key.name for key in await self.keys.all()]
        if names:
            return CheckResult(True, f"keys: {', '.join(names)}")
        return CheckResult(False, "no keys", "hookline api keys add NAME", hint=True)

    def _check_access(self) -> CheckResult:
        if self.host.services.get(Access) is not None:
            return CheckResult(True, "a plugin controls who may write")
        return CheckResult(
            False,
            "no plugin controls who may write: everyone with a key may, and approvals are refused",
            "hookline plugins enable access",
            hint=True,
        )

    @hookimpl
    async def start_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Load the run of a turn that was resumed or belongs to another process's client."""
        await self.runs.resume(turn)

    @hookimpl
    def pre_model(self, ctx: Context, request: ModelRequest) -> ModelRequest | None:
        """Restore the client's system text in a turn that was resumed after a restart."""
        return self.runs.restore_system_text(ctx, request)

    @hookimpl
    def around_model(self, ctx: Context, request: ModelRequest) -> light_model.Middleware | None:
        """Count the tokens of ``hookline-light``."""
        return light_model.count_tokens()

    @hookimpl(tryfirst=True)
    async def on_question(self, ctx: Context, question: Question) -> str | None:
        """Notify the client of an approval; refuse one of an admin, who cannot answer here.

        For others the admins are asked on other channels.
        """
        if ctx.session.channel != CHANNEL or question.kind != "approval":
            return None
        name = question.call.name if question.call is not None else "it"
        people = self.host.services.get(PeopleDirectory)
        if people is not None and await people.role(f"{CHANNEL}:{ctx.session.chat_id}") != "admin":
            self.runs.note_approval(ctx, name)
            return None
        ctx.notify(f"{name} was refused: approvals are not possible through the API.")
        return DENY
