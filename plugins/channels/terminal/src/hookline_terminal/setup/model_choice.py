"""Asks for the model: its provider, address, key and name."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from . import dialogue
from .current_setup import CurrentSetup
from .provider_offers import ProviderOffer, models_of, nothing_listens

MAX_LISTED_MODELS = 20
"""From a longer list, only models whose names contain the typed text are shown."""
_API_PATH = re.compile(r"/(chat/completions|completions|responses|models)/*$")


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The model of an offer, and what to write for it.

    Attributes:
        variables: new variables for ``.env``.
        section: the provider's section in ``config.yaml``; None to leave it unchanged.
        listed: the models that the server listed.
    """

    offer: ProviderOffer
    model: str = ""
    variables: dict[str, str] = field(default_factory=dict)
    section: dict[str, Any] | None = None
    listed: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """``provider/model``."""
        return f"{self.offer.name}/{self.model}"

    def key(self, current: CurrentSetup) -> str:
        """The key that is sent; empty for none."""
        if self.offer.key in self.variables:
            return self.variables[self.offer.key]
        written = current.section("providers", self.offer.name).get("api_key")
        return current.expanded(written) or current.env.get(self.offer.key, "")

    def can_answer(self, current: CurrentSetup) -> bool:
        """Whether a request can be sent: no key is missing."""
        return not self.offer.key or self.offer.asks_address or bool(self.key(current))


def ask_provider(offers: Sequence[ProviderOffer], current: CurrentSetup) -> ModelChoice:
    """Ask for a provider, then for its address, key and model."""
    titles = [offer.title for offer in offers]
    picked = dialogue.choose("Which models do you want to use?", titles, _first(offers, current))
    choice = ModelChoice(offers[picked])
    if choice.offer.variable and choice.offer.variable not in current.dotenv:
        choice = replace(choice, variables={choice.offer.variable: choice.offer.address})
    if choice.offer.asks_address:
        choice = ask_address(choice, current)
    return ask_model(ask_key(choice, current), current)


def _first(offers: Sequence[ProviderOffer], current: CurrentSetup) -> int:
    """Return the index of the default: the current one, else one with a key, else a local one."""
    provider = (current.model or "").partition("/")[0]
    ranks = [
        [offer.name == provider for offer in offers],
        [bool(offer.key and current.env.get(offer.key)) for offer in offers],
        [bool(offer.models) for offer in offers],
    ]
    return next((rank.index(True) for rank in ranks if True in rank), 0)


# The address


def ask_address(choice: ModelChoice, current: CurrentSetup) -> ModelChoice:
    """Ask for the server's address; a missing scheme or ``/v1`` is added."""
    before = choice.offer.address
    address = completed(dialogue.line("Its address", before, address_error))
    changed = with_address(choice, address, current)
    if changed.section != choice.section:
        dialogue.tell(f"The address is {changed.offer.address}")
    return changed


def with_address(choice: ModelChoice, address: str, current: CurrentSetup) -> ModelChoice:
    """Return the choice with the address of a server; a missing ``/v1`` is added."""
    before = choice.offer.address
    # Another server must not get the previous one's key, unless the person keeps it.
    typed = choice.variables.get(choice.offer.key, "")
    key = typed or (choice.key(current) if address == before else "")
    if not models_of(choice.offer.name, address, key) and not urlsplit(address).path.strip("/"):
        with_path = f"{address.rstrip('/')}/v1"
        address = with_path if models_of(choice.offer.name, with_path, key) else address
    offer = replace(choice.offer, address=address)
    if address == before and current.section("providers", offer.name):
        return replace(choice, offer=offer)
    section = current.section("providers", offer.name) | (choice.section or {})
    return replace(choice, offer=offer, section=section | {"base_url": address})


def completed(text: str) -> str:
    """Return an address with its scheme, and without a path that the client itself appends."""
    if "://" not in text:
        host = urlsplit(f"//{text}").hostname or ""
        is_domain = "." in host and not host.replace(".", "").isdecimal() and ":" not in text
        text = f"{'https' if is_domain else 'http'}://{text}"
    return _API_PATH.sub("", text)


def address_error(text: str) -> str | None:
    """Return why a text cannot be an address; None if it can."""
    if any(character.isspace() or not character.isprintable() for character in text):
        return "The address contains a blank. Example: http://127.0.0.1:8080/v1"
    try:
        parts = urlsplit(completed(text))
        fine = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1) > 0
    except ValueError:
        fine = False
    if not fine:
        return "Not a valid address. Example: http://127.0.0.1:8080/v1"
    return "Leave the key out of the address." if parts.password else None


# The key


def ask_key(choice: ModelChoice, current: CurrentSetup) -> ModelChoice:
    """Ask for the key, if the provider has one; Enter keeps the one that is set."""
    offer, set_now = choice.offer, choice.key(current)
    if not offer.key:
        return choice
    if set_now and os.environ.get(offer.key) == set_now:
        dialogue.tell(f"{offer.key} is {dialogue.shown(set_now)}: the environment has it.")
        return choice
    on_enter = dialogue.keeps(set_now) if set_now else "skips it"
    typed = dialogue.secret(f"Paste its key, {offer.key}", on_enter)
    return with_key(choice, typed, current) if typed and typed != set_now else choice


def with_key(choice: ModelChoice, typed: str, current: CurrentSetup) -> ModelChoice:
    """Return the choice with a new key, which goes into ``.env``."""
    offer = choice.offer
    variables = choice.variables | {offer.key: typed}
    reference = f"${{{offer.key}}}"
    section = choice.section or current.section("providers", offer.name)
    written = section.get("api_key")
    if written == reference or (written is None and not offer.asks_address):
        return replace(choice, variables=variables)
    return replace(choice, variables=variables, section=section | {"api_key": reference})


# The model


def ask_model(choice: ModelChoice, current: CurrentSetup) -> ModelChoice:
    """Ask for the model, and list those of the server."""
    offer = choice.offer
    if not offer.models and choice.can_answer(current) and offer.address:
        dialogue.tell("Asking for its models …")
    listed, problem = list_models(choice, current)
    if problem:
        dialogue.explain(problem)
    first = preferred_model(choice, listed, current)
    if len(listed) == 1 and first in listed:
        dialogue.tell(f"Its model is {first}.")
        return replace(choice, model=first, listed=listed)
    return replace(choice, model=_named(offer, listed, first), listed=listed)


def list_models(choice: ModelChoice, current: CurrentSetup) -> tuple[tuple[str, ...], str]:
    """Return the models of a server, and a sentence if it does not list them."""
    offer = choice.offer
    if offer.models or not choice.can_answer(current) or not offer.address:
        return offer.models, ""
    listed = models_of(offer.name, offer.address, choice.key(current))
    if listed:
        return listed, ""
    if nothing_listens(offer.address):
        return (), f"No answer from {offer.address}. Is the server running?"
    return (), "The server does not list its models."


def preferred_model(choice: ModelChoice, listed: Sequence[str], current: CurrentSetup) -> str:
    """Return the model to suggest: the current one, else the provider's default, else the
    first."""
    offer = choice.offer
    provider, _, now = (current.model or "").partition("/")
    first = choice.model or (now if provider == offer.name else "") or offer.default
    if listed and first not in listed and provider != offer.name:
        first = next(iter(difflib.get_close_matches(first, listed, 1, 0.0)), listed[0])
    return first if first or listed else "default"


def _named(offer: ProviderOffer, listed: Sequence[str], first: str) -> str:
    """Ask for a model by its number, its name or a part of it."""
    shown = listed if len(listed) <= MAX_LISTED_MODELS else ()
    if shown:
        dialogue.tell("Its models:", *_numbered(shown))
    elif listed:
        dialogue.tell(f"It has {len(listed)} models. Type part of a name to search them.")
    unknown = ""
    while True:
        question = "Number or name" if shown else "The model's name"
        text = dialogue.line(question, first, name_error)
        if text not in listed:
            text = text.removeprefix(f"{offer.name}/")
        if text.isdecimal() and 0 < int(text) <= len(shown):
            return shown[int(text) - 1]
        if text in listed or not listed or text in (first, unknown):
            return text
        unknown = text
        matches = [name for name in listed if text.casefold() in name.casefold()]
        if matches:
            shown = matches[:MAX_LISTED_MODELS]
            dialogue.tell(f"Models with {text} in the name:", *_numbered(shown))
            first = shown[0]
        else:
            dialogue.tell(f"The server has no model {text}. Type it again to use it anyway.")


def _numbered(names: Sequence[str]) -> list[str]:
    return [f"  {number}  {name}" for number, name in enumerate(names, 1)]


def name_error(text: str) -> str | None:
    """Return why a text cannot be the name of a model; None if it can."""
    if any(character.isspace() or not character.isprintable() for character in text):
        return "The name of a model contains no blanks."
    return None
