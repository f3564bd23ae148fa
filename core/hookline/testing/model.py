"""A model that gives scripted answers and records its requests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from hookline_hookspecs import (
    CachePrice,
    Delta,
    DeltaSink,
    Fragment,
    Message,
    ModelRequest,
    ModelResponse,
    TextBlock,
    ToolCall,
    Usage,
    WireRequest,
)
from hookline_hookspecs.frozen import FrozenDict

Step: TypeAlias = (
    "str | ToolCall | list[Any] | StreamedText | ModelResponse | BaseException"
    " | Callable[[ModelRequest], Any]"
)
"""An answer: text, tool calls (with text among them), a response, an error, or a function."""


@dataclass(frozen=True, slots=True)
class StreamedText:
    """A text that arrives in pieces, with pauses in seconds between them."""

    parts: tuple[str | float, ...]

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(part for part in self.parts if isinstance(part, str))


def streamed(*parts: str | float) -> StreamedText:
    """Create an answer that is streamed: ``streamed("It will ", 0.5, "rain.")``.

    Numbers are pauses in seconds. If nobody reads the stream, the pauses pass all the same.
    """
    return StreamedText(parts)


def calls(name: str, /, **arguments: Any) -> ToolCall:
    """Create a tool call for a script; its id is set when it is played."""
    return ToolCall("", name, arguments)


class ScriptedModel:
    """Plays ``steps`` in order and records each request; raises ``AssertionError`` after the last.

    These attributes, with one entry per request, are for assertions:

    - ``requests``: the neutral ``ModelRequest``, as ``pre_model`` left it.
    - ``wires``: the ``WireRequest``, as ``pre_send`` left it; ``wires[n].stable["system"]``,
      ``wires[n].stable["tools"]`` and ``wires[n].fragments`` are bytes.
    - ``bodies``: the bytes of the whole request, one JSON object with the wire's fields and
      ``system``, ``tools`` and ``messages``. Equal requests are equal bytes.
    """

    name = "test"
    cache_price = CachePrice()

    def __init__(self, steps: Iterable[Step] = ()) -> None:
        self.steps: list[Step] = list(steps)
        self.requests: list[ModelRequest] = []
        self.wires: list[WireRequest] = []
        self._rendered: ModelRequest | None = None
        self._count = 0

    def render(self, request: ModelRequest) -> WireRequest:
        """Encode each message as one JSON fragment; equal messages give equal bytes."""
        self._rendered = request
        return WireRequest(
            provider=self.name,
            fields={"model": request.model, **request.params},
            fragments=tuple(_fragment(message) for message in request.messages),
            stable=_Rendered(request),
            model=request.model,
            session_id=request.session_id,
        )

    async def send(self, wire: WireRequest, on_delta: DeltaSink | None) -> ModelResponse:
        """Record the request and play the next step."""
        # Several sessions may render requests before the first one is sent.
        stable = wire.stable
        request = stable.request if isinstance(stable, _Rendered) else self._rendered
        assert request is not None
        self.requests.append(request)
        self.wires.append(wire)
        if not self.steps:
            raise AssertionError("the scripted model has no answer left; add another step")
        step = self.steps.pop(0)
        while callable(step) and not isinstance(step, type):
            step = step(request)
        if isinstance(step, BaseException):
            raise step
        if isinstance(step, StreamedText):
            return await self._stream(step, on_delta)
        response = step if isinstance(step, ModelResponse) else self._response(step)
        if on_delta is not None:
            for word in response.text.split(" "):
                on_delta(Delta(word))
        return response

    async def _stream(self, step: StreamedText, on_delta: DeltaSink | None) -> ModelResponse:
        for part in step.parts:
            if not isinstance(part, str):
                await asyncio.sleep(part)
            elif on_delta is not None:
                on_delta(Delta(part))
        return self._response(step.text)

    def _response(self, step: Any) -> ModelResponse:
        blocks: list[Any] = []
        for item in step if isinstance(step, list) else [step]:
            if isinstance(item, ToolCall) and not item.id:
                self._count += 1
                item = ToolCall(f"call_{self._count}", item.name, item.arguments, item.error)
            blocks.append(TextBlock(item) if isinstance(item, str) else item)
        stop = "tools" if any(isinstance(b, ToolCall) for b in blocks) else "end"
        usage = Usage(input=10, output=5)
        return ModelResponse(tuple(blocks), stop, usage)  # type: ignore[arg-type]

    async def aclose(self) -> None:
        """Do nothing."""

    @property
    def last(self) -> ModelRequest:
        """The latest request."""
        return self.requests[-1]

    @property
    def bodies(self) -> list[bytes]:
        """Each request as the bytes of one JSON object; see the class."""
        return [_body(wire) for wire in self.wires]


class _Rendered(FrozenDict):
    """The encoded stable parts of a request, and the request itself."""

    def __init__(self, request: ModelRequest) -> None:
        super().__init__(
            system=_encoded(request.system), tools=_encoded([asdict(t) for t in request.tools])
        )
        self.request = request


def _encoded(data: Any, *, sort_keys: bool = False) -> bytes:
    text = json.dumps(data, ensure_ascii=False, sort_keys=sort_keys)
    return text.encode("utf-8", "surrogatepass")


def _body(wire: WireRequest) -> bytes:
    fields = _encoded(dict(wire.fields))[1:-1]
    stable = [b'"%s": %s' % (name.encode(), part) for name, part in wire.stable.items()]
    messages = b'"messages": [%s]' % b", ".join(wire.fragments)
    return b"{%s}" % b", ".join([part for part in (fields, *stable, messages) if part])


def _fragment(message: Message) -> Fragment:
    known = message.wire.get("test")
    if known is None:
        data = {**message.to_dict(), "context": message.context}
        data.pop("carried", None)
        for block in data["blocks"]:
            block.pop("origins", None)
        known = message.wire["test"] = Fragment(
            _encoded(data, sort_keys=True), role=message.speaker
        )
    assert isinstance(known, Fragment)
    return known
