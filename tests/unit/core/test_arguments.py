"""Wrong tool arguments: the error tells the model what is expected and what it gave."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from hookline.testing import Harness
from hookline_hookspecs import Plugin, Tool, ToolCall, hookimpl
from hookline_hookspecs.plugin import NoConfig
from pydantic import BaseModel, Field, field_validator

Make = Callable[..., Harness]


class Step(BaseModel):
    """Part of an argument."""

    text: str
    state: Literal["open", "done"] = "open"

    @field_validator("text")
    @classmethod
    def _says_something(cls, text: str) -> str:
        if not text:
            raise ValueError("write what is to be done")
        return text


def measured(
    flag: bool = False,
    share: float = 0.5,
    names: list[str] | None = None,
    options: dict[str, str] | None = None,
    kind: Literal["x", "y"] = "x",
    steps: list[Step] | None = None,
    most: Annotated[int, Field(ge=1, le=10)] = 1,
    above: Annotated[float, Field(gt=0, lt=5)] = 1,
    title: Annotated[str, Field(min_length=2, max_length=5)] = "abc",
    code: Annotated[str, Field(pattern="^a{2}$")] = "aa",
    pair: Annotated[list[int], Field(min_length=1, max_length=2)] = [1],  # noqa: B006
) -> str:
    """Measure."""
    return "measured"


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"flag": "maybe"}, "'flag' of measured: expected true or false, got \"maybe\""),
        ({"share": "half"}, "'share' of measured: expected a number, got \"half\""),
        ({"names": "Ann"}, "'names' of measured: expected a list, got \"Ann\""),
        ({"names": ["Ann", 1]}, "'names.1' of measured: expected a string, got 1"),
        ({"options": []}, "'options' of measured: expected an object, got []"),
        ({"kind": "z"}, "'kind' of measured: expected 'x' or 'y', got \"z\""),
        ({"steps": ["x"]}, "'steps.0' of measured: expected an object, got \"x\""),
        ({"steps": [{}]}, "measured needs the argument 'steps.0.text'"),
        (
            {"steps": [{"text": ""}]},
            "'steps.0.text' of measured: write what is to be done, got \"\"",
        ),
        ({"steps": [{"text": "x", "state": "shut"}]}, "expected 'open' or 'done', got \"shut\""),
        ({"most": 0}, "'most' of measured: expected 1 or more, got 0"),
        ({"most": 11}, "'most' of measured: expected 10 or less, got 11"),
        ({"above": 0}, "'above' of measured: expected a number above 0.0, got 0"),
        ({"above": 5}, "'above' of measured: expected a number below 5.0, got 5"),
        (
            {"title": "a"},
            "'title' of measured: expected a string of 2 or more characters, got \"a\"",
        ),
        ({"title": "abcdef"}, 'expected a string of 5 or fewer characters, got "abcdef"'),
        ({"code": "b"}, "'code' of measured: expected a string that matches ^a{2}$, got \"b\""),
        ({"pair": []}, "'pair' of measured: expected 1 or more entries, got []"),
        ({"pair": [1, 2, 3]}, "'pair' of measured: expected 2 or fewer entries, got [1, 2, 3]"),
    ],
)
def test_argument_error_says_what_is_expected(
    harness: Make, arguments: dict[str, Any], told: str
) -> None:
    class Measures(Plugin[NoConfig]):
        @hookimpl
        def register_tools(self, register: Callable[[Tool], None]) -> None:
            register(Tool.from_function(measured))

    h = harness(Measures, model=[[ToolCall("c", "measured", arguments)], "ok"])
    (result,) = h.send("go").tool_calls
    assert result.text.startswith("Error: ")
    assert told in result.text
    assert "should" not in result.text
