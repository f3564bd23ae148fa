"""From the text of a script to a small tree of commands.

tree-sitter-bash finds the structure (commands, pipelines, redirects, functions, loops); words stay
as they were written and are unquoted by ``words``. Whatever it could not read becomes
:class:`Broken`, so that nothing is skipped silently.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from .heredocs import DOCUMENT, STRING, Bare, take_out

if TYPE_CHECKING:
    from tree_sitter import Node as Tree


@dataclass(frozen=True, slots=True)
class Redirect:
    """``op`` as written, ``target`` a raw word. A here-document's text is ``body``; it is
    expanded unless ``literal``. ``number`` is the descriptor in front, if there is one."""

    op: str
    target: str = ""
    body: str | None = None
    literal: bool = False
    number: str = ""


@dataclass(frozen=True, slots=True)
class Simple:
    """Words as written, assignments first, and redirects."""

    words: tuple[str, ...]
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class Pipe:
    """Parts whose output flows into the next."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Seq:
    """Parts one after another. ``conditional``: each may run or not."""

    parts: tuple[Node, ...]
    conditional: bool = False


@dataclass(frozen=True, slots=True)
class Back:
    """A part that runs in the background."""

    part: Node


@dataclass(frozen=True, slots=True)
class Function:
    """A definition; nothing runs."""

    name: str
    body: Node


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop of ``name`` over raw ``words``, or over the arguments where that is None; without a
    name it repeats until a condition changes, and ``endless`` when that is constant."""

    name: str
    words: tuple[str, ...] | None
    body: Node
    endless: bool = False


@dataclass(frozen=True, slots=True)
class Around:
    """A compound command with redirects; ``subshell`` keeps its changes to itself."""

    body: Node
    redirects: tuple[Redirect, ...] = ()
    subshell: bool = False


@dataclass(frozen=True, slots=True)
class Text:
    """A test or arithmetic: only the substitutions in it run."""

    raw: str


@dataclass(frozen=True, slots=True)
class Broken:
    """What could not be read."""

    raw: str


Node: TypeAlias = Simple | Pipe | Seq | Back | Function | Loop | Around | Text | Broken


@cache
def _parse() -> Callable[[bytes], Tree]:
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    parser = Parser(Language(tree_sitter_bash.language()))
    return lambda source: parser.parse(source.translate(_ASCII)).root_node


_ASCII = bytes(range(128)) + b"x" * 128
"""What lies beyond ASCII is part of a word to bash. The grammar's scanner is not shown it: some of
it crashes the process (tree-sitter-bash 0.25). Offsets stay, and words are cut from the source."""


def warm_up() -> None:
    """Load the grammar now rather than at the first command."""
    _parse()(b":")


LONGEST = 10_000
"""Characters of a script that are parsed, here-documents and quoted pieces not counted: the grammar
needs time that grows with the square of unmatched brackets."""


class TooLong(Exception):
    """A script that is longer than what is read."""


_COPROCESS = re.compile(
    r"(?<![\w./-])coproc\s+(?:[A-Za-z_]\w*\s+)?(?=[{(]|(?:while|until|for|if|case|select)\s)"
)
"""The grammar does not know ``coproc`` before a compound command; ``!`` it knows."""


def parse(text: str) -> Node:
    """The tree of a script.

    Raises:
        TooLong: more than :data:`LONGEST` characters; for nothing else that is written in it.
    """
    bare = take_out(text)
    if "coproc" in bare.script:
        bare.script = _COPROCESS.sub("! ", bare.script)
    if len(bare.script) > LONGEST:
        raise TooLong
    source = bare.script.encode("utf-8", "replace")
    return _Reader(source, bare).node(_parse()(source))


_LIST = {"program", "compound_statement", "do_group", "if_statement", "elif_clause"}
_LIST |= {"else_clause", "case_statement", "case_item", "list"}
_CONDITIONAL = {"if_statement", "elif_clause", "else_clause", "case_statement", "case_item"}
_COMMAND = {"command", "declaration_command", "unset_command"}
_COMMAND |= {"variable_assignment", "variable_assignments"}
_REDIRECT = {"file_redirect", "herestring_redirect", "heredoc_redirect"}
_WORDS = {"word", "string", "raw_string", "concatenation", "number", "extglob_pattern", "regex"}
_WORDS |= {"simple_expansion", "expansion", "command_substitution", "ansi_c_string"}
_WORDS |= {"translated_string", "brace_expression", "process_substitution", "variable_name"}
_WORDS |= {"arithmetic_expansion", "array", "subscript", "special_variable_name"}
_ENDLESS = re.compile(
    r"while\s+(:|(/usr)?(/bin/)?true|\[+\s*(1|true)\s*\]+|\(\(\s*1\s*\)\)|!\s*false)\s*[;\n]"
    r"|until\s+((/usr)?(/bin/)?false|\(\(\s*0\s*\)\)|!\s*true)\s*[;\n]"
)
_BLANK = re.compile(rb"(?:\s|\\\r?\n)*\Z")
_PLAIN = re.compile(r"[\w./:@%+=,^-]+")
_WRITE_OP = re.compile(r"(\d*)(&>>|&>|>>|>\||>&|<&|<>|>|<)")


@dataclass(slots=True)
class _Found:
    """What stands beside a command: its redirects, raw words, and nodes that follow it."""

    redirects: list[Redirect] = field(default_factory=list)
    words: list[Tree] = field(default_factory=list)
    rest: list[Node] = field(default_factory=list)


@dataclass
class _Reader:
    source: bytes
    bare: Bare
    gaps: list[str] = field(default_factory=list)

    def text(self, tree: Tree) -> str:
        return self.slice(tree.start_byte, tree.end_byte)

    def slice(self, start: int, end: int) -> str:
        """A part of the script as it was written."""
        return self.bare.restore(self.source[start:end].decode("utf-8", "replace"))

    def node(self, tree: Tree) -> Node:
        kind = tree.type
        if kind in _COMMAND:
            return self.command(tree)
        if kind in _LIST:
            return self.sequence(tree)
        special = getattr(self, kind, None) if kind in _SPECIAL else None
        if special is not None:
            result: Node = special(tree)
            return result
        return Broken(self.text(tree))

    def children(self, tree: Tree) -> Iterator[Tree]:
        """The children, and a complaint about text that belongs to none of them."""
        at = tree.start_byte
        for child in tree.children:
            if not _BLANK.match(self.source[at : child.start_byte]):
                self.gaps.append(self.slice(at, child.start_byte))
            at = child.end_byte
            yield child

    def sequence(self, tree: Tree) -> Node:
        parts: list[Node] = []
        for child in self.children(tree):
            if child.type == "&" and parts:
                parts[-1] = Back(parts[-1])
            elif child.is_missing or child.type == "ERROR":
                parts.append(self.ERROR(child))
            elif not child.is_named or child.type == "comment":
                continue
            elif child.type in _WORDS or child.type == "extglob_pattern":
                parts.append(Text(self.text(child)))
            else:
                parts.append(self.node(child))
        parts.extend(Broken(gap) for gap in self.gaps)
        self.gaps.clear()
        branching = tree.type in _CONDITIONAL or _has(tree, "||") or _has(tree, "&&")
        return parts[0] if len(parts) == 1 and not branching else Seq(tuple(parts), branching)

    def pipeline(self, tree: Tree) -> Node:
        parts = [c for c in self.children(tree) if c.is_named and c.type != "comment"]
        return Pipe(tuple(self.node(part) for part in parts))

    def negated_command(self, tree: Tree) -> Node:
        return Seq(tuple(self.node(c) for c in self.children(tree) if c.is_named))

    def subshell(self, tree: Tree) -> Node:
        return Around(self.sequence(tree), subshell=True)

    def function_definition(self, tree: Tree) -> Node:
        named = [c for c in tree.children if c.is_named and c.type != "comment"]
        redirects = tuple(r for c in named[2:] if c.type in _REDIRECT for r in self.redirect(c)[0])
        if len(named) < 2:
            return Broken(self.text(tree))
        body = self.node(named[1])
        return Function(self.text(named[0]), Around(body, redirects) if redirects else body)

    def for_statement(self, tree: Tree) -> Node:
        named = [c for c in self.children(tree) if c.is_named and c.type != "comment"]
        if not named or _has(tree, "ERROR"):
            return Broken(self.text(tree))
        words = tuple(self.words(named[1:-1]))
        listed = words if _has(tree, "in") else None
        return Loop(self.text(named[0]), listed, self.node(named[-1]))

    def while_statement(self, tree: Tree) -> Node:
        body = self.sequence(tree)
        head = self.text(tree).split("do", 1)[0]
        return Loop("", None, body, endless=bool(_ENDLESS.search(head)))

    def c_style_for_statement(self, tree: Tree) -> Node:
        body = [c for c in tree.children if c.type in ("do_group", "compound_statement")]
        head = self.source[tree.start_byte : body[-1].start_byte] if body else b""
        if not body:
            return Broken(self.text(tree))
        inside = self.bare.restore(head.decode("utf-8", "replace"))
        parts = (Text(inside), self.node(body[-1]))
        return Loop("", None, Seq(parts), endless=bool(re.search(r";\s*(1|true)?\s*;", inside)))

    def test_command(self, tree: Tree) -> Node:
        return Broken(self.text(tree)) if tree.has_error else Text(self.text(tree))

    arithmetic_expansion = binary_expression = unary_expression = test_command
    postfix_expression = parenthesized_expression = ternary_expression = test_command

    def comment(self, tree: Tree) -> Node:
        return Seq(())

    def ERROR(self, tree: Tree) -> Node:
        inner = [self.node(c) for c in tree.children if c.type in _READABLE]
        return Seq((Broken(self.text(tree)), *inner))

    def command(self, tree: Tree) -> Node:
        if tree.type != "command" and _has(tree, "ERROR"):
            return Broken(self.text(tree))
        found = _Found()
        since = len(self.gaps)
        for child in self.gather(tree, found):
            if child.type == "subshell":
                found.rest.append(self.node(child))
            else:
                found.words.append(child)
        words = (*self.words(found.words), *self.gap_words(since))
        simple = Simple(words, tuple(found.redirects))
        return Seq((simple, *found.rest)) if found.rest else simple

    def gather(self, tree: Tree, found: _Found) -> Iterator[Tree]:
        """Put redirects and errors among the children into ``found``; the other children."""
        for child in self.children(tree):
            if child.type in _REDIRECT:
                redirects, words, rest = self.redirect(child)
                found.redirects.extend(redirects)
                found.words.extend(words)
                found.rest.extend(rest)
            elif child.type == "ERROR" and _PLAIN.fullmatch(self.text(child)):
                found.words.append(child)
            elif child.type == "ERROR" or child.is_missing:
                found.rest.append(self.ERROR(child))
            else:
                yield child

    def gap_words(self, since: int) -> tuple[str, ...]:
        """Plain words that the grammar swallowed without a node (a lone ``-``)."""
        found = self.gaps[since:]
        del self.gaps[since:]
        words = tuple(gap.strip() for gap in found)
        self.gaps.extend(w for w in words if not _PLAIN.fullmatch(w))
        return tuple(w for w in words if _PLAIN.fullmatch(w))

    def words(self, trees: list[Tree]) -> Iterator[str]:
        """The raw words; what touches is one word, whatever the grammar made of it."""
        start = end = -1
        for tree in [t for t in trees if t.end_byte > t.start_byte]:
            if tree.start_byte != end and end >= 0:
                yield self.slice(start, end)
            if tree.start_byte != end:
                start = tree.start_byte
            end = tree.end_byte
        if end >= 0:
            yield self.slice(start, end)

    def redirected_statement(self, tree: Tree) -> Node:
        body: Node = Simple(())
        found = _Found()
        since = len(self.gaps)
        for child in self.gather(tree, found):
            if child.is_named:
                body = self.node(child)
        words = (*self.words(found.words), *self.gap_words(since))
        return _continued(attach(body, tuple(found.redirects), words), found.rest)

    def redirect(self, tree: Tree) -> tuple[list[Redirect], list[Tree], list[Node]]:
        """Redirects, words that follow and belong to the command, and what comes after it."""
        if tree.type != "file_redirect":
            return [], [], [Broken(self.text(tree))]
        named = [c for c in tree.children if c.is_named and c.type in _WORDS]
        errors: list[Node] = [Broken(self.text(tree))] if tree.has_error else []
        op = _WRITE_OP.match(self.text(tree))
        first: list[Tree] = []
        for child in named:
            if first and child.start_byte != first[-1].end_byte:
                break
            first.append(child)
        target = "".join(self.text(c) for c in first)
        found = self.marked(target) or Redirect(op[2] if op else ">", target)
        return [replace(found, number=op[1] if op else "")], named[len(first) :], errors

    def marked(self, target: str) -> Redirect | None:
        """The here-document or here-string that a marked word stands for."""
        if target.startswith(STRING):
            return Redirect("<<<", target[1:])
        if target.startswith(DOCUMENT):
            mark = re.match(r"\d+", target[1:])
            if mark is None or int(mark[0]) >= len(self.bare.documents):
                return None  # of a text around this one that could not be read
            if len(mark[0]) + 1 < len(target):  # the parser took more than the mark for the word
                self.gaps.append(target[1 + len(mark[0]) :])
            document = self.bare.documents[int(mark[0])]
            return Redirect("<<", "", document.body, document.literal)
        return None


def attach(body: Node, redirects: tuple[Redirect, ...], words: tuple[str, ...] = ()) -> Node:
    """``body`` with redirects on the command they belong to, the last of a list or pipeline."""
    match body:
        case Simple():
            return replace(body, words=body.words + words, redirects=(*body.redirects, *redirects))
        case Pipe(parts) if parts:
            return Pipe((*parts[:-1], attach(parts[-1], redirects, words)))
        case Seq(parts) if parts and not isinstance(parts[-1], Broken):
            return replace(body, parts=(*parts[:-1], attach(parts[-1], redirects, words)))
        case Around():
            return replace(body, redirects=(*body.redirects, *redirects))
        case _:
            return Around(body, redirects)


def _continued(body: Node, rest: list[Node]) -> Node:
    """``body`` and what stands behind its here-document's operator on the same line."""
    for node in rest:
        if not isinstance(node, Pipe):
            body = Seq((body, node))
        elif isinstance(body, Seq) and body.parts:
            last = Pipe((body.parts[-1], *node.parts))
            body = replace(body, parts=(*body.parts[:-1], last))
        elif isinstance(body, Pipe):
            body = Pipe((*body.parts, *node.parts))
        else:
            body = Pipe((body, *node.parts))
    return body


def _has(tree: Tree, kind: str) -> bool:
    return any(child.type == kind for child in tree.children)


_SPECIAL = {
    *("pipeline", "negated_command", "subshell", "function_definition", "for_statement"),
    "while_statement",
    *("c_style_for_statement", "test_command", "arithmetic_expansion", "binary_expression"),
    *("unary_expression", "postfix_expression", "parenthesized_expression", "comment"),
    *("ternary_expression", "ERROR", "redirected_statement"),
}
_READABLE = _SPECIAL | _COMMAND | _LIST
