"""Checks a statement that changes data or structure, and finds the rows that it affects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Refused

from .lexer import join_tokens, tokenize
from .query_guard import DIALECTS, check_functions, functions_in, parse, rules_of

if TYPE_CHECKING:
    from sqlglot import exp

ALLOWED = (
    "INSERT, UPDATE, DELETE and MERGE, and CREATE, ALTER, DROP and TRUNCATE of tables, indexes and "
    "views"
)
_KINDS = frozenset({"TABLE", "INDEX", "VIEW", "COLUMN"})


@dataclass(frozen=True, slots=True)
class WriteStatement:
    """A statement that changes rows, or with ``structure`` tables, indexes and views.

    ``sql`` is what is sent. ``table`` is the changed table as written, ``target`` the same without
    an alias, and ``name`` its bare name. ``before`` is a query for the affected rows, empty if no
    single query finds them.
    """

    sql: str
    verb: str
    table: str
    name: str
    structure: bool
    before: str = ""
    target: str = ""


def check_write(engine: str, sql: str) -> WriteStatement:
    """Return the only statement in ``sql``.

    Raises:
        Refused: it is not a single statement of an allowed kind.
        ToolError: it is not a statement.
    """
    from sqlglot import exp

    tokens = tokenize(engine, sql)
    text = join_tokens(tokens)
    check_functions(engine, functions_in(tokens))
    for token in tokens:
        if token.upper in rules_of(engine).words - {"INTO"}:
            raise Refused(f"{token.upper} writes a file, which db_write does not do")
    roots = parse(engine, text)
    root: Any = roots[0] if roots is not None and len(roots) == 1 else None
    rows = isinstance(root, (exp.Insert, exp.Update, exp.Delete, exp.Merge))
    if not rows and not _is_structure(root):
        raise Refused(
            f"{tokens[0].raw[:20]} in this form is not for db_write, which runs one statement: "
            f"{ALLOWED}. A query goes through db_query"
        )
    _check_parts(root)
    table = next(iter(root.find_all(exp.Table)), None) if not rows else _target(root)
    written = table.sql(dialect=DIALECTS[engine]) if table is not None else "?"
    name = table.name if table is not None else ""
    bare = table.copy() if table is not None else None
    if bare is not None:
        bare.set("alias", None)
    target = bare.sql(dialect=DIALECTS[engine]) if bare is not None else "?"
    before = _before(engine, root)
    return WriteStatement(
        text, root.key.upper().replace("TABLE", ""), written, name, not rows, before, target
    )


def _is_structure(root: Any) -> bool:
    from sqlglot import exp

    if isinstance(root, exp.TruncateTable):
        return True
    if not isinstance(root, (exp.Create, exp.Alter, exp.Drop)):
        return False
    return str(root.args.get("kind") or "").upper() in _KINDS


def _check_parts(root: exp.Expression) -> None:
    from sqlglot import exp

    others = (exp.DML, exp.Command, exp.Into, exp.Lock, exp.Set, exp.Transaction, exp.Commit)
    for node in root.walk():
        if node is root or (isinstance(root, exp.Merge) and node.find_ancestor(exp.When)):
            continue
        if isinstance(node, others) and not isinstance(node, exp.Query):
            raise Refused(f"{node.key.upper()} inside of another statement; write one at a time")


def _target(root: exp.Expression) -> Any:
    """The table that the statement changes."""
    from sqlglot import exp

    this = root.this
    return this if isinstance(this, exp.Table) else this.find(exp.Table) if this else None


def _before(engine: str, root: Any) -> str:
    """A query for the rows that an UPDATE or DELETE of one table affects; else empty."""
    from sqlglot import exp

    if not isinstance(root, (exp.Update, exp.Delete)) or not isinstance(root.this, exp.Table):
        return ""
    several = ("from_", "from", "using", "tables", "with_", "with", "joins")
    if any(root.args.get(name) for name in several) or root.this.args.get("joins"):
        return ""
    found = exp.select("*").from_(root.this.copy())
    for name in ("where", "order", "limit"):
        if (part := root.args.get(name)) is not None:
            found.set(name, part.copy())
    return found.sql(dialect=DIALECTS[engine])
