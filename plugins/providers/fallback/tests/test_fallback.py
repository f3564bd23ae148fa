"""Which model answers when another fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import Clock, ScriptedModel, calls
from hookline_fallback import Fallback
from hookline_hookspecs import (
    AuthError,
    BadRequest,
    ContextTooLong,
    Delta,
    NetworkError,
    Overloaded,
    Plugin,
    ProviderError,
    RateLimited,
    hookimpl,
    tool,
)

Make = Callable[..., Any]
CORE = {"fallback_models": ["test/second", "test/third"]}


class Look(Plugin):
    """A tool, so that a turn asks the model twice."""

    @tool
    def look(self) -> str:
        """Look."""
        return "seen"


class Listener(Plugin):
    """Shows what is streamed."""

    @hookimpl
    def setup(self, host: Any) -> None:
        host.signals.connect("delta", lambda delta, ctx=None: None)


def asked(h: Any) -> list[str]:
    return [request.model for request in h.model.requests]


@pytest.mark.parametrize("error", [Overloaded("full"), RateLimited("slow"), NetworkError("away")])
def test_next_model_answers(harness: Make, error: ProviderError) -> None:
    h = harness(Fallback, model=[error, "from the second"], core=CORE)
    outcome = h.send("hello")
    assert outcome.text == "from the second"
    assert asked(h) == ["test/model", "test/second"]
    assert [notice.text for notice in outcome.notices] == [
        "test/second answers, because test/model is unavailable."
    ]


def test_only_the_last_model_is_tried_for_as_long_as_its_provider_is_set_to(harness: Make) -> None:
    h = harness(Fallback, model=[Overloaded("a"), NetworkError("b"), "third"], core=CORE)
    h.send("hello")
    assert [wire.retry_seconds for wire in h.model.requests] == [5.0, 5.0, None]


def test_fallbacks_are_tried_in_order(harness: Make) -> None:
    h = harness(Fallback, model=[Overloaded("a"), NetworkError("b"), "third"], core=CORE)
    assert h.send("hello").text == "third"
    assert asked(h) == ["test/model", "test/second", "test/third"]


def test_first_error_is_raised_if_none_answers(harness: Make) -> None:
    errors = [Overloaded("the first is full"), NetworkError("b"), BadRequest("c")]
    h = harness(Fallback, model=errors, core=CORE)
    outcome = h.send("hello")
    assert (outcome.stop, outcome.text) == ("error", "the first is full")


@pytest.mark.parametrize("error", [AuthError("key"), BadRequest("no"), ContextTooLong("long")])
def test_error_of_the_request_is_raised_at_once(harness: Make, error: ProviderError) -> None:
    h = harness(Fallback, model=[error], core=CORE)
    assert h.send("hello").text == str(error)
    assert asked(h) == ["test/model"]


def test_failed_model_is_skipped_for_a_while(harness: Make, clock: Clock) -> None:
    model = [Overloaded("full"), calls("look"), "done", "still", "back"]
    h = harness(Fallback, Look, model=model, core=CORE)
    assert h.send("hello").text == "done"
    h.send("again")
    assert asked(h) == ["test/model", "test/second", "test/second", "test/second"]
    clock.ahead(61)
    assert h.send("once more").text == "back"
    assert asked(h)[-1] == "test/model"


def test_retry_after_extends_the_pause(harness: Make, clock: Clock) -> None:
    limited = RateLimited("slow", retry_after=600)
    h = harness(Fallback, model=[limited, "a", "b"], core=CORE)
    h.send("hello")
    clock.ahead(300)
    h.send("again")
    assert asked(h)[-1] == "test/second"


class Broken(ScriptedModel):
    """Breaks off after its first words."""

    async def send(self, wire: Any, on_delta: Any) -> Any:
        self.requests.append(wire)
        if on_delta is not None:
            on_delta(Delta("I was about to"))
        raise NetworkError("the stream broke off")


def test_shown_text_prevents_a_fallback(harness: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hookline.turn.loop.RETRY_PAUSES", (0.0, 0.0))
    h = harness(Fallback, Listener, model=Broken(), core=CORE)
    outcome = h.send("hello")
    assert (outcome.stop, outcome.text) == ("error", "the stream broke off")
    # Core asks for the whole answer again; the model that broke off rests meanwhile.
    assert [wire.model for wire in h.model.requests] == ["test/model", "test/second", "test/third"]


def test_missing_fallback_models_change_nothing(harness: Make) -> None:
    h = harness(Fallback, model=[Overloaded("full")])
    assert h.send("hello").text == "full"
    assert asked(h) == ["test/model"]
