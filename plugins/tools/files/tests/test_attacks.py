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


class Hands:
    """One session of a real core whose model calls tools."""

    def __init__(self, harness, folder: Path, **options) -> None:
        self.root = folder / "work"
        self.root.mkdir(exist_ok=True)
        self.h = harness(Files, workspace=self.root, **options)

    def all(self, *wanted) -> list[str]:
        """What the calls came to, in order, made in one turn."""
        self.h.model.steps += [list(wanted), "done"]
        return [result.text for result in self.h.send("go").tool_calls]

    def __call__(self, name: str, **arguments) -> str:
        return self.all(calls(name, **arguments))[0]


@pytest.fixture
def hands(harness, tmp_path):
    return Hands(harness, tmp_path)


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


@pytest.mark.parametrize("path", OUTSIDE)
def test_no_way_leads_out_of_the_workspace(hands, tmp_path, path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text(SECRET)
    (hands.root / "sub").mkdir()
    (hands.root / "link").symlink_to(outside)
    (hands.root / "filelink.txt").symlink_to(outside / "secret.txt")
    (hands.root / "chain").symlink_to("filelink.txt")
    (hands.root / "sub" / "up").symlink_to("../..")
    for answer in hands.all(*on(path.format(outside=outside))):
        assert SENTENCE.fullmatch(answer)
        assert "hunter2" not in answer
    assert (outside / "secret.txt").read_text() == SECRET
    assert [path.name for path in outside.iterdir()] == ["secret.txt"]


@pytest.mark.parametrize(
    "path",
    [".env", ".ENV", "sub/../.env", ".ｅｎｖ", ".e\u200bnv", ".env.bak", ".ssh/id_rsa", "copy"],
)
def test_secrets_are_opened_under_no_spelling(hands, path):
    (hands.root / "sub").mkdir()
    (hands.root / ".ssh").mkdir()
    for name in {".env", ".ssh/id_rsa", path} - {"copy"}:
        if ".." not in name:
            (hands.root / name).write_text(SECRET)
    (hands.root / "copy").symlink_to(".env")
    for answer in hands.all(*on(path)):
        assert SENTENCE.fullmatch(answer)
    for answer in hands.all(calls("grep", pattern="hunter2"), calls("glob", pattern="**/.*")):
        assert "SECRET" not in answer
        assert path not in answer
    assert (hands.root / ".env").read_text() == SECRET


KERNEL = ["/proc/self/environ", "/proc/self/mem", "/proc/self/root/etc/hostname", "/dev/zero"]
KERNEL += ["/dev/stdin", "/dev/tty", "/sys/kernel/notes", "/proc/self/fd/0", "environ", "zero"]


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc")
@pytest.mark.parametrize("path", KERNEL)
def test_the_kernel_shows_nothing_even_where_all_roots_are_allowed(harness, tmp_path, path):
    hands = Hands(harness, tmp_path, core={"paths.allowed_roots": ["/"]})
    (hands.root / "environ").symlink_to("/proc/self/environ")
    (hands.root / "zero").symlink_to("/dev/zero")
    for answer in hands.all(*on(path)):
        assert SENTENCE.fullmatch(answer)
        assert "PATH=" not in answer


def test_a_pipe_hangs_nothing(hands):
    os.mkfifo(hands.root / "pipe")
    for answer in hands.all(*on("pipe")):
        assert SENTENCE.fullmatch(answer)
    assert hands("list_dir") == "pipe (not a regular file)"
    assert hands("grep", pattern="x").startswith("No line matches")


def test_a_gigabyte_costs_no_gigabyte(hands):
    for name, head in {"sparse.txt": b"", "text.txt": b"hunter2\n" * 20_000}.items():
        with (hands.root / name).open("wb") as stream:
            stream.write(head)
            stream.truncate(1 << 30)
    answers = hands.all(
        calls("read_file", path="sparse.txt"),
        calls("edit_file", path="text.txt", old_string="hunter2", new_string="x"),
        calls("write_file", path="sparse.txt", content="x"),
        calls("grep", pattern="hunter2"),
    )
    assert "binary file" in answers[0]
    assert "has 1073741824 bytes; at most 10000000 can be edited" in answers[1]
    assert "binary file" in answers[2]
    assert answers[3].startswith("No line matches")
    assert hands("read_file", path="text.txt", end_line=1).startswith("1\thunter2")
    assert (hands.root / "sparse.txt").stat().st_size == 1 << 30


def test_a_file_that_grows_while_it_is_read_is_read_to_a_bound(hands):
    path = hands.root / "log.txt"
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
        answers = hands.all(
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


@pytest.mark.parametrize("tool", ARGUMENTS)
def test_arguments_that_are_wrong_in_any_way_get_a_sentence(hands, tool):
    right = ARGUMENTS[tool]
    wrong = [{**right, name: value} for name in right for value in VALUES]
    wrong += [{}, {**right, "unknown": 1}, {name.upper(): value for name, value in right.items()}]
    (hands.root / "a.txt").write_text("text\n")
    answers = hands.all(*(calls(tool, **arguments) for arguments in wrong))
    assert len(answers) == len(wrong)
    for arguments, answer in zip(wrong, answers, strict=True):
        assert answer.strip(), arguments
        assert "Traceback" not in answer
        assert len(answer) < 5_000, arguments
        if answer.startswith(("Error", "Denied")):
            assert SENTENCE.fullmatch(answer), arguments
    for name in right:
        if name in ("path", "pattern", "old_string", "content", "new_string"):
            answer = hands(tool, **{**right, name: 7.5})
            assert answer.startswith("Error: "), answer
            assert name in answer
    assert "unknown" in answers[-2]


@pytest.mark.slow
def test_a_message_about_a_huge_argument_is_short(hands):
    (hands.root / "a.txt").write_text("text\n")
    old = "nothing like it " * 100_000
    answer = hands("edit_file", path="a.txt", old_string=old, new_string="x")
    assert answer.startswith("Error: old_string was not found in a.txt")
    assert len(answer) < 2_000


CATASTROPHES = ["(a*)*b", "(.*)*x", "(a|a?)+b", r"(\w+\s?)+:"]
CATASTROPHES += [
    pytest.param(p, marks=pytest.mark.slow) for p in ("(a|aa)+$", "^(([a-z])+.)+[A-Z]$")
]


@pytest.mark.parametrize("pattern", CATASTROPHES)
def test_a_pattern_that_explodes_ends_in_a_sentence(hands, pattern):
    (hands.root / "a.txt").write_text("a" * 5_000 + "!\n")
    answer = hands("grep", pattern=pattern)
    assert re.search(r"took too long in 1 file|No line matches|a\.txt:1: ", answer)


RECURSIVE = ["(?R)", "(?:(?R)|x)", "(a(?1)?b)", "(?<n>a(?&n)?b)", "(?P<n>a(?P>n)?b)", "(?0)"]
RECURSIVE += ["(?-1)", "(a)(?+1)(b)", r"\\(?R)"]


@pytest.mark.parametrize("pattern", RECURSIVE)
def test_a_pattern_that_calls_itself_is_refused(hands, pattern):
    (hands.root / "a.txt").write_text("a" * 5_000 + "\n")
    assert hands("grep", pattern=pattern).startswith("Error: the pattern calls itself")


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
def test_braces_and_signs_mean_what_they_do_elsewhere(hands, pattern, found):
    (hands.root / "a.txt").write_text("call(R)\n<b x={i}>\n{name}\naab\nf{}\nx=2\n")
    lines = hands("grep", pattern=pattern).split("\n")
    assert [line.partition(": ")[2] for line in lines] == [found]


def test_a_pattern_nested_without_end_is_refused(hands):
    (hands.root / "a.txt").write_text("a\n")
    answer = hands("grep", pattern="(" * 900 + "a" + ")" * 900)
    assert answer.startswith("Error: the pattern is nested too deeply")


def test_huge_lines_are_searched_and_cut(hands):
    (hands.root / "min.js").write_text("x" * 5_000_000 + "needle" + "y" * 4_000_000 + "\n")
    answer = hands("grep", pattern="needle")
    assert "needle" in answer
    assert len(answer) < 500
    assert len(hands("read_file", path="min.js")) < 3_000
    edited = hands("edit_file", path="min.js", old_string="needle", new_string="pin")
    assert edited == "Edited min.js: 1 replacement(s), strategy exact"


def test_what_changed_since_it_was_read_is_told_before_it_is_overwritten(hands):
    path = hands.root / "a.txt"
    path.write_text("one\n")
    hands("read_file", path="a.txt")
    path.write_text("someone else's\n")
    answer = hands("write_file", path="a.txt", content="mine\n")
    assert answer.startswith("Error: a.txt has changed on disk since you read it")
    assert path.read_text() == "someone else's\n"
    hands("read_file", path="a.txt")
    assert hands("write_file", path="a.txt", content="mine\n").startswith("Replaced a.txt")


def test_edits_side_by_side_lose_none(hands):
    names = [f"name{number}" for number in range(8)]
    (hands.root / "a.txt").write_text("\n".join(names))
    edits = [calls("edit_file", path="a.txt", old_string=n, new_string=n.upper()) for n in names]
    answers = hands.all(*edits)
    text = (hands.root / "a.txt").read_text()
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


@pytest.mark.parametrize("how", ["kill", "full"])
def test_a_write_that_breaks_off_leaves_the_old_file(tmp_path, how):
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
