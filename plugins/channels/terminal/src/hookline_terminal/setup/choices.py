"""Which model a person wants: its provider, the address, the key and the name."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from . import dialogue
from .present import Present
from .servers import Offer, default_model, models_of, nothing_listens

MOST_LISTED = 20
"""Models that are listed with numbers; of more, those that hold what is written."""
_ENDINGS = re.compile(r"/(chat/completions|completions|responses|models)/*$")


@dataclass(frozen=True, slots=True)
class Choice:
    """The model of an offer, and what it needs.

    ``variables`` are new for ``.env``; ``section`` is that of the provider, None where it stays as
    it is. ``listed`` are the models that the server named.
    """

    offer: Offer
    model: str = ""
    variables: dict[str, str] = field(default_factory=dict)
    section: dict[str, Any] | None = None
    listed: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """``provider/model``."""
        return f"{self.offer.name}/{self.model}"

    def key(self, present: Present) -> str:
        """The key that is sent; empty for none."""
        if self.offer.key in self.variables:
            return self.variables[self.offer.key]
        written = present.section("providers", self.offer.name).get("api_key")
        return present.expanded(written) or present.env.get(self.offer.key, "")

    def can_answer(self, present: Present) -> bool:
        """Whether nothing is missing."""
        return not self.offer.key or self.offer.asks_address or bool(self.key(present))


def ask_provider(offers: Sequence[Offer], present: Present) -> Choice:
    """Let one of the offers be chosen, and ask what it needs."""
    titles = [offer.title for offer in offers]
    picked = dialogue.choose("Which models do you want to use?", titles, _first(offers, present))
    choice = Choice(offers[picked])
    if choice.offer.variable and choice.offer.variable not in present.dotenv:
        choice = replace(choice, variables={choice.offer.variable: choice.offer.address})
    if choice.offer.asks_address:
        choice = ask_address(choice, present)
    return ask_model(ask_key(choice, present), present)


def _first(offers: Sequence[Offer], present: Present) -> int:
    """The offer that is set up now, else one with a key, else a server that runs here."""
    wanted = (present.model or "").partition("/")[0]
    ranks = [
        [offer.name == wanted for offer in offers],
        [bool(offer.key and present.env.get(offer.key)) for offer in offers],
        [bool(offer.models) for offer in offers],
    ]
    return next((rank.index(True) for rank in ranks if True in rank), 0)


# The address


def ask_address(choice: Choice, present: Present) -> Choice:
    """Ask where the server is; an address without its scheme or ``/v1`` is completed."""
    before = choice.offer.address
    address = completed(dialogue.line("Its address", before, _address_fault))
    # Another server must not see the key of the one before, unless the person keeps it.
    key = choice.key(present) if address == before else ""
    if not models_of(choice.offer.name, address, key) and not urlsplit(address).path.strip("/"):
        deeper = f"{address.rstrip('/')}/v1"
        address = deeper if models_of(choice.offer.name, deeper, key) else address
    offer = replace(choice.offer, address=address)
    if address == before and present.section("providers", offer.name):
        return replace(choice, offer=offer)
    dialogue.tell(f"The address is {address}")
    section = present.section("providers", offer.name) | (choice.section or {})
    return replace(choice, offer=offer, section=section | {"base_url": address})


def completed(text: str) -> str:
    """An address with its scheme, and without the end that the wire itself appends."""
    if "://" not in text:
        host = urlsplit(f"//{text}").hostname or ""
        away = "." in host and not host.replace(".", "").isdecimal() and ":" not in text
        text = f"{'https' if away else 'http'}://{text}"
    return _ENDINGS.sub("", text)


def _address_fault(text: str) -> str | None:
    if any(character.isspace() or not character.isprintable() for character in text):
        return "There is a blank in it; write an address such as http://127.0.0.1:8080/v1"
    try:
        parts = urlsplit(completed(text))
        fine = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1) > 0
    except ValueError:
        fine = False
    if not fine:
        return "That is no address; write one such as http://127.0.0.1:8080/v1"
    return "A key does not belong into the address." if parts.password else None


# The key


def ask_key(choice: Choice, present: Present) -> Choice:
    """Ask for the key, if there is one to ask for; Enter keeps the one that is set."""
    offer, set_now = choice.offer, choice.key(present)
    if not offer.key:
        return choice
    if set_now and os.environ.get(offer.key) == set_now:
        dialogue.tell(f"{offer.key} is {dialogue.shown(set_now)}: the environment has it.")
        return choice
    told = dialogue.keeps(set_now) if set_now else "skips it"
    typed = dialogue.secret(f"Paste its key, {offer.key}", told)
    if not typed or typed == set_now:
        return choice
    variables = choice.variables | {offer.key: typed}
    reference = f"${{{offer.key}}}"
    section = choice.section or present.section("providers", offer.name)
    written = section.get("api_key")
    if written == reference or (written is None and not offer.asks_address):
        return replace(choice, variables=variables)
    return replace(choice, variables=variables, section=section | {"api_key": reference})


# The model


def ask_model(choice: Choice, present: Present) -> Choice:
    """Ask for the model, and offer those that the server names."""
    offer = choice.offer
    listed = offer.models
    if not listed and choice.can_answer(present) and offer.address:
        dialogue.tell("Asking for its models …")
        listed = models_of(offer.name, offer.address, choice.key(present))
        if not listed:
            dialogue.explain(
                f"Nothing answers at {offer.address}: is the server running?"
                if nothing_listens(offer.address)
                else "It does not say which models it has."
            )
    provider, _, now = (present.model or "").partition("/")
    first = choice.model or (now if provider == offer.name else "") or default_model(offer)
    if listed and first not in listed and provider != offer.name:
        first = next(iter(difflib.get_close_matches(first, listed, 1, 0.0)), listed[0])
    if not first and not listed:
        first = "default"
    if len(listed) == 1 and first in listed:
        dialogue.tell(f"Its model is {first}.")
        return replace(choice, model=first, listed=listed)
    return replace(choice, model=_named(offer, listed, first), listed=listed)


def _named(offer: Offer, listed: Sequence[str], first: str) -> str:
    """The model that a person writes, or whose number or part of the name."""
    shown = listed if len(listed) <= MOST_LISTED else ()
    if shown:
        dialogue.tell("Its models:", *_numbered(shown))
    elif listed:
        dialogue.tell(f"It has {len(listed)} models; a part of a name lists those that hold it.")
    unknown = ""
    while True:
        question = "Number or name" if shown else "The model's name"
        text = dialogue.line(question, first, _name_fault)
        if text not in listed:
            text = text.removeprefix(f"{offer.name}/")
        if text.isdecimal() and 0 < int(text) <= len(shown):
            return shown[int(text) - 1]
        if text in listed or not listed or text in (first, unknown):
            return text
        unknown = text
        held = [name for name in listed if text.casefold() in name.casefold()]
        if held:
            shown = held[:MOST_LISTED]
            dialogue.tell(f"Models with {text} in the name:", *_numbered(shown))
            first = shown[0]
        else:
            dialogue.tell(f"The server names no model {text}. Write it again to use it anyway.")


def _numbered(names: Sequence[str]) -> list[str]:
    return [f"  {number}  {name}" for number, name in enumerate(names, 1)]


def _name_fault(text: str) -> str | None:
    if any(character.isspace() or not character.isprintable() for character in text):
        return "There is a blank in it, and no model's name has one."
    return None
