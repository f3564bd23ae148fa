"""Generates the page about hooks from ``hookline_hookspecs.HOOKS`` and the typed methods."""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path

import hookline_hookspecs
import signal_reference
from hook_users import users
from hookline_hookspecs import API, HOOKS, HookSpec, HookSpecs, Kind
from markdown_text import code, docstring, table
from module_reference import fields, signature_text
from plugin_list import plugin_pages

EXAMPLES = Path(__file__).parent / "hook_examples"
"""A plugin for each hook; ``tests/integration/test_hook_examples.py`` runs them."""
INTRO = f"""# Hooks

A hook is a method of a plugin, marked `@hookimpl`, that core calls at a fixed point. It may be
`def` or `async def`, except the `register_*` hooks, which are `def`. Hooks of a turn take `ctx`
(see [Context](types.md#Context)) and one event. This page is generated from the specs of contract
version {API[0]}.{API[1]}.

To return something, implement a hook. To be notified only, subscribe to the [signal](#signals) of
the same name. Each hook has one of six [kinds](../authors/kinds/index.md), which defines how the
results of several plugins are combined and what a failure means. Each hook has an example: a
complete plugin in one file.

## Kinds
"""
AFTER_KINDS = """
**Order.** Plugins are called in the order of the configuration: the standard set in its own order,
then other plugins in the order of `config.yaml`. Hooks that run after something happened (`post_*`,
`end_*`, `teardown`) use the reverse order. On every hook, `tryfirst` is called first and `trylast`
last.

**Deadline.** The time that an `async def` implementation may take; exceeding it counts as a
failure.

"""

FAILURE_POLICY: dict[Kind, str] = {
    "collect": "that contribution is skipped",
    "pipeline": "that step is skipped",
    "first": "the next plugin is called",
    "guard": "Deny (fails closed)",
    "observe": "it is logged",
    "around": "the failure becomes an error result that names the plugin",
}
COMBINED: dict[Kind, str] = {
    "collect": "all contributions, in order",
    "pipeline": "each gets the previous one's output; None leaves it unchanged",
    "first": "the first result that is not None wins",
    "guard": "the strictest verdict wins: Deny > Ask > Answer > None",
    "observe": "nothing is returned",
    "around": "middleware, nested in order",
}
OWN_FAILURE = {"setup": "all of the plugin is undone; its state is `failed`, with the reason"}
"""Hooks whose failure differs from that of their kind."""
ALIASES = {
    "Verdict": "Deny | Ask | Answer",
    "ToolMiddleware": "Callable[[ToolCall, CallTool], Awaitable[ToolResult]]",
    "ModelMiddleware": "Callable[[ModelRequest, CallModel], Awaitable[ModelResponse]]",
}
"""Aliases in the specs' signatures, and the types that they stand for."""


def page() -> str:
    """The page as Markdown."""
    kinds = [(_kind(kind), COMBINED[kind], FAILURE_POLICY[kind]) for kind in COMBINED]
    parts = [INTRO, table(("kind", "results", "if an implementation fails"), kinds), AFTER_KINDS]
    for group in HookSpecs.__bases__:
        names = [name for name in vars(group) if name in HOOKS]
        parts.append(f"## {group.__name__.removesuffix('Hooks')}\n\n{docstring(group.__doc__)}\n")
        parts += [_hook(HOOKS[name]) for name in names]
    parts.append(signal_reference.section())
    return "\n".join(parts)


def _hook(hook: HookSpec) -> str:
    function = getattr(HookSpecs, hook.name)
    rows = [
        ("kind", f"{_kind(hook.kind)}: {COMBINED[hook.kind]}"),
        ("you return", _returned(hook, function)),
        ("deadline", "none" if hook.deadline is None else f"{hook.deadline:g} s"),
        ("if it fails", OWN_FAILURE.get(hook.name, FAILURE_POLICY[hook.kind])),
        ("order", f"the {'last' if hook.reverse else 'first'} plugin comes first"),
        ("used here by", _users(hook.name)),
    ]
    if hook.background:
        rows.append(("runs", "in the background, after the reply was sent"))
    return "\n".join(
        [
            f"### `{hook.name}`\n",
            docstring(hook.doc),
            f"\n```python\ndef {hook.name}{_signature(function)}\n```\n",
            table(("", ""), rows),
            "",
            _event(hook, function),
            f"```python\n{(EXAMPLES / f'{hook.name}.py').read_text('utf-8')}```\n",
        ]
    )


def _kind(kind: str) -> str:
    return f"[{code(kind)}](../authors/kinds/{kind}.md)"


def _returned(hook: HookSpec, function: object) -> str:
    """The type that an implementation may return, with links to its parts."""
    if hook.sync:
        return f"nothing; call `{hook.event}`"
    assert inspect.isfunction(function)
    named = str(inspect.signature(function).return_annotation)
    inner = named.removeprefix("MaybeAwaitable[").removesuffix("]") if named != "None" else named
    for alias, meaning in ALIASES.items():
        inner = inner.replace(alias, meaning)
    if inner == "None":
        return "nothing"
    kinds = dict.fromkeys(name for name in re.findall(r"\w+", inner) if _is_described(name))
    links = ", ".join(f"[{name}](types.md#{name})" for name in kinds)
    return f"{code(inner)} ({links})" if links else code(inner)


def _is_described(name: str) -> bool:
    return inspect.isclass(getattr(hookline_hookspecs, name, None))


def _users(hook: str) -> str:
    pages = plugin_pages()
    links = [f"[{name}](../plugins/{pages[name]})" for name in users()[hook]]
    return ", ".join(links) or "no plugin here"


def _signature(function: object) -> str:
    assert inspect.isfunction(function)
    return signature_text(inspect.signature(function))


def _event(hook: HookSpec, function: object) -> str:
    """The event's type and, if it is a dataclass, its fields."""
    assert inspect.isfunction(function)
    named = str(inspect.signature(function).parameters[hook.event].annotation)
    kind = getattr(hookline_hookspecs, named, None)
    if not inspect.isclass(kind):
        return f"`{hook.event}` is {_callback(named)}.\n"
    heading = f"`{hook.event}` is a [{named}](types.md#{named})"
    rest = f":\n\n{fields(kind)}" if dataclasses.is_dataclass(kind) else "."
    return f"{heading}{rest}\n"


def _callback(named: str) -> str:
    taken = named.removeprefix("Callable[[").removesuffix("], None]")
    if taken != named:
        return f"a function that takes one [{taken}](types.md#{taken})"
    return code(named)
