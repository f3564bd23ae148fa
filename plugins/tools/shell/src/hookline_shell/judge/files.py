"""What a command does to files: which it writes, deletes or reads (``files.yaml``).

Every path is noted as an effect. A question is asked where no checkpoint brings back what was
there, or where what is written makes something else run later.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .options import operands, option_values
from .places import expanded, is_temporary, kind
from .record import join, shown
from .shell import Shell
from .tables import load, places
from .values import LISTING, known, without_marks

_NONE = re.compile(r"/dev/(null|std\w+|fd/\d+|tty)|-\Z")


def write(path: str, shell: Shell, command: str) -> None:
    """``command`` writes to ``path``."""
    _touch("write", path, shell, command)


def delete(path: str, shell: Shell, command: str) -> None:
    """``command`` deletes ``path``, moves it away or overwrites it."""
    _touch("delete", path, shell, command)


def in_repository(path: str) -> bool:
    """True for a repository's own folder and what lies in it."""
    return bool(places().repository.search(path))


def _touch(how: str, path: str, shell: Shell, command: str) -> None:
    if shell.remote or not path or _NONE.match(path):
        return
    whole = join(shell.cwd, expanded(path, shell)) if known(path) else without_marks(path)
    shell.record.effect("delete" if how == "delete" else "write", whole)
    if in_repository(whole):
        shell.record.effect("configure", whole)
        what = "deletes" if how == "delete" else "changes"
        shell.record.add("ask", f"{command} {what} {path!r}, the repository's own files")
    elif how == "write" and (reason := _caution(whole, shell)):
        shell.record.effect("configure", whole)
        shell.record.add("ask", f"{command} writes to {path!r}: {reason.rstrip('.')}")


def _caution(path: str, shell: Shell) -> str | None:
    """Why a person should approve writing to ``path``."""
    record = shell.record
    if not known(path) or record.judge_write is None:
        return None
    own = any(path.startswith(f"{folder}/") for folder in (record.workspace, record.home))
    if is_temporary(path) and not own:  # a workspace may lie in /tmp
        return None
    return record.judge_write(path)


def judge(name: str, argv: Sequence[str], shell: Shell) -> None:
    """Note what ``argv``, a call of ``name``, does to the files among its arguments."""
    table = load("files")
    command = shown(argv)
    for path in option_values(argv, table["outputs"].get(name, ())):
        write(path, shell, command)
    if name in table["reads"]:
        if shell.remote:
            return
        for path in operands(argv[1:]):
            shell.record.effect("read", join(shell.cwd, expanded(path, shell)))
    elif name in table["deletes"]:
        for path in operands(argv[1:]):
            delete(path, shell, command)
            if name in table["truncates"]:
                truncate(path, shell, command)
    elif name in table["moves"] or name in table["copies"]:
        _copy(name, argv, shell, command)
    elif name in table["writes"] or _in_place(name, argv):
        for path in operands(argv[1:])[0 if name in table["writes"] else -8 :]:
            (truncate if name in table["truncates"] else write)(path, shell, command)
    elif name in ("dd", "gdd", "dcfldd"):
        for arg in argv[1:]:
            if arg.startswith("of="):
                write(arg[3:], shell, command)


def truncate(path: str, shell: Shell, command: str) -> None:
    """``command`` empties ``path`` first: not every file there is, nor those of a listing."""
    write(path, shell, command)
    if kind(path, shell) in ("here", "wildcard"):
        shell.record.add("ask", f"{command} empties everything in the workspace")
    elif not known(path) and not path.endswith((".log", ".tmp", ".out")):
        what = "every file of a listing" if LISTING in path else "files that cannot be known"
        shell.record.add("ask", f"{command} empties {what}")


def _copy(name: str, argv: Sequence[str], shell: Shell, command: str) -> None:
    table = load("files")
    names = operands(argv[1:], table["globals"].get(name, ()))
    into = option_values(argv, table["outputs"].get(name, ()))
    sources, target = (names, into[-1]) if into else (names[:-1], (names or [""])[-1])
    if name in table["moves"]:
        for source in sources:
            delete(source, shell, command)
    if ":" in target.split("/")[0]:
        return  # another machine
    (truncate if sources == ["/dev/null"] else write)(target, shell, command)
    if name in ("ln", "gln") and len(sources) == 1 and known(sources[0]) and known(target):
        link = join(shell.cwd, expanded(target, shell))
        shell.record.links[link] = join(link.rpartition("/")[0], expanded(sources[0], shell))
    for source in sources:
        inside = f"{target.rstrip('/')}/{source.rstrip('/').rpartition('/')[2]}"
        if known(inside) and shell.record.judge_write and not in_repository(inside):
            write(inside, shell, command)
    removes = [a for a in argv[1:] if a.startswith(("--del", "--remove-source"))]
    for path in [target, *sources] if removes and name == "rsync" else []:
        if path == target or removes[0].startswith("--remove"):
            delete(path, shell, command)
            _whole(path, shell, command)


def _whole(path: str, shell: Shell, command: str) -> None:
    """A folder's whole content is replaced: never that of the workspace or above it."""
    whole = join(shell.cwd, expanded(path, shell))
    workspace = shell.record.workspace
    if known(path) and (workspace == whole or workspace.startswith(whole.rstrip("/") + "/")):
        shell.record.add("ask", f"{command} deletes what is in the whole workspace")


def _in_place(name: str, argv: Sequence[str]) -> bool:
    options = load("files")["in_place"].get(name)
    if options is None:
        return False
    if not options:
        return True
    return any(arg.startswith(tuple(options)) or _PERL.match(arg) for arg in argv[1:])


_PERL = re.compile(r"-(?!-)[a-zA-Z]*i(\.\w+)?[a-zA-Z]*\Z")
