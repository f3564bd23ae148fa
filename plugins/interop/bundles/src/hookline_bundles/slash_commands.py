"""Commands of bundles as slash commands: the file's text becomes the person's message."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Callable, Sequence
from functools import partial

from hookline_hookspecs import Command, Context, Conversations, HooklineError, Host, ToolCall

from .bundle import Bundle, BundleCommand
from .capabilities import inline_programs
from .command_limits import CommandLimits
from .library import BundleLibrary, BundleStatus
from .program import Program, ProgramRunner, shell
from .servers import expand, plugin_variables

MAX_PROMPT_CHARS = 100_000
MAX_PRINTED_CHARS = 30_000
"""Characters of what a program in a command's text prints."""
PROGRAM_SECONDS = 60.0
MAX_HELP_CHARS = 160
_ARGUMENT = re.compile(r"\$(?:ARGUMENTS\[(\d+)\]|ARGUMENTS|\{(\d+)\}|(\d+))")


_FROM_ZERO = re.compile(r"\$(?:0|\{0\})(?!\w)")


class BundleCommands:
    """Offers the commands of the bundles in use (``CommandSource``)."""

    def __init__(
        self,
        host: Host,
        library: BundleLibrary,
        programs: ProgramRunner,
        limits: CommandLimits,
        find_model: Callable[[str], str | None],
    ) -> None:
        self.plugin = host.plugin
        self._host = host
        self._library = library
        self._programs = programs
        self._limits = limits
        self._find_model = find_model

    def commands(self) -> Sequence[Command]:
        """Return them: ``/bundle:name``, and ``/name`` for the first of a name."""
        found = []
        names: set[str] = set()
        for status in self._library.active:
            assert status.bundle is not None
            for one in status.bundle.commands:
                full = f"/{status.name}:{one.name}"
                short = f"/{one.name}"
                is_first = short.casefold() not in names
                names.add(short.casefold())
                found.append(
                    Command(
                        short if is_first else full,
                        _help(one),
                        partial(self._run, status, one),
                        aliases=(full,) if is_first else (),
                        audience="admins",
                        category=f"From {_shown_source(status)}",
                    )
                )
        return found

    async def _run(
        self, status: BundleStatus, command: BundleCommand, ctx: Context, args: str
    ) -> str:
        assert status.bundle is not None
        try:
            text = await self._prompt(ctx, status.bundle, command, args)
        except HooklineError as error:
            return f"/{command.name} was not sent: {error}"
        self._limits.begin(ctx, command, text)
        model = self._find_model(command.model)
        self._host.services[Conversations].rerun(ctx, text, model)
        return ""

    async def _prompt(self, ctx: Context, bundle: Bundle, command: BundleCommand, args: str) -> str:
        """Return the message: arguments filled in, and what its programs print.

        ``@file`` in it is a reference of a person's message as any other.

        Raises:
            HooklineError: it is too long, or a guard refuses it.
        """
        places = plugin_variables(bundle.root, bundle.data)
        body = with_arguments(expand(command.body, places), args)
        for program in dict.fromkeys(inline_programs(body)):
            printed = await self._printed(ctx, bundle, command, program)
            body = body.replace(f"!`{program}`", printed)
        if len(body) > MAX_PROMPT_CHARS:
            raise HooklineError(
                f"it has {len(body):,} characters; {MAX_PROMPT_CHARS:,} are allowed"
            )
        return await ctx.read(body, f"bundles/{bundle.name}/commands/{command.name}", kind="skill")

    async def _printed(
        self, ctx: Context, bundle: Bundle, owner: BundleCommand, command: str
    ) -> str:
        """Return what a program in a command's text prints.

        It runs in the sandbox, if the command's ``allowed-tools`` name it and the guards of
        ``bash`` have nothing against it. Otherwise the model is told to run it, so that a person
        is asked as for any other command.
        """
        from hookline_sandbox import Method, found

        left = f"`{command}` (not run yet: run it with bash, and use what it prints)"
        bash = next((tool for tool in self._host.tools() if tool.name == "bash"), None)
        call = ToolCall("", "bash", {"command": command})
        if bash is None or not await self._limits.covers(ctx, owner, call):
            return left
        try:
            conversations = self._host.services[Conversations]
            await conversations.check_outside_turn(bash, {"command": command})
        except HooklineError:
            return left
        if (await asyncio.to_thread(found)).method is Method.NONE:
            return left
        variables = plugin_variables(bundle.root, bundle.data)
        program = Program(
            [*shell(), command],
            ctx.paths.workspace,
            PROGRAM_SECONDS,
            {**variables, "CLAUDE_PROJECT_DIR": str(ctx.paths.workspace)},
            [str(bundle.root)],
            [str(bundle.data)],
        )
        result = await self._programs.run(program, ctx.paths)
        if result.failure:
            return f"[`{command}` {result.failure}]"
        printed = (result.stdout + result.stderr).strip()
        if len(printed) > MAX_PRINTED_CHARS:
            printed = f"{printed[:MAX_PRINTED_CHARS]}\n[… rest left out]"
        if result.exit_code:
            printed += f"\n[exit code {result.exit_code}]"
        return printed


def with_arguments(body: str, args: str) -> str:
    """Fill in ``$ARGUMENTS``, ``$1`` and the like; arguments that no place takes are appended."""
    try:
        words = shlex.split(args)
    except ValueError:
        words = args.split()

    # Newer commands count from $0, as $ARGUMENTS[0] does; older ones from $1.
    start = 0 if _FROM_ZERO.search(body) else 1

    def value(found: re.Match[str]) -> str:
        if found[1] is None and found[2] is None and found[3] is None:
            return args
        number = int(found[1]) if found[1] else int(found[2] or found[3]) - start
        return words[number] if 0 <= number < len(words) else ""

    filled, count = _ARGUMENT.subn(value, body)
    return filled if count or not args else f"{filled}\n\nARGUMENTS: {args}"


def _help(command: BundleCommand) -> str:
    text = " ".join(filter(None, (command.hint, command.description)))
    return text if len(text) <= MAX_HELP_CHARS else f"{text[: MAX_HELP_CHARS - 1]}…"


def _shown_source(status: BundleStatus) -> str:
    return {"project": "this project", "user": "your own folder"}.get(
        status.scope, f"bundle {status.name}"
    )
