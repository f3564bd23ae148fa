"""From a script to its simple commands, with the structure that tree-sitter-bash finds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING

from .expansion import Expansion
from .scanner import DOCUMENT_MARK, STRING_MARK, Scanned, Unreadable, scan
from .simple_command import UNKNOWN, Redirect, SimpleCommand, Word

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

MAX_COMMAND_CHARS = 100_000
"""Characters of a command that are read."""
MAX_STRUCTURE_CHARS = 6_000
"""Characters of a script without its quotes and documents: the time that the grammar needs grows
with the square of unmatched brackets."""
MAX_SCRIPT_DEPTH = 8
"""Scripts in scripts that are followed: substitutions, and what wrappers run."""
MAX_SIMPLE_COMMANDS = 500
"""Simple commands of one command that are listed."""
MAX_TREE_DEPTH = 100
"""Nested nodes that are visited."""
_ASCII = bytes(range(128)) + b"x" * 128
_BLANK = re.compile(rb"[\s;]*\Z")
_OPERATOR = re.compile(r"(\d*)(&>>|&>|>>|>\||>&|<&|<>|>|<)")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\[[^]]*\])?\+?=", re.ASCII)
_COMMANDS = {"command", "declaration_command", "unset_command", "variable_assignment"}
_COMMANDS |= {"variable_assignments"}
_LISTS = {"program", "list", "compound_statement", "do_group", "subshell", "negated_command"}
_LISTS |= {"if_statement", "elif_clause", "else_clause", "while_statement", "case_item"}
_REDIRECTS = {"file_redirect", "herestring_redirect", "heredoc_redirect"}


@dataclass(slots=True)
class ParsedCommand:
    """The simple commands of a command line.

    Attributes:
        commands: in the order in which they are written, those of substitutions before the command
            that they stand in.
        functions: the functions that are defined, with the number of times that each starts itself.
        unread: sentences about what could not be read.
    """

    commands: list[SimpleCommand] = field(default_factory=list)
    functions: dict[str, int] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)


def parse_command(script: str, depth: int = 0) -> ParsedCommand:
    """Return the simple commands of a script, as far as they can be read. Raises nothing."""
    parsed = ParsedCommand()
    if len(script) > MAX_COMMAND_CHARS or depth > MAX_SCRIPT_DEPTH:
        parsed.unread.append("it is too long" if depth == 0 else "it is nested too deeply")
        return parsed
    try:
        scanned = scan(script)
        if len(scanned.structure) > MAX_STRUCTURE_CHARS:
            raise Unreadable("it is too long")
        source = scanned.structure.encode("utf-8", "replace")
        tree = _grammar()(source.translate(_ASCII))
        _Reader(source, scanned, parsed, depth).visit(tree, frozenset(), 0)
    except Unreadable as reason:
        parsed.unread.append(str(reason))
    except RecursionError:
        parsed.unread.append("it is nested too deeply")
    if len(parsed.commands) > MAX_SIMPLE_COMMANDS:
        del parsed.commands[MAX_SIMPLE_COMMANDS:]
        parsed.unread.append("it has too many commands")
    return parsed


@cache
def _grammar() -> Callable[[bytes], Node]:
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    parser = Parser(Language(tree_sitter_bash.language()))
    return lambda source: parser.parse(source).root_node


@dataclass(slots=True)
class _Around:
    """What stands around a command: redirects, and the text of its standard input."""

    redirects: tuple[Redirect, ...] = ()
    stdin: str | None = None


class _Reader:
    """Visits the nodes of one script. Each visit returns the programs whose output it gives."""

    def __init__(self, source: bytes, scanned: Scanned, parsed: ParsedCommand, depth: int) -> None:
        self.source, self.scanned, self.parsed, self.depth = source, scanned, parsed, depth

    def text(self, node: Node) -> str:
        return self.slice(node.start_byte, node.end_byte)

    def slice(self, start: int, end: int) -> str:
        return self.source[start:end].decode("utf-8", "replace")

    def children(self, node: Node) -> Iterator[Node]:
        """The children; text between them that belongs to none is unread."""
        at = node.start_byte
        for child in node.children:
            self._check_gap(at, child.start_byte)
            at = child.end_byte
            yield child
        self._check_gap(at, node.end_byte if node.children else at)

    def _check_gap(self, start: int, end: int) -> None:
        if not _BLANK.match(self.source[start:end]):
            self.unread(self.slice(start, end))

    def unread(self, text: str) -> None:
        self.parsed.unread.append(f"{text.strip()[:40]!r} cannot be read")

    def visit(
        self, node: Node, given: frozenset[str], level: int, around: _Around | None = None
    ) -> frozenset[str]:
        """Read a node; ``given`` are the programs whose output it gets."""
        kind, around = node.type, around or _Around()
        if level > MAX_TREE_DEPTH:
            raise Unreadable("it is nested too deeply")
        if kind in _COMMANDS:
            return self.command(node, given, around, level)
        if kind == "pipeline":
            return self.pipeline(node, given, around, level)
        if kind == "redirected_statement":
            return self.redirected(node, given, around, level)
        if kind == "function_definition":
            return self.function(node, level)
        if kind in _LISTS:
            return self.sequence(node, given, around, level)
        if kind in ("for_statement", "c_style_for_statement", "case_statement", "test_command"):
            return self.compound(node, given, around, level)
        self.unread(self.text(node))
        for child in node.children:
            if child.type in _COMMANDS or child.type in _LISTS or child.type == "pipeline":
                self.visit(child, given, level + 1)
        return frozenset()

    def sequence(
        self, node: Node, given: frozenset[str], around: _Around, level: int
    ) -> frozenset[str]:
        gives: frozenset[str] = frozenset()
        begun = len(self.parsed.commands)
        if around.redirects:
            self.add(SimpleCommand((), around.redirects))
        for child in self.children(node):
            if child.type == "&":
                for at in range(begun, len(self.parsed.commands)):
                    command = self.parsed.commands[at]
                    self.parsed.commands[at] = replace(command, in_background=True)
            elif child.is_missing or child.type == "ERROR":
                gives |= self.visit(child, given, level + 1)
            elif child.is_named and not self.word_only(child):
                if child.type not in _REDIRECTS:
                    begun = len(self.parsed.commands)
                gives |= self.visit(child, given, level + 1, _Around((), around.stdin))
        return gives

    def word_only(self, node: Node) -> bool:
        """True for a word outside a command, as in a pattern of ``case``; its scripts are read."""
        if node.type in ("word", "number", "concatenation", "extglob_pattern", "regex"):
            self.expand(self.text(node))
            return True
        return False

    def compound(
        self, node: Node, given: frozenset[str], around: _Around, level: int
    ) -> frozenset[str]:
        """A loop over words, ``case`` or a test: substitutions in the words, and the bodies."""
        if node.has_error:
            self.unread(self.text(node))
        if around.redirects:
            self.add(SimpleCommand((), around.redirects))
        gives: frozenset[str] = frozenset()
        bodies = [c for c in node.children if c.type in _LISTS]
        head_end = bodies[0].start_byte if bodies else node.end_byte
        self.check_values(self.expand(self.slice(node.start_byte, head_end)))
        for body in bodies:
            gives |= self.visit(body, given, level + 1)
        return gives

    def pipeline(
        self, node: Node, given: frozenset[str], around: _Around, level: int
    ) -> frozenset[str]:
        parts = [child for child in self.children(node) if child.is_named]
        stdin = around.stdin
        for at, part in enumerate(parts):
            redirects = around.redirects if at == len(parts) - 1 else ()
            begun = len(self.parsed.commands)
            given = given | self.visit(part, given, level + 1, _Around(redirects, stdin))
            stdin = _written(self.parsed.commands[begun:])
        return given

    def function(self, node: Node, level: int) -> frozenset[str]:
        named = [child for child in node.children if child.is_named]
        if len(named) < 2 or node.has_error:
            self.unread(self.text(node))
            return frozenset()
        name, begun = self.text(named[0]), len(self.parsed.commands)
        for part in named[1:]:
            if part.type in _REDIRECTS:
                redirects, _, _ = self.redirect(part, level)
                self.add(SimpleCommand((), redirects))
            else:
                self.visit(part, frozenset(), level + 1)
        body = self.parsed.commands[begun:]
        own = [command for command in body if command.program == name]
        self.parsed.functions[name] = len(own) + sum(one.in_background for one in own)
        return frozenset()

    def redirected(
        self, node: Node, given: frozenset[str], around: _Around, level: int
    ) -> frozenset[str]:
        redirects, stdin, words = list(around.redirects), around.stdin, []
        body: Node | None = None
        for child in self.children(node):
            if child.type in _REDIRECTS:
                found, text, more = self.redirect(child, level)
                redirects += found
                stdin = text if text is not None else stdin
                words += more
            elif child.is_named and body is None:
                body = child
            elif child.type == "ERROR" or child.is_missing or child.is_named:
                self.unread(self.text(child))
        inner = _Around(tuple(redirects), stdin)
        if body is None:
            self.add(SimpleCommand(tuple(words), inner.redirects, input_from=given, stdin=stdin))
            return frozenset()
        begun = len(self.parsed.commands)
        gives = self.visit(body, given, level + 1, inner)
        if words and len(self.parsed.commands) > begun:  # words behind a redirect
            last = self.parsed.commands[-1]
            self.parsed.commands[-1] = replace(last, words=(*last.words, *words))
        return gives

    def redirect(
        self, node: Node, level: int
    ) -> tuple[tuple[Redirect, ...], str | None, list[Word]]:
        """The files, the text of standard input, and words that the grammar put behind them."""
        raw = self.text(node)
        operator = _OPERATOR.match(raw)
        if operator is None or node.has_error or node.type != "file_redirect":
            self.unread(raw)
            return (), None, []
        texts = raw[operator.end() :].split()
        target, rest = (texts[0] if texts else ""), texts[1:]
        words = [word for text in rest for word in self.expand(text)]
        if target.startswith(DOCUMENT_MARK):
            number = re.match(r"\d+", target[1:])
            if number is None or int(number[0]) >= len(self.scanned.documents):
                self.unread("a here-document")
                return (), "", words
            document = self.scanned.documents[int(number[0])]
            text = document.text if document.literal else self.read_double(document.text)
            return (), text, words
        if target.startswith(STRING_MARK):
            return (), " ".join(word.text for word in self.expand(target[1:])), words
        kind = operator[2]
        if kind in (">&", "<&") and (target.rstrip("-").isdigit() or target == "-"):
            return (), None, words
        writes = kind not in ("<", "<&")
        found = tuple(Redirect(word, writes) for word in self.expand(target))
        return found or (Redirect(Word(UNKNOWN), writes),), None, words

    def command(
        self, node: Node, given: frozenset[str], around: _Around, level: int
    ) -> frozenset[str]:
        if node.has_error:
            self.unread(self.text(node))
        raw: list[str] = []
        redirects, stdin, trailing = list(around.redirects), around.stdin, list[Word]()
        end = -1
        begun = len(self.parsed.commands)
        children = self.children(node) if node.children else iter((node,))
        for child in children:
            if child.type in _REDIRECTS:
                found, text, more = self.redirect(child, level)
                redirects += found
                stdin = text if text is not None else stdin
                trailing += more
            elif child.end_byte > child.start_byte:
                text = self.text(child)
                if child.start_byte == end and raw:
                    raw[-1] += text
                else:
                    raw.append(text)
                end = child.end_byte
        words, names, gives = self.words(raw, node.type)
        command = SimpleCommand((*words, *trailing), tuple(redirects), names, given | gives, stdin)
        self.add(command)
        inner = frozenset(one.program for one in self.parsed.commands[begun:-1])
        return frozenset({command.program}) | command.input_from | inner

    def words(
        self, raw: list[str], kind: str
    ) -> tuple[list[Word], tuple[str, ...], frozenset[str]]:
        """The words, the names of variables that are set, and the programs in substitutions."""
        begun = len(self.parsed.commands)
        names: list[str] = []
        while kind != "declaration_command" and raw and (found := _ASSIGNMENT.match(raw[0])):
            names.append(found[1])
            self.check_values(self.expand(raw.pop(0)))
        if kind == "declaration_command":
            names = [found[1] for text in raw[1:] if (found := _ASSIGNMENT.match(text))]
        words = [word for text in raw for word in self.expand(text)]
        gives = frozenset(command.program for command in self.parsed.commands[begun:])
        return words, tuple(names), gives

    def expand(self, raw: str) -> list[Word]:
        """The words that a word becomes; the scripts in it are parsed too."""
        return Expansion(self.scanned.pieces, self.read_script).words(raw)

    def check_values(self, words: list[Word]) -> None:
        """A value with a script in it runs the script where it is used as a number."""
        for word in words:
            if has_script(word.text):
                self.unread(word.text)

    def read_double(self, text: str) -> str:
        return Expansion(self.scanned.pieces, self.read_script).double(text)

    def read_script(self, script: str) -> str:
        """Parse the script of a substitution; what it writes, as far as that is literal."""
        inner = parse_command(script, self.depth + 1)
        self.parsed.commands += inner.commands
        self.parsed.functions |= inner.functions
        self.parsed.unread += inner.unread
        if len(self.parsed.commands) > MAX_SIMPLE_COMMANDS:
            raise Unreadable("it has too many commands")
        if inner.unread or len(inner.commands) != 1 or not _is_exact(inner.commands[0]):
            return UNKNOWN
        written = _written(inner.commands)
        return UNKNOWN if written is None else written.rstrip("\n")

    def add(self, command: SimpleCommand) -> None:
        if len(self.parsed.commands) > MAX_SIMPLE_COMMANDS:
            raise Unreadable("it has too many commands")
        if command.words or command.redirects or command.assignments:
            self.parsed.commands.append(command)


def has_script(text: str) -> bool:
    """True if a literal text would run a script where the shell evaluates it as a number."""
    return "$(" in text or "`" in text


def _is_exact(command: SimpleCommand) -> bool:
    """True if :func:`_written` returns to the letter what a command writes."""
    if command.program == "cat":
        return True
    plain = [one for one in command.arguments if not one.startswith("-") and "\\" not in one]
    return command.program == "echo" and len(plain) == len(command.arguments)


def _written(commands: Sequence[SimpleCommand]) -> str | None:
    """What the last of a pipeline's parts writes, if it is literal: a here-document or ``echo``."""
    if not commands:
        return None
    command = commands[-1]
    if any(redirect.writes for redirect in command.redirects):
        return None
    if command.program == "cat" and not command.arguments:
        return command.stdin
    if command.program in ("echo", "printf"):
        return " ".join(one for one in command.arguments if not one.startswith("-"))
    return None
