"""``hookline completion``: the scripts in the shells that there are, and what answers them."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from hookline_configure.completion import completer
from support.terminal import TerminalScreen

SHELLS = ("bash", "zsh", "fish")
STEPS = "steps: [{text: It is blue.}]\n"
ASK = {
    "bash": """
        source $1; shift
        for line; do
            COMP_LINE=$line COMP_POINT=${#line}
            _hookline hookline "${line##* }"
            printf '%s\\n' "${COMPREPLY[@]}" ==
        done
    """,
    "zsh": """
        compdef() { : }; _files() { print -r -- "files $*" };
        compadd() { (( $#values )) && print -rl -- "${(@)values}" }
        source $1; shift
        for line; do
            words=("${(@s: :)line}") CURRENT=$#words
            _hookline
            print -- '=='
        done
    """,
    "fish": """
        source $argv[1]
        for line in $argv[2..-1]
            complete -C $line | string replace -r '\\t.*' ''
            echo ==
        end
    """,
}
"""Completes the lines that follow the script's path, and prints ``==`` after each."""
HEAVY = {"click", "hookline", "hookline_hookspecs", "pathlib", "pydantic", "rich", "typer", "yaml"}
PATIENCE = 60.0


@dataclass
class Shop:
    """A home in which somebody has talked, and the scripts that were printed for it."""

    folder: Path

    @property
    def home(self) -> Path:
        """The home."""
        return self.folder / "home"

    @property
    def env(self) -> dict[str, str]:
        """Variables of every process."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "HOOKLINE_HOME": str(self.home),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "XDG_CONFIG_HOME": str(self.folder / "shells"),
            "LANG": "C.UTF-8",
            "PS1": "$ ",
        }

    def hookline(self, *words: str) -> str:
        """What a command prints."""
        command = [sys.executable, "-m", "hookline", *words]
        done = subprocess.run(
            command, env=self.env, cwd=self.folder, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return str(done.stdout)

    def script(self, shell: str) -> Path:
        """The script of a shell that is here."""
        if shutil.which(shell) is None:
            pytest.skip(f"{shell} is not here")
        path = self.folder / f"hookline.{shell}"
        if not path.exists():
            path.write_text(self.hookline("completion", shell))
        return path

    def complete(self, shell: str, *lines: str) -> list[list[str]]:
        """The words that the shell offers at the end of each line."""
        name = ["-"] if shell != "fish" else []
        quiet = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
        words = [shell, *quiet, "-c", ASK[shell], *name, str(self.script(shell)), *lines]
        done = subprocess.run(
            words, env=self.env, cwd=self.folder, capture_output=True, text=True, timeout=PATIENCE
        )
        assert done.returncode == 0, done.stderr
        found: list[list[str]] = [[]]
        for line in done.stdout.splitlines():
            found.append([]) if line == "==" else found[-1].append(line)
        return found[:-1]

    def answer(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        """What answers the shells, asked for words as zsh does."""
        command = [sys.executable, "-I", "-S", completer.__file__, "zsh", "hookline", *words]
        return subprocess.run(command, env=self.env | env, capture_output=True, text=True)

    def offers(self, *words: str, **env: str) -> list[str]:
        """The words of :meth:`answer`."""
        return [line.split("\t")[0] for line in self.answer(*words, **env).stdout.splitlines()[1:]]

    def table(self) -> Path:
        """Where the table is, made or not."""
        (found,) = (self.folder / "cache" / "hookline").glob("*.json")
        return found


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """One that no test changes."""
    found = Shop(tmp_path_factory.mktemp("shop"))
    found.home.mkdir()
    (found.home / "config.yaml").write_text("plugins: {telegram: {token: t}, insights: false}\n")
    (found.folder / "scenario.yaml").write_text(STEPS)
    found.hookline("run", "--model", "scripted/scenario.yaml", "--session", "sky", "Which colour?")
    (found.folder / "plain file.txt").touch()
    (found.folder / "plains").mkdir()
    found.script("bash")
    return found


@pytest.fixture
def own(shop: Shop, tmp_path: Path) -> Iterator[Shop]:
    """One with a home and a table of its own, which nobody renews."""
    found = Shop(tmp_path)
    shutil.copytree(shop.home, found.home, copy_function=shutil.copy2)
    path = Path(_table_path(found))
    path.parent.mkdir(parents=True)
    held = json.loads(shop.table().read_text()) | {"home": str(found.home)}
    path.write_text(json.dumps(held | {"config": completer.stamp(str(found.home / "config.yaml"))}))
    Path(f"{path}.lock").touch()
    yield found
    Path(f"{path}.lock").unlink(missing_ok=True)


def _table_path(shop: Shop) -> str:
    before, os.environ["XDG_CACHE_HOME"] = (
        os.environ.get("XDG_CACHE_HOME"),
        shop.env["XDG_CACHE_HOME"],
    )
    try:
        return completer.table_path(str(shop.home))
    finally:
        os.environ.pop("XDG_CACHE_HOME")
        if before is not None:
            os.environ["XDG_CACHE_HOME"] = before


@pytest.mark.slow
@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_is_one_that_its_shell_reads(shop: Shop, shell: str) -> None:
    done = subprocess.run([shell, "-n", shop.script(shell)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_offers_what_fits(shop: Shop, shell: str) -> None:
    (session,) = json.loads(shop.hookline("sessions", "list", "--json"))
    lines = {
        "hookline plu": ["plugins"],
        "hookline plugins dis": ["disable"],
        "hookline plugins disable she": ["shell"],
        "hookline plugins disable insi": [],
        "hookline plugins enable insi": ["insights"],
        "hookline plugins enable she": [],
        "hookline plugins info insi": ["insights"],
        "hookline run --mo": ["--model", "--mode"],
        "hookline run --model ollama/": ["ollama/qwen3:8b"],
        "hookline run --mode pl": ["plan"],
        "hookline run --session ": [session["id"]],
        "hookline chat --resume ": [session["id"]],
        "hookline sessions sh": ["show"],
        "hookline sessions show ": [session["id"]],
        "hookline sessions search ": [],
        "hookline trace ": [session["id"]],
        "hookline config get session.id": ["session.idle_hours"],
        "hookline config set plugins.modes.default a": ["ask", "auto"],
        "hookline config set trace ": ["true", "false"],
        "hookline hooks pre_to": ["pre_tool"],
        "hookline completion ": ["bash", "zsh", "fish"],
        "hookline nosuch ": [],
    }
    assert dict(zip(lines, shop.complete(shell, *lines), strict=True)) == lines


def test_bash_gets_the_rest_of_a_word_that_it_has_broken(shop: Shop) -> None:
    lines = ["hookline run --model ollama/qwen3:", "hookline run --mode=y", "hookline run --mode="]
    assert shop.complete("bash", *lines) == [["8b"], ["yolo"], ["ask", "auto", "plan", "yolo"]]


def test_zsh_and_fish_get_the_whole_word(shop: Shop) -> None:
    assert shop.offers("run", "--mode=y") == ["--mode=yolo"]


def test_files_and_folders_are_left_to_the_shell(shop: Shop) -> None:
    lines = ["hookline run --image pla", "hookline --home pla"]
    files, folders = shop.complete("bash", *lines)
    assert (sorted(files), folders) == (["plain file.txt", "plains"], ["plains"])


@pytest.mark.parametrize(
    "shell",
    [
        "bash",
        pytest.param("zsh", marks=pytest.mark.slow),
        pytest.param("fish", marks=pytest.mark.slow),
    ],
)
def test_tab_on_a_terminal(shop: Shop, shell: str) -> None:
    program, script = shutil.which(shell), shop.script(shell)
    assert program is not None
    quiet = {"bash": "--norc", "zsh": "-f", "fish": "--no-config"}[shell]
    with TerminalScreen([program, quiet], env=shop.env, cwd=shop.folder) as screen:
        screen.type(f". {shlex.quote(str(script))}; echo rea''dy\r")
        screen.wait_for("ready")
        screen.type("hookline plugins disable she\t")
        screen.wait_for("hookline plugins disable shell")


def test_an_option_that_is_given_is_not_offered_again(shop: Shop) -> None:
    assert "--session" in shop.offers("run", "--")
    assert "--session" not in shop.offers("run", "--session", "sky", "--")
    assert "--image" in shop.offers("run", "--image", "a", "--")
    assert shop.offers("run", "--", "--") == []


def test_the_commands_of_a_plugin_that_is_off_are_not_offered(own: Shop) -> None:
    """At once, although the table is older than config.yaml."""
    assert {"insights", "doctor", "plugins"} & set(own.offers("")) == {"doctor", "plugins"}
    (own.home / "config.yaml").write_text("plugins: {inspect: false, scaffold: {enabled: false}}\n")
    assert {"doctor", "sessions", "config"} & set(own.offers("")) == {"config"}
    assert {"list", "new", "enable"} & set(own.offers("plugins", "")) == {"enable"}
    assert own.offers("plugins", "enable", "ins") == ["insights", "inspect"]


@pytest.mark.slow
def test_a_config_that_is_wrong_takes_no_command_away(own: Shop) -> None:
    (own.home / "config.yaml").write_text("plugins: [\n")
    assert "doctor" in own.offers("")
    own.hookline("completion", "bash")
    assert {"doctor", "config"} <= set(own.offers(""))
    assert own.offers("config", "get", "session.id") == ["session.idle_hours"]


def test_an_answer_imports_next_to_nothing(shop: Shop) -> None:
    """Time goes into imports; a test that measured it would measure the machine."""
    command = [sys.executable, "-I", "-S", "-X", "importtime", completer.__file__]
    for words in (["plugins", "disable", ""], ["run", "--model", ""], ["config", "get", ""]):
        done = subprocess.run(
            [*command, "zsh", "hookline", *words], env=shop.env, capture_output=True, text=True
        )
        assert len(done.stdout.splitlines()) > 1
        modules = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
        assert not HEAVY & {name.partition(".")[0] for name in modules}
        assert len(modules) < 60


@pytest.mark.slow
def test_a_table_that_is_old_is_renewed(own: Shop) -> None:
    lock = Path(f"{own.table()}.lock")
    (own.home / "config.yaml").write_text("plugins: {inspect: false, insights: true}\n")
    lock.unlink()
    assert "insights" in own.offers("plugins", "disable", "")
    until = time.monotonic() + PATIENCE
    while lock.exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert json.loads(own.table().read_text())["config"] == completer.stamp(
        str(own.home / "config.yaml")
    )
    assert {"insights", "doctor"} & set(own.offers("")) == {"insights"}


@pytest.mark.slow
def test_a_home_that_is_not_there_is_not_made(own: Shop, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    lock = Path(f"{_table_path(own)}.lock")
    lock.unlink()
    assert own.offers("", HOOKLINE_HOME=str(elsewhere)) == []
    (made,) = lock.parent.glob("*.lock")
    until = time.monotonic() + PATIENCE
    while made.exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert "doctor" in own.offers("", HOOKLINE_HOME=str(elsewhere))
    assert "doctor" in own.offers("--home", str(elsewhere), "")
    assert not elsewhere.exists()


@pytest.mark.parametrize("written", ["{", "[]", '{"format": 0}'])
def test_a_damaged_table_answers_nothing(own: Shop, written: str) -> None:
    own.table().write_text(written)
    done = own.answer("")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.slow
def test_what_others_have_named_does_no_harm(own: Shop) -> None:
    """A session's id and title may come from a chat."""
    with closing(sqlite3.connect(own.home / "hookline.db")) as store:
        store.execute("UPDATE sessions SET id = '$(touch harm)', title = 'a\x1b[2J\nb\tc'")
        store.commit()
    done = own.answer("sessions", "show", "")
    assert done.stdout == "words\n$(touch harm)\ta[2J b c\n"
    assert own.complete("bash", "hookline sessions show ") == [[]]
    assert not (own.folder / "harm").exists()


@pytest.mark.slow
def test_the_shell_has_to_be_named(shop: Shop) -> None:
    command = [sys.executable, "-m", "hookline", "completion"]
    done = subprocess.run(command, env=shop.env, cwd=shop.folder, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert "hookline completion bash|zsh|fish" in done.stderr


@pytest.mark.slow
def test_help_tells_how_to_install_it_in_one_line(shop: Shop) -> None:
    lines = [line.strip() for line in shop.hookline("completion", "--help").splitlines()]
    for shell in SHELLS:
        (line,) = [line for line in lines if line.startswith(f"hookline completion {shell} >")]
        assert len(line) < 78
