"""Where the values of a conversation were met: in a person's words, in own data, or outside."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, TypeAlias, get_args

from hookline_hookspecs import (
    Handle,
    Message,
    Origin,
    TextBlock,
    Tool,
    ToolCall,
    ToolResult,
    ToolResultBlock,
)
from hookline_hookspecs.inbound import own_words

from .result_rows import MAX_LINE_CHARS, result_rows
from .values import (
    Value,
    can_be_named,
    find_values,
    fits_template,
    holds_name,
    host_part,
    hosts_of,
    joined,
)

Source: TypeAlias = Literal[
    "named", "mentioned", "earlier", "trusted", "pointed", "outside", "composed"
]
"""Where a value was met, the best known first: in the person's words of this turn (``mentioned``
where they name a thing that is to be deleted, but ask to delete nothing), in earlier ones,
in own data, in a source from outside that the person named this turn, in another source from
outside, or nowhere."""
DELETE_WORDS = re.compile(
    r" (?:delet|remov|eras|cancel|trash|purge|wipe|uninstall|lösch|entfern|storn|supprim|effac"
    r"|annul|borra|elimin|rimuov|verwijder|radera|usuń|удал)|删除|削除|삭제"
)
"""Beginnings of words that ask to delete something. Without one, naming a thing is no request to
delete it; a language that is missing here costs a question."""
_NUMBERED = re.compile(r"[\s_-]*\d+$")
QUOTE_CHARS = 30
"""Characters quoted on either side of a value that was read."""


@dataclass(slots=True)
class Text:
    """A text that the model has read, with what is looked up in it."""

    text: str
    where: str = ""
    pointed: bool = False
    call: ToolCall | None = None
    handles: tuple[Handle, ...] = ()
    writes_before: int = 0
    asked: set[Value] = field(default_factory=set)

    @property
    def values(self) -> frozenset[Value]:
        """The typed values in it."""
        return values_in(self.text)

    @property
    def words(self) -> str:
        """Its words, to look names up."""
        return words_in(self.text)


@lru_cache(512)
def values_in(text: str) -> frozenset[Value]:
    """The values of a text, kept because a conversation is looked through at each call."""
    return frozenset(find_values(text))


@lru_cache(512)
def words_in(text: str) -> str:
    """The words of a text, kept for the same reason."""
    return joined(text)


@dataclass(frozen=True, slots=True)
class Met:
    """Where a value was met: ``where`` is shown, as are the words around it (``quote``).

    ``label`` is what an id stands for.
    """

    source: Source
    where: str = ""
    label: str = ""
    quote: str = ""


class KnownValues:
    """What a conversation has read, asked of the values of a call.

    Args:
        messages: the session's messages, and ``results`` of this turn that are not among them.
        people: the sources of those whose words count, such as ``telegram:222``; the operator's
            and admins' always do.
        tools: by name.
        is_outside: whether an origin is from outside for this conversation.
        spoken: False where the first message is a model's, as in a sub-agent.
        trusted: recipients that count as named, as the operator wrote them.
    """

    def __init__(
        self,
        messages: Sequence[Message],
        results: Iterable[ToolResult],
        people: Collection[str],
        tools: Mapping[str, Tool],
        is_outside: Callable[[Origin], bool],
        *,
        spoken: bool,
        trusted: Iterable[str] = (),
    ) -> None:
        self._people, self._tools, self._is_outside = people, tools, is_outside
        self._spoken = spoken
        self.turn: list[Text] = []
        self.earlier: list[Text] = []
        self.own: list[Text] = []
        self.outside: list[Text] = []
        self._calls: dict[str, ToolCall] = {}
        self._choices: set[str] = set()
        self._writes = 0
        self._permitted = [Text(one) for one in trusted]
        begin = _start_of_turn(messages)
        for number, message in enumerate(messages):
            into = self.turn if number >= begin else self.earlier
            for block in message.blocks:
                self._read_block(block, into)
            if message.context:
                self._read_context(message)
        for result in results:
            self._calls[result.call.id] = result.call
            self._read_result(
                result.call.id, result.text, result.ok, result.origins, result.handles
            )
        for one in self.outside:
            one.pointed = self._is_pointed(one)

    # What is read

    def _read_block(self, block: object, into: list[Text]) -> None:
        if isinstance(block, ToolCall):
            self._calls[block.id] = block
            offered = block.arguments.get("choices")
            self._choices |= set(map(str, offered)) if isinstance(offered, list | tuple) else set()
        elif isinstance(block, TextBlock):
            if self._spoken and self._is_persons(block):
                # A choice that a model has worded is not what the person said.
                said = own_words(block.text)
                if said.strip() not in self._choices:
                    into.append(Text(said))
            elif any(map(self._is_outside, block.origins)) or (block.origins and not self._spoken):
                self.outside.append(Text(block.text, _named(block.origins)))
        elif isinstance(block, ToolResultBlock):
            self._read_result(block.call_id, block.text, block.ok, block.origins, block.handles)

    def _read_context(self, message: Message) -> None:
        """The context blocks of a turn: memory, references, notices."""
        strange = [one for one in message.carried if self._is_outside(one)]
        read = Text(message.context, _named(strange) or "context", writes_before=self._writes)
        (self.outside if strange else self.own).append(read)

    def _is_persons(self, block: TextBlock) -> bool:
        """True for words that a person wrote who is in charge here, and did not forward."""
        return bool(block.origins) and all(
            one.kind in ("operator", "admin")
            or (one.kind == "person" and one.source in self._people)
            for one in block.origins
        )

    def _read_result(
        self,
        call_id: str,
        text: str,
        ok: bool,
        origins: Sequence[Origin],
        handles: tuple[Handle, ...],
    ) -> None:
        call = self._calls.get(call_id)
        tool = self._tools.get(call.name) if call else None
        writes = tool is None or not tool.read_only
        if writes:
            self._writes += 1
        outside = any(map(self._is_outside, origins))
        if call is None or not (ok or outside):
            return  # what a refusal repeats stays what it was
        where = _named([one for one in origins if self._is_outside(one)] if outside else origins)
        asked = set(values_in(_as_text(call.arguments)))
        read = Text(text, where, False, call, handles, self._writes, asked)
        if outside:
            self.outside.append(read)
        elif not writes or handles:
            # A tool that changes something can be made to say anything; its handles stay its own.
            self.own.append(read if not writes else Text("", where, False, call, handles))

    def _is_pointed(self, read: Text) -> bool:
        """True if the person named this source: each argument of the call, one as an address."""
        if read.call is None or not self._asks_in_words(read.call):
            return False
        given = [one for one in read.call.arguments.values() if isinstance(one, str)]
        return any(find_values(one) or _is_file(one) for one in given)

    # Where a value was met

    def met(self, text: str, of: str = "") -> Met:
        """Where a value was met; ``of`` is the kind of handle that it may be the id of."""
        found = find_values(text)
        if found:
            each = [self.met_value(one) for one in found]
            return max(each, key=lambda one: SOURCES.index(one.source))
        return self._met_name(text, of)

    def is_given(self, url: str) -> bool:
        """True if the person wrote the whole address."""
        found = values_in(url)
        return bool(found) and found <= self._values([*self.turn, *self.earlier])

    def met_value(self, value: Value) -> Met:
        """Where a typed value was met."""
        if value in self._values(self.turn) or self._names_host(value):
            return Met("named")
        if value in self._values(self._permitted):
            return Met("named", "trust")
        for read in self._handles():
            for handle in read.handles:
                listed = handle.directory and (handle.id, *handle.related)
                if listed and any(_is_whole(one, value) for one in listed):
                    return Met("trusted", read.where, handle.label)
                belongs = any(_is_whole(one, value) for one in handle.related)
                if belongs and self._is_named(handle.label) and self._is_only(handle):
                    return Met("named", read.where, handle.label)
        if value in self._values(self.earlier):
            return Met("earlier")
        return self._met_in_data(
            value.text, lambda read: value in read.values, lambda read: value in read.asked
        )

    def _met_name(self, name: str, of: str) -> Met:
        if self.named_in(self.turn, name):
            return Met("named")
        if any(one.text.strip().casefold() == name.strip().casefold() for one in self._permitted):
            return Met("named", "trust")
        for read in self._handles():
            for handle in read.handles:
                if handle.id == name and handle.directory and (not of or handle.kind == of):
                    return Met("trusted", read.where, handle.label)
        if self.named_in(self.earlier, name):
            return Met("earlier")
        if not can_be_named(name):
            return Met("composed")
        return self._met_in_data(
            name,
            lambda read: holds_name(read.words, name),
            lambda read: (
                read.call is not None and holds_name(words_in(_as_text(read.call.arguments)), name)
            ),
        )

    def met_target(self, id_: str, of: str = "") -> Met:
        """Where the thing was met that an id or a name stands for."""
        labels, where = self._labels(id_, of)
        if not labels:
            return Met("named") if self._is_spelled_out(id_, of) else self.met(id_, of)
        return self._met_labels(id_, of, labels, where)

    def met_handle(self, handle: Handle) -> Met:
        """Where the thing was met that a tool says an id stands for."""
        about = f"{handle.kind} {handle.id}: {handle.label}"
        what = f"{about}, {handle.about}" if handle.about else about
        return replace(self._met_labels(handle.id, handle.kind, [handle.label], ""), label=what)

    def _met_labels(self, id_: str, of: str, labels: Sequence[str], where: str) -> Met:
        if self._is_spelled_out(id_, of):
            return Met("named", where, ", ".join(labels))
        each = [self._met_label(one, of) for one in labels]
        best = min(each, key=lambda one: SOURCES.index(one.source))
        label = ", ".join(dict.fromkeys(labels))
        if best.source == "named" and not all(self._is_unambiguous(id_, of, one) for one in labels):
            return Met("outside", where, f"{label} (one of several)")
        if SOURCES.index(best.source) > SOURCES.index("pointed") and self._is_found(id_, of):
            return Met("pointed", where, label)
        return Met(best.source, best.where or where, label)

    def _is_found(self, id_: str, of: str) -> bool:
        """True for a thing that a search for nothing but the person's own words found."""
        return any(
            read.call is not None
            and any(one.id == id_ and of in ("", one.kind) for one in read.handles)
            and self._asks_in_words(read.call)
            for read in self._handles()
        )

    def _asks_in_words(self, call: ToolCall) -> bool:
        """True if every text in a reading call stands in the person's words of this turn."""
        tool = self._tools.get(call.name)
        given = [one for one in call.arguments.values() if isinstance(one, str) and one]
        reads = tool is not None and tool.read_only
        return reads and bool(given) and all(self.named_in(self.turn, one) for one in given)

    def _met_label(self, label: str, of: str) -> Met:
        if self._is_named(label) or self._names_beginning(label, of):
            return Met("named")
        found = self._met_name(label, of)
        if found.source == "composed":
            found = self.met(label)
        return found

    def _labels(self, id_: str, of: str) -> tuple[list[str], str]:
        """What an id stands for: by handles, else by the rows that it stands in."""
        for read in self._handles():
            found = [one.label for one in read.handles if one.id == id_ and of in ("", one.kind)]
            if found:
                return list(dict.fromkeys(found)), read.where
        for read in reversed([*self.own, *self.outside]):
            if read.handles or id_ not in read.text:
                continue
            labels = [label for row, label in result_rows(read.text) if row == id_]
            if labels:
                return list(dict.fromkeys(labels)), read.where
        return [], ""

    def _is_unambiguous(self, id_: str, of: str, label: str) -> bool:
        """True if no other thing of the kind has the same label."""
        others = {
            handle.id
            for read in self._handles()
            for handle in read.handles
            if of in ("", handle.kind) and handle.label == label
        }
        return others <= {id_}

    def _names_beginning(self, label: str, of: str) -> bool:
        """True if the person named a label but for the number at its end, and only one begins so.

        "The channel that starts with partners" is ``partners_2``.
        """
        stem = _NUMBERED.sub("", label)
        others = {
            handle.id
            for read in self._handles()
            for handle in read.handles
            if of in ("", handle.kind) and handle.label.startswith(stem)
        }
        return stem != label and len(others) == 1 and self._is_named(stem)

    def asks_to_delete(self) -> bool:
        """True if the person's words of this turn ask to remove something."""
        return any(DELETE_WORDS.search(one.words) for one in self.turn)

    def _is_only(self, handle: Handle) -> bool:
        return self._is_unambiguous(handle.id, handle.kind, handle.label)

    def _is_spelled_out(self, id_: str, of: str) -> bool:
        """True for ``file 13`` or ``id 13``: a short number counts with the word for the thing."""
        wanted = [f" {name} {id_.casefold()} " for name in ("id", of.casefold()) if name]
        return any(one in text.words for one in wanted for text in self.turn)

    def _is_named(self, label: str) -> bool:
        return self.named_in(self.turn, label)

    def named_in(self, texts: Iterable[Text], name: str) -> bool:
        """True if one of the texts names ``name``: as words, or a value in its own form."""
        values = find_values(name)
        return any(
            (values and values <= one.values)
            or holds_name(one.words, name)
            or fits_template(one.text, name)
            for one in texts
        )

    def _names_host(self, value: Value) -> bool:
        """True for a URL at a host that the person named, and from which nothing was read."""
        if value.kind not in ("url", "host"):
            return False
        host = host_part(value.text)
        read_from = {host for one in self.outside for host in hosts_of(values_in(one.where))}
        return host in hosts_of(self._values([*self.turn, *self.earlier])) - read_from

    def is_tied(self, value: str, names: Iterable[str]) -> bool:
        """True if a mail address was read where the person pointed, for a name that they gave.

        Its first part names that person, and no other address that was read does.
        """
        wanted = find_values(value)
        if len(wanted) != 1 or next(iter(wanted)).kind != "mail":
            return False
        for name in filter(can_be_named, names):
            plain = name.strip().casefold()
            alike = {
                one
                for read in self.outside
                for one in read.values
                if one.kind == "mail" and plain in one.text.partition("@")[0]
            }
            if alike == wanted and all(
                read.pointed for read in self.outside if alike <= read.values
            ):
                return True
        return False

    def is_whole_sentence(self, text: str) -> bool:
        """True if the person wrote ``text`` in this turn as a sentence, or after a colon or *that*.

        A part of a sentence may say the opposite of it.
        """
        wanted = re.escape(" ".join(text.split()).rstrip(".!?"))
        pattern = rf"(?:^|[.!?:] |\bthat )[\"'“]?{wanted}[\"'”]?(?:[.!?]|$)"
        said = (" ".join(one.text.split()) for one in self.turn)
        return bool(wanted) and any(re.search(pattern, one, re.IGNORECASE) for one in said)

    def links_in(self) -> Iterator[Text]:
        """Texts from outside whose links may be followed.

        Of a tool's results only those that a read-only tool has from outside count, because others
        can be made to say anything.
        """
        for read in self.outside:
            tool = self._tools.get(read.call.name) if read.call else None
            if read.call is None:
                yield read
            elif tool is not None and tool.read_only and not tool.paged:
                yield from [read] if tool.origin != "workspace" else ()

    # Looking through what was read

    def _met_in_data(
        self, shown: str, holds: Callable[[Text], bool], asked_for: Callable[[Text], bool]
    ) -> Met:
        """Where it was read; own data does not count if its tool only repeats what it was asked,
        or if something was written after the value had been read outside."""
        outside = [one for one in self.outside if holds(one)]
        for read in self.own:
            if (
                holds(read)
                and not asked_for(read)
                and not any(one.writes_before < read.writes_before for one in outside)
            ):
                return Met("trusted", read.where)
        if not outside:
            return Met("composed")
        named = [one for one in outside if one.pointed]
        first = (named or outside)[0]
        source: Source = "pointed" if named else "outside"
        return Met(source, first.where, quote=_around(first.text, shown))

    def _handles(self) -> Iterator[Text]:
        return (one for one in reversed([*self.outside, *self.own]) if one.handles)

    def _values(self, texts: Iterable[Text]) -> set[Value]:
        return {value for one in texts for value in one.values}


SOURCES: tuple[Source, ...] = get_args(Source)


def _start_of_turn(messages: Sequence[Message]) -> int:
    """The index of the message that began the running turn."""
    for number in range(len(messages) - 1, -1, -1):
        if messages[number].speaker == "user" and messages[number].role == "user":
            return number
    return 0


def _named(origins: Iterable[Origin]) -> str:
    return ", ".join(dict.fromkeys(one.source or one.kind for one in origins))


def _around(text: str, shown: str) -> str:
    """The words around a value, on one line; empty if it was written in another form."""
    at = text.casefold().find(shown.casefold())
    if at < 0:
        return ""
    start, stop = max(0, at - QUOTE_CHARS), at + len(shown) + QUOTE_CHARS
    return " ".join(text[start:stop].split())


def _is_whole(text: str, value: Value) -> bool:
    """True if the value is all that a text says: a name may hold anything."""
    is_one_word = len(text.split()) == 1 or value.kind in ("iban", "phone", "number")
    return is_one_word and len(text) <= MAX_LINE_CHARS and find_values(text) == {value}


def _is_file(text: str) -> bool:
    stem, dot, ending = text.rpartition(".")
    return bool(stem and dot) and ending.isalnum() and len(ending) <= 5


def _as_text(arguments: Any) -> str:
    return json.dumps(dict(arguments), ensure_ascii=False, default=str)
