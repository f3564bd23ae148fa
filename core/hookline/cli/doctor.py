"""``hookline doctor``."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Check, CommandError

from .shared import FAILED, Json, out, out_json, with_runtime

if TYPE_CHECKING:
    from hookline.runtime import Runtime


def doctor(json: Json = False) -> None:
    """Check the installation; each failing check says how to mend it."""

    async def work(runtime: Runtime) -> list[dict[str, Any]]:
        rows = []
        for plugin, check in runtime.bus.registered(Check):
            try:
                made = check.run()
                result: Any = await made if inspect.isawaitable(made) else made
                row = {"ok": result.ok or result.hint, "detail": result.detail, "fix": result.fix}
            except (Exception, SystemExit) as error:
                row = {"ok": False, "detail": f"the check failed: {error}", "fix": "see the log"}
            rows.append({"name": check.name, "plugin": plugin, **row})
        return rows

    try:
        rows = with_runtime(work)
    except CommandError as error:
        first = {"name": "start", "plugin": "core", "ok": False, "detail": error.text}
        if json:
            out_json([{**first, "fix": "mend this first; nothing else could be checked"}])
        raise
    if json:
        out_json(rows)
    else:
        for row in rows:
            fix = f" → {row['fix']}" if row["fix"] else ""
            mark = "ok  " if row["ok"] else "FAIL"
            out(f"{mark} {row['plugin']}: {row['name']}: {row['detail']}{fix}")
    if not all(row["ok"] for row in rows):
        raise SystemExit(FAILED)
