"""What a type checker reports to the author of a plugin; each mistake is its own file.

The line of a mistake ends with a comment that names the error which mypy has to report there.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping

import pytest

HEADER = """
from dataclasses import replace

from hookline_hookspecs import (
    Context, ContextBlock, Deny, Host, Inbound, ModelRequest, Plugin, Reply, Section, Session,
    ToolCall, ToolResult, Turn, Verdict, command, hookimpl, tool,
)
from pydantic import BaseModel

class Settings(BaseModel):
    greeting: str = "Hello"
    limit: int = 3
"""
RIGHT = {
    "without_settings": """
class Sample(Plugin):
    @hookimpl
    def setup(self, host: Host) -> None:
        host.log.info("%s", self.config.model_dump())
""",
    "with_settings": """
class Sample(Plugin[Settings]):
    @tool(read_only=True, cache_ttl=60.0)
    def greet(self, name: str, times: int = 1) -> str:
        return self.config.greeting * times

    @tool
    async def count(self, ctx: Context, words: list[str]) -> dict[str, int]:
        return {"words": len(words), "limit": self.config.limit}

    @command("/greet", immediate=True)
    def show(self, ctx: Context, args: str) -> str:
        return self.config.greeting
""",
    "plain_hooks": """
class Sample(Plugin[Settings]):
    @hookimpl
    def pre_tool(self, ctx: Context, call: ToolCall) -> Deny | None:
        return Deny("no") if call.name == "greet" else None

    @hookimpl
    def post_tool(self, ctx: Context, result: ToolResult) -> ToolResult:
        return replace(result, text=result.text[: self.config.limit])

    @hookimpl
    def system_prompt(self, ctx: Context, session: Session) -> Section:
        return Section("guidance", self.config.greeting)
""",
    "coroutine_hooks": """
class Sample(Plugin):
    @hookimpl
    async def pre_tool(self, ctx: Context, call: ToolCall) -> Verdict | None:
        return None

    @hookimpl
    async def pre_prompt(self, ctx: Context, turn: Turn) -> list[ContextBlock]:
        return [ContextBlock("notices", turn.inbound.text)]

    @hookimpl
    async def end_of_turn(self, ctx: Context, turn: Turn) -> None:
        await ctx.host.storage.kv.set("last", turn.reply)
""",
    "inherited": """
class Base(Plugin[Settings]):
    pass

class Sample(Base):
    @tool
    def greet(self) -> str:
        return self.config.greeting
""",
    "revealed": """
class Sample(Plugin[Settings]):
    @hookimpl
    def setup(self, host: Host) -> None:
        reveal_type(self.config)  # Settings
        reveal_type(self.config.limit)  # int
        reveal_type(host.now())  # float

class Bare(Plugin):
    @hookimpl
    def post_tool(self, ctx: Context, result: ToolResult) -> None:
        reveal_type(self.config)  # NoConfig
        reveal_type(result.call.name)  # str
        reveal_type(ctx.session.parent_id)  # str | None
""",
}
HOOK = """
class Sample(Plugin[Settings]):
    @hookimpl
    {}
"""
WRONG_HOOKS = {
    "event_of_another_hook": (
        "def pre_tool(self, ctx: Context, call: ToolResult) -> None: ...  # override"
    ),
    "answer_of_another_hook": (
        "def on_message(self, ctx: Context, inbound: Inbound) -> Reply | None: return None"
        "  # override"
    ),
    "coroutine_answer": (
        "async def pre_tool(self, ctx: Context, call: ToolCall) -> str: return ''  # override"
    ),
    "no_context": "def pre_tool(self, call: ToolCall) -> None: ...  # override",
    "no_event": "async def pre_reply(self, ctx: Context) -> None: ...  # override",
    "one_more_argument": (
        "def end_of_turn(self, ctx: Context, turn: Turn, more: int) -> None: ...  # override"
    ),
    "no_types": "def pre_tool(self, ctx, call): ...  # no-untyped-def",
    "coroutine_where_only_def_is_called": (
        "async def register_tools(self, register: object) -> None: ...  # override"
    ),
    "field_of_an_event": (
        "def pre_tool(self, ctx: Context, call: ToolCall) -> None: print(call.argumets)"
        "  # attr-defined"
    ),
    "field_of_a_field": (
        "def pre_prompt(self, ctx: Context, turn: Turn) -> None: print(turn.inbound.txt)"
        "  # attr-defined"
    ),
    "context": (
        "def pre_prompt(self, ctx: Context, turn: Turn) -> None: print(ctx.sesion)  # attr-defined"
    ),
    "host": "def setup(self, host: Host) -> None: print(host.storge)  # attr-defined",
    "service": (
        "async def setup(self, host: Host) -> None: await host.storage.kv.put('a', 1)"
        "  # attr-defined"
    ),
    "setting": "def setup(self, host: Host) -> None: print(self.config.greting)  # attr-defined",
    "type_of_a_setting": (
        "def setup(self, host: Host) -> None: print(self.config.limit.upper())  # attr-defined"
    ),
    "replaced_field": (
        "def pre_reply(self, ctx: Context, reply: Reply) -> Reply: return replace(reply, txt='')"
        "  # call-arg"
    ),
    "replaced_value": (
        "def pre_model(self, ctx: Context, request: ModelRequest) -> ModelRequest:"
        " return replace(request, system=1)  # arg-type"
    ),
    "changed_event": (
        "def post_tool(self, ctx: Context, result: ToolResult) -> None: result.text = ''  # misc"
    ),
    "verdict": (
        "def pre_tool(self, ctx: Context, call: ToolCall) -> Deny: return Deny(why='')  # call-arg"
    ),
    "slot": (
        "def system_prompt(self, ctx: Context, session: Session) -> Section:"
        " return Section('guidence', '')  # arg-type"
    ),
}
WRONG = {name: HOOK.format(method) for name, method in WRONG_HOOKS.items()} | {
    "tool_option": """
class Sample(Plugin):
    @tool(readonly=True)  # call-overload
    def greet(self) -> str: return ""
""",
    "value_of_a_tool_option": """
class Sample(Plugin):
    @tool(read_only="yes")  # call-overload
    def greet(self) -> str: return ""
""",
    "command_option": """
class Sample(Plugin):
    @command("/greet", now=True)  # call-arg
    def greet(self, ctx: Context, args: str) -> str: return ""
""",
    "setting_of_a_plugin_without": """
class Sample(Plugin):
    @tool
    def greet(self) -> str:
        return str(self.config.greeting)  # attr-defined
""",
    "settings_that_are_no_model": """
class Sample(Plugin[dict[str, str]]): ...  # type-var
""",
}
_SAID = re.compile(r"^(\w+)\.py:(\d+): (error|note): (.*)$")


@pytest.fixture(scope="module")
def mypy_output(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, dict[int, str]]:
    """What mypy says of every file, in one run: a file's name to its lines to their sentence."""
    folder = tmp_path_factory.mktemp("author")
    (folder / "mypy.ini").write_text("[mypy]\n", "utf-8")
    found: dict[str, dict[int, str]] = {}
    for name, text in {**RIGHT, **WRONG}.items():
        (folder / f"{name}.py").write_text(HEADER + text, "utf-8")
        found[name] = {}
    command = [sys.executable, "-m", "mypy", "--strict", "--hide-error-context"]
    command += ["--config-file", "mypy.ini", *(f"{name}.py" for name in found)]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    for match in filter(None, map(_SAID.match, run.stdout.splitlines())):
        # Notes that explain an error follow it.
        found[match[1]].setdefault(int(match[2]), match[4])
    return found


def commented(text: str) -> dict[int, str]:
    """The comments at the ends of lines, by line."""
    lines = (HEADER + text).splitlines()
    return {n: line.split("  # ")[1] for n, line in enumerate(lines, 1) if "  # " in line}


@pytest.mark.parametrize("name", [name for name in RIGHT if name != "revealed"])
def test_correct_plugin_has_no_type_errors(
    mypy_output: Mapping[str, dict[int, str]], name: str
) -> None:
    assert mypy_output[name] == {}


@pytest.mark.parametrize("name", WRONG)
def test_type_error_is_reported_on_the_line_of_the_mistake(
    mypy_output: Mapping[str, dict[int, str]], name: str
) -> None:
    expected = {line: f"[{code}]" for line, code in commented(WRONG[name]).items()}
    assert len(expected) == 1
    assert {line: text[text.rfind("[") :] for line, text in mypy_output[name].items()} == expected


def test_plugin_attributes_are_typed(mypy_output: Mapping[str, dict[int, str]]) -> None:
    kinds = commented(RIGHT["revealed"])
    told = {line: text.split('"')[1] for line, text in mypy_output["revealed"].items()}
    assert told.keys() == kinds.keys()
    assert {line: kind for line, kind in told.items() if not kind.endswith(kinds[line])} == {}
