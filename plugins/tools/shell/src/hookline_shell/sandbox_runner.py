"""Decides which commands are sandboxed, with which network, and what happens without a sandbox.

``hookline_sandbox`` creates the sandbox; see ``docs/tool-safety.md`` for the rules.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hookline_hookspecs import Ask, CheckResult, Deny, Modes, Origin, ToolError
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.own_code import WHAT_TO_DO
from hookline_hookspecs.sentences import N_
from hookline_hookspecs.visible_text import on_one_line
from hookline_sandbox import Found, Limits, Method, Places, Sandbox, found
from hookline_sandbox.command_server import SandboxEnded
from hookline_sandbox.control_file_guard import ControlFileGuard
from hookline_sandbox.control_files import Changes
from hookline_sandbox.methods import supervision_failure
from hookline_sandbox.network_access import Asking, NetworkAccess, named_hosts
from hookline_sandbox.proxy import Proxy
from hookline_sandbox.running_sandboxes import Network, RunningSandboxes
from hookline_toolmark import MARK

from .command_runner import (
    Command,
    CommandResult,
    StartedCommand,
    on_host,
    run_command,
    run_on_host,
)
from .control_file_question import listed, settle

if TYPE_CHECKING:
    from hookline_hookspecs import Context, Host, Mode

    from .config import SandboxConfig

_OFF = "or switch it off with `plugins: {shell: {sandbox: {enabled: false}}}`"
_WARNED_KEY = "no_sandbox_warned"
"""Key in the session's stash once the operator was warned that there is no sandbox."""
_MAX_SHOWN_ADDRESSES = 20
"""Reached addresses that a result names as its origins."""
_MAX_SHOWN_NAMES = 8
_READ_ONLY = re.compile(r"Read-only file system|Permission denied|os error (?:30|13)\b")
"""How programs report that a file of the sandbox is read-only (EROFS, with Landlock EACCES)."""
OFFLINE = (
    "in this chat commands run only in the sandbox and without a network, which a person has "
    "chosen with /sandbox no-network"
)
MAX_REASON_CHARS = 300
"""Characters of a call's reason that the question shows."""


def is_sandboxed(config: SandboxConfig, ctx: Context) -> bool:
    """Whether commands of this turn are sandboxed.

    With ``enabled: auto``, all are, except where no sandbox works those that the operator requests
    in person at the terminal, or has allowed beforehand (``--yes``).
    """
    session = ctx.session
    is_chat = session.parent_id is None and session.kind == "chat"
    in_person = is_chat and ctx.channel == TERMINAL and ctx.operator and ctx.approval != "no"
    if in_person or config.enabled != "auto":
        return is_sandboxed_in_person(config)
    return True


def is_sandboxed_in_person(config: SandboxConfig) -> bool:
    """Whether commands are sandboxed that the operator requests at the terminal."""
    return found().method is not Method.NONE if config.enabled == "auto" else config.enabled


@dataclass(frozen=True, slots=True)
class SandboxedResult:
    """A result with its origins, and notes for the model.

    in_sandbox: later commands of the session see the processes that it left.
    """

    result: CommandResult
    origins: tuple[Origin, ...]
    notes: tuple[str, ...] = ()
    in_sandbox: bool = False


class SandboxRunner:
    """Runs commands in the sandbox, as configured."""

    def __init__(self, config: SandboxConfig, host: Host) -> None:
        self._config = config
        self._host = host
        limits = Limits(**config.limits.model_dump())
        self.sandbox = Sandbox(
            host.home, limits, read_only=config.read_only, writable=config.writable
        )
        self._guard = ControlFileGuard(self.sandbox)
        self._running = RunningSandboxes(self.sandbox, self._guard, host.http)
        self._network: dict[str, NetworkAccess] = {}
        """The hosts that may be reached, by origin of the commands."""

    async def run(self, ctx: Context, command: Command, *, offline: bool) -> SandboxedResult:
        """Run a command in the sandbox; ``offline``: without a network, whatever the settings say.

        Raises:
            ToolError: no sandbox can be created, but one is required.
        """
        here = await asyncio.to_thread(found)
        if here.method is Method.NONE and offline:
            raise ToolError(f"nothing was run: {offline_refusal()}")
        if here.method is Method.NONE:
            self._require_person(ctx, here)
            return SandboxedResult(await run_on_host(command), _origins(()))
        key = _key(ctx)
        if await asyncio.to_thread(self.sandbox.emptied, key):
            ctx.notify(
                "The /tmp and home of the sandbox had more than "
                f"{self._config.limits.private_mb:,} MiB and were emptied."
            )
        places = _places(ctx, command.folder, shows_secrets=ctx.operator)
        left = await self._guard.before(places)
        if left:
            shown = listed(left.names())
            ctx.notify(f"A background process had changed {shown}; it was put back.")
        try:
            notes = await self._settle(ctx, places, left)
            run = self._run_once if here.method is Method.SEATBELT else self._run_inside
            access = None if offline else self._network_of(ctx)
            done = await run(ctx, command, places, access)
        finally:
            is_busy = self._running.has_processes(key)
            after = self._guard.after(places, key, left_running=is_busy)
            changes = await asyncio.shield(after)
        notes += await self._settle(ctx, places, changes)
        if note := read_only_note(done.result.text, places):
            done = replace(done, notes=(*done.notes, note))
        return replace(done, notes=(*done.notes, *notes)) if notes else done

    async def _settle(self, ctx: Context, places: Places, changes: Changes) -> tuple[str, ...]:
        """Ask about control files that commands made; return notes for the model."""
        if not changes:
            return ()
        modes = self._host.services.get(Modes)
        mode = await modes.get(ctx.session.id) if modes is not None else None
        return await settle(ctx, self._guard, places, changes, mode)

    async def run_outside(self, ctx: Context, command: Command) -> SandboxedResult:
        """Run a command outside of the sandbox, after putting back what background processes in the
        sandbox have changed in files that it may follow. The result has no origins."""
        places = _places(ctx, command.folder)
        if changes := await self._guard.around_outside(places):
            shown = listed(changes.names())
            ctx.notify(f"A background process had changed {shown}; it was put back.")
        try:
            done = SandboxedResult(await run_on_host(command), ())
        finally:
            changes = await asyncio.shield(self._guard.around_outside(places))
        if not changes:
            return done
        shown = listed(changes.names())
        note = f"put back, because processes run in the sandbox: {shown}; end them first"
        return replace(done, notes=(note,))

    async def _run_inside(
        self, ctx: Context, command: Command, places: Places, access: NetworkAccess | None
    ) -> SandboxedResult:
        """Run a command in the running sandbox of its origin."""
        if access is None:
            return await self._run_in_session(ctx, command, places, None)
        asking = await self._asking(ctx, command.argv[-1])
        access.begin(asking)
        try:
            return await self._run_in_session(ctx, command, places, access)
        finally:
            await access.end(asking)

    async def _run_once(
        self, ctx: Context, command: Command, places: Places, access: NetworkAccess | None
    ) -> SandboxedResult:
        """Run a command in a sandbox of its own, with a proxy of its own."""
        key, argv, environment = _key(ctx), command.argv, command.environment
        if access is None:
            inner = self.sandbox.environment(environment, key)
            wrapped = await asyncio.to_thread(self.sandbox.wrapped, argv, places, environment, key)
            result = await run_command(command, on_host(wrapped, places.folder, inner))
            return SandboxedResult(result, _origins(()))
        asking, ports = await self._asking(ctx, argv[-1]), await access.local_ports(ctx)
        access.begin(asking)
        try:
            async with Proxy(self._host.http, access, on_loopback=True) as proxy:
                inner = self.sandbox.environment(environment, key, proxy.port)
                wrapped = self.sandbox.wrapped(
                    argv, places, environment, key, proxy_port=proxy.port, local_ports=ports
                )
                start = on_host(wrapped, places.folder, inner)
                result = await run_command(command, start, lambda: access.waited)
        finally:
            await access.end(asking)
        return SandboxedResult(result, _origins(proxy.reached), _refusals(proxy.refused))

    def _network_of(self, ctx: Context) -> NetworkAccess | None:
        """What decides about hosts for the commands of this turn; None without a network."""
        if not self.has_network(ctx) or not found().method.has_network:
            return None
        return self._network.setdefault(_key(ctx), NetworkAccess(self._host))

    async def _asking(self, ctx: Context, command: str) -> Asking:
        """The command as a question about a host shows it.

        The hosts of addresses in a command that a person has just approved are granted. In the mode
        ``yolo`` every public host is, unless the conversation has read from outside.
        """
        modes = self._host.services.get(Modes)
        is_yolo = modes is not None and await modes.get(ctx.session.id) == "yolo"
        is_free = is_yolo and not any(o.kind in ("outside", "person") for o in ctx.origins)
        granted = named_hosts(command) if ctx.approved else set()
        return Asking(ctx, command, grant_all=is_free, allowed=granted)

    async def _run_in_session(
        self, ctx: Context, command: Command, places: Places, access: NetworkAccess | None
    ) -> SandboxedResult:
        key = _key(ctx)
        network = Network(access, await access.local_ports(ctx)) if access else None
        try:
            running, has_ended = await self._running.enter(
                key, places, command.environment, network
            )
        except SandboxEnded as error:
            raise ToolError(f"nothing was run: the sandbox could not be started: {error}") from None
        socket = running.proxy.socket if running.proxy else None
        inner = self.sandbox.environment(command.environment, key, socket)

        async def start(output: int, mark: str) -> StartedCommand:
            entry = f"{MARK}={mark}"
            try:
                return await running.server.run(
                    command.argv,
                    places.folder,
                    {**inner, MARK: mark},
                    entry,
                    output,
                    running.confinement,
                )
            except SandboxEnded:
                raise ToolError("the sandbox ended before the command; try again") from None

        def waited() -> float:
            return access.waited if access is not None else 0.0

        try:
            result = await run_command(command, start, waited)
        finally:
            reached, refused = await asyncio.shield(self._running.leave(running))
        notes = _refusals(refused)
        if has_ended:
            notes += ("the sandbox was started anew; its background processes have ended",)
        sees_others = found().method.has_namespaces
        return SandboxedResult(result, _origins(reached), notes, in_sandbox=sees_others)

    def _require_person(self, ctx: Context, here: Found) -> None:
        """Raise ``ToolError`` unless a person approved the command or the operator watches."""
        if self._config.enabled is True or ctx.approval == "no":
            raise ToolError(f"nothing was run: {_sandbox_required(here)}")
        if ctx.operator and not ctx.stash.session.setdefault(_WARNED_KEY, False):
            ctx.stash.session[_WARNED_KEY] = True
            ctx.notify(
                f"Commands run without a sandbox: {here.why}. {here.fix[:1].upper()}{here.fix[1:]}."
            )

    def has_network(self, ctx: Context) -> bool:
        """Whether commands of this turn reach the network through the guarded proxy."""
        if self._config.network == "auto":
            return ctx.operator
        return self._config.network == "guarded"

    async def put_back(self, ctx: Context) -> None:
        """Put back what commands of this workspace that still run have changed."""
        await self._guard.put_back_now(_places(ctx, ctx.paths.workspace))

    async def end_processes(self, session: str) -> None:
        """End the running sandboxes of a session, with every process in them."""
        for key in _keys(session):
            await self._running.close(key)

    async def end_session(self, session: str) -> None:
        """End the sandboxes of a session, and remove its private folders."""
        await self.end_processes(session)
        for key in _keys(session):
            self._network.pop(key, None)
            await asyncio.to_thread(self.sandbox.remove, key)

    async def close(self) -> None:
        """End every sandbox and remove the private folders."""
        await self._running.close_all()
        self._guard.close()
        self.sandbox.close()


def no_sandbox_verdict(
    config: SandboxConfig, ctx: Context, command: str, mode: Mode | None
) -> Deny | Ask | None:
    """The verdict on a command that should be sandboxed where no sandbox can be created.

    In the mode ``yolo``, or with no one to ask, none is run. Each command of anyone but the
    operator needs approval each time. None for the operator's, which the rules decide about.
    """
    here = found()
    if config.enabled is True:
        return None  # the tool refuses it
    if mode == "yolo":
        return Deny(f"yolo mode runs commands only in the sandbox, but {here.why}; {here.fix}")
    if ctx.approval == "no":
        return Deny(f"no one is here to watch, so nothing was run: {_sandbox_required(here)}")
    if ctx.operator:
        return None
    return Ask(
        "No sandbox can be created on this machine: the command would run with all the rights "
        f"of the account that runs Hookline ({here.why}).",
        command,
        once=True,
    )


def outside_verdict(ctx: Context, command: str, reason: str, mode: Mode | None) -> Deny | Ask:
    """The verdict on a call that asks to leave the sandbox: a person decides, each time."""
    if refusal := outside_refusal(ctx, mode):
        return Deny(refusal)
    why = on_one_line(reason, MAX_REASON_CHARS)
    text = (
        N_(f"It would run outside the sandbox, with your rights. Its reason: {why}")
        if why
        else N_("It would run outside the sandbox, with your rights.")
    )
    return Ask(text, command, once=True)


def outside_refusal(ctx: Context, mode: Mode | None) -> str:
    """Why a command of this turn may not leave the sandbox; empty if a person can be asked.

    A blanket approval (``--yes``, the mode ``yolo``) holds only inside.
    """
    if mode == "yolo" or ctx.approval != "ask":
        return "outside the sandbox only a person can let a command run, and none is asked here"
    return ""


def offline_refusal() -> str:
    """Why a command of a chat without a network cannot run where no sandbox works."""
    here = found()
    return f"{OFFLINE}, but {here.why}; {here.fix}, or end it with /sandbox default"


def _places(ctx: Context, folder: Path, *, shows_secrets: bool = False) -> Places:
    paths = ctx.paths
    return Places(
        folder,
        paths.workspace,
        paths.check_path,
        paths.protection,
        shows_secrets,
        paths.read_only_places(),
    )


def read_only_note(text: str, places: Places) -> str:
    """Why a program could not change Hookline's own code; empty if nothing says that it tried."""
    if not _READ_ONLY.search(text):
        return ""
    workspace = places.workspace
    for place in places.read_only:
        if Path(place).is_relative_to(workspace) and (
            place in text or f"{Path(place).relative_to(workspace)}/" in text
        ):
            return (
                f"{place} cannot be changed, because Hookline runs its code from it: {WHAT_TO_DO}"
            )
    return ""


def _key(ctx: Context) -> str:
    """The origin of a turn's commands: its session, and whether the operator or an admin asks."""
    return _key_of(ctx.session.id, ctx.operator)


def _keys(session: str) -> tuple[str, ...]:
    return tuple(_key_of(session, operator) for operator in (True, False))


def _key_of(session: str, operator: bool) -> str:
    return f"{session} {'operator' if operator else 'others'}"


def _origins(reached: Sequence[str]) -> tuple[Origin, ...]:
    shown = reached[:_MAX_SHOWN_ADDRESSES]
    return tuple(Origin("outside", place) for place in shown) or (Origin("workspace", "bash"),)


def _refusals(refused: Mapping[str, str]) -> tuple[str, ...]:
    """Why hosts were refused, as notes for the model."""
    return tuple(dict.fromkeys(refused.values()))[:_MAX_SHOWN_NAMES]


def _sandbox_required(here: Found) -> str:
    return f"commands must be sandboxed, but {here.why}; {here.fix} {_OFF}"


def check_sandbox(config: SandboxConfig) -> CheckResult:
    """The result of the doctor's check of the sandbox."""
    if config.enabled is False:
        detail = "off: everyone's commands run with all the rights of this account"
        return CheckResult(True, detail, "To turn it on, set sandbox.enabled to auto.", hint=True)
    found.cache_clear()  # the machine may have changed
    here = found()
    fix = f"{here.fix[:1].upper()}{here.fix[1:]}."
    if here.method.has_namespaces or here.method is Method.SEATBELT:
        return CheckResult(True, f"sandbox for all commands: {here.method.value}")
    if here.method is Method.LANDLOCK:
        missing = supervision_failure()
        network = f"without network ({missing})" if missing else "with a supervised network"
        detail = f"sandbox for all commands: Landlock, {network}, because {here.why}"
        return CheckResult(True, detail, fix, hint=True)
    if config.enabled is True:
        return CheckResult(False, f"no command is run: {here.why}", fix)
    detail = f"none can be created: each command needs approval ({here.why})"
    return CheckResult(True, detail, fix, hint=True)
