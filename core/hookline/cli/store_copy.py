"""Copy everything to another store and verify the copy.

``hookline store copy``.
"""

from __future__ import annotations

import asyncio
import json as jsonlib
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from hookline.home import find_home
from hookline.store.copy.copier import CopyResult, StoreCopier
from hookline.store.copy.store_address import store_at

STORE_HELP = "A store: sqlite, a path or a postgresql:// address."


def copy_store(
    source: Annotated[str, typer.Argument(metavar="FROM", help=STORE_HELP)],
    target: Annotated[str, typer.Argument(metavar="TO", help=STORE_HELP)],
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Copy everything to another store and verify the copy.

    FROM is not changed, and TO must be empty. To continue an interrupted copy, run the same
    command again.
    """
    home = find_home()
    both = store_at(source, home), store_at(target, home)
    result = asyncio.run(
        StoreCopier(*both, home, lambda text: None if json else typer.echo(text)).run()
    )
    places = [str(store.location()) for store in both]
    typer.echo(jsonlib.dumps(_as_dict(result, *places)) if json else _summary(result, *places))


def _as_dict(result: CopyResult, source: str, target: str) -> Mapping[str, Any]:
    tables = {name: {"rows": one.rows, "sha256": one.sha} for name, one in result.sums.items()}
    return {"from": source, "to": target, "was_equal": result.was_equal, "tables": tables}


def _summary(result: CopyResult, source: str, target: str) -> str:
    rows = sum(one.rows for one in result.sums.values())
    what = f"{_count_text(rows, 'row')} of {_count_text(len(result.sums), 'table')}"
    if result.was_equal:
        return f"{target} is already identical to {source}: {what}."
    done = f"Copied {what} from {source} to {target}. The hashes of all tables match."
    if "://" not in target:
        return f"{done} With `store: sqlite`, a home uses its file hookline.db."
    return f"{done} To use it, set `store: {target}` in config.yaml, with the password."


def _count_text(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
