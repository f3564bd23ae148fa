"""Wrong arguments of a call are told to the model in plain words, with what was given."""

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


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"flag": "maybe"}, "'flag' of measured: true or false is wanted, not \"maybe\""),
        ({"share": "half"}, "'share' of measured: a number is wanted, not \"half\""),
        ({"names": "Ann"}, "'names' of measured: a list is wanted, not \"Ann\""),
        ({"names": ["Ann", 1]}, "'names.1' of measured: text is wanted, not 1"),
        ({"options": []}, "'options' of measured: an object is wanted, not []"),
        ({"kind": "z"}, "'kind' of measured: 'x' or 'y' is wanted, not \"z\""),
        ({"steps": ["x"]}, "'steps.0' of measured: an object is wanted, not \"x\""),
        ({"steps": [{}]}, "measured needs the argument 'steps.0.text'"),
        (
            {"steps": [{"text": ""}]},
            "'steps.0.text' of measured: write what is to be done, got \"\"",
        ),
        ({"steps": [{"text": "x", "state": "shut"}]}, "'open' or 'done' is wanted, not \"shut\""),
        ({"most": 0}, "'most' of measured: 1 or more is wanted, not 0"),
        ({"most": 11}, "'most' of measured: 10 or less is wanted, not 11"),
        ({"above": 0}, "'above' of measured: a number above 0.0 is wanted, not 0"),
        ({"above": 5}, "'above' of measured: a number below 5.0 is wanted, not 5"),
        ({"title": "a"}, "'title' of measured: text of 2 or more characters is wanted, not \"a\""),
        ({"title": "abcdef"}, 'text of 5 or fewer characters is wanted, not "abcdef"'),
        ({"code": "b"}, "'code' of measured: text that matches ^a{2}$ is wanted, not \"b\""),
        ({"pair": []}, "'pair' of measured: 1 or more entries are wanted, not []"),
        ({"pair": [1, 2, 3]}, "'pair' of measured: 2 or fewer entries are wanted, not [1, 2, 3]"),
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
