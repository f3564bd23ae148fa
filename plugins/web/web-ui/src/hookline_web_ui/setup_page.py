"""The page ``/setup``: an operator chooses the provider, its key and the model, without a terminal.

The key goes from the form to ``.env``, in memory until the model is stored; no page shows it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hookline_hookspecs import HooklineError, Host, Inspection, Page, Route
from hookline_hookspecs.model_setup import (
    ModelAnswers,
    ModelList,
    ModelSetup,
    ModelTrial,
    OfferedProvider,
)
from hookline_hookspecs.visible_text import on_one_line
from hookline_hookspecs.web import (
    N_,
    Action,
    Actions,
    Badge,
    Field,
    Form,
    Link,
    Part,
    Problem,
    Redirect,
    RequestLike,
    Row,
    SiteRoute,
    Table,
    Text,
    View,
    identity,
    query_params,
    read_form,
    t,
    translate,
)

PATH = "/setup"
MODEL_PATH = "/setup/model"
ANSWERS_SECONDS = 1800.0
"""Seconds for which an unfinished choice, with its key, is kept in memory."""
MAX_ANSWERS = 100
MAX_ANSWER_CHARS = 500
"""Characters shown of a model's answer."""
LOG = N_("set up the model")


@dataclass(frozen=True, slots=True)
class _Pending:
    """An unfinished choice of a browser."""

    answers: ModelAnswers
    since: float


class SetupPage:
    """Leads through provider, key, model and a test request."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._pending: OrderedDict[str, _Pending] = OrderedDict()

    def register(self, register: Callable[[Route], None]) -> None:
        """Register the pages and their forms, for operators, if a plugin sets up models."""
        if self._host.services.get(ModelSetup) is None:
            return
        page = Page("Model", "Settings", order=0)
        register(SiteRoute("GET", PATH, self.show, page=page))
        register(SiteRoute("POST", PATH, self.choose, max_bytes=20_000, rate=30, log=LOG))
        register(SiteRoute("GET", MODEL_PATH, self.show_models))
        register(
            SiteRoute("POST", MODEL_PATH, self.choose_model, max_bytes=20_000, rate=30, log=LOG)
        )

    # The provider and its key

    async def show(self, request: RequestLike) -> View:
        """``GET /setup``: the providers; with ``?provider=NAME``, its address and key."""
        name = query_params(request).get("provider", "")
        providers = await self._setup.providers()
        if name:
            return _key_view(_provider(providers, name))
        return _providers_view(providers, self._model())

    async def choose(self, request: RequestLike) -> View | Redirect:
        """``POST /setup``: ``provider address key``, which are kept in memory."""
        form = await read_form(request)
        provider = _provider(await self._setup.providers(), form.get("provider", ""))
        address = form.get("address", "").strip()
        answers = ModelAnswers(provider.name, address, form.get("key", "").strip())
        problem = self._setup.problem(answers)
        if not problem and provider.key and not (answers.key or provider.key_is_set):
            problem = "" if provider.asks_address else t("Enter a key.")
        moved = provider.asks_address and address not in ("", provider.address)
        if not problem and moved and provider.key_is_set and not answers.key:
            # Another server must not get the stored key.
            problem = t("Enter the key of this server. If it needs none, enter a hyphen.")
        if problem:
            return _key_view(provider, problem, address)
        self._keep(identity(request).device, answers)
        return Redirect(MODEL_PATH)

    # The model

    async def show_models(self, request: RequestLike) -> View | Redirect:
        """``GET /setup/model``: the models of the chosen server."""
        answers = self._answers(identity(request).device)
        if answers is None:
            return Redirect(PATH)
        return await self._model_view(answers)

    async def choose_model(self, request: RequestLike) -> View | Redirect:
        """``POST /setup/model``: ``model``, which is tried and then stored; with ``untested``, it
        is stored as it is."""
        device, form = identity(request).device, await read_form(request)
        answers = self._answers(device)
        if answers is None:
            return Redirect(PATH, t("The set-up was not finished in time. Begin again."), "warning")
        answers = replace(answers, model=form.get("model", "").strip())
        problem = self._setup.problem(answers) or ("" if answers.model else t("Enter a model."))
        if problem:
            return await self._model_view(answers, (problem,))
        said = ""
        if not form.get("untested"):
            trial = await self._try(answers)
            if trial.problems:
                return await self._model_view(answers, trial.problems, tried=True)
            said = on_one_line(trial.answer, MAX_ANSWER_CHARS)
        try:
            name = await self._setup.save(answers)
        except HooklineError as error:
            return await self._model_view(
                answers, (t("Nothing was changed. {error}", error=translate(str(error))),)
            )
        self._pending.pop(device, None)
        if said:
            text = t("Hookline uses {model} now. It answered: {answer}", model=name, answer=said)
        else:
            text = t("Hookline uses {model} now.", model=name)
        return Redirect(PATH, text)

    async def _try(self, answers: ModelAnswers) -> ModelTrial:
        try:
            return await self._setup.test(answers)
        except HooklineError as error:
            return ModelTrial(problems=(str(error),))

    async def _model_view(
        self, answers: ModelAnswers, problems: Sequence[str] = (), *, tried: bool = False
    ) -> View:
        try:
            listed = await self._setup.models(answers)
        except HooklineError as error:
            listed = ModelList(problem=str(error))
        parts: list[Part] = [Text(translate("\n\n".join(problems)), "bad")] if problems else []
        parts.append(_model_form(listed, answers.model or _first(listed)))
        if tried:
            fields = {"model": answers.model, "untested": "yes"}
            parts.append(Actions([Action(t("Save without a test"), MODEL_PATH, fields)]))
        key = Link(t("Provider and key"), f"{PATH}?provider={answers.provider}")
        text = t("“Test and save” sends one short request to the model.")
        status = 422 if problems else 200
        return View(t("Choose a model"), parts, text, (Link(t("Model"), PATH), key), status=status)

    # What is kept

    @property
    def _setup(self) -> ModelSetup:
        return self._host.services[ModelSetup]

    def _model(self) -> str:
        try:
            return self._host.services[Inspection].default_model()
        except HooklineError:
            return ""

    def _keep(self, device: str, answers: ModelAnswers) -> None:
        self._pending.pop(device, None)
        self._pending[device] = _Pending(answers, self._host.now())
        while len(self._pending) > MAX_ANSWERS:
            self._pending.popitem(last=False)

    def _answers(self, device: str) -> ModelAnswers | None:
        pending = self._pending.get(device)
        if pending is None or self._host.now() - pending.since > ANSWERS_SECONDS:
            self._pending.pop(device, None)
            return None
        return pending.answers


def needs_setup(host: Host) -> bool:
    """Return whether no model is set up and this page can change that."""
    if host.services.get(ModelSetup) is None:
        return False
    try:
        host.services[Inspection].default_model()
    except HooklineError:
        return True
    return False


def _provider(providers: Sequence[OfferedProvider], name: str) -> OfferedProvider:
    found = next((one for one in providers if one.name == name), None)
    if found is None:
        text = t("There is no provider {name}.", name=on_one_line(name, 60))
        raise Problem(404, "not_found", text, t("Choose one on the page Model."))
    return found


def _title(provider: OfferedProvider) -> str:
    title = on_one_line(translate(provider.title), 100)
    return title[:1].upper() + title[1:]


def _providers_view(providers: Sequence[OfferedProvider], model: str) -> View:
    rows = []
    for one in sorted(providers, key=lambda one: bool(one.key or one.asks_address)):
        state = t("in use") if one.is_current else t("key is set") if one.key_is_set else ""
        badge = Badge(state, "good" if one.is_current else "neutral") if state else None
        style: Any = "default" if model or one.key or one.asks_address else "primary"
        choose = Action(t("Choose"), PATH, {"provider": one.name}, style=style, get=True)
        rows.append(Row([_title(one), badge], [choose]))
    table = Table([t("Provider"), t("State")], rows, t("Providers"))
    if not model:
        text = t(
            "Choose who runs the model. A service needs a key of yours; a server on this machine "
            "needs none. The next steps are the key and the model."
        )
        return View(t("Set up a model"), [Text(text), table])
    start = Actions([Action(t("Start a chat"), "/", style="primary", get=True)])
    text = t(
        "Hookline uses {model}. Choose a provider to change that.", model=on_one_line(model, 200)
    )
    return View(t("Model"), [Text(text), start, table])


def _key_view(provider: OfferedProvider, problem: str = "", address: str = "") -> View:
    fields = [Field("provider", kind="hidden", value=provider.name)]
    if provider.asks_address:
        shown = address or provider.address
        fields.append(Field("address", t("Address"), value=shown, help=t("Most end in /v1.")))
    if provider.key:
        text = t("It is stored in .env as {name} and never shown again.", name=provider.key)
        fields.append(
            Field("key", t("Key"), "secret", provider.key_is_set, help=text, error=problem)
        )
    parts: list[Part] = []
    if problem and not provider.key:
        parts.append(Text(problem, "bad"))
    parts.append(Form(PATH, fields, t("Continue")))
    status = 422 if problem else 200
    return View(_title(provider), parts, "", (Link(t("Model"), PATH),), status=status)


def _first(listed: ModelList) -> str:
    """The model to suggest: one that the server has, if it lists its models."""
    if not listed.names or listed.preferred in listed.names:
        return listed.preferred
    return listed.names[0]


def _model_form(listed: ModelList, model: str) -> Form:
    if listed.names:
        names = list(dict.fromkeys([*([model] if model else []), *listed.names]))
        field = Field("model", t("Model"), "choice", model, sorted(names, key=str.casefold))
    else:
        field = Field("model", t("Model"), value=model, help=listed.problem, required=True)
    return Form(MODEL_PATH, [field], t("Test and save"))
