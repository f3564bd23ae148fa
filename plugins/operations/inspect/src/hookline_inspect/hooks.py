"""``hookline hooks [NAME]``."""

from __future__ import annotations

import difflib

from hookline_hookspecs import HOOKS, Host

from .output import out, out_json, stop, table
from .service import inspection


def show(host: Host, name: str | None, json: bool) -> None:
    """Every hook, or one: kind, deadline in seconds, implementers in the order of the calls."""
    if name is not None and name not in HOOKS:
        near = difflib.get_close_matches(name, HOOKS, 1)
        stop(f"there is no hook {name}" + (f"; did you mean {near[0]}?" if near else ""))
    implemented = inspection(host).hooks()
    specs = [spec for spec in HOOKS.values() if name in (None, spec.name)]
    if json:
        out_json(
            [
                {
                    "name": spec.name,
                    "kind": spec.kind,
                    "deadline": spec.deadline,
                    "impls": list(implemented[spec.name]),
                }
                for spec in specs
            ]
        )
        return
    rows = [
        [
            spec.name,
            spec.kind,
            f"{spec.deadline:g} s" if spec.deadline else "none",
            " ".join(implemented[spec.name]),
        ]
        for spec in specs
    ]
    out(table(["hook", "kind", "deadline", "implemented by"], rows))
