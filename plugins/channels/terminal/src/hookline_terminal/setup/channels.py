"""Adds channels: asks for the settings of each, and checks them.

Every installed plugin that registers channels is offered, unless it has ``for_people = False``. Of
its config model, settings are asked for that are secret, have no default, or have ``ask`` in
``json_schema_extra``. There may also be ``guide``, a text shown before the question, and for a
secret ``env``, the variable that holds it, ``generate``, to offer a random one, and ``link``, where
to get it.
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
from .current_setup import CurrentSetup
from .hookline_process import run_hookline, trial_home

_GROUP = "hookline.plugins"
_SECRET_BYTES = 32
"""Bytes of a generated secret."""
MAX_OPTION_CHARS = 74
"""Characters of a line that describes a channel."""
CHECK_TIMEOUT = 60
"""Seconds for a channel's own checks."""


@dataclass(frozen=True, slots=True)
class ChannelPlugin:
    """An installed plugin that has a channel."""

    name: str
    summary: str
    config: type[BaseModel]

    def fields_to_ask(self) -> dict[str, FieldInfo]:
        """Return the settings that a person must be asked for."""
        return {
            name: info
            for name, info in self.config.model_fields.items()
            if is_secret(info) or info.is_required() or _extra(info).get("ask")
        }


@dataclass(frozen=True, slots=True)
class ChannelAnswers:
    """The section ``plugins.NAME``, and variables for ``.env``."""

    section: dict[str, Any] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)


def is_secret(info: FieldInfo) -> bool:
    """Whether a setting is a secret; an optional one counts."""
    return SecretStr in (info.annotation, *get_args(info.annotation))


def _extra(info: FieldInfo) -> dict[str, Any]:
    return info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}


def channel_plugins(host: Host) -> list[ChannelPlugin]:
    """Return the channels that can be added, without those of the standard set."""
    try:
        standard = set(host.services[Configuration].effective("")["plugins"])
    except HooklineError:
        standard = {host.plugin}
    points = [point for point in entry_points(group=_GROUP) if point.name not in standard]
    return sorted(filter(None, map(_channel, points)), key=lambda plugin: plugin.name)


def _channel(point: EntryPoint) -> ChannelPlugin | None:
    try:
        found = point.load()
        has_channel = hasattr(getattr(found, "register_channels", None), "hookline_impl")
        is_offered = has_channel and getattr(found, "for_people", True)
        summary = point.dist.metadata["Summary"] if point.dist is not None else ""
        config = found.config_class
    except Exception:  # `hookline plugins list` shows why it cannot be loaded
        return None
    text = (summary or "").removeprefix("Hookline plugin: ").rstrip(".")
    return ChannelPlugin(point.name, text, config) if is_offered else None


def ask_channels(found: list[ChannelPlugin], current: CurrentSetup) -> dict[str, ChannelAnswers]:
    """Ask which channels to add or change; returns the answers by plugin."""
    all_answers: dict[str, ChannelAnswers] = {}
    if not found:
        dialogue.explain(
            "You can chat in the terminal. To add a channel, install a plugin for it, such as "
            "telegram: `hookline plugins enable telegram`."
        )
        return all_answers
    while True:
        options = ["nothing more"]
        for plugin in found:
            on = ", on" if plugin.name in all_answers or is_on(plugin.name, current) else ""
            option = f"{plugin.name}{on}: {plugin.summary}"
            options.append(shorten(option, MAX_OPTION_CHARS, placeholder=" …"))
        picked = dialogue.choose("Which channel do you want to add?", options)
        if not picked:
            return all_answers
        plugin = found[picked - 1]
        answers = _ask(plugin, current)
        if answers is not None:
            all_answers[plugin.name] = answers


def is_on(name: str, current: CurrentSetup) -> bool:
    """Whether the plugin is on in config.yaml."""
    value = (current.values.get("plugins") or {}).get(name, False)
    return value is None or (value.get("enabled", True) if isinstance(value, dict) else bool(value))


def _ask(plugin: ChannelPlugin, current: CurrentSetup) -> ChannelAnswers | None:
    """Ask for a channel's settings until its own checks pass; None to leave it out."""
    while True:
        answers = _settings(plugin, current)
        if answers is None:
            dialogue.tell(f"{plugin.name} is unchanged.")
            return None
        rows = _check(plugin, answers, current)
        problems = list(_problems(plugin.name, rows))
        if not problems:
            details = [row["detail"] for row in rows if row["plugin"] == plugin.name]
            dialogue.explain(literal("; ".join(["fine", *details])), f"{plugin.name}: ")
            return answers
        for problem in problems:
            dialogue.explain(literal(problem), f"{plugin.name}: ")
        options = ("ask again", "keep it anyway", f"leave {plugin.name} out")
        picked = dialogue.choose("What now?", options)
        if picked:
            return answers if picked == 1 else None


def _settings(plugin: ChannelPlugin, current: CurrentSetup) -> ChannelAnswers | None:
    """Return the answers; None if a secret was skipped that is not set."""
    section = current.section("plugins", plugin.name)
    answers = ChannelAnswers(dict(section))
    if (current.values.get("plugins") or {}).get(plugin.name) is False or "enabled" in section:
        answers.section["enabled"] = True
    for name, info in plugin.fields_to_ask().items():
        extra = _extra(info)
        if guide := extra.get("guide"):
            dialogue.explain(str(guide))
        if info.description:
            dialogue.explain(info.description, f"{name}: ")
        if not is_secret(info):
            now = str(section.get(name, "" if info.is_required() else info.default))
            answers.section[name] = dialogue.line(
                f"{plugin.name} {name}", now, _validator(plugin, name)
            )
            continue
        if "link" in extra:
            dialogue.tell("Open this link:", str(extra["link"]))
        variable = (
            current.variable("plugins", plugin.name, name)
            or str(extra.get("env") or "")
            or f"{plugin.name}_{name}".replace("-", "_").replace(":", "_").upper()
        )
        secret = _secret(plugin, name, variable, bool(extra.get("generate")), current)
        if secret is None:
            return None
        if secret or name not in section:
            answers.section[name] = f"${{{variable}}}"
        if secret:
            answers.variables[variable] = secret
    return answers


def _secret(
    plugin: ChannelPlugin, name: str, variable: str, can_generate: bool, current: CurrentSetup
) -> str | None:
    """Return a new secret; empty to keep the one that is set, None if there is none."""
    written = current.section("plugins", plugin.name).get(name)
    now = current.expanded(written) or current.env.get(variable, "")
    if now and os.environ.get(variable) == now:
        dialogue.tell(f"{variable} is {dialogue.shown(now)}: the environment has it.")
        return ""
    on_enter = "skips it"
    if now:
        on_enter = dialogue.keeps(now)
    elif can_generate:
        on_enter = "makes one"
    typed = dialogue.secret(f"{plugin.name} {name}, {variable}", on_enter, _validator(plugin, name))
    if typed or now:
        return "" if typed == now else typed
    if can_generate:
        dialogue.tell(f"Made a random one; it goes into .env as {variable}.")
        return secrets.token_hex(_SECRET_BYTES)
    return None


def _validator(plugin: ChannelPlugin, name: str) -> dialogue.Validator:
    """Return a validator that uses the plugin's config model for one setting."""

    def validate(text: str) -> str | None:
        try:
            plugin.config.model_validate({name: text})
        except ValidationError as error:
            for at, why in setting_errors(error, {name: text}).items():
                if at[:1] == (name,):
                    return f"{why[:1].upper()}{why[1:]}"
        return None

    return validate


def _check(
    plugin: ChannelPlugin, answers: ChannelAnswers, current: CurrentSetup
) -> list[dict[str, Any]]:
    """Run the plugin's checks by ``hookline doctor``; returns its rows, none if it fails."""
    config = {"model": "scripted/none.yaml", "plugins": {plugin.name: answers.section or True}}
    with trial_home(json.dumps(config)) as home:
        env = _without_model(current.env) | answers.variables
        try:
            done = run_hookline(home, "doctor", "--json", timeout=CHECK_TIMEOUT, env=env)
            rows: list[dict[str, Any]] = json.loads(done.stdout)
        except (subprocess.TimeoutExpired, ValueError):
            return []
    return rows


def _without_model(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name != "HOOKLINE_MODEL"}


def _problems(name: str, rows: list[dict[str, Any]]) -> Iterator[str]:
    for row in rows:
        if row["plugin"] == name and not row["ok"]:
            yield row["detail"] + (f"; {row['fix']}" if row["fix"] else "")
        elif row["name"] == "plugins" and not row["ok"] and f"{name}: " in row["detail"]:
            yield row["detail"]
