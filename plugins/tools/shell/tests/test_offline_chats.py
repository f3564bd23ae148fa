"""``/sandbox no-network``: one chat's commands are cut off from the network, never freed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hookline_hookspecs import Deny, Session, ToolCall, ToolError
from hookline_shell import Shell

CUT_OFF = "no network"
CONNECT = "python3 -c \"import socket; socket.create_connection(('127.0.0.1', {port}), 2)\""


def typed(ctx: Any) -> Any:
    """The context of a message in the same chat."""
    inbound = SimpleNamespace(session_id=None, channel="terminal", chat_id="c")
    ctx.turn = SimpleNamespace(inbound=inbound)
    return ctx


@pytest.fixture
def asks(ctx: Any) -> Any:
    return typed(ctx)


@pytest.fixture
async def port() -> AsyncIterator[int]:
    """A server on this machine."""
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()


async def verdict(shell: Shell, ctx: Any, **arguments: Any) -> Any:
    return await shell.pre_tool(ctx, ToolCall("1", "bash", arguments))


async def test_chat_without_network_is_confined_although_the_sandbox_is_off(
    make_plugin: Callable[..., Shell], sandboxes: None, asks: Any, port: int
) -> None:
    shell = make_plugin(sandbox={"enabled": False})
    command = CONNECT.format(port=port)
    assert (await shell.bash(asks, command)).ok
    assert CUT_OFF in await shell.sandbox(asks, " No-Network ")
    assert "reach no network" in await shell.sandbox(asks, "")
    assert await verdict(shell, asks, command=command) is None, (
        "it needs no approval in the sandbox"
    )
    assert not (await shell.bash(asks, command)).ok
    assert (await shell.bash(asks, "echo here > file && cat file")).text.startswith("here")

    refused = await verdict(shell, asks, command=command, outside=True)
    assert isinstance(refused, Deny)
    with pytest.raises(ToolError, match="without a network"):
        await shell.bash(asks, command, outside=True)

    await shell.sandbox(asks, "default")
    assert (await shell.bash(asks, command)).ok


async def test_choice_holds_for_sub_agents_successors_and_copies_only(
    make_plugin: Callable[..., Shell], sandboxes: None, asks: Any
) -> None:
    shell = make_plugin()
    await shell.sandbox(asks, "no-network")

    def session(id_: str, **more: Any) -> Session:
        return Session(id_, "terminal", "c", None, 0.0, **more)

    await shell.start_of_session(asks, session("child", parent_id="s1", kind="agent"))
    await shell.start_of_session(asks, session("grandchild", parent_id="child", kind="agent"))
    await shell.session_copied(session("s1"), session("copy"))
    for id_ in ("child", "grandchild", "s1~2", "copy"):
        assert await shell.is_offline(id_), id_
    await shell.start_of_session(asks, session("next"))
    assert not await shell.is_offline("next")

    asks.session.id = ""  # chosen before the chat's first message
    await shell.sandbox(asks, "no-network")
    await shell.start_of_session(asks, session("first"))
    await shell.start_of_session(asks, session("second"))
    assert [await shell.is_offline(id_) for id_ in ("first", "second")] == [True, False]


async def test_chats_next_session_goes_on_without_network(
    make_plugin: Callable[..., Shell], sandboxes: None, asks: Any
) -> None:
    shell = make_plugin()
    await shell.sandbox(asks, "no-network")
    first, second, third = (Session(f"s{n}", "terminal", "c", None, 0.0) for n in (1, 2, 3))
    await shell.end_of_session(asks, first)  # by /new, or because it was idle for long
    await shell.start_of_session(asks, second)
    assert await shell.is_offline(second.id)
    asks.session.id = second.id
    await shell.sandbox(asks, "default")
    await shell.end_of_session(asks, second)
    await shell.start_of_session(asks, third)
    assert not await shell.is_offline(third.id)


async def test_running_commands_end_at_once(
    make_plugin: Callable[..., Shell], sandboxes: None, asks: Any, tmp_path: Path
) -> None:
    shell = make_plugin()
    await shell.bash(asks, "(while sleep 0.1; do date +%N > tick; done) > /dev/null 2>&1 &")
    while not (tmp_path / "tick").exists():
        await asyncio.sleep(0.05)
    await shell.sandbox(asks, "no-network")
    (tmp_path / "tick").unlink()
    await shell.bash(asks, "sleep 0.4")
    assert not (tmp_path / "tick").exists()


async def test_other_choices_and_a_machine_without_a_sandbox_are_refused(
    make_plugin: Callable[..., Shell], no_sandbox: None, asks: Any
) -> None:
    shell = make_plugin()
    assert "choose no-network or default" in await shell.sandbox(asks, "off")
    assert "No sandbox works here: there is no bwrap" in await shell.sandbox(asks, "no-network")
    assert not await shell.is_offline("s1")
    await shell.put_offline("s1", offline=True)  # chosen when there was one
    assert isinstance(await verdict(shell, asks, command="ls"), Deny)
    with pytest.raises(ToolError, match="nothing was run"):
        await shell.bash(asks, "ls")
