"""The provider: renders requests to bytes, sends them, reads the responses."""

from __future__ import annotations

import json
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
from .dialects import DIALECTS, NO_TOOLS, Dialect, OfferedTools
from .options import Options, max_tokens_field, reasoning_field

CACHE_TTL = 600.0
"""Seconds for which a prefix counts as cached; servers promise nothing exact."""
MAX_STABLE_PARTS = 64
"""Sessions whose encoded tools and system prompt are cached."""


class OpenAIProvider:
    """OpenAI, or a server that speaks its wire (see the README for the settings).

    Raises:
        ValueError: a setting is of the wrong type or out of range; the text names its key.
    """

    option_names = frozenset(Options.model_fields)
    cache_price = CachePrice(read=0.1, write=1.0, write_1h=1.0)
    """Writing is free and reading costs a tenth, as with OpenAI's and DeepSeek's current models."""

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
        """Return the request as fields, encoded tools and system prompt, and a fragment a message.

        ``request.ephemeral`` becomes a second system message, in ``stable["ephemeral"]``.
        """
        dialect = self._dialect
        stream = bool(request.params.get("stream", self._options.stream))
        fields = {"model": _model_name(request.model)}
        fields |= dialect.fields(request, stream, self._max_tokens_field)
        stable = dict(self._stable.get(request.system, request.tools))
        if request.ephemeral:
            stable["ephemeral"] = dialect.system(request.ephemeral)
        key = (*self._wire_key, request.model)
        return WireRequest(
            provider=self.name,
            fields=fields,
            fragments=tuple(
                [m.wire.get(key) or self._fragment(m, request.model) for m in request.messages]
            ),
            stable=stable,
            model=request.model,
            session_id=request.session_id,
            ttl=CACHE_TTL,
        )

    async def send(self, wire: WireRequest, on_delta: DeltaSink | None) -> ModelResponse:
        """Send a rendered request and read the response, streamed if its fields say so.

        Raises:
            ProviderError: the README lists which failure is which error.
        """
        sink = self._client.guard.sink(on_delta)
        tools = self._offered_tools(wire)
        model = _model_name(wire.model) or str(wire.fields.get("model", ""))
        reader, raw = await self._client.send(
            self._dialect, wire, lambda: self._dialect.reader(sink, tools), model, sink
        )
        response = self._client.guard.check(reader.response(wire.model, raw), model=model)
        self._client.ask_window(model)
        self._client.notice_cut(wire, model, response.usage, sink)
        return response

    def window(self, model: str) -> int | None:
        """Return the context window that the server has named, asked or in an error."""
        return self._client.window(_model_name(model))

    async def aclose(self) -> None:
        """Close connections."""
        await self._client.aclose()

    def _offered_tools(self, wire: WireRequest) -> OfferedTools:
        """Return the tools of a request, if calls that the model wrote as text count."""
        encoded = wire.stable.get("tools", NO_TOOLS)
        if self._options.text_tool_calls == "off" or encoded == NO_TOOLS:
            return None
        if wire.fields.get("tool_choice") == "none":
            return None
        functions = (tool.get("function", tool) for tool in json.loads(encoded))
        return {one["name"]: one["parameters"] for one in functions}

    def _fragment(self, message: Message, model: str) -> Fragment:
        fragment = self._dialect.fragment(message, model, self._reasoning_field)
        message.wire[*self._wire_key, model] = fragment
        return fragment


class _StableParts:
    """A cache of encoded tools and system prompts, by the text and the identity of each schema.

    New sessions mostly share those of earlier ones, and comparing schemas by value would cost more
    than encoding them.
    """

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        # The schemas are kept beside their bytes, so that no other object gets their ids.
        self._cache: OrderedDict[
            tuple[object, ...], tuple[tuple[ToolSchema, ...], dict[str, bytes]]
        ] = OrderedDict()

    def get(self, system: str, tools: tuple[ToolSchema, ...]) -> dict[str, bytes]:
        """Return the encoded ``tools`` (``[]`` for none) and ``system`` (empty for none)."""
        key = (system, *map(id, tools))
        if key in self._cache:
            self._cache.move_to_end(key)
        else:
            parts = {
                "tools": self._dialect.tools(tools),
                "system": self._dialect.system(system) if system else b"",
            }
            self._cache[key] = (tools, parts)
            if len(self._cache) > MAX_STABLE_PARTS:
                self._cache.popitem(last=False)
        return self._cache[key][1]


def _model_name(model: str) -> str:
    """Return the part of ``provider/model`` after the first slash."""
    return model.partition("/")[2] or model
