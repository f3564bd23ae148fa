"""What a table cannot say: acts that depend on where they aim."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from . import files
from .outputs import find_names
from .places import Kind, is_device, kind
from .record import Severity, join, shown
from .shell import Shell
from .tables import base_name, places, shells
from .values import DIALOGUE, ENVIRON, LISTING, MARKS, PROCESSES, SECRET, marks

Deed: TypeAlias = Callable[[Sequence[str], Shell, str], None]

_WHAT: dict[Kind, str] = {
    "root": "a file system's root or a system folder",
    "home": "a home folder",
    "here": "the whole workspace or what is above it",
    "wildcard": "everything in a folder that others use too",
    "unknown": "something that cannot be known",
}


def has_option(args: Sequence[str], short: str, *long: str) -> bool:
    """True if an option is given, alone, in a cluster or as an abbreviation of its long name."""
    for arg in args:
        if arg == "--":
            return False
        if arg.startswith("--"):
            name = arg.split("=")[0]
            if len(name) > 2 and any(option.startswith(name) for option in long):
                return True
        elif arg.startswith("-") and any(letter in arg[1:] for letter in short):
            return True
    return False


def operands(args: Sequence[str]) -> list[str]:
    """The arguments that are no options."""
    if "--" in args:
        cut = list(args).index("--")
        return [a for a in args[:cut] if not a.startswith("-")] + list(args[cut + 1 :])
    return [a for a in args if not (a.startswith("-") and len(a) > 1)]


def delete(target: str, shell: Shell, command: str) -> None:
    """Judge the deletion of ``target`` with all below it."""
    found = kind(target, shell)
    if found:
        severity: Severity = "deny" if found in ("root", "home") else "ask"
        # What cannot be known may be all of the workspace: it is asked about in a sandbox too.
        shell.record.add(severity, f"{command} deletes {_WHAT[found]}, with all in it")


def delete_only(kinds: Sequence[Kind], target: str, shell: Shell, command: str) -> None:
    """The same, for targets of some kinds alone."""
    if kind(target, shell) in kinds:
        delete(target, shell, command)


def recursive_delete(argv: Sequence[str], shell: Shell, stdin: str) -> None:
    """``rm -r`` and its kin."""
    args = argv[1:]
    always = base_name(argv[0]) not in ("rm", "grm", "srm", "wipe")
    unknown = any(a[:1] in MARKS and LISTING not in a for a in args)
    if not (always or unknown or has_option(args, "rR", "--recursive")):
        return
    certain = always or has_option(args, "rR", "--recursive")
    for target in operands(args):
        if certain or kind(target, shell) in ("root", "home"):
            delete(target, shell, shown(argv))


def find_delete(argv: Sequence[str], shell: Shell, stdin: str) -> None:
    """``find … -delete``."""
    if "-delete" not in argv:
        return
    for name in find_names(argv):
        files.delete(name, shell, shown(argv))
        narrow = LISTING in name
        root = name.split(LISTING)[0] if narrow else name
        found = kind(root or "/", shell)
        if found in ("root", "home") and (not narrow or root in ("/", "")):
            delete(root or "/", shell, shown(argv))
        elif found and (not narrow or found != "here"):
            shell.record.add("ask", f"{shown(argv)} deletes files in {_WHAT[found]}")


def mirror_delete(argv: Sequence[str], shell: Shell, stdin: str) -> None:
    """``rsync --delete`` onto a folder."""
    if any(a.startswith(("--delete", "--del", "--remove-source")) for a in argv):
        for target in operands(argv[1:])[-1:]:
            if kind(target, shell) in ("root", "home"):
                delete(target, shell, shown(argv))


def move_away(argv: Sequence[str], shell: Shell, stdin: str) -> None:
    """``mv`` of a root, or to nowhere."""
    names = operands(argv[1:])
    for source in names if "-t" in argv else names[:-1] or names:
        if kind(source, shell) in ("root", "home"):
            delete(source, shell, shown(argv))
        elif kind(source, shell) == "wildcard" and _leads_out(argv):
            shell.record.add("ask", f"{shown(argv)} moves the whole workspace away")
    if names[1:] and names[-1] == "/dev/null":
        shell.record.add("ask", f"{shown(argv)} moves files to nowhere")


def _leads_out(argv: Sequence[str]) -> bool:
    """True if what is moved ends outside the folder."""
    return any(word.startswith(("/", "~", "..")) for word in argv[1:])


def recursive_mode(argv: Sequence[str], shell: Shell, stdin: str) -> None:
    """``chmod -R`` and its kin."""
    if not has_option(argv[1:], "R", "--recursive"):
        return
    for target in operands(argv[1:])[0 if base_name(argv[0]) == "setfacl" else 1 :]:
        found = kind(target, shell)
        if found in ("root", "home", "unknown") or (found == "here" and ".." in target):
            shell.record.add(
                "ask", f"{shown(argv)} changes the rights of {_WHAT[found]}, with all in it"
            )


def device_writer(argv: Sequence[str], shell: Shell, stdin: str) -> None:
    """``dd of=``."""
    for arg in argv[1:]:
        if arg.startswith(("of=", "--of=")):
            _device(arg.split("=", 1)[1], argv, shell)
            if marks(arg):
                shell.record.add("ask", f"{shown(argv)} writes where it cannot be known", "doubt")


def target_writer(argv: Sequence[str], shell: Shell, stdin: str) -> None:
    """Commands that write to their operands."""
    name = base_name(argv[0])
    names = operands(argv[1:])
    if name in ("cat", "pv"):
        return
    for target in names if name in _WRITES_ALL else names[-1:]:
        _device(target, argv, shell)
        if places().kernel.fullmatch(join(shell.cwd, target)):
            shell.record.add("ask", f"{shown(argv)} writes to the kernel by {target}")


_WRITES_ALL = frozenset({"tee", "shred", "truncate", "badblocks", "sponge", "fallocate", "tar"})
_OUTPUT = re.compile(r"(?:--?(?:o|O|out|output|output-document|outfile|of)=?|of=)(/dev/.*)?\Z")


def option_writer(argv: Sequence[str], shell: Shell) -> None:
    """Any program's output option that names a device."""
    for option, value in zip(argv, [*argv[1:], ""], strict=True):
        if "-" in option[:1] + option[:3] and (match := _OUTPUT.match(option)):
            _device(match[1] or value, argv, shell)


def in_place(argv: Sequence[str], shell: Shell, stdin: str) -> None:
    """``sed -i`` and others that change the files they are given."""
    if any(a.startswith(("-i", "--in-place")) for a in argv[1:]):
        for target in operands(argv[1:]):
            _device(target, argv, shell)


def option_named(argv: Sequence[str], shell: Shell, stdin: str) -> None:
    """A file whose name another program would read as an option."""
    if "--" in argv:
        for target in argv[argv.index("--") + 1 :]:
            if re.match(r"--\w|-\w*[ =]|-[rRfiv]+\Z", target):
                shell.record.add("ask", f"{shown(argv)} makes a file that is named like an option")


def _device(target: str, argv: Sequence[str], shell: Shell) -> None:
    if is_device(target, shell):
        shell.record.add("deny", f"{shown(argv)} writes over the device {target}")


_SIGNAL = re.compile(r"-(\d+|[A-Za-z]+[\dA-Za-z+-]*)\Z")


def kill_all(argv: Sequence[str], shell: Shell, stdin: str) -> None:
    """``kill -1`` and patterns that fit every process."""
    name, args = base_name(argv[0]), list(argv[1:])
    if name == "kill":
        _kill(args, argv, shell)
    elif name in ("pkill", "killall", "skill"):
        _by_pattern(args, argv, shell)
    elif has_option(args, "k", "--kill") and any(kind(t, shell) == "root" for t in operands(args)):
        shell.record.add("deny", f"{shown(argv)} kills every process")


def _kill(args: list[str], argv: Sequence[str], shell: Shell) -> None:
    if has_option(args, "l", "--list") and not any(a.startswith("-k") for a in args):
        return
    rest = list(args)
    if rest and rest[0] in ("-s", "-n", "--signal", "-q"):
        rest = rest[2:]
    elif rest and (_SIGNAL.match(rest[0]) or rest[0].startswith("--signal=")):
        # `kill -1` alone is an error of use; `kill -1 -1` sends signal 1 to every process.
        rest = rest[1:]
    rest = [a for a in rest if a != "--"]
    if any(PROCESSES in a for a in rest):
        shell.record.add("deny", f"{shown(argv)} kills every process")
    if any(re.search(r"[*?\[]", a) for a in rest):
        shell.record.add("ask", f"{shown(argv)} kills processes by a pattern")
    if "-1" in rest or rest[:1] == ["-0001"] or any(re.fullmatch(r"-0*1", a) for a in rest):
        shell.record.add("deny", f"{shown(argv)} kills every process")
    elif any(re.fullmatch(r"0*1", a) for a in rest):
        shell.record.add("ask", f"{shown(argv)} kills the machine's first process")


def _by_pattern(args: list[str], argv: Sequence[str], shell: Shell) -> None:
    takes = {
        "-u",
        "-U",
        "-g",
        "-G",
        "-P",
        "-s",
        "-t",
        "--euid",
        "--uid",
        "--signal",
        "--user",
        "-o",
    }
    if base_name(argv[0]) == "killall":
        takes -= {"-g"}
    whose = any(a in ("-u", "-U", "--euid", "--uid", "--user") for a in args)
    names, skip = [], False
    for arg in args:
        if skip:
            skip = False
        elif arg in takes:
            skip = True
        elif not arg.startswith("-"):
            names.append(arg)
    loose = [n for n in names if re.fullmatch(r"[.^$*+?\[\](){}|\\a-z-]{0,3}|\.[*+]|\(.*\|\)", n)]
    loose = [n for n in loose if not re.fullmatch(r"[a-z][a-z-]*", n)]
    inverted = any(re.fullmatch(r"-\w*v\w*", a) for a in args) and base_name(argv[0]) == "pkill"
    if loose or (inverted and names):
        shell.record.add("deny", f"{shown(argv)} kills every process")
    elif whose and not names:
        shell.record.add("ask", f"{shown(argv)} kills every process of a user")


def secret_out(argv: Sequence[str], shell: Shell, stdin: str) -> None:
    """The environment or a secret on its way to the network."""
    name = base_name(argv[0])
    if name in ("bash", "logger"):
        return
    if name == "git" and not set(argv[1:4]) & {"clone", "push", "fetch", "remote", "pull"}:
        return
    if name == "openssl" and "s_client" not in argv:
        return
    given, read = " ".join(argv[1:]), stdin
    read += "".join(shell.content(path) for path in _mentioned(argv))
    if name in ("gh", "git"):
        read = read.replace(SECRET, "")
    carried = ENVIRON in given + read
    if name not in _CARRIERS:
        carried |= SECRET in given + read
    if carried:
        shell.record.add("ask", f"{shown(argv)} sends the environment or a secret out")


_CARRIERS = frozenset({"docker", "podman", "nerdctl", "npm", "pnpm", "yarn", "kubectl", "helm"})
"""These are commonly given one secret; the whole environment is another matter."""


def _mentioned(argv: Sequence[str]) -> Iterator[str]:
    for arg in argv[1:]:
        yield from (arg, arg.rpartition("@")[2], arg.rpartition("=")[2], arg[2:])


_EXECUTES = re.compile(r"(?i)(^|,)(exec|system|shell):")


def network_shell(argv: Sequence[str], shell: Shell, stdin: str) -> None:
    """A shell at one end of a connection."""
    name, args = base_name(argv[0]), argv[1:]
    opens = DIALOGUE in stdin and name not in ("tee", "curl")
    if name in (
        "nc",
        "ncat",
        "netcat",
        "nc.traditional",
        "nc.openbsd",
        "cryptcat",
        "rcat",
        "rustcat",
    ):
        opens |= has_option(args, "ec", "--exec", "--sh-exec", "--lua-exec")
        opens |= any(base_name(a) in shells() for a in operands(args))
    if name == "socat":
        opens |= any(_EXECUTES.search(a) for a in args)
    if name == "websocat":
        opens |= any(a.startswith(("exec:", "cmd:", "sh-c:")) or a == "--exec" for a in args)
    if name == "openssl" and "s_client" not in argv and "s_server" not in argv:
        opens = False
    if name == "ssh":
        opens = False
    if opens:
        shell.record.add("ask", f"{shown(argv)} opens a shell to the network")


DEEDS: dict[str, Deed] = {
    "recursive_delete": recursive_delete,
    "find_delete": find_delete,
    "mirror_delete": mirror_delete,
    "move_away": move_away,
    "recursive_mode": recursive_mode,
    "device_writer": device_writer,
    "target_writer": target_writer,
    "kill_all": kill_all,
    "secret_out": secret_out,
    "network_shell": network_shell,
    "in_place": in_place,
    "option_named": option_named,
}
