"""Connect MCP servers, or serve Hookline as one.

``hookline mcp``. Another plugin may add commands to the group.
"""

from __future__ import annotations

import difflib
import json as jsonlib
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from hookline_hookspecs import CommandError, HooklineError
from hookline_hookspecs.cli import confirm, run_hookline, with_plugin
from hookline_hookspecs.own_programs import own_program
from pydantic import ValidationError

from .approval_text import count_tools, describe_changes, describe_server, mask_secrets, single_line
from .catalog import CatalogEntry, compare_listing
from .config import ServerConfig, explain_error, name_problem
from .names import full_name
from .servers import ToolServer
from .tool_screening import screen_tools

if TYPE_CHECKING:
    from .plugin import Mcp

FAILED, USAGE = 1, 2
"""Exit codes."""
CHARS_PER_TOKEN = 4
Name = Annotated[str, typer.Argument(help="The server's name, from `hookline mcp list`.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

app = typer.Typer(no_args_is_help=True)


@app.command("list")
@with_plugin
async def list_servers(plugin: Mcp, json: Json = False) -> None:
    """List MCP servers and which of their tools are approved."""
    rows = [_row(plugin, server) for server in plugin.servers]
    if json:
        _say(jsonlib.dumps(rows, ensure_ascii=False))
        return
    wide = max(20, shutil.get_terminal_size().columns - 46)
    for row in rows:
        held = f", {row['held']} held" if row["held"] else ""
        _say(
            f"{row['name']:<20} {row['state']:<11} {row['tools']:>4} tools{held}"
            f"  {single_line(row['address'], wide)}"
        )
        if row["source"] != "config.yaml":
            _say(f"{'':<20} {row['source']}")
    for problem in plugin.servers.problems:
        _warn(problem)
    if not rows:
        _say("No servers. Run `hookline mcp add NAME -- COMMAND…` to add one.")
    waiting = [row["name"] for row in rows if row["state"] != "approved" or row["held"]]
    if waiting:
        _say(f"Run `hookline mcp approve {waiting[0]}` to review what is not approved yet.")


def _row(plugin: Mcp, server: ToolServer) -> dict[str, Any]:
    entry = plugin.catalog.entry(server)
    return {
        "name": server.name,
        "state": _state(server, entry),
        "transport": server.config.transport if server.config.url else "stdio",
        "address": mask_secrets(single_line(server.address), plugin.host.env),
        "source": server.source,
        "tools": len(entry.tools) if entry else 0,
        "held": len(entry.held) if entry else 0,
    }


@app.command("tools")
@with_plugin
async def tools(plugin: Mcp, name: Name, json: Json = False) -> None:
    """List a server's tools and which are approved."""
    server = _server(plugin, name)
    entry = plugin.catalog.entry(server)
    rows = [] if entry is None else _tool_rows(server, entry)
    if json:
        _say(jsonlib.dumps(rows, ensure_ascii=False))
        return
    for row in rows:
        _say(f"{row['state']:<12} {row['name']}  {single_line(row['description'], 100)}")
    if not rows:
        _say(f"No tools are approved yet. Run `hookline mcp approve {name}`.")


@app.command("test")
@with_plugin
async def check(plugin: Mcp, name: Name, json: Json = False) -> None:
    """Connect to a server and count its tools. Approves none."""
    server = _server(plugin, name)
    began = time.perf_counter()
    try:
        connection = await plugin.pool.connect(server, plugin.host.paths)
    except HooklineError as error:
        if json:
            _say(jsonlib.dumps({"name": name, "ok": False, "error": str(error)}))
            raise typer.Exit(FAILED) from None
        _stop(str(error))
    listing = connection.listing
    entry = plugin.catalog.compare(server, connection.listing)
    row = {
        "name": name,
        "ok": True,
        "server": single_line(listing.title, 80),
        "protocol": listing.protocol,
        "ms": round((time.perf_counter() - began) * 1000),
        "tools": len(listing.tools),
        "held": len(entry.held) if entry else len(listing.tools),
        "refused": len(listing.refused),
        "state": _state(server, entry),
    }
    if json:
        _say(jsonlib.dumps(row, ensure_ascii=False))
        return
    _say(
        f"{name} answers: {row['server'] or 'no name'}, protocol {row['protocol']}, "
        f"{row['ms']} ms, {row['tools']} tools, {row['held']} not approved."
    )
    for tool, why in listing.refused.items():
        _warn(f"{single_line(tool, 64)} cannot be offered: {why}")


@app.command("approve")
@with_plugin
async def approve(
    plugin: Mcp, name: Name, yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False
) -> None:
    """Review a server's new and changed tools, then approve them."""
    server = _server(plugin, name)
    if not yes and not sys.stdin.isatty():
        raise CommandError("no terminal to ask on. Add --yes to approve without asking", USAGE)
    entry = plugin.catalog.entry(server)
    if entry is None or entry.fingerprint != server.fingerprint:
        _say(describe_server(server, plugin.host.env))
        _ask("Connect to it?", yes)
    connection = await plugin.pool.connect(server, plugin.host.paths)
    listing = connection.listing
    known = entry or CatalogEntry(server.name, server.source, "", 0.0)
    held, gone = compare_listing(known, listing)
    _say(describe_changes(server, known, listing, held, gone))
    passed, kept_back = await screen_tools(plugin.host, server, listing)
    for tool, why in {**listing.refused, **kept_back}.items():
        _warn(f"{single_line(tool, 64)} is not offered: {why}")
    if (
        held
        or gone
        or known.fingerprint != server.fingerprint
        or known.instructions != listing.instructions
    ):
        _ask(f"Let the model use {count_tools(passed)} of {name}?", yes)
    plugin.catalog.approve(server, listing, passed, plugin.host.now())
    _say(f"Approved: {count_tools(passed)} of {name}, for new sessions.")


@app.command("login")
@with_plugin
async def login(
    plugin: Mcp,
    name: Name,
    paste: Annotated[
        bool,
        typer.Option("--paste", help="Paste the final URL from the browser instead of waiting."),
    ] = False,
) -> None:
    """Log in to a server in your browser, with OAuth."""
    server = _server(plugin, name)
    if server.config.auth != "oauth":
        problem = f"{name} has no `auth: oauth` in {server.source}"
        if server.config.url:
            raise CommandError(f"{problem}. Add it there if the server requires a login", USAGE)
        raise CommandError(f"{problem}, and a local program needs no login", USAGE)
    from .login import log_in

    _say(await log_in(server, plugin.host, paste=paste, say=_say))


@app.command("add")
@with_plugin
def add(
    plugin: Mcp,
    name: Annotated[str, typer.Argument(help="A name of your choice.")],
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- COMMAND…", help="The command that starts the server."),
    ] = None,
    url: Annotated[str, typer.Option(help="The server's URL, instead of a command.")] = "",
    env: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Set a variable; write ${NAME} for a secret."),
    ] = None,
    oauth: Annotated[bool, typer.Option("--oauth", help="The server requires a login.")] = False,
) -> None:
    """Add a server.

    Example: hookline mcp add time -- uvx mcp-server-time
    """
    if wrong := name_problem(name):
        raise CommandError(wrong, USAGE)
    if bool(command) == bool(url):
        raise CommandError(
            "write `hookline mcp add NAME -- COMMAND…` or `hookline mcp add NAME --url URL`", USAGE
        )
    if name in plugin.config.servers or name in _left_out(plugin):
        raise CommandError(f"config.yaml already has a server {name}. Remove it first", USAGE)
    values: dict[str, Any] = {"url": url} if url else {"command": _program_path(command or [""])}
    if command and command[1:]:
        values["args"] = command[1:]
    if wrong_ones := [one for one in env or () if not one.partition("=")[1] or one[0] == "="]:
        raise CommandError(f"--env {wrong_ones[0]}: write --env NAME=VALUE", USAGE)
    if env and url:
        raise CommandError("--env is for a command; a URL takes `headers`", USAGE)
    if env:
        values["env"] = dict(one.split("=", 1) for one in env)
    if oauth:
        values["auth"] = "oauth"
    try:
        ServerConfig.model_validate(values)
    except ValidationError as error:
        raise CommandError(f"{name}: {explain_error(error, values)[1]}", USAGE) from None
    text = jsonlib.dumps(values, ensure_ascii=False)
    run_hookline("config", "set", "--", f"plugins.mcp.servers.{name}", text)
    if command and own_program(str(values["command"])) is None:
        _warn(f"the program {single_line(command[0], 80)} was not found. Install it first")
    first = f"hookline mcp login {name}, then " if oauth else ""
    _say(f"{name} is in config.yaml. Next: {first}hookline mcp approve {name}")


@app.command("remove")
@with_plugin
def remove(plugin: Mcp, name: Name) -> None:
    """Remove a server with its settings, approvals and login."""
    server = plugin.servers.servers.get(name)
    is_left_out = name in _left_out(plugin)
    if server is None and not is_left_out and name not in plugin.catalog.entries():
        _server(plugin, name)
    if name in plugin.config.servers or is_left_out:
        run_hookline("config", "unset", "--", f"plugins.mcp.servers.{name}")
    plugin.catalog.remove(server.key if server else name)
    token = plugin.host.home / "mcp" / "tokens" / f"{name}.json"
    token.unlink(missing_ok=True)
    if server is not None and server.source != "config.yaml":
        _say(f"{name} is no longer approved; {server.source} still names it.")
    else:
        _say(f"Removed {name}.")


def _server(plugin: Mcp, name: str) -> ToolServer:
    servers = plugin.servers.servers
    if name in servers:
        return servers[name]
    if name in (wrong := _left_out(plugin)):
        raise CommandError(f"server {name} is not used. {wrong[name]}", USAGE)
    known = ", ".join(servers) or "none yet"
    near = difflib.get_close_matches(name, servers, 1)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise CommandError(f"unknown server {single_line(name, 40)}.{hint} Servers: {known}", USAGE)


def _left_out(plugin: Mcp) -> dict[str, str]:
    """Return why servers of config.yaml are not used, by their names."""
    return {
        at[1]: f"config.yaml: plugins.mcp.{'.'.join(at)}: {why}"
        for at, why in plugin.config.left_out.items()
    }


def _program_path(command: list[str]) -> str:
    """Return the program. A path becomes absolute, because servers run in other folders."""
    return str(Path(command[0]).absolute()) if "/" in command[0] else command[0]


def _state(server: ToolServer, entry: CatalogEntry | None) -> str:
    if entry is None:
        return "unapproved"
    return "approved" if entry.fingerprint == server.fingerprint else "changed"


def _tool_rows(server: ToolServer, entry: CatalogEntry) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for tool, pin in entry.tools.items():
        held = entry.held.get(tool)
        state = "gone" if tool in entry.gone else "approved"
        if held:
            state = held.why
        state = state if server.offers(tool) else "not offered"
        size = len(pin.description) + len(jsonlib.dumps(pin.parameters, separators=(",", ":")))
        found.append(
            {
                "name": full_name(server.name, tool),
                "tool": tool,
                "state": state,
                "description": pin.description,
                "tokens": size // CHARS_PER_TOKEN,
            }
        )
    for tool, one in entry.held.items():
        if tool not in entry.tools:
            row = {"name": full_name(server.name, tool), "tool": tool, "state": one.why}
            found.append(row | {"description": "", "tokens": 0})
    return found


def _ask(question: str, yes: bool) -> None:
    if not yes and not confirm(question):
        _stop("nothing was changed")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _warn(text: str) -> None:
    sys.stderr.write(f"hookline: warning: {text}\n")


def _stop(text: str) -> NoReturn:
    raise CommandError(text, FAILED)


Say = Callable[[str], None]
