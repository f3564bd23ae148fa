"""Responses of any provider are made complete, bounded and storable."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hookline_hookspecs import (
    ModelResponse,
    NetworkError,
    Plugin,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    Usage,
    tool,
)
from hookline_hookspecs.plugin import NoConfig

Make = Callable[..., Any]


class Keeps(Plugin[NoConfig]):
    """A tool that remembers its arguments."""

    seen: list[Any]

    @tool
    def keep(self, value: dict[str, Any]) -> str:
        """Keep a value."""
        self.__dict__.setdefault("seen", []).append(value)
        return "kept"


def answer(*blocks: Any, stop: Any = "end", usage: Usage | None = None) -> ModelResponse:
    return ModelResponse(blocks, stop, usage or Usage())


HALF = answer(TextBlock("half a sen"), ToolCall("a", "keep", {"value": {}}), stop="incomplete")


@pytest.fixture(autouse=True)
def _no_retry_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hookline.turn.loop.RETRY_PAUSES", (0.0, 0.0))


def test_truncated_response_is_requested_again(harness: Make) -> None:
    h = harness(Keeps, model=[HALF, "whole"])
    h.send("/whoami")
    shown: list[tuple[str, str]] = []
    h.runtime.bus.signals.connect(
        "delta", lambda delta, ctx=None: shown.append((delta.kind, delta.text))
    )
    sent = h.send("hello")
    assert (sent.stop, sent.text) == ("done", "whole")
    assert not sent.turn.tool_calls
    assert "".join(text for kind, text in shown if kind == "text") == "halfasenwhole"
    assert [kind for kind, _ in shown].count("restart") == 1
    assert [message.text for message in h.model.last.messages] == ["hello"]


def test_retry_after_truncated_response_does_not_repeat_tool_calls(harness: Make) -> None:
    h = harness(Keeps, model=[ToolCall("", "keep", {"value": {"a": 1}}), HALF, "whole"])
    sent = h.send("hello")
    assert sent.text == "whole"
    assert [result.ok for result in sent.turn.tool_calls] == [True]
    assert h.plugin(Keeps).seen == [{"a": 1}]


@pytest.mark.parametrize("stop", ["incomplete", "", None, "done"])
def test_truncated_response_error_keeps_partial_text(harness: Make, stop: Any) -> None:
    half = answer(*HALF.blocks, stop=stop)
    h = harness(Keeps, model=[half, half, half, "whole"])
    cut = h.send("hello")
    assert cut.stop == "error"
    assert cut.text.startswith("half a sen\n\n")
    assert "broke off" in cut.text
    assert not cut.turn.tool_calls
    assert h.send("go on").text == "whole"
    assert "half a sen" in h.model.last.messages[1].text


def test_stream_error_keeps_the_text_already_shown(harness: Make) -> None:
    error = NetworkError("The line went dead.")
    error.partial = "Once upon"
    sent = harness(model=[error]).send("tell me")
    assert sent.text == "Once upon\n\nThe line went dead."


def test_ask_model_fails_on_truncated_response(harness: Make) -> None:
    class Asks(Plugin[NoConfig]):
        """Asks the auxiliary model."""

        @tool
        async def ask(self) -> str:
            """Ask."""
            return await self.host.ask_model("summarise")

    h = harness(Asks, model=[ToolCall("", "ask", {}), HALF, "done"])
    [result] = h.send("hello").turn.tool_calls
    assert not result.ok
    assert "broke off" in result.text


def test_response_cut_at_token_limit_adds_notice(harness: Make) -> None:
    sent = harness(model=[answer(TextBlock("so far"), stop="length")]).send("hello")
    assert sent.text == "so far"
    assert any("cut" in notice.text for notice in sent.notices)


def test_response_with_too_many_tool_calls_runs_none(harness: Make) -> None:
    many = [ToolCall(f"c{n}", "keep", {"value": {}}) for n in range(5000)]
    sent = harness(Keeps, model=[answer(*many, stop="tools")]).send("hello")
    assert "5000 tool calls" in sent.text
    assert not sent.turn.tool_calls


def test_response_with_nul_and_surrogates_can_be_stored(harness: Make) -> None:
    value = {"\ud800k\0": ["\udfff", {"deep\0": 1}]}
    blocks = [
        ThinkingBlock("th\0", "\ud800"),
        TextBlock("te\0xt"),
        ToolCall("i\0", "keep", {"value": value}),
        ToolCall("i\0", "ke\0ep\ud800", {}),
    ]
    h = harness(Keeps, model=[answer(*blocks, stop="tools"), "done"])
    assert h.send("hello").text == "done"
    assert h.plugin(Keeps).seen == [{"\ufffdk\ufffd": ["\ufffd", {"deep\ufffd": 1}]}]
    sent = h.model.last.messages[1]
    text = json.dumps(sent.to_dict(), ensure_ascii=False)
    assert text.encode()
    assert "\\u0000" not in text
    assert len({call.id for call in sent.tool_calls}) == 2
    assert sent.blocks[0].signature is None


def test_deeply_nested_arguments_fail_the_call(harness: Make) -> None:
    value: dict[str, Any] = {}
    for _ in range(400):
        value = {"v": value}
    h = harness(Keeps, model=[ToolCall("", "keep", {"value": value}), "done"])
    [result] = h.send("hello").turn.tool_calls
    assert "nested too deep" in result.text


ODD: list[Any] = [-(10**30), 10**30, float("nan"), float("-inf"), "many", True, None]


@pytest.mark.parametrize("value", ODD, ids=repr)
def test_odd_usage_values_become_bounded_counts(harness: Make, value: Any) -> None:
    usage = Usage(input=value, cache_read=value, output=value, input_cost=value)
    h = harness(model=[answer(TextBlock("good day"), usage=usage), "again"])
    sent = h.send("hello")
    assert sent.text == "good day"
    assert 0 <= sent.usage.input <= 10**12
    assert 0 <= sent.usage.fresh <= 10**12
    assert "good day" not in h.send("/usage").text
    assert h.send("hello").text == "again"


def test_id_of_a_call_controls_no_screen(harness: Make) -> None:
    calls = [ToolCall("a\x1b[2K\r\u202eb", "keep", {"value": {}}), "done"]
    (result,) = harness(Keeps, model=calls).send("go").tool_calls
    assert result.call.id == "a\\x1b[2K\\r\\u202eb"
