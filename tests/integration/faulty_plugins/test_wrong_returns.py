"""Plugins that return the wrong type: the value is ignored or denies, the plugin is named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import pytest
from hookline.testing import calls
from hookline_hookspecs import (
    HOOKS,
    Answer,
    Ask,
    ContextBlock,
    Deny,
    Message,
    ModelRequest,
    ModelResponse,
    Plugin,
    Reply,
    Section,
    ToolResult,
    hookimpl,
    tool,
)
from hookline_hookspecs.plugin import NoConfig
from support.healthy_plugin import (
    CALLED,
    call_every_hook,
    collect_failures,
    crossed_params,
    healthy_plugin_works,
    make_harness,
    plugin_doing,
)
from support.matrices import sampled

from .test_exceptions import assert_survived

Make = Callable[..., Any]


class Hostile:
    """Cannot be told from another thing, compared or printed."""

    @property
    def __class__(self) -> Any:
        raise ValueError("no class")

    def __repr__(self) -> str:
        raise ValueError("no words")

    def __eq__(self, other: object) -> bool:
        raise ValueError("no likeness")

    def __bool__(self) -> bool:
        raise ValueError("neither")

    __hash__ = None  # type: ignore[assignment]


class NeverReady:
    """Awaitable by its looks alone."""

    __await__ = 7


WRONG: dict[str, Callable[[], Any]] = {
    "a number": lambda: 7,
    "an object": lambda: object(),
    "a class": lambda: Deny,
    "an exception": lambda: ValueError("returned, not raised"),
    "a hostile object": lambda: Hostile(),
    "what cannot be awaited": lambda: NeverReady(),
    "a generator": lambda: (n for n in range(3)),
}
TELLING = [h for h in CALLED if HOOKS[h].kind == "observe" or h.startswith("register_")]
"""Hooks whose answer nobody looks at."""
ASKING = [h for h in CALLED if h not in TELLING]


@sampled(("hook", "wrong"), crossed_params(ASKING, WRONG))
def test_hook_return_of_the_wrong_type_is_named(
    harness: Make, caplog: Any, hook: str, wrong: str
) -> None:
    h = make_harness(harness, plugin_doing(hook, WRONG[wrong]))
    found = call_every_hook(h)
    assert_survived(found, hook)
    assert {(failure.plugin, failure.hook) for failure in found.failures} == {("bad", hook)}
    assert f"plugin bad failed in {hook}" in caplog.text


@sampled("hook", TELLING)
def test_unexpected_return_from_an_observer_hook_changes_nothing(harness: Make, hook: str) -> None:
    h = make_harness(harness, plugin_doing(hook, Hostile))
    assert_survived(call_every_hook(h), "")


def test_coroutine_with_a_wrong_result_is_named(harness: Make) -> None:
    async def soon() -> int:
        return 7

    found = call_every_hook(make_harness(harness, plugin_doing("pre_prompt", soon)))
    assert_survived(found, "pre_prompt")
    assert "int" in found.failures[0].reason


# The right type, and nonsense in its fields

WRONG_FIELDS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "a prompt without text": ("system_prompt", lambda e: Section("user", None)),  # type: ignore[arg-type]
    "a prompt in no slot": ("system_prompt", lambda e: Section([], "text")),  # type: ignore[arg-type]
    "context without a tag": ("pre_prompt", lambda e: ContextBlock(None, "text")),  # type: ignore[arg-type]
    "context of a number": ("pre_prompt", lambda e: ContextBlock("tag", 7)),  # type: ignore[arg-type]
    "context with odd items": ("pre_prompt", lambda e: ContextBlock("tag", items=(7,))),  # type: ignore[arg-type]
    "context among good": ("pre_prompt", lambda e: [ContextBlock("tag", 7)]),  # type: ignore[arg-type]
    "a request without messages": ("pre_model", lambda e: replace(e, messages=None)),
    "a request of texts": ("pre_model", lambda e: replace(e, messages=("text",))),
    "a request for no model": ("pre_model", lambda e: replace(e, model=None)),
    "a request without a system": ("pre_model", lambda e: replace(e, system=None)),
    "a request with odd tools": ("pre_model", lambda e: replace(e, tools=("look",))),
    "a wire of texts": ("pre_send", lambda e: replace(e, fragments=("text",))),
    "a wire without fields": ("pre_send", lambda e: replace(e, fields=None)),
    "a result without text": ("post_tool", lambda e: replace(e, text=None)),
    "a result with odd notes": ("post_tool", lambda e: replace(e, notes=7)),
    "a reply without text": ("pre_reply", lambda e: replace(e, text=None)),
    "a reply to no session": ("pre_reply", lambda e: replace(e, session=None)),
    "a reply with odd files": ("pre_reply", lambda e: replace(e, attachments=(7,))),
    "a message without text": ("on_message", lambda e: replace(e, text=None)),
    "a message from no channel": ("on_message", lambda e: replace(e, channel=None)),
    "an excerpt without text": ("pre_read", lambda e: replace(e, text=None)),
    "a lesson without text": ("pre_learn", lambda e: replace(e, text=b"bytes")),
    "a refusal without a reason": ("pre_tool", lambda e: Deny(None)),  # type: ignore[arg-type]
    "a question without a reason": ("pre_tool", lambda e: Ask(None)),  # type: ignore[arg-type]
    "an answer without text": ("pre_tool", lambda e: Answer(None)),  # type: ignore[arg-type]
}


def answering(hook: str, answer: Callable[[Any], Any]) -> type[Plugin[Any]]:
    """A plugin ``bad`` that answers ``hook`` with ``answer(event)``."""
    event = HOOKS[hook].event
    namespace: dict[str, Any] = {"answer": answer}
    exec(f"def implementation(self, {event}):\n    return answer({event})", namespace)
    marked = hookimpl(specname=hook)(namespace["implementation"])
    return type("Bad", (Plugin,), {"implementation": marked})


@pytest.mark.long
@pytest.mark.parametrize(("hook", "answer"), WRONG_FIELDS.values(), ids=WRONG_FIELDS)
def test_return_with_wrong_field_types_is_named(
    harness: Make, caplog: Any, hook: str, answer: Callable[[Any], Any]
) -> None:
    h = make_harness(harness, answering(hook, answer))
    found = call_every_hook(h)
    assert_survived(found, hook)
    assert {(failure.plugin, failure.hook) for failure in found.failures} == {("bad", hook)}
    assert f"plugin bad failed in {hook}" in caplog.text


def test_valid_contributions_beside_an_invalid_one_are_kept(harness: Make) -> None:
    good = ContextBlock("tag", "GOOD")
    h = make_harness(
        harness, plugin_doing("pre_prompt", lambda: [good, ContextBlock("tag", None), 7])
    )  # type: ignore[arg-type]
    call_every_hook(h)
    assert "GOOD" in h.model.requests[0].messages[0].context


MIDDLEWARE: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "a result without text": ("around_tool", lambda made: replace(made, text=None)),
    "a text in place of a result": ("around_tool", lambda made: made.text),
    "a response without blocks": ("around_model", lambda made: replace(made, blocks=None)),
    "a response of texts": ("around_model", lambda made: replace(made, blocks=("text",))),
    "a response without usage": ("around_model", lambda made: replace(made, usage=None)),
    "nothing in place of a response": ("around_model", lambda made: None),
}


@pytest.mark.parametrize(("hook", "answer"), MIDDLEWARE.values(), ids=MIDDLEWARE)
def test_middleware_with_a_wrong_result_is_survived(
    harness: Make, hook: str, answer: Callable[[Any], Any]
) -> None:
    def act() -> Any:
        async def middleware(event: Any, call_next: Any) -> Any:
            return answer(await call_next(event))

        return middleware

    h = make_harness(harness, plugin_doing(hook, act))
    assert_survived(call_every_hook(h), hook)


NO_MIDDLEWARE: dict[str, Callable[[], Any]] = {
    "takes no arguments": lambda: lambda: None,
    "is no coroutine": lambda: lambda event, call_next: None,
    "is a class": lambda: Deny,
}


@pytest.mark.parametrize("act", NO_MIDDLEWARE.values(), ids=NO_MIDDLEWARE)
@pytest.mark.parametrize("hook", ["around_tool", "around_model"])
def test_invalid_middleware_is_survived(harness: Make, hook: str, act: Callable[[], Any]) -> None:
    assert_survived(call_every_hook(make_harness(harness, plugin_doing(hook, act))), hook)


TOOL_RESULTS: dict[str, Callable[[Any], Any]] = {
    "a result without text": lambda ctx: ToolResult(None, None),  # type: ignore[arg-type]
    "a result with odd notes": lambda ctx: ToolResult(None, "text", notes=(7,)),  # type: ignore[arg-type]
    "a result with odd images": lambda ctx: ToolResult(None, "text", images=("x",)),  # type: ignore[arg-type]
    "a hostile object": lambda ctx: Hostile(),
    "a set": lambda ctx: {1, 2},
    "an endless list": lambda ctx: _endless(),
    "a class": lambda ctx: ToolResult,
}


def _endless() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


@pytest.mark.parametrize("value", TOOL_RESULTS.values(), ids=TOOL_RESULTS)
def test_tool_with_a_wrong_result_is_survived(harness: Make, value: Callable[[Any], Any]) -> None:
    class Bad(Plugin[NoConfig]):
        @tool
        def odd(self, ctx: Any) -> Any:
            """Answer oddly."""
            return value(ctx)

    h = make_harness(harness, Bad, model=[[calls("odd")], "well"])
    outcome = h.send("go")
    assert (outcome.stop, outcome.text) == ("done", "well")
    (result,) = outcome.tool_calls
    assert isinstance(result.text, str)
    assert healthy_plugin_works(h)


@pytest.mark.slow
def test_none_in_any_required_field_of_a_hook_result_is_refused(harness: Make) -> None:
    """The bus rejects ``None`` in every field that must not be None."""
    for kind, hook in ((ModelRequest, "pre_model"), (Reply, "pre_reply")):
        for name in [f.name for f in fields(kind) if f.default is not None]:
            h = make_harness(harness, answering(hook, lambda e, n=name: replace(e, **{n: None})))
            failures = collect_failures(h)
            assert h.send("go").text == "well", name
            assert {failure.plugin for failure in failures} == {"bad"}, name
            h.close()


def test_malformed_message_added_by_pre_model_is_survived(harness: Make) -> None:
    odd = Message("assistant", ("text",))  # type: ignore[arg-type]
    h = make_harness(
        harness, answering("pre_model", lambda e: replace(e, messages=(*e.messages, odd)))
    )
    outcome = h.send("go")
    assert outcome.stop in ("done", "error")
    assert healthy_plugin_works(h) or outcome.stop == "error"


def test_middleware_may_set_raw_on_a_response(harness: Make) -> None:
    def act() -> Any:
        async def middleware(event: Any, call_next: Any) -> ModelResponse:
            made: ModelResponse = await call_next(event)
            return replace(made, raw=object())

        return middleware

    assert_survived(call_every_hook(make_harness(harness, plugin_doing("around_model", act))), "")
