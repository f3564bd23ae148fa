"""Which channels a person wants beside the terminal, and what each must be told.

A channel is whatever installed plugin registers channels; what it must be told are the settings of
its config model that are secret, have no default, or say ``ask`` in ``json_schema_extra``. There
may also be ``guide``, what is to be done before an answer is at hand, and for a secret ``env``, the
variable that holds it, ``generate``, that it may be made up, and ``link``, where it can be had.
A plugin whose channel is one for programs says ``for_people = False`` and is not offered.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from textwrap import shorten
from typing import Any, get_args

from hookline_hookspecs import Configuration, HooklineError, Host
from hookline_hookspecs.setting_errors import setting_errors
from hookline_markdown import literal
from pydantic import BaseModel, SecretStr, ValidationError
from pydantic.fields import FieldInfo

from . import dialogue
from .command import hookline, trial_home
from .present import Present

_GROUP = "hookline.plugins"
_GENERATED_BYTES = 32
WIDTH = 74
"""Characters of a line that describes a channel."""
CHECK_SECONDS = 60
"""How long a channel's own checks may take."""


@dataclass(frozen=True, slots=True)
class ChannelPlugin:
    """An installed plugin that brings a channel."""

    name: str
    summary: str
    config: type[BaseModel]

    def asked(self) -> dict[str, FieldInfo]:
        """The settings that a person must be asked for."""
        fields = self.config.model_fields.items()
        return {
            name: one
            for name, one in fields
            if is_secret(one) or one.is_required() or _extra(one).get("ask")
        }


@dataclass(frozen=True, slots=True)
class Answers:
    """What goes under ``plugins.NAME``, and into ``.env``."""

    section: dict[str, Any] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)


def is_secret(one: FieldInfo) -> bool:
    """Whether a setting is a secret, or may be none."""
    return SecretStr in (one.annotation, *get_args(one.annotation))


def _extra(one: FieldInfo) -> dict[str, Any]:
    """What a field says about being asked for."""
    return one.json_schema_extra if isinstance(one.json_schema_extra, dict) else {}


def channel_plugins(host: Host) -> list[ChannelPlugin]:
    """The channels that can be added; those of the standard set are on, and not among them."""
    try:
        standard = set(host.services[Configuration].effective("")["plugins"])
    except HooklineError:
        standard = {host.plugin}
    points = [point for point in entry_points(group=_GROUP) if point.name not in standard]
    return sorted(filter(None, map(_channel, points)), key=lambda one: one.name)


def _channel(point: EntryPoint) -> ChannelPlugin | None:
    try:
        found = point.load()
        brings = hasattr(getattr(found, "register_channels", None), "hookline_impl")
        brings = brings and getattr(found, "for_people", True)
        summary = point.dist.metadata["Summary"] if point.dist is not None else ""
        config = found.config_class
    except Exception:  # `hookline plugins list` says what is wrong with it
        return None
    told = (summary or "").removeprefix("Hookline plugin: ").rstrip(".")
    return ChannelPlugin(point.name, told, config) if brings else None


def ask_channels(found: list[ChannelPlugin], present: Present) -> dict[str, Answers]:
    """Let channels be added, or what is set of them be changed; the answers by plugin."""
    wanted: dict[str, Answers] = {}
    if not found:
        dialogue.explain(
            "It can be talked to here; a plugin such as telegram brings another channel: "
            "`hookline plugins enable telegram`."
        )
        return wanted
    while True:
        options = ["nothing more"]
        for one in found:
            on = ", on" if one.name in wanted or is_on(one.name, present) else ""
            options.append(shorten(f"{one.name}{on}: {one.summary}", WIDTH, placeholder=" …"))
        picked = dialogue.choose("Which channel do you want to add?", options)
        if not picked:
            return wanted
        plugin = found[picked - 1]
        answers = _ask(plugin, present)
        if answers is not None:
            wanted[plugin.name] = answers


def is_on(name: str, present: Present) -> bool:
    """Whether config.yaml has the plugin on."""
    value = (present.values.get("plugins") or {}).get(name, False)
    return value is None or (value.get("enabled", True) if isinstance(value, dict) else bool(value))


def _ask(plugin: ChannelPlugin, present: Present) -> Answers | None:
    """Ask for a channel's settings until its own checks are content; None to leave it out."""
    while True:
        answers = _settings(plugin, present)
        if answers is None:
            dialogue.tell(f"{plugin.name} stays as it is.")
            return None
        rows = _checked(plugin, answers, present)
        problems = list(_told(plugin.name, rows))
        if not problems:
            known = [row["detail"] for row in rows if row["plugin"] == plugin.name]
            dialogue.explain(literal("; ".join(["fine", *known])), f"{plugin.name}: ")
            return answers
        for problem in problems:
            dialogue.explain(literal(problem), f"{plugin.name}: ")
        ways = ("ask again", "keep it anyway", f"leave {plugin.name} out")
        picked = dialogue.choose("What now?", ways)
        if picked:
            return answers if picked == 1 else None


def _settings(plugin: ChannelPlugin, present: Present) -> Answers | None:
    """The answers; None if a secret was skipped that is not set."""
    section = present.section("plugins", plugin.name)
    answers = Answers(dict(section))
    if (present.values.get("plugins") or {}).get(plugin.name) is False or "enabled" in section:
        answers.section["enabled"] = True
    for name, one in plugin.asked().items():
        extra = _extra(one)
        if guide := extra.get("guide"):
            dialogue.explain(str(guide))
        if one.description:
            dialogue.explain(one.description, f"{name}: ")
        if not is_secret(one):
            now = str(section.get(name, "" if one.is_required() else one.default))
            answers.section[name] = dialogue.line(
                f"{plugin.name} {name}", now, _fault(plugin, name)
            )
            continue
        if "link" in extra:
            dialogue.tell("This link leads there:", str(extra["link"]))
        variable = (
            present.variable("plugins", plugin.name, name)
            or str(extra.get("env") or "")
            or f"{plugin.name}_{name}".replace("-", "_").replace(":", "_").upper()
        )
        given = _secret(plugin, name, variable, bool(extra.get("generate")), present)
        if given is None:
            return None
        if given or name not in section:
            answers.section[name] = f"${{{variable}}}"
        if given:
            answers.variables[variable] = given
    return answers


def _secret(
    plugin: ChannelPlugin, name: str, variable: str, can_make: bool, present: Present
) -> str | None:
    """A new secret; empty to keep the one that is set, None if there is none."""
    written = present.section("plugins", plugin.name).get(name)
    now = present.expanded(written) or present.env.get(variable, "")
    if now and os.environ.get(variable) == now:
        dialogue.tell(f"{variable} is {dialogue.shown(now)}: the environment has it.")
        return ""
    told = "skips it"
    if now:
        told = dialogue.keeps(now)
    elif can_make:
        told = "makes one"
    typed = dialogue.secret(f"{plugin.name} {name}, {variable}", told, _fault(plugin, name))
    if typed or now:
        return "" if typed == now else typed
    if can_make:
        dialogue.tell(f"One is made; {variable} in .env holds it.")
        return secrets.token_hex(_GENERATED_BYTES)
    return None


def _fault(plugin: ChannelPlugin, name: str) -> dialogue.Fault:
    """What the plugin's own model says about one setting."""

    def fault(text: str) -> str | None:
        try:
            plugin.config.model_validate({name: text})
        except ValidationError as error:
            for at, why in setting_errors(error, {name: text}).items():
                if at[:1] == (name,):
                    return f"{why[:1].upper()}{why[1:]}"
        return None

    return fault


def _checked(plugin: ChannelPlugin, answers: Answers, present: Present) -> list[dict[str, Any]]:
    """What the checks of the plugin say, as `hookline doctor` would tell it; none if they cannot be
    asked."""
    config = {"model": "scripted/none.yaml", "plugins": {plugin.name: answers.section or True}}
    with trial_home(json.dumps(config)) as home:
        env = _without_model(present.env) | answers.variables
        try:
            done = hookline(home, "doctor", "--json", seconds=CHECK_SECONDS, env=env)
            rows: list[dict[str, Any]] = json.loads(done.stdout)
        except (subprocess.TimeoutExpired, ValueError):
            return []
    return rows


def _without_model(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name != "HOOKLINE_MODEL"}


def _told(name: str, rows: list[dict[str, Any]]) -> Iterator[str]:
    for row in rows:
        if row["plugin"] == name and not row["ok"]:
            yield row["detail"] + (f"; {row['fix']}" if row["fix"] else "")
        elif row["name"] == "plugins" and not row["ok"] and f"{name}: " in row["detail"]:
            yield row["detail"]
