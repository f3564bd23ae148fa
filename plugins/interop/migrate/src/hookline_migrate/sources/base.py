"""What the readers share: items with stable ids, files that fail alone, settings in one form."""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import yaml
from hookline_hookspecs.importers import Item, Outcome

from ..reading import Folder, Unreadable, a_dict, a_list, a_text
from ..transcript import Said

TERMINAL = "terminal:default"
DIRECT = frozenset(
    {"cli", "local", "tui", "web", "webchat", "main", "api_server", "acp", "desktop"}
)
"""Channels of the other programs at which only their operator sits."""
CONTEXT = 200_000
"""Characters of a context file that are read; its own limit is that of plugin context-files."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a person chose: whose portrait a ``USER.md`` is, and whether keys are moved."""

    chat: str = TERMINAL
    secrets: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """An item as it was read; ``outcome`` where it is known already that it will not be taken."""

    item: Item
    outcome: Outcome | None = None
    version: str = ""


class Source(ABC):
    """Reads one program's home. Nothing in it is written or run.

    Args:
        folder: the home.
        options: a person's choices.
    """

    name: str
    signs: tuple[str, ...]
    """Files and folders of which a home of this program has at least one."""
    oauth: tuple[str, ...] = ()
    """Files with logins; they are named, and left."""
    left: ClassVar[Mapping[str, str]] = {}
    """Files and folders that are not moved, with the reason."""

    def __init__(self, folder: Folder, options: Options) -> None:
        self.folder = folder
        self.options = options

    @abstractmethod
    def sections(self) -> Iterator[tuple[str, str, Iterator[Entry]]]:
        """Parts of the home: the kind, the place, and the entries as they are read."""

    def conversation(self, data: Mapping[str, Any]) -> list[Said]:
        """What was said in the session of an item's ``data``. Raises ``Unreadable``."""
        raise NotImplementedError

    def entries(self) -> Iterator[Entry]:
        """Every item. What cannot be read is one with the state ``error``; the rest goes on."""
        for kind, place, found in self.sections():
            try:
                yield from found
            except Unreadable as error:
                yield self.told(kind, place, Outcome("error", "", str(error)))
        yield from self._left()

    # Making entries

    def item(self, kind: str, key: str, place: str, data: Mapping[str, Any]) -> Item:
        """An item whose id follows from the program, the kind and ``key``."""
        given = "\0".join([self.name, kind, key]).encode("utf-8", "replace")
        id_ = hashlib.sha256(given).hexdigest()[:16]
        return Item(id_, kind, f"{self.name}: {place}", data)

    def told(self, kind: str, place: str, outcome: Outcome) -> Entry:
        """An entry that is only reported."""
        return Entry(self.item(kind, f"told {place}", place, {}), outcome)

    def notes(self, path: str, texts: Sequence[str], chat: str = "") -> Iterator[Entry]:
        """A note for each text."""
        for text in dict.fromkeys(one.strip() for one in texts):
            if text:
                data = {"text": text, "chat": chat}
                yield Entry(self.item("note", f"{chat}\0{text}", path, data))

    def portrait(self, path: str, chat: str, text: str | None) -> Iterator[Entry]:
        """What the program knew of a person, unless it is its own template."""
        if text is None or not text.strip():
            return
        own = without_template(text)
        item = self.item("user", f"{path}\0{chat}", path, {"text": own, "chat": chat})
        stock = is_stock(text) or not own.strip()
        yield Entry(item, Outcome("skipped", "", "it is the program's own text") if stock else None)

    def document(self, path: str, target: str) -> Iterator[Entry]:
        """A file that becomes ``target`` of the home."""
        text = self.folder.text(path, CONTEXT)
        if text is None or not text.strip():
            return
        item = self.item("document", f"{path}\0{target}", path, {"text": text, "path": target})
        stock = Outcome("skipped", "", "it is the program's own text") if is_stock(text) else None
        yield Entry(item, stock)

    def skills(self, path: str) -> Iterator[Entry]:
        """Every folder below with a ``SKILL.md``; hidden ones are the program's own."""
        for inner in self._skill_folders(path, 3):
            real = self.folder.real(inner)
            if real is not None:
                yield Entry(self.item("skill", inner, inner, {"folder": str(real)}))

    def _skill_folders(self, path: str, depth: int) -> Iterator[str]:
        for name in self.folder.names(path):
            inner = f"{path}/{name}"
            if name.startswith(".") or not (self.folder.root / inner).is_dir():
                continue
            if (self.folder.root / inner).is_symlink():
                told = Outcome("blocked", "", "it is a link; a skill is a folder of plain files")
                yield from ()
                self._links.append(self.told("skill", inner, told))
            elif any(self.folder.exists(f"{inner}/{main}") for main in ("SKILL.md", "skill.md")):
                yield inner
            elif depth:
                yield from self._skill_folders(inner, depth - 1)

    @property
    def _links(self) -> list[Entry]:
        kept: list[Entry] = self.__dict__.setdefault("_kept_links", [])
        return kept

    def servers(self, place: str, servers: Any) -> Iterator[Entry]:
        """MCP servers in the form that most programs share."""
        for name, given in a_dict(servers).items():
            settings, secrets, lost = server_settings(str(name), a_dict(given))
            data = {"name": plain_name(str(name)), "settings": settings, "secrets": secrets}
            item = self.item("server", str(name), f"{place}: {a_text(name)}", data)
            told = None
            if not (settings.get("command") or settings.get("url")):
                told = Outcome("blocked", "", "it has neither a command nor a url")
            elif lost:
                told = Outcome("blocked", "", lost)
            yield Entry(item, told)

    def people(self, place: str, channel: str, ids: Any) -> Iterator[Entry]:
        """People of a channel, to be proposed."""
        for one in a_list(ids):
            text = a_text(one).strip()
            if text:
                person = f"{a_text(channel)}:{text}"
                yield Entry(self.item("person", person, place, {"person": person}))

    def keys(self, path: str = ".env") -> Iterator[Entry]:
        """The keys of a ``.env``; their values are in the items and are never shown."""
        text = self.folder.text(path)
        for name, value in variables(text or "").items():
            item = self.item("key", name, f"{path}: {name}", {"name": name, "value": value})
            if not is_key(name):
                yield Entry(item, Outcome("skipped", "", "it is no key that Hookline reads"))
            elif not self.options.secrets:
                yield Entry(item, Outcome("skipped", "", "keys are moved only with --secrets"))
            else:
                yield Entry(item)

    def _left(self) -> Iterator[Entry]:
        yield from self._links
        for path in self.oauth:
            if self.folder.exists(path):
                told = "logins (OAuth) are not moved: log in again"
                yield self.told("login", path, Outcome("skipped", "", told))
        for path, reason in self.left.items():
            if self._holds(path):
                yield self.told("other", path, Outcome("skipped", "", reason))

    def _holds(self, path: str) -> bool:
        """Whether there is such a file, or a folder with something in it."""
        place = self.folder.root / path
        if place.is_symlink() or not place.is_dir():
            return self.folder.exists(path)
        return any(place.iterdir())


def plain_name(name: str) -> str:
    """A server's name as one of Hookline's: letters and digits, single dashes."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:32].strip("-") or "server"


def server_settings(
    name: str, given: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str], str]:
    """A server's settings, the secrets taken out of them by variable, and why it cannot be moved.

    Every value of ``env`` and ``headers`` may be a secret: it becomes a reference to a variable.
    """
    url = a_text(given.get("url") or given.get("endpoint") or given.get("serverUrl"))
    settings: dict[str, Any] = (
        {"url": _literal(url)} if url else {"command": _literal(a_text(given.get("command")))}
    )
    if not url and given.get("args"):
        settings["args"] = [_literal(a_text(one)) for one in a_list(given["args"])]
    if url and not re.match(r"https?://[^/\s]", url):
        return settings, {}, "its url is no http address"
    if a_text(given.get("transport") or given.get("type")) == "sse":
        return settings, {}, "the transport sse is not supported; give its Streamable HTTP url"
    secrets: dict[str, str] = {}
    for part in ("env", "headers"):
        values = {}
        for key, value in a_dict(given.get(part)).items():
            variable = re.sub(r"[^A-Za-z0-9]+", "_", f"MCP_{name}_{key}").strip("_").upper()
            secrets[variable] = a_text(value)
            values[a_text(key)] = f"${{{variable}:-}}"
        if values and (part == "headers") == bool(url):
            settings[part] = values
    if a_text(given.get("auth")) == "oauth":
        settings["auth"] = "oauth"
    return settings, secrets, ""


def variables(text: str) -> dict[str, str]:
    """The variables of a ``.env``, without quotes; what is no assignment is left out."""
    found: dict[str, str] = {}
    for line in text.split("\n"):
        match = re.fullmatch(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*?)\s*", line, re.ASCII)
        if match is None:
            continue
        value = match[2]
        if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
            value = value[1:-1]
        elif " #" in value:
            value = value.partition(" #")[0].rstrip()
        if value:
            found[match[1]] = value
    return found


def is_key(name: str) -> bool:
    """True for names of keys and tokens; never for what steers programs or Hookline itself."""
    good = re.fullmatch(r"[A-Z][A-Z0-9_]*_(API_KEY|TOKEN|SECRET|KEY)", name)
    return good is not None and not re.match(r"(HOOKLINE|LD|DYLD|PYTHON|GIT|SSH|NODE)_", name)


def paragraphs(text: str) -> list[str]:
    """The parts of a page of Markdown: paragraphs, and top-level items of lists; no headings."""
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    parts: list[str] = []
    block: list[str] = []

    def close() -> None:
        if joined := "\n".join(block).strip():
            parts.append(joined)
        block.clear()

    for line in text.split("\n"):
        bullet = re.match(r"[-*+]\s+|\d+\.\s+", line)
        if not line.strip() or line.startswith("#") or re.fullmatch(r"\s*([-*_])\1{2,}\s*", line):
            close()
        elif bullet:
            close()
            block.append(line[bullet.end() :])
        else:
            block.append(line)
    close()
    return parts


def is_stock(text: str) -> bool:
    """True for a template that the program wrote itself and nobody has changed."""
    return fingerprint(text) in _stock()


def without_template(text: str) -> str:
    """A person's own lines of a page that began as a template; any other page as it is."""
    known = {str(one) for one in (_stock_data().get("lines") or {}).values()}
    lines = text.split("\n")
    if sum(fingerprint(line) in known for line in lines) < len(known) / 2:
        return text
    return "\n".join(line for line in lines if fingerprint(line) not in known)


def fingerprint(text: str) -> str:
    """Of a text, whatever its spacing."""
    return hashlib.sha256(" ".join(text.split()).encode("utf-8", "replace")).hexdigest()[:16]


def _stock() -> frozenset[str]:
    data = _stock_data()
    return frozenset(str(one) for prints in data.values() for one in prints.values())


@cache
def _stock_data() -> dict[str, dict[str, str]]:
    text = (Path(__file__).parent / "stock.yaml").read_text("utf-8")
    found: dict[str, dict[str, str]] = yaml.safe_load(text)
    return found


def placed(channel: str, chat_id: str) -> tuple[str, str]:
    """Where a conversation belongs: the channel and chat, the terminal for an operator's own."""
    channel, chat_id = a_text(channel).strip().lower(), a_text(chat_id).strip()
    if not channel or channel in DIRECT:
        return "terminal", "default"
    return channel, chat_id or "unknown"


def _literal(text: str) -> str:
    """``text`` as config.yaml holds it, so that nothing in it is looked up."""
    return text.replace("${", "$${")
