"""What decides a call, and where each value that decides it was met."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hookline_hookspecs import Effect, EffectKind, Handle, Sink, SinkKind, Tool, ToolCall

from .known_values import SOURCES, KnownValues, Met
from .links import embedded_hosts, was_read
from .outcomes import Outcome, outcome
from .values import find_values, host_part, plain_url

LASTING = ("learn", "schedule", "configure")
"""Effects that last: they are judged by what is kept, unless a target is declared."""
CARRIES_CONTENT = ("send", "pay", "book", "grant_access", "credential", *LASTING)
DECIDING: Mapping[EffectKind, tuple[SinkKind, ...]] = {
    "network": ("recipient",),
    "send": ("recipient", "target"),
    "pay": ("recipient", "target"),
    "grant_access": ("recipient", "target"),
    "credential": ("credential", "target"),
}
"""The arguments that decide an effect; for the others, the targets."""
LOCAL = ("read", "write", "delete")
"""Effects on files: those of the workspace can be restored, and keep their mark."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A value that decides what a call does, and what follows from where it was met.

    ``argument`` is empty if the tool declares no sinks and the value is the effect's target.
    """

    effect: EffectKind
    sink: SinkKind
    value: str
    met: Met
    outcome: Outcome
    argument: str = ""
    guessed: bool = False


class CallJudge:
    """Judges the calls of one conversation.

    Args:
        known: what the conversation has read.
        is_trusted_host: whether the operator trusts a host.
        workspace: the folder in which files can be restored.
    """

    def __init__(
        self, known: KnownValues, is_trusted_host: Callable[[str], bool], workspace: Path
    ) -> None:
        self._known, self._is_trusted_host, self._workspace = known, is_trusted_host, workspace

    def findings(
        self, tool: Tool, call: ToolCall, effects: Sequence[Effect], previewed: Mapping[str, Handle]
    ) -> list[Finding]:
        """Every value that decides the call, in the order of the effects and arguments.

        ``previewed`` is what the tool says that the ids in the call stand for.
        """
        sinks = tool.argument_sinks
        given = {name: list(_flat(call.arguments.get(name), sinks[name])) for name in sinks}
        found: list[Finding] = []
        for effect in _without_doubles([*effects, *_undeclared(effects, sinks)]):
            if effect.kind == "execute":
                continue  # judged by the files that it names
            if not call.arguments and effect.kind == "write":
                found.append(self._without_arguments(effect))
                continue
            found += self._deciding(effect, sinks, given, previewed)
            if effect.kind in CARRIES_CONTENT:
                found += self._content(effect.kind, sinks, given)
        return list(dict.fromkeys(found))

    def _deciding(
        self,
        effect: Effect,
        sinks: Mapping[str, Sink],
        given: Mapping[str, list[str]],
        previewed: Mapping[str, Handle],
    ) -> Iterator[Finding]:
        kinds = DECIDING.get(effect.kind, ("target",))
        names = [name for name, sink in sinks.items() if sink.kind in kinds and given[name]]
        if effect.kind == "unknown":
            yield Finding("unknown", "target", effect.target, Met("composed"), "ask")
            yield from self._guessed(sinks, given)
        elif effect.kind in LASTING and not names:
            yield self._kept(effect, sinks, given)
        elif not names or (effect.kind in LOCAL and self._is_in_workspace(effect.target)):
            yield self._by_effect(effect)
        else:
            values = [(name, value) for name in names for value in given[name]]
            named = [value for _, value in values if self._known.met(value).source == "named"]
            for name, value in values:
                handle = previewed.get(name)
                if handle is not None and handle.id == value and sinks[name].kind == "target":
                    met = self._known.met_handle(handle)
                else:
                    met = self._met(effect, sinks[name], value)
                met = self._weighed(effect, sinks[name], value, met, named)
                verdict = outcome(effect.kind, met.source)
                yield Finding(effect.kind, sinks[name].kind, value, met, verdict, name)

    def _weighed(
        self, effect: Effect, sink: Sink, value: str, met: Met, named: Sequence[str]
    ) -> Met:
        """Where a value was met, by what the person asks for and names beside it."""
        if effect.kind == "delete" and met.source == "named" and not self._known.asks_to_delete():
            return replace(met, source="mentioned")
        if effect.kind != "grant_access":
            return met
        tied = sink.kind == "recipient" and met.source == "pointed"
        listed = sink.kind == "target" and met.source == "trusted" and bool(named)
        if (tied and self._known.is_tied(value, named)) or listed:
            return replace(met, source="named")
        return met

    def _guessed(
        self, sinks: Mapping[str, Sink], given: Mapping[str, list[str]]
    ) -> Iterator[Finding]:
        """What the values of a tool without effects are: they are shown, and decide nothing."""
        for name, sink in sinks.items():
            for value in given[name]:
                if sink.kind in ("recipient", "target"):
                    met = self._met(Effect("unknown"), sink, value)
                    yield Finding("unknown", sink.kind, value, met, "pass", name, sink.guessed)

    def _met(self, effect: Effect, sink: Sink, value: str) -> Met:
        if effect.kind == "network":
            return self._met_address(value)
        if sink.kind == "recipient":
            hosts = {host_part(one.text) for one in find_values(value) if one.kind == "url"}
            if hosts and all(map(self._is_trusted_host, hosts)) and self._leads_nowhere(value):
                return Met("named", "trust")
            met = self._known.met(value, sink.of)
            strange = met.source == "named" and not self._leads_nowhere(value)
            return Met("composed", met.where) if strange else met
        return self._known.met_target(value, sink.of)

    def _met_address(self, url: str) -> Met:
        """Where an address was met that is only fetched: a link that was read counts."""
        if self._known.is_given(url):
            return Met("named")
        met = self._known.met(url)
        if self._is_trusted_host(host_part(plain_url(url))):
            met = Met("named", "trust")
        if met.source in ("named", "earlier", "trusted") and self._leads_nowhere(url):
            return met
        if was_read(self._known, url):
            return Met("outside", met.where, quote=met.quote)
        return Met("composed")

    def _leads_nowhere(self, url: str) -> bool:
        """True if no host stands in the URL's path or query but those that are known too."""
        return all(
            self._known.met(host).source in ("named", "earlier", "trusted")
            or self._is_trusted_host(host)
            for host in embedded_hosts(url)
        )

    def _by_effect(self, effect: Effect) -> Finding:
        """A call whose tool declares no sinks: its effect names what it is done to."""
        kind, target = effect.kind, effect.target
        if kind in LOCAL and self._is_in_workspace(target):
            return Finding(kind, "target", target, Met("trusted"), "pass")
        if kind == "network":
            met = self._met_address(target)
        elif kind == "send":
            met = self._met(effect, Sink("recipient"), target)
        else:
            met = self._known.met_target(target)
        sink: SinkKind = "recipient" if kind in ("network", "send") else "target"
        return Finding(kind, sink, target, met, outcome(kind, met.source))

    def _without_arguments(self, effect: Effect) -> Finding:
        """A change for which the model gives no values, such as "mark all as read".

        It is always of the same thing, which the effect names; so the person must have named it.
        """
        met = self._known.met_target(effect.target) if effect.target else Met("composed")
        if met.source in ("pointed", "composed"):
            met = replace(met, source="outside")
        return Finding("write", "target", effect.target, met, outcome("write", met.source))

    def _is_in_workspace(self, target: str) -> bool:
        """True for the path of a file in the workspace; other tools name things in words."""
        try:
            path = (self._workspace / Path(target).expanduser()).resolve()
            if not target or not (Path(target).is_absolute() or path.exists()):
                return False
        except (OSError, RuntimeError, ValueError):
            return False
        return path.is_relative_to(self._workspace.resolve())

    def _kept(
        self, effect: Effect, sinks: Mapping[str, Sink], given: Mapping[str, list[str]]
    ) -> Finding:
        """What is kept passes if all of it is the person's own words of this turn."""
        kept = [value for name in sinks if sinks[name].kind == "content" for value in given[name]]
        own = bool(kept) and all(map(self._known.is_whole_sentence, kept))
        met = Met("named" if own else "composed")
        verdict = outcome(effect.kind, met.source)
        return Finding(effect.kind, "target", effect.target, met, verdict)

    def _content(
        self, kind: EffectKind, sinks: Mapping[str, Sink], given: Mapping[str, list[str]]
    ) -> Iterator[Finding]:
        """The addresses, links and account numbers in what others read, what is kept or run."""
        for name, sink in sinks.items():
            for text in given[name] if sink.kind in ("content", "code") else ():
                for value in sorted(find_values(text), key=lambda one: one.text):
                    met = self._known.met_value(value)
                    secret = value.kind in ("number", "iban") and met.source == "trusted"
                    verdict = "ask" if secret else outcome("content", met.source)
                    yield Finding(kind, "content", value.text, met, verdict, name)


def _undeclared(effects: Sequence[Effect], sinks: Mapping[str, Sink]) -> list[Effect]:
    """A tool that changes something and has recipients sends, whether or not it says so."""
    kinds = {effect.kind for effect in effects} - {"read"}
    receives = any(sink.kind == "recipient" for sink in sinks.values())
    judged = any("recipient" in DECIDING.get(kind, ()) for kind in kinds)
    return [Effect("send")] if kinds and receives and not judged and "unknown" not in kinds else []


def _without_doubles(effects: Sequence[Effect]) -> list[Effect]:
    """The effects without the hosts that a command names beside an address at them."""
    hosts = {
        host_part(plain_url(one.target))
        for one in effects
        if one.kind in ("send", "network") and ("/" in one.target)
    }
    return [one for one in effects if one.kind != "network" or one.target not in hosts]


def worst(findings: Sequence[Finding]) -> Met:
    """The least known of several values."""
    return max((one.met for one in findings), key=lambda met: SOURCES.index(met.source))


def _flat(value: Any, sink: Sink) -> Iterator[str]:
    """The values of an argument as texts: of lists each, of objects those that are ids."""
    if isinstance(value, str):
        yield from [value] if value.strip() else ()
    elif isinstance(value, bool) or value is None:
        return
    elif isinstance(value, int | float):
        yield str(value)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _flat(one, sink)
    elif isinstance(value, Mapping):
        for key, one in value.items():
            if sink.kind == "content" or key == "id" or key.endswith(("_id", "path", "address")):
                yield from _flat(one, sink)
