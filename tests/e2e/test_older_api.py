"""Plugins from outside that were written for version 1.0: they work, or are told what to use."""

from __future__ import annotations

from pathlib import Path

from support.machine import Machine
from support.model_servers import openai

from .test_third_party import install, outside

__all__ = ["outside"]

VETERAN = '''\
"""Uses what version 1.0 promised."""

from dataclasses import replace

from hookline_hookspecs import (
    ContextBlock, Deny, Inbound, Plugin, Reply, Section, Tool, ToolCall, ToolResult, command,
    hookimpl,
)


class Veteran(Plugin):
    requires_api = (1, 0)

    @hookimpl
    def setup(self, host):
        self.sent = []
        host.services.provide(Veteran, self)
        host.signals.connect("reply_sent", lambda reply, ctx=None: self.sent.append(reply.text))

    @hookimpl
    def register_tools(self, register):
        register(Tool.from_function(self.measure, read_only=True))

    async def measure(self, ctx, text: str) -> ToolResult:
        """Measure a text."""
        read = await self.host.read(text, "a text")
        call = ToolCall("", "measure", {})
        return ToolResult(call, f"{len(read)} characters", notes=("measured",), data=len(read))

    @hookimpl
    def system_prompt(self, ctx, session):
        return Section("guidance", "Measure before you cut.")

    @hookimpl
    def pre_prompt(self, ctx, turn):
        return ContextBlock("weather", f"fine in {turn.inbound.chat_id}")

    @hookimpl
    def pre_tool(self, ctx, call):
        return Deny("that is not measured") if call.arguments["text"] == "secret" else None

    @hookimpl
    def post_tool(self, ctx, result):
        ctx.stash["seen"] = True
        return replace(result, text=result.text + ".")

    @hookimpl
    def on_message(self, ctx, inbound):
        assert isinstance(inbound, Inbound)
        return replace(inbound, text=inbound.text.strip("?"))

    @hookimpl
    def pre_reply(self, ctx, reply):
        assert isinstance(reply, Reply) and ctx.stash["seen"]
        return replace(reply, text=reply.text + " -- measured")

    @command("/ask")
    async def ask(self, ctx, args):
        """Ask the auxiliary model."""
        assert self.host.services[Veteran] is self
        return await self.host.ask_model(args, system="Be brief.", max_tokens=50)
'''
RELIC = '''\
"""Uses what version 2.0 took away."""

from hookline_hookspecs import Plugin, command


class Relic(Plugin):
    @command("/relic")
    async def relic(self, ctx, args):
        """Take up."""
        await self.host.take_up()
'''


def test_a_plugin_for_1_0_works_as_it_did(machine: Machine, outside: Path) -> None:
    machine.config("plugins:\n  veteran: true\n")
    install(outside, "veteran", VETERAN)
    wire = openai(
        [[("measure", {"text": "one two"}), ("measure", {"text": "secret"})], "Seven.", "In short."]
    )
    with wire.server:
        done = machine.run("run", "how long?", "--session", "s", env=wire.env)
        assert (done.code, done.out) == (0, "Seven. -- measured\n"), done.err
        assert wire.tool_results() == [
            "7 characters.\n\nNote: measured",
            "Denied: that is not measured.",
        ]
        sent = wire.messages_as_sent(0)
        assert "Measure before you cut." in sent
        assert "<weather>fine in default</weather>" in sent
        asked = machine.run("run", "/ask it all", "--session", "s", env=wire.env)
        assert asked.out.startswith("In short."), asked.err
    (row,) = [
        row for row in machine.run("plugins", "list", "--json").json if row["name"] == "veteran"
    ]
    assert (row["state"], row["reason"]) == ("on", "")


def test_use_of_what_is_gone_names_its_replacement(machine: Machine, outside: Path) -> None:
    machine.config("plugins:\n  relic: true\n")
    install(outside, "relic", RELIC)
    wire = openai([])
    with wire.server:
        done = machine.run("run", "/relic", env=wire.env)
    told = done.out + done.err
    assert "host.take_up is gone since API 2.0" in told
    assert "host.services[GatewayHost].recover()" in told
