"""Text that a shell runs: ``bash -c``, a script on standard input, a file just written."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Sequence

from .record import join, shown
from .shell import Shell
from .values import DIALOGUE, FILE, LISTING, NETWORK, TRUSTED, UNKNOWN, known, marks, without_marks

_VALUES = frozenset({"--rcfile", "--init-file", "-O", "+O", "-o", "+o"})


def quote(word: str) -> str:
    """``word`` so that a shell reads it as it is."""
    return word if marks(word) and not re.search(r"[\s'\"]", word) else shlex.quote(word)


def run_code(script: str, shell: Shell, stdin: str, command: str) -> str:
    """Judge text that becomes a script; unknown parts of it are noted."""
    if NETWORK in script:
        shell.record.add("ask", f"{command} runs what came over the network")
    elif UNKNOWN in script and not known(script.strip().split(" ")[0][:1] or " "):
        shell.record.add("ask", f"{command} runs text that cannot be known", "doubt")
    if not without_marks(script).strip():
        return FILE if FILE in script or TRUSTED in script else marks(script)
    inner = shell.entering(f"code:{hash(script)}")
    if inner is None:
        return ""
    inner.variables = shell.variables
    said = inner.run_text(script, stdin)
    shell.cwd, shell.arguments = inner.cwd, inner.arguments
    return said


def shell(argv: Sequence[str], outer: Shell, stdin: str) -> str:
    """A shell started as a command, with whatever it is given to run."""
    script, interactive, rest = _given(argv)
    for option, path in itertools.pairwise(argv):
        if option in ("--rcfile", "--init-file") and (
            found := outer.files.get(join(outer.cwd, path))
        ):
            run_code(found, outer.forked(), "", shown(argv))
    inner = outer.forked()
    inner.name, inner.arguments = argv[0], ()
    inner.variables = dict(outer.variables)
    if script is not None:
        if rest:
            inner.name, inner.arguments = rest[0], tuple(rest[1:])
        return run_code(script, inner, stdin, shown(argv))
    if rest:
        inner.name, inner.arguments = rest[0], tuple(rest[1:])
        return _script(argv, rest[0], inner, outer, stdin)
    if interactive and not stdin:
        return DIALOGUE
    return DIALOGUE + run_code(stdin, inner, "", shown(argv))


def _given(argv: Sequence[str]) -> tuple[str | None, bool, list[str]]:
    """The script of ``-c``, whether it is interactive, and the operands."""
    wants_code = interactive = from_input = False
    args = list(argv[1:])
    while args and args[0][:1] in ("-", "+") and len(args[0]) > 1:
        option = args.pop(0)
        if option == "--":
            break
        if option in _VALUES:
            args[:1] = []
        elif not option.startswith("--"):
            wants_code |= "c" in option
            interactive |= "i" in option
            from_input |= "s" in option
            if option[-1] in "oO":
                args[:1] = []
        elif option == "--command":
            wants_code = True
    if wants_code and args:
        return args[0], interactive, args[1:]
    return None, interactive, [] if from_input or args[:1] == ["-"] else args


def _script(argv: Sequence[str], path: str, inner: Shell, outer: Shell, stdin: str) -> str:
    if path in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
        return run_code(stdin, inner, "", shown(argv))
    content = outer.files.get(join(outer.cwd, path))
    if content is None:
        outer.record.effect("execute", path)
        if outer.record.unpacked and not path.startswith("/"):
            outer.record.add("ask", f"{shown(argv)} runs a program fetched by this command")
        if any(part[:1] == "." and part.strip(".") for part in path.split("/")[-1:]):
            outer.record.add("ask", f"{shown(argv)} runs a hidden file")
        if UNKNOWN in path or NETWORK in path or LISTING in path:
            return UNKNOWN
        return FILE
    nested = inner.entering("file:" + join(outer.cwd, path))
    return run_code(content, nested, stdin, shown(argv)) if nested else ""
