"""Records the first ten minutes on a real terminal, as a page and a picture.

``uv run python docs/_gen/first_session.py`` plays ``hookline init`` with a local server, a fix with
a diff and an approval, a rewind and a resumed chat. The server's answers are scripted; the program,
its tools, questions and screens are real. It writes ``docs/first-session.md`` and
``docs/assets/first-session.svg``. A test fails if they no longer show what the program does.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(DOCS.parent / "tests"))

from support.openai_server import OpenAIServer, Reply, Use  # noqa: E402
from support.terminal import TerminalScreen  # noqa: E402

COLUMNS, ROWS = 80, 24
KEYS = "Deny\nA number or"
"""How a question ends once its choices can be picked."""
HOOKLINE = [sys.executable, "-m", "hookline"]
SLOPPY = "def mean(numbers):\n    return sum(numbers) / len(numbers) - 1\n"
TEST = "from stats import mean\n\nassert mean([1, 2, 3]) == 2\nprint('ok')\n"
FIX = {
    "path": "stats.py",
    "old_string": "    return sum(numbers) / len(numbers) - 1",
    "new_string": "    return sum(numbers) / len(numbers)",
}
WORDS = [
    "ready",
    Reply("I read the function first.", tools=[Use("read_file", {"path": "stats.py"})]),
    Reply("The `- 1` is wrong.", tools=[Use("edit_file", FIX)]),
    Reply(tools=[Use("bash", {"command": "python3 check_stats.py"})]),
    "Fixed: `mean` subtracted 1 from every result. The check prints *ok* now.",
    Reply(tools=[Use("list_dir", {})]),
    "A module, `stats.py`, and `check_stats.py`, which checks it.",
]
"""The server's answers, in order: to the test request of `hookline init`, in the chat, in `run`."""
INTRO = """# The first ten minutes

This session was recorded by `docs/_gen/first_session.py` on a terminal of 80 columns and 24
rows. The model is a local server with scripted answers; everything else is real.

![The recorded session](assets/first-session.svg)
"""
CHAPTERS = {
    "init": (
        "Set up",
        "`hookline init` finds a local model server, tests it, and writes the configuration.",
    ),
    "ask": (
        "A question",
        "In the mode `ask`, every change needs your approval. You see it as a diff.",
    ),
    "done": (
        "The fix",
        "Answer with a number and Enter. The result, its time and the session's cost follow.",
    ),
    "rewind": ("Undo", "`/rewind` lists the checkpoints and takes back what the agent changed."),
    "resume": ("Later", "`hookline chat --continue` continues the last chat."),
    "run": (
        "One question",
        "`hookline run` answers one prompt. In a pipe it prints the answer alone, as [Scripts and "
        "CI](scripts.md) describes.",
    ),
}
_SESSION = re.compile(r"\b\d{8}-[0-9a-f]{8}\b")
_TIME = re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?\b")
_CHECKPOINT = re.compile(r"\b[0-9a-f]{10}\b")
_TOOK = re.compile(r"· (?:\d+ ms|\d+\.\d s)$", re.MULTILINE)
_CONTEXT = re.compile(r"\b\d+% of ")
_PORT = re.compile(r"127\.0\.0\.1:\d+")


def main() -> None:
    """Record the session and write both files."""
    screens = dict(record())
    (DOCS / "assets").mkdir(exist_ok=True)
    (DOCS / "assets" / "first-session.svg").write_text(svg(screens), "utf-8")
    (DOCS / "first-session.md").write_text(page(screens), "utf-8")


def record() -> Iterator[tuple[str, str]]:
    """Play the session; yield the name and text of each screen."""
    with tempfile.TemporaryDirectory(prefix="stats-") as folder, OpenAIServer(WORDS) as server:
        work, home = Path(folder) / "stats", Path(folder) / ".hookline"
        work.mkdir()
        (work / "stats.py").write_text(SLOPPY, "utf-8")
        (work / "check_stats.py").write_text(TEST, "utf-8")
        env = _environment(home, server.base_url)
        with _screen(env, work, "init") as screen:
            screen.wait_for("Number [")
            screen.type("\r")
            screen.wait_for("Which channel")
            screen.settle()
            screen.type("\r")
            screen.wait_for("hookline chat")
            screen.end()
            yield "init", screen.scrollback
        with _screen(env, work, "chat", "--mode", "ask") as screen:
            screen.wait_for("· ask")
            screen.type("The mean is wrong. Please fix it.\r")
            screen.wait_for(KEYS)
            yield "ask", screen.settle()
            screen.type("1\r")
            screen.wait_for("? Allow bash")
            screen.wait_for(KEYS)
            screen.settle()
            screen.type("1\r")
            screen.wait_for("prints ok now")
            yield "done", screen.settle(1.0)
            screen.type("/rewind\r")
            screen.wait_for("Checkpoints of this chat")
            listed = screen.settle()
            screen.type(f"/rewind {_CHECKPOINT.findall(listed)[0]}\r")
            screen.wait_for("Files only")
            screen.settle(1.0)
            screen.type("2\r")
            screen.wait_for("files are back")
            yield "rewind", screen.settle(1.0)
            screen.type("\x04")
            screen.end()
        with _screen(env, work, "chat", "--continue") as screen:
            screen.wait_for("mean")
            yield "resume", screen.settle(1.0)
            screen.type("\x04")
            screen.end()
        with _screen(env, work, "run", "What is in this folder?") as screen:
            screen.end()
            yield "run", f'$ hookline run "What is in this folder?"\n{screen.scrollback}'


def page(screens: dict[str, str]) -> str:
    """The page in Markdown."""
    parts = [INTRO]
    for name, (title, text) in CHAPTERS.items():
        parts.append(f"## {title}\n\n{text}\n\n```text\n{steady(screens[name])}\n```\n")
    return "\n".join(parts)


def steady(text: str) -> str:
    """Replace everything in a screen that differs between recordings."""
    for pattern, shown in (
        (_SESSION, "20260101-0a1b2c3d"),
        (_TIME, "2026-01-01 09:30"),
        (_CHECKPOINT, "5f0c1d2e3a"),
        (_TOOK, "· 20 ms"),
        (_CONTEXT, "2% of "),
        (_PORT, "127.0.0.1:8000"),
    ):
        text = pattern.sub(shown, text)
    text = re.sub(r"\S*/\.hookline/", "~/.hookline/", text)
    text = "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")
    return re.sub(r"\n{3,}", "\n\n", text)


def svg(screens: dict[str, str]) -> str:
    """The screens one below the other, each with its title, in a monospaced font."""
    lines: list[tuple[str, str]] = []
    for name, (title, _text) in CHAPTERS.items():
        lines += [
            ("title", title),
            *(("", line) for line in steady(screens[name]).split("\n")),
            ("", ""),
        ]
    height, width = 18 * len(lines) + 32, 80 * 8.4 + 48
    rows = [
        f'<text x="24" y="{36 + 18 * number}" class="{kind or _kind(line)}">{escape(line)}</text>'
        for number, (kind, line) in enumerate(lines)
        if line
    ]
    style = (
        "text{font:14px ui-monospace,Menlo,Consolas,monospace;fill:#d7dae0;white-space:pre}"
        ".title{fill:#8ab4f8;font-weight:bold}.plus{fill:#7fd18b}.minus{fill:#f28b82}.ask{fill:#fdd663}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img" '
        f'aria-label="The first ten minutes with Hookline, recorded"><style>{style}</style>'
        f'<rect width="100%" height="100%" rx="8" fill="#1e2127"/>\n'
        + "\n".join(rows)
        + "\n</svg>\n"
    )


def _kind(line: str) -> str:
    if re.match(r"\? [A-Z]", line):
        return "ask"
    shown = re.match(r"\s*(?:│ )?\s*\d*\s*([+-]) ", line) or re.match(r"\s*│ ([+-])", line)
    return "" if shown is None else "plus" if shown[1] == "+" else "minus"


@contextmanager
def _screen(env: dict[str, str], work: Path, *arguments: str) -> Iterator[TerminalScreen]:
    argv = [*HOOKLINE, *arguments]
    with TerminalScreen(argv, env=env, cwd=work, columns=COLUMNS, rows=ROWS) as screen:
        yield screen


def _environment(home: Path, address: str) -> dict[str, str]:
    """An environment without keys and settings, in which the server is found as vLLM."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("HOOKLINE") and not name.endswith(("_KEY", "_TOKEN", "_URL"))
    }
    no_servers = dict.fromkeys(
        ("OLLAMA_BASE_URL", "LMSTUDIO_BASE_URL", "LLAMACPP_BASE_URL"), "http://127.0.0.1:9/v1"
    )
    return {
        **kept,
        **no_servers,
        "HOME": str(home.parent),
        "HOOKLINE_HOME": str(home),
        "VLLM_BASE_URL": address,
        "USER": "you",
    }


if __name__ == "__main__":
    main()
