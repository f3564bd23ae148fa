"""Walking a script as a shell would, without running anything.

Branches are all taken; a loop runs once for each value it is known to have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, islice, product

from . import commands, files, variables, words
from .places import is_device, is_socket, judge_path
from .record import Record, TooIntricate, join, shown
from .scope import MOST
from .shell import MOST_TEXT, Shell
from .syntax import Around, Back, Broken, Function, Loop, Node, Pipe, Redirect, Seq, Simple, Text
from .syntax import parse as parse_script
from .tables import places
from .values import DIALOGUE, ENVIRON, NETWORK, SPLIT, UNKNOWN, known, marks

_ASSIGN = re.compile(r"([A-Za-z_]\w*)(\[[^\]]*\])?(\+?)=(.*)\Z", re.DOTALL)
_DECLARE = frozenset({"export", "declare", "local", "readonly", "typeset", "alias"})
_UNASKED = frozenset({"command_not_found_handle", "command_not_found_handler", "precmd", "preexec"})
"""Functions that a shell calls by itself."""
_descriptors = count(60)


class Machine(Shell):
    """Walks scripts and commands."""

    # The substitutions that unquoting asks for (scope.Scope).

    def substitute(self, script: str) -> str:
        """What ``script`` would put out."""
        if (match := re.fullmatch(r"\s*<\s*(\S+)\s*", script)) and "<(" not in script:
            target = words.text(match[1], self)[0]
            judge_path(target, self, shown(["<", target]))
            return self.content(target)
        return self.child().run_text(script, "")

    def process(self, script: str, sign: str) -> str:
        """The path of a process substitution."""
        path = f"/dev/fd/{next(_descriptors) % 900 + 60}"
        if sign == "<":
            self.files[path] = self.child().run_text(script, "")
        else:
            # What will be written there is not known yet.
            self.child().run_text(script, UNKNOWN + NETWORK + ENVIRON)
        return path

    # Running.

    def run_text(self, script: str, stdin: str) -> str:
        """Run ``script``; what it puts out. Undecidable scripts are noted."""
        self.deepen()
        inner = parse_script(script.replace("\r\n", "\n"))
        self.stack = (*self.stack, "(")
        try:
            return self.run(inner, stdin)
        finally:
            self.stack = self.stack[:-1]

    def follow(self, argv: Sequence[str], stdin: str) -> str:
        """Judge a command that another one runs; what it puts out."""
        inner = self.entering(f"{len(self.stack)}:{argv[0] if argv else ''}")
        if inner is None or not argv:
            return ""
        said = commands.call(argv, inner, stdin)
        if argv[0] in inner.functions or argv[0] in inner.aliases:
            # Most that run a command know no function of this shell.
            said += commands.call(argv, replace(inner, functions={}, aliases={}), stdin)
        return said

    def run(self, node: Node, stdin: str) -> str:
        """Run a part of a script with ``stdin``; what it puts out."""
        match node:
            case Simple():
                return self.simple(node, stdin)
            case Pipe(parts):
                for one in parts:
                    stdin = self.forked().run(one, stdin)
                return stdin
            case Seq(parts, conditional):
                return self._sequence(parts, conditional, stdin)
            case Back(part):
                return self.forked().run(part, stdin)
            case Function(name, body):
                name = words.text(name, self)[0]
                self.functions[name] = body
                if name in _UNASKED:
                    self.child().run(body, stdin)
                return ""
            case Loop():
                return self._loop(node, stdin)
            case Around(body, redirects, subshell):
                inner = self.forked() if subshell else self
                streams = inner.redirect(redirects, stdin, "a group of commands")
                return streams.finish(inner, inner.run(body, streams.stdin))
            case Text(raw):
                words.substitutions(raw, self)
                self._evaluated(raw)
                return ""
            case Broken(raw):
                self.record.add(
                    "ask", f"the part {raw.strip()[:60]!r} cannot be read with certainty", "doubt"
                )
                guess = tuple(words.split_words(raw.strip()))
                return (
                    self.simple(Simple(guess), stdin)
                    if len(guess) > 1 or ("{" in raw and guess)
                    else ""
                )

    def _evaluated(self, raw: str) -> None:
        """Arithmetic evaluates what variables hold, subscripts with substitutions included."""
        for name in dict.fromkeys(re.findall(r"[A-Za-z_]\w*", raw)):
            for value in self.variables.get(name, ()):
                if "$(" in value or "`" in value:
                    words.substitutions(value, self)

    def _sequence(self, parts: Sequence[Node], conditional: bool, stdin: str) -> str:
        before, self.branching = self.branching, self.branching or conditional
        try:
            return "".join([self.run(part, stdin) for part in parts])[:MOST_TEXT]
        finally:
            self.branching = before

    def _loop(self, loop: Loop, stdin: str) -> str:
        if loop.endless and _floods(loop.body):
            self.record.add("deny", "an endless loop starts processes without waiting for any")
        if re.search(r"\d{4,}", " ".join(loop.words or ())) and _floods(loop.body):
            self.record.add("ask", "a loop starts thousands of processes without waiting for any")
        if not loop.name:
            return self._sequence([loop.body], True, stdin)
        values: list[str] = []
        if loop.words is None:
            values = list(self.arguments) or [""]
        else:
            for word in loop.words:
                for alternative in words.expand(word, self):
                    values.extend(alternative)
        values = _sampled(values)
        said = []
        for value in values[:64]:
            self.variables[loop.name] = [value]
            said.append(self.run(loop.body, stdin))
        if values[64:]:
            raise TooIntricate
        return "".join(said)[:MOST_TEXT]

    def simple(self, node: Simple, stdin: str) -> str:
        """Run one simple command."""
        self.record.step()
        raw = list(node.words)
        assigned: list[tuple[str, str]] = []
        while raw and (match := _ASSIGN.match(raw[0])):
            assigned.append(self._assignment(match, keep=True))
            raw.pop(0)
        streams = self.redirect(node.redirects, stdin, shown(raw or ["a redirect"]))
        if not raw:
            for name, value in assigned:
                variables.judge_variable(name, value, self)
            return streams.finish(self, streams.stdin if node.redirects else "")
        for name, value in assigned:
            variables.judge_given(name, value, self)
        said = ""
        for argv in self.argvs(raw):
            said = commands.call(argv, self, streams.stdin)
        return streams.finish(self, said)

    def argvs(self, raw: list[str]) -> Iterator[list[str]]:
        """Every list of words the raw ones may become."""
        head = raw[0].replace("\\", "")
        parts = []
        for word in raw:
            match = _ASSIGN.match(word) if head in _DECLARE else None
            if match:
                name, value = self._assignment(match, keep=head != "alias")
                parts.append([[f"{name}={value}"]])
            else:
                parts.append(words.expand(word, self))
        for chosen in islice(product(*parts), MOST):
            argv = [word for words_ in chosen for word in words_]
            if argv:
                yield argv

    def _assignment(self, match: re.Match[str], *, keep: bool) -> tuple[str, str]:
        name, index, more, raw = match.groups()
        if raw.startswith("(") and raw.endswith(")"):
            for key in re.findall(r"\[([^\]]*\$\(.*?)\]=", raw):
                words.substitutions(key, self)
            items = [w for word in _elements(raw[1:-1]) for w in words.expand(word, self)[0]]
            values = [SPLIT.join(items)]
        else:
            values = words.text(raw, self)
        if index and name in self.variables:
            values = [SPLIT.join([*self.variables[name], *values])]
        elif more and name in self.variables:
            glue = SPLIT if raw.startswith("(") else ""
            values = [old + glue + new for old in self.variables[name] for new in values]
        if keep:
            self.assign(name, values)
        return name, values[0] if values else ""

    def redirect(self, redirects: Sequence[Redirect], stdin: str, command: str) -> Streams:
        """Where a command reads and writes; what is wrong with that is noted."""
        streams = Streams(stdin)
        for item in redirects:
            before, streams.number = streams.stdin, item.number
            if item.body is not None:
                streams.stdin = item.body if item.literal else words.document(item.body, self)
            else:
                for target in words.text(item.target, self):
                    self._redirect(item.op, target, streams, command)
            if item.number not in ("", "0") and item.op[0] == "<":
                self.files[f"/dev/fd/{item.number}"] = streams.stdin
                streams.stdin = before
        return streams

    def _redirect(self, op: str, target: str, streams: Streams, command: str) -> None:
        if op == "<<<":
            streams.stdin = target + "\n"
        elif op in (">&", "<&") and re.fullmatch(r"\d*-?", target):
            if op == ">&" and target == "62":
                streams.targets.append(("/dev/fd/62", True))
            if op == "<&":
                streams.stdin = self.files.get(f"/dev/fd/{target}", streams.stdin)
        elif is_socket(target):
            self.record.add("ask", f"{command} opens a connection to the network by {target}")
            streams.stdin = NETWORK
        elif op == "<":
            judge_path(target, self, command)
            streams.stdin = self.content(target)
        elif is_device(target, self):
            self.record.add("deny", f"{command} writes over the device {target}")
        else:
            if places().kernel.fullmatch(join(self.cwd, target)):
                self.record.add("ask", f"{command} writes to the kernel by {target}")
            if marks(target) and not known(target[:1]):
                self.record.add("ask", f"{command} writes to a file that cannot be known", "doubt")
            judge_path(target, self, command)
            if op in (">", ">|", "&>"):
                files.truncate(target, self, command)
            elif op != "<>":
                files.write(target, self, command)
            if streams.number in ("", "1"):
                streams.targets.append((target, op.endswith(">>")))
            elif op not in ("<>", "<"):
                self.write(target, UNKNOWN)
            if op in ("<>", "<"):
                streams.stdin = self.content(target)


@dataclass
class Streams:
    """A command's input and the files that take its output."""

    stdin: str
    targets: list[tuple[str, bool]] = field(default_factory=list)
    number: str = ""
    """The descriptor that is being redirected."""

    def finish(self, shell: Shell, said: str) -> str:
        """Put what was said where it goes; what is left for the next."""
        for target, more in self.targets:
            before = shell.files.get(join(shell.cwd, target), "") if more else ""
            shell.write(target, before + said)
            if target == "/dev/fd/62" and DIALOGUE in shell.files.get("/dev/fd/61", ""):
                shell.child().run_text(said, "")  # a coprocess that is a shell
        return "" if self.targets else said


def _elements(raw: str) -> Iterator[str]:
    """The raw words between the brackets of an array, without their keys."""
    for word in words.split_words(raw):
        keyed = re.match(r"\[[^\]]*\]=(.*)\Z", word, re.DOTALL)
        yield keyed[1] if keyed else word


def _sampled(values: Sequence[str]) -> list[str]:
    """``values``, each once, and of many numbers the first and the last few."""
    once = list(dict.fromkeys(values))
    numbers = [value for value in once if value.isdigit()]
    left_out = set(numbers[3:-1])
    return [value for value in once if value not in left_out]


def _floods(node: Node) -> bool:
    behind = {id(n) for b in _every(node) if isinstance(b, Back) for n in _every(b.part)}
    front = [n for n in _every(node) if isinstance(n, Simple) and id(n) not in behind]
    names = [word for n in front for word in n.words[:1]]
    waits = {"sleep", "wait", "read", "inotifywait", "usleep", "break"}
    return any(isinstance(n, Back) for n in _every(node)) and not waits & set(names)


def _every(node: Node) -> Iterator[Node]:
    yield node
    match node:
        case Pipe(parts) | Seq(parts):
            for part in parts:
                yield from _every(part)
        case Back(part) | Around(part):
            yield from _every(part)
        case Loop(body=body):
            yield from _every(body)


def judge_script(script: str, record: Record, cwd: str) -> None:
    """Judge a whole command; what was found is in ``record``."""
    Machine(record, cwd).judge(script)
