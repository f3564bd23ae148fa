"""What a command would put out, as far as that is known without running it."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase as fnmatch
from urllib.parse import urlsplit

from .record import join
from .scan import ansi
from .shell import Shell
from .tables import base_name, origins, places
from .values import (
    ENCODED,
    ENDLESS,
    ENVIRON,
    FILE,
    HOOKLINE,
    LISTING,
    NETWORK,
    PROCESSES,
    SECRET,
    TRUSTED,
    UNKNOWN,
    blend,
    known,
    marks,
)

_MARKS = {"environ": ENVIRON, "processes": PROCESSES}


def of(name: str, argv: Sequence[str], shell: Shell, stdin: str) -> str:
    """The output of a command; files it writes are remembered."""
    tables = origins()
    _saved(name, argv, shell)
    if name in tables.fetch:
        return NETWORK
    if tables.clones.match(f"{name} {' '.join(argv[1:])} "):
        shell.record.unpacked = True
    if name in tables.unpack:
        _unpack(argv, shell, stdin)
    if mark := tables.mark(name, " ".join(argv[1:])):
        return _MARKS[mark]
    if maker := _MAKERS.get(name):
        return maker(argv, shell, stdin)
    if name in tables.trusted:
        return TRUSTED
    if PROCESSES in stdin and name.endswith("awk") and re.search(r"/.+/|[=~]=?", argv[-1]):
        stdin = UNKNOWN
    read = [shell.files[p] for a in argv[1:] if (p := join(shell.cwd, a)) in shell.files]
    carried = [m for m in (SECRET, ENVIRON, NETWORK) if m in "".join(argv[1:])]
    return blend([stdin, *read, *carried])


_CLUSTER = re.compile(r"-(?!-)([a-zA-Z#0-9]*?)([oOPdJ])(.*)\Z", re.DOTALL)
_TARGET = re.compile(r"--(output|output-document|out|output-dir|directory-prefix|dir)(?:=(.*))?\Z")
_FOLDER = frozenset({"P", "output-dir", "directory-prefix", "dir"})


def _saved(name: str, argv: Sequence[str], shell: Shell) -> None:
    """Remember the files that a command fetches, by the name they get."""
    tables = origins()
    if name not in tables.fetch and name not in tables.copies_in:
        return
    urls = [a for a in argv[1:] if "://" in a or re.match(r"[\w-]+(\.[\w-]+)+(/|$)", a)]
    folder, saved = "", []
    remote = name in tables.saves
    for index, arg in enumerate(argv[1:], 1):
        option, value = _given(name, arg)
        if not option or name in tables.copies_in:
            continue
        if option in ("O", "J") and name in ("curl", "curlie"):
            remote = True
            continue
        value = value or (argv[index + 1] if index + 1 < len(argv) else "")
        if option in _FOLDER or (option == "d" and name == "aria2c"):
            folder = value
        elif option != "J" and (option != "d" or name in ("axel", "fetch")):
            saved.append(value)
    if remote and not saved:
        saved = [_last(u) for u in urls]
    if name in tables.copies_in and len(argv) > 2:
        saved = [argv[-1], join(argv[-1], _last(argv[-2]))]
        if not any(":" in a for a in argv[1:-1]):
            return
    for path in saved:
        if path and path != "-":
            shell.write(join(folder, path) if folder else path, NETWORK)


def _given(name: str, arg: str) -> tuple[str, str]:
    """The option of ``arg`` that says where to save, and its value if that is attached."""
    if match := _TARGET.match(arg):
        return match[1], match[2] or ""
    if arg.startswith("--remote-name"):
        return "O", ""
    if name in ("wget", "wget2") and (match := re.match(r"-[a-zA-Z]*?([OP])(.*)\Z", arg)):
        return match[1], match[2]
    if match := _CLUSTER.match(arg):
        return match[2], match[3]
    return "", ""


def _last(url: str) -> str:
    path = urlsplit(url).path if "://" in url else url.split(":")[-1]
    return path.rstrip("/").rpartition("/")[2] or "index.html"


def _unpack(argv: Sequence[str], shell: Shell, stdin: str) -> None:
    read = [shell.files.get(join(shell.cwd, a), "") for a in argv[1:]]
    if NETWORK in "".join([stdin, *read]):
        shell.record.unpacked = True
        for arg in argv[1:]:
            if arg.endswith((".gz", ".xz", ".bz2", ".zst")):
                shell.write(arg.rpartition(".")[0], NETWORK)


def formatted(args: Sequence[str]) -> str:
    """What ``printf`` prints."""
    if not args:
        return ""
    if not known(args[0]):
        return blend(args)
    pattern, values = _escapes(args[0]), list(args[1:])
    rounds: list[str] = []
    while True:
        used = 0

        def one(match: re.Match[str], given: list[str] = values) -> str:
            nonlocal used
            if match[1] == "%":
                return "%"
            value = given[used] if used < len(given) else ""
            used += 1
            return _conversion(match[0], match[1], value)

        text = re.sub(r"%[-+ #0]*[\d.*]*([sbcdiouxXqeEfgG%])", one, pattern)
        rounds.append(text)
        values = values[used:]
        if not used or not values or len(rounds) > 256:
            return "".join(rounds)


def _conversion(spec: str, letter: str, value: str) -> str:
    if letter == "b":
        return ansi(value)
    if letter == "c":
        return value[:1]
    if letter in "sq":
        width = re.search(r"\.(\d+)", spec)
        return value[: int(width[1])] if width and known(value) else value
    if letter in "xXo" and value.isdigit():
        return f"{int(value[:18]):{letter}}"
    return value


def _escapes(text: str) -> str:
    return ansi(text) if "\\" in text else text


def _echo(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    args, escapes, newline = list(argv[1:]), False, "\n"
    while args and re.fullmatch(r"-[neE]+", args[0]):
        escapes |= "e" in args[0]
        newline = "" if "n" in args[0] else newline
        args.pop(0)
    text = " ".join(args)
    return (ansi(text) if escapes else text) + newline


def _cat(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    names = [a for a in argv[1:] if not a.startswith("-") or a == "-"]
    if not names:
        return stdin
    return "".join(stdin if n in ("-", "/dev/stdin") else shell.content(n) for n in names)


def _tee(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    for name in argv[1:]:
        if not name.startswith("-"):
            shell.write(name, stdin)
    return stdin


def _decoded(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    """base64 and its kin, both ways."""
    options = " ".join(a for a in argv[1:] if a.startswith("-"))
    names = [a for a in argv[1:] if not a.startswith("-") and not a.isdigit()]
    stdin = "".join(shell.content(n) for n in names) or stdin
    encodes = not re.search(r"(^| )-\w*[dD]|--dec", options)
    if not known(stdin):
        return blend([stdin]) + (ENCODED if encodes and _is_file(stdin) else "")
    if encodes:
        return base64.b64encode(stdin.encode()).decode() + "\n"
    decode = base64.b32decode if "32" in argv[0] else base64.b64decode
    try:
        raw = re.sub(r"\s", "", stdin)
        return decode(raw + "=" * (-len(raw) % 4)).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return UNKNOWN


def _is_file(text: str) -> bool:
    return FILE in text or UNKNOWN in text


def _xxd(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    if known(stdin) and any("r" in a for a in argv[1:] if a.startswith("-")):
        try:
            return bytes.fromhex(re.sub(r"\s|\\x|0x", "", stdin)).decode("utf-8", "replace")
        except ValueError:
            return UNKNOWN
    names = [a for a in argv[1:] if not a.startswith("-") and not a.isdigit()]
    read = stdin + "".join(shell.content(n) for n in names)
    return blend([read]) + (ENCODED if _is_file(read) else "")


def _openssl(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    if any("base64" in a or a == "-a" for a in argv) and "-d" in argv:
        return _decoded(["base64", "-d"], shell, stdin)
    return NETWORK if "s_client" in argv else blend([stdin])


def _rev(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    lines = stdin.split("\n")
    return "\n".join(line[::-1] for line in lines)


def _tac(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    return "\n".join(reversed(stdin.rstrip("\n").split("\n"))) + "\n"


def _tr(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    sets = [ansi(a) for a in argv[1:] if not a.startswith("-")]
    if not known(stdin + "".join(sets)):
        return blend([stdin])
    if "-d" in argv and sets:
        return "".join(c for c in stdin if c not in _range(sets[0]))
    if len(sets) == 2 and sets[1]:
        old, new = _range(sets[0]), _range(sets[1])
        return stdin.translate({ord(a): new[min(i, len(new) - 1)] for i, a in enumerate(old)})
    return stdin


def _range(text: str) -> str:
    text = text.replace("[:upper:]", "A-Z").replace("[:lower:]", "a-z").replace("[:digit:]", "0-9")
    text = text.replace("[:space:]", " \t\n\r")

    def spread(match: re.Match[str]) -> str:
        return "".join(map(chr, range(ord(match[1]), min(ord(match[2]), ord(match[1]) + 512) + 1)))

    return re.sub(r"(.)-(.)", spread, text, flags=re.DOTALL)


def _same(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    """Filters that pass lines on: what comes out was in what went in."""
    searches = argv[0].endswith(("grep", "rg"))
    names = [a for a in argv[2 if searches else 1 :] if join(shell.cwd, a) in shell.files]
    text = "".join([stdin, *(shell.content(n) for n in names)])
    if not text:
        return UNKNOWN
    if searches:
        text = text.replace(PROCESSES, UNKNOWN)
        if LISTING in text and (hit := _secret_asked_for(argv)):
            return f"{LISTING}\n{hit}\n"
    if base_name(argv[0]) in ("head", "tail"):
        text = text.replace(ENDLESS, "").replace(PROCESSES, UNKNOWN)
    if (marks(text) in (LISTING, FILE) and "grep" not in argv[0]) or not marks(text):
        return text
    return LISTING if marks(text) == LISTING else blend([text])


def _secret_asked_for(argv: Sequence[str]) -> str | None:
    """A secret file's name that a search in a listing is after."""
    pattern = next((a for a in argv[1:] if not a.startswith("-")), "")
    if len(pattern) < 3 or any(a.startswith("-") and "v" in a for a in argv[1:]):
        return None
    try:
        wanted = re.compile(pattern)
    except re.error:
        return None
    return next((name for name in places().secret_names if wanted.search(name)), None)


def _sed(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    """A substitution done on a known text; anything else is unknown."""
    scripts = [a for a in argv[1:] if not a.startswith("-")]
    match = re.fullmatch(r"s(.)(.*?)\1(.*?)\1([g\d]*);?", scripts[0]) if scripts else None
    if marks(stdin) == LISTING:
        return LISTING
    if not (match and known(stdin) and stdin and len(scripts) == 1):
        return blend([stdin])
    old = match[2] if "-E" in argv else re.sub(r"([+?(){}|])", r"\\\1", match[2])
    new = re.sub(r"\\(\d)", r"\\g<\1>", match[3]).replace("&", r"\g<0>")
    try:
        every = 0 if "g" in match[4] else 1
        return "\n".join(re.sub(old, new, line, count=every) for line in stdin.split("\n"))
    except (re.error, IndexError):
        return UNKNOWN


def _copy(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    names = [a for a in argv[1:] if not a.startswith("-")]
    if len(names) > 1:
        for name in names[:-1]:
            if name == "/dev/stdin":
                shell.write(names[-1], stdin)
            if join(shell.cwd, name) in shell.files or HOOKLINE in shell.content(name):
                shell.write(names[-1], shell.content(name))
                shell.write(join(names[-1], name.rpartition("/")[2]), shell.content(name))
    return ""


def _dd(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    named = dict(a.split("=", 1) for a in argv[1:] if "=" in a)
    text = shell.content(named["if"]) if "if" in named else stdin
    if "of" in named:
        shell.write(named["of"], text)
        return ""
    return text


_CUT = re.compile(r" -([fcb]) ?(\d*)(-?)(\d*)(?= |$)")


def _cut(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    """One field, one character or one range of a known text."""
    words = " " + " ".join(argv[1:])
    match, sign = _CUT.search(words), re.search(r" -d ?(.)", words)
    if not match or not known(stdin):
        return blend([stdin])
    first = int(match[2] or 1)
    last = int(match[4] or 10**6) if match[3] else first
    glue = (sign[1] if sign else "\t") if match[1] == "f" else ""
    return "".join(_picked(line, glue, first, last) + "\n" for line in stdin.splitlines())


def _picked(line: str, glue: str, first: int, last: int) -> str:
    if glue and glue not in line:
        return line
    parts = line.split(glue) if glue else list(line)
    return glue.join(parts[max(first - 1, 0) : last])


def _mktemp(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    return "/tmp/tmp.a\n"  # noqa: S108 - what mktemp prints


def _pwd(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    return shell.cwd + "\n"


def _seq(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    numbers = [int(a) for a in argv[1:] if re.fullmatch(r"-?\d{1,6}", a)]
    if not numbers or len(numbers) != len(argv) - 1:
        return "1\n2\n"
    first, last = (numbers[0] if len(numbers) > 1 else 1), numbers[-1]
    return "\n".join(map(str, range(first, min(last, first + 8) + 1))) + "\n"


def _basename(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    return argv[1].rstrip("/").rpartition("/")[2] if len(argv) > 1 else ""


def _dirname(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    if len(argv) < 2:
        return ""
    return argv[1].rstrip("/").rpartition("/")[0] or ("/" if argv[1].startswith("/") else ".")


def _yes(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    return (" ".join(argv[1:]) or "y") + f"\n{ENDLESS}\n"


def _ls(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    names = [a for a in argv[1:] if not a.startswith("-")]
    return LISTING if any(n.strip("./*") for n in names) else UNKNOWN


def _git(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    if set(argv[1:3]) & {"ls-files", "diff", "branch", "rev-parse", "for-each-ref", "status"}:
        return LISTING if "rev-parse" not in argv else UNKNOWN
    return NETWORK if "archive" in argv and "--remote" in " ".join(argv) else UNKNOWN


def _date(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    text = next((a[1:] for a in argv[1:] if a.startswith("+")), "%Y")
    return re.sub(r"%[-_0]?[A-Za-z]", "7", text) + "\n"


def _realpath(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    names = [a for a in argv[1:] if not a.startswith("-")]
    return join(shell.cwd, names[-1]) + "\n" if names else ""


def find_names(argv: Sequence[str]) -> list[str]:
    """What ``find`` lists: its roots with what is below, narrowed by tests or not."""
    roots = []
    for arg in argv[1:]:
        if arg.startswith(("-", "(", "!", ",")) and arg not in ("-H", "-L", "-P"):
            break
        if arg not in ("-H", "-L", "-P"):
            roots.append(arg)
    joined = re.sub(r" (-not|!) -\w+ \S+", "", " ".join(argv))
    narrow = re.search(
        r" -(i?name|i?path|i?regex|i?wholename|newer\w*|[acm]time|[acm]min|empty|size|perm|inum"
        r"|samefile|links|i?lname|executable)\b",
        joined,
    ) and not re.search(r" -i?(name|path) '?\*+'?( |$)|-regex \.\*( |$)| -o ", joined)
    roots = roots or ["."]
    named = re.findall(r" -i?name (\S+)", joined)
    wanted = places().secret_names
    telling = [n for n in named if any(fnmatch(w, n) for w in wanted) or n == ".git"]
    named = [*telling, *(n for n in named if places().secret.search(n))]
    secret = [f"{r.rstrip('/')}/{n}" for r in roots for n in named if n.strip("*") != ""]
    ending = re.search(r" -i?name \*(\.\w+)(?= |$)", joined)
    below = LISTING + (ending[1] if ending and joined.count(" -name ") == 1 else "")
    return [*(f"{r.rstrip('/')}/{below}" if narrow else r for r in roots), *secret]


_MAKERS: dict[str, Callable[[Sequence[str], Shell, str], str]] = {
    "echo": _echo,
    "cat": _cat,
    "tac": _tac,
    "bat": _cat,
    "tee": _tee,
    "rev": _rev,
    "base64": _decoded,
    "gbase64": _decoded,
    "base32": _decoded,
    "xxd": _xxd,
    "od": _xxd,
    "hexdump": _xxd,
    "tr": _tr,
    "head": _same,
    "tail": _same,
    "sort": _same,
    "uniq": _same,
    "grep": _same,
    "egrep": _same,
    "fgrep": _same,
    "sed": _sed,
    "gsed": _sed,
    "cp": _copy,
    "mv": _copy,
    "ln": _copy,
    "install": _copy,
    "mktemp": _mktemp,
    "pwd": _pwd,
    "seq": _seq,
    "basename": _basename,
    "dirname": _dirname,
    "yes": _yes,
    "ls": _ls,
    "git": _git,
    "date": _date,
    "realpath": _realpath,
    "readlink": _realpath,
    "pv": _cat,
    "rg": _same,
    "fold": _same,
    "nl": _same,
    "sponge": _tee,
    "openssl": _openssl,
    "buffer": _cat,
    "dd": _dd,
    "cut": _cut,
}
