"""``PluginContract`` accepts a sound plugin and reports each problem in a sentence.

Each fault is a plugin of its own, given to the one test that must find it.
"""

from __future__ import annotations

import asyncio
import inspect
import re
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Protocol

import pytest
from hookline.sessions.prompt import core_sections
from hookline.testing import PluginContract
from hookline_hookspecs import (
    HOOKS,
    Answer,
    Context,
    Deny,
    Host,
    Inbound,
    ModelRequest,
    NoConfig,
    Plugin,
    Reply,
    Section,
    Session,
    Tool,
    ToolCall,
    Turn,
    WireRequest,
    command,
    hookimpl,
    tool,
)
from pydantic import BaseModel, Field, SecretStr, field_serializer, field_validator

pytest_plugins = "pytester"
Make = Callable[..., Any]


class Clock(Protocol):
    """What a sibling offers."""

    def tell(self) -> str:
        """The time."""


class Sibling(Plugin[NoConfig]):
    """Another plugin that has to be on."""


class GreeterConfig(BaseModel):
    greeting: str = "Hello"
    api_key: SecretStr | None = None
    max_tokens: int = 100
    city: str


class Greeter(Plugin[GreeterConfig]):
    """A sound plugin that uses a bit of everything."""

    requires = ("sibling", "somebody-else")

    @tool(read_only=True)
    def greet(self, name: str) -> str:
        """Greet a person."""
        return f"{self.config.greeting}, {name}!"

    @command("/greet")
    def greet_now(self, ctx: Context, args: str) -> str:
        """Greet at once."""
        return self.greet(args)

    @hookimpl
    async def setup(self, host: Host) -> None:
        self.clock = host.services[Clock]
        self.stopping = asyncio.Event()
        host.spawn(self.stopping.wait(), "waits")
        host.signals.connect("reply_sent", lambda event, ctx: None)

    @hookimpl
    def teardown(self, host: Host) -> None:
        self.stopping.set()

    @hookimpl
    def system_prompt(self, ctx: Context, session: Session) -> list[Section]:
        return [Section("guidance", f"Greet people in {self.config.city}.")]

    @hookimpl
    def on_message(self, ctx: Context, inbound: Inbound) -> Deny | None:
        return Deny("") if inbound.text == "spam" else None

    @hookimpl
    async def pre_tool(self, ctx: Context, call: ToolCall) -> Answer | None:
        await asyncio.sleep(0)
        return Answer("known") if call.arguments.get("name") == "Bo" else None

    @hookimpl
    def around_tool(self, ctx: Context, call: ToolCall) -> Any:
        async def middleware(asked: ToolCall, call_next: Any) -> Any:
            return await call_next(asked)

        return middleware

    @hookimpl
    def on_error(self) -> None:
        """Takes nothing at all."""


class TestGreeterContract(PluginContract):
    """The contract as an author writes it."""

    plugin = Greeter
    config: ClassVar = {"greeting": "Hi", "city": "Bern"}
    needs = (Sibling,)
    services: ClassVar = {Clock: object()}


HALF = """
from hookline.testing import PluginContract
from hookline_hookspecs import Plugin
from pydantic import BaseModel

class HalfConfig(BaseModel):
    token: str = ""

class Half(Plugin[HalfConfig]):
    pass

class TestHalfContract(PluginContract):
    plugin = Half
"""


@pytest.mark.slow
def test_contract_failure_shows_only_the_sentence(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=HALF)
    result = pytester.runpytest("-p", "no:asyncio")
    assert result.parseoutcomes() == {"passed": 11, "failed": 1, "skipped": 2}
    failures = result.stdout.str().partition("= FAILURES =")[2].partition("= short test")[0]
    _, sentence = failures.strip("=\n").split("\n")
    assert sentence == (
        "token of HalfConfig is named like a secret and is plain text. Declare it as pydantic's "
        "SecretStr, or name it in the contract's `not_secret`."
    )


# One fault each


@pytest.fixture
def contract_failure(harness: Make, tmp_path: Path) -> Callable[..., str]:
    """Run one test of the contract on a plugin that must fail it; return the message."""

    def run(test: str, kind: Any, harness: Make = harness, **attributes: Any) -> str:
        contract = type("Contract", (PluginContract,), {"plugin": kind, **attributes})()
        method = getattr(contract, test)
        given = {"harness": harness, "tmp_path": tmp_path}
        wanted = inspect.signature(method).parameters
        with pytest.raises(pytest.fail.Exception) as caught:
            method(**{name: given[name] for name in wanted})
        return str(caught.value)

    return run


HEAVY = """
from hookline_hookspecs import NoConfig, Plugin
{line}

class Heavy(Plugin[NoConfig]):
    pass
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Any]:
    """Write a module, import it, and forget it afterwards."""
    monkeypatch.syspath_prepend(tmp_path)

    def make(name: str, text: str) -> Any:
        (tmp_path / f"{name}.py").write_text(text, "utf-8")
        monkeypatch.delitem(sys.modules, name, raising=False)
        module = __import__(name)
        monkeypatch.setitem(sys.modules, name, module)
        return module

    return make


@pytest.mark.slow
def test_contract_reports_heavy_import_by_file_and_line(
    contract_failure: Any, package: Any
) -> None:
    kind = package("heavy_plugin", HEAVY.format(line="import sqlite3, pytest")).Heavy
    said = contract_failure("test_its_import_brings_no_heavy_module", kind)
    assert "heavy_plugin.py, line 3, imports pytest" in said
    assert "Import them in `setup`" in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "allowed"),
    [("import sqlite3", ()), ("import pytest", ("pytest",)), ("def f(): import pytest", ())],
)
def test_contract_accepts_light_allowed_and_late_imports(
    package: Any, line: str, allowed: tuple[str, ...]
) -> None:
    kind = package("light_plugin", HEAVY.format(line=line)).Heavy
    attributes = {"plugin": kind, "heavy_allowed": allowed}
    type("Contract", (PluginContract,), attributes)().test_its_import_brings_no_heavy_module()


@pytest.mark.slow
def test_contract_reports_module_that_needs_this_environment(
    contract_failure: Any, package: Any
) -> None:
    text = HEAVY.format(line="import os; assert os.environ.pop('ONLY_HERE')")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ONLY_HERE", "1")
        kind = package("fragile_plugin", text).Heavy
    said = contract_failure("test_its_import_brings_no_heavy_module", kind)
    assert "importing fragile_plugin in a fresh interpreter failed" in said
    assert "KeyError: 'ONLY_HERE'" in said


@pytest.fixture
def dist(tmp_path: Path) -> Callable[[str, str], None]:
    """Make the metadata of an installed dist that names entry points."""

    def make(name: str, points: str) -> None:
        folder = tmp_path / f"{name.replace('-', '_')}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        if points:
            (folder / "entry_points.txt").write_text(f"[hookline.plugins]\n{points}\n")

    return make


TWO = HEAVY.format(line="") + "\nclass Other(Plugin[NoConfig]): pass\n"


def test_contract_reports_entry_point_to_another_class(
    contract_failure: Any, package: Any, dist: Any
) -> None:
    dist("entry-plugin", "entry = entry_plugin:Other")
    kind = package("entry_plugin", TWO).Heavy
    said = contract_failure("test_its_entry_point_leads_to_it", kind)
    assert "is Heavy; found entry = entry_plugin:Other. Correct" in said


def test_contract_reports_entry_point_to_nothing(
    contract_failure: Any, package: Any, dist: Any
) -> None:
    dist("entry-plugin", "entry = entry_plugin:Gone")
    said = contract_failure("test_its_entry_point_leads_to_it", package("entry_plugin", TWO).Heavy)
    assert "entry = entry_plugin:Gone cannot be imported" in said


def test_contract_reports_a_name_used_by_two_dists(
    contract_failure: Any, package: Any, dist: Any
) -> None:
    dist("entry-plugin", "entry = entry_plugin:Heavy")
    dist("rival", "entry = rival:Rival")
    said = contract_failure("test_its_entry_point_leads_to_it", package("entry_plugin", TWO).Heavy)
    assert "another distribution provides a plugin entry too: rival:Rival" in said


def test_contract_reports_dist_without_an_entry_point(
    contract_failure: Any, package: Any, dist: Any
) -> None:
    dist("entry-plugin", "")
    said = contract_failure("test_its_entry_point_leads_to_it", package("entry_plugin", TWO).Heavy)
    assert 'heavy = "entry_plugin:Heavy"' in said


def test_contract_accepts_the_right_entry_point(package: Any, dist: Any) -> None:
    dist("entry-plugin", "entry = entry_plugin:Heavy")
    kind = package("entry_plugin", TWO).Heavy
    type("Contract", (PluginContract,), {"plugin": kind})().test_its_entry_point_leads_to_it()


# Settings


class Demanding(BaseModel):
    url: str


class Doubling(BaseModel):
    prefix: str = "!"

    @field_validator("prefix")
    @classmethod
    def _more(cls, value: str) -> str:
        return value + "!"


class Unspeakable(BaseModel):
    made: Callable[[], int] = Field(default=lambda: 1)


class Plain(BaseModel):
    class Inner(BaseModel):
        password: str | None = None

    api_token: str = ""
    page_token: str = ""
    inner: Inner = Inner()


class Telling(BaseModel):
    token: SecretStr | None = None

    @field_serializer("token", when_used="json")
    def _told(self, token: SecretStr | None) -> str | None:
        return token.get_secret_value() if token else None


def with_settings(model: type[BaseModel]) -> Any:
    """A plugin that has these settings and does nothing."""
    return type("ConfigSource", (Plugin,), {"config_class": model})


@pytest.mark.parametrize(
    ("test", "model", "attributes", "sentence"),
    [
        ("test_its_required_settings_are_known", Demanding, {}, "Demanding requires url. Give"),
        (
            "test_its_settings_go_there_and_back",
            Doubling,
            {"config": {"prefix": "?"}},
            "changes when it is dumped and validated again, in prefix. A validator",
        ),
        (
            "test_its_settings_go_there_and_back",
            Demanding,
            {"config": {"url": 7}},
            "the contract's `config` is refused by Demanding",
        ),
        ("test_its_settings_have_a_json_schema", Unspeakable, {}, "Unspeakable has no JSON schema"),
        (
            "test_its_secrets_are_masked",
            Plain,
            {"not_secret": ("page_token",)},
            "api_token, inner.password of Plain is named like a secret and is plain text",
        ),
        (
            "test_its_secrets_are_masked",
            Telling,
            {},
            "model_dump_json of Telling shows a secret in plain text",
        ),
    ],
)
def test_contract_reports_faulty_settings(
    contract_failure: Any, test: str, model: Any, attributes: dict[str, Any], sentence: str
) -> None:
    assert sentence in contract_failure(test, with_settings(model), **attributes)


# Hooks


class Misspelt(Plugin[NoConfig]):
    @hookimpl
    def pre_tools(self, ctx: Context, call: ToolCall) -> None:
        pass


class WrongArguments(Plugin[NoConfig]):
    @hookimpl
    def pre_tool(self, ctx: Context, tool_call: ToolCall) -> None:  # type: ignore[override]
        pass


class Unmarked(Plugin[NoConfig]):
    def pre_tool(self, ctx: Context, call: ToolCall) -> None:
        pass


class Explodes(Plugin[NoConfig]):
    @hookimpl
    def setup(self, host: Host) -> None:
        raise OSError("no route to the greeter")


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (Misspelt, "unknown hook 'pre_tools'; did you mean pre_tool?"),
        (Unmarked, "pre_tool is named like a hook but not marked as one"),
        (WrongArguments, "WrongArguments cannot be registered: "),
        (Explodes, "fails in a turn: OSError: no route to the greeter. Give the contract"),
    ],
)
def test_contract_reports_plugin_that_cannot_start(
    contract_failure: Any, kind: Any, sentence: str
) -> None:
    assert sentence in contract_failure("test_its_hooks_are_valid", kind)


class Trusting(Plugin[NoConfig]):
    @hookimpl
    def pre_tool(self, ctx: Context, call: ToolCall) -> None:
        _ = call.arguments["name"]


class Encoding(Plugin[NoConfig]):
    @hookimpl
    def pre_reply(self, ctx: Context, reply: Reply) -> None:
        reply.text.encode()


class Slow(Plugin[NoConfig]):
    @hookimpl
    async def pre_send(self, ctx: Context, wire: WireRequest) -> None:
        if len(wire.fields.get("model", "")) > 500_000:
            await asyncio.sleep(30)


class Quits(Plugin[NoConfig]):
    @hookimpl
    def on_message(self, ctx: Context, inbound: Inbound) -> None:
        if not inbound.user_id:
            sys.exit("nobody there")


class Alters(Plugin[NoConfig]):
    @hookimpl
    def pre_tool(self, ctx: Context, call: ToolCall) -> None:
        call.arguments["seen"] = True


class Answers(Plugin[NoConfig]):
    @hookimpl
    def pre_reply(self, ctx: Context, reply: Reply) -> Any:
        return reply if reply.text.strip() else "nothing"


class NoMiddleware(Plugin[NoConfig]):
    @hookimpl
    def around_model(self, ctx: Context, request: ModelRequest) -> Any:
        return None if request.messages else request


class Swallows(Plugin[NoConfig]):
    @hookimpl
    def around_tool(self, ctx: Context, call: ToolCall) -> Any:
        async def middleware(asked: ToolCall, call_next: Any) -> Any:
            return (await call_next(asked)).text

        return middleware


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (
            Trusting,
            r"trusting\.pre_tool raised KeyError: 'name' \(test_contract\.py, line \d+\) "
            r"for a call of an unknown tool with an empty text; a hook receives anything",
        ),
        (Encoding, r"encoding\.pre_reply raised UnicodeEncodeError: .* for lone surrogates;"),
        (Quits, r"quits\.on_message raised SystemExit: nobody there .* an empty text"),
        (
            Alters,
            r"alters\.pre_tool raised TypeError: data inside an event cannot be changed in pl",
        ),
        (Answers, r"answers\.pre_reply returned str for blanks; expected Reply"),
        (NoMiddleware, r"around_model returned ModelRequest .* no message at all; expected midd"),
        (Swallows, r"swallows\.around_tool returned str for .*; expected ToolResult"),
    ],
)
def test_contract_reports_hooks_that_fail_on_hostile_events(
    contract_failure: Any, kind: Any, sentence: str
) -> None:
    said = contract_failure("test_it_survives_hostile_events", kind)
    assert re.search(sentence, said)
    assert len(said) < 2_000


def test_contract_reports_a_hanging_hook_and_goes_on(contract_failure: Any, harness: Make) -> None:
    short = partial(harness, deadlines={"pre_send": 0.2})
    said = contract_failure("test_it_survives_hostile_events", Slow, harness=short)
    assert said == ("slow.pre_send did not return within 0.2 s for a million characters.")


class Spy(Plugin[NoConfig]):
    """Keeps what its guard is given."""

    seen: ClassVar[list[tuple[ToolCall, Tool | None]]] = []

    @hookimpl
    def pre_tool(self, ctx: Context, call: ToolCall) -> None:
        self.seen.append((call, ctx.tool))


def depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return max([1 + depth(one) for one in inner], default=0)


def test_contract_gives_guards_hostile_model_calls(harness: Make, tmp_path: Path) -> None:
    Spy.seen.clear()
    contract: Any = type("Contract", (PluginContract,), {"plugin": Spy, "needs": (Hands,)})()
    contract.test_it_survives_hostile_events(harness, tmp_path)
    texts = [value for call, _ in Spy.seen for value in call.arguments.values()]
    texts = [text for text in texts if isinstance(text, str)]
    for wanted in ("", "\0", "\ud800", "\u202e", "[[[[", "../"):
        assert any(wanted in text for text in texts)
    assert max(map(len, texts)) >= 1_000_000
    assert max(depth(call.arguments) for call, _ in Spy.seen) >= 300
    assert {call.name for call, tool in Spy.seen if tool is None} >= {"", "no_such_tool"}
    assert {"wave", "bash"} <= {tool.name for _, tool in Spy.seen if tool is not None}
    assert any("hand" in call.arguments for call, _ in Spy.seen if call.name == "wave")


class Hands(Plugin[NoConfig]):
    @tool
    def wave(self, hand: str) -> str:
        """Wave a hand."""
        return hand


OF_A_TURN = [n for n in HOOKS if n not in ("setup", "teardown") and not n.startswith("register_")]


@pytest.mark.long
@pytest.mark.parametrize("hook", OF_A_TURN)
def test_contract_calls_every_turn_hook_with_events(
    harness: Make, tmp_path: Path, hook: str
) -> None:
    met: list[Any] = []

    def meet(self: Any, ctx: Context) -> None:
        met.append(ctx)

    kind: Any = type("Meets", (Plugin,), {hook: hookimpl(meet)})
    contract: Any = type("Contract", (PluginContract,), {"plugin": kind})()
    contract.test_it_survives_hostile_events(harness, tmp_path)
    assert len(met) > 10  # a turn alone calls each once or twice


def test_contract_reports_a_hook_at_most_three_times(contract_failure: Any) -> None:
    assert len(contract_failure("test_it_survives_hostile_events", Alters).splitlines()) == 3


# Coming and going


class Leaves(Plugin[NoConfig]):
    """Leaves something of each kind behind, until a test cleans up."""

    left: ClassVar[list[Any]] = []


class LeavesThread(Leaves):
    @hookimpl
    def setup(self, host: Host) -> None:
        stop = threading.Event()
        threading.Thread(target=stop.wait, name="greeter-poller", daemon=True).start()
        self.left.append(stop)


class LeavesFile(Leaves):
    @hookimpl
    def setup(self, host: Host) -> None:
        self.left.append((host.home / "greeter.log").open("w"))


class LeavesFileOfATurn(Leaves):
    @hookimpl
    def end_of_turn(self, ctx: Context, turn: Turn) -> None:
        self.left.append((ctx.host.home / "turns.log").open("w"))


@pytest.fixture
def _clean_up(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("hookline.testing.resource_leaks.THREAD_END_TIMEOUT", 0.1)
    yield
    for one in Leaves.left:
        if isinstance(one, threading.Event):
            one.set()
        elif hasattr(one, "close"):
            one.close()
    Leaves.left.clear()


@pytest.mark.usefixtures("_clean_up")
@pytest.mark.parametrize(
    ("kind", "left"),
    [
        (LeavesThread, "thread 'greeter-poller'"),
        (LeavesFile, "greeter.log"),
        (LeavesFileOfATurn, "turns.log"),
    ],
)
def test_contract_reports_what_outlives_a_plugin(
    contract_failure: Any, kind: Any, left: str
) -> None:
    if kind in (LeavesFile, LeavesFileOfATurn) and not Path("/proc/self/fd").is_dir():
        pytest.skip("this system does not list open files")
    said = contract_failure("test_its_teardown_leaves_nothing", kind)
    assert left in said
    assert "End it in `teardown`" in said


class Once(Plugin[NoConfig]):
    """Registers its tool in the first instance of a process alone."""

    begun: ClassVar[list[int]] = []

    @hookimpl
    def register_tools(self, register: Callable[[Tool], None]) -> None:
        if not self.begun:
            register(Tool("once", "Works once.", lambda: "done", parameters={}))
        self.begun.append(1)


def test_contract_reports_state_kept_in_a_module(contract_failure: Any) -> None:
    said = contract_failure("test_it_can_be_set_up_twice", Once)
    assert "once differs when it is set up a second time in one process: tool once is gone" in said


class Crowd(Plugin[NoConfig]):
    """Says that there may be several, and names its tool as if there were one."""

    multiple = True

    @tool
    def shout(self) -> str:
        """Shout."""
        return "hey"


class Nest:
    """A channel of one name."""

    name, edits, network = "nest", False, True


class Nests(Plugin[NoConfig]):
    """Does the same with a channel."""

    multiple = True

    @hookimpl
    def register_channels(self, register: Callable[[Any], None]) -> None:
        register(Nest())


class Choir(Plugin[NoConfig]):
    """Names its tool after itself."""

    multiple = True

    @hookimpl
    def register_tools(self, register: Callable[[Tool], None]) -> None:
        name = f"{self.host.plugin}_sing".replace(":", "_")
        register(Tool(name, "Sing.", lambda: "la", effects=("send",), origin="workspace"))


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (Crowd, "crowd:other: its tool shout is already provided by plugin crowd"),
        (Nests, "nests:other: ValueError: plugin nests already provides a channel nest"),
    ],
)
def test_contract_reports_duplicate_names(contract_failure: Any, kind: Any, told: str) -> None:
    said = contract_failure("test_several_of_it_stand_side_by_side", kind)
    assert told in said
    assert "Use `host.plugin` in the names" in said


class TestChoirContract(PluginContract):
    """Two of it get along."""

    plugin = Choir


class Sneaks(Plugin[NoConfig]):
    """Registers without going through core."""

    @hookimpl
    async def setup(self, host: Any) -> None:
        host._engine.services[Clock] = self
        host._engine.bus.signals.connect("settled", lambda event, ctx=None: None)


def test_contract_reports_what_a_failing_setup_leaves(contract_failure: Any) -> None:
    said = contract_failure("test_a_failing_setup_leaves_nothing", Sneaks)
    for left in ("service Clock", "listener to settled"):
        assert left in said


def test_contract_reports_prompt_change_while_the_plugin_is_off(
    contract_failure: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def longer(*arguments: Any, made: list[int] = []) -> list[Section]:  # noqa: B006 - counts
        made.append(1)
        return [*core_sections(*arguments), Section("guidance", "Psst." * len(made))]

    monkeypatch.setattr("hookline.sessions.manager.core_sections", longer)
    said = contract_failure("test_it_costs_no_token_when_off", Sibling)
    assert "with sibling: false the first request has 5 bytes more than without the plugin" in said
