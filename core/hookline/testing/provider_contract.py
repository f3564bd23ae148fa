"""``ProviderContract``: the tests that every model provider must pass, as a class to subclass."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import entry_points
from typing import Any, ClassVar, NoReturn, Protocol

import pytest
from hookline_hookspecs import (
    AuthError,
    BadRequest,
    Delta,
    Message,
    ModelRequest,
    ModelResponse,
    NetworkError,
    Overloaded,
    Provider,
    ProviderError,
    ProviderSettings,
    RateLimited,
    TextBlock,
    ToolCall,
    ToolResultBlock,
    ToolSchema,
    WireRequest,
)

from .heavy_imports import NotImportable, heavy_imports
from .resource_leaks import ResourceSnapshot

GROUP = "hookline.providers"
ANSWER = "It is sunny in Ghent, and it will stay so until the evening.\n\nTake no umbrella."
"""What the fake's model answers: long enough for several pieces."""
WEATHER = ToolSchema(
    "weather",
    "Say the weather.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
STATUSES: dict[int, type[ProviderError]] = {
    400: BadRequest,
    401: AuthError,
    429: RateLimited,
    503: Overloaded,
}
"""The error that each HTTP status becomes."""
PARAMS: dict[str, Any] = {"max_tokens": 7351, "temperature": 0.625}
"""Parameters with values that stand in no request by accident."""


class ProviderServer(Protocol):
    """A fake of the model's API in the test's process.

    It must refuse what the real API refuses; otherwise the contract proves little. Each method sets
    what the next request gets; requests beyond that get an empty answer.
    """

    @property
    def base_url(self) -> str:
        """What the provider is given as its ``base_url``."""

    def answer(self, text: str) -> None:
        """Answer with a text, in several pieces if the request asks for a stream."""

    def call(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Answer with one tool call."""

    def fail(self, status: int) -> None:
        """Refuse with an HTTP status of 400 or more, as the real API words it."""

    def close(self) -> None:
        """Stop the fake."""


class ProviderContract:
    """The contract of every provider. Subclass it in a test file with two lines::

        class TestOracleContract(ProviderContract):
            provider = Oracle
            server = FakeOracle

    Without a ``server``, only what ``render`` returns is tested.
    """

    provider: ClassVar[type[Any]]
    """The driver, as its entry point names it: ``Driver(settings)`` returns a :class:`Provider`."""
    server: ClassVar[Callable[[], ProviderServer] | None] = None
    """Creates the fake of its API."""
    model: ClassVar[str] = "test"
    """The model that is asked, without the provider's name."""
    options: ClassVar[Mapping[str, Any]] = {}
    """Its own keys of ``providers.NAME``."""
    unsupported: ClassVar[frozenset[str]] = frozenset()
    """Parameters that its API does not have: ``max_tokens``, ``temperature``."""
    heavy_allowed: ClassVar[Sequence[str]] = ()
    """Heavy packages that its module may import; say why in a comment."""

    # The class

    def test_its_import_brings_no_heavy_module(self) -> None:
        """A model that is not asked must not cost the import time of an SDK."""
        module = self.provider.__module__
        if module == type(self).__module__:
            pytest.skip("the provider is defined in a test file, which no user imports")
        try:
            found = heavy_imports(module, frozenset(self.heavy_allowed))
        except NotImportable:
            pytest.skip(f"{module} can only be imported in this test run")
        if found:
            lines = [f"{one.file}, line {one.line}, imports {one.package}" for one in found]
            _fail(f"importing {module}: {'; '.join(lines)}. Import it at the first request.")

    def test_its_entry_point_leads_to_it(self) -> None:
        """``model: NAME/…`` finds this class."""
        package = self.provider.__module__.partition(".")[0]
        own = [one for one in entry_points(group=GROUP) if one.module.partition(".")[0] == package]
        if not own and package.startswith("test_"):
            pytest.skip("the provider is defined in a test file, which is not installed")
        if not any(one.load() is self.provider for one in own):
            found = ", ".join(f"{one.name} = {one.value}" for one in own) or "none"
            _fail(
                f"no entry point of {package} in the group {GROUP} leads to it; found: {found}. "
                "Correct pyproject.toml and install again."
            )

    # What it sends

    def test_request_carries_the_prompt(self) -> None:
        """The system prompt, the person's words and the tools are in the request."""
        wire = self._render(_request(system="SYSTEM-TEXT", tools=(WEATHER,)))
        self._expect(wire, "SYSTEM-TEXT", "the system prompt")
        self._expect(wire, "PERSON-TEXT", "the person's message")
        for part in ("weather", "Say the weather.", "city"):
            self._expect(wire, part, "the tool schemas (request.tools)")

    def test_request_carries_the_context(self) -> None:
        """What plugins add with ``pre_prompt`` follows the person's words."""
        request = _request(messages=(Message.user("PERSON-TEXT", context="CONTEXT-TEXT"),))
        self._expect(
            self._render(request),
            "CONTEXT-TEXT",
            "the turn's context (message.context, which message.to_dict() leaves out)",
        )

    def test_request_carries_ephemeral_text(self) -> None:
        """System text for one call is sent."""
        wire = self._render(_request(ephemeral="EPHEMERAL-TEXT"))
        self._expect(wire, "EPHEMERAL-TEXT", "the text for this call (request.ephemeral)")

    @pytest.mark.parametrize("name", [*PARAMS])
    def test_request_carries_parameters(self, name: str) -> None:
        """``max_tokens`` and ``temperature`` reach the model."""
        if name in self.unsupported:
            pytest.skip(f"its API has no {name}")
        wire = self._render(_request(params={name: PARAMS[name]}))
        self._expect(wire, str(PARAMS[name]), f"request.params[{name!r}]")

    def test_request_can_forbid_tools(self) -> None:
        """``tool_choice: none`` keeps the tools, for the cache, and says not to call them."""
        free = self._render(_request(tools=(WEATHER,)))
        forbidden = self._render(_request(tools=(WEATHER,), params={"tool_choice": "none"}))
        if _bytes(free) == _bytes(forbidden):
            _fail("request.params['tool_choice'] changes nothing; send it to the API.")
        if free.stable != forbidden.stable:
            _fail("request.params['tool_choice'] changes `stable`; put it into `fields`.")

    def test_request_carries_calls_and_results(self) -> None:
        """The history has the model's tool calls, with ids, and their results."""
        wire = self._render(_request(messages=_history()))
        for part in ("call-7", "Ghent", "RESULT-TEXT", "ANSWER-TEXT"):
            self._expect(wire, part, "a tool call, its result or an answer of the history")

    def test_equal_messages_give_equal_bytes(self) -> None:
        """A request repeats the previous one, or the provider's cache is missed."""
        history = _history()
        first = self._render(_request(messages=history[:1], tools=(WEATHER,)))
        again = self._render(_request(messages=_history(reverse=True), tools=(WEATHER,)))
        if again.stable != first.stable:
            _fail("the system prompt or the tools of an equal request differ; sort what you encode")
        if again.fragments[: len(first.fragments)] != first.fragments:
            _fail("a message that was sent before differs in a longer history.")
        if self._render(_request(messages=history, tools=(WEATHER,))).fragments != again.fragments:
            _fail("equal messages differ; encode JSON with sort_keys=True.")

    def test_odd_text_can_be_sent(self) -> None:
        """Undecodable file names have lone surrogates, which UTF-8 cannot encode."""
        for text in ("a\udcff", "\0", "", " ", "x" * 1_000_000):
            try:
                self._render(_request(messages=(Message.user(text),)))
            except Exception as error:
                _fail(f"a message {text[:9]!r} cannot be rendered: {type(error).__name__}: {error}")

    # What it receives

    def test_answer_is_streamed(self, api: ProviderServer) -> None:
        """The pieces that are shown add up to the answer."""
        api.answer(ANSWER)
        deltas: list[Delta] = []
        response = self._ask(api, _request(params={"stream": True}), deltas)
        shown = "".join(delta.text for delta in deltas if delta.kind == "text")
        assert response.text == ANSWER
        assert shown == ANSWER
        assert response.stop == "end"
        if sum(delta.kind == "text" for delta in deltas) < 2:
            _fail("the answer was shown in one piece; call `on_delta` for each piece as it arrives")

    def test_answer_without_a_stream(self, api: ProviderServer) -> None:
        """Without ``on_delta`` the answer is the same."""
        api.answer(ANSWER)
        response = self._ask(api, _request())
        assert (response.text, response.stop) == (ANSWER, "end")

    def test_tokens_are_counted(self, api: ProviderServer) -> None:
        """``Usage.input`` counts all that was sent, ``output`` all that was received."""
        api.answer(ANSWER)
        usage = self._ask(api, _request(params={"stream": True}), []).usage
        if not (usage.input > 0 and usage.output > 0):
            _fail(f"the response has {usage}; read the tokens that the API reports.")
        assert usage.cache_read + usage.cache_write <= usage.input

    @pytest.mark.parametrize("stream", [True, False])
    def test_tool_call_is_returned(self, api: ProviderServer, stream: bool) -> None:
        """A tool call has its name, its arguments and an id, and the stop reason ``tools``."""
        api.call("weather", {"city": "Ghent"})
        request = _request(tools=(WEATHER,), params={"stream": stream})
        response = self._ask(api, request, [] if stream else None)
        (call,) = [block for block in response.blocks if isinstance(block, ToolCall)]
        assert (call.name, call.arguments) == ("weather", {"city": "Ghent"})
        assert call.id
        assert response.stop == "tools"

    @pytest.mark.parametrize("status", [*STATUSES])
    def test_refusal_is_a_typed_error(self, api: ProviderServer, status: int) -> None:
        """Core and plugins act on the type of an error; the text is for the person."""
        for _ in range(5):
            api.fail(status)
        with pytest.raises(ProviderError) as caught:
            self._ask(api, _request(), retry_seconds=0)
        if type(caught.value) is not STATUSES[status]:
            _fail(f"status {status} became {type(caught.value).__name__}: raise {STATUSES[status]}")
        assert str(caught.value)

    def test_temporary_failure_is_tried_again(self, api: ProviderServer) -> None:
        """A busy server costs a wait, not the turn."""
        api.fail(503)
        api.answer(ANSWER)
        assert self._ask(api, _request(), retry_seconds=30).text == ANSWER

    def test_unreachable_server_is_a_network_error(self) -> None:
        """The text says what could not be reached."""
        if type(self).server is None:
            pytest.skip("the contract has no `server`")
        with socket.socket() as taken:  # bound, but nobody listens
            taken.bind(("127.0.0.1", 0))
            address = f"http://127.0.0.1:{taken.getsockname()[1]}"
            with pytest.raises(NetworkError) as caught:
                asyncio.run(self._send(address, _request(), None, 0))
        assert str(caught.value)

    def test_closing_leaves_nothing(self, api: ProviderServer) -> None:
        """``aclose`` ends connections, tasks and threads."""
        api.answer("first")
        self._ask(api, _request())  # the first request imports the SDK
        api.answer("second")
        before = ResourceSnapshot.now()
        self._ask(api, _request())
        if left := [one for one in before.leaked() if not one.startswith("open file socket")]:
            _fail(f"it leaves behind: {', '.join(left)}. End it in `aclose`.")

    # Helpers

    @pytest.fixture
    def api(self) -> Iterator[ProviderServer]:
        """The fake of the API."""
        server = type(self).server
        if server is None:
            pytest.skip("the contract has no `server`")
        made = server()
        yield made
        made.close()

    def _settings(self, base_url: str | None = None) -> ProviderSettings:
        return ProviderSettings("contract", base_url, "test-key", options=self.options)

    def _render(self, request: ModelRequest) -> WireRequest:
        made: Provider = self.provider(self._settings("http://127.0.0.1:9"))
        return made.render(replace(request, model=f"contract/{self.model}"))

    def _ask(
        self,
        api: ProviderServer,
        request: ModelRequest,
        deltas: list[Delta] | None = None,
        retry_seconds: float = 0,
    ) -> ModelResponse:
        sink = None if deltas is None else deltas.append
        return asyncio.run(self._send(api.base_url, request, sink, retry_seconds))

    async def _send(
        self,
        base_url: str,
        request: ModelRequest,
        sink: Callable[[Delta], None] | None,
        retry_seconds: float,
    ) -> ModelResponse:
        made: Provider = self.provider(self._settings(base_url))
        try:
            wire = made.render(replace(request, model=f"contract/{self.model}"))
            return await made.send(replace(wire, retry_seconds=retry_seconds), sink)
        finally:
            await made.aclose()

    @staticmethod
    def _expect(wire: WireRequest, text: str, what: str) -> None:
        if text.encode() not in _bytes(wire):
            _fail(f"{what} is not in the rendered request: {text!r} is missing.")


def _request(**fields: Any) -> ModelRequest:
    given = {"messages": (Message.user("PERSON-TEXT"),), "system": "", "tools": ()} | fields
    return ModelRequest(model="", session_id="session", **given)


def _history(*, reverse: bool = False) -> tuple[Message, ...]:
    """A question, a tool call, its result and the answer; ``reverse`` is the order of keys."""
    arguments = {"city": "Ghent", "days": 2}
    call = ToolCall("call-7", "weather", dict(sorted(arguments.items(), reverse=reverse)))
    return (
        Message.user("PERSON-TEXT"),
        Message("assistant", (TextBlock("I shall look."), call)),
        Message("user", (ToolResultBlock("call-7", "RESULT-TEXT", True),)),
        Message.assistant("ANSWER-TEXT"),
        Message.user("And tomorrow?"),
    )


def _bytes(wire: WireRequest) -> bytes:
    """Everything that the request sends."""
    fields = json.dumps(dict(wire.fields), default=dict, ensure_ascii=False)
    return b"\n".join([fields.encode("utf-8", "replace"), *wire.stable.values(), *wire.fragments])


def _fail(sentence: str) -> NoReturn:
    pytest.fail(sentence, pytrace=False)
