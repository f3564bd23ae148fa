"""``hookline hooks``, ``prompt`` and ``doctor``."""

from __future__ import annotations

import difflib
import inspect
import json as jsonlib
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .shared import FAILED, Json, out, out_json, stop, table, with_runtime

if TYPE_CHECKING:
    from hookline_hookspecs import ToolSchema

    from hookline.prompt import StablePrompt
    from hookline.runtime import Runtime


def hooks(
    name: Annotated[str | None, typer.Argument(help="Only this hook.")] = None, json: Json = False
) -> None:
    """Every hook: kind, deadline and who implements it, in the order of the calls."""

    async def work(runtime: Runtime) -> list[dict[str, Any]]:
        from hookline_hookspecs import HOOKS

        if name is not None and name not in HOOKS:
            near = difflib.get_close_matches(name, HOOKS, 1)
            stop(f"there is no hook {name}" + (f"; did you mean {near[0]}?" if near else ""))
        return [
            {
                "name": spec.name,
                "kind": spec.kind,
                "deadline": spec.deadline,
                "impls": [i.plugin for i in runtime.bus.implementations(spec.name)],
            }
            for spec in HOOKS.values()
            if name in (None, spec.name)
        ]

    rows = with_runtime(work)
    if json:
        out_json(rows)
        return
    cells = [
        [
            r["name"],
            r["kind"],
            f"{r['deadline']:g} s" if r["deadline"] else "none",
            " ".join(r["impls"]),
        ]
        for r in rows
    ]
    out(table([["hook", "kind", "deadline", "implemented by"], *cells]))


def prompt(
    session: Annotated[str | None, typer.Option(help="The stored prompt of a session.")] = None,
    json: Json = False,
) -> None:
    """The exact stable prompt and tools, and what each plugin's part costs."""

    async def work(runtime: Runtime) -> dict[str, Any]:
        return _described(await _stable(runtime, session), runtime)

    found = with_runtime(work)
    if json:
        out_json(found)
        return
    out(found["system"])
    rows = [[p["plugin"], p["section"], p["chars"], p["tokens"]] for p in found["by_plugin"]]
    out("\n" + table([["plugin", "section", "characters", "tokens"], *rows]))
    sums = found["tokens"]
    out(
        f"\nsystem {sums['system']} + tools {sums['tools']} = {sums['total']} tokens "
        "(characters / 4)"
    )
    out(f"SHA-256 system {found['sha256']['system']}\nSHA-256 tools  {found['sha256']['tools']}")


async def _stable(runtime: Runtime, session: str | None) -> StablePrompt:
    from hookline.sessions import preview

    if session is None:
        return await preview(runtime)
    state = await runtime.sessions.existing(session)
    if state is None:
        stop(f"there is no session {session}; `hookline sessions list` shows those there are")
    return state.stable


def schema_json(schema: ToolSchema) -> str:
    """A tool's schema as compact JSON, which is what it costs."""
    return jsonlib.dumps(asdict(schema), ensure_ascii=False, separators=(",", ":"))


def _described(stable: StablePrompt, runtime: Runtime) -> dict[str, Any]:
    from hookline.prompt import tokens

    by_plugin = [
        {"plugin": p.plugin, "section": p.slot, "chars": len(p.text), "tokens": tokens(p.text)}
        for p in stable.parts
    ]
    for schema in stable.tools:
        tool = runtime.tools.get(schema.name)
        text = schema_json(schema)
        owner, section = tool.plugin if tool else "(gone)", f"tool {schema.name}"
        by_plugin.append(
            {"plugin": owner, "section": section, "chars": len(text), "tokens": tokens(text)}
        )
    system, tools = tokens(stable.system), tokens(stable.tools_json())
    digests = stable.digest()
    return {
        "system": stable.system,
        "tools": [asdict(schema) for schema in stable.tools],
        "sha256": {"system": digests[0], "tools": digests[1]},
        "tokens": {"system": system, "tools": tools, "total": system + tools},
        "by_plugin": by_plugin,
    }


def doctor(json: Json = False) -> None:
    """Check the installation; each failing check says how to mend it."""

    async def work(runtime: Runtime) -> list[dict[str, Any]]:
        from hookline.checks import core_checks

        rows = []
        for plugin, check in [*core_checks(runtime), *runtime.plugin_checks()]:
            try:
                found = check.run()
                result: Any = await found if inspect.isawaitable(found) else found
                row = {"ok": result.ok or result.hint, "detail": result.detail, "fix": result.fix}
            except (Exception, SystemExit) as error:
                row = {"ok": False, "detail": f"the check failed: {error}", "fix": "see the log"}
            rows.append({"name": check.name, "plugin": plugin, **row})
        return rows

    rows = with_runtime(work)
    if json:
        out_json(rows)
    else:
        for row in rows:
            fix = f" → {row['fix']}" if row["fix"] else ""
            mark = "ok  " if row["ok"] else "FAIL"
            out(f"{mark} {row['plugin']}: {row['name']}: {row['detail']}{fix}")
    if not all(row["ok"] for row in rows):
        raise SystemExit(FAILED)
