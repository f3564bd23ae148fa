"""The plugin: the channel, the routes, the keys and who hears of turns."""

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

from . import light
from .channel import ApiChannel
from .config import OpenAIApiConfig
from .keys import CHANNEL, KeyRing
from .runs import Runs

if TYPE_CHECKING:
    from .api import Api

HOUR = 3600.0
DENY = "Deny"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


class OpenAIApi(Plugin[OpenAIApiConfig]):
    """Answers programs that speak OpenAI's API."""

    requires: ClassVar[tuple[str, ...]] = ("web-server",)
    for_people = False
    """Its channel is for programs: `hookline init` does not offer it."""

    def __init__(self, config: OpenAIApiConfig, host: Host) -> None:
        super().__init__(config, host)
        self.keys = KeyRing(host)
        self.runs = Runs(host, config.keep_days * 86_400)
        self.channel = ApiChannel(host, self.runs)
        self._api: Api | None = None

    @hookimpl
    def setup(self, host: Host) -> None:
        """Offer the keys, and hear of turns."""
        host.services.add(Keys, self.keys)
        self.runs.listen()

    @property
    def api(self) -> Api:
        """The endpoints, which need the web framework."""
        if self._api is None:
            from .api import Api

            self._api = Api(self.host, self.config, self.runs)
        return self._api

    @hookimpl
    def register_channels(self, register: Callable[[Channel], None]) -> None:
        """The channel ``api``."""
        register(self.channel)

    @hookimpl
    def register_routes(self, register: Callable[[Route], None]) -> None:
        """Everything below ``/v1``."""
        most = self.config.max_bytes

        def add(method: str, path: str, handler: Callable[..., Any]) -> None:
            register(SiteRoute(method, f"/v1{path}", handler, auth="key", max_bytes=most))

        add("GET", "/models", self._to("models"))
        add("GET", "/models/{name}", self._to("model"))
        add("POST", "/chat/completions", self._to("chat"))
        add("POST", "/responses", self._to("respond"))
        add("GET", "/responses/{id}", self._to("response"))
        add("DELETE", "/responses/{id}", self._to("delete_response"))
        add("POST", "/responses/{id}/cancel", self._to("cancel_response"))
        add("GET", "/responses/{id}/input_items", self._to("input_items"))
        add("POST", "/audio/transcriptions", self._to("transcription"))
        add("POST", "/audio/speech", self._to("speech"))
        for method in METHODS:
            add(method, "/{rest:path}", self._to("missing"))

    def _to(self, name: str) -> Callable[..., Any]:
        """An endpoint that is looked up when it is asked for."""

        async def endpoint(request: Any) -> Any:
            return await getattr(self.api, name)(request)

        return endpoint

    @hookimpl
    def register_jobs(self, register: Callable[[Job], None]) -> None:
        """Forget old answers and files."""
        register(Job("prune", self._prune, HOUR))

    async def _prune(self) -> None:
        await self.runs.prune()
        await self.api.files.prune(self.host.now() - self.config.keep_days * 86_400)

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """Whether anybody has a key, and who decides who may write."""
        register(Check("keys", self._check_keys))
        register(Check("access", self._check_access))

    async def _check_keys(self) -> CheckResult:
        names = [key.name for key in await self.keys.all()]
        if names:
            return CheckResult(True, f"keys: {', '.join(names)}")
        return CheckResult(False, "nobody has a key", "hookline api keys add NAME", hint=True)

    def _check_access(self) -> CheckResult:
        if self.host.services.get(Access) is not None:
            return CheckResult(True, "a plugin decides who may write")
        return CheckResult(
            False,
            "no plugin decides who may write; whoever has a key, may, and approves nothing",
            "hookline plugins enable access",
            hint=True,
        )

    @hookimpl
    async def start_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Know the request of a turn that goes on after a restart, or of another process."""
        await self.runs.take_up(turn)

    @hookimpl
    def pre_model(self, ctx: Context, request: ModelRequest) -> ModelRequest | None:
        """Keep the client's system text in a turn that goes on after a restart."""
        return self.runs.completed(ctx, request)

    @hookimpl
    def around_model(self, ctx: Context, request: ModelRequest) -> light.Middleware | None:
        """Count what the calls of ``hookline-light`` use."""
        return light.counting()

    @hookimpl(tryfirst=True)
    async def on_question(self, ctx: Context, question: Question) -> str | None:
        """Tell the client that a call waits; refuse it where nobody could be asked.

        ``access`` puts it to the admins elsewhere, but never what an admin's own turn needs: that
        would be asked here, where nobody can answer.
        """
        if ctx.session.channel != CHANNEL or question.kind != "approval":
            return None
        name = question.call.name if question.call is not None else "it"
        people = self.host.services.get(PeopleDirectory)
        if people is not None and await people.role(f"{CHANNEL}:{ctx.session.chat_id}") != "admin":
            self.runs.asked(ctx, name)
            return None
        ctx.notify(f"Nobody can approve through the API, so {name} was refused.")
        return DENY
