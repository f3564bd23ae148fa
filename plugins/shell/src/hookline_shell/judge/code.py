"""Programs in other languages, given on a command line, on standard input or just written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from . import interpreters, literals, python_code
from .deeds import delete_only
from .places import is_device, judge_path
from .record import join, shown
from .tables import base_name, load
from .values import FILE, NETWORK, UNKNOWN

if TYPE_CHECKING:
    from .machine import Shell

Language = Mapping[str, Any]


def language(name: str) -> Language | None:
    """How code of the interpreter ``name`` is read; None if it is none."""
    found: Language | None = load("interpreters")["languages"].get(name)
    return found


def run(rule: Language, name: str, argv: Sequence[str], shell: Shell, stdin: str) -> None:
    """Judge whatever code an interpreter is given."""
    codes, rest, module = given(rule, argv)
    inner = shell.forked()
    for code in codes:
        judge(rule, code, inner, shown(argv))
        if stdin and _READS_CODE.search(code):
            _stdin(rule, stdin, inner, argv)
    if rule.get("operands"):
        for operand in rest:
            judge(rule, operand, inner, shown(argv))
        rest = []
    if codes or module or rule.get("kind") == "none":
        return
    if rule.get("bang") and stdin:
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


def _stdin(rule: Language, stdin: str, shell: Shell, argv: Sequence[str]) -> None:
    if NETWORK in stdin:
        shell.record.add("ask", f"{shown(argv)} runs what came over the network")
    elif UNKNOWN in stdin and stdin.strip(UNKNOWN + "\n ") == "":
        shell.record.add("ask", f"{shown(argv)} runs text that cannot be known")
    elif stdin != FILE:
        judge(rule, stdin, shell, shown(argv))


def _file(rule: Language, path: str, shell: Shell, argv: Sequence[str]) -> None:
    content = shell.files.get(join(shell.cwd, path))
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
    if args and args[0] == rule.get("eval"):
        codes.extend(a for a in args[1:] if not a.startswith("-"))
    if rule.get("operand") and not codes and args:
        codes.append(args.pop(0))
    for index, arg in enumerate(args):
        if arg in rule["code"] and arg not in ("-c", "+") and index + 1 < len(args) and not codes:
            codes.append(args[index + 1])
    return codes, args, False


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
    if option.startswith("--") or len(option) < 3 or option[0] != "-":
        return None
    for index, letter in enumerate(option[1:], 1):
        dashed = "-" + letter
        if dashed in rule["code"]:
            return option[index + 1 :] or "code"
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
    if len(code) > 200_000:
        shell.record.add("ask", f"{command} holds more code than can be followed")
        return
    how = rule["kind"]
    if how == "shell":
        interpreters.run_code(code, shell.child(), "", command)
    elif how == "python":
        python_code.judge(code, shell, command)
    elif how == "sed":
        _judge_sed(code, shell, command)
    elif how == "text":
        _judge_text(rule, code, shell, command)


_SED_RUN = re.compile(r"(?:^|[;\n{}/\d$,])\s*e\s+(.+)|(?:^|[;\n])\s*(?:\d+|\$)?e\s*(?:$|[;\n])")
_SED_FLAG = re.compile(r"s(.)(?:(?!\1).|\\\1)*\1((?:(?!\1).|\\\1)*)\1[gpiIm\d]*e")
_SED_FILE = re.compile(r"(?:^|[;\n{}/\d$,gpI])\s*[wrRW]\s+(\S+)")


def _judge_sed(code: str, shell: Shell, command: str) -> None:
    for match in _SED_RUN.finditer(code):
        interpreters.run_code(match[1] or UNKNOWN, shell.child(), "", command)
    if flag := _SED_FLAG.search(code):
        shell.record.add("ask", f"{command} runs what a substitution makes")
        interpreters.run_code(flag[2], shell.child(), "", command)
    for named in _SED_FILE.finditer(code):
        judge_path(named[1], shell, command)
        if is_device(named[1], shell):
            shell.record.add("deny", f"{command} writes over the device {named[1]}")


@cache
def _patterns() -> dict[str, Any]:
    data = load("interpreters")
    found: dict[str, Any] = {
        k: re.compile(data[k]) for k in ("runs", "hidden", "deletes", "writes")
    }
    found["acts"] = [(re.compile(a["match"]), a["verdict"], a["reason"]) for a in data["acts"]]
    return found


def _judge_text(rule: Language, code: str, shell: Shell, command: str) -> None:
    tables = _patterns()
    folded, strings = literals.fold(code)
    for pattern, verdict, reason in tables["acts"]:
        if pattern.search(folded):
            shell.record.add(verdict, f"{command}: {reason}")
    if rule.get("bang"):
        for match in re.finditer(
            r"(?m)(?:^|[;'\"\s:])(?:!+|\\!|\.shell|\.system|shell)\s*(.+)$", code
        ):
            interpreters.run_code(match[1], shell.child(), "", command)
    runs = bool(tables["runs"].search(folded) or tables["runs"].search(code))
    for match in _BARE_RUN.finditer(code):
        _as_shell(match[1], shell, command)
    hidden = tables["hidden"].search(folded)
    if runs:
        _run_strings(folded, strings, shell, command)
    if hidden and re.search(
        r"\b(eval|exec|system|Function|assert|\w*exec\w*|spawn\w*|popen)\b", code
    ):
        shell.record.add("ask", f"{command} runs text that it puts together first")
    for string in strings:
        _judge_string(string, folded, shell, command, tables)


def _run_strings(code: str, strings: Sequence[str], shell: Shell, command: str) -> None:
    for text in dict.fromkeys([*strings, " ".join(strings)]):
        script = text.strip()
        # A single short word is mostly data; only some are commands worth a look.
        short = re.fullmatch(r"[\s%{}\w]{0,12}", script) and base_name(script) not in _ALONE
        if script and not short and len(text) < 20_000:
            _as_shell(text, shell, command)


_BARE_RUN = re.compile(r"(?m)(?:^|[;{\[])\s*(?:exec|spawn|system)\s+([\w./][^\"'(\]}]*)")
_ALONE = {"reboot", "poweroff", "halt", "shutdown", "sudo", "su", "killall5"}


def _as_shell(text: str, shell: Shell, command: str) -> None:
    """Judge a string as a script, but leave out what only says it is none."""
    from .machine import judge_script
    from .record import Record

    trial = Record(shell.record.judge_path, shell.record.workspace, shell.record.home)
    judge_script(text, trial, shell.cwd)
    for reason, severity in trial.findings.items():
        if "cannot be read" not in reason and "cannot be known" not in reason:
            shell.record.add(severity, f"{command}: {reason}")


_HANDLES_FILES = re.compile(
    r"(?i)(open|read|write|file|unlink|copy|load|require|include|import|rm|path|fs\b)"
)


def _judge_string(
    string: str, code: str, shell: Shell, command: str, tables: Mapping[str, Any]
) -> None:
    place = shell.record.home + string[1:] if string.startswith("~") else string
    if place.startswith("/") and len(place) < 200 and tables["deletes"].search(code):
        delete_only(("root", "home"), place, shell, command)
    if is_device(string, shell) and tables["writes"].search(code):
        shell.record.add("deny", f"{command} writes over the device {string}")
    if re.fullmatch(r"[~/.][\w.@+~/*-]{2,}", string) and _HANDLES_FILES.search(code):
        judge_path(string, shell, command)


def judge_hooks(name: str, argv: Sequence[str], shell: Shell) -> None:
    """Options of ordinary programs that make them run a command."""
    hooks = load("interpreters")["hooks"].get(name)
    if not hooks:
        return
    for script in _hooked(hooks, argv):
        if script and not script[0].isdigit():
            interpreters.run_code(script.removeprefix("!"), shell.child(), "", shown(argv))


def _hooked(hooks: Mapping[str, Any], argv: Sequence[str]) -> Iterator[str]:
    for index, arg in enumerate(argv[1:], 1):
        for prefix in hooks.get("prefixes", ()):
            if arg.startswith(prefix):
                yield arg[len(prefix) :].removeprefix("exec=")
        if arg in hooks.get("values", ()) and index + 1 < len(argv):
            yield argv[index + 1]
        if "pattern" in hooks and (match := re.search(hooks["pattern"], arg, re.DOTALL)):
            yield match[1]
