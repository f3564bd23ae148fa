"""``/mcp``: the prompts of servers as slash commands.

A person chooses a prompt and gives its arguments. Its messages then become the text of that
person's message, and the server is named as an origin, because it wrote them.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Context, Conversations, HooklineError, Host, Inbound, Origin, Refused
from hookline_hookspecs.sentences import N_

from .catalog import ApprovalCatalog, ServerPrompt
from .mcp_tools import McpTools, is_available
from .names import PREFIX, full_name
from .servers import ConfiguredServers, ToolServer

if TYPE_CHECKING:
    from .connection import Connection

COMMAND = "/mcp"
MAX_PROMPT_CHARS = 100_000
"""Characters of a prompt's messages; longer ones are refused, because a cut would mislead."""
MAX_LISTED = 50
"""Prompts in one reply."""


@dataclass(frozen=True, slots=True)
class _Found:
    server: ToolServer
    prompt: ServerPrompt

    @property
    def name(self) -> str:
        """The name after ``/mcp__``, such as ``time__brief``."""
        return full_name(self.server.name, self.prompt.name).removeprefix(PREFIX)

    @property
    def origin(self) -> Origin:
        """The origin of a message with this prompt."""
        return Origin("outside", f"MCP prompt {self.name}")

    @property
    def usage(self) -> str:
        """The command line, with ``[optional]`` and ``<required>`` arguments."""
        words = [
            f"<{one.name}>" if one.required else f"[{one.name}]" for one in self.prompt.arguments
        ]
        return " ".join([f"/{PREFIX}{self.name}", *words])


class ServerPrompts:
    """Lists the prompts of approved servers, and sends one as a person's message."""

    def __init__(
        self,
        host: Host,
        catalog: ApprovalCatalog,
        servers: Callable[[], ConfiguredServers],
        calls: McpTools,
    ) -> None:
        self._host = host
        self._catalog = catalog
        self._servers = servers
        self._calls = calls

    def rewrite(self, inbound: Inbound) -> Inbound | None:
        """Convert ``/mcp__SERVER__PROMPT`` to ``/mcp SERVER__PROMPT``, and name the server of a
        known prompt as an origin of the message."""
        first, *rest = inbound.text.strip().split(None, 1) or [""]
        if first.startswith(f"/{PREFIX}"):
            text = " ".join([COMMAND, first.removeprefix(f"/{PREFIX}"), *rest])
        elif first.casefold() == COMMAND and rest:
            text = inbound.text
        else:
            return None
        found = self._find(text.split(None, 2)[1], lambda _: True)
        if found is None:
            return replace(inbound, text=text)
        return replace(inbound, text=text, origins=(*inbound.origins, found.origin))

    async def run(self, ctx: Context, args: str) -> str:
        """List the prompts, or send the one that ``args`` names; return the answer."""
        if not args:
            return self._list(ctx)
        name, *rest = args.split(None, 1)
        found = self._find(name, lambda server: is_available(ctx, server))
        if found is None:
            return N_(f"No prompt {name[:80]!r}. /mcp lists the prompts of MCP servers.")
        if found.origin not in ctx.turn.inbound.origins:
            return N_(f"{found.name} has just become available. Send the command again.")
        values = parse_arguments(found.prompt, rest[0] if rest else "")
        missing = [
            one.name for one in found.prompt.arguments if one.required and not values.get(one.name)
        ]
        if missing:
            return N_(f"Missing: {', '.join(missing)}. Usage: {found.usage}")
        try:
            text = await self._get(ctx, found, values)
        except HooklineError as error:
            return N_(f"The prompt was not sent: {error}")
        self._host.services[Conversations].rerun(ctx, text)
        return ""

    def complete(self, session_id: str, typed: str) -> list[tuple[str, str]]:
        """Return the prompts that contain ``typed``, with their descriptions."""
        return [
            (found.name, f"{found.usage.partition(' ')[2]} {found.prompt.description}".strip())
            for found in self._all(lambda one: _is_offered(one, session_id))
            if typed.casefold() in found.name.casefold()
        ]

    def _list(self, ctx: Context) -> str:
        found = list(self._all(lambda server: is_available(ctx, server)))
        if not found:
            return N_("No approved MCP server offers prompts.")
        lines = [
            f"{one.usage}: {one.prompt.description}" if one.prompt.description else one.usage
            for one in found[:MAX_LISTED]
        ]
        if len(found) > MAX_LISTED:
            lines.append(N_(f"… and {len(found) - MAX_LISTED} more."))
        return "\n".join(lines)

    def _find(self, name: str, usable: Callable[[ToolServer], bool]) -> _Found | None:
        return next((one for one in self._all(usable) if one.name == name), None)

    def _all(self, usable: Callable[[ToolServer], bool]) -> Iterator[_Found]:
        for server in self._servers():
            try:
                entry = self._catalog.entry(server)
            except HooklineError:
                return
            if entry is None or entry.fingerprint != server.fingerprint or not usable(server):
                continue
            for prompt in entry.prompts:
                yield _Found(server, prompt)

    async def _get(self, ctx: Context, found: _Found, values: dict[str, str]) -> str:
        server, name = found.server, found.prompt.name
        self._calls.require_available(ctx, server)

        async def send(connection: Connection) -> Any:
            await self._calls.check_listing(connection)
            return await connection.request(
                name, lambda client: client.get_prompt(name, values), (ctx, server.name)
            )

        result = await self._calls.request(ctx, server, send)
        text = _message_text(result.messages)
        if not text:
            raise Refused(f"{found.name} of MCP server {server.name} is empty")
        if len(text) > MAX_PROMPT_CHARS:
            raise Refused(f"it has {len(text):,} characters, and {MAX_PROMPT_CHARS:,} are allowed")
        return await ctx.read(text, f"mcp {server.name} prompt {name}", kind="tool")


def parse_arguments(prompt: ServerPrompt, text: str) -> dict[str, str]:
    """Return the arguments in ``text``: ``name=value``, others in the prompt's order.

    The last one takes the rest of the line, so that one argument needs no quotation marks.
    """
    names = [one.name for one in prompt.arguments]
    if len(names) == 1 and text and not text.startswith(f"{names[0]}="):
        return {names[0]: text}
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    values: dict[str, str] = {}
    others: list[str] = []
    for word in words:
        name, equals, value = word.partition("=")
        if equals and name in names:
            values[name] = value
        else:
            others.append(word)
    free = [name for name in names if name not in values]
    for at, name in enumerate(free):
        rest = others[at:] if at == len(free) - 1 else others[at : at + 1]
        if rest:
            values[name] = " ".join(rest)
    return values


def _message_text(messages: Any) -> str:
    """Return the messages as one text; those of the assistant are marked."""
    from .results import convert_content

    parts: list[str] = []
    for message in messages:
        texts, images = convert_content([message.content], ())
        texts += ["[image left out: a prompt is sent as text]" for _ in images]
        text = "\n\n".join(one for one in texts if one)
        if text:
            parts.append(f"Assistant: {text}" if message.role == "assistant" else text)
    return "\n\n".join(parts)


def _is_offered(server: ToolServer, session_id: str) -> bool:
    return server.sessions is None or session_id in server.sessions
