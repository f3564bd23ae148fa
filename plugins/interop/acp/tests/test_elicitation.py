"""Values that a program asks for are typed into the editor's form, if it has forms."""

from __future__ import annotations

import json
from typing import Any

from acp import schema
from hookline.testing import calls
from hookline_hookspecs import Context, Plugin, Question, tool
from hookline_hookspecs.forms import FormField

from .conftest import AcpHome, Editor

FIELDS = (FormField("day", "Which day"), FormField("count", "How many", "integer", maximum=9))


class Order(Plugin):
    """Asks for values."""

    @tool
    async def order(self, ctx: Context) -> str:
        """Order something."""
        question = Question("What do you order?", ("Decline",), kind="form", fields=FIELDS)
        return str(await ctx.ask(question))


class FormEditor(Editor):
    """An editor whose person types these answers, then declines."""

    def __init__(self, *typed: Any) -> None:
        super().__init__()
        self.typed = list(typed)
        self.shown: list[str] = []

    async def create_elicitation(self, message: str, mode: Any, **_: Any) -> Any:
        """Type an answer, or decline."""
        (name,) = mode.requested_schema.required
        self.shown.append(message)
        if not self.typed:
            return schema.DeclineElicitationResponse(action="decline")
        content = {name: self.typed.pop(0)}
        return schema.AcceptElicitationResponse(action="accept", content=content)


def ordered(home: AcpHome, editor: FormEditor, *, offered: bool = True) -> str:
    """The result of the tool."""

    async def work(editor: Editor) -> None:
        forms = schema.ElicitationCapabilities(form=schema.ElicitationFormCapabilities())
        able = schema.ClientCapabilities(elicitation=forms if offered else None)
        await editor.agent.initialize(protocol_version=1, client_capabilities=able)
        await editor.say(await editor.begin(home.workspace), "go")

    home.talk(work, Order, editor=editor, model=[calls("order"), "done"])
    return str(editor.call("order")[-1].content[-1].content.text).strip("`\n")


def test_values_are_typed_into_forms_until_they_are_valid(acp_home: AcpHome) -> None:
    editor = FormEditor("Monday", "many", "3")
    assert json.loads(ordered(acp_home, editor)) == {"day": "Monday", "count": 3}
    assert editor.shown == [
        "What do you order?\nWhich day",
        "How many",
        "How many\nInvalid answer: enter a whole number.",
    ]


def test_declined_or_invalid_form_gives_no_values(acp_home: AcpHome) -> None:
    assert ordered(acp_home, FormEditor("Monday")) == "None"
    assert ordered(acp_home, FormEditor(7)) == "None"


def test_editor_without_forms_is_not_asked_for_values(acp_home: AcpHome) -> None:
    editor = FormEditor("Monday", "3")
    assert ordered(acp_home, editor, offered=False) == "None"
    assert not editor.shown
