"""Programs in other languages, given on a command line, on standard input or just written."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from . import interpreters, python_code, statements, text_code
from .record import join, shown
from .shell import Shell
from .tables import Language, base_name, load, shells
from .values import ENVIRON, FILE, HOOKLINE, NETWORK, UNKNOWN, without_marks


def language(name: str) -> Language | None:
    """How code of the interpreter ``name`` is read; None if it is none."""
    found: Language | None = load("interpreters")["languages"].get(name)
    return found


def run(rule: Language, argv: Sequence[str], shell: Shell, stdin: str) -> str:
    """Judge whatever code an interpreter is given; a mark of what it would put out."""
    codes, rest, module = given(rule, argv)
    _run(rule, argv, shell.forked(), stdin, (codes, rest, module))
    whole = "\n".join(codes) or stdin
    if _FETCHES.search(whole) and _SAVES.search(whole):
        shell.record.unpacked = True
    if _ENVIRONMENT.search(whole):
        return ENVIRON
    return NETWORK if _FETCHES.search(whole) else ""


_FETCHES = re.compile(
    r"https?://|urlopen|urlretrieve|requests\.|httpx|\bfetch\s*\(|LWP|Net::HTTP|open-uri|socket"
)
_SAVES = re.compile(
    r"urlretrieve|getstore|\bopen\s*\([^)]{0,200}['\"][wa]b?['\"]|writeFile|write_bytes|write_text|IO\.copy"
    r"|File\.write|put_contents|\bmirror\s*\(|copyfileobj|createWriteStream"
)
_ENVIRONMENT = re.compile(
    r"\bos\.environ\b(?!\s*(\.get\b|\[))|process\.env\b(?!\s*[.\[])|\bENV\b(?!\s*[\[.]\s*(fetch|\"|'))"
    r"|%ENV\b|\$_ENV\b(?!\s*\[)|getenv\(\s*\)|\bENVIRON\b|Sys\.getenv\(\s*\)"
)


_MOST_CODES = 32


def without_code(rule: Language, argv: Sequence[str]) -> list[str]:
    """``argv`` without the code in it: what may be paths."""
    codes = tuple(given(rule, argv)[0][:_MOST_CODES])
    return [w for w in argv if w not in codes and not (w[:1] in ("-", "+") and w.endswith(codes))]


def _run(
    rule: Language,
    argv: Sequence[str],
    inner: Shell,
    stdin: str,
    parts: tuple[list[str], list[str], bool],
) -> None:
    codes, rest, module = parts
    if rule.get("script", True) and not rule.get("operand") and (codes or rest or module):
        inner.record.effect("execute", shown(argv).strip("`"))
    for path in _files(rule, argv):
        if path in ("-", "/dev/stdin") and stdin:
            _stdin(rule, stdin, inner, argv)
        else:
            _file(rule, path, inner, argv)
    if rest and rest[0] in rule.get("sub", ()):
        rest = rest[1:]
    for code in codes:
        judge(rule, code, inner, shown(argv))
        if stdin and _READS_CODE.search(code):
            _stdin(rule, stdin, inner, argv)
    if rule.get("sources"):
        _sources(rule, rest, inner, stdin, argv)
        return
    if rule.get("operands"):
        for operand in rest:
            judge(rule, operand, inner, shown(argv))
        rest = []
    if module:
        _module(rule, rest, inner, argv)
    if codes or module or rule.get("kind") == "none":
        return
    if (rule.get("bang") or "speaks" in rule) and stdin and not rule.get("shows"):
        judge(rule, stdin, inner, shown(argv))
    elif rule.get("script") is False:
        return
    elif rest and rest[0] not in ("-", "/dev/stdin"):
        _file(rule, rest[0], inner, argv)
    elif stdin:
        _stdin(rule, stdin, inner, argv)


_READS_CODE = re.compile(
    r"(?is)\b(exec|eval|compile|system|popen|Function|runInThisContext|instance_eval)\b"
    r".*(stdin|input\(|/dev/fd/0|<>|<STDIN>|readFileSync\(0|gets)"
    r"|(stdin|input\(|<STDIN>|<>).*\b(exec|eval|compile|system|popen|Function|instance_eval)\b"
)


def _sources(
    rule: Language, operands: Sequence[str], shell: Shell, stdin: str, argv: Sequence[str]
) -> None:
    """What is compiled: files that this command wrote, and the input where ``-`` stands."""
    for operand in operands:
        if operand == "-" and stdin:
            _stdin(rule, stdin, shell, argv)
        elif join(shell.cwd, operand) in shell.files:
            _file(rule, operand, shell, argv)


_TIMED = frozenset({"timeit", "cProfile", "profile", "pdb", "trace"})


def _module(rule: Language, rest: Sequence[str], shell: Shell, argv: Sequence[str]) -> None:
    """``python -m``: a module that this command wrote, or one that runs its operands."""
    if not rest:
        return
    name = rest[0]
    _file(rule, name.replace(".", "/") + ".py", shell, argv)
    if name in _TIMED:
        for operand in rest[1:]:
            judge(rule, operand, shell, shown(argv))


def _stdin(rule: Language, stdin: str, shell: Shell, argv: Sequence[str]) -> None:
    if NETWORK in stdin:
        shell.record.add("ask", f"{shown(argv)} runs what came over the network")
    elif UNKNOWN in stdin and not without_marks(stdin).strip():
        shell.record.add("ask", f"{shown(argv)} runs text that cannot be known", "doubt")
    elif stdin != FILE:
        judge(rule, stdin, shell, shown(argv))


def _file(rule: Language, path: str, shell: Shell, argv: Sequence[str]) -> None:
    content = shell.files.get(join(shell.cwd, path))
    for inside in ("__main__.py", "__init__.py", "index.js"):
        if content is None:
            content = shell.files.get(join(shell.cwd, f"{path.removesuffix('.py')}/{inside}"))
    if HOOKLINE in (content or ""):
        shell.record.add("once", f"{shown(argv)} runs hookline, which the agent may not administer")
    if content is None:
        fetched = "://" in path or (shell.record.unpacked and not path.startswith("/"))
        if fetched and path not in rule.get("sub", ()):
            shell.record.add("ask", f"{shown(argv)} runs a program fetched by this command")
    elif NETWORK in content:
        shell.record.add("ask", f"{shown(argv)} runs what came over the network")
    else:
        judge(rule, content, shell, shown(argv))


def given(rule: Language, argv: Sequence[str]) -> tuple[list[str], list[str], bool]:
    """The code among the arguments, the operands, and whether a module is named."""
    codes: list[str] = []
    args = list(argv[1:])
    while args and args[0][:1] in ("-", "+", "/") and len(args[0]) > 1:
        option = args[0]
        if option[0] == "/" and option not in rule["code"]:
            break
        args.pop(0)
        if option == "--":
            break
        found = _option(rule, option)
        if found == "module":
            return codes, args, True
        if found == "code":
            codes.extend(args[:1])
            args[:1] = []
        elif found == "value":
            args[:1] = []
        elif found is not None:
            codes.append(found)
    if args and args[0] in rule.get("after", ()):
        codes.extend(args[1:2])
        args = args[2:]
    if args and args[0] == rule.get("eval"):
        codes.extend(a for a in args[1:] if not a.startswith("-"))
    named = list(_files(rule, argv))
    if rule.get("operand") and not codes and args and not named:
        codes.append(args.pop(0))
    for index, arg in enumerate(args):
        if index + 1 < len(args) and not codes and arg in rule["code"] and arg != "+":
            # A program's own `-c` mostly takes a file.
            if arg != "-c" or re.search(r"[\s(;]", args[index + 1]):
                codes.append(args[index + 1])
        elif not codes and arg.startswith(_attached(rule)):
            codes.append(arg.partition("=")[2])
    codes.extend(v for o, v in _assigned(rule, argv) if o == "-v")
    return codes, args, False


def _files(rule: Language, argv: Sequence[str]) -> Iterator[str]:
    """The files that options name as code."""
    for option, value in zip(argv[1:], [*argv[2:], ""], strict=False):
        for file in rule.get("files", ()):
            if option == file:
                yield value
            elif option.startswith(file + "="):
                yield option[len(file) + 1 :]


def _attached(rule: Language) -> tuple[str, ...]:
    return tuple(f"{o}=" for o in (*rule["code"], "--execute") if o.startswith("--"))


def _assigned(rule: Language, argv: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The variables that awk is given, as strings of its own language."""
    if rule.get("operand") and "-v" in rule["values"]:
        for option, word in itertools.pairwise(argv):
            if option == "-v" and "=" in word:
                yield option, '"' + word.partition("=")[2].replace('"', "'") + '"'


def _option(rule: Language, option: str) -> str | None:
    """``code``, ``value``, ``module``, the attached code itself, or None."""
    name, sign, attached = option.partition("=")
    if option in rule["code"] or option in rule.get("module", ()):
        return "code" if option in rule["code"] else "module"
    if option in rule["values"]:
        return "value"
    if sign and name in rule["code"]:
        return attached
    if "+" in rule["code"] and option[0] == "+":
        return option[1:]
    if option.startswith("--") or len(option) < 3 or option[0] != "-" or rule.get("whole"):
        return None
    for index, letter in enumerate(option[1:], 1):
        dashed = "-" + letter
        if dashed in rule["code"]:
            rest = option[index + 1 :]
            return "code" if all("-" + more in rule["code"] for more in rest) else rest
        if dashed in rule.get("module", ()):
            return "module"
        if dashed in rule["values"]:
            return None if option[index + 1 :] else "value"
        if dashed in rule.get("attached", ()) and not letter.isdigit() and index == 1:
            rest = option[2:]
            if rest[-1:] and "-" + rest[-1] in rule["code"] and letter in "i0lF":
                return "code"
            return None
    return None


def judge(rule: Language, code: str, shell: Shell, command: str) -> None:
    """Judge code of one language; the shell commands in it are judged as such."""
    if NETWORK in code:
        shell.record.add("ask", f"{command} runs what came over the network")
    if UNKNOWN in code and not without_marks(code).strip():
        shell.record.add("ask", f"{command} runs code that cannot be known", "doubt")
    if len(code) > 200_000:
        shell.record.add("ask", f"{command} holds more code than can be followed", "doubt")
        return
    if "asks" in rule and re.search(rule["asks"], code):
        shell.record.add("ask", f"{command} runs text as a script")
    if "speaks" in rule:
        statements.judge(rule["speaks"], code, shell, command)
    how = rule["kind"]
    if how == "shell":
        interpreters.run_code(code, shell.child(), "", command)
    elif how == "python":
        python_code.judge(code, shell, command)
    elif how == "sed":
        text_code.judge_sed(code, shell, command)
    elif how == "text":
        text_code.judge(rule, code, shell, command)


def run_file(argv: Sequence[str], content: str, shell: Shell) -> None:
    """A program this command wrote: as its first line says, else as a shell script."""
    first = content.split("\n", 1)[0]
    words = first[2:].split() if first.startswith("#!") else []
    words = [w for w in words if base_name(w) != "env" and not w.startswith("-")]
    name = base_name(words[0]) if words else "sh"
    inner = shell.entering("file:" + join(shell.cwd, argv[0]))
    if inner is None:
        return
    inner = replace(inner, arguments=tuple(argv[1:]), name=argv[0])
    rule = None if name in shells() else language(name)
    if rule:
        judge(rule, content, inner, shown(argv))
    else:
        interpreters.run_code(content, inner, "", shown(argv))
