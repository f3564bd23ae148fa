"""Sessions are created, listed, loaded and closed, and have modes."""

from __future__ import annotations

import asyncio
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from acp import RequestError, schema
from hookline.testing import ScriptedModel, calls
from hookline_hookspecs import (
    CommandError,
    Host,
    Mode,
    Modes,
    Plugin,
    ToolOutput,
    command,
    hookimpl,
    tool,
)

from .conftest import AcpHome, Editor, connected


class FileTools(Plugin):
    """Tools that change files, by the names that editors know."""

    @tool
    def edit_file(self, path: str, old_string: str, new_string: str) -> ToolOutput:
        """Edit a file."""
        return ToolOutput("Edited.")

    @tool
    def write_file(self, path: str, content: str) -> ToolOutput:
        """Write a file."""
        return ToolOutput("Written.")


class ModesPlugin(Plugin):
    """The service ``Modes``, and a command that changes a mode."""

    def __init__(self, config: Any, host: Host) -> None:
        super().__init__(config, host)
        self.known: dict[str, Mode] = {}

    @hookimpl
    def setup(self, host: Host) -> None:
        """Offer it."""
        host.services.provide(Modes, self)

    async def get(self, session_id: str) -> Mode:
        """The mode of a session."""
        return self.known.get(session_id, "auto")

    async def set(self, session_id: str, mode: Mode) -> None:
        """Set it."""
        if mode == "plan":
            raise CommandError("there is no planning here")
        self.known[session_id] = mode

    @command("/strict")
    def strict(self, ctx: Any, args: str) -> str:
        """Be strict."""
        self.known[ctx.session.id] = "ask"
        return "Strict."


def test_loaded_session_is_replayed_with_its_changes(acp_home: AcpHome) -> None:
    change = [
        calls("edit_file", path="a.txt", old_string="two", new_string="2"),
        calls("write_file", path="b.txt", content="all"),
    ]

    async def begin(editor: Editor) -> Any:
        session = await editor.begin(acp_home.workspace)
        await editor.say(session, "change it")
        return session

    async def again(editor: Editor) -> Any:
        listed = await editor.agent.list_sessions(cwd=str(acp_home.workspace))
        elsewhere = await editor.agent.list_sessions(cwd=str(acp_home.home))
        (known,) = listed.sessions
        cwd = str(acp_home.workspace)
        await editor.agent.load_session(cwd=cwd, session_id=known.session_id)
        updates = list(editor.updates)
        done = await editor.say(known.session_id, "and now?")
        return known, elsewhere.sessions, updates, done

    session, _ = acp_home.talk(begin, FileTools, model=[["I do.", *change], "Changed."])
    model = ScriptedModel(["Still here."])
    (known, elsewhere, updates, done), _ = acp_home.talk(again, FileTools, model=model)
    assert (known.session_id, known.cwd) == (session, str(acp_home.workspace))
    assert known.title == "change it"
    assert elsewhere == []
    kinds = [one.session_update for one in updates]
    assert kinds == [
        "user_message_chunk",
        "agent_message_chunk",
        "tool_call",
        "tool_call",
        "tool_call_update",
        "tool_call_update",
        "agent_message_chunk",
        "available_commands_update",
    ]
    edited, written = updates[4].content[0], updates[5].content[0]
    assert (edited.path, edited.old_text, edited.new_text) == (
        str(acp_home.workspace / "a.txt"),
        "two",
        "2",
    )
    assert (written.old_text, written.new_text) == (None, "all")
    assert [updates[2].status, updates[4].status] == ["pending", "completed"]
    assert done.stop_reason == "end_turn"
    assert len(model.requests[0].messages) > 4  # the conversation went on


@pytest.mark.slow
def test_resume_replays_nothing(acp_home: AcpHome) -> None:
    async def begin(editor: Editor) -> str:
        session = await editor.begin(acp_home.workspace)
        await editor.say(session, "hello")
        return session

    async def again(editor: Editor) -> Any:
        await editor.agent.resume_session(cwd=str(acp_home.workspace), session_id=session)
        return [one.session_update for one in editor.updates]

    session, _ = acp_home.talk(begin, model=["Hi."])
    kinds, _ = acp_home.talk(again)
    assert kinds == ["available_commands_update"]


def test_resume_command_continues_the_other_session(acp_home: AcpHome) -> None:
    async def work(editor: Editor) -> Any:
        first, second = [await editor.begin(acp_home.workspace) for _ in range(2)]
        await editor.say(first, "my name is Ada")
        await editor.say(second, "hello")
        await editor.say(second, f"/resume {first}")
        await editor.say(second, "what is my name?")
        await editor.say(second, "/new")
        return await editor.say(second, "and now?")

    model = ScriptedModel(["Noted.", "Hi.", "Ada.", "New."])
    acp_home.talk(work, model=model)
    assert [len(one.messages) for one in model.requests] == [1, 1, 3, 1]


def test_session_list_is_paged(acp_home: AcpHome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hookline_acp.agent.PAGE_SIZE", 2)

    async def work(editor: Editor) -> Any:
        for _ in range(5):
            await editor.say(await editor.begin(acp_home.workspace), "hello")
        pages, cursor = [], None
        while not pages or cursor:
            page = await editor.agent.list_sessions(cursor=cursor)
            pages.append([one.session_id for one in page.sessions])
            cursor = page.next_cursor
        return pages

    pages, _ = acp_home.talk(work, model=["Hi."] * 5)
    assert [len(one) for one in pages] == [2, 2, 1]
    assert len({one for page in pages for one in page}) == 5


def test_closed_session_is_stopped_and_forgotten(acp_home: AcpHome) -> None:
    class Slow(Plugin):
        @tool(read_only=True)
        async def wait(self) -> str:
            """Wait."""
            await asyncio.sleep(600)
            return ""

    async def work(editor: Editor) -> Any:
        session = await editor.begin(acp_home.workspace)
        asked = asyncio.ensure_future(editor.say(session, "wait"))
        await editor.until(lambda: editor.of("tool_call_update"))
        await editor.agent.close_session(session_id=session)
        stop = (await asked).stop_reason
        with pytest.raises(RequestError, match="is not open"):
            await editor.say(session, "hello?")
        listed = await editor.agent.list_sessions()
        return stop, [one.session_id for one in listed.sessions] == [session]

    found, _ = acp_home.talk(work, Slow, model=[calls("wait")])
    assert found == ("cancelled", True)


def test_modes_are_listed_and_changes_reported(acp_home: AcpHome) -> None:
    async def work(editor: Editor) -> Any:
        made = await editor.agent.new_session(cwd=str(acp_home.workspace))
        with pytest.raises(RequestError, match="no planning here"):
            await editor.agent.set_session_mode(session_id=made.session_id, mode_id="plan")
        with pytest.raises(RequestError, match="unknown mode 'yolo'"):
            await editor.agent.set_session_mode(session_id=made.session_id, mode_id="yolo")
        await editor.say(made.session_id, "/strict")
        return made.modes

    modes, editor = acp_home.talk(work, ModesPlugin)
    assert [one.id for one in modes.available_modes] == ["ask", "auto", "plan"]
    assert modes.current_mode_id == "auto"
    assert [one.current_mode_id for one in editor.of("current_mode_update")] == ["ask"]


def test_mode_and_model_are_options_of_a_session(acp_home: AcpHome) -> None:
    async def work(editor: Editor) -> Any:
        made = await editor.agent.new_session(cwd=str(acp_home.workspace))
        choose = partial(editor.agent.set_config_option, session_id=made.session_id)
        mode = await choose(config_id="mode", value="ask")
        model = await choose(config_id="model", value="test/other")
        with pytest.raises(RequestError, match="no-such"):
            await choose(config_id="model", value="no-such/model")
        with pytest.raises(RequestError, match="unknown option 'speed'"):
            await choose(config_id="speed", value="fast")
        await editor.say(made.session_id, "/model test/model")
        again = await editor.agent.load_session(
            cwd=str(acp_home.workspace), session_id=made.session_id
        )
        return [_values(one.config_options) for one in (made, mode, model, again)]

    found, editor = acp_home.talk(work, ModesPlugin)
    assert found == [
        {"mode": "auto", "model": "test/model"},
        {"mode": "ask", "model": "test/model"},
        {"mode": "ask", "model": "test/other"},
        {"mode": "ask", "model": "test/model"},
    ]
    (changed,) = editor.of("config_option_update")
    assert _values(changed.config_options)["model"] == "test/model"


@pytest.mark.parametrize(
    ("option", "value", "why"),
    [
        ("speed", "fast", "unknown option 'speed'. Options: mode, model"),
        ("", "", "unknown option ''"),
        ("mode", "yolo", "unknown mode 'yolo'. Modes: ask, auto, plan"),
        ("mode", "", "unknown mode ''"),
        ("mode", True, "the value of mode must be a string, got True"),
        ("model", False, "the value of model must be a string, got False"),
        ("model", "", "unknown model ''"),
        ("model", "test/model\nand more", "unknown model 'test/model"),
        ("model", "no-such/model", "no-such"),
    ],
)
def test_invalid_option_changes_nothing(
    acp_home: AcpHome, option: str, value: Any, why: str
) -> None:
    async def work(editor: Editor) -> Any:
        made = await editor.agent.new_session(cwd=str(acp_home.workspace))
        change = partial(editor.agent.set_config_option, session_id=made.session_id)
        with pytest.raises(RequestError, match=re.escape(why)):
            await change(config_id=option, value=value)
        with pytest.raises(RequestError, match="session no-such is not open"):
            await editor.agent.set_config_option(
                session_id="no-such", config_id="mode", value="ask"
            )
        return await change(config_id="mode", value="auto")

    found, _ = acp_home.talk(work, ModesPlugin)
    assert _values(found.config_options) == {"mode": "auto", "model": "test/model"}


def test_options_are_changed_during_a_turn(acp_home: AcpHome) -> None:
    """The mode applies at once; the model is set when the turn is over."""

    class Slow(Plugin):
        gate: asyncio.Event

        @tool(read_only=True)
        async def wait(self) -> str:
            """Wait for the gate."""
            await self.gate.wait()
            return "waited"

    model = ScriptedModel([calls("wait"), "Done.", "Again."])

    async def work(editor: Editor) -> Any:
        Slow.gate = asyncio.Event()
        session = await editor.begin(acp_home.workspace)
        change = partial(editor.agent.set_config_option, session_id=session)
        turn = asyncio.ensure_future(editor.say(session, "wait"))
        await editor.until(lambda: editor.of("tool_call_update"))
        new_model = asyncio.ensure_future(change(config_id="model", value="test/other"))
        mode = await change(config_id="mode", value="ask")
        early = (turn.done(), new_model.done())
        Slow.gate.set()
        await turn
        changed = await new_model
        await editor.say(session, "again")
        return early, _values(mode.config_options), _values(changed.config_options)

    early, mode, changed = acp_home.talk(work, ModesPlugin, Slow, model=model)[0]
    assert early == (False, False)
    assert mode == {"mode": "ask", "model": "test/model"}
    assert changed == {"mode": "ask", "model": "test/other"}
    assert [one.model for one in model.requests] == ["test/model", "test/model", "test/other"]


@pytest.mark.parametrize("how", ["load_session", "resume_session"])
def test_options_are_restored_with_a_session(acp_home: AcpHome, how: str) -> None:
    modes: dict[str, Mode] = {}

    class KeptModes(ModesPlugin):
        """Keeps modes over restarts."""

        name = "modes"

        def __init__(self, config: Any, host: Host) -> None:
            super().__init__(config, host)
            self.known = modes

    async def begin(editor: Editor) -> str:
        session = await editor.begin(acp_home.workspace)
        change = partial(editor.agent.set_config_option, session_id=session)
        await change(config_id="mode", value="ask")
        await change(config_id="model", value="test/other")
        await editor.say(session, "hello")
        return session

    async def again(editor: Editor) -> Any:
        reopen = getattr(editor.agent, how)
        opened = await reopen(cwd=str(acp_home.workspace), session_id=session)
        fresh = await editor.agent.new_session(cwd=str(acp_home.workspace))
        await editor.say(session, "again")
        return opened, fresh

    session, _ = acp_home.talk(begin, KeptModes, model=["Hi."])
    model = ScriptedModel(["Hi again."])
    (opened, fresh), _ = acp_home.talk(again, KeptModes, model=model)
    assert _values(opened.config_options) == {"mode": "ask", "model": "test/other"}
    assert opened.modes.current_mode_id == "ask"
    assert _values(fresh.config_options)["model"] == "test/model"
    assert model.requests[0].model == "test/other"


def _values(options: Any) -> dict[str, str]:
    return {one.id: one.current_value for one in options}


def test_new_session_starts_in_command_line_mode(acp_home: AcpHome) -> None:
    async def work(editor: Editor) -> Any:
        return await editor.agent.new_session(cwd=str(acp_home.workspace))

    made, _ = acp_home.talk(work, ModesPlugin, mode="ask")
    assert made.modes.current_mode_id == "ask"


@pytest.mark.slow
def test_two_agents_share_the_sessions_of_a_home(acp_home: AcpHome) -> None:
    """The processes of a home share its sessions; here two agents stand for them."""
    first = acp_home.agent(model=["One.", "Three."])
    second = acp_home.agent(model=["Two.", "Four."])

    async def begin(editor: Editor) -> str:
        session = await editor.begin(acp_home.workspace)
        await editor.say(session, "hello")
        return session

    mine = first.run(_with(first, begin))
    assert mine != second.run(_with(second, begin))

    async def go_on(editor: Editor) -> str:
        await editor.agent.load_session(cwd=str(acp_home.workspace), session_id=mine)
        await editor.say(mine, "again")
        return editor.said

    assert second.run(_with(second, go_on)) == "One.Four."
    assert first.run(_with(first, go_on)) == "One.Four.Three."


async def _with(agent: Any, work: Any) -> Any:
    editor = Editor()
    async with connected(editor, agent):
        return await work(editor)


@pytest.mark.parametrize("cwd", ["relative", "/no/such/folder", "/a\0b", "", __file__])
def test_session_needs_an_absolute_folder(acp_home: AcpHome, cwd: str) -> None:
    async def work(editor: Editor) -> Any:
        with pytest.raises(RequestError) as caught:
            await editor.begin(Path(cwd) if cwd else "")  # type: ignore[arg-type]
        return caught.value.code

    code, _ = acp_home.talk(work)
    assert code == -32602


@pytest.mark.parametrize("session", ["nobody", "", "x" * 500, "a\nb"])
def test_unknown_session_is_refused(acp_home: AcpHome, session: str) -> None:
    async def work(editor: Editor) -> Any:
        with pytest.raises(RequestError) as caught:
            await editor.agent.load_session(cwd=str(acp_home.workspace), session_id=session)
        with pytest.raises(RequestError):
            await editor.say(session, "hello")
        await editor.agent.cancel(session_id=session)
        return caught.value.code

    code, _ = acp_home.talk(work)
    assert code == -32002


def test_mcp_servers_of_editor_need_plugin_mcp(acp_home: AcpHome) -> None:
    server = schema.McpServerStdio(name="files", command="/bin/true", args=[], env=[])

    async def work(editor: Editor) -> Any:
        session = await editor.begin(acp_home.workspace, mcp_servers=[server])
        return await editor.say(session, "hello")

    done, editor = acp_home.talk(work, model=["Hi."])
    assert done.stop_reason == "end_turn"
    assert "files" in editor.thought
    assert "hookline plugins enable mcp" in editor.thought
