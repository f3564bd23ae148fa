"""The page ``/plugins``: all plugins, each with its state and a form for its settings.

Imported when a web server asks for routes. A change is first shown as a diff of config.yaml, then
saved only if the file has not changed in the meantime.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hookline_hookspecs import (
    HOOKS,
    CommandError,
    Configuration,
    HooklineError,
    Host,
    Inspection,
    Page,
    Route,
)
from hookline_hookspecs.audit import config_changed
from hookline_hookspecs.web import (
    N_,
    Action,
    Actions,
    Badge,
    Code,
    Diff,
    Field,
    Form,
    Group,
    Link,
    Paging,
    Part,
    Problem,
    Redirect,
    RequestLike,
    Row,
    SiteRoute,
    Stat,
    Stats,
    Table,
    Text,
    Timestamp,
    Tone,
    View,
    build_path,
    format_number,
    identity,
    path_param,
    query_params,
    read_form,
    t,
    translate,
)

from .config_file import ConfigFile
from .dependencies import dependents_warning, missing_dependencies
from .masking import mask_texts
from .pending_edits import ConfigEdit, KeyChange, PendingEdits, apply_changes
from .plugin_catalog import PluginCatalog
from .plugin_names import installed_entry_points, naming_problem
from .settings_form import SettingInput, setting_inputs

PLUGINS_PER_PAGE = 100
TONES: Mapping[str, Tone] = {
    N_("on"): "good",
    N_("failed"): "bad",
    N_("missing"): "bad",
    N_("off"): "neutral",
}
RESTART_NOTICE = N_("Restart the gateway to apply it.")


class PluginPages:
    """The pages of the plugins, for the operator."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._core = host.services[Configuration]
        self._file = ConfigFile(host.home, host.services[Configuration])
        self._edits = PendingEdits(host.now)
        self._catalog = PluginCatalog(host)

    def register(self, register: Callable[[Route], None]) -> None:
        """Register the pages and the routes of their forms."""
        register(
            SiteRoute("GET", "/plugins", self.overview, page=Page("Plugins", "Settings", order=30))
        )
        register(SiteRoute("GET", "/plugins/{name}", self.show))
        for name, handler, log in (
            ("settings", self.review, N_("reviewed new settings of plugin {name}")),
            ("confirm", self.confirm, N_("changed the settings of plugin {name}")),
            ("enable", self.enable, N_("switched on plugin {name}")),
            ("disable", self.disable, N_("switched off plugin {name}")),
        ):
            register(SiteRoute("POST", f"/plugins/{{name}}/{name}", handler, log=log))

    async def overview(self, request: RequestLike) -> View:
        """``GET /plugins[?q=WORDS]``"""
        words = " ".join(query_params(request).get("q", "").split())
        plugins = await self._catalog.plugins()
        rows = [row for row in plugins if _matches(row, words)]
        states = Counter(row["state"] for row in plugins)
        costs = await self._catalog.tokens()
        failures = Counter(failure.plugin for failure in self._host.services[Inspection].failures())
        paging = Paging.from_request(request, "/plugins", PLUGINS_PER_PAGE)
        bad = states["failed"] + states["missing"]
        items = [
            Stat(t("On"), format_number(states["on"])),
            Stat(t("Off"), format_number(states["off"])),
            Stat(
                t("Problems"),
                format_number(bad),
                t("failed or missing"),
                "bad" if bad else "neutral",
            ),
            Stat(t("Tokens"), format_number(sum(costs.values())), t("in a new session's prompt")),
        ]
        table = Table(
            [t("Plugin"), t("State"), t("Description"), t("Tokens"), t("Failures")],
            [
                Row(
                    [
                        Link(row["name"], build_path("plugins", row["name"])),
                        Badge(t(row["state"]), TONES.get(row["state"], "warning")),
                        _description(row),
                        costs.get(row["name"]) or None,
                        failures.get(row["name"]),
                    ]
                )
                for row in paging.slice(rows)
            ],
            empty=t("No plugins match “{words}”.", words=words),
            more=paging.link(len(rows) - paging.offset, t("More")),
        )
        search = Form("/plugins", [Field("q", t("Search"), value=words)], t("Search"), get=True)
        subtitle = t(
            "Every feature is a plugin. See what is on, what it costs, and change its settings."
        )
        return View(t("Plugins"), [Stats(items), search, table], subtitle)

    async def show(self, request: RequestLike) -> View:
        """``GET /plugins/NAME``"""
        return await self._show(path_param(request, "name"), {}, {})

    async def _show(self, name: str, given: Mapping[str, str], errors: Mapping[str, str]) -> View:
        row = await self._catalog.find(name)
        if row is None:
            raise Problem(404, "not_found", t("Plugin not found."), t("Find it under Plugins."))
        costs = await self._catalog.tokens()
        reason = [Text(translate(row["reason"]), "warning" if row["state"] != "off" else "neutral")]
        parts: list[Part] = [
            Stats(
                [
                    Stat(t("State"), t(row["state"]), tone=TONES.get(row["state"], "warning")),
                    Stat(
                        t("Tokens"),
                        format_number(costs.get(name, 0)),
                        t("in a new session's prompt"),
                    ),
                    Stat(t("Version"), row["version"] or "", row["dist"] or t("not installed")),
                ]
            ),
            *(reason if row["reason"] else []),
            *(Text(translate(warning), "warning") for warning in row.get("warnings", ())),
            *(Text(error, "bad") for key, error in errors.items() if not key),
            *self._switch_button(row),
            *self._form(name, given, errors),
            *self._contributions(row),
        ]
        return View(
            name, parts, translate(row["summary"] or ""), _crumbs(), status=422 if errors else 200
        )

    def _switch_button(self, row: Mapping[str, Any]) -> Sequence[Part]:
        """The button that turns the plugin on or off, or what to do before that."""
        name = row["name"]
        if row["state"] in ("on", "failed"):
            question = t("Turn off {name} now? Its settings are kept.", name=name)
            if name in ("web-server", "web-ui", "configure", "access"):
                question += " " + t("This website needs it.")
            path = build_path("plugins", name, "disable")
            return [Actions([Action(t("Turn off"), path, {}, question, "danger")])]
        if not row["installed"]:
            command = self._catalog.install_command(name)
            text = t("Not installed. Run this in a terminal, then restart the gateway:")
            return [Text(text), Table([t("Command")], [Row([Code(command)])])]
        missing = self._catalog.missing_settings(name)
        enable = Action(t("Turn on"), build_path("plugins", name, "enable"), style="primary")
        warning = [Text(self._required_first(name, missing), "warning")] if missing else []
        return [*warning, Actions([enable])]

    def _required_first(self, name: str, missing: Sequence[str]) -> str:
        inputs = setting_inputs(self._catalog.schema(name), None, None)
        titles = {one.name: translate(one.title) for one in inputs}
        names = ", ".join(titles.get(key, key) for key in missing)
        return t("Fill in first: {names}.", names=names)

    def _settings(self, name: str) -> list[SettingInput]:
        """Raises ``HooklineError`` if config.yaml cannot be read."""
        try:
            text = self._file.text()
            written = (self._core.parse(text).get("plugins") or {}).get(name)
        except CommandError as error:
            raise HooklineError(error.text) from None
        try:
            shown = self._core.effective(text)["plugins"].get(name)
        except HooklineError:
            shown = None
        return list(setting_inputs(self._catalog.schema(name), written, shown))

    def _form(
        self, name: str, given: Mapping[str, str], errors: Mapping[str, str]
    ) -> Sequence[Part]:
        try:
            found = self._settings(name)
        except HooklineError as error:
            return [Text(str(error), "bad")]
        if not found:
            return [Text(t("This plugin has no settings."))]
        fields = [
            setting.field(given.get(setting.name), errors.get(setting.name, ""))
            for setting in found
        ]
        path = build_path("plugins", name, "settings")
        return [Form(path, fields, t("Review changes"), t("Settings"))]

    def _contributions(self, row: Mapping[str, Any]) -> Sequence[Part]:
        """The hooks, tools and commands of a plugin that is on, and its failures."""
        name, core = row["name"], self._host.services[Inspection]
        hooks = [Row([Code(hook), HOOKS[hook].kind]) for hook in row["hooks"] if hook in HOOKS]
        found = core.plugin_details(name)
        tools = [Row([tool, -(-len(schema) // 4)]) for tool, schema in found.get("tools", ())]
        commands = [Row([Code(command)]) for command in found.get("commands", ())]
        failed = [
            Row([Timestamp(at), one.hook, Code(one.reason)])
            for one, at in sorted(core.failures().items(), key=lambda item: -item[1])
            if one.plugin == name
        ]
        parts: list[Part] = []
        if failed:
            parts.append(Table([t("When"), t("Hook"), t("Error")], failed, t("Failures")))
        inner: list[Part] = []
        if tools:
            inner.append(Table([t("Tool"), t("Tokens")], tools, t("Tools")))
        if commands:
            inner.append(Table([t("Command")], commands, t("Commands")))
        if hooks:
            inner.append(Table([t("Hook"), t("Kind")], hooks, t("Hooks")))
        return (
            [*parts, Group(t("Hooks, tools and commands"), inner, open=False)] if inner else parts
        )

    # Changing

    async def review(self, request: RequestLike) -> View:
        """``POST /plugins/NAME/settings``: show what would change in config.yaml"""
        name, form = path_param(request, "name"), await read_form(request)
        try:
            found, before = self._settings(name), self._file.text()
        except (CommandError, HooklineError) as error:
            raise Problem(409, "bad_config", _message(error), t("Fix config.yaml first.")) from None
        changes, errors = self._changes(name, found, form)
        after, wrong = apply_changes(self._file, self._core, before, changes)
        for key, message in wrong.items():
            errors[key.removeprefix(f"plugins.{name}.")] = _without_key(message, key)
        if not errors and changes:
            errors = self._catalog.setting_problems(name, after)
        if errors:
            known = {setting.name for setting in found}
            other = " ".join(message for key, message in errors.items() if key not in known)
            named = {key: message for key, message in errors.items() if key in known}
            return await self._show(name, form, named | ({"": other} if other else {}))
        if before == after:
            return await self._unchanged(name)
        return self._confirmation(name, identity(request).person, changes, before, after)

    def _changes(
        self, name: str, found: Sequence[SettingInput], given: Mapping[str, str]
    ) -> tuple[list[KeyChange], dict[str, str]]:
        changes: list[KeyChange] = []
        errors: dict[str, str] = {}
        for one in found:
            if one.name not in given:
                continue
            try:
                differs, value = one.change(self._core, given[one.name])
            except ValueError as error:
                errors[one.name] = str(error)
                continue
            if differs:
                changes.append(KeyChange(f"plugins.{name}.{one.name}", value))
        return changes, errors

    async def _unchanged(self, name: str) -> View:
        view = await self._show(name, {}, {})
        notice = Text(t("No changes: config.yaml already has these values."))
        return View(view.title, [notice, *view.parts], view.subtitle, view.crumbs)

    def _confirmation(
        self, name: str, person: str, changes: Sequence[KeyChange], before: str, after: str
    ) -> View:
        """The page that shows the diff, with secrets masked, and asks for confirmation."""
        edit = ConfigEdit(name, person, changes, before, after, self._host.now())
        token = self._edits.keep(edit)
        old, new = mask_texts(self._core, before, after)
        diff = Diff(old, new, "config.yaml")
        path, back = build_path("plugins", name, "confirm"), build_path("plugins", name)
        actions = [
            Action(t("Save"), path, {"edit": token}, style="primary"),
            Action(t("Cancel"), back, get=True),
        ]
        notice = Text(f"{t('Review the change before saving.')} {t(RESTART_NOTICE)}")
        crumbs = (*_crumbs(), Link(name, back))
        return View(t("Change {name}?", name=name), [notice, diff, Actions(actions)], "", crumbs)

    async def confirm(self, request: RequestLike) -> Redirect | View:
        """``POST /plugins/NAME/confirm``: write the change, unless the file has changed since"""
        name, token = path_param(request, "name"), (await read_form(request)).get("edit", "")
        edit = self._edits.take(token, identity(request).person)
        if edit is None or edit.plugin != name:
            hint = t("Open the plugin's page and make the change again.")
            raise Problem(409, "gone", t("This change has expired."), hint)
        try:
            now = self._file.text()
            if now != edit.before:
                return self._conflict(edit, now)
            warnings = self._file.save(now, edit.after)
        except (CommandError, HooklineError) as error:
            return Redirect(build_path("plugins", name), _message(error), "bad")
        await config_changed(self._host, edit.person, f"plugins.{name}")
        message = " ".join([f"{t('Saved.')} {t(RESTART_NOTICE)}", *warnings])
        return Redirect(build_path("plugins", name), message)

    def _conflict(self, edit: ConfigEdit, now: str) -> View:
        """The page for a file that has changed since: the other change, and this one on top."""
        after, errors = apply_changes(self._file, self._core, now, edit.changes)
        theirs, base = mask_texts(self._core, now, edit.before)
        warning = t("Someone else has changed config.yaml. Your change is not saved yet.")
        parts: list[Part] = [Text(warning, "warning"), Diff(base, theirs, t("Their change"))]
        if errors:
            parts += [Text(error, "bad") for error in errors.values()]
        else:
            again = self._confirmation(edit.plugin, edit.person, edit.changes, now, after)
            parts += [Group(t("Your change on top of theirs"), again.parts[1:])]
        crumbs = (*_crumbs(), Link(edit.plugin, build_path("plugins", edit.plugin)))
        return View(t("Conflict"), parts, "", crumbs, status=409)

    async def enable(self, request: RequestLike) -> Redirect:
        """``POST /plugins/NAME/enable``"""
        name = path_param(request, "name")
        here = build_path("plugins", name)
        if not installed_entry_points(name):
            raise Problem(
                404, "not_found", t("{name} is not installed.", name=name), t("Install it first.")
            )
        if problem := naming_problem(name):
            raise Problem(404, "not_found", problem, t("Choose another name."))
        if missing := self._catalog.missing_settings(name):
            return Redirect(here, self._required_first(name, missing), "warning")
        try:
            others = missing_dependencies(self._core, name)
        except HooklineError as error:
            return Redirect(here, _message(error), "bad")
        for other in others:
            done = await self._write_switch(request, other, "true", "")
            if done.tone == "bad":
                return Redirect(here, done.message, "bad")
        now_on = t("Turned on in config.yaml: {names}.", names=", ".join([*others, name]))
        message = f"{now_on} {t(RESTART_NOTICE)}"
        return await self._write_switch(request, name, "true", message)

    async def disable(self, request: RequestLike) -> Redirect:
        """``POST /plugins/NAME/disable``: now, and in config.yaml"""
        name = path_param(request, "name")
        if await self._catalog.find(name) is None:
            raise Problem(404, "not_found", t("Plugin not found."), t("Find it under Plugins."))
        done = await self._write_switch(request, name, "false", t("{name} is off now.", name=name))
        if done.tone == "good":
            await self._core.switch_off(name)
            if warning := dependents_warning(self._core, name):
                return replace(done, message=f"{done.message} {warning}.", tone="warning")
        return done

    async def _write_switch(
        self, request: RequestLike, name: str, value: str, message: str
    ) -> Redirect:
        try:
            warnings = self._file.set(f"plugins.{name}", value)
        except (CommandError, HooklineError) as error:
            return Redirect(build_path("plugins", name), _message(error), "bad")
        await config_changed(self._host, identity(request).person, f"plugins.{name}")
        return Redirect(build_path("plugins", name), " ".join([message, *warnings]))


def _crumbs() -> tuple[Link, ...]:
    return (Link(t("Plugins"), "/plugins"),)


def _description(row: Mapping[str, Any]) -> str:
    summary = translate(str(row["summary"] or ""))
    reason = translate(row["reason"]) if row["state"] not in ("on", "off") else ""
    return f"{summary} {reason}".strip() if reason else summary


def _matches(row: Mapping[str, Any], words: str) -> bool:
    texts = (row["name"], _description(row), t(row["state"]), row["summary"], row["reason"])
    text = " ".join(map(str, texts)).casefold()
    return all(word in text for word in words.casefold().split())


def _message(error: BaseException) -> str:
    return translate(error.text if isinstance(error, CommandError) else str(error))


def _without_key(message: str, key: str) -> str:
    """A message without the key at its start: it is shown beside the field."""
    text = message.rpartition(f"{key}: ")[2]
    return text[:1].upper() + text[1:]
