"""``hookline init``: what it writes, asks, keeps and tries."""

from __future__ import annotations

import json
import re
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.openai_server import OpenAIServer, Reply
from support.site_packages import Site
from support.terminal import TerminalScreen

from .conftest import HOOKLINE, OnTerminal

REMOTE = {
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "moonshot": "MOONSHOT_API_KEY",
    "xiaomi": "XIAOMI_API_KEY",
}
KEY = "sk-something+/=%:long-1234"
VARIABLES = ("OLLAMA_BASE_URL", "VLLM_BASE_URL", "LMSTUDIO_BASE_URL", "LLAMACPP_BASE_URL")
REFUSED = Reply(status=401, body={"error": {"message": "No such key", "type": "auth"}})


def mode(path: Path) -> int:
    """Permission bits."""
    return stat.S_IMODE(path.stat().st_mode)


def answer(init: OnTerminal, *answers: tuple[str, str]) -> None:
    """Wait for each question, and type its answer."""
    for question, text in answers:
        init.wait_for(question)
        init.type(f"{text}\r")


@pytest.fixture
def nothing_runs(env: dict[str, str]) -> None:
    """No local server is found."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
    env |= dict.fromkeys(VARIABLES, address)


@pytest.fixture
def server(nothing_runs: None, env: dict[str, str]) -> Iterator[OpenAIServer]:
    """A local server that is found as vLLM."""
    with OpenAIServer(lambda _body: "ready", models=["small", "large"]) as running:
        env["VLLM_BASE_URL"] = running.base_url
        yield running


def test_init_without_terminal_only_writes_files(piped: Callable, home: Path) -> None:
    done = piped("init")
    assert done.returncode == 0
    assert "Not asking questions here" in done.stdout
    assert [mode(home), mode(home / ".env"), mode(home / "config.yaml")] == [0o700, 0o600, 0o600]
    assert "Next:\n  hookline chat\n  hookline web\n" in done.stdout


@pytest.mark.slow
def test_second_init_changes_nothing(piped: Callable, home: Path) -> None:
    done = piped("init", "--no-input", HOOKLINE_MODEL="nowhere")
    assert (done.returncode, "HOOKLINE_MODEL: model: expected" in done.stdout) == (0, True)
    assert (home / "config.yaml").exists()
    (home / "config.yaml").write_text("trace: true\n", "utf-8")
    (home / ".env").write_text("OPENAI_API_KEY=mine", "utf-8")
    (home / ".env").chmod(0o644)
    done = piped("init")
    assert (home / "config.yaml").read_text("utf-8") == "trace: true\n"
    assert (home / ".env").read_text("utf-8") == "OPENAI_API_KEY=mine"
    assert mode(home / ".env") == 0o600
    assert "unchanged" in done.stdout
    assert "mine" not in done.stdout


@pytest.mark.slow
def test_config_template_holds_only_defaults(piped: Callable, home: Path) -> None:
    before = json.loads(piped("config", "show", "--json").stdout)
    piped("init")
    checked = piped("config", "check")
    assert (checked.returncode, checked.stderr) == (0, "")
    assert json.loads(piped("config", "show", "--json").stdout) == before


@pytest.mark.slow
def test_commented_keys_exist_and_show_defaults(piped: Callable, home: Path) -> None:
    before = json.loads(piped("config", "show", "--json").stdout)
    piped("init")
    file = home / "config.yaml"
    template = file.read_text("utf-8")
    file.write_text(re.sub(r"^#(?=\w)", "", template, flags=re.M), "utf-8")
    checked = piped("config", "check")
    assert (checked.returncode, checked.stderr) == (0, "")
    assert json.loads(piped("config", "show", "--json").stdout) == before
    keys = set(re.findall(r"^#(\w+):", template, re.M))
    assert keys == set(json.loads(piped("config", "schema").stdout)["properties"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "name"),
    [
        pytest.param(number, name, marks=[pytest.mark.slow] if number > 1 else [])
        for number, name in enumerate(REMOTE, 1)
    ],
)
@pytest.mark.usefixtures("nothing_runs")
def test_chosen_provider_is_written_to_config(
    terminal: Callable, piped: Callable, home: Path, env: dict[str, str], number: int, name: str
) -> None:
    init = terminal("init")
    answer(init, ("Number", str(number)), (REMOTE[name], ""), ("The model's name", ""))
    init.wait_for("No key yet")
    answer(init, ("Which channel", ""))
    assert init.end() == 0
    # Core's own choice with that key alone is what init wrote down.
    env[REMOTE[name]] = "x"
    written = piped("run", "/model").stdout
    (home / "config.yaml").unlink()
    chosen = piped("run", "/model").stdout
    assert written == chosen
    assert written.startswith(f"Model: {name}/")


@pytest.mark.slow
def test_running_local_server_is_offered_and_tried(
    terminal: Callable, piped: Callable, home: Path, server: OpenAIServer
) -> None:
    init = terminal("init")
    init.wait_for(f"7  vLLM at {server.base_url}")
    answer(init, ("Number [7]", ""), ("2  large", "2"))
    init.wait_for("It answered: ready")
    answer(init, ("Which channel", ""))
    init.wait_for("hookline chat")
    assert init.end() == 0
    (asked,) = [r.json for r in server.requests if r.json]
    assert asked["model"] == "large"
    assert asked["tools"]
    assert piped("config", "check").returncode == 0
    written = (home / "config.yaml").read_text("utf-8")
    assert "model: vllm/large\n" in written
    # The next shell may not have the variable.
    assert f"VLLM_BASE_URL={server.base_url}" in (home / ".env").read_text("utf-8")


@pytest.mark.slow
def test_invalid_input_is_asked_again_and_failed_try_can_be_changed(
    terminal: Callable, piped: Callable, home: Path, server: OpenAIServer
) -> None:
    """Address, key and model, each of them wrong at first."""
    server._script = [REFUSED, "ready"]
    init = terminal("init")
    answer(init, ("8  another server", "8"), ("Its address", "no such"))
    init.wait_for("The address contains a blank")
    # The scheme and /v1 are completed.
    answer(init, ("Its address", server.base_url.removeprefix("http://").removesuffix("/v1")))
    init.wait_for(f"The address is {server.base_url}")
    for wrong, error in (("'quoted'", "no quotes"), ("two words", "no blanks")):
        answer(init, ("MY_SERVER_API_KEY", wrong))
        init.wait_for(error)
    answer(init, ("MY_SERVER_API_KEY", "sk-the-wrong-one"), ("or name [small]", "my model"))
    init.wait_for("no blanks")
    answer(init, ("or name [small]", "none"))
    init.wait_for("has no model none")
    answer(init, ("or name [small]", "none"))
    # The fake server refuses the model before it looks at the key.
    init.wait_for("does not know none")
    init.wait_for("the server lists other models")
    answer(init, ("Number [2]", ""), ("or name", "1"))
    init.wait_for("refused the key for small (401: No such key)")
    init.wait_for("1  another key")
    answer(init, ("Number [1]", ""), ("keeps the one ending in …-one", KEY))
    init.wait_for("It answered: ready")
    assert not home.exists()
    answer(init, ("Which channel", ""))
    assert init.end() == 0
    assert KEY not in init.text
    assert "wrong-one" not in init.text
    assert "Set `providers" not in " ".join(init.text.split())
    assert server.requests[-1].headers["authorization"] == f"Bearer {KEY}"
    assert (home / ".env").read_text("utf-8").endswith(f"MY_SERVER_API_KEY={KEY}\n")
    shown = json.loads(piped("config", "show", "--json").stdout)
    assert shown["model"] == "my-server/small"


COMMENTED = """# Mine.
model:   vllm/large   # the big one

plugins:
  titles: false
"""


@pytest.mark.slow
def test_enter_at_every_question_changes_nothing(
    terminal: Callable, home: Path, server: OpenAIServer, env: dict[str, str]
) -> None:
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text(COMMENTED, "utf-8")
    secrets = f"# Keys.\nMINE='{KEY}'  # mine\nVLLM_BASE_URL={server.base_url}\n"
    (home / ".env").write_text(secrets, "utf-8")
    init = terminal("init")
    answer(init, ("Number [7]", ""), ("or name [large]", ""))
    init.wait_for("It answered: ready")
    answer(init, ("Which channel", ""))
    assert init.end() == 0
    assert (home / "config.yaml").read_text("utf-8") == COMMENTED
    assert (home / ".env").read_text("utf-8") == secrets


@pytest.mark.slow
def test_current_value_is_the_default_and_new_answer_replaces_it(
    terminal: Callable, piped: Callable, home: Path, server: OpenAIServer
) -> None:
    home.mkdir(mode=0o700)
    section = (
        f"providers:\n  home-server: {{base_url: {server.base_url}, api_key: '${{HOME_KEY}}'}}"
    )
    before = f"# Mine.\nmodel: home-server/small\n{section}\ntrace: true  # on\n"
    (home / "config.yaml").write_text(before, "utf-8")
    (home / ".env").write_text("HOME_KEY=sk-old-key-0000\nOTHER=1\n", "utf-8")
    init = terminal("init")
    init.wait_for(f"home-server at {server.base_url}")
    answer(init, ("Number [8]", ""), (f"Its address [{server.base_url}]", ""))
    answer(init, ("HOME_KEY (not shown; Enter keeps the one ending in …0000)", KEY))
    answer(init, ("or name [small]", "large"))
    init.wait_for("It answered: ready")
    answer(init, ("Which channel", ""))
    assert init.end() == 0
    written = (home / "config.yaml").read_text("utf-8")
    assert written == before.replace("home-server/small", "home-server/large")
    assert (home / ".env").read_text("utf-8") == f"HOME_KEY={KEY}\nOTHER=1\n"


CLAIM = re.compile(r"\b(?:[B-Z2-9]{4}-){2}[B-Z2-9]{4}\b")
CHANNEL = """
from hookline_hookspecs import Check, CheckResult, Plugin, hookimpl
from pydantic import BaseModel, Field, SecretStr

class Config(BaseModel):
    server: str = Field("cote", json_schema_extra={"ask": True, "guide": "Build a loft first."})
    nick: str = "hookline"
    token: SecretStr = Field(
        SecretStr(""),
        description="The token, from the page Birds of "
        "https://loft.example/developers/applications; the environment has it otherwise.",
        json_schema_extra={"env": "PIGEON_TOKEN"},
    )

class One(Plugin[Config]):
    @hookimpl
    def register_channels(self, register):
        pass

    @hookimpl
    def register_checks(self, register):
        register(Check("token", self.token))

    def token(self):
        known = self.config.token.get_secret_value() == "right-token-5678"
        return CheckResult(known, "the loft knows the token" if known else "no such token")
"""


@pytest.mark.slow
def test_installed_channel_is_configured_and_checked(
    terminal: Callable,
    piped: Callable,
    home: Path,
    server: OpenAIServer,
    env: dict[str, str],
    tmp_path: Path,
) -> None:
    site = Site(tmp_path / "site")
    site.dist("birds", "pigeon", CHANNEL)
    env["PYTHONPATH"] = str(site.path)
    init = terminal("init")
    answer(init, ("Number [7]", ""), ("or name", ""))
    before = init.wait_for("Number [1]")
    assert "telegram" in before
    for program in ("mcp-server", "openai-api"):  # whose channels are for programs
        assert program not in before
    (number,) = re.findall(r"(\d+)  pigeon", before)
    init.type(f"{number}\r")
    init.wait_for("Build a loft first.")
    answer(init, ("pigeon server [cote]", "loft"), ("PIGEON_TOKEN", "wrong"))
    init.wait_for("pigeon: no such token")
    answer(init, ("Number [1]", ""), ("pigeon server", "loft"))
    answer(init, ("PIGEON_TOKEN", "right-token-5678"))
    init.wait_for("pigeon: fine; the loft knows the token")
    init.wait_for("pigeon, on")
    answer(init, ("Number [1]", ""))
    init.wait_for("becomes admin")
    init.wait_for("hookline gateway")
    assert init.end() == 0
    assert len(CLAIM.findall(init.text)) == 1
    assert "right-token" not in init.text
    about = [line for line in init.text.splitlines() if "loft.example" in line]
    assert about
    assert max(map(len, about)) < 100  # the terminal would break the address
    shown = json.loads(piped("config", "show", "--json").stdout)
    assert shown["plugins"]["pigeon"] == {"server": "loft", "token": "********"}
    assert "PIGEON_TOKEN=right-token-5678\n" in (home / ".env").read_text("utf-8")


@pytest.mark.slow
def test_invalid_config_is_reported_and_can_be_replaced(
    terminal: Callable, piped: Callable, home: Path, server: OpenAIServer
) -> None:
    home.mkdir(mode=0o700)
    broken = "model: [oh\nno: }\n"
    (home / "config.yaml").write_text(broken, "utf-8")
    init = terminal("init")
    init.wait_for("config.yaml:2: this is not YAML")
    answer(init, ("Number [1]", ""), ("Number [7]", ""), ("or name", ""), ("Which channel", ""))
    assert init.end() == 0
    assert (home / "config.yaml.old").read_text("utf-8") == broken
    assert piped("config", "check").returncode == 0


@pytest.mark.slow
def test_wrong_value_is_replaced_by_the_answer(
    terminal: Callable, home: Path, server: OpenAIServer
) -> None:
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text("model: nowhere # here\ntrace: true\n", "utf-8")
    init = terminal("init")
    init.wait_for("config.yaml:1: model: expected")
    answer(init, ("Number [1]", "2"), ("Number [7]", ""), ("or name", ""), ("Which channel", ""))
    assert init.end() == 0
    mended = "model: vllm/small # here\ntrace: true\n"
    assert (home / "config.yaml").read_text("utf-8") == mended


@pytest.mark.slow
@pytest.mark.parametrize("keys", ["\x03", "\x04"])
@pytest.mark.usefixtures("nothing_runs")
def test_leaving_early_changes_nothing(terminal: Callable, home: Path, keys: str) -> None:
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text(COMMENTED, "utf-8")
    init = terminal("init")
    answer(init, ("Number", "1"))
    init.wait_for("ANTHROPIC_API_KEY")
    init.type_until(keys, "Nothing was changed")
    assert init.end() == 130
    assert (home / "config.yaml").read_text("utf-8") == COMMENTED
    assert not (home / ".env").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_runs")
def test_missing_server_is_reported_before_model_question(terminal: Callable) -> None:
    init = terminal("init")
    answer(init, ("7  another server", "7"), ("Its address", "127.0.0.1:9/v1"), ("API_KEY", ""))
    screen = init.wait_for("The model's name")
    assert "No answer from http://127.0.0.1:9/v1. Is the server running?" in screen


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_runs")
def test_wrong_number_is_asked_again(terminal: Callable) -> None:
    init = terminal("init")
    init.wait_for("Number")
    init.type("99\r")
    init.wait_for("from 1 to")
    init.type("x\r")
    init.wait_for("from 1 to")
    init.wait_for("Number")


@pytest.mark.slow
def test_ctrl_c_at_first_question_ends_its_line(
    terminal: Callable[..., OnTerminal], env: dict[str, str]
) -> None:
    for name in VARIABLES:
        env.pop(name, None)
    chat = terminal("chat")
    chat.wait_for("Set up now? [Y/n] ")
    chat.type_until("\x03", "\n")
    assert chat.end() == 130


@pytest.mark.slow
def test_chat_without_model_offers_setup(
    home: Path, work: Path, server: OpenAIServer, env: dict[str, str]
) -> None:
    for name in VARIABLES:
        del env[name]
    with TerminalScreen([*HOOKLINE, "chat"], env=env, cwd=work, rows=40) as chat:
        assert "hookline init" in chat.wait_for("Set up now? [Y/n]")
        chat.type("\r")
        asked = chat.wait_for("Number [")
        [number] = [line.split()[0] for line in asked.splitlines() if "another server" in line]
        for question, answer in (
            ("Number [", number),
            ("Its address", server.base_url),
            ("MY_SERVER_API_KEY", ""),
            ("name [small]", ""),
            ("Which channel", ""),
        ):
            chat.wait_for(question)
            chat.type(f"{answer}\r")
        chat.wait_for("It answered: ready")
        chat.wait_for("Ctrl-D ends the chat")
        chat.wait_for("my-server/small")
        chat.type("hello\r")
        chat.wait_until(lambda: "› hello\n  ready" in chat.text, "the answer")
        chat.type("\x04")
        assert chat.end() == 0
    assert (home / "config.yaml").exists()


@pytest.mark.slow
def test_piped_chat_without_model_names_init_first(piped: Callable) -> None:
    done = piped("chat", stdin="hello\n")
    assert done.returncode == 2
    assert done.stderr.index("hookline init") < done.stderr.index("ANTHROPIC_API_KEY")
    assert "hookline demo" in done.stderr
