"""Whether a request carries anything out: to whom, and in which words."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from urllib.parse import unquote, urljoin, urlsplit

from hookline_hookspecs import Effect, Message, Origin, TextBlock, Tool, ToolCall, ToolResultBlock

from .taint import URL, host_of, hosts_in, is_trusted

_BETWEEN = re.compile(r"[\s<>\"'`()\[\]{}|]+")
_EMBEDDED = re.compile(r"//([^\s/?#\\]+)")
_TAIL = ".,;:!?*_"
"""Marks at the end of a word that are no part of an address."""


class Reach:
    """What a session has read, asked of the addresses that a call would reach.

    Args:
        history: the session's messages.
        trusted: names of hosts, in lower case.
        people: the sources of those whose words count, such as ``telegram:222``; the operator's
            and admins' always do.
        tools: by name; of their results only those that a read-only tool has from outside count,
            because others can be made to say anything.
        spoken: False where the first message is a model's, as in a sub-agent.
    """

    def __init__(
        self,
        history: Iterable[Message],
        trusted: Collection[str],
        people: Collection[str],
        tools: Mapping[str, Tool],
        *,
        spoken: bool,
    ) -> None:
        self._trusted, self._people, self._tools = trusted, people, tools
        self._named: set[str] = set()
        self._given: set[str] = set()
        self._read: list[tuple[str, list[str], str]] = []
        self._calls: dict[str, ToolCall] = {}
        self._choices: set[str] = set()
        sources: set[str] = set()
        for message in history:
            sources |= {host_of(one.source) for one in message.origins if one.kind == "outside"}
            for block in message.blocks:
                self._take(block, spoken=spoken)
        self._named -= sources

    def _take(self, block: object, *, spoken: bool) -> None:
        if isinstance(block, ToolCall):
            self._calls[block.id] = block
            offered = block.arguments.get("choices")
            self._choices |= set(map(str, offered)) if isinstance(offered, list | tuple) else set()
        elif isinstance(block, TextBlock) and spoken:
            if self._is_persons(block):
                # A choice that a model has worded is not what the person said.
                text = "" if block.text.strip() in self._choices else block.text
                self._named |= hosts_in(text)
                self._given |= {_plain(url) for url in URL.findall(text)}
            elif any(one.kind == "outside" for one in block.origins):
                self._read.append((block.text, [], ""))
        elif isinstance(block, ToolResultBlock) and block.ok and self._is_read(block):
            bases = [one.source for one in block.origins if host_of(one.source)]
            asked = json.dumps(dict(self._calls[block.call_id].arguments), ensure_ascii=False)
            self._read.append((block.text, bases, asked))

    def _is_persons(self, block: TextBlock) -> bool:
        """True for words that a person wrote who is in charge here, and did not forward."""
        return bool(block.origins) and all(
            one.kind in ("operator", "admin")
            or (one.kind == "person" and one.source in self._people)
            for one in block.origins
        )

    def _is_read(self, block: ToolResultBlock) -> bool:
        call = self._calls.get(block.call_id)
        tool = self._tools.get(call.name) if call else None
        if tool is None or not tool.read_only or tool.paged:
            return False
        return tool.origin != "workspace"

    def carries_out(self, effect: Effect) -> bool:
        """True if ``effect`` may take something to somebody whom no person named.

        A request that only fetches carries nothing out if the person gave its whole address, or if
        what was read from outside held it, in full or as a link.
        """
        if _plain(effect.target) in self._given and effect.kind == "network":
            return False
        host = host_of(effect.target) or host_of(f"//{effect.target}") or effect.target.casefold()
        if self._is_known(host):
            return not all(self._is_known(one) for one in _embedded(effect.target))
        return effect.kind == "send" or not self._was_read(effect.target)

    def _is_known(self, host: str) -> bool:
        if not host:
            return False
        return host in self._named or is_trusted(Origin("outside", f"//{host}"), self._trusted)

    def _was_read(self, url: str) -> bool:
        if not host_of(url):
            return False
        plain = _plain(url)
        return any(
            _holds(plain, text, bases) for text, bases, asked in self._read if plain not in asked
        )


def _plain(url: str) -> str:
    return url.strip().partition("#")[0].rstrip(_TAIL).rstrip("/")


def _embedded(url: str) -> set[str]:
    """Hosts that stand in the path or the query of a URL, to which it may lead on."""
    if not host_of(url):
        return set()
    parts = urlsplit(url)
    rest = unquote(unquote(f"{parts.path}?{parts.query}"))
    return {host for name in _EMBEDDED.findall(rest) if (host := host_of(f"//{name}"))}


def _holds(plain: str, text: str, bases: Iterable[str]) -> bool:
    """True if ``text`` names the address, or, as a page of ``bases``, links to it."""
    last = plain.rpartition("/")[2]
    words = {
        word.rstrip(_TAIL).rstrip("/")
        for part in _BETWEEN.split(text)
        if last in part
        for word in (part, part.partition("#")[0])
    }
    if plain in words or plain.partition("://")[2] in words:
        return True
    return any(_joined(base, word) == plain for base in bases for word in words)


def _joined(base: str, word: str) -> str:
    try:
        return _plain(urljoin(base, word))
    except ValueError:
        return ""
