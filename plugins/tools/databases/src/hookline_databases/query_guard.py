"""Checks that a text is a single statement that only reads.

This is the first of several guards. Whatever it allows still runs in a session in which the engine
itself refuses to write (:mod:`.engines`).
"""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from hookline_hookspecs import Refused, ToolError

from .lexer import SqlToken, join_tokens, tokenize

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

DIALECTS = {"sqlite": "sqlite", "duckdb": "duckdb", "postgres": "postgres", "mysql": "mysql"}
_KEYWORDS = frozenset(
    """
    ALL AND ANY AS BETWEEN BY CASE CAST CROSS DISTINCT ELSE EXCEPT EXISTS FILTER FROM FULL GROUP
    HAVING IN INNER INTERSECT IS JOIN LATERAL LEFT LIKE LIMIT MATERIALIZED NATURAL NOT OFFSET ON OR
    ORDER OUTER OVER PARTITION RECURSIVE RIGHT ROW ROWS SELECT SOME TABLE THEN UNION USING VALUES
    WHEN WHERE WINDOW WITH WITHIN
    """.split()  # noqa: SIM905 - shorter than a list
)
_EXPLAIN_WORDS = frozenset(
    ("ANALYZE", "ANALYSE", "VERBOSE", "EXTENDED", "PARTITIONS", "QUERY", "PLAN", "FORMAT")
)


@dataclass(frozen=True, slots=True)
class ReadStatement:
    """A statement that only reads, as far as its text says.

    ``sql`` is what is sent. ``functions`` are the names before a parenthesis, ``names`` all other
    names, which could be functions too. ``starter`` is the first word. ``inner`` is the query
    inside an EXPLAIN, else empty. ``parsed`` is False if the parser does not understand it; then
    only an engine that checks statements itself may run it.
    """

    sql: str
    starter: str
    functions: tuple[str, ...]
    names: tuple[str, ...]
    parsed: bool
    inner: str = ""


def check_query(engine: str, sql: str) -> ReadStatement:
    """Return the only statement in ``sql``.

    Raises:
        Refused: it is not a single statement that only reads; the message says why.
        ToolError: it is not a statement.
    """
    tokens = tokenize(engine, sql)
    functions = functions_in(tokens)
    _check_words(engine, tokens)
    check_functions(engine, functions)
    parsed = _check_statement(engine, tokens)
    names = dict.fromkeys(t.value for t in tokens if t.kind in ("word", "name"))
    starter = _first_word(tokens)
    inner = join_tokens(list(_explained_statement(engine, tokens))) if starter == "EXPLAIN" else ""
    return ReadStatement(join_tokens(tokens), starter, functions, tuple(names), parsed, inner)


def _first_word(tokens: Sequence[SqlToken]) -> str:
    """The first word, skipping opening parentheses."""
    return next((token.upper for token in tokens if token.raw != "("), "")


def _check_statement(engine: str, tokens: Sequence[SqlToken]) -> bool:
    """Check a statement by its first word. True if it was parsed or needs no parsing."""
    first = _first_word(tokens)
    rules = rules_of(engine)
    if first not in rules.starters:
        shown = first or tokens[0].raw[:20]
        raise Refused(
            f"{shown} is not a query; db_query runs one statement that only reads: "
            f"{', '.join(sorted(rules.starters))}. What changes something goes through db_write"
        )
    if first == "EXPLAIN" or (engine == "mysql" and first in ("DESCRIBE", "DESC")):
        inner = _explained_statement(engine, tokens)
        return _check_statement(engine, inner) if inner else True
    if first == "PRAGMA":
        _check_pragma(rules, tokens)
        return True
    if first == "SHOW" or (first in ("DESC", "DESCRIBE", "SUMMARIZE") and engine == "duckdb"):
        rest = tokens[1:]
        if rest and _first_word(rest) in rules.starters and first != "SHOW":
            return _check_statement(engine, rest)
        return True
    return _check_tree(engine, join_tokens(list(tokens)))


def _explained_statement(engine: str, tokens: Sequence[SqlToken]) -> Sequence[SqlToken]:
    """The statement inside an EXPLAIN; empty if it describes a table."""
    rest = list(tokens[1:])
    while rest:
        if rest[0].raw == "(" and not _is_query(rest):
            depth = 0
            for position, token in enumerate(rest):
                depth += {"(": 1, ")": -1}.get(token.raw, 0)
                if not depth:
                    rest = rest[position + 1 :]
                    break
            else:
                raise ToolError("a parenthesis is not closed")
        elif rest[0].upper == "FORMAT" and len(rest) > 2 and rest[1].raw == "=":
            rest = rest[3:]
        elif rest[0].upper in _EXPLAIN_WORDS:
            rest = rest[1:]
        else:
            break
    if not rest:
        raise ToolError("EXPLAIN needs a query after it")
    if engine == "mysql" and _first_word(rest) not in rules_of(engine).starters:
        form = "".join("." if token.raw == "." else token.kind[0] for token in rest)
        if re.fullmatch(r"[wn](\.[wn])?[wnt]?", form):
            return []  # DESCRIBE table [column]
        raise Refused(f"EXPLAIN of {rest[0].raw[:20]} is not run: only queries are explained")
    return rest


def _is_query(tokens: Sequence[SqlToken]) -> bool:
    return _first_word(tokens) in ("SELECT", "WITH", "VALUES", "TABLE", "FROM")


def _check_pragma(rules: StatementRules, tokens: Sequence[SqlToken]) -> None:
    words = [token for token in tokens[1:] if token.raw != ";"]
    if len(words) > 2 and words[1].raw == ".":  # PRAGMA main.table_info(t)
        words = words[2:]
    name = words[0].value.lower() if words else ""
    if len(words) == 1 and name in rules.pragmas_bare | rules.pragmas_named:
        return
    inside = words[2:-1]
    held = len(words) == 4 and words[1].raw == "(" and words[3].raw == ")"
    if (
        held
        and name in rules.pragmas_named
        and inside[0].kind in ("word", "name", "text", "number")
    ):
        return
    known = ", ".join(sorted(rules.pragmas_bare | rules.pragmas_named))
    raise Refused(f"PRAGMA {name[:40]} in this form may change something; these only read: {known}")


def functions_in(tokens: Sequence[SqlToken]) -> tuple[str, ...]:
    """The names before a parenthesis."""
    found: dict[str, None] = {}
    for token, after in pairwise(tokens):
        named = token.kind == "name" or (token.kind == "word" and token.upper not in _KEYWORDS)
        if named and after.raw == "(":
            found[token.value] = None
    return tuple(found)


def _check_words(engine: str, tokens: Iterable[SqlToken]) -> None:
    forbidden = rules_of(engine).words
    before = ""
    for token in tokens:
        if token.upper in forbidden and before != ".":
            raise Refused(f"{token.upper} in a query writes its result somewhere")
        if engine == "mysql" and before == ":" and token.raw == "=" and not token.spaced:
            raise Refused(":= sets a variable")
        before = token.raw


def check_functions(engine: str, functions: Iterable[str]) -> None:
    """Raise ``Refused`` for a function that acts, waits, or reads outside of the tables."""
    rule = rules_of(engine).functions
    for name in functions:
        if rule.fullmatch(name.upper()):
            raise Refused(
                f"the function {name[:60]}() does more than compute: it acts, waits, or reads what "
                "is not in the tables"
            )


def _check_tree(engine: str, sql: str) -> bool:
    """Check every node of the parsed statement. False if it cannot be parsed."""
    roots = parse(engine, sql)
    if roots is None:
        return False
    if len(roots) != 1:
        raise Refused("one statement at a time; these are several")
    from sqlglot import exp

    root = roots[0]
    queries = (exp.Query, exp.Values, exp.Table, exp.Pivot, exp.Describe, exp.Summarize, exp.Show)
    if not isinstance(root, queries):
        if isinstance(root, exp.Command):
            return False
        raise Refused(
            f"{root.key.upper()} is not a query; what changes something goes through db_write"
        )
    writes = (
        *(exp.DML, exp.DDL, exp.Into, exp.Command, exp.Set, exp.Use, exp.Transaction, exp.Commit),
        *(exp.Rollback, exp.Kill, exp.Attach, exp.Detach, exp.Alter, exp.Drop, exp.NextValueFor),
    )
    for node in root.walk():
        if isinstance(node, exp.DDL) and isinstance(node, exp.Query):
            continue
        if isinstance(node, exp.Lock):
            raise Refused("FOR UPDATE and FOR SHARE lock rows; leave them out")
        if isinstance(node, writes):
            raise Refused(f"{node.key.upper()} inside of a query changes something")
        if isinstance(node, exp.CTE) and not isinstance(
            node.this, (exp.Query, exp.Values, exp.Table)
        ):
            raise Refused(f"WITH may hold queries only, not {node.this.key.upper()}")
    return True


def parse(engine: str, sql: str) -> list[Expr] | None:
    """Return the statements of ``sql``, or None if the parser cannot read it."""
    import sqlglot
    from sqlglot.errors import SqlglotError

    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    try:
        found = sqlglot.parse(sql, read=DIALECTS[engine])
    except (SqlglotError, RecursionError, ValueError, KeyError, AttributeError, TypeError):
        return None
    return [token for token in found if token is not None]


@dataclass(frozen=True, slots=True)
class StatementRules:
    """The rules of one engine from ``rules.yaml``."""

    starters: frozenset[str]
    words: frozenset[str]
    pragmas_named: frozenset[str]
    pragmas_bare: frozenset[str]
    functions: re.Pattern[str]
    volatile: re.Pattern[str]


@functools.cache
def rules_of(engine: str) -> StatementRules:
    text = Path(__file__).with_name("rules.yaml").read_text(encoding="utf-8")
    data: Mapping[str, Mapping[str, Any]] = yaml.load(text, Loader=yaml.CSafeLoader)
    common_rules, engine_rules = data["every"], data[engine]
    pragmas = engine_rules.get("pragmas", {})
    return StatementRules(
        frozenset(common_rules["starters"] + engine_rules["starters"]),
        frozenset(common_rules["words"] + engine_rules.get("words", [])),
        frozenset(pragmas.get("named", ())),
        frozenset(pragmas.get("bare", ())),
        _patterns(engine_rules["functions"]),
        _patterns(engine_rules.get("volatile", ())),
    )


def _patterns(names: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(translate(name.upper()) for name in names) or r"(?!)")
