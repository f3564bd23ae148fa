"""The judge's data, read once: ``data/*.yaml`` as typed tables."""

from __future__ import annotations

import fnmatch
import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, Literal, TypeAlias

from hookline_hookspecs.origins import EffectKind

from .values import MARKS

_UNKNOWN = f"[{''.join(MARKS)}]"
Language: TypeAlias = Mapping[str, Any]
"""A row of ``languages`` in ``interpreters.yaml``."""


@cache
def load(name: str) -> Any:
    """The parsed content of ``data/NAME.yaml``."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    text = files(__package__).joinpath("data", f"{name}.yaml").read_text("utf-8")
    return yaml.load(text, Loader=loader)  # noqa: S506 - a safe loader


@dataclass(frozen=True)
class Act:
    """A row of ``acts.yaml``, ``destroys.yaml`` or ``sends.yaml``."""

    commands: tuple[str, ...]
    source: str
    verdict: Literal["note", "ask", "deny"] = "ask"
    """``note``: it is an effect and asks nobody."""
    effect: EffectKind = "execute"
    sub: str = ""
    restorable: bool = False
    """A checkpoint of the workspace brings back what it throws away."""
    reason: str = ""
    deed: str = ""
    match: str = ""
    unless: str = ""
    example: str = ""

    @cached_property
    def _match(self) -> re.Pattern[str]:
        return re.compile(self.match.replace("<unknown>", _UNKNOWN))

    @cached_property
    def _unless(self) -> re.Pattern[str]:
        return re.compile(self.unless)

    @cached_property
    def _sub(self) -> re.Pattern[str]:
        return re.compile(f"(?:{self.sub.replace('<unknown>', _UNKNOWN)})(?: |\\Z)")

    def fits(self, arguments: str, after_options: str = "") -> bool:
        """True if this act is done with ``arguments``, joined by spaces.

        ``after_options`` are those that follow the program's own options.
        """
        if self.sub:
            found = self._sub.match(after_options)
            if found is None:
                return False
            arguments = after_options[found.end() :]
        if self.unless and self._unless.search(arguments):
            return False
        return not self.match or bool(self._match.search(arguments))


@cache
def _acts() -> tuple[dict[str, list[Act]], list[tuple[str, Act]]]:
    exact: dict[str, list[Act]] = {}
    globs: list[tuple[str, Act]] = []
    for row in (row for name in ("acts", "destroys", "sends") for row in load(name)):
        act = Act(**{**row, "commands": tuple(row["commands"])})
        for name in act.commands:
            if "*" in name:
                globs.append((name, act))
            else:
                exact.setdefault(name, []).append(act)
    return exact, globs


def acts_of(name: str) -> list[Act]:
    """The acts that the command ``name`` can do."""
    exact, globs = _acts()
    return exact.get(name, []) + [act for glob, act in globs if fnmatch.fnmatchcase(name, glob)]


class PlaceTables:
    """``places.yaml`` with its expressions compiled."""

    def __init__(self) -> None:
        data = load("places")
        self.top_level = frozenset(data["top_level"])
        for key in ("system", "homes", "devices", "kernel", "harmless"):
            setattr(self, key, re.compile(data[key]))
        self.startup = re.compile(data["startup"])
        self.keys = re.compile(data["keys"])
        self.repository = re.compile(data["repository"])
        self.secret = re.compile(data["secret"])
        self.drive = re.compile(data["drive"])
        self.temporary: tuple[str, ...] = tuple(data["temporary"])
        self.secret_names: tuple[str, ...] = tuple(data["secret_names"])
        self.metadata = frozenset(data["metadata"])
        self.local = frozenset(data["local"])
        self.metadata_networks = [ipaddress.ip_network(n) for n in data["metadata_addresses"]]
        self.private = [ipaddress.ip_network(n) for n in data["private"]]
        self.web_clients = frozenset(data["web_clients"])
        self.network_clients = frozenset(data["network_clients"])
        self.listers = frozenset(data["listers"])
        self.uploaders = frozenset(data["uploaders"])
        self.path_options = {k: frozenset(v) for k, v in data["path_options"].items()}
        self.text_commands = frozenset(data["text_commands"])
        self.code_hosts = frozenset(data["code_hosts"])
        self.first_is_text = frozenset(data["first_is_text"])
        self.text_options = {k: frozenset(v) for k, v in data["text_options"].items()}

    system: re.Pattern[str]
    homes: re.Pattern[str]
    drive: re.Pattern[str]
    devices: re.Pattern[str]
    kernel: re.Pattern[str]
    harmless: re.Pattern[str]


@cache
def places() -> PlaceTables:
    """The one :class:`PlaceTables`."""
    return PlaceTables()


@cache
def shells() -> frozenset[str]:
    """Names of shells."""
    return frozenset(load("interpreters")["shells"])


class Origins:
    """``origins.yaml``: what programs' outputs hold."""

    def __init__(self) -> None:
        data = load("origins")
        self.fetch = frozenset(data["fetch"])
        self.copies_in = frozenset(data["copies_in"])
        self.saves = frozenset(data["saves"])
        self.unpack = frozenset(data["unpack"])
        self.trusted = frozenset(data["trusted"])
        self.clones = re.compile(data["clones"])
        self._marks: dict[str, list[tuple[str, Act]]] = {}
        for row in data["marks"]:
            rule = Act(tuple(row["commands"]), "", match=row["match"], unless=row.get("unless", ""))
            for name in rule.commands:
                self._marks.setdefault(name, []).append((row["mark"], rule))

    def mark(self, name: str, arguments: str) -> str | None:
        """``environ`` or ``processes`` if the output of this call holds that."""
        rules = self._marks.get(name, ())
        return next((mark for mark, rule in rules if rule.fits(arguments)), None)


@cache
def origins() -> Origins:
    """The one :class:`Origins`."""
    return Origins()


def warm_up() -> None:
    """Read all data now rather than at the first command."""
    for name in ("wrappers", "interpreters", "speech", "files", "loads"):
        load(name)
    _acts()
    places()
    origins()


@cache
def known_programs() -> frozenset[str]:
    """Programs of which some table tells what they do."""
    files, codes, speech = load("files"), load("interpreters"), load("speech")
    lists = [files[key] for key in ("writes", "deletes", "moves", "copies", "reads", "harmless")]
    lists += [files["in_place"], files["outputs"], speech["speakers"], load("wrappers")]
    lists += [codes["languages"], codes["shells"], codes["hooks"], load("loads")["programs"]]
    lists += [load("loads")["runners"], _acts()[0], origins().fetch, origins().unpack]
    lists.append(places().text_commands)
    return frozenset(name for names in lists for name in names)


@cache
def runners() -> frozenset[str]:
    """Programs that run code of the workspace, whatever their arguments: build tools, tests."""
    return frozenset(load("loads")["runners"])


_LOADER = re.compile(r"ld(-linux|-musl|64)?[\w.-]*\.so")
_VERSIONED = re.compile(r"(python|pypy|perl|ruby|node|lua|php|bash|zsh|ksh)w?[\d.]+\Z")


def base_name(command: str) -> str:
    """A command's name without folder, version, ``.exe`` and case."""
    name = command.replace("\\", "/").rsplit("/", 1)[-1].lower().removesuffix(".exe")
    if name.startswith("ld") and _LOADER.match(name):
        return "ld.so"
    match = _VERSIONED.match(name)
    return match[1] if match else name
