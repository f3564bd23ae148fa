"""The provider: renders requests to bytes, sends them, reads the answers."""

from __future__ import annotations

from collections import OrderedDict

from hookline_hookspecs import (
    CachePrice,
    DeltaSink,
    Fragment,
    Message,
    ModelRequest,
    ModelResponse,
    ProviderSettings,
    ToolSchema,
    WireRequest,
)

from .client import Client
from .dialects import DIALECTS, Dialect
from .options import Options, max_tokens_field, reasoning_field

CACHED = 600.0
"""Seconds for which a prefix is counted as cached (DESIGN §5); servers promise nothing exact."""
STABLE_KEPT = 64
"""How many sessions' encoded tools and system texts are kept at hand."""


class OpenAIProvider:
    """OpenAI, or a server that speaks its wire (see the README for the settings).

    Raises:
        ValueError: a setting is of the wrong type or out of range; the text names its key.
    """

    cache_price = CachePrice(read=0.1, write=1.0, write_1h=1.0)
    """Writing is free; reading is a tenth, as OpenAI's and DeepSeek's present models have it."""

    def __init__(self, settings: ProviderSettings) -> None:
        self.name = settings.name
        self._options = options = Options.read(settings.name, settings.options)
        self._dialect = DIALECTS[options.api]
        self._max_tokens_field = max_tokens_field(options, settings.base_url)
        self._reasoning_field = reasoning_field(options, settings.base_url)
        self._wire_key = ("openai", options.api, self._reasoning_field)
        self._stable = _StableParts(self._dialect)
        self._client = Client(settings, options)

    def render(self, request: ModelRequest) -> WireRequest:
        """The request as top-level fields, encoded tools and system, and a fragment a message.

        ``request.ephemeral`` becomes a second system message, in ``stable["ephemeral"]``.
        """
        dialect = self._dialect
        stream = bool(request.params.get("stream", self._options.stream))
        fields = {"model": _bare(request.model)}
        fields |= dialect.fields(request, stream, self._max_tokens_field)
        stable = dict(self._stable.of(request.system, request.tools))
        if request.ephemeral:
            stable["ephemeral"] = dialect.system(request.ephemeral)
        key = self._wire_key
        return WireRequest(
            provider=self.name,
            fields=fields,
            fragments=tuple([m.wire.get(key) or self._fragment(m) for m in request.messages]),
            stable=stable,
            model=request.model,
            session_id=request.session_id,
            ttl=CACHED,
        )

    async def send(self, wire: WireRequest, on_delta: DeltaSink | None) -> ModelResponse:
        """Send a rendered request and read its answer, streamed if its fields say so.

        Raises:
            ProviderError: see the README for which failure is which error.
        """
        sink = self._client.boundary.sink(on_delta)
        answer = self._dialect.answer(sink)
        model = _bare(wire.model) or str(wire.fields.get("model", ""))
        raw = await self._client.ask(self._dialect, wire, answer, model, sink)
        return self._client.boundary.admit(answer.response(wire.model, raw), model=model)

    async def aclose(self) -> None:
        """Close connections."""
        await self._client.aclose()

    def _fragment(self, message: Message) -> Fragment:
        made = self._dialect.fragment(message, self._reasoning_field)
        message.wire[self._wire_key] = made
        return made


class _StableParts:
    """The encoded tools and system text of recent sessions, by the text and the identity of each
    schema: new sessions mostly have those of earlier ones, and comparing schemas by value would
    cost more than encoding them.
    """

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        # The schemas are kept beside their parts, so that their ids are not given away again.
        self._kept: OrderedDict[
            tuple[object, ...], tuple[tuple[ToolSchema, ...], dict[str, bytes]]
        ] = OrderedDict()

    def of(self, system: str, tools: tuple[ToolSchema, ...]) -> dict[str, bytes]:
        """The encoded ``tools`` (``[]`` for none) and ``system`` (empty for none)."""
        key = (system, *map(id, tools))
        if key in self._kept:
            self._kept.move_to_end(key)
        else:
            parts = {
                "tools": self._dialect.tools(tools),
                "system": self._dialect.system(system) if system else b"",
            }
            self._kept[key] = (tools, parts)
            if len(self._kept) > STABLE_KEPT:
                self._kept.popitem(last=False)
        return self._kept[key][1]


def _bare(model: str) -> str:
    """The model's name without the provider's, which is before the first slash."""
    return model.partition("/")[2] or model
