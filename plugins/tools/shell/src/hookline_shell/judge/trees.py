"""What lies below a folder that a command names: Hookline's own folder, with its keys, among it.

Naming a key is denied (:mod:`.places`). So is reading, copying, packing or serving all that is
below a folder in which Hookline's own lies, as in one's home, unless that is left out by its name;
and unpacking there is asked about. In a sandbox Hookline's folder is not there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from .deeds import has_option
from .options import operands, option_values, subcommand
from .places import expanded, followed, judge_path, leads_to_own, mounted
from .record import Record, join, shown
from .shell import Shell
from .tables import load, places
from .values import LISTING, known

_GREPS = frozenset({"grep", "egrep", "fgrep", "zgrep", "ggrep", "ugrep"})
_GREP_VALUES = ("-e", "-f", "-m", "-A", "-B", "-C", "-d", "-D", "--regexp", "--file")
_HIDDEN = {"rg": ("u.", "--hidden"), "ag": ("ua", "--hidden")}
"""Searchers that leave out hidden folders, and the options by which they do not."""
_COPIERS = frozenset({"cp", "gcp", "rsync", "scp", "ditto"})
_PACKERS = frozenset({"tar", "gtar", "bsdtar"})
_ARCHIVERS = frozenset({"7z", "7za", "7zz", "unrar"})
_READERS = _COPIERS | _PACKERS | {"mv", "zip", "curl"}
_WITH_SCRIPT = frozenset({"awk", "gawk", "mawk", "sed", "perl"})
_EDITORS = frozenset({"vi", "vim", "nvim", "view", "ex", "ed", "emacs", "nano", "sqlite3"})
_TOKENS = re.compile(r"""[^\s"'`<>|(){};,=!]*/[^\s"'`<>|(){};,=!]+""")
_COUNTING = frozenset({"wc", "md5sum", "sha1sum", "sha256sum", "sha512sum", "cmp", "sum"})
_KEYS = ("vault.key", ".env", "hookline.db", "plugins/audit/key", "team/member.json")
_LEAVING = ("--exclude", "--exclude-dir", "--exclude-from", "-x", "-g", "--glob", "--ignore-dir")
_AROUND = re.compile(r"\A!?(?:\./|/|(?:\*\*?/)+)?(.*?)(?:/\*{0,2})?\Z")


def judge(name: str, argv: Sequence[str], shell: Shell, stdin: str) -> None:
    """Note what ``argv``, a call of ``name``, does with all that is below a folder."""
    record = shell.record
    if shell.remote or not record.own or not known(shell.cwd):
        return
    if name in _EDITORS | _WITH_SCRIPT:  # what their scripts read: `awk '… getline < "FILE"'`
        for token in _TOKENS.findall("\n".join([*argv[1:], stdin])):
            if known(token) and leads_to_own(join(shell.cwd, expanded(token, shell)), shell):
                judge_path(token, shell, shown(argv))
    for root in dict.fromkeys((*_read(name, argv), *_listed(name, argv))):
        if _holds_own(root, shell) and not _leaves_out(name, argv, record):
            folder = record.own[0].rpartition("/")[2]
            record.add(
                "deny",
                f"{shown(argv)} reads all that is below {root!r}, where Hookline keeps its keys "
                f"({folder}), and what has been read cannot be taken back; name the folders that "
                f"are meant, or leave {folder} out (grep --exclude-dir={folder})",
                "tree",
            )
    for root in _filled(name, argv):
        if _holds_own(root, shell):
            told = f"{shown(argv)} writes what it finds into {root!r}, where Hookline's folder lies"
            record.add("ask", told, "tree")


def _holds_own(root: str, shell: Shell) -> bool:
    whole = join(shell.cwd, expanded(root, shell))
    if not known(root):
        return False
    places = (whole, followed(whole, shell))
    return any(leads_to_own(one, shell, below=False) for one in places)


def _read(name: str, argv: Sequence[str]) -> Iterator[str]:
    """The folders of which everything is read."""
    args = argv[1:]
    if name in _GREPS:
        if has_option(args, "rR", "--recursive", "--dereference-recursive") or "recurse" in args:
            named = operands(args, _GREP_VALUES)
            given = option_values(argv, ("-e", "-f", "--regexp", "--file"))
            yield from (named if given else named[1:]) or ["."]
    elif name in _HIDDEN:
        if has_option(args, *_HIDDEN[name]):
            yield from operands(args, _GREP_VALUES)[1:] or ["."]
    elif name in _PACKERS:
        if _mode(argv) in "cru":
            base = ["", *option_values(argv, ("-C", "--directory"))][-1]
            words = operands(args, ("-C", "-f", "--directory", "--file"))
            yield from (f"{base}/{one}" if base else one for one in words)
    elif name == "zip" and has_option(args, "rR", "--recurse-paths"):
        yield from operands(args, ("-x",))[1:]
    elif name in _ARCHIVERS and args[:1] == ["a"]:
        yield from operands(args[1:])[1:]
    elif name in _COPIERS:
        if name == "ditto" or has_option(args, "rRa", "--recursive", "--archive"):
            yield from operands(args, load("files")["globals"].get(name, ()))[:-1]
    elif name == "diff" and has_option(args, "r", "--recursive"):
        yield from operands(args)
    elif name == "git":
        yield from _git(argv)
    elif name in places().code_hosts:
        yield from mounted(argv)
    elif (name.startswith("python") and "http.server" in args) or (name == "php" and "-S" in args):
        yield from option_values(argv, ("-d", "--directory", "-t")) or ["."]
    yield from (word.partition("**")[0] or "." for word in args if "**" in word and name != "git")


def _git(argv: Sequence[str]) -> Iterator[str]:
    rest, found = subcommand("git", argv), list[str]()
    if rest[:1] in (["add"], ["stage"]):
        found = operands(rest[1:]) or (["."] if has_option(rest[1:], "A", "--all") else [])
    elif rest[:1] == ["grep"] and "--no-index" in rest:
        found = operands(rest[1:], _GREP_VALUES)[1:] or ["."]
    base = ["", *option_values(argv[: len(argv) - len(rest)], ("-C",))][-1]
    yield from (f"{base}/{one}" if base else one for one in found)


def _listed(name: str, argv: Sequence[str]) -> Iterator[str]:
    """Folders all of whose files were listed, and are read now by their names."""
    reads = name in load("files")["reads"] and name not in places().listers
    if not (reads or name in _READERS | _WITH_SCRIPT) or name in _COUNTING:
        return
    # `find` that looks for nothing in particular stands for its folder, which is no file to read.
    if name in ("cp", "mv"):
        yield from operands(argv[1:], ("-t",))[:-1]
    elif name not in ("diff", "tr") and (reads or name in _WITH_SCRIPT):
        named = operands(argv[1:])
        is_text = name in _WITH_SCRIPT or name in places().first_is_text
        yield from named[1:][-1:] if is_text else named[-1:]
    for word in argv[1:]:
        root, listing, tail = word.partition(LISTING)
        if listing and (not tail or any(key.endswith(tail.lstrip("*/")) for key in _KEYS)):
            yield root or "."


def _filled(name: str, argv: Sequence[str]) -> Iterator[str]:
    """The folders into which files go whose names the command does not say."""
    args, sub = argv[1:], subcommand("git", argv)[:1] if name == "git" else []
    unpacks = name in _PACKERS and _mode(argv) == "x"
    if unpacks or name in ("unzip", "patch", "gpatch"):
        yield [".", *option_values(argv, ("-C", "-d", "--directory"))][-1]
    elif (
        sub in (["apply"], ["am"])
        or (name in _ARCHIVERS and args[:1] in (["x"], ["e"]))
        or (name == "cpio" and has_option(args, "ip", "--extract"))
    ):
        yield "."
    elif name in _COPIERS and has_option(args, "rRa", "--recursive", "--archive"):
        *sources, target = operands(args, load("files")["globals"].get(name, ())) or [""]
        if target and any(one.endswith(("/.", "/")) or LISTING in one for one in sources):
            yield target


def _mode(argv: Sequence[str]) -> str:
    """What ``tar`` is to do: one of its letters."""
    words = {"--create": "c", "--append": "r", "--update": "u", "--extract": "x", "--get": "x"}
    for index, arg in enumerate(argv[1:]):
        if arg in words:
            return words[arg]
        if index == 0 or (arg.startswith("-") and not arg.startswith("--")):
            for letter in arg.lstrip("-"):
                if letter in "cruxtdA":
                    return letter
    return "?"


def _leaves_out(name: str, argv: Sequence[str], record: Record) -> bool:
    """True if Hookline's own folder is named as one that is left out."""
    options = ("--exclude-dir",) if name in _GREPS else _LEAVING
    own = {path.rpartition("/")[2] for path in record.own}
    values = [arg.partition("=")[2] for arg in argv if arg.partition("=")[0] in options]
    values += [value for arg, value in pairwise(argv) if arg in options]
    return any(found[1] in own for value in values if (found := _AROUND.match(value)))
