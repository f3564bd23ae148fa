"""``hookline init``: what it writes, asks, keeps and tries."""

from __future__ import annotations

import json
import re
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakes.openai_server import OpenAIServer
from fakes.terminal import TerminalScreen

from .conftest import HOOKLINE

REMOTE = {
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "moonshot": "MOONSHOT_API_KEY",
    "xiaomi": "XIAOMI_API_KEY",
}
SECRET = 'sk-se cret"\\n #1=${HOME}'
"""A key with everything that a .env could read wrongly."""


def mode(path: Path) -> int:
    """Permission bits."""
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def nothing_runs(env: dict[str, str]) -> None:
    """No local server is found."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
    env |= dict.fromkeys(("OLLAMA_BASE_URL", "VLLM_BASE_URL", "LMSTUDIO_BASE_URL"), address)


@pytest.fixture
def server(nothing_runs: None, env: dict[str, str]) -> Iterator[OpenAIServer]:
    """A local server that is found as vLLM."""
    with OpenAIServer(lambda _body: "ready", models=["small", "large"]) as running:
        env["VLLM_BASE_URL"] = running.base_url
        yield running


def test_without_a_terminal_it_only_writes(piped: Callable, home: Path) -> None:
    done = piped("init")
    assert done.returncode == 0
    assert "no terminal" in done.stdout
    assert [mode(home), mode(home / ".env"), mode(home / "config.yaml")] == [0o700, 0o600, 0o600]
    assert "hookline chat" in done.stdout


def test_again_it_changes_nothing(piped: Callable, home: Path) -> None:
    piped("init")
    (home / "config.yaml").write_text("trace: true\n", "utf-8")
    (home / ".env").write_text("OPENAI_API_KEY=mine", "utf-8")
    (home / ".env").chmod(0o644)
    done = piped("init")
    assert (home / "config.yaml").read_text("utf-8") == "trace: true\n"
    assert (home / ".env").read_text("utf-8") == "OPENAI_API_KEY=mine"
    assert mode(home / ".env") == 0o600
    assert "left as it is" in done.stdout
    assert "mine" not in done.stdout


def test_the_template_loads_and_says_what_holds_anyway(piped: Callable, home: Path) -> None:
    before = json.loads(piped("config", "show", "--json").stdout)
    piped("init")
    checked = piped("config", "check")
    assert (checked.returncode, checked.stderr) == (0, "")
    assert json.loads(piped("config", "show", "--json").stdout) == before


def test_each_commented_key_is_real_and_shows_its_default(piped: Callable, home: Path) -> None:
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


@pytest.mark.parametrize(
    ("number", "name"),
    [
        pytest.param(number, name, marks=[pytest.mark.slow] if number > 1 else [])
        for number, name in enumerate(REMOTE, 1)
    ],
)
@pytest.mark.usefixtures("nothing_runs")
def test_a_provider_is_asked_for_and_written_down(
    terminal: Callable, piped: Callable, home: Path, env: dict[str, str], number: int, name: str
) -> None:
    init = terminal("init")
    init.wait_for("Number")
    init.type(f"{number}\r")
    init.wait_for(REMOTE[name])
    init.type("\r")
    init.wait_for("Telegram")
    init.type("\r")
    init.wait_for("No key yet")
    assert init.end() == 0
    # Core's own choice with that key alone is what init wrote down.
    env[REMOTE[name]] = "x"
    written = piped("run", "/model").stdout
    (home / "config.yaml").unlink()
    chosen = piped("run", "/model").stdout
    assert written == chosen
    assert written.startswith(f"Model: {name}/")


def test_a_server_that_runs_here_is_offered_and_tried(
    terminal: Callable, piped: Callable, home: Path, server: OpenAIServer
) -> None:
    init = terminal("init")
    init.wait_for(f"7  vLLM at {server.base_url}")
    init.wait_for("Number [7]")
    init.type("\r")
    init.wait_for("2  large")
    init.type("2\r")
    init.wait_for("Telegram")
    init.type("\r")
    init.wait_for("It answered: ready")
    init.wait_for("hookline chat")
    assert init.end() == 0
    (asked,) = [r.json for r in server.requests if r.json]
    assert asked["model"] == "large"
    assert piped("config", "check").returncode == 0
    assert f"VLLM_BASE_URL={server.base_url}" in (home / ".env").read_text("utf-8")


def test_a_key_is_hidden_kept_and_reaches_the_server(
    terminal: Callable, piped: Callable, home: Path, server: OpenAIServer
) -> None:
    init = terminal("init")
    init.wait_for("8  another server")
    init.type("8\r")
    init.wait_for("Its address")
    init.type(f"{server.base_url}\r")
    init.wait_for("name [small]")
    init.type("\r")
    init.wait_for("MY_SERVER_API_KEY")
    init.type("'quoted'\r")
    init.wait_for("paste the key alone")
    init.wait_for("MY_SERVER_API_KEY")
    init.type(f"{SECRET}\r")
    init.wait_for("Telegram")
    init.type("123:abc\r")
    init.wait_for("It answered: ready")
    assert init.end() == 0
    assert SECRET not in init.text
    assert "123:abc" not in init.text
    last = server.requests[-1]
    assert last.headers["authorization"] == f"Bearer {SECRET}"
    shown = json.loads(piped("config", "show", "--json").stdout)
    assert shown["plugins"]["telegram"]
    assert shown["model"] == "my-server/small"


CLAIM = re.compile(r"\b(?:[B-Z2-9]{4}-){2}[B-Z2-9]{4}\b")


@pytest.mark.usefixtures("nothing_runs")
def test_with_a_bot_the_first_admin_gets_a_code(
    terminal: Callable, piped: Callable, home: Path
) -> None:
    init = terminal("init")
    init.wait_for("Number")
    init.type("1\r")
    init.wait_for("ANTHROPIC_API_KEY")
    init.type("\r")
    init.wait_for("Telegram")
    init.type("123:abc\r")
    init.wait_for("becomes the first admin")
    init.wait_for("hookline gateway")
    assert init.end() == 0
    (code,) = CLAIM.findall(init.text)
    assert code
    # Another code can be made, because nobody has used the first one.
    assert piped("pairing", "claim").returncode == 0
    # It is an admin's bot already: no code, and nothing that looks like a mistake.
    (home / "config.yaml").write_text("plugins: {access: {admins: ['telegram:1']}}\n", "utf-8")
    again = terminal("init")
    again.wait_for("Number")
    again.type("1\r")
    again.wait_for("ANTHROPIC_API_KEY")
    again.type("\r")
    again.wait_for("hookline gateway")
    assert again.end() == 0
    assert not CLAIM.findall(again.text)


@pytest.mark.usefixtures("nothing_runs")
def test_a_key_that_is_there_is_not_asked_for(
    terminal: Callable, home: Path, env: dict[str, str]
) -> None:
    home.mkdir(mode=0o700)
    (home / ".env").write_text("DEEPSEEK_API_KEY=mine\nTELEGRAM_BOT_TOKEN='yours'\n", "utf-8")
    (home / "config.yaml").write_text("model: scripted/none.yaml\n", "utf-8")
    init = terminal("init")
    init.wait_for("Number [4]")
    init.type("\r")
    init.wait_for("DEEPSEEK_API_KEY is set already")
    init.wait_for("hookline config set model deepseek/")
    init.wait_for("The test request failed")
    assert init.end() == 0
    assert "mine" not in init.text
    assert "yours" not in init.text
    assert (home / "config.yaml").read_text("utf-8") == "model: scripted/none.yaml\n"


@pytest.mark.parametrize("keys", ["\x03", "\x04"])
@pytest.mark.usefixtures("nothing_runs")
def test_leaving_early_writes_nothing(terminal: Callable, home: Path, keys: str) -> None:
    init = terminal("init")
    init.wait_for("Number")
    init.type_until(keys, "Nothing was written")
    assert init.end() == 130
    assert not (home / ".env").exists()
    assert not (home / "config.yaml").exists()


@pytest.mark.usefixtures("nothing_runs")
def test_a_wrong_number_is_asked_again(terminal: Callable) -> None:
    init = terminal("init")
    init.wait_for("Number")
    init.type("99\r")
    init.wait_for("from 1 to")
    init.type("x\r")
    init.wait_for("from 1 to")
    init.wait_for("Number")


def test_a_chat_without_a_model_leads_into_the_set_up(
    home: Path, work: Path, server: OpenAIServer, env: dict[str, str]
) -> None:
    for name in ("OLLAMA_BASE_URL", "VLLM_BASE_URL", "LMSTUDIO_BASE_URL"):
        del env[name]
    with TerminalScreen([*HOOKLINE, "chat"], env=env, cwd=work, rows=40) as chat:
        assert "hookline init" in chat.wait_for("Set up now? [Y/n]")
        chat.type("\r")
        asked = chat.wait_for("Number [")
        [number] = [line.split()[0] for line in asked.splitlines() if "another server" in line]
        for question, answer in (
            ("Number [", number),
            ("Its address", server.base_url),
            ("name [small]", ""),
            ("MY_SERVER_API_KEY", ""),
            ("Telegram", ""),
        ):
            chat.wait_for(question)
            chat.type(f"{answer}\r")
        chat.wait_for("It answered: ready")
        chat.wait_for("Ctrl-D ends the chat")
        chat.wait_for("my-server/small")
        chat.type("hello\r")
        chat.wait_until(lambda: "› hello\nready" in chat.text, "the answer")
        chat.type("\x04")
        assert chat.end() == 0
    assert (home / "config.yaml").exists()


def test_a_chat_in_a_pipe_names_the_set_up_first(piped: Callable) -> None:
    done = piped("chat", stdin="hello\n")
    assert done.returncode == 2
    assert done.stderr.index("hookline init") < done.stderr.index("ANTHROPIC_API_KEY")
    assert "hookline demo" in done.stderr
