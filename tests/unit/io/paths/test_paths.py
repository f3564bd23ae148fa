"""`hookline.io.paths`: which paths are allowed; the opened file is the checked one."""

import contextlib
import os
import shutil
import socket
import threading
import time
from pathlib import Path

import pytest
import yaml
from hookline.io.paths import MAX_PATH, PathGuard, PathRefused, known_places
from hypothesis import given
from hypothesis import strategies as st
from support.matrices import sampled

DATA = Path(known_places.__file__).parent / "data"
GROUPS = yaml.load((DATA / "credentials.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)[
    "groups"
]


@pytest.fixture
def place(tmp_path):
    """A workspace, an allowed root and a home, side by side with a folder outside."""
    for name in ("ws/src", "extra", "home", "outside"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "ws/src/a.py").write_text("a")
    (tmp_path / "extra/b.txt").write_text("b")
    (tmp_path / "outside/secret.txt").write_text("s")
    return tmp_path


@pytest.fixture
def guard(place):
    return PathGuard(place / "ws", [place / "extra"], place / "home")


def refused(guard, path):
    """The reason, which `check_path` and `resolve` must agree on."""
    reason = guard.check_path(path)
    assert reason is not None, path
    with pytest.raises(PathRefused) as caught:
        guard.resolve(path)
    assert str(caught.value) == reason
    assert reason.endswith(".")
    return reason


# --- where a path may lie -----------------------------------------------------------------------


@pytest.mark.parametrize("path", [".", "src", "src/a.py", "./src/../src/a.py", "src//a.py", "n/x"])
def test_paths_in_the_workspace_pass(guard, place, path):
    assert guard.check_path(path) is None
    assert guard.resolve(path) == Path(os.path.normpath(place / "ws" / path))


def test_absolute_paths_and_allowed_roots_pass(guard, place):
    assert guard.resolve(str(place / "ws/src/a.py")) == place / "ws/src/a.py"
    assert guard.resolve(str(place / "extra/b.txt")) == place / "extra/b.txt"
    assert guard.resolve(place / "extra") == place / "extra"


def test_allowed_root_may_be_a_single_file(place):
    guard = PathGuard(place / "ws", [place / "outside/secret.txt"], place / "home")
    with guard.open_read(place / "outside/secret.txt") as stream:
        assert stream.read() == b"s"
    refused(guard, str(place / "outside/other.txt"))


def test_relative_path_starts_at_base(guard, place):
    assert guard.resolve("a.py", base=place / "ws/src") == place / "ws/src/a.py"
    assert guard.resolve("a.py", base=Path("src")) == place / "ws/src/a.py"
    assert guard.check_path("../x", base=place / "ws") is not None


@pytest.mark.parametrize(
    "path", ["..", "../outside/secret.txt", "src/../../outside", "/", "/etc/passwd", "//etc/passwd"]
)
def test_paths_outside_are_refused(guard, path):
    assert "outside the workspace" in refused(guard, path)


def test_sibling_with_the_same_name_prefix_is_outside(guard, place):
    (place / "ws-other").mkdir()
    refused(guard, str(place / "ws-other/x"))


def test_tilde_is_the_users_home(guard, place, monkeypatch):
    monkeypatch.setenv("HOME", str(place / "extra"))
    assert guard.resolve("~/b.txt") == place / "extra/b.txt"
    monkeypatch.setenv("HOME", str(place / "outside"))
    refused(guard, "~/secret.txt")
    refused(guard, "~")
    assert guard.check_path("~$report.docx") is None


@pytest.mark.parametrize("path", ["", "a\0b", "a\nb", "a\x1b[0m", "a\x7f", "a\x85b", "x" * 256])
def test_malformed_paths_are_refused(guard, path):
    refused(guard, path)


def test_overlong_paths_are_refused(guard):
    assert guard.check_path("a/" * (MAX_PATH // 2 - 1)) is None
    assert str(MAX_PATH) in refused(guard, "a/" * MAX_PATH)
    refused(guard, "\ud800")


# --- links --------------------------------------------------------------------------------------


def test_links_inside_are_followed(guard, place):
    (place / "ws/link.py").symlink_to("src/a.py")
    (place / "ws/folder").symlink_to(place / "extra")
    assert guard.resolve("link.py") == place / "ws/src/a.py"
    assert guard.resolve("folder/b.txt") == place / "extra/b.txt"
    assert guard.resolve("folder/new/file") == place / "extra/new/file"


@pytest.mark.parametrize("target", ["outside/secret.txt", "outside", "outside/missing", "nowhere"])
def test_links_that_leave_the_workspace_are_refused(guard, place, target):
    (place / "ws/link").symlink_to(place / target)
    assert target in refused(guard, "link")
    refused(guard, "link/below")
    refused(guard, "src/../link")


def test_chain_of_links_is_checked_by_its_target(guard, place):
    (place / "ws/one").symlink_to("two")
    (place / "ws/two").symlink_to(place / "extra/three")
    (place / "extra/three").symlink_to(place / "outside/secret.txt")
    refused(guard, "one")


def test_link_loops_are_refused(guard, place):
    (place / "ws/self").symlink_to("self")
    (place / "ws/a").symlink_to("b")
    (place / "ws/b").symlink_to("a")
    for path in ("self", "a", "a/x", "missing/../self", "self/../src/a.py"):
        refused(guard, path)


def test_link_behind_a_loop_or_missing_folder_is_refused(guard, place):
    """Where the kernel stops, a textual resolver must not skip a link."""
    (place / "ws/self").symlink_to("self")
    (place / "ws/away").symlink_to(place / "outside")
    (place / "ws/bent").symlink_to("self/../away")
    (place / "ws/gap").symlink_to("missing/../self/../away")
    for path in ("self/../away/secret.txt", "missing/../away/x", "bent/secret.txt", "gap/x"):
        refused(guard, path)
        refused(guard, "missing/../" + path)


def test_linked_workspace_works(place):
    (place / "alias").symlink_to(place / "ws")
    guard = PathGuard(place / "alias", [], place / "home")
    assert guard.resolve("src/a.py") == place / "ws/src/a.py"
    assert guard.check_path(str(place / "alias/src/a.py")) is None


# --- secrets ------------------------------------------------------------------------------------

SECRETS = [
    ".ssh/id_rsa", ".ssh", ".aws/credentials", ".gnupg/x", ".kube/config", ".docker/config.json",
    ".azure/x", ".config/gcloud/x", ".config/gh/hosts.yml", ".env", ".env.local", ".env.production",
    ".envrc", ".netrc", ".npmrc", ".pypirc", ".pgpass", ".git-credentials", ".bashrc", ".zshrc",
    ".profile", ".bash_profile", ".zprofile", "server.key", "cert.pem", "id_ed25519", "deploy_rsa",
    "keys.p12", "etc/shadow", "etc/shadow-", "etc/sudoers.d/x", ".bash_history",
]  # fmt: skip
ORDINARY = [
    ".env.example", ".env.sample", ".env.template", "env", "environment.py", "id_rsa.pub", "x.keys",
    "src/shadow", "docs/ssh.md", "ssh/readme", "aws/main.tf", ".github/workflows/ci.yml", "a~1",
    ".gitignore", ".config/app.toml", "profile", "netrc.md", "monkey.txt", "keynote", "12:30.txt",
    "aux.c", "con", "README.md~", "x.bak", "config.yaml", "...", "locks/x", ".e",
    "файл.txt", "日本語/ノート.md", "a b.txt", "naïve.py", "👩‍👩‍👧.txt", "plugins.lock",
]  # fmt: skip
DISGUISES = {
    "plain": lambda p: p,
    "upper": str.upper,
    "title": str.title,
    "deep": lambda p: f"a/b/{p}",
    "below": lambda p: f"{p}/below",
    "dotted": lambda p: f"./{p}/.",
    "backslashes": lambda p: "a\\" + p.replace("/", "\\"),
    "trailing dots": lambda p: p + "..",
    "trailing spaces": lambda p: p + "  ",
    "stream": lambda p: p + "::$DATA",
    "named stream": lambda p: p + ":x",
    "fullwidth": lambda p: "".join(c if c == "/" else chr(ord(c) + 0xFEE0) for c in p),
    "ignorable": lambda p: p[:2] + "\u200b" + p[2:],
    "joiner": lambda p: p[:1] + "\u2060\ufe0f" + p[1:],
    "long s": lambda p: p.replace("s", "\u017f"),
    "backup": lambda p: p + ".bak",
    "tilde": lambda p: p + "~",
}


@pytest.mark.parametrize("disguise", DISGUISES)
@sampled("secret", SECRETS, rest="long")
def test_secrets_are_refused_in_every_spelling(guard, secret, disguise):
    if "/" in secret and disguise in ("trailing dots", "stream", "named stream", "backup", "tilde"):
        pytest.skip("what is below a secret folder is refused by the folder's name")
    assert "off limits" in refused(guard, DISGUISES[disguise](secret))


@pytest.mark.parametrize("path", ORDINARY)
def test_ordinary_names_pass(guard, path):
    assert guard.check_path(path) is None


@pytest.mark.parametrize(
    "path", ["SSH~1/x", "ENV~1", "ENV~1.LOC", "git-cr~1", "NETRC~2", "GNUPG~1"]
)
def test_short_aliases_of_secrets_are_refused(guard, path):
    refused(guard, path)


@sampled("name", [p for g in GROUPS for p in g["paths"]])
def test_every_secret_pattern_refuses_a_path(guard, name):
    assert name == name.lower()
    refused(guard, name.replace("*", "x").replace("?", "x"))


def test_secret_exception_does_not_cover_similar_names(guard, place):
    for path in (
        ".env.example/.env",
        ".env.example.local",
        ".env.example:.env",
        ".env/.env.example",
    ):
        refused(guard, path)
    (place / "ws/.env").write_text("K=1")
    (place / "ws/.env.example").symlink_to(".env")
    refused(guard, ".env.example")


def test_link_to_a_secret_and_link_with_a_secret_name_are_refused(guard, place):
    (place / "ws/.ssh").mkdir()
    (place / "ws/keys").symlink_to(".ssh")
    (place / "ws/.netrc").symlink_to("src/a.py")
    refused(guard, "keys/config")
    refused(guard, ".netrc")


def test_secrets_are_refused_in_allowed_roots_too(guard, place):
    refused(guard, str(place / "extra/.env"))


# --- the system ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    ["/proc/self/environ", "/proc/1/environ", "/proc/self/fd/0", "/dev/null", "/dev/sda", "/sys/x",
     "//proc/self/environ", "/tmp/../proc/self/environ", "/proc/self/cwd/x", "/dev/fd/0",
     "/dev/stdin", "/dev/tcp/127.0.0.1/80", "/proc/thread-self/environ", "/proc/self/root/etc",
     "/proc/self/task/1/environ", "/proc/self/mem", "/proc/self/maps", "/proc/kcore", "/dev/mem",
     "/sys/kernel/x", "///proc///self///environ", "/proc/./self/./environ", "/dev/pts/0"],
)  # fmt: skip
def test_kernel_files_are_refused_with_any_allowed_root(place, path):
    guard = PathGuard(place / "ws", [Path("/")], place / "home")
    refused(guard, path)
    (place / "ws/link").symlink_to(path)
    if "cwd" not in path and "root" not in path:  # these lead back to ordinary folders
        refused(guard, "link")


def test_allowed_root_slash_allows_all_but_secrets(place):
    guard = PathGuard(place / "ws", [Path("/")], place / "home")
    assert guard.check_path("/usr/bin") is None
    refused(guard, "/etc/shadow")


def test_workspace_in_shared_memory_passes():
    guard = PathGuard(Path("/dev/shm/ws"), [], Path("/nowhere"))
    assert guard.check_path("x.txt") is None


# --- Hookline's own files -----------------------------------------------------------------------

OWN = [
    "config.yaml", "config.yaml.new", ".env", "hookline.db", "hookline.db-wal", "HOOKLINE.DB",
    "plugins.lock", "locks/session", "locks", "memories/MEMORY.md", "chats/telegram/1/USER.md",
]  # fmt: skip


@pytest.mark.parametrize("path", OWN)
@pytest.mark.parametrize("nesting", ["in the workspace", "is the workspace", "in a root"])
def test_hookline_files_are_refused_wherever_home_is(place, path, nesting):
    home = place / "ws/.hookline"
    home.mkdir()
    workspace, roots = {
        "in the workspace": (place / "ws", []),
        "is the workspace": (home, []),
        "in a root": (place / "extra", [place]),
    }[nesting]
    guard = PathGuard(workspace, roots, home)
    refused(guard, str(home / path))
    (place / "ws/alias").symlink_to(home)
    refused(guard, str(place / "ws/alias" / path))


def test_chat_workspace_under_home_passes(place):
    work = place / "home/chats/telegram/42/work"
    work.mkdir(parents=True)
    guard = PathGuard(work, [], place / "home")
    assert guard.check_path("notes.md") is None
    assert guard.check_path("config.yaml") is None
    refused(guard, "../../../../config.yaml")
    refused(guard, "../USER.md")
    refused(guard, "../../43/work/notes.md")


# --- opening ------------------------------------------------------------------------------------


def test_open_read_reads_and_names_missing_files(guard, place):
    with guard.open_read("src/a.py") as stream:
        assert stream.read() == b"a"
    with pytest.raises(FileNotFoundError) as caught:
        guard.open_read("src/missing.py")
    assert caught.value.filename == str(place / "ws/src/missing.py")


def test_open_read_takes_regular_files_only(guard, place):
    os.mkfifo(place / "ws/pipe")
    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(place)  # the name of a socket is short
        server.bind("ws/socket")
        started = time.monotonic()
        for path in ("pipe", "socket", "src", "."):
            with pytest.raises(PathRefused):
                guard.open_read(path)
    assert time.monotonic() - started < 2
    with pytest.raises(PathRefused):
        guard.open_read("src/a.py/below")


def test_open_write_creates_folders_and_replaces_whole_files(guard, place):
    with guard.open_write("new/deep/file.txt") as stream:
        stream.write(b"one")
    assert (place / "ws/new/deep/file.txt").read_bytes() == b"one"
    (place / "ws/new/deep/file.txt").chmod(0o750)
    with guard.open_write("new/deep/file.txt") as stream:
        stream.write(b"two")
        assert (place / "ws/new/deep/file.txt").read_bytes() == b"one"
    assert (place / "ws/new/deep/file.txt").read_bytes() == b"two"
    assert (place / "ws/new/deep/file.txt").stat().st_mode & 0o777 == 0o750
    assert [p.name for p in (place / "ws/new/deep").iterdir()] == ["file.txt"]


def test_failed_write_leaves_only_the_old_file(guard, place):
    def fail():
        with guard.open_write("src/a.py") as stream:
            stream.write(b"half")
            raise NotADirectoryError(20, "mine")

    with pytest.raises(NotADirectoryError, match="mine"):
        fail()
    assert [(p.name, p.read_bytes()) for p in (place / "ws/src").iterdir()] == [("a.py", b"a")]


def test_open_write_refuses_folders_and_special_files(guard, place):
    os.mkfifo(place / "ws/pipe")
    for path in ("pipe", "src", ".", "../outside/x", ".env", "src/a.py/below"):
        with pytest.raises(PathRefused), guard.open_write(path):
            pass


def test_write_through_a_link_changes_its_target(guard, place):
    (place / "ws/link").symlink_to("src/a.py")
    with guard.open_write("link") as stream:
        stream.write(b"through")
    assert (place / "ws/link").is_symlink()
    assert (place / "ws/src/a.py").read_bytes() == b"through"


@pytest.mark.parametrize("swapped", ["file", "folder"])
@pytest.mark.slow
def test_link_swapped_in_during_open_is_never_followed(guard, place, swapped):
    """One thread swaps a file (or its folder) with a link to the outside while another opens it."""
    work, done = place / "ws/race", threading.Event()
    (work / "real").mkdir(parents=True)
    (work / "real/secret.txt").write_text("mine")
    link = place / "ws/race/link"
    link.symlink_to(place / ("outside/secret.txt" if swapped == "file" else "outside"))
    victim = work / "real/secret.txt" if swapped == "file" else work / "real"
    spare = work / "spare"

    def swap():
        while not done.is_set():
            victim.rename(spare)
            with contextlib.suppress(OSError):  # A writer may have made the folder anew.
                link.rename(victim)
                victim.rename(link)
            while spare.exists():
                if victim.is_dir():
                    shutil.rmtree(victim, ignore_errors=True)
                with contextlib.suppress(OSError):
                    spare.rename(victim)

    thread = threading.Thread(target=swap)
    thread.start()
    seen = set()
    try:
        deadline = time.monotonic() + 1.0
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), guard.open_read("race/real/secret.txt") as stream:
                seen.add(stream.read())
            with contextlib.suppress(OSError), guard.open_write("race/real/new.txt") as stream:
                stream.write(b"x")
    finally:
        done.set()
        thread.join()
    assert seen <= {b"mine"}
    assert [p.name for p in (place / "outside").iterdir()] == ["secret.txt"]
    assert (place / "outside/secret.txt").read_text() == "s"


# --- walking ------------------------------------------------------------------------------------


def test_walk_yields_sorted_files_and_skips_refused_paths(guard, place):
    ws = place / "ws"
    for path in ("b.txt", ".env", ".ssh/key", "src/z.py", "node_modules/x.js", "src/in/deep.py"):
        (ws / path).parent.mkdir(parents=True, exist_ok=True)
        (ws / path).write_text("x")
    os.mkfifo(ws / "pipe")
    (ws / "good").symlink_to("src/a.py")
    (ws / "bad").symlink_to(place / "outside/secret.txt")
    (ws / "folder").symlink_to("src")
    (ws / "loop").symlink_to("loop")
    (ws / "hidden").symlink_to(".env")
    found = [str(p.relative_to(ws)) for p in guard.walk(".", skip={"node_modules"})]
    assert found == ["b.txt", "good", "src/a.py", "src/z.py", "src/in/deep.py"]
    assert list(guard.walk("src/a.py")) == [ws / "src/a.py"]
    assert list(guard.walk("missing")) == []
    assert len(list(guard.walk(".", limit=3))) <= 3
    with pytest.raises(PathRefused):
        list(guard.walk(".."))


# --- anything at all ----------------------------------------------------------------------------

PIECES = st.sampled_from(
    [
        "..",
        ".",
        "",
        "src",
        "out",
        "inner",
        ".env",
        ".ssh",
        "~",
        "a.py",
        "C:",
        "\\",
        "proc",
        "\u202e",
    ]
)
ANY_PATH = st.text(max_size=30) | st.lists(PIECES | st.text(max_size=5), max_size=6).map("/".join)


@given(path=ANY_PATH)
def test_any_path_text_neither_crashes_nor_escapes(guard, place, path):
    with contextlib.suppress(OSError):
        (place / "ws/out").symlink_to(place / "outside")
        (place / "ws/inner").symlink_to("src")
    reason = guard.check_path(path)
    if reason is None:
        real = guard.resolve(path)
        assert real == Path(os.path.realpath(real))
        assert real.is_relative_to(place / "ws") or real.is_relative_to(place / "extra")
        assert guard.resolve(real) == real
    else:
        assert reason.endswith(".")


PREFIXES = st.sampled_from(["", "./", "src/", "src/../", "inner/", "missing/../", "a/b/", "a//"])
SUFFIXES = st.sampled_from(
    ["", "/", "/.", "/x", ".", "...", " ", ":s", "::$DATA", ".bak", "~", "/.//"]
)
CASES = st.sampled_from([str, str.upper, str.title, str.swapcase, str.casefold])
INVISIBLE = st.sampled_from(["", "\u200b", "\u200d", "\u2060", "\ufe0f", "\ufeff", "\u00ad"])


@given(
    secret=st.sampled_from([s for s in SECRETS if not s.startswith("etc/")]),
    case=CASES,
    before=PREFIXES,
    after=SUFFIXES,
    sign=INVISIBLE,
    place_of_sign=st.integers(0, 12),
)
def test_secret_name_with_noise_around_it_is_refused(
    guard, secret, case, before, after, sign, place_of_sign
):
    """With any text around it, in any case, with invisible characters inside."""
    name = case(secret)
    name = name[:place_of_sign] + sign + name[place_of_sign:]
    assert guard.check_path(before + name + after) is not None
