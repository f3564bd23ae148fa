"""``hookline completion``: the scripts in each installed shell, and the completions they get."""

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
class CompletionHome:
    """A home with a conversation, and the completion scripts printed for it."""

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
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> CompletionHome:
    """One that no test changes."""
    found = CompletionHome(tmp_path_factory.mktemp("shop"))
    found.home.mkdir()
    (found.home / "config.yaml").write_text("plugins: {telegram: {token: t}, insights: false}\n")
    (found.folder / "scenario.yaml").write_text(STEPS)
    found.hookline("run", "--model", "scripted/scenario.yaml", "--session", "sky", "Which colour?")
    (found.folder / "plain file.txt").touch()
    (found.folder / "plains").mkdir()
    found.script("bash")
    return found


@pytest.fixture
def own_home(shared_home: CompletionHome, tmp_path: Path) -> Iterator[CompletionHome]:
    """One with a home and a table of its own, which nobody renews."""
    found = CompletionHome(tmp_path)
    shutil.copytree(shared_home.home, found.home, copy_function=shutil.copy2)
    path = Path(_table_path(found))
    path.parent.mkdir(parents=True)
    held = json.loads(shared_home.table().read_text()) | {"home": str(found.home)}
    path.write_text(json.dumps(held | {"config": completer.stamp(str(found.home / "config.yaml"))}))
    Path(f"{path}.lock").touch()
    yield found
    Path(f"{path}.lock").unlink(missing_ok=True)


def _table_path(shared_home: CompletionHome) -> str:
    before, os.environ["XDG_CACHE_HOME"] = (
        os.environ.get("XDG_CACHE_HOME"),
        shared_home.env["XDG_CACHE_HOME"],
    )
    try:
        return completer.table_path(str(shared_home.home))
    finally:
        os.environ.pop("XDG_CACHE_HOME")
        if before is not None:
            os.environ["XDG_CACHE_HOME"] = before


@pytest.mark.slow
@pytest.mark.parametrize("shell", SHELLS)
def test_script_is_valid_for_its_shell(shared_home: CompletionHome, shell: str) -> None:
    done = subprocess.run([shell, "-n", shared_home.script(shell)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("shell", SHELLS)
def test_shell_offers_matching_completions(shared_home: CompletionHome, shell: str) -> None:
    (session,) = json.loads(shared_home.hookline("sessions", "list", "--json"))
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
    assert dict(zip(lines, shared_home.complete(shell, *lines), strict=True)) == lines


@pytest.mark.slow
def test_bash_gets_the_rest_of_a_word_split_at_colon_or_equals(shared_home: CompletionHome) -> None:
    lines = ["hookline run --model ollama/qwen3:", "hookline run --mode=y", "hookline run --mode="]
    assert shared_home.complete("bash", *lines) == [
        ["8b"],
        ["yolo"],
        ["ask", "auto", "plan", "yolo"],
    ]


@pytest.mark.long
def test_zsh_and_fish_get_the_whole_word(shared_home: CompletionHome) -> None:
    assert shared_home.offers("run", "--mode=y") == ["--mode=yolo"]


def test_files_and_folders_are_completed_by_the_shell(shared_home: CompletionHome) -> None:
    lines = ["hookline run --image pla", "hookline --home pla"]
    files, folders = shared_home.complete("bash", *lines)
    assert (sorted(files), folders) == (["plain file.txt", "plains"], ["plains"])


@pytest.mark.parametrize(
    "shell",
    [
        "bash",
        pytest.param("zsh", marks=pytest.mark.slow),
        pytest.param("fish", marks=pytest.mark.slow),
    ],
)
def test_tab_completes_on_a_terminal(shared_home: CompletionHome, shell: str) -> None:
    program, script = shutil.which(shell), shared_home.script(shell)
    assert program is not None
    quiet = {"bash": "--norc", "zsh": "-f", "fish": "--no-config"}[shell]
    with TerminalScreen([program, quiet], env=shared_home.env, cwd=shared_home.folder) as screen:
        screen.type(f". {shlex.quote(str(script))}; echo rea''dy\r")
        screen.wait_for("ready")
        screen.type("hookline plugins disable she\t")
        screen.wait_for("hookline plugins disable shell")


def test_given_option_is_not_offered_again(shared_home: CompletionHome) -> None:
    assert "--session" in shared_home.offers("run", "--")
    assert "--session" not in shared_home.offers("run", "--session", "sky", "--")
    assert "--image" in shared_home.offers("run", "--image", "a", "--")
    assert shared_home.offers("run", "--", "--") == []


@pytest.mark.slow
def test_commands_of_disabled_plugin_are_not_offered(own_home: CompletionHome) -> None:
    """At once, although the table is older than config.yaml."""
    assert {"insights", "doctor", "plugins"} & set(own_home.offers("")) == {"doctor", "plugins"}
    (own_home.home / "config.yaml").write_text(
        "plugins: {inspect: false, scaffold: {enabled: false}}\n"
    )
    assert {"doctor", "sessions", "config"} & set(own_home.offers("")) == {"config"}
    assert {"list", "new", "enable"} & set(own_home.offers("plugins", "")) == {"enable"}
    assert own_home.offers("plugins", "enable", "ins") == ["insights", "inspect"]


@pytest.mark.slow
def test_invalid_config_removes_no_commands(own_home: CompletionHome) -> None:
    (own_home.home / "config.yaml").write_text("plugins: [\n")
    assert "doctor" in own_home.offers("")
    own_home.hookline("completion", "bash")
    assert {"doctor", "config"} <= set(own_home.offers(""))
    assert own_home.offers("config", "get", "session.id") == ["session.idle_hours"]


def test_completion_imports_few_modules(shared_home: CompletionHome) -> None:
    """Time goes into imports; a test that measured it would measure the machine."""
    command = [sys.executable, "-I", "-S", "-X", "importtime", completer.__file__]
    for words in (["plugins", "disable", ""], ["run", "--model", ""], ["config", "get", ""]):
        done = subprocess.run(
            [*command, "zsh", "hookline", *words],
            env=shared_home.env,
            capture_output=True,
            text=True,
        )
        assert len(done.stdout.splitlines()) > 1
        modules = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
        assert not HEAVY & {name.partition(".")[0] for name in modules}
        assert len(modules) < 60


@pytest.mark.slow
def test_old_completion_table_is_renewed(own_home: CompletionHome) -> None:
    lock = Path(f"{own_home.table()}.lock")
    (own_home.home / "config.yaml").write_text("plugins: {inspect: false, insights: true}\n")
    lock.unlink()
    assert "insights" in own_home.offers("plugins", "disable", "")
    until = time.monotonic() + PATIENCE
    while lock.exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert json.loads(own_home.table().read_text())["config"] == completer.stamp(
        str(own_home.home / "config.yaml")
    )
    assert {"insights", "doctor"} & set(own_home.offers("")) == {"insights"}


@pytest.mark.slow
def test_completion_does_not_create_a_missing_home(
    own_home: CompletionHome, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    lock = Path(f"{_table_path(own_home)}.lock")
    lock.unlink()
    assert own_home.offers("", HOOKLINE_HOME=str(elsewhere)) == []
    (made,) = lock.parent.glob("*.lock")
    until = time.monotonic() + PATIENCE
    while made.exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert "doctor" in own_home.offers("", HOOKLINE_HOME=str(elsewhere))
    assert "doctor" in own_home.offers("--home", str(elsewhere), "")
    assert not elsewhere.exists()


@pytest.mark.parametrize("written", ["{", "[]", '{"format": 0}'])
def test_damaged_completion_table_offers_nothing(own_home: CompletionHome, written: str) -> None:
    own_home.table().write_text(written)
    done = own_home.answer("")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.slow
def test_hostile_session_names_are_harmless_in_completion(own_home: CompletionHome) -> None:
    """A session's id and title may come from a chat."""
    with closing(sqlite3.connect(own_home.home / "hookline.db")) as store:
        store.execute("UPDATE sessions SET id = '$(touch harm)', title = 'a\x1b[2J\nb\tc'")
        store.commit()
    done = own_home.answer("sessions", "show", "")
    assert done.stdout == "words\n$(touch harm)\ta[2J b c\n"
    assert own_home.complete("bash", "hookline sessions show ") == [[]]
    assert not (own_home.folder / "harm").exists()


@pytest.mark.slow
def test_completion_without_shell_lists_the_shells(shared_home: CompletionHome) -> None:
    command = [sys.executable, "-m", "hookline", "completion"]
    done = subprocess.run(
        command, env=shared_home.env, cwd=shared_home.folder, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "hookline completion bash|zsh|fish" in done.stderr


@pytest.mark.slow
def test_completion_help_has_one_install_line_per_shell(shared_home: CompletionHome) -> None:
    lines = [line.strip() for line in shared_home.hookline("completion", "--help").splitlines()]
    for shell in SHELLS:
        (line,) = [line for line in lines if line.startswith(f"hookline completion {shell} >")]
        assert len(line) < 78
