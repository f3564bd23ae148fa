"""List the hooks and the plugins that implement them.

``hookline hooks``.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Annotated

import typer
from hookline_hookspecs import HOOKS, Inspection
from hookline_hookspecs.cli import with_plugin

from ..output import exit_with_error, print_json, print_text, table

if TYPE_CHECKING:
    from .. import Inspect


@with_plugin
async def hooks(
    plugin: Inspect,
    name: Annotated[str | None, typer.Argument(help="Show only this hook.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the hooks with kind, deadline and implementations, in call order."""
    if name is not None and name not in HOOKS:
        near = difflib.get_close_matches(name, HOOKS, 1)
        exit_with_error(f"unknown hook {name}" + (f". Did you mean {near[0]}?" if near else ""))
    implemented = plugin.host.services[Inspection].hooks()
    specs = [spec for spec in HOOKS.values() if name in (None, spec.name)]
    if json:
        print_json(
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
    print_text(table(["hook", "kind", "deadline", "implemented by"], rows))
