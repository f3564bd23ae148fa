"""The replies and effects of each slash command."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import calls
from hookline_commands import Commands
from hookline_commands.help_texts import full_help
from hookline_commands.missing_commands import PLUGIN_BY_COMMAND
from hookline_hookspecs import (
    Command,
    Conversations,
    Host,
    Inbound,
    Overloaded,
    Plugin,
    Section,
    Session,
    Usage,
    command,
    hookimpl,
    tool,
)
from hookline_hookspecs.prices import Prices
from support.openai_server import OpenAIServer

Make = Callable[..., Any]


class Notes(Plugin):
    """A section that differs in each session, a tool and a command."""

    made = 0

    @hookimpl
    def system_prompt(self, ctx: Any, session: Session) -> Section:
        Notes.made += 1
        return Section("memory", f"NUMBER {Notes.made}")

    @tool(read_only=True)
    def look(self) -> str:
        """Look."""
        return "seen"

    @command("/standup", aliases=("/su",))
    def standup(self, ctx: Any, args: str) -> str:
        """Say what is up.

        This line is no help.
        """
        return "nothing"


class Slow(Plugin):
    """A tool that takes until the test lets it go."""

    def __init__(self, config: Any, host: Any) -> None:
        super().__init__(config, host)
        self.begun, self.free = asyncio.Event(), asyncio.Event()

    @tool
    async def wait(self) -> str:
        """Wait."""
        self.begun.set()
        await self.free.wait()
        return "waited"


def request_texts(h: Any) -> list[str]:
    return [message.text for message in h.model.last.messages]


def test_help_is_a_table_by_category_on_one_screen(harness: Make) -> None:
    h = harness(Commands, Notes)
    shown = h.send("/help").text
    rows = shown.split("\n")
    assert len(rows) <= 20
    assert max(map(len, rows)) < 80
    names = re.findall(r"/\w+", " ".join(rows[:-1]))
    listed = re.findall(r"^/\w+", h.send("/help all").text, re.MULTILINE)
    assert sorted(names) == sorted([*listed[:-1], "/exit"])
    assert re.search("^Conversation +/.*/new .*/exit$", shown, re.MULTILINE)
    assert re.search("^Plugin notes +/standup$", shown, re.MULTILINE)
    assert rows[-1] == "/help NAME explains one command, /help all describes each."


def test_help_all_lists_every_command_by_category(harness: Make) -> None:
    h = harness(Commands, Notes)
    parts = [part.split("\n") for part in h.send("/help all").text.split("\n\n")]
    themes = {heading: rows for heading, *rows in parts}
    names = [row.split(" ")[0] for rows in themes.values() for row in rows]
    own = "/help /new /stop /model /retry /undo /title /resume /queue /steer /whoami /export /init"
    assert sorted(names) == sorted([*own.split(), "/standup"])
    assert next(iter(themes)) == "Conversation"
    assert themes["Plugin notes"] == ["/standup (/su)  Say what is up."]
    # A terminal's letters are equally wide.
    assert "/new (/reset)   Start a new session." in themes["Conversation"]


@pytest.mark.parametrize(
    ("written", "near"), [("/rerty", "/retry"), ("/Clear", "/new"), ("/stp now", "/stop")]
)
def test_unknown_command_suggests_a_similar_one(harness: Make, written: str, near: str) -> None:
    h = harness(Commands)
    name = written.split()[0].casefold()
    assert h.send(written).text == f"Unknown command {name}. Did you mean {near}?"


def test_help_is_plain_on_channels_with_proportional_font() -> None:
    known = [Command("/new", "Begin anew.", lambda _ctx, _args: "", ("/reset",), category="Talk")]
    assert full_help(known, "telegram").split("\n")[:2] == ["Talk", "/new (/reset): Begin anew."]


def test_help_shows_where_commands_of_others_come_from(harness: Make) -> None:
    class Standup(Plugin):
        @command("/standup", audience="everyone")
        def standup(self, _ctx: Any, _args: str) -> str:
            """Say what was done."""
            return ""

    h = harness(Commands, Standup)
    listed = h.send("/help all").text
    assert "Plugin standup\n/standup" in listed
    assert h.send("/help standup").text.endswith("It comes from the plugin standup.")
    assert h.send("/help new").text.endswith("It comes from the plugin commands.")
    bundled = Command("/deploy", "Deploy it.", lambda _ctx, _args: "", source="bundle shop")
    assert full_help([bundled], "web").startswith("Bundle shop\n/deploy: Deploy it.")


def test_help_of_one_command_shows_its_full_text(harness: Make) -> None:
    h = harness(Commands, Notes)
    assert h.send("/help SU").text == (
        "/standup (/su)\n\nSay what is up.\n\nThis line is no help.\n\nIn a group: admins only.\n\n"
        "It comes from the plugin notes."
    )
    assert "It works while a turn is running." in h.send("/help /stop").text
    assert h.send("/help nothing").text == "Unknown command /nothing. Try /help all."


def test_whoami_names_user_and_chat(harness: Make) -> None:
    assert harness(Commands).send("/whoami").text == "terminal:tester in chat default"


def test_title_is_shown_set_and_kept(harness: Make, tmp_path: Path) -> None:
    first = harness(Commands, home=tmp_path / "one", model=["a"])
    first.send("x")
    assert first.send("/title").text == "This session has no title yet."
    assert first.send("/title A fine day").text == "Title: A fine day"
    first.close()
    h = harness(Commands, home=tmp_path / "one")
    assert h.send("/title").text == "Title: A fine day"


def test_model_is_shown_changed_and_kept(harness: Make, tmp_path: Path) -> None:
    first = harness(Commands, Notes, home=tmp_path / "one", model=["a", "b"])
    assert first.send("/model").text == "Model: test/model"
    first.send("x")
    assert first.send("/model test/other").text == "Model: test/other"
    first.send("y")
    assert [r.model for r in first.model.requests] == ["test/model", "test/other"]
    assert request_texts(first) == ["x", "a", "y"]
    assert first.model.requests[0].system == first.model.requests[1].system
    first.close()
    h = harness(Commands, Notes, home=tmp_path / "one", model=["c"])
    h.send("z")
    assert h.model.last.model == "test/other"


@pytest.mark.parametrize("wrong", ["other", "nowhere/model"])
def test_unusable_model_is_refused_with_an_error_sentence(harness: Make, wrong: str) -> None:
    h = harness(Commands, Notes, model=["a"])
    assert wrong.split("/")[0] in h.send(f"/model {wrong}").text
    h.send("x")
    assert h.model.last.model == "test/model"


def test_undo_removes_whole_turns(harness: Make, tmp_path: Path) -> None:
    first = harness(Commands, Notes, home=tmp_path / "one", model=["a", [calls("look")], "b", "c"])
    first.send("x")
    first.send("y")
    answer = "Removed the last turn (“y”) from the conversation."
    assert first.send("/undo").text == answer
    first.send("z")
    assert request_texts(first) == ["x", "a", "z"]
    assert "(“z”)" in first.send("/undo").text
    assert "(“x”)" in first.send("/undo").text
    assert first.send("/undo").text == "No turn to undo."
    first.close()
    h = harness(Commands, Notes, home=tmp_path / "one", model=["d"])
    h.send("w")
    assert request_texts(h) == ["w"]


def test_retry_replaces_the_last_turn(harness: Make) -> None:
    h = harness(Commands, Notes, model=["a", [calls("look")], "b", "c", "d"])
    h.send("x")
    h.send("y")
    outcome = h.send("/retry")
    assert (outcome.text, outcome.stop) == ("c", "done")
    assert request_texts(h) == ["x", "a", "y"]
    h.send("z")
    assert request_texts(h) == ["x", "a", "y", "c", "z"]


def test_retry_works_after_an_error(harness: Make) -> None:
    h = harness(Commands, Notes, model=[Overloaded("busy"), "a"])
    assert h.send("x").stop == "error"
    assert h.send("/retry").text == "a"
    assert request_texts(h) == ["x"]


def test_retry_without_a_turn_says_so(harness: Make) -> None:
    assert harness(Commands, Notes).send("/retry").text == "No turn to run again."


def test_new_starts_a_session_with_a_fresh_prompt(harness: Make) -> None:
    h = harness(Commands, Notes, model=["a", "b"])
    h.send("x", session=None)
    assert h.send("/new", session=None).text.startswith("New session. Go back with /resume ")
    outcome = h.send("y", session=None)
    assert request_texts(h) == ["y"]
    before, after = h.model.requests
    assert before.system != after.system
    assert before.session_id != after.session_id == outcome.turn.session.id


def test_resume_returns_to_a_session_of_the_chat(harness: Make) -> None:
    h = harness(Commands, model=["a", "b", "c", "d"])
    old = h.send("x", session=None).turn.session.id
    h.send("/new", session=None)
    assert h.send("y", session=None).turn.session.id != old
    assert h.send(f"/resume {old}", session=None).text == f"Session {old}. It is about “x”."
    assert h.send("z", session=None).turn.session.id == old
    assert request_texts(h) == ["x", "a", "z"]
    assert "/sessions" in h.send("/resume nothing", session=None).text
    heading, newest, oldest = h.send("/resume", session=None).text.splitlines()
    assert heading.startswith("Write /resume")
    assert newest.startswith(f"{old} · ")
    assert newest.endswith(" · 2 turns · `x`")
    assert oldest.endswith(" · 1 turn · `y`")


def test_resume_with_ambiguous_prefix_lists_matches(harness: Make) -> None:
    h = harness(Commands, model=["a", "b", "c"])
    for name in ("work", "work-b", "work-c"):
        h.send(f"about {name}", session=name)
    answer = h.send("/resume work-", session="other").text.splitlines()
    assert answer[0] == "Several ids begin with work-:"
    assert [line.split()[0] for line in answer[1:]] == ["work-c", "work-b"]
    assert h.send("/resume work", session="other").text == "Session work. It is about “about work”."


def test_resume_works_for_sessions_of_any_age(
    harness: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    h = harness(Commands, model=["a", "b"])
    h.send("x", session="old")
    monkeypatch.setenv("HOOKLINE_CLOCK_OFFSET", str(40 * 86400))
    h.send("/resume old", session="other")
    assert h.send("z", session="old").turn.session.id == "old"
    assert request_texts(h) == ["x", "a", "z"]


def test_undone_signal_adds_to_undo_reply(harness: Make) -> None:
    class Listens(Plugin):
        @hookimpl
        def setup(self, host: Any) -> None:
            host.signals.connect("undone", self.undone)

        def undone(self, event: Any, ctx: Any = None) -> None:
            event.notes.append(asyncio.sleep(0, f"It was turn {event.turn_id}."))

    h = harness(Commands, Listens, model=["a"])
    turn = h.send("x").turn.id
    assert h.send("/undo").text.endswith(f"from the conversation. It was turn {turn}.")


# Files


def test_export_writes_markdown_or_json(harness: Make) -> None:
    h = harness(Commands, Notes, model=[[calls("look")], "Seen it."])
    assert h.send("/export").text == "This session has no messages yet."
    h.send("Have a look")
    h.send("/title A look")
    file = h.workspace / "hookline-test.md"
    assert h.send("/export").text == f"Saved this session to {file}."
    text = file.read_text("utf-8")
    assert text.startswith("# A look\n\nSession `test`, started ")
    assert "## You\n\nHave a look\n\n## Hookline\n\n**look**" in text
    assert "```\nseen\n```\n\nSeen it.\n" in text
    assert "already exists" in h.send("/export").text
    assert "notes/talk.jsonl" in h.send("/export notes/talk.jsonl").text
    lines = (h.workspace / "notes" / "talk.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["role"] for line in lines] == [
        "user",
        "assistant",
        "user",
        "assistant",
    ]
    h.send("/export talk.json")
    talk = json.loads((h.workspace / "talk.json").read_text("utf-8"))
    assert (talk["id"], talk["title"], len(talk["messages"])) == ("test", "A look", 4)


def test_export_stays_in_the_workspace(harness: Make, tmp_path: Path) -> None:
    h = harness(Commands, model=["a"])
    h.send("x")
    h.send(f"/export {tmp_path}/elsewhere.md")
    assert not (tmp_path / "elsewhere.md").exists()


def test_init_asks_the_model_to_write_agents_md(harness: Make) -> None:
    h = harness(Commands, model=["Written."])
    outcome = h.send("/init the tests")
    assert (outcome.text, outcome.stop) == ("Written.", "done")
    (asked,) = request_texts(h)
    assert asked.startswith("Write AGENTS.md for this project")
    assert asked.endswith("What matters most to the person: the tests")


def test_resume_refuses_sessions_of_other_chats(harness: Make) -> None:
    async def go() -> None:
        await h.aopen()
        await h.channel.say("x", chat="a")
        (reply,) = await h.channel.replies(1)
        await h.channel.say(f"/resume {reply.session.id}", chat="b")
        _, refused = await h.channel.replies(2)
        assert refused.text.startswith("No session of this chat begins with")

    h = harness(Commands, model=["a"])
    h.run(go())


# While a turn is running


async def begin(h: Any) -> Any:
    """Begin a turn that waits in its tool, and the task that runs it."""
    await h.aopen()
    turn = asyncio.ensure_future(h.asend("x", session=None))
    await h.plugin(Slow).begun.wait()
    return turn


def test_stop_ends_the_running_turn(harness: Make) -> None:
    async def go() -> None:
        turn = await begin(h)
        assert (await h.asend("/STOP", session=None)).text == "Stopping."
        assert (await turn).stop == "stopped"
        assert (await h.asend("/stop", session=None)).text == "Nothing is running."

    h = harness(Commands, Slow, model=[[calls("wait")]])
    h.run(go())


def test_steer_tells_the_running_turn(harness: Make) -> None:
    async def go() -> None:
        turn = await begin(h)
        assert "Write /steer" in (await h.asend("/steer", session=None)).text
        assert (
            await h.asend("/steer mind the gap", session=None)
        ).text == "The running turn will see it."
        h.plugin(Slow).free.set()
        assert (await turn).text == "done"

    h = harness(Commands, Slow, model=[[calls("wait")], "done"])
    h.run(go())
    assert any("mind the gap" in text for text in request_texts(h))


async def answer(h: Any, text: str, number: str) -> str:
    """What a command answers while a turn is running, which nobody waits for here."""
    inbound = Inbound("terminal", "default", "tester", f"q{number}", text)
    submission = await h.runtime.dispatcher.submit(inbound, "ask")
    await submission.mark_delivered()
    return str(submission.turn.reply)


def test_queue_counts_and_adds_messages(harness: Make) -> None:
    async def go() -> None:
        turn = await begin(h)
        assert await answer(h, "/queue", "1") == "0 messages are queued."
        assert await answer(h, "/queue later", "2") == "Queued."
        for number in itertools.count(3):
            if await answer(h, "/queue", str(number)) == "1 message is queued.":
                break
        h.plugin(Slow).free.set()
        await turn
        await h.runtime.finish_background(30.0)

    h = harness(Commands, Slow, model=[[calls("wait")], "a", "b"])
    h.run(go())
    assert request_texts(h)[-1] == "later"


def test_steer_without_a_turn_is_a_message(harness: Make) -> None:
    async def go() -> None:
        assert (await h.asend("/steer mind the gap", session=None)).text == "Queued."
        await h.runtime.finish_background(30.0)

    h = harness(Commands, model=["a"])
    h.run(go())
    assert request_texts(h) == ["mind the gap"]


def offered(h: Any, command: str, typed: str = "", session: str = "test") -> list[tuple[str, str]]:
    """What a channel offers after a command."""
    found = {one.name: one for one in h.plugin(Commands).host.services[Conversations].commands()}
    return list(h.run(found[command].complete(session, typed)))


class ListedPrices(Prices):
    """Two models with a price, and local ones."""

    def models(self) -> list[str]:
        return ["deepseek/deepseek-flash", "anthropic/claude-sonnet-5-5"]

    def is_free(self, model: str) -> bool:
        return model.startswith("ollama/")

    def cost(self, model: str, usage: Usage, prompt: int | None = None) -> float | None:
        return (2 * usage.input + 10 * usage.output) / 1e6 if model in self.models() else None


class PriceList(Plugin):
    """Offers prices, as ``insights`` does."""

    @hookimpl
    def setup(self, host: Host) -> None:
        host.services.provide(Prices, ListedPrices())


def test_model_completion_shows_prices(harness: Make, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    settings = {"fallback_models": ["ollama/qwen3:8b"], "providers": {"deepseek": {"api_key": "k"}}}
    (home / "config.yaml").write_text(json.dumps(settings))
    h = harness(Commands, PriceList, home=home, model=["a"])
    h.send("x")
    known = offered(h, "/model")
    assert known[:2] == [
        ("test/model", "current model"),
        ("ollama/qwen3:8b", "in config.yaml, free (local)"),
    ]
    names = [name for name, _ in known]
    assert "deepseek/deepseek-flash" in names
    assert not any(name.startswith("anthropic/") for name in names)  # it has no key
    assert [name for name, _ in offered(h, "/model", "flash")] == ["deepseek/deepseek-flash"]
    ((_, told),) = offered(h, "/model", "anthropic/claude-sonnet-5-5")
    assert told == "$2.00 in, $10.00 out per million tokens, no key yet"


def test_help_completion_offers_command_names(harness: Make) -> None:
    h = harness(Commands, Notes)
    assert offered(h, "/help", "/st") == [
        ("standup", "Say what is up."),
        ("steer", "Tell the running turn something at its next step: /steer TEXT."),
        ("stop", "Stop the running turn."),
    ]


def test_undo_removes_several_turns_and_offers_them(harness: Make) -> None:
    h = harness(Commands, model=["a", "b", "c", "d", "e"])
    for text in ("one", "two", "three"):
        h.send(text)
    assert offered(h, "/undo") == [
        ("1", "back to before “three”"),
        ("2", "back to before “two”"),
        ("3", "back to before “one”"),
    ]
    assert h.send("/undo 2").text == "Removed 2 turns from the conversation, from “two” on."
    h.send("four")
    assert request_texts(h) == ["one", "a", "four"]
    assert "There were fewer than 9." in h.send("/undo 9").text
    assert h.send("/undo 1").text == "No turn to undo."
    for wrong in ("0", "-1", "two"):
        assert h.send(f"/undo {wrong}").text.startswith("Write /undo for the last turn")


@pytest.mark.parametrize("typed", ["/rewind", "/RollBack abcd", "/help rewind"])
def test_command_of_disabled_plugin_names_the_enable_command(harness: Make, typed: str) -> None:
    h = harness(Commands)
    answer = h.send(typed).text
    assert "the plugin checkpoints is off" in answer
    assert "`hookline plugins enable checkpoints`" in answer
    assert "To undo only the conversation, use /undo" in answer
    assert h.send("/nothing").text.startswith("Unknown command /nothing")
    assert h.model.requests == []


def test_command_of_failed_plugin_names_the_reason(harness: Make, tmp_path: Path) -> None:
    class Memory(Plugin):
        """Cannot be set up."""

        @hookimpl
        def setup(self, host: Any) -> None:
            raise OSError("the disk is away")

    answer = harness(Commands, Memory, strict=False).send("/memory x").text
    assert "memory failed" in answer
    assert "the disk is away" in answer


def test_plugin_by_command_table_knows_every_plugin_command(harness: Make) -> None:
    """The table says what the plugins beside this one have, as far as they are there."""
    plugins = Path(__file__).parents[3]
    mark = re.compile(r'@command\("(/[a-z-]+)"(?:, aliases=\("(/[a-z-]+)",\))?')
    there = {
        (name, folder.name)
        for folder in plugins.glob("*/*/")
        if folder.name not in ("commands", "scaffold")
        for file in (folder / "src").rglob("*.py")
        for found in mark.finditer(file.read_text("utf-8"))
        for name in found.groups()
        if name
    }
    assert there <= set(PLUGIN_BY_COMMAND.items())


def test_model_is_checked_against_the_servers_list_and_completed_from_it(harness: Make) -> None:
    with OpenAIServer(["hello"], models=["qwen3:8b", "gpt-oss:20b"]) as server:
        section = {"base_url": server.base_url, "api_key": "none"}
        h = harness(Commands, core={"providers": {"mine": section}}, model=["a"])
        refused = h.send("/model mine/qwen3:8").text
        assert "mine does not list 'qwen3:8'" in refused
        assert "mine/qwen3:8b" in refused
        assert "It has: qwen3:8b, gpt-oss:20b" in h.send("/model mine/nonsense").text
        assert [name for name, _ in offered(h, "/model", "mine/q")] == ["mine/qwen3:8b"]
        assert h.send("/model mine/qwen3:8b").text == "Model: mine/qwen3:8b"
        assert h.send("hi").text == "hello"


@pytest.mark.parametrize(
    ("written", "answer"),
    [
        ("qwen3:8b", "Model: mine/qwen3:8b"),
        ("google/gemma-3", "Model: mine/google/gemma-3"),
        ("`mine/qwen3:8b`", "Model: mine/qwen3:8b"),
        ("mine / qwen3:8b", "Model: mine/qwen3:8b"),
        ("qwen4", "Invalid model 'qwen4'"),
        ("mine/", "Invalid model 'mine/'"),
        ("mien/qwen3:8b", "did you mean mine?"),
    ],
)
def test_model_is_understood_as_people_write_it(harness: Make, written: str, answer: str) -> None:
    with OpenAIServer(models=["qwen3:8b", "google/gemma-3"]) as server:
        section = {"base_url": server.base_url, "api_key": "none"}
        h = harness(Commands, core={"providers": {"mine": section}}, model=["a"])
        h.send("/model mine/google/gemma-3")
        assert answer in h.send(f"/model {written}").text


def test_model_is_accepted_if_the_server_lists_none(harness: Make) -> None:
    section = {"base_url": "http://127.0.0.1:9/v1", "api_key": "none"}
    h = harness(Commands, core={"providers": {"mine": section}}, model=["a"])
    assert h.send("/model mine/any").text == "Model: mine/any"
