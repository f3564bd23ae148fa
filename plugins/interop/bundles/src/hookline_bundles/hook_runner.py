"""Runs the hooks of an event, of every bundle that is used and of config.yaml."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from hookline_hookspecs import Context, Host, PermissionRules, ToolCall

from .bundle import Bundle, BundleHook
from .config import BundlesConfig
from .folder_names import HASHED_FOLDERS
from .hook_answers import HookAnswer, read_answer
from .library import BundleLibrary, BundleStatus
from .named_files import changed, named_files, pin
from .program import Program, ProgramRunner, shell
from .servers import plugin_variables
from .tool_names import ALSO, own_name

CONFIG_SOURCE = "config.yaml"
EVENTS = {
    "pre_tool": "PreToolUse",
    "post_tool": "PostToolUse",
    "pre_prompt": "UserPromptSubmit",
    "start_of_session": "SessionStart",
    "end_of_session": "SessionEnd",
    "end_of_turn": "Stop",
    "end_of_agent": "SubagentStop",
    "pre_compact": "PreCompact",
    "question_opened": "Notification",
    "on_question": "PermissionRequest",
}
"""Hookline's names of events, and those of Claude Code that hooks get."""
_HOME = re.compile(r"(?<![\w/.~])(?:~|\$HOME|\$\{HOME\})(?=/)")
_SIMPLE = re.compile(r"[\w|, -]*")


@dataclass(frozen=True, slots=True)
class LoadedHook:
    """A hook, and whose it is.

    Attributes:
        source: the bundle's name, or ``config.yaml``.
        root: the bundle's folder; None for config.yaml.
        workspace: the only workspace that it is for; None for every one.
        readable: the paths of its folder that it may read; empty for all of it.
        refusal: why it refuses without being run; empty for a hook that is run.
    """

    hook: BundleHook
    source: str
    root: Path | None = None
    data: Path | None = None
    workspace: Path | None = None
    refusal: str = ""
    readable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Subject:
    """What an event is about, for matchers: the names of a tool, or a kind such as ``startup``."""

    names: tuple[str, ...] = ()
    call: ToolCall | None = None


class HookRunner:
    """Holds the hooks in use, and runs those of an event."""

    def __init__(self, host: Host, config: BundlesConfig) -> None:
        self._host = host
        self.programs = ProgramRunner(host)
        self._config_hooks = _config_hooks(host, config)
        self._hooks: dict[str, list[LoadedHook]] = {}
        self._is_stale = False
        """A bundle's file differs from the one that was loaded."""
        self.load(None)

    def load(self, library: BundleLibrary | None, *, session_begins: bool = True) -> None:
        """Use the hooks of the bundles that are used now.

        ``session_begins``: the scripts of config.yaml's hooks may have been changed by the person.
        """
        if session_begins:
            self._config_hooks = [_pinned(loaded) for loaded in self._config_hooks]
        found: dict[str, list[LoadedHook]] = {}
        for loaded in self._config_hooks:
            found.setdefault(loaded.hook.event, []).append(loaded)
        for status in library.active if library is not None else ():
            bundle = status.bundle
            assert bundle is not None
            for hook in bundle.hooks:
                only = status.folder if status.scope == "project" else None
                loaded = LoadedHook(
                    hook,
                    status.name,
                    bundle.root,
                    bundle.data,
                    only,
                    readable=_readable(bundle, hook),
                )
                found.setdefault(hook.event, []).append(loaded)
        for loaded in _refusing(library.statuses if library is not None else ()):
            found.setdefault(loaded.hook.event, []).append(loaded)
        self._hooks = found
        self._is_stale = False

    @property
    def refuses(self) -> bool:
        """True if a changed bundle makes guards refuse what they would have judged."""
        return self._is_stale or any(
            loaded.refusal for hooks in self._hooks.values() for loaded in hooks
        )

    def has(self, event: str) -> bool:
        """True if there is a hook at this event."""
        return event in self._hooks

    def close(self) -> None:
        """Release what the programs needed."""
        self.programs.close()

    async def run(
        self, event: str, ctx: Context, subject: Subject, data: Mapping[str, Any]
    ) -> list[tuple[LoadedHook, HookAnswer]]:
        """Run the matching hooks side by side; return what each answered.

        ``data`` are the event's fields besides the common ones.
        """
        matching = [
            loaded
            for loaded in self._hooks.get(event, ())
            if await self._is_for(loaded, ctx, subject)
        ]
        if not matching:
            return []
        text = json.dumps(
            {**_common(event, ctx), **data}, ensure_ascii=False, default=str, skipkeys=True
        )
        answers = await asyncio.gather(*[self._run_one(one, ctx, text) for one in matching])
        found = list(zip(matching, answers, strict=True))
        for loaded, answer in found:
            if answer.failure:
                ctx.notify(f"Hook of {loaded.source} ({event}): it {answer.failure}.")
            if answer.notice:
                ctx.notify(f"{loaded.source}: {answer.notice}")
        return found

    async def _is_for(self, loaded: LoadedHook, ctx: Context, subject: Subject) -> bool:
        if loaded.workspace is not None and ctx.paths.workspace != loaded.workspace:
            return False
        hook = loaded.hook
        if not matches(hook.matcher, subject.names):
            return False
        if not hook.condition or subject.call is None:
            return True
        return await self._meets(hook.condition, ctx, subject.call)

    async def _meets(self, condition: str, ctx: Context, call: ToolCall) -> bool:
        """Return whether a call matches a rule such as ``bash(git push*)``.

        What cannot be decided counts as a match: the hook then decides itself.
        """
        tool, bracket, rest = condition.partition("(")
        names = {own_name(one) or one for one in tool.split("|")}
        if not any(fnmatchcase(call.name, name) for name in names):
            return False
        rules = self._host.services.get(PermissionRules)
        if not bracket or rules is None:
            return True
        written = f"{'|'.join(sorted(names))}({rest.replace(':*)', '*)')}"
        return await rules.matches(ctx, written, call)

    async def _run_one(self, loaded: LoadedHook, ctx: Context, text: str) -> HookAnswer:
        hook = loaded.hook
        if loaded.refusal:
            return HookAnswer("deny", loaded.refusal)
        if differing := await asyncio.to_thread(changed, hook.files):
            self._is_stale = self._is_stale or loaded.root is not None
            return _changed(hook, differing)
        program = self._program(loaded, ctx)
        if hook.detached:
            work = self.programs.run(program, ctx.paths, text)
            self._host.spawn(work, f"hook {hook.event}")
            return HookAnswer()
        return read_answer(hook, await self.programs.run(program, ctx.paths, text))

    def _program(self, loaded: LoadedHook, ctx: Context) -> Program:
        hook, folder = loaded.hook, ctx.paths.workspace
        variables = {"CLAUDE_PROJECT_DIR": str(folder), "HOOKLINE_HOOK": hook.event}
        # What a bundle's command names may be anything; only the person's own hooks get to see it.
        read_only = [path for path, _ in hook.files] if loaded.root is None else []
        writable: list[str] = []
        command, args = hook.command, hook.args
        if loaded.root is not None and loaded.data is not None:
            places = plugin_variables(loaded.root, loaded.data)
            variables |= places
            read_only += loaded.readable or [str(loaded.root)]
            writable.append(str(loaded.data))
            if loaded.root.parent == Path.home().resolve():
                # In the sandbox, HOME is another folder.
                command = _HOME.sub(lambda _: str(Path.home()), command)
            for name, value in places.items():
                command = command.replace(f"${{{name}}}", value)
                args = tuple(one.replace(f"${{{name}}}", value) for one in args or ()) or args
        argv = [*shell(), command] if args is None else [command, *args]
        return Program(
            argv, folder, hook.timeout, variables, read_only, writable, sandbox=hook.sandbox
        )


def matches(matcher: str, names: Sequence[str]) -> bool:
    """Return whether a matcher names one of ``names``; an empty one and ``*`` match everything.

    Plain names, with ``|`` between them, have to be equal. Anything else is a regular expression
    that is searched for, so that a guard rather matches too much.
    """
    if matcher in ("", "*"):
        return True
    if _SIMPLE.fullmatch(matcher):
        wanted = {word.strip() for word in re.split(r"[|,]", matcher)}
        return bool(wanted.intersection(names))
    return any(re.search(matcher, name) for name in names)


def tool_subject(call: ToolCall, other: str) -> Subject:
    """Return the subject of an event about a tool call; ``other`` is its name in Claude Code."""
    return Subject((other, *ALSO.get(call.name, ()), call.name), call)


def _common(event: str, ctx: Context) -> dict[str, Any]:
    return {
        "session_id": ctx.session.id,
        "transcript_path": "",
        "cwd": str(ctx.paths.workspace),
        "permission_mode": "default",
        "hook_event_name": event,
    }


def _changed(hook: BundleHook, files: Sequence[str]) -> HookAnswer:
    from .hook_answers import GUARDS

    names = ", ".join(Path(name).name for name in files)
    why = f"{names} has changed since this session began, so the hook was not run"
    if hook.event in GUARDS:
        return HookAnswer("deny", why)
    return HookAnswer(failure=f"was not run: {names} has changed since this session began")


def _pinned(loaded: LoadedHook) -> LoadedHook:
    files = pin([Path(name) for name, _ in loaded.hook.files])
    return replace(loaded, hook=replace(loaded.hook, files=files))


def _readable(bundle: Bundle, hook: BundleHook) -> tuple[str, ...]:
    """Return what a hook of a project folder may read of it: what counts for trust."""
    if bundle.format != "folder":
        return ()
    folders = [bundle.root / name for name in HASHED_FOLDERS]
    named = [path for path, _ in hook.files if Path(path).is_relative_to(bundle.root)]
    return (*(str(folder) for folder in folders if folder.is_dir()), *named)


def _refusing(statuses: Sequence[BundleStatus]) -> Iterator[LoadedHook]:
    """Yield the guards that the person relies on although their bundle is no longer used."""
    for status in statuses:
        only = status.folder if status.scope == "project" else None
        for guard in status.guards:
            hook = BundleHook(guard.event, guard.matcher, "", condition=guard.condition)
            why = f"it would check this, but it is not used: {status.explanation}"
            yield LoadedHook(hook, status.name, workspace=only, refusal=why)


def _config_hooks(host: Host, config: BundlesConfig) -> list[LoadedHook]:
    """Return the hooks of config.yaml. A script that begins with ``./`` is in the home if there is
    one of that name, else in the workspace."""
    found = []
    for event, entries in config.hooks.items():
        for entry in entries:
            command = _in_home(entry.run, host.home)
            folder = Path(host.config.workspace).resolve()
            files = named_files([command], folder, {})
            hook = BundleHook(
                EVENTS[event],
                "",
                command,
                timeout=entry.timeout,
                strict=True,
                sandbox=entry.sandbox,
                condition=entry.match,
                files=tuple((str(path), "") for path in files),
            )
            found.append(LoadedHook(hook, CONFIG_SOURCE))
    return found


def _in_home(command: str, home: Path) -> str:
    import shlex

    first, *rest = command.strip().split(None, 1)
    if first.startswith("./") and (home / first).is_file():
        return " ".join([shlex.quote(str((home / first).resolve())), *rest])
    return command
