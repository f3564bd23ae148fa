"""``!vim``: programs that need the whole terminal get it, and give it back."""

from __future__ import annotations

import asyncio
import re
import shlex
from pathlib import Path

from .shell_escape import own_shell

FULL_SCREEN = frozenset(
    (
        *("vi", "vim", "nvim", "view", "vimdiff", "nano", "pico", "micro", "hx", "helix", "kak"),
        *("joe", "mg", "emacs", "less", "more", "most", "man", "info", "top", "htop", "btop"),
        *("atop", "iotop", "watch", "tig", "lazygit", "ssh", "mosh", "telnet", "sftp", "ftp"),
        *("tmux", "screen", "mc", "ranger", "nnn", "fzf", "su", "visudo", "passwd"),
    )
)
INTERPRETERS = frozenset(
    (
        *("bash", "sh", "zsh", "fish", "python", "python3", "ipython", "node", "irb"),
        *("psql", "mysql", "sqlite3", "redis-cli", "gdb"),
    )
)
"""Interactive without arguments, apart from a database or a file for some."""
_WRAPPERS = frozenset(("sudo", "doas", "env", "command", "exec", "time", "nice"))
_BATCH_OPTIONS = frozenset(("-c", "-e", "-m", "--command", "--execute", "--version", "--help"))
_SCRIPTABLE = frozenset(("psql", "mysql", "sqlite3", "redis-cli", "gdb"))
_GIT_OPTIONS_WITH_VALUE = frozenset(("-C", "-c", "--git-dir", "--work-tree", "--namespace"))
_GIT_MESSAGE_OPTIONS = frozenset(
    ("--message", "--file", "--no-edit", "--reuse-message", "--fixup", "--dry-run", "--help")
)
"""With one of these, ``git commit`` opens no editor."""
_GIT_ASKING_OPTIONS: dict[str, tuple[set[str], set[str]]] = {
    "rebase": ({"i"}, {"--interactive", "--edit-todo"}),
    "add": ({"i", "p", "e"}, {"--interactive", "--patch", "--edit"}),
    "config": ({"e"}, {"--edit"}),
    "branch": (set(), {"--edit-description"}),
    **dict.fromkeys(("checkout", "restore", "reset", "stash"), ({"p"}, {"--patch"})),
}
"""Options with which git opens an editor or asks, short and long, by subcommand."""
_SEPARATORS = re.compile(r"\|\|?|&&|;|\n")
TERMINAL_RESET = "\x1b[0m\x1b[?25h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l"
LEAVE_SCREEN = "\x1b[?1049l"
"""For a program that was killed while it had the whole screen."""

KILLED = 128
"""A shell's exit code for a program that a signal ended is higher."""


def needs_terminal(command: str) -> bool:
    """Whether a command line ends in a program that needs the terminal."""
    if ">" in command:
        return False
    try:
        words = shlex.split(_SEPARATORS.split(command)[-1])
    except ValueError:
        return False
    while words and (words[0] in _WRAPPERS or re.match(r"\w+=|-", words[0])):
        words = words[1:]
    if not words:
        return False
    name, arguments = Path(words[0]).name, words[1:]
    if name == "git":
        return _git_needs_terminal(arguments)
    if name in FULL_SCREEN:
        return not {"--version", "--help"}.intersection(arguments)
    if name not in INTERPRETERS or _BATCH_OPTIONS.intersection(arguments) or "<" in command:
        return False
    return len(arguments) < 2 if name in _SCRIPTABLE else not arguments


def _git_needs_terminal(arguments: list[str]) -> bool:
    """Whether git opens an editor or asks about each change."""
    while arguments and arguments[0].startswith("-"):
        takes_value = arguments[0] in _GIT_OPTIONS_WITH_VALUE
        arguments = arguments[2:] if takes_value else arguments[1:]
    if not arguments:
        return False
    name, options = arguments[0], [one for one in arguments[1:] if one.startswith("-")]
    short = {letter for one in options if not one.startswith("--") for letter in one[1:]}
    long = {one.partition("=")[0] for one in options}
    if name == "commit":
        is_said = short & set("mFC") or long & _GIT_MESSAGE_OPTIONS
        return "p" in short or "--patch" in long or not is_said
    asks, asks_long = _GIT_ASKING_OPTIONS.get(name, (set(), set()))
    return bool(short & asks or long & asks_long)


async def run_on_terminal(command: str, folder: Path) -> int:
    """Run a command of the person with the terminal itself; return its exit code.

    Raises:
        OSError: the shell could not be started.
    """
    process = await asyncio.create_subprocess_exec(own_shell(), "-c", command, cwd=folder)
    code = await process.wait()
    return code if code >= 0 else 128 - code
