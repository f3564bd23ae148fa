"""Print a shell completion script.

``hookline completion bash|zsh|fish``.
"""

from __future__ import annotations

import shlex
import sys
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

import typer
from hookline_hookspecs import CommandError
from hookline_hookspecs.cli import command_line

Shell = Literal["bash", "zsh", "fish"]


def completion(
    ctx: typer.Context,
    shell: Annotated[
        Shell | None, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")
    ] = None,
    refresh: Annotated[bool, typer.Option("--refresh", hidden=True)] = False,
) -> None:
    """Print a shell completion script.

    It completes commands, options, sessions, plugins, config keys and models.

    \b
    Install it with the line for your shell, then start a new shell:
    hookline completion bash >~/.hookline.sh; echo . ~/.hookline.sh >>~/.bashrc
    hookline completion zsh >~/.hookline.zsh; echo . ~/.hookline.zsh >>~/.zshrc
    hookline completion fish >~/.config/fish/completions/hookline.fish
    """
    from .table import write_table

    if shell is None and not refresh:
        raise CommandError("Name your shell: hookline completion bash|zsh|fish")
    write_table(ctx.find_root().command, command_line())
    if shell is not None:
        typer.echo(script(shell), nl=False)


def script(shell: Shell) -> str:
    """The completion script for a shell; it runs the Python interpreter that runs this."""
    completer = Path(str(files(__package__).joinpath("completer.py")))
    command = [sys.executable, "-I", "-S", str(completer)]
    words = " ".join(map(_quote_for_fish, command)) if shell == "fish" else shlex.join(command)
    text = files(__package__).joinpath(f"{shell}.sh").read_text("utf-8")
    return text.replace("@COMPLETER@", words)


def _quote_for_fish(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
