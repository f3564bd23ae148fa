"""An editor, made of the SDK's own client, and agents that it talks to in this process."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from acp import connect_to_agent, schema, text_block
from hookline.testing import Harness
from hookline_acp import Acp

T = TypeVar("T")
LINE = 10**8
"""Bytes of a line that the client reads."""


class Editor:
    """The client's side: it keeps updates, and answers as ``answer`` says.

    ``answer`` is the id of the option that is chosen, ``cancelled``, or a function of the request.
    """

    def __init__(self, answer: Any = "Allow once") -> None:
        self.answer = answer
        self.updates: list[Any] = []
        self.asked: list[tuple[schema.ToolCallUpdate, list[schema.PermissionOption]]] = []
        self.agent: Any = None

    def on_connect(self, conn: Any) -> None:
        """Nothing is said before it is asked."""

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        """Keep an update."""
        self.updates.append(update)

    async def request_permission(
        self, session_id: str, tool_call: Any, options: Any, **_: Any
    ) -> schema.RequestPermissionResponse:
        """Choose."""
        self.asked.append((tool_call, options))
        answer = self.answer(tool_call) if callable(self.answer) else self.answer
        if isinstance(answer, Awaitable):
            answer = await answer
        if answer == "cancelled":
            return schema.RequestPermissionResponse(
                outcome=schema.DeniedOutcome(outcome="cancelled")
            )
        chosen = schema.AllowedOutcome(outcome="selected", option_id=answer)
        return schema.RequestPermissionResponse(outcome=chosen)

    # Updates

    def of(self, kind: str) -> list[Any]:
        """The updates of one kind."""
        return [one for one in self.updates if one.session_update == kind]

    @property
    def said(self) -> str:
        """The agent's text."""
        return "".join(one.content.text for one in self.of("agent_message_chunk"))

    @property
    def thought(self) -> str:
        """The thoughts."""
        return "".join(one.content.text for one in self.of("agent_thought_chunk"))

    def call(self, title: str) -> list[Any]:
        """The states of the call with this title, oldest first."""
        started = next(one for one in self.of("tool_call") if title in one.title)
        later = self.of("tool_call_update")
        return [started, *(one for one in later if one.tool_call_id == started.tool_call_id)]

    def states(self, title: str) -> list[str]:
        """Their names."""
        return [one.status for one in self.call(title)]

    # What it asks

    async def begin(self, workspace: Path, **more: Any) -> str:
        """The id of a new session."""
        made = await self.agent.new_session(cwd=str(workspace), **more)
        return str(made.session_id)

    async def say(self, session_id: str, *blocks: Any) -> Any:
        """The answer to a prompt of words and blocks."""
        prompt = [text_block(one) if isinstance(one, str) else one for one in blocks]
        return await self.agent.prompt(session_id=session_id, prompt=prompt)

    async def until(self, true: Callable[[], Any]) -> Any:
        """Wait for something."""
        async with asyncio.timeout(60):
            while not (found := true()):
                await asyncio.sleep(0.01)
        return found


@asynccontextmanager
async def connected(editor: Editor, agent: Harness, mode: str = "") -> AsyncIterator[Editor]:
    """An editor that has started the agent, in this process."""
    from hookline_acp.agent_server import serve

    await agent.aopen()
    host = agent.plugin(Acp).host
    to_agent, from_agent = os.pipe(), os.pipe()
    loop = asyncio.get_running_loop()
    serving = asyncio.ensure_future(serve(host, (to_agent[0], from_agent[1]), mode))
    reader = asyncio.StreamReader(limit=LINE)
    reading, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(from_agent[0], "rb")
    )
    writing, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(to_agent[1], "wb")
    )
    writer = asyncio.StreamWriter(writing, protocol, None, loop)
    editor.agent = connect_to_agent(editor, writer, reader, use_unstable_protocol=True)  # type: ignore[arg-type]
    try:
        yield editor
    finally:
        writing.close()
        await asyncio.wait_for(serving, 60)
        os.close(from_agent[1])
        await editor.agent.close()
        reading.close()
        await asyncio.sleep(0)
        os.close(to_agent[0])


class AcpHome:
    """A home, its workspace, and the agents in it one after the other."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.home.mkdir(mode=0o700)
        self.workspace = (folder / "workspace").resolve()
        self.workspace.mkdir()
        self._made: list[Harness] = []

    def agent(self, *plugins: Any, **more: Any) -> Harness:
        """An agent with the plugin and these."""
        made = Harness(*plugins, Acp, home=self.home, workspace=self.workspace, **more)
        self._made.append(made)
        return made

    def talk(
        self,
        work: Callable[[Editor], Awaitable[T]],
        *plugins: Any,
        answer: Any = "Allow once",
        mode: str = "",
        editor: Editor | None = None,
        **more: Any,
    ) -> tuple[T, Editor]:
        """What ``work`` does with an editor, and the editor."""
        agent, editor = self.agent(*plugins, **more), editor or Editor(answer)

        async def inside() -> T:
            async with connected(editor, agent, mode):
                return await work(editor)

        found = agent.run(inside())
        agent.close()
        return found, editor

    def close(self) -> None:
        """End every agent."""
        for one in self._made:
            one.close()


@pytest.fixture
def acp_home(tmp_path: Path) -> Iterator[AcpHome]:
    """An empty home."""
    made = AcpHome(tmp_path)
    yield made
    made.close()
