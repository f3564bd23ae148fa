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
    shell: Annotated[Shell | None, typer.Argument(help="Your shell.")] = None,
    refresh: Annotated[bool, typer.Option("--refresh", hidden=True)] = False,
) -> None:
    """Print a shell completion script.

    Tab then offers commands, options, sessions, plugins, keys and models.

    \b
    Install it with the line for your shell, then start a new shell:
    hookline completion bash >~/.hookline.sh; echo . ~/.hookline.sh >>~/.bashrc
    hookline completion zsh >~/.hookline.zsh; echo . ~/.hookline.zsh >>~/.zshrc
    hookline completion fish >~/.config/fish/completions/hookline.fish
    """
    from .table import write

    if shell is None and not refresh:
        raise CommandError("name your shell: hookline completion bash|zsh|fish")
    write(ctx.find_root().command, command_line())
    if shell is not None:
        typer.echo(script(shell), nl=False)


def script(shell: Shell) -> str:
    """The functions for a shell; they run the Python that runs this."""
    answer = Path(str(files(__package__).joinpath("answer.py")))
    command = [sys.executable, "-I", "-S", str(answer)]
    words = " ".join(map(_for_fish, command)) if shell == "fish" else shlex.join(command)
    text = files(__package__).joinpath(f"{shell}.sh").read_text("utf-8")
    return text.replace("@ANSWER@", words)


def _for_fish(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
