"""What ``hookline init`` does for the model, without its prompts: see ``ModelSetup``."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

from hookline_hookspecs import Configuration, HooklineError, Host
from hookline_hookspecs.inspection import ConfigEditor
from hookline_hookspecs.model_setup import ModelAnswers, ModelList, ModelTrial, OfferedProvider
from hookline_hookspecs.sentences import N_

from . import changes_of, write_files
from .current_setup import CurrentSetup, read_current_setup
from .dialogue import key_error
from .home_files import check_is_file, env_with, read, template
from .model_choice import (
    ModelChoice,
    address_error,
    completed,
    list_models,
    name_error,
    preferred_model,
    with_address,
    with_key,
)
from .model_trial import REQUEST_TIMEOUT, TrialOutcome, error_text, hints, trial_config
from .provider_offers import ProviderOffer, nothing_listens, offers


def providers(host: Host) -> list[OfferedProvider]:
    """Return the providers to choose from."""
    now = _now(host)
    current = (now.model or "").partition("/")[0]
    return [
        OfferedProvider(
            offer.name,
            offer.title,
            offer.key,
            bool(offer.key and ModelChoice(offer).key(now)),
            offer.address,
            offer.asks_address,
            offer.name == current,
        )
        for offer in offers(now, host)
    ]


def problem(answers: ModelAnswers) -> str:
    """Return what is wrong with the answers; empty if nothing."""
    checks = (
        (address_error, answers.address),
        (key_error, answers.key),
        (name_error, answers.model),
    )
    return next((text for check, given in checks if given and (text := check(given))), "")


def models(host: Host, answers: ModelAnswers) -> ModelList:
    """Return the models that the server lists."""
    now = _now(host)
    choice = _choice(host, answers, now)
    listed, problem = list_models(choice, now)
    return ModelList(listed, preferred_model(choice, listed, now), problem)


async def test(host: Host, answers: ModelAnswers) -> ModelTrial:
    """Send one request to the model."""
    now = _now(host)
    choice = await asyncio.to_thread(_choice, host, answers, now)
    if not choice.can_answer(now):
        return ModelTrial(problems=(N_(f"Enter the key of {choice.offer.title} first."),))
    listed, problem = await asyncio.to_thread(list_models, choice, now)
    if bool(problem) and await asyncio.to_thread(nothing_listens, choice.offer.address):
        return ModelTrial(problems=(problem,))  # a request would be repeated for a minute
    choice = replace(choice, listed=listed)
    config = json.dumps(trial_config(choice, now))
    variables = {**now.dotenv, **choice.variables}
    try:
        async with asyncio.timeout(REQUEST_TIMEOUT):
            core = host.services[Configuration]
            return ModelTrial(await core.try_model(choice.name, config, variables))
    except TimeoutError:
        outcome = TrialOutcome(kind="network", text=N_(f"No answer within {REQUEST_TIMEOUT} s."))
    except HooklineError as error:
        outcome = TrialOutcome(kind=getattr(error, "kind", "config"), text=str(error))
    return ModelTrial(problems=(error_text(choice, outcome), *hints(choice, outcome)))


def save(host: Host, answers: ModelAnswers) -> str:
    """Store the model and the key, and use them from now on."""
    now = _now(host)
    choice = _choice(host, answers, now)
    if now.problems:
        raise HooklineError(now.problems[0])
    changes = changes_of(choice, {}, now)
    config = template("config.template.yaml") if now.text is None else now.text
    for key, value in changes.settings.items():
        config = _editor(host).with_value(config, key, json.dumps(value, ensure_ascii=False))
    home = host.home
    try:
        for name in (".env", "config.yaml"):
            check_is_file(home / name)
        before = read(home / ".env")
        env = template("env.template") if before is None else before
        texts = {".env": env_with(env, changes.variables), "config.yaml": config}
        write_files(home, texts)
    except OSError as error:
        raise HooklineError(f"{error.filename or home}: {error.strerror or error}") from None
    return choice.name


def _editor(host: Host) -> ConfigEditor:
    found = host.services.get(ConfigEditor)
    if found is None:
        raise HooklineError("the plugin configure, which edits config.yaml, is off")
    return found


def _now(host: Host) -> CurrentSetup:
    return read_current_setup(host.home, host.services[Configuration])


def _choice(host: Host, answers: ModelAnswers, now: CurrentSetup) -> ModelChoice:
    offer = _offer(host, answers.provider, now)
    choice = ModelChoice(offer, answers.model)
    if offer.variable and offer.variable not in now.dotenv:
        choice = replace(choice, variables={offer.variable: offer.address})
    if answers.key and offer.key:
        choice = with_key(choice, answers.key, now)
    if offer.asks_address:
        choice = with_address(choice, completed(answers.address or offer.address), now)
    return choice


def _offer(host: Host, name: str, now: CurrentSetup) -> ProviderOffer:
    for offer in offers(now, host):
        if offer.name == name:
            return offer
    raise HooklineError(f"there is no provider {name} to choose")
