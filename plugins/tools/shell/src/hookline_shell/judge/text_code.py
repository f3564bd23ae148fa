"""Code that is not parsed: searched, with its string literals put together.

The expressions stand in ``interpreters.yaml``; shell commands in the strings are judged as such.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from . import interpreters, literals, reach, statements
from .deeds import delete_only
from .places import is_device, judge_path
from .shell import Shell
from .tables import Language, base_name, load, places
from .values import UNKNOWN

_SED_RUN = re.compile(
    r"(?:^|[;\n{}/\d$,])[ \t]*e[ \t]+(.+)|(?:^|[;\n])[ \t]*(?:\d+|\$)?e[ \t]*(?:$|[;\n])"
)
_SED_FLAG = re.compile(r"s(.)(?:(?!\1).|\\\1)*\1((?:(?!\1).|\\\1)*)\1[gpiIm\d]*e")
_SED_FILE = re.compile(r"(?:^|[;\n{}/\d$,gpI])[ \t]*[wrRW][ \t]+(\S+)")


def judge_sed(code: str, shell: Shell, command: str) -> None:
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


def judge(rule: Language, code: str, shell: Shell, command: str) -> None:
    tables = _patterns()
    folded, strings = literals.fold(code)
    for pattern, verdict, reason in tables["acts"]:
        if pattern.search(folded):
            shell.record.add(verdict, f"{command}: {reason}")
    if rule.get("bang"):
        for match in re.finditer(
            r"(?m)(?:^|[;'\"\s:])(?:!+|\\!|\.shell|\.system|shell)[ \t]*(.+)$", code
        ):
            interpreters.run_code(match[1], shell.child(), "", command)
    runs = bool(tables["runs"].search(folded) or tables["runs"].search(code))
    for match in _BARE_RUN.finditer(code):
        _as_shell(match[1], shell, command)
    for found in _UNQUOTED.finditer(code):
        _as_shell(next(g for g in found.groups() if g is not None), shell, command)
    if not rule.get("bang") and (call := _unknown_call(rule, code)):
        shell.record.add("ask", f"{command} runs {call}, which cannot be known", "doubt")
    hidden = tables["hidden"].search(folded)
    if runs:
        _run_strings(rule, folded, strings, shell, command)
    if hidden and re.search(
        r"\b(eval|exec|system|Function|assert|\w*exec\w*|spawn\w*|popen)\b", code
    ):
        shell.record.add("ask", f"{command} runs text that it puts together first")
    for path in _NAMED.findall(code):
        judge_path(path, shell, command)
    for device in re.findall(r"/dev/[\w/.-]+", code):
        if is_device(device, shell) and tables["writes"].search(code):
            shell.record.add("deny", f"{command} writes over the device {device}")
    if _HOME.search(code) and tables["deletes"].search(code):
        delete_only(("root", "home"), shell.record.home, shell, command)
    reach.judge_hosts(code, [folded, *strings], shell, command)
    reach.judge_sending(code, strings, shell, command)
    reach.judge_loading(code, shell, command)
    queries = bool(_QUERIES.search(code))
    changes = bool(tables["deletes"].search(code) or tables["writes"].search(code))
    for string in strings:
        if queries and "speaks" not in rule:
            statements.judge("sql", string, shell, command)
        if changes:
            reach.judge_repository(string, shell, command)
        _judge_string(string, folded, shell, command, tables)


def _run_strings(
    rule: Language, code: str, strings: Sequence[str], shell: Shell, command: str
) -> None:
    for text in dict.fromkeys([*strings, " ".join(strings)]):
        script = text.strip()
        # A single short word is mostly data; only some are commands worth a look.
        short = re.fullmatch(r"[%{}\w]{0,12}", script) and base_name(script) not in _ALONE
        if script and not short and len(text) < 20_000:
            _as_shell(text, shell, command)
            if len(text) < len(code) and re.search(r"\w\s*\(|`", text):
                judge(rule, text, shell, command)  # code of `eval`


_UNQUOTED = re.compile(
    r"(?:e?syscmd)\s*\(`?([^)']*)'?\)|write18\s*\{([^}]*)\}"
    r"|(?m:^\.sy[ \t]+(.*)$)|(?m:^sh[ \t]+\S(.*)\S$)"
)
_CALL = re.compile(
    r"(?<![\w$'\"@:])(system|popen\d?|execSync|execFileSync|execFile|spawnSync|spawn|shell_exec"
    r"|passthru|proc_open|readpipe|exec|eval)\b(?!\s*[=:,.])[ \t]*(\(?)[ \t]*"
    r"([$@*]?\w[\w.\[\]>]*|[$@]\w?|<)"
)
_QUOTES = frozenset({"q", "qq", "qx", "qw", "r", "f", "b"})
_SOURCES = frozenset({"shift", "unpack", "join", "gets", "pack"})


def _unknown_call(rule: Language, code: str) -> str | None:
    """What a call runs that is neither a literal nor a name given one, if there is such a call."""
    if rule.get("backticks"):
        if ticks := re.search(r"`\s*([$#][^`]*)`", code):
            return ticks[1]
        if re.search(r"\beval\s*(;|\}|\Z)", code):
            return "its input"
    for match in _CALL.finditer(code):
        call, bracket, first = match.groups()
        method = code[match.start() - 1 : match.start()] in (".", ">")
        if call in ("exec", "eval"):
            if method and "child_process" not in code:
                continue  # a regular expression's, a database's
            if not bracket and first.isalpha() and first not in _SOURCES:
                continue  # words of a sentence
        name = re.escape(first.lstrip("$@*"))
        given = re.search(rf"(?:\b|[$@]){name}\s*=\s*(?:\S*\s*\(?\s*)?[\"'`]", code)
        if first not in _QUOTES and not given:
            return first
    return None


_BARE_RUN = re.compile(r"(?m)(?:^|[;{\[])[ \t]*(?:exec|spawn|system)[ \t]+([\w./][^\"'(\]}]*)")
_QUERIES = re.compile(r"(?i)\b(query|execute|exec|prepare|raw|sql|do)\b\s*[(\"']")
_ALONE = {"hookline", "reboot", "poweroff", "halt", "shutdown", "sudo", "su", "killall5"}


def _as_shell(text: str, shell: Shell, command: str) -> None:
    """Judge a string as a script, but leave out what only says it is none."""
    trial = shell.trial()
    trial.judge(text)
    for reason, found in trial.record.findings.items():
        if found.sort != "doubt":
            shell.record.add(found.severity, f"{command}: {reason}", found.sort)
    shell.record.effects |= trial.record.effects if trial.record.findings else {}


_NAMED = re.compile(
    r"(?:[<>]\s*\(?[\"']|(?:^|\s)(?:\\[io]|\\copy\b.*\b(?:from|to)|\.(?:read|import|load|output|once)|source)\s+"
    r"['\"]?|\b(?:load_file|infile|outfile|dumpfile)\W+)([~/][^\s'\";)]+)",
    re.MULTILINE,
)
_HOME = re.compile(
    r"homedir\s*\(|Dir\.home|\bENV\b\W{1,4}HOME\b|process\.env\.HOME|\bgetenv\W+HOME"
)
_HANDLES_FILES = re.compile(
    r"(?i)(open|read|write|file|unlink|copy|load|require|include|import|rm|path|fs\b)"
)


def _judge_string(
    string: str, code: str, shell: Shell, command: str, tables: Mapping[str, Any]
) -> None:
    string = string.lstrip("<>|+ ")
    place = shell.record.home + string[1:] if string.startswith("~") else string
    if place.startswith("/") and len(place) < 200 and tables["deletes"].search(code):
        delete_only(("root", "home"), place, shell, command)
    if places().startup.search(string) and " " not in string and tables["writes"].search(code):
        shell.record.add("ask", f"{command} touches {string}, which programs run when they start")
    if is_device(string, shell) and tables["writes"].search(code):
        shell.record.add("deny", f"{command} writes over the device {string}")
    looks = re.fullmatch(r"[~/.][\w.@+~/*-]{2,}", string) or (
        len(string) < 200 and " " not in string and places().secret.search(string)
    )
    if looks and _HANDLES_FILES.search(code):
        judge_path(string, shell, command)
