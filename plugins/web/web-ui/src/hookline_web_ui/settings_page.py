"""The page ``/settings``: who a person is here, what they may do, and what they have chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Conversations, Page, Route
from hookline_hookspecs.people import RoleDescription, RolePermissions
from hookline_hookspecs.visible_text import on_one_line
from hookline_hookspecs.web import (
    N_,
    Action,
    Field,
    Form,
    Group,
    Identity,
    Link,
    Markdown,
    Part,
    Problem,
    Redirect,
    RequestLike,
    Row,
    SiteRoute,
    Table,
    Text,
    Timestamp,
    View,
    identity,
    plain_name,
    read_form,
    t,
)
from hookline_webkit import languages
from pydantic import ValidationError

from .api import is_offered
from .json_body import read_body
from .person_settings import PersonSettings

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from .front import Front
    from .page import Pages

PACKAGE = "hookline_web_ui"
PATH = "/settings"
LINKS_PATH = "/settings/links"
MAX_SHOWN_CHARS = 100
DEFAULT_MODEL = N_("Hookline's default")
THEMES = {"system": N_("Same as the device"), "light": N_("Light"), "dark": N_("Dark")}
ENTER = {"send": N_("Sends the message"), "newline": N_("Starts a new line")}
ENTER_HELP = N_(
    "On a computer. Shift+Enter always starts a new line, Ctrl+Enter always sends; while the agent "
    "works, it adds the message to the running turn."
)


class SettingsPage:
    """Shows and changes a person's own settings.

    Args:
        front: renders the page.
        pages: returns the parts of the page.
    """

    def __init__(self, front: Front, pages: Callable[[], Pages]) -> None:
        self._front, self._pages = front, pages

    def register(self, register: Callable[[Route], None]) -> None:
        """Register the page, and the route for changing a setting from a script."""
        page = Page("Your settings", "Settings", order=-1)
        register(SiteRoute("GET", PATH, self.show, auth="person", page=page))
        log = N_("changed their own settings")
        register(SiteRoute("POST", PATH, self.save, auth="person", log=log))
        register(SiteRoute("PATCH", "/api/me", self.change, "person", max_bytes=4096, log=log))

    async def show(self, request: RequestLike) -> Response:
        """``GET /settings``."""
        who = identity(request)
        settings = await self._pages().people_settings.read(who.name)
        return await self._page(request, who, settings)

    async def save(self, request: RequestLike) -> Response | Redirect:
        """``POST /settings``: the fields of the form."""
        who, form = identity(request), await read_form(request)
        before = await self._pages().people_settings.read(who.name)
        changed: dict[str, Any] = {
            name: form[name] for name in PersonSettings.model_fields if name in form
        }
        model = changed.get("model", "")
        if model not in ("", before.model, *await self._models(who)):
            shown = on_one_line(model, MAX_SHOWN_CHARS)
            text = t("{model} is not one of the models that you can choose.", model=shown)
            return await self._page(request, who, before, {"model": text})
        await self._store(who, changed)
        return Redirect(PATH, t("Saved."))

    async def change(self, request: Request) -> dict[str, Any]:
        """``PATCH /api/me``: some settings by name; returns all of them."""
        who, body = identity(request), await read_body(request)
        if not body or set(body) - set(PersonSettings.model_fields) or "model" in body:
            names = ", ".join(name for name in PersonSettings.model_fields if name != "model")
            raise Problem(400, "bad_request", f"Send an object with some of: {names}.")
        return (await self._store(who, body)).model_dump()

    async def _store(self, who: Identity, changed: dict[str, Any]) -> PersonSettings:
        try:
            return await self._pages().people_settings.change(who.name, changed)
        except ValidationError as error:
            first = error.errors()[0]
            text = f"{first['loc'][0]}: {first['msg']}."
            raise Problem(400, "bad_request", text) from None

    async def _models(self, who: Identity) -> list[str]:
        """The models that a person may choose; none if they may not use ``/model``."""
        commands = self._pages().host.services[Conversations].commands()
        if not any(one.name == "/model" and is_offered(who, one) for one in commands):
            return []
        return await self._pages().settings.choices("model")

    async def _page(
        self,
        request: RequestLike,
        who: Identity,
        settings: PersonSettings,
        errors: Mapping[str, str] | None = None,
    ) -> Response:
        chats = who.role != "auditor"
        models = await self._models(who) if chats else []
        form = Form(PATH, _fields(settings, models, errors or {}, chats=chats))
        parts: list[Part] = [*_role(who, self._description(who)), form]
        shared = self._pages().shared_links
        if links := await shared.of_person(who):
            parts.append(_shared_links(links, t("Shared links")))
        if links := await shared.of_others(who):
            parts.append(_shared_links(links, t("Links that others share")))
        text = t("They apply in every browser in which you are signed in.")
        view = View(t("Your settings"), parts, text, status=422 if errors else 200)
        return await self._front.html.settings(request, view)

    def _description(self, who: Identity) -> RoleDescription | None:
        permissions = self._pages().host.services.get(RolePermissions)
        return permissions.describe(who.role) if permissions is not None else None


def _role(who: Identity, role: RoleDescription | None) -> list[Part]:
    """Who a person is and what they may do, in words."""
    name = on_one_line(plain_name(who.person), MAX_SHOWN_CHARS)
    if role is None:
        return [Text(t("You are signed in as {name}.", name=name))]
    may = "\n".join(f"- {t(one)}" for one in role.may)
    text = t("You are signed in as {name}. Your role is {role}.", name=name, role=t(role.name))
    return [Text(text), Group(t("What you may do"), [Markdown(may)], open=False)]


def _shared_links(links: list[dict[str, Any]], title: str) -> Part:
    """The links by which people share chats, each with a button that ends it."""
    people = "owner" in links[0]
    columns = [t("Chat"), *([t("Person")] if people else []), t("Created"), t("Works until")]
    rows = [
        Row(
            [
                Link(one["title"] or t("Shared chat"), f"/chat/{one['session']}"),
                *([one["owner"]] if people else []),
                Timestamp(one["created"]),
                Timestamp(one["expires"]),
            ],
            [Action(t("Revoke"), LINKS_PATH, {"id": one["id"]}, style="danger")],
        )
        for one in links
    ]
    return Table(columns, rows, title)


def _fields(
    settings: PersonSettings, models: list[str], errors: Mapping[str, str], *, chats: bool
) -> list[Field]:
    fields = [_choice("theme", t("Colours"), settings.theme, THEMES)]
    names = {"": t("Same as the browser"), **languages.names(languages.languages_of(PACKAGE))}
    fields.append(
        Field(*("language", t("Language"), "choice", settings.language, tuple(names)), labels=names)
    )
    if not chats:
        return fields
    fields.append(
        _choice("enter", t("Enter in the message box"), settings.enter, ENTER, t(ENTER_HELP))
    )
    if models:
        options = [*dict.fromkeys(["", *models, settings.model])]
        help_ = t("A model that you choose in a chat applies to that chat only.")
        model = Field(
            "model", t("Model of new chats"), "choice", settings.model, options, help_,
            error=errors.get("model", ""), labels={"": t(DEFAULT_MODEL)},
        )  # fmt: skip
        fields.append(model)
    notify = t("Notify me of open questions")
    fields.append(Field("notify_questions", notify, "switch", settings.notify_questions))
    fields.append(
        Field("notify_turns", t("Notify me when a long turn ends"), "switch", settings.notify_turns)
    )
    return fields


def _choice(name: str, label: str, value: str, labels: Mapping[str, str], help_: str = "") -> Field:
    shown = {choice: t(text) for choice, text in labels.items()}
    return Field(name, label, "choice", value, tuple(labels), help_, labels=shown)
