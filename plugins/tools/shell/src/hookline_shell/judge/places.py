"""Which paths and addresses a command names, and what is wrong with them."""

from __future__ import annotations

import fnmatch
import ipaddress
import os.path
import re
import socket
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias
from urllib.parse import unquote

from .record import join, shown
from .shell import Shell
from .tables import load, origins, places
from .values import FILE, LISTING, MARKS, known, without_marks

Kind: TypeAlias = Literal["root", "home", "here", "wildcard", "unknown", ""]
_WILD = re.compile(r"[*?.!\[\]{}@()+|^-]*[*?][*?.!\[\]{}@()+|^-]*")
_GLOB = re.compile(r"[*?\[]")
_ROOT_LINK = re.compile(r"^/proc/(self|thread-self|\d+)/(root|cwd)(?=/|$)")
_PROC = re.compile(r"^/proc/(?:self|thread-self|\d+)/(root|cwd)(?=/|$)")
_MOST_LINKS = 8
_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://([^/\s'\"?#]+)")
_HOST = re.compile(r"(?:[^@]*@)?(\[[0-9a-fA-F:.%]+\]|[^:]+)(:\d+)?:?")
_NUMBER = re.compile(r"(0x[0-9a-f]+|\d+)(\.(0x[0-9a-f]+|\d+)){0,3}", re.IGNORECASE)
_INSIDE = re.compile(r"^(?:--?[\w-]+=|[\w.-]+=|-[a-zA-Z](?=[/~]))?[@<]?(.*)$", re.DOTALL)
_COMPILER = re.compile(r"^-[ILDWfmF]")
_OPTION_VALUE = re.compile(r"^(?:[\w.-]+=[@<]?|@)(.*)$", re.DOTALL)


def kind(target: str, shell: Shell) -> Kind:
    """What deleting or altering ``target`` with all below it would hit.

    ``root``: a file system's root or one of its system folders; ``home``: a person's home;
    ``here``: the workspace itself or what is above it; ``wildcard``: everything in one of those.
    """
    if known(target):
        return _known_kind(target, shell)
    if LISTING in target and known(target.replace(LISTING, "")):
        found = _known_kind(target.split(LISTING)[0] or ".", shell)
        return found if found in ("root", "home") else ""
    return "unknown" if _known_kind(without_marks(target) or ".", shell) else ""


def _known_kind(target: str, shell: Shell) -> Kind:
    tables = places()
    if tables.drive.fullmatch(target):
        return "root"
    target = target.replace("**/", "*/")
    path = _ROOT_LINK.sub("/", join(shell.cwd, target))
    path = join("/", path) if path.startswith("/") else path
    every = False
    while (tail := path.rpartition("/")[2]) and _WILD.fullmatch(tail) and tail not in (".", ".."):
        every, path = True, path[: -len(tail) - 1] or "/"
        if not path.strip("/"):
            return "root"
    if path == "/" or _is_system(path):
        return "root"
    if path == shell.record.home or tables.homes.fullmatch(path):
        return "home"
    if shell.record.workspace == path or shell.record.workspace.startswith(path + "/"):
        return "wildcard" if every else "here"
    if path in tables.temporary:
        return "wildcard"
    return "unknown" if not known(path) and not without_marks(path).strip("/") else ""


def _is_system(path: str) -> bool:
    first, _, rest = path[1:].partition("/")
    if not path.startswith("/") or path in places().temporary:
        return False
    if not rest and (first in places().top_level or _GLOB.search(first)):
        return True
    return bool(places().system.fullmatch(path))


def is_device(path: str, shell: Shell) -> bool:
    """True if ``path`` is a block device or raw memory."""
    if places().harmless.fullmatch(path):
        return False
    devices = places().devices
    return bool(devices.fullmatch(join(shell.cwd, path)) or devices.fullmatch(path))


def is_socket(path: str) -> bool:
    """True for bash's own network files."""
    return path.startswith(("/dev/tcp/", "/dev/udp/"))


def judge_words(name: str, argv: Sequence[str], plain: Sequence[str], shell: Shell) -> None:
    """Note what is wrong with the addresses in ``argv`` and the paths in ``plain``.

    ``plain`` is ``argv`` without words that are code.
    """
    reaches = _reaches(name, argv)
    for word in _addresses(name, argv):
        if reaches:
            shell.record.effect("network", word)
        if reason := _address(word, shell):
            shell.record.add("ask", f"{shown(argv)} reaches for {reason}", "address")
    if reaches and not any(effect.kind == "network" for effect in shell.record.effects):
        shell.record.effect("network", name)
    if shell.remote:
        return
    command = shown(argv)
    for word in _paths(name, plain):
        judge_path(word, shell, command)


def expanded(path: str, shell: Shell) -> str:
    """``path`` with the home folder for ``~`` and without ``file://``."""
    if path.startswith("file://"):
        path = unquote(path[7:])
    return shell.record.home + path[1:] if path == "~" or path.startswith("~/") else path


_GIT_REACHES = frozenset({"clone", "fetch", "pull", "push", "ls-remote", "submodule", "lfs"})


def _reaches(name: str, argv: Sequence[str]) -> bool:
    """True if the program ``name`` opens connections when called so."""
    if name == "git":
        return bool(_GIT_REACHES & set(argv[1:6]))
    tables = places()
    if name in load("interpreters")["installers"]:
        return any(not a.startswith("-") for a in argv[1:]) and "list" not in argv[1:3]
    return name in tables.web_clients or name in tables.network_clients or name in origins().fetch


def judge_path(word: str, shell: Shell, command: str) -> None:
    """Note why the path ``word`` may not be used, if so."""
    word = expanded(word, shell)
    if not word or len(word) > 4096 or "\0" in word:
        return
    if known(word):
        _judge_known(word, shell, command)
    else:
        _judge_partly(word, shell, command)


def _judge_partly(word: str, shell: Shell, command: str) -> None:
    """A path that is not known as a whole: what is visible of it may tell enough."""
    tables, visible = places(), without_marks(word).lstrip("@<")
    if tables.startup.search(visible):
        shell.record.add("ask", f"{command} touches {visible}, which programs run when they start")
    if tables.secret.search(visible):
        name = join(shell.record.workspace, visible.rpartition("/")[2])
        if visible.startswith(("/etc/", "/proc/")) or shell.record.judge_path(name):
            shell.record.add("ask", f"{command} may name {visible}, which holds secrets", "place")
            return
    # Below a folder that is not known anything may lie.
    below = word[0] in MARKS and word[1:2] in ("", "/", *MARKS)
    if not below and FILE not in word and (visible[:1] in ("/", "~") or ".." in visible.split("/")):
        _judge_known(visible, shell, command)


def _judge_known(plain: str, shell: Shell, command: str) -> None:
    tables = places()
    if plain.startswith("-"):
        return
    looks: object = plain.startswith(("/", "~")) or ".." in plain.split("/")
    looks = looks or tables.secret.search(plain)
    looks = looks or (known(shell.cwd) and _inside_own(join(shell.cwd, plain), shell) is not None)
    if not looks and not (_GLOB.search(plain) and plain.startswith(".")):
        if not known(shell.cwd) or shell.cwd == shell.record.workspace:
            return
        if _below(shell.cwd, shell.record.workspace):
            return
    whole = join(shell.cwd, plain) if known(shell.cwd) else plain
    own = own_matched(whole, shell) if _GLOB.search(whole) else None
    inside = _inside_own(own or whole, shell)
    if tables.harmless.fullmatch(whole) or (inside is None and is_temporary(whole)):
        return
    if tables.startup.search(whole) and not _below(whole, shell.record.workspace):
        shell.record.add("ask", f"{command} touches {plain}, which programs run when they start")
        return
    if _GLOB.search(plain) and (hit := _secret_glob(plain, command)):
        shell.record.add("ask", f"{command} may name {hit}, which holds secrets", "place")
    literal = own or (_GLOB.split(whole)[0] if _GLOB.search(whole) else whole)
    if reason := shell.record.judge_path(literal):
        shell.record.add("ask", f"{command} names {plain!r}: {reason.rstrip('.')}", "place")
        looks_only = command.strip("`").split(" ")[0] in (*tables.listers, "cd", "pushd")
        # `hookline --home DIR` is asked about, and then refused by the program itself.
        looks_only |= not inside and " --home" in command
        if inside is not None and not looks_only and tables.keys.match(inside):
            told = f"{command} names {plain!r}, where Hookline keeps its keys"
            shell.record.add("deny", f"{told}, and what has been read cannot be taken back")


def _inside_own(path: str, shell: Shell) -> str | None:
    """``path`` below Hookline's own folder; None for any other."""
    for one in (path, followed(path, shell)):
        folder = next((own for own in shell.record.own if _below(one, own)), None)
        if folder is not None:
            return one[len(folder) + 1 :]
    return None


def followed(path: str, shell: Shell) -> str:
    """Where ``path``, absolute, leads: through links that there are or that this command makes."""
    if found := _PROC.match(path):
        inner = path[found.end() :]
        path = join("/", f"{shell.cwd if found[1] == 'cwd' else ''}/{inner.lstrip('/')}")
    for _ in range(_MOST_LINKS):
        link = next((one for one in shell.record.links if _below(path, one)), None)
        if link is None:
            break
        path = join("/", shell.record.links[link] + path[len(link) :])
    if not path.startswith("/") or "\0" in path:  # no path holds a NUL
        return path
    return os.path.realpath(path)


def own_matched(pattern: str, shell: Shell) -> str | None:
    """What a glob, as an absolute path, matches of Hookline's own folder or below it."""
    for own in shell.record.own:
        if leads_to_own(pattern, shell) and pattern.count("/") >= own.count("/"):
            return "/".join([own, *pattern.split("/")[own.count("/") + 1 :]])
    return None


def leads_to_own(path: str, shell: Shell, *, below: bool = True) -> bool:
    """True if ``path``, absolute and maybe a glob, is Hookline's own folder or above it; with
    ``below`` also for what is in it."""
    parts = path.rstrip("/").split("/")
    for own in shell.record.own:
        names = own.split("/")
        if (below or len(parts) <= len(names)) and all(map(_fits, names, parts[: len(names)])):
            return True
    return False


def _fits(name: str, pattern: str) -> bool:
    """True if the shell's glob matches the name; one that begins with a dot only by a dot."""
    if name.startswith(".") and not pattern.startswith("."):
        return False
    return fnmatch.fnmatchcase(name, pattern)


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def is_temporary(path: str) -> bool:
    """True for a path below a folder for temporary files."""
    below = any(_below(path, folder) for folder in places().temporary)
    return below and not places().secret.search(path)


def _secret_glob(word: str, command: str) -> str | None:
    """The secret name that a glob such as ``.e?v`` is about, if one part of it says so."""
    if command.strip("`").split(" ")[0] in places().listers:
        return None
    if found := places().secret.search(word):
        return found[0].strip("/")
    for part in word.split("/"):
        if not _GLOB.search(part) or (len(part.replace("*", "")) < 2 and part != ".*"):
            continue
        for name in places().secret_names:
            if fnmatch.fnmatchcase(name, part):
                return name
    return None


_PATTERN_FILE = re.compile(r"-(?!-)\w*f|--file(=.*)?")


def _paths(name: str, argv: Sequence[str]) -> Iterator[str]:
    """The arguments that may be paths, without the option they are given with."""
    tables = places()
    if name in ("kubectl", "oc") and "cp" in argv[1:3]:
        yield from (a for a in argv[2:] if ":" not in a and a != "cp")
    named = tables.path_options.get(name, frozenset())
    for option, value in zip(argv[1:], [*argv[2:], ""], strict=False):
        if option in named:
            yield value
        elif option.split("=")[0] in named:
            yield option.partition("=")[2]
    if name in tables.text_commands:
        if name in tables.uploaders:
            yield from (w for w in argv[1:] if " " not in w and tables.secret.search(w))
        return
    if name == "socat":
        yield from (part for word in argv[1:] for part in re.split(r"[:,]", word))
    if name == "git":
        yield from (a.partition(":")[2] for a in argv[1:] if re.match(r"[\w^~@{}/.-]+:[^/]", a))
    if name in tables.code_hosts:
        yield from mounted(argv)
        return
    options = tables.text_options.get(name, frozenset())
    given = any(a in options or _PATTERN_FILE.fullmatch(a) for a in argv[1:])
    skip_operand = name in tables.first_is_text and not given
    after = False
    for word in argv[1:]:
        if after:
            after = False
            if not (name in ("curl", "http") and re.match(r"[^@<]{0,40}[@<]", word)):
                continue
        if word in options:
            after = True
            continue
        short = word[:2] if word[:2] != "--" else ""
        known_option = word.split("=")[0] in options or short in options
        if word.startswith("-") and (_COMPILER.match(word) or known_option):
            continue
        if skip_operand and not word.startswith("-"):
            skip_operand = False
            continue
        if "://" in word and not word.startswith("file://"):
            continue
        yield from _inside(word)


def mounted(argv: Sequence[str]) -> Iterator[str]:
    """The folders of this machine that a container is given."""
    for index, word in enumerate(argv[:-1]):
        if word in ("-v", "--volume"):
            yield argv[index + 1].split(":")[0]
        if word.startswith(("--volume=", "-v/", "-v~")):
            yield word.removeprefix("--volume=").removeprefix("-v").split(":")[0]
        if "--mount" in (word, argv[index - 1]) and (
            m := re.search(r"(?:source|src)=([^,]+)", word)
        ):
            yield m[1]
        if word in ("--env-file", "-f", "--file"):
            yield argv[index + 1]
    if argv[1:2] == ["cp"]:
        yield from (a for a in argv[2:] if ":" not in a and not a.startswith("-"))
    if set(argv[1:3]) & {"build", "buildx"} and len(argv) > 2:
        yield argv[-1].split("=")[0] if argv[-1].startswith("-") else argv[-1]


def _inside(word: str) -> Iterator[str]:
    match = _INSIDE.match(word)
    inner = match[1] if match else word
    if inner != word and not word.startswith("--") and "=" in word and "/" in word.split("=")[0]:
        inner = word
    yield inner
    more = _OPTION_VALUE.match(inner)
    if more and more[1] != inner:
        yield more[1]


_BARE_HOST = re.compile(r"[^-=][^=]*[.:x][^=]*$|\d{6,}")
_REROUTED = frozenset({"--resolve", "--connect-to", "-x", "--proxy", "--preproxy", "--interface"})
_IN_WORD = re.compile(r"(?<![\w.])(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-fA-F:.]+\])(?![\w.])")


def _addresses(name: str, argv: Sequence[str]) -> Iterator[str]:
    """The hosts that are named, each with its port if that is told."""
    if name in ("echo", "printf", "grep", "git-commit", "sed", "rg"):
        return
    tables = places()
    other = name in tables.network_clients
    for index, word in enumerate(argv[1:], 1):
        if "://" in word:
            yield from _URL.findall(word)
        elif argv[index - 1] in _REROUTED and name in tables.web_clients:
            yield from _IN_WORD.findall(word)
        elif name in tables.web_clients and _BARE_HOST.match(word):
            yield word.split("/")[0]
        elif other:
            yield from (a for a in _IN_WORD.findall(word) if not a.startswith(("127.", "[::1]")))


def _address(authority: str, shell: Shell) -> str | None:
    """Why an address may not be reached, as the end of a sentence."""
    plain = unicodedata.normalize("NFKC", without_marks(unquote(authority))).replace("。", ".")
    match = _HOST.fullmatch(plain)
    if not match:
        return None
    host = match[1].strip("[]").rstrip(".").lower()
    address = _literal(host)
    hands_out = any(address in network for network in places().metadata_networks if address)
    if hands_out or host in places().metadata:
        return f"{host}, which hands out this machine's credentials"
    if host in places().local or host.endswith(".localhost"):
        return None
    if shell.record.check_address and (address or _PUBLIC_NAME.fullmatch(host)):
        where = f"[{host}]" if ":" in host else host
        reason = shell.record.check_address(f"http://{where}{match[2] or ''}/")
        return f"{host}: {reason.rstrip('.')}" if reason else None
    if address and any(address in network for network in places().private):
        return f"the private address {host}"
    return None


def judge_host(text: str, shell: Shell, command: str) -> None:
    """Note what is wrong with ``text`` in a program, if it is a URL, an address or such a name."""
    if len(text) > 2_000 or not known(text):
        return
    found = _URL.findall(text) if "://" in text else []
    spelled = "." in text or ":" in text or _SPELLED.fullmatch(text)
    if not found and spelled and _literal_or_name(text):
        found = [text]
    for authority in found:
        host = authority.rpartition("@")[2].partition(":")[0]
        shell.record.effect("network", authority)
        if not is_loopback(host) and (reason := _address(authority, shell)):
            shell.record.add("ask", f"{command} reaches for {reason}", "address")


_SPELLED = re.compile(r"0x[0-9a-fA-F]{6,8}|\d{8,10}")
"""An IPv4 address as one number."""


def _literal_or_name(text: str) -> bool:
    host = text.partition("/")[0].lower()
    if host in places().metadata or host.rpartition(":")[0] in places().metadata:
        return True
    match = _HOST.fullmatch(host)
    return bool(match and host.count(".") in (0, 3) and _literal(match[1].strip("[]")))


def is_loopback(host: str | None) -> bool:
    """True for names and addresses of this machine."""
    plain = (host or "").strip("[]").lower()
    return (
        plain in places().local
        or plain.endswith(".localhost")
        or plain.startswith("127.")
        or (
            plain in ("::1", "0.0.0.0")  # noqa: S104 - nothing is bound
        )
    )


_PUBLIC_NAME = re.compile(r"([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z][a-z0-9-]*")


def _literal(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that ``host`` is, also in decimal, octal, hexadecimal and shortened form."""
    try:
        found = ipaddress.ip_address(host.split("%")[0])
    except ValueError:
        if not _NUMBER.fullmatch(host):
            return None
        try:
            return ipaddress.IPv4Address(socket.inet_aton(host))
        except OSError:
            return None
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped:
        return found.ipv4_mapped
    return found
