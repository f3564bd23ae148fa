"""The entities of a text: its links, code and quotations. Their offsets count UTF-16 units.

See core.telegram.org/bots/api#messageentity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from hookline_channelkit import code_block, code_span, link_text, quote_block

Json: TypeAlias = Mapping[str, Any]
_MARKS: Mapping[str, Callable[[str, Json], str]] = {
    "text_link": lambda text, entity: link_text(text, str(entity.get("url") or "")),
    "code": lambda text, _: code_span(text),
    "pre": lambda text, entity: code_block(text, str(entity.get("language") or "")),
    "blockquote": lambda text, _: quote_block(text),
    "expandable_blockquote": lambda text, _: quote_block(text),
    "strikethrough": lambda text, _: f"~~{text}~~" if text.strip() else text,
}
"""Marks without which a text would say less; bold and the like are left out."""
_BLOCKS = frozenset({"pre", "blockquote", "expandable_blockquote"})
"""Marks that fill whole lines."""


class EntityText:
    """The text or caption of a message, with its entities."""

    def __init__(self, message: Json) -> None:
        self.text = str(message.get("text") or message.get("caption") or "")
        self._units = self.text.encode("utf-16-le", "surrogatepass")
        found = message.get("entities") or message.get("caption_entities") or ()
        self.entities: Sequence[Json] = [one for one in found if _is_valid(one)]

    def part(self, start: int, end: int | None = None) -> str:
        """Return the text between two offsets."""
        units = self._units[2 * start : None if end is None else 2 * end]
        return units.decode("utf-16-le", "replace")

    def parts(self) -> Iterator[tuple[str, str, Json]]:
        """Yield type, text and data of each entity."""
        for entity in self.entities:
            yield str(entity["type"]), self.part(entity["offset"], _end(entity)), entity

    def markdown(self, start: int = 0) -> str:
        """Return the text from an offset with its marks."""
        end = len(self._units) // 2
        marked = [one for one in self.entities if one["type"] in _MARKS and _end(one) <= end]
        marked.sort(key=lambda one: (one["offset"], -_end(one), one["type"] == "code"))
        return self._marked(start, end, marked)

    def _marked(self, start: int, end: int, marked: Sequence[Json]) -> str:
        """Return a part of the text with the entities in it; of those that overlap others, the
        rest."""
        out, at = "", start
        for number, entity in enumerate(marked):
            first, last = max(at, entity["offset"]), min(end, _end(entity))
            if first >= last:
                continue
            out += self.part(at, first)
            at, kind = last, str(entity["type"])
            inner = () if kind in ("code", "pre") else marked[number + 1 :]
            text = _MARKS[kind](self._marked(first, last, inner), entity)
            if kind in _BLOCKS:
                is_at_start = not out or out.endswith("\n")
                rest = self.part(at, at + 1)
                text = ("" if is_at_start else "\n") + text + ("" if rest in ("", "\n") else "\n")
            out += text
        return out + self.part(at, end)


def _end(entity: Json) -> int:
    return int(entity["offset"]) + int(entity["length"])


def _is_valid(entity: Any) -> bool:
    if not isinstance(entity, Mapping) or "type" not in entity:
        return False
    numbers = (entity.get("offset"), entity.get("length"))
    return all(isinstance(one, int) and one >= 0 for one in numbers)
