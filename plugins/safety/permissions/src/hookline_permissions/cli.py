"""Show and change the permission rules, and check a call.

``hookline permissions``.
"""

from __future__ import annotations

import json as jsonlib
import sys
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from hookline_hookspecs import CommandError, ToolCall
from hookline_hookspecs.cli import run_hookline, with_plugin
from hookline_hookspecs.visible_text import on_one_line

from .chat_rules import MAX_PERSON_CHARS
from .rule_levels import USER_FILE
from .rules import KINDS, PACKAGED, Kind, RuleError, parse_rule

if TYPE_CHECKING:
    from .plugin import Permissions

FAILED, USAGE = 1, 2
"""Exit codes."""
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
RuleText = Annotated[str, typer.Argument(metavar="RULE", help="TOOL or TOOL(pattern), in quotes.")]

app = typer.Typer(no_args_is_help=True)


@app.command("list")
@with_plugin
async def list_rules(
    plugin: Permissions,
    packaged: Annotated[bool, typer.Option("--all", help="Show packaged rules too.")] = False,
    json: Json = False,
) -> None:
    """List the rules of config.yaml, of this project and of all chats."""
    rows = await _rows(plugin, packaged=packaged)
    if json:
        _say(jsonlib.dumps(rows, ensure_ascii=False))
        return
    for row in rows:
        chat = f" {row['chat']}" if row["chat"] else ""
        by = f", added by {on_one_line(row['by'], MAX_PERSON_CHARS)}" if row["by"] else ""
        _say(f"{row['kind']:<6} {row['rule']}  ({row['where']}{chat}{by})")
    loaded = plugin.levels.fixed(plugin.host.paths.workspace)
    for problem in (*loaded.errors, *loaded.warnings):
        sys.stderr.write(f"hookline: {problem}\n")
    if not rows:
        _say("No rules besides the built-in ones. Show those with --all.")


async def _rows(plugin: Permissions, *, packaged: bool) -> list[dict[str, Any]]:
    """The rules: ``kind rule where chat by``, and ``why`` for a packaged one."""
    from .packaged_rules import packaged_rules

    fixed = plugin.levels.fixed(plugin.host.paths.workspace).rules
    rows = [_row(rule.kind, rule.text, rule.where) for rule in fixed]
    for chat, stored in await plugin.levels.chats.all():
        name = f"{chat.channel}:{chat.chat_id}"
        rows += [_row(one.kind, one.text, one.where, chat=name, by=one.by) for one in stored]
    if packaged:
        found = [one.rule for one in packaged_rules()]
        rows += [_row(rule.kind, rule.text, PACKAGED) | {"why": rule.why} for rule in found]
    return rows


def _row(kind: Kind, text: str, where: str, *, chat: str = "", by: str = "") -> dict[str, Any]:
    return {"kind": kind, "rule": text, "where": where, "chat": chat, "by": by}


@app.command("add")
@with_plugin
def add(
    plugin: Permissions,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="allow, ask or deny.")],
    rule: RuleText,
) -> None:
    """Add a rule to config.yaml.

    Example: hookline permissions add allow 'bash(git push *)'
    """
    known = next((one for one in KINDS if one == kind), None)
    if known is None:
        _fail(f"expected allow, ask or deny, got {kind!r}", USAGE)
    try:
        text = parse_rule(known, rule, USER_FILE).text
    except RuleError as error:
        _fail(str(error), USAGE)
    rules = _listed(plugin, known)
    if text in rules:
        _say(f"{text} is in {USER_FILE} already.")
        return
    _save(known, [*rules, text])
    _say(f"{known}: {text} is in {USER_FILE}.")


@app.command("remove")
@with_plugin
def remove(plugin: Permissions, rule: RuleText) -> None:
    """Remove a rule from config.yaml, or from the chats that have it."""
    found = [kind for kind in KINDS if rule in _listed(plugin, kind)]
    for kind in found:
        _save(kind, [text for text in _listed(plugin, kind) if text != rule])
        _say(f"{kind}: {rule} is removed from {USER_FILE}.")
    if not found:
        _remove_from_chats(rule)


@with_plugin
async def _remove_from_chats(plugin: Permissions, rule: str) -> None:
    chats = plugin.levels.chats
    removed = [chat for chat, _ in await chats.all() if await chats.remove(chat, rule)]
    if not removed:
        _fail(f"no rule {rule!r}. `hookline permissions list` shows the rules", FAILED)
    for chat in removed:
        _say(f"{rule} is removed from {chat.channel}:{chat.chat_id}.")


@app.command("check")
@with_plugin
async def check(
    plugin: Permissions,
    tool: Annotated[str, typer.Argument(help="The tool's name, such as bash.")],
    arguments: Annotated[str, typer.Argument(help="Its arguments as JSON.")],
    json: Json = False,
) -> None:
    """Say whether a call would run, ask or be refused, and which rule decides."""
    from .call_check import check_call

    try:
        given = jsonlib.loads(arguments)
    except (ValueError, RecursionError) as error:
        _fail(f"the arguments are not JSON: {error}", USAGE)
    if not isinstance(given, dict):
        _fail('expected the arguments as a JSON object, such as \'{"command": "ls"}\'', USAGE)
    found = await check_call(plugin, ToolCall("check", tool, given))
    if json:
        _say(jsonlib.dumps(found.as_json(), ensure_ascii=False))
        return
    rule = f" by {found.rule}" if found.rule else ""
    _say(f"{found.verdict}{rule} ({found.where})")
    if found.reason:
        _say(found.reason)
    if tool == "bash":
        _say("sandboxed" if found.sandboxed else "not sandboxed")


def _listed(plugin: Permissions, kind: Kind) -> list[str]:
    """The rules of a kind in config.yaml."""
    config = plugin.config
    return list({"allow": config.allow, "ask": config.ask, "deny": config.deny}[kind])


def _save(kind: Kind, rules: list[str]) -> None:
    key = f"plugins.permissions.{kind}"
    if rules:
        run_hookline("config", "set", "--", key, jsonlib.dumps(rules, ensure_ascii=False))
    else:
        run_hookline("config", "unset", "--", key)


def _say(text: str) -> None:
    typer.echo(text)


def _fail(text: str, code: int) -> NoReturn:
    raise CommandError(text, code)
