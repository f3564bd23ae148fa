"""``hookline mcp …``.

Core reads the signatures when it builds the command line. Imported only then, because of Typer.
Another plugin may add to the group.
"""

from __future__ import annotations

import difflib
import json as jsonlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from hookline_hookspecs import CommandError, HooklineError
from hookline_hookspecs.hooks.boot import RegisterCli
from pydantic import ValidationError

from .approving import readable
from .catalog import Entry, compared
from .config import ServerConfig, fault, wrong_name
from .names import full_name
from .servers import Server
from .showing import changes, counted, hidden_secrets, on_one_line, what_is_reached

if TYPE_CHECKING:
    from .parts import Parts

FAILED, USAGE = 1, 2
"""Exit codes (CONTRACT, Command line)."""
CHARS = 4
Name = Annotated[str, typer.Argument(help="The server's name in `hookline mcp list`.")]
Json = Annotated[bool, typer.Option("--json", help="JSON.")]


class Commands:
    """One method for each command."""

    def __init__(self, plugin: Parts) -> None:
        self._plugin = plugin

    def register(self, register: RegisterCli) -> None:
        """Register the group's commands."""
        register("mcp list", self.list_, help="The servers, and what is approved of each.")
        register("mcp add", self.add, help="Name a server in config.yaml.")
        register("mcp test", self.test, help="Connect to a server and list its tools.")
        register("mcp tools", self.tools, help="A server's tools, and which are approved.")
        register(
            "mcp approve", self.approve, help="Let the model use a server's tools as they are."
        )
        register("mcp login", self.login, help="Log in to a server with OAuth.")
        register("mcp remove", self.remove, help="Forget a server: config, approval and login.")

    # What is there

    async def list_(self, json: Json = False) -> None:
        """The servers, and what is approved of each."""
        plugin = self._plugin
        rows = [self._row(server) for server in plugin.servers]
        if json:
            _say(jsonlib.dumps(rows, ensure_ascii=False))
            return
        wide = max(20, shutil.get_terminal_size().columns - 46)
        for row in rows:
            held = f", {row['held']} held" if row["held"] else ""
            _say(
                f"{row['name']:<20} {row['state']:<11} {row['tools']:>4} tools{held}"
                f"  {on_one_line(row['address'], wide)}"
            )
            if row["source"] != "config.yaml":
                _say(f"{'':<20} {row['source']}")
        for problem in plugin.servers.problems:
            _warn(problem)
        if not rows:
            _say("There is no server. `hookline mcp add NAME -- COMMAND…` names one.")
        waiting = [row["name"] for row in rows if row["state"] != "approved" or row["held"]]
        if waiting:
            _say(f"`hookline mcp approve {waiting[0]}` shows what waits for your word.")

    def _row(self, server: Server) -> dict[str, Any]:
        entry = self._plugin.catalog.entry(server)
        return {
            "name": server.name,
            "state": _state(server, entry),
            "transport": "http" if server.config.url else "stdio",
            "address": hidden_secrets(on_one_line(server.address), self._plugin.host.env),
            "source": server.source,
            "tools": len(entry.tools) if entry else 0,
            "held": len(entry.held) if entry else 0,
        }

    async def tools(self, name: Name, json: Json = False) -> None:
        """A server's tools as they were last seen, and which are approved."""
        server = self._server(name)
        entry = self._plugin.catalog.entry(server)
        rows = [] if entry is None else _tool_rows(server, entry)
        if json:
            _say(jsonlib.dumps(rows, ensure_ascii=False))
            return
        for row in rows:
            _say(f"{row['state']:<12} {row['name']}  {on_one_line(row['description'], 100)}")
        if not rows:
            _say(f"Nothing is approved. `hookline mcp approve {name}` asks {name} for its tools.")

    async def test(self, name: Name, json: Json = False) -> None:
        """Connect to a server and list its tools; nothing is approved by it."""
        plugin, server = self._plugin, self._server(name)
        began = time.perf_counter()
        try:
            connection = await plugin.pool.connected(server, plugin.host.paths)
        except HooklineError as error:
            if json:
                _say(jsonlib.dumps({"name": name, "ok": False, "error": str(error)}))
                raise typer.Exit(FAILED) from None
            _stop(str(error))
        listing, entry = connection.listing, plugin.catalog.compare(server, connection.listing)
        row = {
            "name": name,
            "ok": True,
            "server": on_one_line(listing.title, 80),
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
            _warn(f"{on_one_line(tool, 64)} cannot be offered: {why}")

    # What a person decides

    async def approve(
        self,
        name: Name,
        yes: Annotated[bool, typer.Option("--yes", help="Without asking.")] = False,
    ) -> None:
        """Show what a server offers and what of it has changed, and pin it if you say so."""
        plugin, server = self._plugin, self._server(name)
        if not yes and not sys.stdin.isatty():
            raise CommandError("nobody is here to be asked; add --yes to approve it unseen", USAGE)
        entry = plugin.catalog.entry(server)
        if entry is None or entry.fingerprint != server.fingerprint:
            _say(what_is_reached(server, plugin.host.env))
            _ask("Connect to it?", yes)
        connection = await plugin.pool.connected(server, plugin.host.paths)
        listing = connection.listing
        known = entry or Entry(server.name, server.source, "", 0.0)
        held, gone = compared(known, listing)
        _say(changes(server, known, listing, held, gone))
        passed, kept_back = await readable(plugin.host, server, listing)
        for tool, why in {**listing.refused, **kept_back}.items():
            _warn(f"{on_one_line(tool, 64)} is not offered: {why}")
        if (
            held
            or gone
            or known.fingerprint != server.fingerprint
            or known.instructions != listing.instructions
        ):
            _ask(f"Let the model use {counted(passed)} of {name}?", yes)
        plugin.catalog.approve(server, listing, passed, plugin.host.now())
        _say(f"Approved: {counted(passed)} of {name}, for sessions that begin now.")

    async def login(
        self,
        name: Name,
        paste: Annotated[
            bool, typer.Option("--paste", help="Paste the address that the browser ends at.")
        ] = False,
    ) -> None:
        """Log in to a server: your browser opens its page, and the token is kept in a file."""
        server = self._server(name)
        if server.config.auth != "oauth":
            told = f"{name} has no `auth: oauth` in {server.source}"
            if server.config.url:
                raise CommandError(f"{told}; write it there if the server wants a login", USAGE)
            raise CommandError(f"{told}, and a program takes no login", USAGE)
        from .login import log_in

        told = await log_in(server, self._plugin.host, paste=paste, say=_say)
        _say(told)

    # What is written into config.yaml; these run before the process guards itself

    def add(
        self,
        name: Annotated[str, typer.Argument(help="A name of your choice.")],
        command: Annotated[
            list[str] | None, typer.Argument(metavar="-- COMMAND…", help="What starts it.")
        ] = None,
        url: Annotated[str, typer.Option(help="Its address, in place of a command.")] = "",
        env: Annotated[
            list[str] | None,
            typer.Option(metavar="NAME=VALUE", help="A variable; write ${NAME} for a secret."),
        ] = None,
        oauth: Annotated[bool, typer.Option("--oauth", help="It wants a login.")] = False,
    ) -> None:
        """Name a server in config.yaml: hookline mcp add time -- uvx mcp-server-time."""
        if wrong := wrong_name(name):
            raise CommandError(wrong, USAGE)
        if bool(command) == bool(url):
            raise CommandError(
                "write `hookline mcp add NAME -- COMMAND…` or `hookline mcp add NAME --url URL`",
                USAGE,
            )
        if name in self._plugin.config.servers or name in self._left_out():
            raise CommandError(f"config.yaml has a server {name}; remove it first", USAGE)
        values: dict[str, Any] = {"url": url} if url else {"command": _program(command or [""])}
        if command and command[1:]:
            values["args"] = command[1:]
        if wrong_ones := [one for one in env or () if not one.partition("=")[1] or one[0] == "="]:
            raise CommandError(f"--env {wrong_ones[0]}: write --env NAME=VALUE", USAGE)
        if env and url:
            raise CommandError("--env is for a command; a service takes `headers`", USAGE)
        if env:
            values["env"] = dict(one.split("=", 1) for one in env)
        if oauth:
            values["auth"] = "oauth"
        try:
            ServerConfig.model_validate(values)
        except ValidationError as error:
            raise CommandError(f"{name}: {fault(error, values)[1]}", USAGE) from None
        self._config(
            "set", f"plugins.mcp.servers.{name}", jsonlib.dumps(values, ensure_ascii=False)
        )
        if command and shutil.which(str(values["command"])) is None:
            _warn(f"there is no program {on_one_line(command[0], 80)} now; install it first")
        first = f"hookline mcp login {name}, then " if oauth else ""
        _say(f"{name} is in config.yaml. Next: {first}hookline mcp approve {name}")

    def remove(self, name: Name) -> None:
        """Forget a server: its entry in config.yaml, its approval and its login."""
        plugin = self._plugin
        server = plugin.servers.servers.get(name)
        is_left_out = name in self._left_out()
        if server is None and not is_left_out and name not in plugin.catalog.entries():
            self._server(name)
        if name in plugin.config.servers or is_left_out:
            self._config("unset", f"plugins.mcp.servers.{name}")
        plugin.catalog.remove(server.key if server else name)
        token = plugin.host.home / "mcp" / "tokens" / f"{name}.json"
        token.unlink(missing_ok=True)
        if server is not None and server.source != "config.yaml":
            _say(f"{name} is not approved any more; {server.source} still names it.")
        else:
            _say(f"{name} is forgotten.")

    def _config(self, verb: str, *words: str) -> None:
        """Change config.yaml through the command that keeps its comments."""
        done = subprocess.run(
            [sys.executable, "-P", "-m", "hookline", "config", verb, "--", *words],
            env=os.environ | {"HOOKLINE_HOME": str(self._plugin.host.home)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode:
            raise CommandError(done.stderr.strip().removeprefix("hookline: "), FAILED)

    def _server(self, name: str) -> Server:
        servers = self._plugin.servers.servers
        if name in servers:
            return servers[name]
        if name in (wrong := self._left_out()):
            raise CommandError(f"server {name} is left out: {wrong[name]}", USAGE)
        known = ", ".join(servers) or "none yet; `hookline mcp add` names one"
        near = difflib.get_close_matches(name, servers, 1)
        told = f"did you mean {near[0]}? There are" if near else "there are"
        raise CommandError(f"there is no server {on_one_line(name, 40)}; {told}: {known}", USAGE)

    def _left_out(self) -> dict[str, str]:
        """What is wrong in config.yaml with each server that is left out, by its name."""
        return {
            at[1]: f"config.yaml: plugins.mcp.{'.'.join(at)}: {why}"
            for at, why in self._plugin.config.left_out.items()
        }


def _program(command: list[str]) -> str:
    """The program; one that is named by a path in full, since servers run in other folders."""
    return str(Path(command[0]).absolute()) if "/" in command[0] else command[0]


def _state(server: Server, entry: Entry | None) -> str:
    if entry is None:
        return "unapproved"
    return "approved" if entry.fingerprint == server.fingerprint else "changed"


def _tool_rows(server: Server, entry: Entry) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for tool, pin in entry.tools.items():
        held = entry.held.get(tool)
        state = held.why if held else "gone" if tool in entry.gone else "approved"
        state = state if server.offers(tool) else "not offered"
        size = len(pin.description) + len(jsonlib.dumps(pin.parameters, separators=(",", ":")))
        found.append(
            {
                "name": full_name(server.name, tool),
                "tool": tool,
                "state": state,
                "description": pin.description,
                "tokens": size // CHARS,
            }
        )
    for tool, one in entry.held.items():
        if tool not in entry.tools:
            row = {"name": full_name(server.name, tool), "tool": tool, "state": one.why}
            found.append(row | {"description": "", "tokens": 0})
    return found


def _ask(question: str, yes: bool) -> None:
    if not yes:
        with _at_once():
            answer = typer.confirm(question)
        if not answer:
            _stop("nothing was changed")


@contextmanager
def _at_once() -> Iterator[None]:
    """Let Ctrl-C end the command while a person is asked: the event loop, which takes it otherwise,
    waits for the answer itself."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    except (KeyboardInterrupt, typer.Abort):
        sys.stderr.write("\n")  # the question's line ends
        raise
    finally:
        signal.signal(signal.SIGINT, before)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _warn(text: str) -> None:
    sys.stderr.write(f"hookline: warning: {text}\n")


def _stop(text: str) -> NoReturn:
    raise CommandError(text, FAILED)


Say = Callable[[str], None]
