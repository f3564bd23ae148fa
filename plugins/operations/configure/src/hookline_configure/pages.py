"""``/plugins``: the plugins with their state and settings.

Imported when a web server asks for routes. A change is shown as a diff of config.yaml first, and
saved only if the file has not changed meanwhile.
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
    identity,
    path_param,
    query_params,
    read_form,
)

from .edits import Change, Edit, Edits, apply
from .file import ConfigFile
from .kinds import fault_of, installed
from .masking import hide_all
from .needs import lacking, told_of_need
from .settings_form import Setting, settings
from .survey import Survey

AT_ONCE = 100
TONES: Mapping[str, Tone] = {"on": "good", "failed": "bad", "missing": "bad", "off": "neutral"}
CRUMBS = (Link("Plugins", "/plugins"),)
RESTART = "Restart the gateway to apply it."


class PluginPages:
    """The pages of the plugins, for the operator."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._core = host.services[Configuration]
        self._file = ConfigFile(host.home, host.services[Configuration])
        self._edits = Edits(host.now)
        self._survey = Survey(host)

    def register(self, register: Callable[[Route], None]) -> None:
        """Register the pages, and what their forms are sent to."""
        register(SiteRoute("GET", "/plugins", self.overview, page=Page("Plugins", order=30)))
        register(SiteRoute("GET", "/plugins/{name}", self.show))
        register(SiteRoute("POST", "/plugins/{name}/settings", self.review))
        register(SiteRoute("POST", "/plugins/{name}/confirm", self.confirm))
        register(SiteRoute("POST", "/plugins/{name}/enable", self.enable))
        register(SiteRoute("POST", "/plugins/{name}/disable", self.disable))

    async def overview(self, request: RequestLike) -> View:
        """``GET /plugins[?q=WORDS]``"""
        words = " ".join(query_params(request).get("q", "").split())
        every = await self._survey.plugins()
        rows = [row for row in every if _holds(row, words)]
        states = Counter(row["state"] for row in every)
        costs = await self._survey.tokens()
        failures = Counter(one.plugin for one in self._host.services[Inspection].failures())
        paging = Paging.from_request(request, "/plugins", AT_ONCE)
        bad = states["failed"] + states["missing"]
        items = [
            Stat("On", f"{states['on']:,}"),
            Stat("Off", f"{states['off']:,}"),
            Stat("Problems", f"{bad:,}", "failed or missing", "bad" if bad else "neutral"),
            Stat("Tokens", f"{sum(costs.values()):,}", "in a new session's prompt"),
        ]
        table = Table(
            ["Plugin", "State", "Description", "Tokens", "Failures"],
            [
                Row(
                    [
                        Link(row["name"], build_path("plugins", row["name"])),
                        Badge(row["state"], TONES.get(row["state"], "warning")),
                        _what(row),
                        costs.get(row["name"]) or None,
                        failures.get(row["name"]),
                    ]
                )
                for row in paging.slice(rows)
            ],
            empty=f"No plugins match “{words}”.",
            more=paging.link(len(rows) - paging.offset, "More"),
        )
        search = Form("/plugins", [Field("q", "Search", value=words)], "Search", get=True)
        told = "Every feature is a plugin. See what is on, what it costs, and change its settings."
        return View("Plugins", [Stats(items), search, table], told)

    async def show(self, request: RequestLike) -> View:
        """``GET /plugins/NAME``"""
        return await self._show(path_param(request, "name"), {}, {})

    async def _show(self, name: str, given: Mapping[str, str], errors: Mapping[str, str]) -> View:
        row = await self._survey.one(name)
        if row is None:
            raise Problem(404, "not_found", "Plugin not found.", "Find it under Plugins.")
        costs = await self._survey.tokens()
        reason = [Text(row["reason"], "warning" if row["state"] != "off" else "neutral")]
        parts: list[Part] = [
            Stats(
                [
                    Stat("State", row["state"], tone=TONES.get(row["state"], "warning")),
                    Stat("Tokens", f"{costs.get(name, 0):,}", "in a new session's prompt"),
                    Stat("Version", row["version"] or "", row["dist"] or "not installed"),
                ]
            ),
            *(reason if row["reason"] else []),
            *(Text(warning, "warning") for warning in row.get("warnings", ())),
            *(Text(error, "bad") for key, error in errors.items() if not key),
            *self._switch(row),
            *self._form(name, given, errors),
            *self._brings(row),
        ]
        return View(name, parts, row["summary"], CRUMBS, status=422 if errors else 200)

    def _switch(self, row: Mapping[str, Any]) -> Sequence[Part]:
        """The button that switches the plugin, or what is needed for it."""
        name = row["name"]
        if row["state"] in ("on", "failed"):
            sure = f"Turn off {name} now? Its settings are kept."
            if name in ("web-server", "web-ui", "configure", "access"):
                sure += " This website needs it."
            action = Action("Turn off", build_path("plugins", name, "disable"), {}, sure, "danger")
            return [Actions([action])]
        if not row["installed"]:
            command = self._survey.install_command(name)
            told = "Not installed. Run this in a terminal, then restart the gateway:"
            return [Text(told), Table(["Command"], [Row([Code(command)])])]
        needs = self._survey.needs(name)
        enable = Action("Turn on", build_path("plugins", name, "enable"), style="primary")
        told = f"Required first: {', '.join(needs)}. Set it below." if needs else ""
        return [*([Text(told, "warning")] if told else []), Actions([enable])]

    def _settings(self, name: str) -> list[Setting]:
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
        return list(settings(self._survey.schema(name), written, shown))

    def _form(
        self, name: str, given: Mapping[str, str], errors: Mapping[str, str]
    ) -> Sequence[Part]:
        try:
            found = self._settings(name)
        except HooklineError as error:
            return [Text(str(error), "bad")]
        if not found:
            return [Text("This plugin has no settings.")]
        fields = [one.field(given.get(one.name), errors.get(one.name, "")) for one in found]
        path = build_path("plugins", name, "settings")
        return [Form(path, fields, "Review changes", "Settings")]

    def _brings(self, row: Mapping[str, Any]) -> Sequence[Part]:
        """What a plugin that is on does: its hooks, tools and commands, and its failures."""
        name, core = row["name"], self._host.services[Inspection]
        hooks = [Row([Code(hook), HOOKS[hook].kind]) for hook in row["hooks"] if hook in HOOKS]
        found = core.plugin_details(name)
        tools = [Row([tool, -(-len(schema) // 4)]) for tool, schema in found.get("tools", ())]
        commands = [Row([Code(one)]) for one in found.get("commands", ())]
        failed = [
            Row([Timestamp(at), one.hook, Code(one.reason)])
            for one, at in sorted(core.failures().items(), key=lambda item: -item[1])
            if one.plugin == name
        ]
        parts: list[Part] = []
        if failed:
            parts.append(Table(["When", "Hook", "Error"], failed, "Failures"))
        inner: list[Part] = []
        if tools:
            inner.append(Table(["Tool", "Tokens"], tools, "Tools"))
        if commands:
            inner.append(Table(["Command"], commands, "Commands"))
        if hooks:
            inner.append(Table(["Hook", "Kind"], hooks, "Hooks"))
        return [*parts, Group("Hooks, tools and commands", inner, open=False)] if inner else parts

    # Changing

    async def review(self, request: RequestLike) -> View:
        """``POST /plugins/NAME/settings``: show what would change in config.yaml"""
        name, given = path_param(request, "name"), await read_form(request)
        try:
            found, before = self._settings(name), self._file.text()
        except (CommandError, HooklineError) as error:
            raise Problem(409, "bad_config", _words(error), "Fix config.yaml first.") from None
        changes, errors = self._changes(name, found, given)
        after, wrong = apply(self._file, self._core, before, changes)
        for key, told in wrong.items():
            errors[key.removeprefix(f"plugins.{name}.")] = _without_key(told, key)
        if not errors and changes:
            errors = self._survey.faults(name, after)
        if errors:
            known = {one.name for one in found}
            other = " ".join(told for key, told in errors.items() if key not in known)
            named = {key: told for key, told in errors.items() if key in known}
            return await self._show(name, given, named | ({"": other} if other else {}))
        if before == after:
            return await self._unchanged(name)
        return self._confirming(name, identity(request).person, changes, before, after)

    def _changes(
        self, name: str, found: Sequence[Setting], given: Mapping[str, str]
    ) -> tuple[list[Change], dict[str, str]]:
        changes: list[Change] = []
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
                changes.append(Change(f"plugins.{name}.{one.name}", value))
        return changes, errors

    async def _unchanged(self, name: str) -> View:
        view = await self._show(name, {}, {})
        told = Text("No changes: config.yaml already has these values.")
        return View(view.title, [told, *view.parts], view.subtitle, view.crumbs)

    def _confirming(
        self, name: str, person: str, changes: Sequence[Change], before: str, after: str
    ) -> View:
        """The page that shows the difference and asks for a yes; secrets are masked in it."""
        edit = Edit(name, person, changes, before, after, self._host.now())
        token = self._edits.keep(edit)
        old, new = hide_all(self._core, before, after)
        diff = Diff(old, new, "config.yaml")
        path, back = build_path("plugins", name, "confirm"), build_path("plugins", name)
        actions = [
            Action("Save", path, {"edit": token}, style="primary"),
            Action("Cancel", back, get=True),
        ]
        told = Text(f"Review the change before saving. {RESTART}")
        crumbs = (*CRUMBS, Link(name, back))
        return View(f"Change {name}?", [told, diff, Actions(actions)], "", crumbs)

    async def confirm(self, request: RequestLike) -> Redirect | View:
        """``POST /plugins/NAME/confirm``: write the change, if the file is what it was made from"""
        name, token = path_param(request, "name"), (await read_form(request)).get("edit", "")
        edit = self._edits.take(token, identity(request).person)
        if edit is None or edit.plugin != name:
            told = "This change has expired."
            raise Problem(409, "gone", told, "Open the plugin's page and make the change again.")
        try:
            now = self._file.text()
            if now != edit.before:
                return self._conflict(edit, now)
            warnings = self._file.save(now, edit.after)
        except (CommandError, HooklineError) as error:
            return Redirect(build_path("plugins", name), _words(error), "bad")
        await config_changed(self._host, edit.person, f"plugins.{name}")
        told = " ".join([f"Saved. {RESTART}", *warnings])
        return Redirect(build_path("plugins", name), told)

    def _conflict(self, edit: Edit, now: str) -> View:
        """Somebody was faster: what they wrote, and this change on top of it."""
        after, errors = apply(self._file, self._core, now, edit.changes)
        theirs, base = hide_all(self._core, now, edit.before)
        told = "Someone else has changed config.yaml. Your change is not saved yet."
        parts: list[Part] = [Text(told, "warning"), Diff(base, theirs, "Their change")]
        if errors:
            parts += [Text(error, "bad") for error in errors.values()]
        else:
            again = self._confirming(edit.plugin, edit.person, edit.changes, now, after)
            parts += [Group("Your change on top of theirs", again.parts[1:])]
        crumbs = (*CRUMBS, Link(edit.plugin, build_path("plugins", edit.plugin)))
        return View("Conflict", parts, "", crumbs, status=409)

    async def enable(self, request: RequestLike) -> Redirect:
        """``POST /plugins/NAME/enable``"""
        name = path_param(request, "name")
        here = build_path("plugins", name)
        if not installed(name):
            raise Problem(404, "not_found", f"{name} is not installed.", "Install it first.")
        if fault := fault_of(name):
            raise Problem(404, "not_found", fault, "Choose another name.")
        if needs := self._survey.needs(name):
            return Redirect(here, f"Required first: {', '.join(needs)}. Set it below.", "warning")
        try:
            others = lacking(self._core, name)
        except HooklineError as error:
            return Redirect(here, _words(error), "bad")
        for other in others:
            done = await self._written(request, other, "true", "")
            if done.tone == "bad":
                return Redirect(here, done.message, "bad")
        named = f"{' and '.join([*others, name])} {'are' if others else 'is'}"
        told = f"{named} on in config.yaml now. {RESTART}"
        return await self._written(request, name, "true", told)

    async def disable(self, request: RequestLike) -> Redirect:
        """``POST /plugins/NAME/disable``: at once, and in config.yaml"""
        name = path_param(request, "name")
        if await self._survey.one(name) is None:
            raise Problem(404, "not_found", "Plugin not found.", "Find it under Plugins.")
        done = await self._written(request, name, "false", f"{name} is off now.")
        if done.tone == "good":
            await self._core.switch_off(name)
            if told := told_of_need(self._core, name):
                return replace(done, message=f"{done.message} {told}.", tone="warning")
        return done

    async def _written(self, request: RequestLike, name: str, value: str, told: str) -> Redirect:
        try:
            warnings = self._file.set(f"plugins.{name}", value)
        except (CommandError, HooklineError) as error:
            return Redirect(build_path("plugins", name), _words(error), "bad")
        await config_changed(self._host, identity(request).person, f"plugins.{name}")
        return Redirect(build_path("plugins", name), " ".join([told, *warnings]))


def _what(row: Mapping[str, Any]) -> str:
    words = str(row["summary"] or "")
    reason = row["reason"] if row["state"] not in ("on", "off") else ""
    return f"{words} {reason}".strip() if reason else words


def _holds(row: Mapping[str, Any], words: str) -> bool:
    text = f"{row['name']} {row['summary']} {row['state']} {row['reason']}".casefold()
    return all(word in text for word in words.casefold().split())


def _words(error: BaseException) -> str:
    return error.text if isinstance(error, CommandError) else str(error)


def _without_key(told: str, key: str) -> str:
    """A sentence without the key that it begins with: it stands beside the field."""
    text = told.rpartition(f"{key}: ")[2]
    return text[:1].upper() + text[1:]
