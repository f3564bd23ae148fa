"""Words for messages that have no text: contacts, polls, places, checklists and the like.

Their fields are those of a ``Message`` (core.telegram.org/bots/api#message).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from hookline_channelkit import describe_kind, get_in, package_data

Json: TypeAlias = Mapping[str, Any]
_FIELDS = package_data(__package__, "message_fields.json")
_NO_CONTENT = frozenset(_FIELDS["no_content"])
_SERVICE = frozenset(_FIELDS["service"])
"""Fields of service messages, which say what happened in a chat."""
MAX_RICH_DEPTH = 32
"""Nesting of a rich message's blocks that is read."""


def words_of_kind(message: Json) -> str:
    """Return words for the content of a message that is not its text; empty if there is none."""
    for field, describe in _KINDS.items():
        if isinstance(about := message.get(field), Mapping):
            return describe(about)
    return ""


def unreadable_in(message: Json) -> str | None:
    """Return the name of a message's kind if it is one that a person sends and nobody can read.

    None for service messages, such as a new title of the group.
    """
    if _SERVICE & message.keys():
        return None
    unknown = (field for field in message if field not in _NO_CONTENT)
    return next(unknown, "unknown").replace("_", " ")


def _name(person: Json) -> str:
    names = (str(person.get(part) or "") for part in ("first_name", "last_name"))
    return " ".join(filter(None, names)) or str(person.get("title") or person.get("username") or "")


def _contact(contact: Json) -> str:
    return describe_kind("contact", _name(contact), contact.get("phone_number"), _mail(contact))


def _mail(contact: Json) -> str:
    """Return the other lines of a visiting card, without its frame, names and pictures."""
    skipped = ("BEGIN:", "END:", "VERSION:", "N:", "FN:", "PHOTO", "TEL", " ")
    lines = str(contact.get("vcard") or "").splitlines()
    return ", ".join(line for line in lines if line and not line.startswith(skipped))


def _poll(poll: Json) -> str:
    kind = "quiz" if poll.get("type") == "quiz" else "poll"
    options = [f"- {get_in(one, 'text')}" for one in poll.get("options") or ()]
    state = "closed" if poll.get("is_closed") else ""
    about = describe_kind(kind, poll.get("question"), poll.get("description"), state)
    return "\n".join([about, *options])


def _dice(dice: Json) -> str:
    return describe_kind("dice", f"{dice.get('emoji', '🎲')} shows {dice.get('value')}")


def _location(place: Json) -> str:
    kind = "live location" if place.get("live_period") else "location"
    return describe_kind(kind, place.get("latitude"), place.get("longitude"))


def _venue(venue: Json) -> str:
    place = venue.get("location") or {}
    at = (place.get("latitude"), place.get("longitude"))
    return describe_kind("place", venue.get("title"), venue.get("address"), *at)


def _sticker(sticker: Json) -> str:
    return describe_kind("sticker", sticker.get("emoji"), sticker.get("set_name"))


def _story(story: Json) -> str:
    return describe_kind("story, which bots cannot see", _name(story.get("chat") or {}))


def _checklist(checklist: Json) -> str:
    tasks = [
        f"- [{'x' if get_in(task, 'completion_date', default=0) else ' '}] {get_in(task, 'text')}"
        for task in checklist.get("tasks") or ()
    ]
    return "\n".join([describe_kind("checklist", checklist.get("title")), *tasks])


def _giveaway(giveaway: Json) -> str:
    winners = giveaway.get("winner_count")
    return describe_kind(
        "giveaway", winners and f"{winners} winners", giveaway.get("prize_description")
    )


def _winners(giveaway: Json) -> str:
    names = ", ".join(_name(one) for one in giveaway.get("winners") or ())
    return describe_kind("giveaway has ended", names and f"winners: {names}")


def _game(game: Json) -> str:
    return describe_kind("game", game.get("title"), game.get("description"))


def _invoice(invoice: Json) -> str:
    amount = f"{invoice.get('total_amount')} {invoice.get('currency')} in the smallest unit"
    return describe_kind("invoice", invoice.get("title"), invoice.get("description"), amount)


def _paid_media(media: Json) -> str:
    stars = f"costs {media.get('star_count')} stars"
    return describe_kind("paid media, which bots cannot see", stars)


def _web_app(data: Json) -> str:
    return describe_kind(f"data from {data.get('button_text') or 'a web app'}", data.get("data"))


def _live_photo(_photo: Json) -> str:
    return describe_kind("live photo")


def _rich(message: Json) -> str:
    return "\n".join(filter(None, (text.strip() for text in _rich_lines(message, 0))))


def _rich_lines(value: Any, depth: int) -> Iterator[str]:
    """Yield the text of each block of a rich message (Bot API 10.1)."""
    if depth > MAX_RICH_DEPTH:
        return
    if isinstance(value, list):
        for one in value:
            yield from _rich_lines(one, depth + 1)
    elif isinstance(value, Mapping):
        if text := _rich_text(value.get("text"), depth):
            yield text
        inner = [one for name, one in value.items() if name != "text"]
        yield from _rich_lines([one for one in inner if isinstance(one, (list, Mapping))], depth)


def _rich_text(value: Any, depth: int) -> str:
    """Return a rich text, which is a string, a list of rich texts, or one with a style."""
    if isinstance(value, str) or depth > MAX_RICH_DEPTH:
        return value if isinstance(value, str) else ""
    if isinstance(value, list):
        return "".join(_rich_text(one, depth + 1) for one in value)
    if not isinstance(value, Mapping):
        return ""
    text = _rich_text(value.get("text"), depth + 1)
    url = str(value.get("url") or "")
    return f"[{text}]({url})" if url and url != text else text


_KINDS: Mapping[str, Callable[[Json], str]] = {
    "venue": _venue,  # before its location
    "location": _location,
    "contact": _contact,
    "poll": _poll,
    "dice": _dice,
    "sticker": _sticker,
    "story": _story,
    "checklist": _checklist,
    "giveaway": _giveaway,
    "giveaway_winners": _winners,
    "game": _game,
    "invoice": _invoice,
    "paid_media": _paid_media,
    "web_app_data": _web_app,
    "live_photo": _live_photo,
    "rich_message": _rich,
}
