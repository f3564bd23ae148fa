"""Judges a statement as text: one statement, a query and nothing else, anywhere in it.

This is the first of several fences. It says no before a server is asked; what it lets through runs
where the engine itself refuses to write (:mod:`.engines`).
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

from .lexer import Token, joined, split

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

DIALECTS = {"sqlite": "sqlite", "duckdb": "duckdb", "postgres": "postgres", "mysql": "mysql"}
_KEYWORDS = frozenset(
    """
    ALL AND ANY AS BETWEEN BY CASE CAST CROSS DISTINCT ELSE EXCEPT EXISTS FILTER FROM FULL GROUP
    HAVING IN INNER INTERSECT IS JOIN LATERAL LEFT LIKE LIMIT MATERIALIZED NATURAL NOT OFFSET ON OR
    ORDER OUTER OVER PARTITION RECURSIVE RIGHT ROW ROWS SELECT SOME TABLE THEN UNION USING VALUES
    WHEN WHERE WINDOW WITH WITHIN
    """.split()  # noqa: SIM905 - a list of words would fill the screen
)
_EXPLAIN_WORDS = frozenset(
    ("ANALYZE", "ANALYSE", "VERBOSE", "EXTENDED", "PARTITIONS", "QUERY", "PLAN", "FORMAT")
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that only reads, as far as its text says.

    ``sql`` is what is sent; ``functions`` are the names that stand before a parenthesis, as they
    are written, and ``names`` all that could be one without; ``starter`` is its first word.
    ``inner`` is the query that an EXPLAIN is about, and empty otherwise.
    ``parsed`` is False where the parser does not know it: then only an engine that judges
    statements itself may run it.
    """

    sql: str
    starter: str
    functions: tuple[str, ...]
    names: tuple[str, ...]
    parsed: bool
    inner: str = ""


def judge(engine: str, sql: str) -> Statement:
    """Return the only statement in ``sql``.

    Raises:
        Refused: it is not one statement that only reads; the text says why.
        ToolError: it is no statement at all.
    """
    tokens = split(engine, sql)
    functions = functions_in(tokens)
    _check_words(engine, tokens)
    check_functions(engine, functions)
    parsed = _check(engine, tokens)
    names = dict.fromkeys(t.value for t in tokens if t.kind in ("word", "name"))
    starter = _starter(tokens)
    inner = joined(list(_explained(engine, tokens))) if starter == "EXPLAIN" else ""
    return Statement(joined(tokens), starter, functions, tuple(names), parsed, inner)


def _starter(tokens: Sequence[Token]) -> str:
    """The first word, whatever parentheses it stands in."""
    return next((token.upper for token in tokens if token.raw != "("), "")


def _check(engine: str, tokens: Sequence[Token]) -> bool:
    """Judge a statement by its first word; True if it was parsed or needs no parsing."""
    first = _starter(tokens)
    rules = _rules(engine)
    if first not in rules.starters:
        shown = first or tokens[0].raw[:20]
        raise Refused(
            f"{shown} is not a query; db_query runs one statement that only reads: "
            f"{', '.join(sorted(rules.starters))}. What changes something goes through db_write"
        )
    if first == "EXPLAIN" or (engine == "mysql" and first in ("DESCRIBE", "DESC")):
        inner = _explained(engine, tokens)
        return _check(engine, inner) if inner else True
    if first == "PRAGMA":
        _check_pragma(rules, tokens)
        return True
    if first == "SHOW" or (first in ("DESC", "DESCRIBE", "SUMMARIZE") and engine == "duckdb"):
        rest = tokens[1:]
        if rest and _starter(rest) in rules.starters and first != "SHOW":
            return _check(engine, rest)
        return True
    return _check_tree(engine, joined(list(tokens)))


def _explained(engine: str, tokens: Sequence[Token]) -> Sequence[Token]:
    """The statement that an EXPLAIN is about; empty where it is a table."""
    rest = list(tokens[1:])
    while rest:
        if rest[0].raw == "(" and not _is_query(rest):
            depth = 0
            for place, token in enumerate(rest):
                depth += {"(": 1, ")": -1}.get(token.raw, 0)
                if not depth:
                    rest = rest[place + 1 :]
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
    if engine == "mysql" and _starter(rest) not in _rules(engine).starters:
        form = "".join("." if token.raw == "." else token.kind[0] for token in rest)
        if re.fullmatch(r"[wn](\.[wn])?[wnt]?", form):
            return []  # DESCRIBE table [column]
        raise Refused(f"EXPLAIN of {rest[0].raw[:20]} is not run: only queries are explained")
    return rest


def _is_query(tokens: Sequence[Token]) -> bool:
    return _starter(tokens) in ("SELECT", "WITH", "VALUES", "TABLE", "FROM")


def _check_pragma(rules: Rules, tokens: Sequence[Token]) -> None:
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
    raise Refused(f"PRAGMA {name[:40]} in this form may change something; these only tell: {known}")


def functions_in(tokens: Sequence[Token]) -> tuple[str, ...]:
    """The names that stand before a parenthesis."""
    found: dict[str, None] = {}
    for token, after in pairwise(tokens):
        named = token.kind == "name" or (token.kind == "word" and token.upper not in _KEYWORDS)
        if named and after.raw == "(":
            found[token.value] = None
    return tuple(found)


def _check_words(engine: str, tokens: Iterable[Token]) -> None:
    forbidden = _rules(engine).words
    before = ""
    for token in tokens:
        if token.upper in forbidden and before != ".":
            raise Refused(f"{token.upper} in a query writes its result somewhere")
        if engine == "mysql" and before == ":" and token.raw == "=" and not token.spaced:
            raise Refused(":= sets a variable")
        before = token.raw


def check_functions(engine: str, functions: Iterable[str]) -> None:
    """Raise ``Refused`` for a function that acts, waits, or reads what is not in the tables."""
    rule = _rules(engine).functions
    for name in functions:
        if rule.fullmatch(name.upper()):
            raise Refused(
                f"the function {name[:60]}() does more than compute: it acts, waits, or reads what "
                "is not in the tables"
            )


def _check_tree(engine: str, sql: str) -> bool:
    """Look at every node of the parsed statement; False if it cannot be parsed."""
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
    return [one for one in found if one is not None]


@dataclass(frozen=True, slots=True)
class Rules:
    """What ``rules.yaml`` says of one engine."""

    starters: frozenset[str]
    words: frozenset[str]
    pragmas_named: frozenset[str]
    pragmas_bare: frozenset[str]
    functions: re.Pattern[str]
    volatile: re.Pattern[str]


@functools.cache
def _rules(engine: str) -> Rules:
    text = Path(__file__).with_name("rules.yaml").read_text(encoding="utf-8")
    data: Mapping[str, Mapping[str, Any]] = yaml.load(text, Loader=yaml.CSafeLoader)
    every, own = data["every"], data[engine]
    pragmas = own.get("pragmas", {})
    return Rules(
        frozenset(every["starters"] + own["starters"]),
        frozenset(every["words"] + own.get("words", [])),
        frozenset(pragmas.get("named", ())),
        frozenset(pragmas.get("bare", ())),
        _patterns(own["functions"]),
        _patterns(own.get("volatile", ())),
    )


rules_of = _rules


def _patterns(names: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(translate(name.upper()) for name in names) or r"(?!)")
