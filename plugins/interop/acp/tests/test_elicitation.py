"""Values that a program asks for are entered in the editor's form, if it has forms."""

from __future__ import annotations

import json
from typing import Any

import pytest
from acp import RequestError, schema
from hookline.testing import calls
from hookline_hookspecs import Context, Plugin, Question, tool
from hookline_hookspecs.forms import FormField

from .conftest import AcpHome, Editor

FIELDS = (
    FormField("day", "Which day", minimum=3, maximum=9),
    FormField("size", "Which size", options=(("4", "Small"), ("2", "Large"))),
    FormField("count", "How many", "integer", minimum=1, maximum=9, default=1),
    FormField("weight", "How heavy", "number", required=False),
    FormField("gift", "Wrap it", "boolean"),
    FormField("note", "Note\u202e", required=False),
)


class Order(Plugin):
    """Asks for values."""

    fields = FIELDS

    @tool
    async def order(self, ctx: Context) -> str:
        """Order something."""
        question = Question("What do you order?", ("Decline",), kind="form", fields=self.fields)
        return str(await ctx.ask(question))


class Day(Order):
    """Asks for one value."""

    name = "order"
    fields = (FormField("day", "Which day"),)


class FormEditor(Editor):
    """An editor whose person gives these answers: values, or what they do with the form."""

    def __init__(self, *answers: Any, answer: Any = "Allow once") -> None:
        super().__init__(answer)
        self.answers = list(answers)
        self.shown: list[str] = []
        self.forms: list[dict[str, Any]] = []

    async def create_elicitation(self, message: str, mode: Any, **_: Any) -> Any:
        """Fill in the form, or do something else."""
        self.shown.append(message)
        self.forms.append(mode.requested_schema.model_dump(by_alias=True, exclude_none=True))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if answer == "decline":
            return schema.DeclineElicitationResponse(action="decline")
        if answer == "cancel":
            return schema.CancelElicitationResponse(action="cancel")
        if isinstance(answer, str):
            return schema.OtherElicitationResponse(action=answer)
        return schema.AcceptElicitationResponse(action="accept", content=answer)


def ordered(home: AcpHome, editor: Editor, plugin: Any = Order, *, offered: Any = "form") -> str:
    """The result of the tool."""

    async def work(editor: Editor) -> None:
        forms = schema.ElicitationCapabilities(
            form=schema.ElicitationFormCapabilities() if offered == "form" else None,
            url=schema.ElicitationUrlCapabilities(),
        )
        able = schema.ClientCapabilities(elicitation=forms if offered else None)
        await editor.agent.initialize(protocol_version=1, client_capabilities=able)
        await editor.say(await editor.begin(home.workspace), "go")

    home.talk(work, plugin, editor=editor, model=[calls("order"), "done"])
    return str(editor.call("order")[-1].content[-1].content.text).strip("`\n")


def test_form_has_each_value_with_its_type_and_limits(acp_home: AcpHome) -> None:
    filled = {"day": "Monday", "size": "2", "weight": 0.5, "gift": False, "note": ""}
    editor = FormEditor(filled)
    assert json.loads(ordered(acp_home, editor)) == {
        "day": "Monday", "size": "2", "count": 1, "weight": 0.5, "gift": False,
    }  # fmt: skip
    assert editor.shown == ["What do you order?"]
    sizes = [{"const": "4", "title": "Small"}, {"const": "2", "title": "Large"}]
    assert editor.forms == [
        {
            "type": "object",
            "required": ["day", "size", "gift"],
            "properties": {
                "day": {"type": "string", "title": "Which day", "minLength": 3, "maxLength": 9},
                "size": {"type": "string", "title": "Which size", "oneOf": sizes},
                "count": {
                    "type": "integer", "title": "How many", "minimum": 1, "maximum": 9, "default": 1
                },
                "weight": {"type": "number", "title": "How heavy"},
                "gift": {"type": "boolean", "title": "Wrap it"},
                "note": {"type": "string", "title": "Note\\u202e"},
            },
        }
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"day": "Monday", "size": "5"}, "size: enter one of: Small, Large."),
        ({"day": "Monday", "size": "2", "count": 10}, "count: the maximum is 9."),
        ({"day": "Monday", "size": "2", "weight": "much"}, "weight: enter a number."),
        ({"day": "Mo", "size": "2"}, "day: enter at least 3 characters."),
        ({}, "day is missing: write `day: value`."),
        (None, "day is missing: write `day: value`."),
    ],
)
def test_invalid_values_are_asked_for_again(acp_home: AcpHome, wrong: Any, why: str) -> None:
    editor = FormEditor(wrong, {"day": "Monday", "size": "4", "gift": True})
    found = json.loads(ordered(acp_home, editor))
    assert (found["size"], found["gift"]) == ("4", True)
    assert editor.shown == ["What do you order?", f"What do you order?\nInvalid answer: {why}"]


@pytest.mark.parametrize(
    "answers",
    [["decline"], ["cancel"], ["_later"], [{"day": ["Monday"]}], [{}, {}, {}]],
    ids=["declined", "cancelled", "unknown action", "wrong type", "never valid"],
)
def test_form_that_is_not_filled_in_is_declined(acp_home: AcpHome, answers: list[Any]) -> None:
    editor = FormEditor(*answers)
    assert ordered(acp_home, editor) == "Decline"
    assert len(editor.shown) == len(answers)
    assert editor.asked == []


@pytest.mark.parametrize("offered", [None, "url"])
def test_editor_without_forms_is_asked_for_what_it_can_show(
    acp_home: AcpHome, offered: Any
) -> None:
    class Choices(Order):
        name = "order"
        fields = (FIELDS[1], FIELDS[4])

    editor = FormEditor(answer="choice-1")
    assert json.loads(ordered(acp_home, editor, Choices, offered=offered)) == {
        "size": "2", "gift": False,
    }  # fmt: skip
    assert [[one.name for one in options] for _, options in editor.asked] == [
        ["Small", "Large", "Decline"], ["Yes", "No", "Decline"],
    ]  # fmt: skip
    assert editor.shown == []


def test_text_cannot_be_entered_in_an_editor_without_forms(acp_home: AcpHome) -> None:
    assert ordered(acp_home, FormEditor(), Day, offered=None) == "None"


@pytest.mark.parametrize("error", [RequestError.method_not_found("elicitation/create"), OSError()])
def test_form_that_the_editor_cannot_show_is_asked_otherwise(
    acp_home: AcpHome, error: Exception
) -> None:
    class Choices(Order):
        name = "order"
        fields = (FIELDS[1],)

    editor = FormEditor(error, answer="choice-0")
    assert json.loads(ordered(acp_home, editor, Choices)) == {"size": "4"}


def test_form_stays_with_its_turn_when_the_turn_is_cancelled(acp_home: AcpHome) -> None:
    """A form that is answered after its turn was cancelled changes nothing."""
    editor = FormEditor()

    async def late(message: str, mode: Any, **_: Any) -> Any:
        editor.shown.append(message)
        await editor.agent.cancel(session_id=mode.session_id)
        return schema.AcceptElicitationResponse(action="accept", content={"day": "Monday"})

    editor.create_elicitation = late  # type: ignore[method-assign]

    async def work(editor: Editor) -> list[str]:
        forms = schema.ElicitationCapabilities(form=schema.ElicitationFormCapabilities())
        able = schema.ClientCapabilities(elicitation=forms)
        await editor.agent.initialize(protocol_version=1, client_capabilities=able)
        session = await editor.begin(acp_home.workspace)
        return [(await editor.say(session, word)).stop_reason for word in ("go", "again")]

    reasons, _ = acp_home.talk(work, Day, editor=editor, model=[calls("order"), "Still here."])
    assert reasons == ["cancelled", "end_turn"]
