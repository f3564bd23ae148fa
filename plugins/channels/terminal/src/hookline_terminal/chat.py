"""Chat in the terminal.

``hookline chat``: its options, and the session that it opens.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer
from hookline_hookspecs import CommandError, Conversations, HooklineError, Host, Inspection
from hookline_hookspecs.cli import command_line

from .activity import CHANNEL
from .sessions import choose_mode, is_generated, is_valid, new_session_id

if TYPE_CHECKING:
    from .channel import TerminalChannel

USAGE, INTERRUPTED = 2, 130
"""Exit codes."""
SESSION = "Continue or create this session."
MODE = "How freely the agent acts: ask, auto, plan or yolo. Shift-Tab switches."
CONTINUE = "Continue the session last used in this folder."
WORKTREE = "Work in a git worktree of this name, on a branch of its own."
WORKSPACE_VARIABLE = "HOOKLINE_WORKSPACE"
"""Overrides ``workspace`` of ``config.yaml``."""
RESUME = "Resume the session ID, or choose one from a list."
RESUMED_ID = "With --resume: a session's id or the start of it."


def chat(
    resumed: Annotated[
        str | None, typer.Argument(metavar="ID", help=RESUMED_ID, show_default=False)
    ] = None,
    session: Annotated[str | None, typer.Option(metavar="ID", help=SESSION)] = None,
    continue_: Annotated[bool, typer.Option("--continue", "-c", help=CONTINUE)] = False,
    resume: Annotated[bool, typer.Option("--resume", "-r", help=RESUME)] = False,
    model: Annotated[
        str | None, typer.Option(metavar="PROVIDER/MODEL", help="Use this model.")
    ] = None,
    mode: Annotated[str | None, typer.Option(help=MODE)] = None,
    worktree: Annotated[str | None, typer.Option(metavar="NAME", help=WORKTREE)] = None,
) -> None:
    """Chat in the terminal."""
    _check_options(session, continue_, resume, resumed)
    if model is None:
        _need_model()
    choice = (session, continue_, resume, resumed)
    with _in_worktree(worktree):
        # Once the folder is trusted, the config is read again: its settings count now.
        while command_line().run(
            lambda plugin: _chat(plugin.host, choice, mode), warns_of_untrusted=False, model=model
        ):
            pass


@contextmanager
def _in_worktree(name: str | None) -> Iterator[None]:
    """Make a git worktree the workspace of this process; say afterwards what became of it."""
    if name is None:
        yield
        return
    from .worktree import close, opened

    start = Path(command_line().configuration.effective()["workspace"]).expanduser().absolute()
    with opened(start, name) as worktree:
        os.environ[WORKSPACE_VARIABLE] = str(worktree.workspace)
        try:
            yield
        finally:
            _print_stderr(close(worktree))


def _need_model() -> None:
    """Check that a model is set up; on a terminal, offer ``hookline init`` if not.

    Raises:
        CommandError: there is no model.
    """
    from .channel import is_terminal
    from .setup import initialise

    line = command_line()
    try:
        line.configuration.default_model()
    except HooklineError as error:
        if not (is_terminal(sys.stdin) and is_terminal(sys.stdout)):
            raise CommandError(str(error)) from None
        _print_stderr(_between_words(f"hookline: {error}"))
        try:
            answer = input("Set up now? [Y/n] ").strip().casefold()
        except (EOFError, KeyboardInterrupt):
            _print_stderr("")  # end the line of the prompt
            raise SystemExit(INTERRUPTED) from None
        if answer not in ("", "y", "yes"):
            raise SystemExit(USAGE) from None
        initialise(line.plugin().host, line.configuration)
        try:
            line.configuration.default_model()
        except HooklineError as still:
            raise CommandError(str(still)) from None


async def _chat(
    host: Host, choice: tuple[str | None, bool, bool, str | None], mode: str | None
) -> bool:
    """Chat; True if the folder was trusted instead, so that the chat has to be opened anew."""
    core = host.services[Inspection]
    core.check_model(core.default_model())
    channel = cast("TerminalChannel", next(c for c in host.channels() if c.name == CHANNEL))
    is_trusted = await channel.ask_about_folder()
    if is_trusted:
        return True
    # The question about the folder, if it was asked, has already said that.
    untrusted = core.untrusted_settings() if is_trusted is None else ""
    for line in filter(None, (untrusted, *core.plugin_problems())):
        _print_stderr(_between_words(f"hookline: warning: {line}"))
    session, _, resume, _ = choice
    earlier = await _earlier(host, *choice)
    if earlier is not None:
        await host.services[Conversations].reopen(earlier)
    elif resume:
        return False
    channel.resumed = earlier is not None
    channel.session = earlier or session or new_session_id(host.now())
    if mode is not None:
        await choose_mode(host, channel.session, mode)
    await channel.start()
    try:
        await channel.wait()
    finally:
        await channel.stop()
    if channel.spent:
        _print_stderr(channel.spent)
    if channel.open_session is not None:
        _print_stderr(f"Continue with: hookline chat --session {channel.open_session}")
    return False


def _check_options(session: str | None, continue_: bool, resume: bool, resumed: str | None) -> None:
    """Raise ``CommandError`` for options that exclude each other."""
    if session is not None and not is_valid(session):
        raise CommandError("a session id is 1 to 200 printable characters, without a slash")
    if (session is not None) + continue_ + resume > 1:
        raise CommandError("use only one of --session, --continue and --resume")
    if resumed is not None and not resume:
        raise CommandError(
            f"chat takes no message. Run `hookline run {resumed!r}` to send one, or "
            f"`hookline chat --resume {resumed}` to resume a session"
        )


async def _earlier(
    host: Host, session: str | None, continue_: bool, resume: bool, resumed: str | None
) -> str | None:
    """Return the id of the earlier session that the options name; None for a new one.

    A name that a person chose means the session that has it now; a generated id means exactly that
    session, however old.
    """
    from .past_sessions import last_session, past_sessions, session_called

    if session is not None and is_generated(session):
        known = [past.id for past in await past_sessions(host)]
        return session if session in known else None
    if continue_:
        return await last_session(host, host.paths.workspace)
    if resumed is not None:
        return await session_called(host, resumed)
    return await _pick_session(host) if resume else None


async def _pick_session(host: Host) -> str | None:
    from .channel import is_terminal
    from .past_sessions import past_sessions, recap

    if not (is_terminal(sys.stdin) and is_terminal(sys.stdout)):
        raise CommandError("picking a session needs a terminal. Name a session: --resume ID")
    found = await past_sessions(host)
    if not found:
        raise CommandError("no session to resume yet. Run `hookline chat` to start one")
    from .session_picker import pick

    return await pick(found, partial(recap, host))


def _between_words(text: str) -> str:
    """Wrap the text if stderr is a terminal."""
    from .channel import is_terminal

    if not is_terminal(sys.stderr):
        return text
    from hookline_markdown import fitted, literal

    return fitted(literal(text), max(20, shutil.get_terminal_size().columns)).rstrip("\n")


def _print_stderr(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
