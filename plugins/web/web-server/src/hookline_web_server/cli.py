"""``hookline web``: a link that logs a browser in, and a gateway if none runs.

Core reads the signature when it builds the command line. Imported only then, because of Typer.
"""

from __future__ import annotations

import json as jsonlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import typer
from hookline_hookspecs import CommandError, Configuration, GatewayService, Host, Inspection
from hookline_hookspecs.gateway import GatewayCommand
from hookline_hookspecs.people import WebRole
from hookline_hookspecs.web import LoginLink, WebServer

from .logins import CHANNEL

FAILED, USAGE = 1, 2
OWNER = "owner"
"""The operator's name on the web."""
NEEDED = ("web-server", "web-ui")
"""The plugins that the command is about."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for on the command line.

    Attributes:
        person: whose link it is.
        role: what that person may do.
        json: print JSON.
        may_open: open a browser where there is one.
        unnamed: plugins that config.yaml does not name and that are on for this process.
    """

    person: str
    role: WebRole
    json: bool
    may_open: bool
    unnamed: Sequence[str]

    def show(self, link: LoginLink) -> None:
        """Print the link, and on a terminal what a person needs besides."""
        if self.json:
            told = {"url": link.url, "code": link.code, "expires": link.expires}
            _say(jsonlib.dumps(told))
        elif not sys.stdout.isatty():
            _say(link.url)
        else:
            self._show_to_person(link)

    def _show_to_person(self, link: LoginLink) -> None:
        from .screen import open_browser, qr_code

        who = {
            "operator": "you, the operator,",
            "person": f"{self.person} (own chats only)",
            "auditor": f"{self.person} (the audit and the insights only)",
        }[self.role]
        _say(f"\n{qr_code(link.url)}\n{link.url}\n")
        _say(f"Logs {who} in: once, within 10 minutes. Whoever has it can use it.")
        if self.may_open and open_browser(link.url):
            _say("A browser opens.")


class Greeter:
    """Prints the link once the gateway is up (protocol ``GatewayService``)."""

    needs_no_channel = False
    runs_turns = False

    def __init__(self, server: WebServer, wish: Wish, link: LoginLink) -> None:
        self._server = server
        self._wish = wish
        self._link = link

    async def gateway_up(self, channels: Sequence[str]) -> None:
        """Print the link."""
        url = f"{self._server.url()}/login#{self._link.code}"  # the port may be known only now
        self._wish.show(replace(self._link, url=url))
        if self._wish.unnamed:
            names = " and ".join(self._wish.unnamed)
            _tell(f"On for as long as this runs: {names}. To keep them on:")
            _tell(f"  {_enable(self._wish.unnamed)}")
        if sys.stdout.isatty():
            _tell("The gateway runs until Ctrl+C.")

    async def gateway_stopping(self) -> None:
        """Nothing is to be done."""


def web_on(host: Host) -> Callable[..., None]:
    """Return the command for one home."""

    def web(
        ctx: typer.Context,
        no_open: Annotated[bool, typer.Option("--no-open", help="Open no browser.")] = False,
        json: Annotated[bool, typer.Option("--json", help="JSON.")] = False,
        person: Annotated[
            str | None, typer.Option(metavar="NAME", help="A link for NAME: own chats only.")
        ] = None,
        role: Annotated[
            str, typer.Option(help="Of NAME: person, or auditor, who reads the audit alone.")
        ] = "person",
    ) -> None:
        """Print a link that logs a browser in; start the gateway unless it runs."""
        plugins = host.services[Configuration].effective()["plugins"]
        off = [name for name in NEEDED if plugins.get(name) is False]
        if off:
            raise CommandError(_mend("config.yaml has", off, "off or wrong"), USAGE)
        unnamed = [name for name in NEEDED if name not in plugins]
        if role not in ("person", "auditor") or (role == "auditor" and person is None):
            raise CommandError("--role is person or auditor, and goes with --person NAME", USAGE)
        given: WebRole = "auditor" if role == "auditor" else "person"
        as_: WebRole = "operator" if person is None else given
        may_open = not no_open and not json and person is None
        wish = Wish(OWNER if person is None else person, as_, json, may_open, unnamed)
        ctx.obj(lambda opened: _web(opened, wish), **{f"plugins.{name}": True for name in unnamed})

    return web


async def _web(host: Host, wish: Wish) -> None:
    """Make the link; serve, unless a gateway does."""
    from .running import find, is_locked

    server = host.services[WebServer]
    if not any(channel.name == CHANNEL for channel in host.channels()):
        raise CommandError(await _why_no_pages(host), FAILED)
    running = await find(host)
    if running is not None:
        wish.show(await server.link(wish.person, wish.role, url=running))
        return
    if is_locked(host.home):
        raise CommandError(
            f"the gateway that runs on {host.home} does not serve the web; run "
            f"`{_enable(NEEDED)}`, then stop it and start it again",
            FAILED,
        )
    gateway = host.services.get(GatewayCommand)
    if gateway is None:
        raise CommandError(_mend("this needs", ["gateway"], "on"), FAILED)
    # Made before, so that access knows its admin and prints no code for the first one.
    link = await server.link(wish.person, wish.role)
    host.services.add(GatewayService, Greeter(server, wish, link))
    await gateway.gateway()


async def _why_no_pages(host: Host) -> str:
    """Why there is no channel ``web``, as a sentence."""
    for row in await host.services[Inspection].plugins():
        if row["name"] == "web-ui" and row["state"] != "missing":
            return f"plugin web-ui brings no page; {row['reason'] or row['state']}"
    return f"plugin web-ui is not installed; `{_enable(['web-ui'])}` mends that"


def _mend(what: str, names: Sequence[str], state: str) -> str:
    return f"{what} {' and '.join(names)} {state}; `{_enable(names)}` mends that"


def _enable(names: Sequence[str]) -> str:
    return f"hookline plugins enable {' '.join(names)}"


def _say(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding) + "\n")
    sys.stdout.flush()


def _tell(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
