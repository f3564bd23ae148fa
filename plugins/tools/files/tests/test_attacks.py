"""The tools in the real core under hostile paths, arguments, patterns and files."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hookline.testing import calls
from hookline_files import Files

SECRET = "SECRET=hunter2"
SENTENCE = re.compile(r"(?:Error|Denied): .{15,}", re.DOTALL)


class ToolSession:
    """One session of a real core whose model calls tools."""

    def __init__(self, harness, folder: Path, **options) -> None:
        self.root = folder / "work"
        self.root.mkdir(exist_ok=True)
        self.h = harness(Files, workspace=self.root, **options)

    def all(self, *tool_calls) -> list[str]:
        """The results of the calls, in order, made in one turn."""
        self.h.model.steps += [list(tool_calls), "done"]
        return [result.text for result in self.h.send("go").tool_calls]

    def __call__(self, name: str, **arguments) -> str:
        return self.all(calls(name, **arguments))[0]


@pytest.fixture
def tools(harness, tmp_path):
    return ToolSession(harness, tmp_path)


def on(path: str):
    """Every tool on one path."""
    return [
        calls("read_file", path=path),
        calls("write_file", path=path, content="owned"),
        calls("edit_file", path=path, old_string="hunter2", new_string="owned"),
        calls("list_dir", path=path),
        calls("grep", pattern="hunter2", path=path),
        calls("glob", pattern="*", path=path),
    ]


OUTSIDE = [
    "../outside/secret.txt",
    "sub/../../outside/secret.txt",
    "sub/./.././../outside/secret.txt",
    "link/secret.txt",
    "filelink.txt",
    "chain",
    "sub/up/outside/secret.txt",
    "{outside}/secret.txt",
    "/{outside}/secret.txt",
    "~root/secret.txt",
]


@pytest.mark.long
@pytest.mark.parametrize("path", OUTSIDE)
def test_paths_out_of_the_workspace_are_refused(tools, tmp_path, path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text(SECRET)
    (tools.root / "sub").mkdir()
    (tools.root / "link").symlink_to(outside)
    (tools.root / "filelink.txt").symlink_to(outside / "secret.txt")
    (tools.root / "chain").symlink_to("filelink.txt")
    (tools.root / "sub" / "up").symlink_to("../..")
    for answer in tools.all(*on(path.format(outside=outside))):
        assert SENTENCE.fullmatch(answer)
        assert "hunter2" not in answer
    assert (outside / "secret.txt").read_text() == SECRET
    assert [path.name for path in outside.iterdir()] == ["secret.txt"]


@pytest.mark.parametrize(
    "path",
    [".env", ".ENV", "sub/../.env", ".ｅｎｖ", ".e\u200bnv", ".env.bak", ".ssh/id_rsa", "copy"],
)
def test_secret_files_are_refused_in_every_spelling(tools, path):
    (tools.root / "sub").mkdir()
    (tools.root / ".ssh").mkdir()
    for name in {".env", ".ssh/id_rsa", path} - {"copy"}:
        if ".." not in name:
            (tools.root / name).write_text(SECRET)
    (tools.root / "copy").symlink_to(".env")
    for answer in tools.all(*on(path)):
        assert SENTENCE.fullmatch(answer)
    for answer in tools.all(calls("grep", pattern="hunter2"), calls("glob", pattern="**/.*")):
        assert "SECRET" not in answer
        assert path not in answer
    assert (tools.root / ".env").read_text() == SECRET


KERNEL = ["/proc/self/environ", "/proc/self/mem", "/proc/self/root/etc/hostname", "/dev/zero"]
KERNEL += ["/dev/stdin", "/dev/tty", "/sys/kernel/notes", "/proc/self/fd/0", "environ", "zero"]


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc")
@pytest.mark.parametrize("path", KERNEL)
def test_kernel_files_are_refused_even_if_all_roots_are_allowed(harness, tmp_path, path):
    tools = ToolSession(harness, tmp_path, core={"paths.allowed_roots": ["/"]})
    (tools.root / "environ").symlink_to("/proc/self/environ")
    (tools.root / "zero").symlink_to("/dev/zero")
    for answer in tools.all(*on(path)):
        assert SENTENCE.fullmatch(answer)
        assert "PATH=" not in answer


def test_pipe_is_refused_without_hanging(tools):
    os.mkfifo(tools.root / "pipe")
    for answer in tools.all(*on("pipe")):
        assert SENTENCE.fullmatch(answer)
    assert tools("list_dir") == "pipe (not a regular file)"
    assert tools("grep", pattern="x").startswith("No line matches")


@pytest.mark.slow
def test_gigabyte_file_uses_little_memory(tools):
    for name, head in {"sparse.txt": b"", "text.txt": b"hunter2\n" * 20_000}.items():
        with (tools.root / name).open("wb") as stream:
            stream.write(head)
            stream.truncate(1 << 30)
    answers = tools.all(
        calls("read_file", path="sparse.txt"),
        calls("edit_file", path="text.txt", old_string="hunter2", new_string="x"),
        calls("write_file", path="sparse.txt", content="x"),
        calls("grep", pattern="hunter2"),
    )
    assert "binary file" in answers[0]
    assert "has 1073741824 bytes; at most 10000000 can be edited" in answers[1]
    assert "binary file" in answers[2]
    assert answers[3].startswith("No line matches")
    assert tools("read_file", path="text.txt", end_line=1).startswith("1\thunter2")
    assert (tools.root / "sparse.txt").stat().st_size == 1 << 30


def test_file_that_grows_while_read_is_read_to_a_bound(tools):
    path = tools.root / "log.txt"
    path.write_text("first\n")
    stop, grown = threading.Event(), threading.Event()

    def grow() -> None:
        with path.open("ab") as stream:
            while not stop.is_set() and stream.tell() < 50_000_000:
                stream.write(b"line\n" * 10_000)
                grown.set()

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        assert grown.wait(60)
        answers = tools.all(
            calls("read_file", path="log.txt"),
            calls("grep", pattern="first"),
            calls("read_file", path="log.txt", start_line=5_000, end_line=5_001),
        )
    finally:
        stop.set()
        writer.join()
    assert answers[0].startswith("1\tfirst\n")
    assert "go on with start_line=" in answers[0]
    assert "first" in answers[1] or "too large" in answers[1]
    assert answers[2].startswith("5000\tline\n5001\tline")


VALUES = [None, True, 0, -1, 2**70, 1.5, "", " ", "\0", "x" * 10_000, "\ud800", [], {}, [None]]
VALUES += [{"path": "a.txt"}, ["a.txt"], "../x", "a\nb", "é" * 300, "**" * 50, "[", "(?R)", "\\"]
ARGUMENTS = {
    "read_file": {"path": "a.txt", "start_line": 1, "end_line": 1},
    "write_file": {"path": "a.txt", "content": "text\n"},
    "edit_file": {"path": "a.txt", "old_string": "text", "new_string": "t", "replace_all": False},
    "list_dir": {"path": "."},
    "glob": {"pattern": "*", "path": "."},
    "grep": {"pattern": "text", "path": ".", "glob": "*", "ignore_case": False},
}


@pytest.mark.slow
@pytest.mark.parametrize("tool", ARGUMENTS)
def test_wrong_arguments_give_an_error_message(tools, tool):
    right = ARGUMENTS[tool]
    wrong = [{**right, name: value} for name in right for value in VALUES]
    wrong += [{}, {**right, "unknown": 1}, {name.upper(): value for name, value in right.items()}]
    (tools.root / "a.txt").write_text("text\n")
    answers = tools.all(*(calls(tool, **arguments) for arguments in wrong))
    assert len(answers) == len(wrong)
    for arguments, answer in zip(wrong, answers, strict=True):
        assert answer.strip(), arguments
        assert "Traceback" not in answer
        assert len(answer) < 5_000, arguments
        if answer.startswith(("Error", "Denied")):
            assert SENTENCE.fullmatch(answer), arguments
    for name in right:
        if name in ("path", "pattern", "old_string", "content", "new_string"):
            answer = tools(tool, **{**right, name: 7.5})
            assert answer.startswith("Error: "), answer
            assert name in answer
    assert "unknown" in answers[-2]


@pytest.mark.slow
def test_error_about_a_huge_argument_is_short(tools):
    (tools.root / "a.txt").write_text("text\n")
    old = "nothing like it " * 100_000
    answer = tools("edit_file", path="a.txt", old_string=old, new_string="x")
    assert answer.startswith("Error: old_string was not found in a.txt")
    assert len(answer) < 2_000


CATASTROPHES = ["(a*)*b", "(.*)*x", "(a|a?)+b", r"(\w+\s?)+:"]
CATASTROPHES += [
    pytest.param(p, marks=pytest.mark.slow) for p in ("(a|aa)+$", "^(([a-z])+.)+[A-Z]$")
]


@pytest.mark.parametrize("pattern", CATASTROPHES)
def test_catastrophic_pattern_times_out_with_a_message(tools, pattern):
    (tools.root / "a.txt").write_text("a" * 5_000 + "!\n")
    answer = tools("grep", pattern=pattern)
    assert re.search(r"took too long in 1 file|No line matches|a\.txt:1: ", answer)


RECURSIVE = ["(?R)", "(?:(?R)|x)", "(a(?1)?b)", "(?<n>a(?&n)?b)", "(?P<n>a(?P>n)?b)", "(?0)"]
RECURSIVE += ["(?-1)", "(a)(?+1)(b)", r"\\(?R)"]


@pytest.mark.parametrize("pattern", RECURSIVE)
def test_recursive_pattern_is_refused(tools, pattern):
    (tools.root / "a.txt").write_text("a" * 5_000 + "\n")
    assert tools("grep", pattern=pattern).startswith("Error: the pattern is recursive")


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        (r"call\(?R", "call(R)"),
        ("x={i}", "<b x={i}>"),
        ("{name}", "{name}"),
        (r"\{name\}", "{name}"),
        ("a{2}b", "aab"),
        ("(?i-s:CALL)", "call(R)"),
        (r"\p{Lu}\)", "call(R)"),
        ("f{}", "f{}"),
    ],
)
def test_braces_and_escapes_have_their_usual_regex_meaning(tools, pattern, found):
    (tools.root / "a.txt").write_text("call(R)\n<b x={i}>\n{name}\naab\nf{}\nx=2\n")
    lines = tools("grep", pattern=pattern).split("\n")
    assert [line.partition(": ")[2] for line in lines] == [found]


def test_pattern_nested_without_end_is_refused(tools):
    (tools.root / "a.txt").write_text("a\n")
    answer = tools("grep", pattern="(" * 900 + "a" + ")" * 900)
    assert answer.startswith("Error: the pattern is nested too deeply")


@pytest.mark.slow
def test_huge_lines_are_searched_and_cut(tools):
    (tools.root / "min.js").write_text("x" * 5_000_000 + "needle" + "y" * 4_000_000 + "\n")
    answer = tools("grep", pattern="needle")
    assert "needle" in answer
    assert len(answer) < 500
    assert len(tools("read_file", path="min.js")) < 3_000
    edited = tools("edit_file", path="min.js", old_string="needle", new_string="pin")
    assert edited == "Edited min.js: 1 replacement(s), strategy exact"


def test_file_changed_since_the_read_is_not_overwritten(tools):
    path = tools.root / "a.txt"
    path.write_text("one\n")
    tools("read_file", path="a.txt")
    path.write_text("someone else's\n")
    answer = tools("write_file", path="a.txt", content="mine\n")
    assert answer.startswith("Error: a.txt has changed on disk since you read it")
    assert path.read_text() == "someone else's\n"
    tools("read_file", path="a.txt")
    assert tools("write_file", path="a.txt", content="mine\n").startswith("Replaced a.txt")


def test_concurrent_edits_are_all_kept(tools):
    names = [f"name{number}" for number in range(8)]
    (tools.root / "a.txt").write_text("\n".join(names))
    edits = [calls("edit_file", path="a.txt", old_string=n, new_string=n.upper()) for n in names]
    answers = tools.all(*edits)
    text = (tools.root / "a.txt").read_text()
    for name, answer in zip(names, answers, strict=True):
        assert (name.upper() in text) == answer.startswith("Edited")


BREAK = """
import os, signal, resource, sys
from pathlib import Path
from hookline.testing import guarded_paths
from hookline_files import disk
from hookline_hookspecs import ToolError

real = Path(sys.argv[2])
paths = guarded_paths(real.parent, real.parent / "hookline-home")
before = disk.load(paths, real, 10**6).stamp
if sys.argv[1] == "kill":
    os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)
else:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    disk.replace(paths, real, b"x" * 100_000, before)
except OSError as error:
    sys.exit(f"OSError: {error}")
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["kill", "full"])
def test_interrupted_write_leaves_the_old_file(tmp_path, how):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o640)
    command = [sys.executable, "-c", BREAK, how, str(path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == (-signal.SIGKILL if how == "kill" else 1), run.stderr
    assert path.read_text() == "old"
    assert path.stat().st_mode & 0o777 == 0o640
    if how == "full":
        assert "OSError" in run.stderr
        assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
