"""``hookline doctor``, ``hooks``, ``prompt``, ``plugins info|purge`` and ``sessions``."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hookline_hookspecs import (
    HOOKS,
    Check,
    CheckResult,
    ModelRequest,
    Plugin,
    Section,
    Session,
    Turn,
    hookimpl,
    tool,
)
from hookline_hookspecs.plugin import NoConfig
from hookline_inspect import Inspect, output, plugin_info, plugin_listing
from pydantic import BaseModel, Field, SecretStr

Make = Callable[..., Any]
Run = Callable[..., Any]


class NotesConfig(BaseModel):
    token: SecretStr = Field(SecretStr(""), description="opens the door")
    depth: int = Field(3, description="how deep it looks")


class Notes(Plugin[NotesConfig]):
    @hookimpl
    def system_prompt(self, ctx: Any, session: Session) -> Section:
        return Section("memory", "Remember the wombats.")

    @hookimpl
    async def start_of_turn(self, ctx: Any, turn: Turn) -> None:
        if turn.inbound.text == "store":
            await self.host.storage.kv.set("one", "v" * 10)

    @hookimpl
    def pre_prompt(self, ctx: Any, turn: Turn) -> None:
        if turn.inbound.text == "break":
            raise ValueError("it is broken")

    @tool(read_only=True)
    def look(self) -> str:
        """Look."""
        return "seen"


# doctor


def test_doctor_runs_every_check_and_fails_if_one_fails(harness: Make) -> None:
    class Checked(Plugin[NoConfig]):
        @hookimpl
        def register_checks(self, register: Callable[[Check], None]) -> None:
            async def awaited() -> CheckResult:
                return CheckResult(True, "it is there")

            register(Check("awaited", awaited))
            register(Check("hinted", lambda: CheckResult(False, "unset", "set it", hint=True)))
            register(Check("raises", lambda: [][0]))

    h = harness(Inspect, Checked)
    done = h.cli("doctor --json")
    rows = [row for row in json.loads(done.stdout) if row.pop("plugin") == "checked"]
    assert rows == [
        {"name": "awaited", "ok": True, "detail": "it is there", "fix": ""},
        {"name": "hinted", "ok": True, "detail": "unset", "fix": "set it"},
        {
            "name": "raises",
            "ok": False,
            "detail": "the check failed: list index out of range",
            "fix": "see the log",
        },
    ]
    assert done.exit_code == 1
    lines = h.cli("doctor").stdout.splitlines()
    assert "ok   checked: hinted: unset (optional: set it)" in lines
    assert "FAIL checked: raises: the check failed: list index out of range → see the log" in lines
    assert "problem" in lines[-1]


@pytest.mark.parametrize("command", ["doctor --offline", "plugins list"])
def test_output_fits_the_terminal_width(
    harness: Make, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    class Wordy(Plugin[NoConfig]):
        @hookimpl
        def register_checks(self, register: Callable[[Check], None]) -> None:
            register(Check("wordy", lambda: CheckResult(True, "word " * 60)))

    for module in (output, plugin_info):
        monkeypatch.setattr(module, "terminal_columns", lambda: 60)
    lines = harness(Inspect, Wordy).cli(command).stdout.splitlines()
    assert [line for line in lines if len(line) > 60 and " " in line.strip()] == []
    assert len(lines) > 5


# plugins list


def test_plugins_list_shows_what_each_plugin_does(
    harness: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = plugin_listing.distribution

    def distribution(name: str) -> Any:
        if name == "hookline-telegram":
            raise PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(plugin_listing, "distribution", distribution)
    lines = harness(Inspect, Notes).cli("plugins list").stdout.splitlines()
    (row,) = [line for line in lines if line.startswith("titles ")]
    summary = "gives each session a title after the second message."
    assert row.split(maxsplit=2)[1:] == ["off", summary]
    assert lines[-1] == "Not installed: telegram. To install: hookline plugins enable NAME"


# hooks


def test_hooks_are_listed_in_call_order(harness: Make, data: Run, refused: Run) -> None:
    class Other(Plugin[NoConfig]):
        @hookimpl
        def pre_prompt(self, ctx: Any, turn: Turn) -> None:
            return None

    h = harness(Inspect, Notes, Other)
    rows = data(h, "hooks")
    assert [row["name"] for row in rows] == list(HOOKS)
    assert data(h, "hooks", name="pre_prompt") == [
        {"name": "pre_prompt", "kind": "collect", "deadline": 30, "impls": ["notes", "other"]}
    ]
    assert refused(h, "hooks", name="pre_promt") == (
        2,
        "hookline: unknown hook pre_promt. Did you mean pre_prompt?\n",
    )


def test_hooks_command_prints_a_table(harness: Make, run: Run) -> None:
    lines = run(harness(Inspect, Notes), "hooks", name="around_tool").splitlines()
    assert [line.split()[:3] for line in lines] == [
        ["hook", "kind", "deadline"],
        ["around_tool", "around", "none"],
    ]


# prompt


def test_prompt_command_shows_text_and_cost_of_each_part(
    harness: Make, data: Run, run: Run
) -> None:
    h = harness(Inspect, Notes)
    found = data(h, "prompt")
    assert "Remember the wombats." in found["system"]
    assert found["sha256"]["system"] == hashlib.sha256(found["system"].encode()).hexdigest()
    parts = {(p["plugin"], p["section"]): (p["chars"], p["tokens"]) for p in found["by_plugin"]}
    assert parts["notes", "memory"] == (21, 6)
    assert ("notes", "tool look") in parts
    assert found["tokens"]["total"] == found["tokens"]["system"] + found["tokens"]["tools"]
    text = run(h, "prompt")
    assert text.startswith(found["system"])
    assert found["sha256"]["tools"] in text


def test_prompt_command_names_the_last_prefix_break(
    harness: Make, data: Run, run: Run, refused: Run
) -> None:
    class Rewrites(Plugin[NoConfig]):
        @hookimpl
        def pre_send(self, ctx: Any, wire: Any) -> Any:
            first, *others = wire.fragments
            change = len(others) == 2
            return replace(wire, fragments=(first.upper(), *others)) if change else None

    h = harness(Inspect, Rewrites, model=["a", "b"])
    h.send("x")
    assert data(h, "prompt", session="test")["last_break"] is None
    assert "The prefix has never changed" in run(h, "prompt", session="test")
    h.send("y")
    broken = data(h, "prompt", session="test")["last_break"]
    assert (broken["tier"], broken["plugin"], broken["message"]) == ("history", "rewrites", 1)
    text = run(h, "prompt", session="test")
    assert f"by rewrites: message 1, from byte {broken['offset']} on" in text
    assert refused(h, "prompt", session="no")[0] == 2


def test_prompt_of_session_is_the_one_it_sent(harness: Make, data: Run) -> None:
    h = harness(Inspect, Notes, model=["a"])
    h.send("x")
    request: ModelRequest = h.model.last
    assert data(h, "prompt", session="test")["system"] == request.system


# plugins info, plugins purge


def test_plugins_info_shows_everything_about_a_plugin(harness: Make, data: Run, run: Run) -> None:
    settings = {"notes": {"token": "hunter2", "depth": 5}}
    h = harness(Inspect, Notes, model=["a", "b"], config=settings, strict=False)
    h.send("store")
    h.send("break")
    found = data(h, "info", name="notes")
    assert (found["name"], found["state"]) == ("notes", "on")
    assert "pre_prompt (collect)" in found["hooks"]
    (cost,) = found["tools"]
    assert cost.startswith("look (")
    assert cost.endswith(" tokens)")
    assert set(found["schema"]["properties"]) == {"token", "depth"}
    assert found["storage"]["values"] == 1
    assert found["storage"]["bytes"] >= 10
    (error,) = found["errors"]
    assert (error["hook"], "it is broken" in error["reason"]) == ("pre_prompt", True)
    text = run(h, "info", name="notes")
    assert "how deep it looks" in text
    assert "it is broken" in text
    assert "hunter2" not in text + json.dumps(found)


def test_plugin_failures_are_shown_in_next_process(harness: Make, data: Run) -> None:
    class Loud(Plugin[NoConfig]):
        hoarse = True

        @hookimpl
        def register_tools(self, register: Any) -> None:
            if self.hoarse:
                raise ValueError("it has no voice")

    before = harness(Loud, Notes, Inspect, model=["a"], strict=False)
    before.send("break")
    before.close()
    Loud.hoarse = False
    h = harness(Loud, Notes, Inspect, home=before.home)
    reason = data(h, "info", name="loud")["reason"]
    assert reason.startswith("last failure: register_tools: ValueError: it has no voice (")
    assert Path(__file__).name in reason
    assert "last failure: pre_prompt: ValueError: it is broken" in h.send("/plugins").text


def test_plugins_info_stores_nothing(harness: Make, data: Run) -> None:
    h = harness(Inspect, Notes)
    nothing = {"tables": {}, "values": 0, "bytes": 0}
    assert data(h, "info", name="notes")["storage"] == nothing
    assert not (h.home / "plugins" / "notes").exists()


def test_plugins_info_of_unknown_plugin_suggests_a_name(harness: Make, refused: Run) -> None:
    code, sentence = refused(harness(Inspect, Notes), "info", name="nots")
    assert code == 2
    assert "unknown plugin nots. Did you mean notes?" in sentence


@pytest.mark.slow
def test_plugins_purge_needs_yes_option(harness: Make, data: Run, run: Run, refused: Run) -> None:
    h = harness(Inspect, Notes, model=["a"])
    h.send("store")
    code, sentence = refused(h, "purge", name="notes")
    assert (code, "--yes" in sentence) == (2, True)
    assert data(h, "info", name="notes")["storage"]["values"] == 1
    assert run(h, "purge", name="notes", yes=True) == "Deleted what notes had stored.\n"
    assert data(h, "info", name="notes")["storage"]["values"] == 0


# sessions


@pytest.mark.parametrize(
    ("action", "words"),
    [("list", ["x"]), ("show", []), ("export", ["a", "b"]), ("delete", []), ("search", [])],
)
def test_sessions_action_names_missing_arguments(
    harness: Make, refused: Run, action: str, words: list[str]
) -> None:
    code, sentence = refused(harness(Inspect), "sessions", action=action, words=words)
    assert code == 2
    assert "sessions" in sentence


def test_sessions_unknown_action_suggests_one(harness: Make) -> None:
    h = harness(Inspect)
    for action, hint in (("lst", "Did you mean list?"), ("zzz", "Use one of list, show, search")):
        done = h.cli(f"sessions {action}")
        assert (done.exit_code, done.stdout) == (2, "")
        assert done.stderr.startswith(f"hookline: unknown action {action}. {hint}")


@pytest.mark.parametrize("action", ["show", "export", "delete"])
def test_unknown_session_is_refused(harness: Make, refused: Run, action: str) -> None:
    code, sentence = refused(harness(Inspect), "sessions", action=action, words=["no"], yes=True)
    assert (code, sentence.startswith("hookline: unknown session no.")) == (2, True)


def test_session_prefix_works_unless_ambiguous(
    harness: Make, run: Run, data: Run, refused: Run
) -> None:
    h = harness(Inspect, model=["a"] * 3)
    for name in ("work", "work-b", "other"):
        h.send(f"about {name}", session=name)
    assert "about other" in run(h, "sessions", action="show", words=["o"])
    assert "about work\n" in run(h, "sessions", action="show", words=["work"])
    code, sentence = refused(h, "sessions", action="export", words=["wo"])
    assert code == 2
    assert "wo matches several sessions" in sentence
    assert "about work-b" in sentence
    assert "several" in refused(h, "trace", session="wo")[1]
    assert "no turn of session work-b was traced" in refused(h, "trace", session="work-")[1]
    assert "about work-b" in run(h, "sessions", action="list")
    assert [row["title"] for row in data(h, "sessions", action="list")] == [None] * 3
    run(h, "sessions", action="delete", words=["work-"], yes=True)
    assert len(data(h, "sessions", action="list")) == 2


class Screen(StringIO):
    """Standard output on a terminal."""

    def isatty(self) -> bool:
        return True


def test_session_list_fits_the_terminal_width(
    harness: Make, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    h = harness(Inspect, model=["a"])
    h.send("word " * 40, session="20260101-0a1b2c3d")
    assert max(map(len, run(h, "sessions").splitlines())) > 80
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("hookline.testing.command_line.StringIO", Screen)
    assert max(map(len, run(h, "sessions").splitlines())) == 80


def test_session_list_of_fresh_home_is_empty(harness: Make, run: Run) -> None:
    assert run(harness(Inspect), "sessions", action="list") == "No sessions yet.\n"


def test_sessions_show_and_list_hide_nothing_and_forge_no_line(harness: Make, run: Run) -> None:
    h = harness(Inspect, model=["a"])
    h.send("read \u202etxt.sh\n[assistant] I p\u0430id", session="s")
    assert "read \\u202etxt.sh [assistant] I p\\u0430id" in run(h, "sessions", action="list")
    shown = run(h, "sessions", action="show", words=["s"])
    assert "\n  [assistant] I p" in shown
    assert "\u202e" not in shown


def test_sessions_list_limit_and_search_work(harness: Make, data: Run, run: Run) -> None:
    h = harness(Inspect, model=["a", "b"])
    h.send("one aardvark walks", session="one")
    h.send("two aardvarks walk", session="two")
    assert len(data(h, "sessions", action="list", limit=1)) == 1
    found = data(h, "sessions", action="search", words=["walk", "two"])
    assert [row["session_id"] for row in found] == ["two"]
    assert "[user] two aardvarks walk" in run(h, "sessions", action="search", words=["aardvarks"])


def test_message_cannot_break_lines_or_control_the_terminal(harness: Make, run: Run) -> None:
    text = "a\u2028b\x1b[2Jc\x85d"
    h = harness(Inspect, model=["ok"])
    h.send(text)
    exported = run(h, "sessions", action="export", words=["test"])
    assert len(exported.splitlines()) == 2
    assert json.loads(exported.split("\n")[0])["blocks"][0]["text"] == h.model.last.messages[0].text
    assert "\x1b" not in run(h, "sessions", action="show", words=["test"])


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_closed_pipe_is_no_error(encoding: str, tmp_path: Path) -> None:
    script = (
        "from hookline_inspect.output import print_json, print_text\n"
        "for _ in range(20000): print_text('✓ grüße'); print_json({'a': '✓😀'})"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PYTHONIOENCODING": encoding},
    )
    assert process.stdout is not None
    process.stdout.readline()
    line = process.stdout.readline()
    process.stdout.close()
    assert json.loads(line) == {"a": "✓😀"}
    assert process.stderr is not None
    assert (process.wait(), process.stderr.read()) == (0, b"")
    process.stderr.close()
