"""What a person wants: a model, its key, a Telegram bot."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass, field

from . import dialogue
from .servers import Found, Remote, default_model, find_local, models_at, remotes

TELEGRAM = "TELEGRAM_BOT_TOKEN"
OTHER = "my-server"
"""The name that a server of another kind gets under ``providers:``."""
_ADDRESS = "http://127.0.0.1:8080/v1"
_KEY_OF_OTHER = "MY_SERVER_API_KEY"


@dataclass(frozen=True, slots=True)
class Choices:
    """What goes into the files; empty without a terminal.

    ``variables`` are for ``.env``; ``provider`` is the section of another server.
    """

    model: str | None = None
    variables: dict[str, str] = field(default_factory=dict)
    provider: dict[str, str] = field(default_factory=dict)
    telegram: bool = False
    can_answer: bool = False


def ask_for_choices(known: Collection[str]) -> Choices:
    """Ask. ``known`` are the variables that have a value already, which are kept.

    Raises:
        EOFError: the person ended the input.
    """
    services, local = remotes(), find_local()
    options = [service.title for service in services]
    options += [f"{f.server.title} at {f.address}, found running" for f in local]
    options.append("another server that speaks OpenAI's API")
    picked = dialogue.choose(
        "Which models do you want to use?", options, _preferred(services, local, known)
    )
    if picked < len(services):
        choices = _service(services[picked], known)
    elif picked < len(services) + len(local):
        choices = _local(local[picked - len(services)])
    else:
        choices = _other(known)
    return _with_telegram(choices, known)


def _preferred(services: list[Remote], local: list[Found], known: Collection[str]) -> int:
    with_key = [n for n, service in enumerate(services) if service.key in known]
    if with_key:
        return with_key[0]
    return len(services) if local else 0


def _service(service: Remote, known: Collection[str]) -> Choices:
    variables = _asked(f"{service.title} key, {service.key}", service.key, known)
    return Choices(
        model=default_model(service),
        variables=variables,
        can_answer=service.key in known or bool(variables),
    )


def _local(found: Found) -> Choices:
    model = found.models[0]
    if len(found.models) > 1:
        model = found.models[dialogue.choose("Which of its models?", found.models)]
    moved = os.environ.get(found.server.url)
    return Choices(
        model=f"{found.server.name}/{model}",
        variables={found.server.url: found.address} if moved else {},
        can_answer=True,
    )


def _other(known: Collection[str]) -> Choices:
    address = dialogue.line("Its address", _ADDRESS)
    models = models_at(address)
    model = dialogue.line("The model's name", models[0] if models else "default")
    variables = _asked(f"Its key, {_KEY_OF_OTHER}", _KEY_OF_OTHER, known)
    has_key = bool(variables) or _KEY_OF_OTHER in known
    key = {"api_key": f"${{{_KEY_OF_OTHER}}}"} if has_key else {}
    return Choices(f"{OTHER}/{model}", variables, {"base_url": address, **key}, can_answer=True)


def _with_telegram(choices: Choices, known: Collection[str]) -> Choices:
    token = _asked("Telegram bot token", TELEGRAM, known)
    return Choices(
        choices.model,
        choices.variables | token,
        choices.provider,
        telegram=bool(token) or TELEGRAM in known,
        can_answer=choices.can_answer,
    )


def _asked(question: str, variable: str, known: Collection[str]) -> dict[str, str]:
    if variable in known:
        dialogue.tell(f"{variable} is set already and is kept.")
        return {}
    value = dialogue.secret(question)
    return {variable: value} if value else {}
