"""Open Hookline in a browser.

``hookline web``: prints a login link.
"""

from __future__ import annotations

import json as jsonlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import typer
from hookline_hookspecs import CommandError, GatewayService, Host, Inspection
from hookline_hookspecs.cli import command_line
from hookline_hookspecs.gateway import GatewayCommand
from hookline_hookspecs.people import WebRole
from hookline_hookspecs.process_lock import is_gateway_running
from hookline_hookspecs.web import LoginLink, WebServer

from .logins import CHANNEL

FAILED, USAGE = 1, 2
OWNER = "owner"
"""The operator's name on the web."""
WORKS_WHEN_OFF = True
REQUIRED_PLUGINS = ("web-server", "web-ui")
"""The plugins that the command needs."""


@dataclass(frozen=True, slots=True)
class LoginOptions:
    """The options of the command.

    Attributes:
        person: the NAME the link is for.
        role: their role.
        json: print JSON.
        may_open: open a browser if there is one.
        unnamed: plugins that config.yaml does not name and that are on for this process only.
    """

    person: str
    role: WebRole
    json: bool
    may_open: bool
    unnamed: Sequence[str]

    def show(self, link: LoginLink) -> None:
        """Print the link; on a terminal with a QR code and an explanation."""
        if self.json:
            _print(jsonlib.dumps({"url": link.url, "code": link.code, "expires": link.expires}))
        elif not sys.stdout.isatty():
            _print(link.url)
        else:
            self._show_to_person(link)

    def _show_to_person(self, link: LoginLink) -> None:
        from .link_display import open_browser, qr_code

        who = {
            "operator": "you, the admin,",
            "person": f"{self.person} (their own chats only)",
            "auditor": f"{self.person} (audit log and insights only)",
        }[self.role]
        _print(f"\n{qr_code(link.url)}\n{link.url}\n")
        _print(f"Signs {who} in. Works once, for 10 minutes, for anyone who has it.")
        if self.may_open and open_browser(link.url):
            _print("Opening a browser.")


class LoginLinkPrinter:
    """Prints the login link once the gateway is up (protocol ``GatewayService``)."""

    needs_no_channel = False
    runs_turns = False

    def __init__(self, server: WebServer, options: LoginOptions, link: LoginLink) -> None:
        self._server = server
        self._options = options
        self._link = link

    async def gateway_up(self, channels: Sequence[str]) -> None:
        """Print the link."""
        url = f"{self._server.url()}/login#{self._link.code}"  # the port may only be known now
        self._options.show(replace(self._link, url=url))
        if self._options.unnamed:
            names = " and ".join(self._options.unnamed)
            _print_stderr(f"{names} are on only while this runs. To keep them on:")
            _print_stderr(f"  {_enable(self._options.unnamed)}")
        if sys.stdout.isatty():
            _print_stderr("The gateway is running. Press Ctrl+C to stop it.")

    async def gateway_stopping(self) -> None:
        """Do nothing."""


def web(
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open a browser.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the link as JSON.")] = False,
    person: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Print a link for NAME, who sees only their own chats."),
    ] = None,
    role: Annotated[
        str,
        typer.Option(help="person or auditor. An auditor sees only the audit log and insights."),
    ] = "person",
) -> None:
    """Print a one-time login link and open it. Starts the gateway if none is running."""
    plugins = command_line().configuration.effective()["plugins"]
    off = [name for name in REQUIRED_PLUGINS if plugins.get(name) is False]
    if off:
        raise CommandError(_enable_hint("config.yaml has", off, "off or invalid"), USAGE)
    unnamed = [name for name in REQUIRED_PLUGINS if name not in plugins]
    if role not in ("person", "auditor") or (role == "auditor" and person is None):
        raise CommandError("--role must be person or auditor; auditor needs --person NAME", USAGE)
    given: WebRole = "auditor" if role == "auditor" else "person"
    as_: WebRole = "operator" if person is None else given
    may_open = not no_open and not json and person is None
    options = LoginOptions(OWNER if person is None else person, as_, json, may_open, unnamed)
    settings = {f"plugins.{name}": True for name in unnamed}
    command_line().run(lambda plugin: _show_link(plugin.host, options), **settings)


async def _show_link(host: Host, options: LoginOptions) -> None:
    """Print a link of the running gateway, or start one."""
    from .gateway_lookup import find_running_url
    from .project_folder import use_project

    server = host.services[WebServer]
    if not any(channel.name == CHANNEL for channel in host.channels()):
        raise CommandError(await _why_no_pages(host), FAILED)
    running = await find_running_url(host)
    if options.role == "operator" and not options.json:
        await use_project(host, is_running=running is not None)
    if running is not None:
        options.show(await server.link(options.person, options.role, url=running))
        return
    if is_gateway_running(host.home):
        raise CommandError(
            f"the gateway running on {host.home} has no web server. Run "
            f"`{_enable(REQUIRED_PLUGINS)}`, then restart it.",
            FAILED,
        )
    gateway = host.services.get(GatewayCommand)
    if gateway is None:
        raise CommandError(_enable_hint("hookline web needs the plugin", ["gateway"], ""), FAILED)
    # Created first, so that access knows an admin and prints no pairing code for one.
    link = await server.link(options.person, options.role)
    host.services.add(GatewayService, LoginLinkPrinter(server, options, link))
    await gateway.gateway(needs_model=False)  # the page says how to set one up


async def _why_no_pages(host: Host) -> str:
    """Return the reason why there is no channel ``web``."""
    for row in await host.services[Inspection].plugins():
        if row["name"] == "web-ui" and row["state"] != "missing":
            return f"the plugin web-ui has no pages: {row['reason'] or row['state']}"
    return f"the plugin web-ui is not installed. Run `{_enable(['web-ui'])}`."


def _enable_hint(what: str, names: Sequence[str], state: str) -> str:
    return f"{what} {' and '.join(names)} {state}".rstrip() + f". Run `{_enable(names)}`."


def _enable(names: Sequence[str]) -> str:
    return f"hookline plugins enable {' '.join(names)}"


def _print(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding) + "\n")
    sys.stdout.flush()


def _print_stderr(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
