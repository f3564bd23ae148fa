"""Shared by the readers: items with stable ids, and parsing of common files."""

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

from ..source_folder import SourceFolder, Unreadable, as_dict, as_list, as_text
from ..transcript import TranscriptEntry

TERMINAL = "terminal:default"
OPERATOR_CHANNELS = frozenset(
    {"cli", "local", "tui", "web", "webchat", "main", "api_server", "acp", "desktop"}
)
"""Channels of the other programs that only their operator uses."""
MAX_CONTEXT_CHARS = 200_000
"""Characters read of a context file; plugin context-files has a limit of its own."""


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """A person's choices: the chat that a ``USER.md`` describes, and whether to import keys."""

    chat: str = TERMINAL
    secrets: bool = False


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """An item as it was read; with ``outcome`` if it is already clear that it is not imported."""

    item: Item
    outcome: Outcome | None = None
    version: str = ""


class MigrationSource(ABC):
    """Reads one program's home. Nothing in it is written or run.

    Args:
        folder: the home.
        options: a person's choices.
    """

    name: str
    markers: tuple[str, ...]
    """Files and folders; a home of this program has at least one of them."""
    login_files: tuple[str, ...] = ()
    """Files with logins; they are reported, not imported."""
    not_imported: ClassVar[Mapping[str, str]] = {}
    """Other files and folders that are not imported, with the reason."""

    def __init__(self, folder: SourceFolder, options: SourceOptions) -> None:
        self.folder = folder
        self.options = options
        self._links: list[SourceEntry] = []
        """Skills that are links; they are only reported."""

    @abstractmethod
    def sections(self) -> Iterator[tuple[str, str, Iterator[SourceEntry]]]:
        """Yield the parts of the home: kind, place and entries, which are read lazily."""

    def conversation(self, data: Mapping[str, Any]) -> list[TranscriptEntry]:
        """Return the messages of the session in an item's ``data``. Raises ``Unreadable``."""
        raise NotImplementedError

    def entries(self) -> Iterator[SourceEntry]:
        """Yield every item. An unreadable part becomes an item with state ``error``."""
        for kind, place, found in self.sections():
            try:
                yield from found
            except Unreadable as error:
                yield self.report_only(kind, place, Outcome("error", "", str(error)))
        yield from self._report_not_imported()

    def item(self, kind: str, key: str, place: str, data: Mapping[str, Any]) -> Item:
        """Return an item whose id is derived from the program, the kind and ``key``."""
        key_bytes = "\0".join([self.name, kind, key]).encode("utf-8", "replace")
        id_ = hashlib.sha256(key_bytes).hexdigest()[:16]
        return Item(id_, kind, f"{self.name}: {place}", data)

    def report_only(self, kind: str, place: str, outcome: Outcome) -> SourceEntry:
        """Return an entry that is only reported."""
        return SourceEntry(self.item(kind, f"told {place}", place, {}), outcome)

    def notes(self, path: str, texts: Sequence[str], chat: str = "") -> Iterator[SourceEntry]:
        """Yield a note for each text."""
        for text in dict.fromkeys(one.strip() for one in texts):
            if text:
                data = {"text": text, "chat": chat}
                yield SourceEntry(self.item("note", f"{chat}\0{text}", path, data))

    def user_profile(self, path: str, chat: str, text: str | None) -> Iterator[SourceEntry]:
        """Yield a person's profile, unless it is the program's template."""
        if text is None or not text.strip():
            return
        own = without_template(text)
        item = self.item("user", f"{path}\0{chat}", path, {"text": own, "chat": chat})
        stock = is_template(text) or not own.strip()
        yield SourceEntry(
            item, Outcome("skipped", "", "it is the program's template") if stock else None
        )

    def document(self, path: str, target: str) -> Iterator[SourceEntry]:
        """Yield a file that becomes ``target`` of the home."""
        text = self.folder.text(path, MAX_CONTEXT_CHARS)
        if text is None or not text.strip():
            return
        item = self.item("document", f"{path}\0{target}", path, {"text": text, "path": target})
        stock = (
            Outcome("skipped", "", "it is the program's template") if is_template(text) else None
        )
        yield SourceEntry(item, stock)

    def skills(self, path: str) -> Iterator[SourceEntry]:
        """Yield every folder with a ``SKILL.md``; hidden ones belong to the program."""
        for inner in self._skill_folders(path, 3):
            real = self.folder.real(inner)
            if real is not None:
                yield SourceEntry(self.item("skill", inner, inner, {"folder": str(real)}))

    def _skill_folders(self, path: str, depth: int) -> Iterator[str]:
        for name in self.folder.names(path):
            inner = f"{path}/{name}"
            if name.startswith(".") or not (self.folder.root / inner).is_dir():
                continue
            if (self.folder.root / inner).is_symlink():
                outcome = Outcome(
                    "blocked", "", "it is a link; a skill must be a folder of regular files"
                )

                self._links.append(self.report_only("skill", inner, outcome))
            elif any(self.folder.exists(f"{inner}/{main}") for main in ("SKILL.md", "skill.md")):
                yield inner
            elif depth:
                yield from self._skill_folders(inner, depth - 1)

    def servers(self, place: str, servers: Any) -> Iterator[SourceEntry]:
        """Yield MCP servers in the form that most programs share."""
        for name, given in as_dict(servers).items():
            settings, secrets, lost = server_settings(str(name), as_dict(given))
            data = {"name": plain_name(str(name)), "settings": settings, "secrets": secrets}
            item = self.item("server", str(name), f"{place}: {as_text(name)}", data)
            outcome = None
            if not (settings.get("command") or settings.get("url")):
                outcome = Outcome("blocked", "", "it has neither command nor url")
            elif lost:
                outcome = Outcome("blocked", "", lost)
            yield SourceEntry(item, outcome)

    def people(self, place: str, channel: str, ids: Any) -> Iterator[SourceEntry]:
        """Yield people of a channel, to be proposed."""
        for one in as_list(ids):
            text = as_text(one).strip()
            if text:
                person = f"{as_text(channel)}:{text}"
                yield SourceEntry(self.item("person", person, place, {"person": person}))

    def keys(self, path: str = ".env") -> Iterator[SourceEntry]:
        """Yield the keys of a ``.env``. Their values are in the items and never shown."""
        text = self.folder.text(path)
        for name, value in variables(text or "").items():
            item = self.item("key", name, f"{path}: {name}", {"name": name, "value": value})
            if not is_key(name):
                yield SourceEntry(item, Outcome("skipped", "", "not a key that Hookline reads"))
            elif not self.options.secrets:
                yield SourceEntry(
                    item, Outcome("skipped", "", "keys are imported only with --secrets")
                )
            else:
                yield SourceEntry(item)

    def _report_not_imported(self) -> Iterator[SourceEntry]:
        yield from self._links
        for path in self.login_files:
            if self.folder.exists(path):
                reason = "logins (OAuth) are not imported: log in again"
                yield self.report_only("login", path, Outcome("skipped", "", reason))
        for path, reason in self.not_imported.items():
            if self._holds(path):
                yield self.report_only("other", path, Outcome("skipped", "", reason))

    def _holds(self, path: str) -> bool:
        """True for an existing file, or a folder that is not empty."""
        place = self.folder.root / path
        if place.is_symlink() or not place.is_dir():
            return self.folder.exists(path)
        return any(place.iterdir())


def plain_name(name: str) -> str:
    """Convert a server's name to letters, digits and single dashes."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:32].strip("-") or "server"


def server_settings(
    name: str, given: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str], str]:
    """Return a server's settings, its secrets by variable, and why it cannot be imported.

    Every value of ``env`` and ``headers`` may be a secret, so it becomes a reference to a variable.
    """
    url = as_text(given.get("url") or given.get("endpoint") or given.get("serverUrl"))
    settings: dict[str, Any] = (
        {"url": _literal(url)} if url else {"command": _literal(as_text(given.get("command")))}
    )
    if not url and given.get("args"):
        settings["args"] = [_literal(as_text(one)) for one in as_list(given["args"])]
    if url and not re.match(r"https?://[^/\s]", url):
        return settings, {}, "its url is not an http address"
    if as_text(given.get("transport") or given.get("type")) == "sse":
        return settings, {}, "the transport sse is not supported; give its Streamable HTTP url"
    secrets: dict[str, str] = {}
    for part in ("env", "headers"):
        values = {}
        for key, value in as_dict(given.get(part)).items():
            variable = re.sub(r"[^A-Za-z0-9]+", "_", f"MCP_{name}_{key}").strip("_").upper()
            secrets[variable] = as_text(value)
            values[as_text(key)] = f"${{{variable}:-}}"
        if values and (part == "headers") == bool(url):
            settings[part] = values
    if as_text(given.get("auth")) == "oauth":
        settings["auth"] = "oauth"
    return settings, secrets, ""


def variables(text: str) -> dict[str, str]:
    """Return the variables of a ``.env``, without quotes; other lines are ignored."""
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
    """True for names of keys and tokens, but not for variables that control programs."""
    good = re.fullmatch(r"[A-Z][A-Z0-9_]*_(API_KEY|TOKEN|SECRET|KEY)", name)
    return good is not None and not re.match(r"(HOOKLINE|LD|DYLD|PYTHON|GIT|SSH|NODE)_", name)


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs and top-level list items of Markdown, without headings."""
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


def is_template(text: str) -> bool:
    """True for an unchanged template of the program."""
    return fingerprint(text) in _template_digests()


def without_template(text: str) -> str:
    """Remove the template's lines from a page that began as a template."""
    known = {str(one) for one in (_read_templates().get("lines") or {}).values()}
    lines = text.split("\n")
    if sum(fingerprint(line) in known for line in lines) < len(known) / 2:
        return text
    return "\n".join(line for line in lines if fingerprint(line) not in known)


def fingerprint(text: str) -> str:
    """Return a digest of a text that ignores spacing."""
    return hashlib.sha256(" ".join(text.split()).encode("utf-8", "replace")).hexdigest()[:16]


def _template_digests() -> frozenset[str]:
    data = _read_templates()
    return frozenset(str(one) for prints in data.values() for one in prints.values())


@cache
def _read_templates() -> dict[str, dict[str, str]]:
    text = (Path(__file__).parent / "templates.yaml").read_text("utf-8")
    found: dict[str, dict[str, str]] = yaml.safe_load(text)
    return found


def map_chat(channel: str, chat_id: str) -> tuple[str, str]:
    """Return channel and chat of a conversation; the operator's own belong to the terminal."""
    channel = as_text(channel).strip().lower()
    chat_id = as_text(chat_id).strip()
    if not channel or channel in OPERATOR_CHANNELS:
        return "terminal", "default"
    return channel, chat_id or "unknown"


def _literal(text: str) -> str:
    """Escape ``text`` for config.yaml, so that no variable in it is expanded."""
    return text.replace("${", "$${")
