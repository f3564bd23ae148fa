"""The page ``/inbox``: the open questions of all chats that a person may answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from hookline_hookspecs import Page, Route
from hookline_hookspecs.visible_text import on_one_line
from hookline_hookspecs.web import (
    N_,
    Problem,
    Redirect,
    RequestLike,
    SiteRoute,
    identity,
    query_params,
    read_form,
    t,
)

from .session_names import session_name

if TYPE_CHECKING:
    from starlette.responses import Response

    from .front import Front
    from .page import Pages

PATH = "/inbox"
FIELD_PREFIX = "value."
"""Before the names of a question's fields in the form."""
MAX_OUTCOME_CHARS = 500
"""Characters shown of what a plugin has done after an answer."""


class Inbox:
    """Shows the questions with their choices as buttons.

    Args:
        front: renders the page.
        pages: returns the parts of the page.
    """

    def __init__(self, front: Front, pages: Callable[[], Pages]) -> None:
        self._front, self._pages = front, pages

    def register(self, register: Callable[[Route], None]) -> None:
        """Register the page."""
        page = Page("Inbox", order=10)
        register(SiteRoute("GET", PATH, self.show, auth="person", page=page))
        register(SiteRoute("POST", PATH, self.answer, auth="person", log=N_("answered a question")))

    async def show(self, request: RequestLike) -> Response:
        """``GET /inbox``, or ``/inbox?show=ID`` with all of a question."""
        whole = query_params(request).get("show", "")
        questions = await self._pages().reader.inbox(identity(request), whole=whole)
        for one in questions:
            one["name"] = await session_name(self._pages().host, one["session"])
        return await self._front.html.inbox(request, questions)

    async def answer(self, request: RequestLike) -> Redirect:
        """``POST /inbox``: answer the question ``question`` of ``session`` with ``choice``."""
        who, form = identity(request), await read_form(request)
        choice = form.get("choice") or _values(form)
        answer = {"question": form.get("question", ""), "choice": choice}
        answer["shown"] = form.get("shown", "")
        try:
            outcome = await self._pages().sender.answer(who, form.get("session", ""), answer)
        except Problem as problem:
            return Redirect(PATH, problem.message, "bad")
        shown = on_one_line(outcome, MAX_OUTCOME_CHARS)
        return Redirect(
            PATH, shown or t("Answered: {choice}.", choice=on_one_line(choice, MAX_OUTCOME_CHARS))
        )


def _values(form: Mapping[str, str]) -> str:
    """The values of a question's fields, as the JSON object that answers it."""
    fields = [name for name in form if name.startswith(FIELD_PREFIX)]
    return json.dumps({name.removeprefix(FIELD_PREFIX): form[name] for name in fields})
