"""Calls and answers that a model nearly got right, and turns that end without an answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import calls
from hookline_hookspecs import (
    BadRequest,
    Delta,
    ModelResponse,
    NetworkError,
    Plugin,
    ProviderState,
    TextBlock,
    ThinkingBlock,
    Tool,
    hookimpl,
    tool,
)
from hookline_hookspecs.plugin import NoConfig

Make = Callable[..., Any]
SCHEMA = {
    "type": "object",
    "properties": {"at": {"type": "string"}, "deep": {"type": ["boolean", "null"]}},
}


class Tools(Plugin[NoConfig]):
    """A tool that reads, one that writes, and one with a schema of its own."""

    @tool(read_only=True)
    def read_file(self, path: str, lines: int = 10) -> str:
        """Read a file."""
        return f"{path} {lines}"

    @tool
    def write_file(self, path: str, text: str = "") -> str:
        """Write a file."""
        return f"wrote {path}"

    @hookimpl
    def register_tools(self, register: Any) -> None:
        """Offer the tool of another server."""
        register(Tool("fetch", "Fetch.", lambda **given: str(sorted(given)), parameters=SCHEMA))


def results(harness: Make, *requested: Any) -> list[str]:
    h = harness(Tools, model=[list(requested), "done"])
    return [result.text for result in h.send("go").tool_calls]


@pytest.mark.parametrize(
    "name",
    [
        "functions.read_file",
        "read_file<|channel|>commentary",
        " read_file\n",
        "Read_File",
        "read-file",
        "readFile",
        "functions.read_file:0",
        "read_file()",
        "`read_file`",
        "<|tool|>read_file",
        "<tool>read_file</tool>",
        "<|channel|>commentary to=functions.read_file",
        "to=functions.read_file",
        "assistant<|message|>read_file",
        "[read_file]",
        "read_file:",
        "tool_call: read_file",
        'read_file{"path": "a"}',
        "ｒｅａｄ＿ｆｉｌｅ",
    ],
)
def test_name_that_fits_exactly_one_tool_is_accepted(harness: Make, name: str) -> None:
    h = harness(Tools, model=[[calls(name, path="a")], "done"])
    outcome = h.send("go")
    assert [(r.call.name, r.text) for r in outcome.tool_calls] == [("read_file", "a 10")]
    assert h.model.requests[1].messages[1].tool_calls[0].name == "read_file"


@pytest.mark.parametrize(
    "name",
    ["read", "read_files", "remove_file", "file", "read_file or write_file", "<|tool|>", "_"],
)
def test_name_that_fits_no_tool_is_an_error(harness: Make, name: str) -> None:
    [text] = results(harness, calls(name, path="a"))
    assert text.startswith("Error: unknown tool")


@pytest.mark.parametrize(
    "wrapped",
    [
        {"arguments": {"path": "a", "lines": 2}},
        {"parameters": {"path": "a", "lines": 2}},
        {"input": {"path": "a", "lines": 2}},
        {"args": '{"path": "a", "lines": 2}'},
        {"name": "read_file", "arguments": {"path": "a", "lines": 2}},
        {"arguments": {"arguments": {"path": "a", "lines": 2}}},
    ],
)
def test_arguments_that_are_wrapped_once_more_are_unwrapped(harness: Make, wrapped: Any) -> None:
    h = harness(Tools, model=[[calls("read_file", **wrapped)], "done"])
    [result] = h.send("go").tool_calls
    assert (result.text, result.call.arguments) == ("a 2", {"path": "a", "lines": 2})
    [stored] = h.model.requests[1].messages[1].tool_calls
    assert stored.arguments == {"path": "a", "lines": 2}


@pytest.mark.parametrize(
    "odd",
    [{"arguments": {"file": "a"}}, {"input": "a"}, {"arguments": [1]}, {"data": {"path": "a"}}],
)
def test_arguments_that_are_only_like_wrapped_ones_are_an_error(harness: Make, odd: Any) -> None:
    [text] = results(harness, calls("read_file", **odd))
    assert text.startswith("Error: read_file ")


def test_arguments_wrapped_many_times_are_an_error_if_they_do_not_fit(harness: Make) -> None:
    deep: dict[str, Any] = {"file": "a"}
    for _ in range(20):
        deep = {"arguments": deep}
    [text] = results(harness, calls("read_file", **deep))
    assert text.startswith("Error: read_file ")


def test_argument_that_is_called_arguments_is_kept(harness: Make) -> None:
    class Runner(Plugin[NoConfig]):
        @tool(read_only=True)
        def start(self, arguments: dict[str, Any], path: str = "") -> str:
            """Start."""
            return str(arguments)

    h = harness(Runner, model=[[calls("start", arguments={"path": "a"})], "done"])
    assert h.send("go").tool_calls[0].text == "{'path': 'a'}"


def test_stop_without_a_word_says_that_a_filter_may_be_the_cause(harness: Make) -> None:
    h = harness(model=[ModelResponse((), "refusal"), ModelResponse((TextBlock("I"),), "refusal")])
    assert "content filter stopped it" in h.send("go").text
    outcome = h.send("again")
    assert outcome.text == "I"
    assert "content filter ended the answer here" in outcome.notices[0].text


def test_null_for_an_optional_argument_counts_as_left_out(harness: Make) -> None:
    texts = results(
        harness,
        calls("read_file", path="a", lines=None),
        calls("write_file", path="a", text=None),
        calls("fetch", at=None, deep=None),
        calls("read_file", path=None),
    )
    assert texts[:3] == ["a 10", "wrote a", "['deep']"]
    assert texts[3].startswith("Error: ")


def test_unknown_arguments_are_ignored_with_a_note_where_harmless(harness: Make) -> None:
    read, empty, write, typo = results(
        harness,
        calls("read_file", path="a", encoding="utf-8"),
        calls("write_file", path="a", mode=None),
        calls("write_file", path="a", dry_run=True),
        calls("read_file", path="a", line=3),
    )
    assert read.startswith("a 10\n\nNote: read_file has no argument 'encoding'")
    assert empty.startswith("wrote a\n\nNote: ")
    assert write.startswith("Error: write_file has no argument 'dry_run'")
    assert "did you mean 'lines'?" in typo


def test_unknown_argument_that_is_only_a_little_like_another_is_ignored(harness: Make) -> None:
    unlike, alias = results(
        harness, calls("read_file", path="a", listing="all"), calls("read_file", file_path="a")
    )
    assert unlike.startswith("a 10\n\nNote: read_file has no argument 'listing'")
    assert "did you mean 'path'?" in alias


def test_call_ids_are_unique_in_a_session(harness: Make) -> None:
    call = calls("read_file", path="a")
    step = [type(call)("read_file:0", call.name, call.arguments)]
    h = harness(Tools, model=[step, "one", step, "two"])
    h.send("go")
    h.send("again")
    ids = [one.id for m in h.model.requests[-1].messages for one in m.tool_calls]
    assert ids[0] == "read_file:0"
    assert len(set(ids)) == 2


@pytest.mark.parametrize(
    ("error", "stored"),
    [(BadRequest("the server refused it"), "(no answer)"), (None, "half a sentence")],
)
def test_error_is_shown_but_not_stored_as_the_models_words(
    harness: Make, error: Exception | None, stored: str
) -> None:
    if error is None:
        error = NetworkError("the connection failed")
        error.partial = "half a sentence"
    h = harness(model=[error, "fine"])
    assert str(error) in h.send("go").text
    h.send("and now?")
    said = [m.text for m in h.model.requests[-1].messages if m.role == "assistant"]
    assert said == [stored]


def test_thinking_that_used_up_the_limit_says_so(harness: Make) -> None:
    h = harness(model=[ModelResponse((ThinkingBlock("hm"),), "length")])
    assert "used its whole output limit for thinking" in h.send("go").text


def test_limit_of_model_calls_says_what_was_done_and_how_to_go_on(harness: Make) -> None:
    read = [calls("read_file", path="a")]
    h = harness(Tools, core={"max_iterations": 2}, model=[read, read, "So far so good."])
    outcome = h.send("go")
    assert outcome.stop == "max_iterations"
    assert outcome.text.startswith("So far so good.\n\nStopped at the limit of 2 model calls")
    assert "read_file ×2" in outcome.text
    assert "to go on" in outcome.text


def test_what_a_server_attached_is_stored_and_sent_back(harness: Make, tmp_path: Any) -> None:
    state = ProviderState("test/model", {"signature": "c2ln"})
    blocks = (ThinkingBlock("hm", state=state), TextBlock("yes", state=state))
    h = harness(home=tmp_path, model=[ModelResponse(blocks, "end")])
    h.send("go")
    h.close()
    again = harness(home=tmp_path, model=["fine"])
    again.send("and now?")
    assert [b.state for b in again.model.requests[0].messages[1].blocks] == [state, state]


def test_change_of_a_request_is_told_as_a_notice(harness: Make) -> None:
    def step(_request: Any) -> str:
        sink(Delta("a picture was left out", "notice"))
        return "fine"

    h = harness(model=[step])
    send = h.model.send

    async def sending(wire: Any, on_delta: Any) -> Any:
        nonlocal sink
        sink = on_delta
        return await send(wire, on_delta)

    sink: Any = None
    h.model.send = sending
    assert [notice.text for notice in h.send("go").notices] == ["a picture was left out"]
