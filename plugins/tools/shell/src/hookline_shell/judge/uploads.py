"""What leaves the machine: uploads, copies to other hosts, pushes; and deletions over HTTP."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from .options import operands, option_values, subcommand
from .places import is_loopback
from .record import join, shown
from .shell import Shell
from .tables import base_name, load, shells
from .values import ENCODED, FILE, UNKNOWN, known

_HOST_FIRST = re.compile(r"(?!/|\.{1,2}/)(?:[^/\s:]+@)?(\[[^\]]+\]|[^/\s:@]+):|rsync://|s?ftp://")
_PLAIN_HOST = re.compile(r"(?:[\w-]+\.)+[a-z]{2,}(?::\d+)?(?:/|\Z)|localhost\b")
_LOCAL_END = re.compile(r"(?i)(FILE|OPEN|GOPEN|PIPE):(?!/dev/(tty|null))")
_PUT = re.compile(r"(?m)(?:^|[;\s'\"])(m?put|mirror\s+(-\w+\s+)*(-R|--reverse)|reput|append)\b")
_DATABASE_PORT = re.compile(r":(9200|9201|5984|8529|6333|2379|8086|7700|8108)(/|$)|/_all\b")


def _address(argv: Sequence[str]) -> str:
    """The first argument that is a URL or a host's name."""
    words = [w for w in argv[1:] if "://" in w]
    words += [w for w in argv[1:] if _PLAIN_HOST.match(w)]
    return words[0] if words else ""


def _send(what: str, target: str, argv: Sequence[str], shell: Shell) -> None:
    """Note that ``what`` leaves for ``target``, which is somewhere else."""
    shell.record.effect("send", target)
    shell.record.add("ask", f"{shown(argv)} sends {what} to {target or 'another machine'}")


def _unseen(text: str) -> bool:
    """True for what a file or a program gave, not the command itself."""
    return any(mark in text for mark in (FILE, UNKNOWN, ENCODED))


def upload(argv: Sequence[str], shell: Shell, stdin: str) -> None:
    """A web client that is given files or what a program said."""
    address = _address(argv)
    host = urlsplit(address if "://" in address else f"//{address}")
    if address:
        shell.record.effect("network", address)
    if is_loopback(host.hostname if known(host.netloc) else ""):
        return
    query = address.partition("?")[2] + host.netloc
    headers = "".join(option_values(argv, load("files")["headers"]))
    if ENCODED in address + headers or FILE in query + headers:
        _send("what a file holds", host.hostname or "", argv, shell)
        return
    table = load("files")["uploads"].get(base_name(argv[0]), {})
    given = option_values(argv, table.get("data", ()))
    if base_name(argv[0]) in ("http", "https", "httpie", "xh"):
        given = [m[1] for w in argv[2:] if (m := re.search(r"[=:]?(@.+)\Z", w)) and "://" not in w]
        given += ["@-"] if _unseen(stdin) else []
    forms = [
        "@" + match[1]
        for form in option_values(argv, table.get("forms", ()))
        if (match := re.match(r"[^=]*=[@<]([^;]*)", form))
    ]
    files = [f"@{path}" for path in option_values(argv, table.get("files", ()))]
    for value in (*files, *given, *forms):
        if _carries(value, shell, stdin):
            _send("a file", host.hostname or address, argv, shell)
            return
    if files or given or forms:
        shell.record.effect("send", host.hostname or address)


def _carries(value: str, shell: Shell, stdin: str) -> bool:
    """True if ``value`` of an option for data is, or names, what the command does not show."""
    at = re.match(r"[\w-]*@(.+)\Z", value, re.DOTALL)
    if at is None:
        return FILE in value or ENCODED in value
    path = at[1]
    content = stdin if path in ("-", ".", "/dev/stdin") else shell.files.get(join(shell.cwd, path))
    return content is None or _unseen(content) or not known(path)


def transfer(argv: Sequence[str], shell: Shell, stdin: str) -> None:
    """``scp``, ``rsync`` and the like, to another machine."""
    name = base_name(argv[0])
    if name in ("scp", "rsync"):
        names = operands(argv[1:], load("files")["globals"][name])
        match = _HOST_FIRST.match(names[-1]) if names[1:] else None
        if match and not is_loopback(match[1] or ""):
            _send("files", match[1] or names[-1], argv, shell)
        return
    batch = "".join(shell.content(p) for p in option_values(argv, ("-b", "-f")) if p != "-")
    said = "\n".join([stdin, batch, *argv[1:]])
    if _PUT.search(said) or (name == "tftp" and "-p" in argv):
        _send("files", _address(argv), argv, shell)


def stream(argv: Sequence[str], shell: Shell, stdin: str) -> None:
    """What is piped into a connection, or put into a name that is looked up."""
    name = base_name(argv[0])
    if any(ENCODED in word for word in argv[1:]):
        _send("what a file holds", "", argv, shell)
    if name in ("dig", "nslookup", "host", "drill", "ping", "whois"):
        return
    if name == "openssl" and "s_client" not in argv:
        return
    if name == "socat" and any(_LOCAL_END.match(a) for a in argv[1:]):
        stdin += FILE
    words = subcommand(name, argv)
    target = next((w for w in words if re.search(r"[a-zA-Z\d]", w) and w != "-"), "")
    host = re.sub(r"^[\w-]+:(?=[^:]+:\d+)", "", target).rpartition("@")[2].partition(":")[0]
    shell.record.effect("network", target)
    if not _unseen(stdin) or is_loopback(host):
        return
    if name in ("ssh", "autossh", "rsh") and base_name((words[1:2] or ["sh"])[0]) in shells():
        return  # a script for the other machine
    _send("what it is fed", host, argv, shell)


def git_push(argv: Sequence[str], shell: Shell, stdin: str) -> None:
    """``git push`` to where the work did not come from."""
    words = subcommand("git", argv)
    if words[:1] == ["remote"] and words[1:2] in (["add"], ["set-url"]):
        shell.record.remotes.update(operands(words[2:], ("-t", "-m"))[:1])
    if words[:1] != ["push"]:
        return
    names = operands(words[1:], ("-o", "--push-option", "--repo", "--receive-pack"))
    remote = (option_values(["push", *words[1:]], ("--repo",)) or names or ["origin"])[0]
    shell.record.effect("send", remote)
    elsewhere = "://" in remote or _HOST_FIRST.match(remote) or "/" in remote
    if elsewhere or remote in shell.record.remotes:
        _send("the work", remote, argv, shell)


def http_delete(argv: Sequence[str], shell: Shell, stdin: str) -> None:
    """``DELETE`` to a database that is spoken to by HTTP."""
    if not re.search(r"(^| )(-\w*X ?|--request[= ]|--method[= ])?DELETE( |$)", " ".join(argv[1:])):
        return
    address = _address(argv)
    shell.record.effect("delete", address)
    if _DATABASE_PORT.search(address):
        shell.record.add("ask", f"{shown(argv)} deletes what a database holds")


def archive_removes(argv: Sequence[str], shell: Shell, stdin: str) -> None:
    """Archives that delete what they were made from."""
    moves = base_name(argv[0]) in ("zip", "rar") and any(
        re.match(r"-\w*m\w*\Z|--move\Z", a) for a in argv[1:]
    )
    if moves or any(a in ("--remove-files", "-sdel", "--delete-files") for a in argv[1:]):
        shell.record.effect("delete", shown(argv).strip("`"))
        shell.record.add("ask", f"{shown(argv)} deletes the files that it packs")


DEEDS = {
    "upload": upload,
    "transfer": transfer,
    "stream": stream,
    "git_push": git_push,
    "http_delete": http_delete,
    "archive_removes": archive_removes,
}
