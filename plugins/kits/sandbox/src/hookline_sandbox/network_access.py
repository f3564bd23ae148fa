"""Decides which hosts sandboxed programs may reach: by permission rules, else a person is asked.

A connection waits at the proxy while its question stands. One question covers every connection to
the same host, and questions are asked one after another.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import urlsplit

from hookline_hookspecs import (
    Context,
    Conversations,
    HooklineError,
    Host,
    OfferedScope,
    PermissionRules,
    Question,
    ToolCall,
)
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.permissions import NETWORK
from hookline_hookspecs.questions import ALLOW_ONCE, DENY
from hookline_hookspecs.visible_text import on_one_line

LOCALHOST = "localhost"
LOOPBACK = ("localhost", "127.0.0.1", "::1")
MAX_HOST_CHARS = 253
"""Characters of a host name (RFC 1035, section 2.3.4)."""
REACHES = "A command reaches for it."
"""Why a person is asked about a host."""
_NAME = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*|[0-9a-f:.]+")
_ADDRESS = re.compile(r"https?://[^\s'\"`<>|;&(){}$\\]+")
_Grant = tuple[str, int]


class HostGuard(Protocol):
    """Says whether a program may reach a host."""

    async def refusal(self, host: str, port: int) -> str | None:
        """Return why ``host`` may not be reached, as a sentence; None if it may."""


class LaterQuestions(Protocol):
    """Has hosts allowed later, for a program that reaches for them while nobody can be asked."""

    async def refusal(self, ctx: Context, host: str, port: int) -> str | None:
        """Return why ``host`` may not be reached now, as a sentence; None if it may.

        ``ctx`` is of the chat that used the program last, outside of its turns.
        """


@dataclass(eq=False, slots=True)
class Asking:
    """A running program for which a person can be asked.

    shown: its command line, for the question. grant_all: every host is granted, because everything
    that stays in the sandbox is. allowed, refused: what was decided for this program alone.
    """

    ctx: Context
    shown: str
    grant_all: bool = False
    allowed: set[_Grant] = field(default_factory=set)
    refused: dict[_Grant, str] = field(default_factory=dict)


class NetworkAccess:
    """The hosts that the programs of one sandbox may reach.

    Each program is announced with :meth:`begin` and :meth:`end`. What a program left running in the
    background reaches only what rules allow, and what ``later`` does.
    """

    def __init__(self, host: Host, later: LaterQuestions | None = None) -> None:
        self._host = host
        self._later = later
        self._running: list[Asking] = []
        self._last: Context | None = None
        self._questions: dict[_Grant, asyncio.Task[str | None]] = {}
        self._one_by_one = asyncio.Lock()
        self._waited = 0.0
        self._waiting_since: float | None = None

    @property
    def waited(self) -> float:
        """Seconds for which questions have stood, with the one that stands now."""
        since = self._waiting_since
        return self._waited + (time.monotonic() - since if since is not None else 0.0)

    def begin(self, asking: Asking) -> None:
        """Announce a program."""
        self._running.append(asking)
        self._last = asking.ctx

    async def end(self, asking: Asking) -> None:
        """Withdraw a program, and, without another, the open questions."""
        self._running.remove(asking)
        if self._running:
            return
        open_questions = list(self._questions.values())
        for task in open_questions:
            task.cancel()
        await asyncio.gather(*open_questions, return_exceptions=True)

    async def local_ports(self, ctx: Context) -> tuple[int, ...]:
        """Return the ports of this machine that rules allow."""
        rules = self._host.services.get(PermissionRules)
        return tuple(await rules.local_ports(ctx)) if rules is not None else ()

    async def refusal(self, host: str, port: int) -> str | None:
        """Return why a program may not reach a host; None if it may. A person may be asked."""
        name = normalized(host)
        if not name:
            return "This is not the name of a host."
        ctx = self._running[-1].ctx if self._running else self._unattended()
        if ctx is None:
            return how_to_grant(
                name, port, "no command is running that a person could be asked for"
            )
        if name == LOCALHOST:
            is_granted = port in await self.local_ports(ctx)
            return None if is_granted else how_to_grant(name, port, "it is a port of this machine")
        if blocked := self._host.http.check_url(f"http://{_in_url(name)}:{port}/"):
            return blocked
        return await self._by_rules(ctx, name, port)

    def _unattended(self) -> Context | None:
        """The context in which hosts are decided while no program is announced."""
        if self._later is None:
            return self._last
        last = self._last.session if self._last is not None else None
        chat = (last.channel, last.chat_id) if last is not None else (TERMINAL, "default")
        return self._host.services[Conversations].detached(*chat)

    async def _by_rules(self, ctx: Context, name: str, port: int) -> str | None:
        call = ToolCall("", NETWORK, {"host": name, "port": port})
        rules = self._host.services.get(PermissionRules)
        found = await rules.verdict(ctx, call) if rules is not None else None
        if found is not None and found.verdict == "deny":
            return f"The rule {found.rule} in {found.where} denies {name}."
        if found is not None and found.verdict == "allow":
            return None
        if not self._running and self._later is not None:
            return await self._later.refusal(ctx, name, port)
        if not self._running:
            return how_to_grant(name, port, "a background process asked, so nobody was")
        asking, key = self._running[-1], (name, port)
        if asking.grant_all or ctx.approval == "yes" or key in asking.allowed:
            return None
        if key in asking.refused:
            return asking.refused[key]
        if ctx.approval != "ask":
            return how_to_grant(name, port, "nobody is here to allow it")
        if key not in self._questions:
            self._questions[key] = asyncio.create_task(self._ask(asking, call, key))
        return await asyncio.shield(self._questions[key])

    async def _ask(self, asking: Asking, call: ToolCall, key: _Grant) -> str | None:
        """Ask a person about a host; return why it may not be reached, or None."""
        name, port = key
        refusal: str | None = how_to_grant(name, port, "it was not allowed")
        try:
            async with self._one_by_one:
                refusal = await self._answer(asking, call, key)
        except Exception as error:
            refusal = how_to_grant(name, port, f"the question failed ({type(error).__name__})")
        finally:
            self._questions.pop(key, None)
        if refusal is None:
            asking.allowed.add(key)
        else:
            asking.refused[key] = refusal
        return refusal

    async def _answer(self, asking: Asking, call: ToolCall, key: _Grant) -> str | None:
        name, port = key
        rules = self._host.services.get(PermissionRules)
        found = await rules.verdict(asking.ctx, call) if rules is not None else None
        if found is not None and found.verdict == "allow":  # by the answer before
            return None
        scopes = await rules.offered_scopes(asking.ctx, call) if rules is not None else ()
        shown = "\n".join(dict.fromkeys(each.shown for each in self._running))
        question = _question(name, port, shown, scopes)
        self._waiting_since = time.monotonic()
        try:
            answer = await asking.ctx.ask_answer(question)
        finally:
            self._waited += time.monotonic() - self._waiting_since
            self._waiting_since = None
        if answer is None:
            return how_to_grant(name, port, "nobody allowed it")
        chosen = next((scope for scope in scopes if scope.label == answer.choice), None)
        if chosen is not None and rules is not None:
            try:
                await rules.add_scope(asking.ctx, chosen, answer.by)
            except HooklineError as error:
                asking.ctx.notify(f"{name} is allowed once; the rule was not stored: {error}")
            return None
        return None if answer.choice == ALLOW_ONCE else f"The person did not allow {name}."


def _question(name: str, port: int, command: str, scopes: Iterable[OfferedScope]) -> Question:
    shown = name if port in (80, 443) else f"{name}:{port}"
    offered = tuple(scopes)
    return Question(
        text=f"Allow access to {on_one_line(shown, MAX_HOST_CHARS)}? {REACHES}",
        choices=(ALLOW_ONCE, *(scope.label for scope in offered), DENY),
        preview=command,
        kind="approval",
        reason=REACHES,
        covers=("", *(scope.covers for scope in offered), "") if offered else (),
    )


def named_hosts(command: str) -> set[_Grant]:
    """Return the hosts, with ports, of the web addresses that stand in a command as they are."""
    found: set[_Grant] = set()
    for address in _ADDRESS.findall(command):
        try:
            parts = urlsplit(address)
            port = parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError:
            continue
        if parts.hostname and "@" not in parts.netloc:
            found.add((normalized(parts.hostname), port))
    return found


def how_to_grant(name: str, port: int, why: str) -> str:
    """Return the refusal of a host with what a person can do."""
    shown = f"{name}:{port}" if name == LOCALHOST else name
    return (
        f"{shown} was not reached: {why}. To allow it, a person runs "
        f"`hookline permissions add allow 'network({shown})'`."
    )


def normalized(host: str) -> str:
    """Return a host in lower case as it is looked up, ``localhost`` for loopback addresses; empty
    if it is not a name or an address."""
    try:
        name = host.strip("[]").rstrip(".").encode("idna").decode("ascii").lower()
    except UnicodeError:
        return ""
    if name in LOOPBACK:
        return LOCALHOST
    return name if len(name) <= MAX_HOST_CHARS and _NAME.fullmatch(name) else ""


def _in_url(name: str) -> str:
    return f"[{name}]" if ":" in name else name
