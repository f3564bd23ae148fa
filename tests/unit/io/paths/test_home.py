"""Hookline's home is refused however it is spelled, except the chat's own folder."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hookline.io.paths import PathGuard, PathRefused
from hypothesis import given
from hypothesis import strategies as st
from support.matrices import sampled

HOME = ".hookline"
INSIDE = [
    "SOUL.md", "config.yaml", "config.yaml.bak", ".env", "hookline.db", "hookline.db-wal",
    "hookline.db-shm", "hookline.db.bak", "backups/hookline-20260101T000000.0-1.0.db",
    "backups/hookline.db.gz", "memories/MEMORY.md", "memories/MEMORY.md.bak", "skills/x/SKILL.md",
    "skills/.archived/x/SKILL.md", "context/rules.md", "checkpoints/store/HEAD", "logs/h.log",
    "media/telegram/0123456789abcdef-report.pdf", "media/0123456789abcdef0123456789abcdef.png",
    "chats/telegram/7/USER.md", "chats/telegram/7/MEMORY.md", "chats/telegram/7/context/a.md",
    "chats/telegram/7/work/notes.md", "chats/terminal/default/USER.md", "locks/session",
    "plugins.lock", "gateway.state", "new-file.txt", "plugins/x/kv.json", "exports/chat.json",
    "", "chats", "chats/telegram", "media", "skills",
]  # fmt: skip


@pytest.fixture
def person(tmp_path):
    """A person's home folder, with Hookline's in it, in which a session was started."""
    home = tmp_path / "me" / HOME
    for path in filter(None, INSIDE):
        if "." in path:
            (home / path).parent.mkdir(parents=True, exist_ok=True)
            (home / path).write_text("own")
    (tmp_path / "me/project").mkdir()
    (tmp_path / "me/project/a.py").write_text("a")
    return tmp_path / "me"


@pytest.fixture
def guard(person):
    return PathGuard(person, [], person / HOME)


def refused(guard, path):
    assert guard.check_path(path) is not None, path
    with pytest.raises(PathRefused):
        guard.resolve(path)
    with pytest.raises(PathRefused):
        guard.open_read(path)
    with pytest.raises(PathRefused), guard.open_write(path):
        pass
    with pytest.raises(PathRefused):
        list(guard.walk(path))


SPELLINGS = {
    "plain": lambda p, me: f"{HOME}/{p}",
    "absolute": lambda p, me: f"{me}/{HOME}/{p}",
    "upper": lambda p, me: f"{HOME}/{p}".upper(),
    "around": lambda p, me: f"project/../{HOME}/./{p}",
    "link": lambda p, me: f"project/link/{p}",
    "root": lambda p, me: f"/proc/self/root{me}/{HOME}/{p}",
    "link to root": lambda p, me: f"project/root{me}/{HOME}/{p}",
    "cwd": lambda p, me: f"/proc/self/cwd/{HOME}/{p}",
    "tilde": lambda p, me: f"~/{HOME}/{p}",
}


@sampled("spelling", SPELLINGS)
@sampled("path", INSIDE)
def test_home_is_refused_from_a_parent_folder_in_every_spelling(
    guard, person, path, spelling, monkeypatch
):
    monkeypatch.setenv("HOME", str(person))
    monkeypatch.chdir(person)
    (person / "project/link").symlink_to(person / HOME)
    (person / "project/root").symlink_to("/proc/self/root")
    named = SPELLINGS[spelling](path, person).rstrip("/")
    assert guard.check_path(named) is not None
    refused(guard, named)


@pytest.mark.parametrize("workspace", [HOME, f"{HOME}/memories", f"{HOME}/chats", f"{HOME}/media"])
def test_home_is_refused_from_a_workspace_inside_it(person, workspace):
    guard = PathGuard(person / workspace, [person], person / HOME)
    for path in INSIDE:
        refused(guard, str(person / HOME / path))


def test_linked_home_is_refused_by_both_names(person):
    (person / "data").mkdir()
    (person / "linked").symlink_to("data")
    (person / "data/SOUL.md").write_text("own")
    guard = PathGuard(person, [], person / "linked")
    for path in ("linked/SOUL.md", "data/SOUL.md", "data"):
        refused(guard, path)


def test_open_home_file_is_refused_by_its_descriptor_path(guard, person):
    with (person / HOME / "hookline.db").open() as stream:
        for folder in ("/dev/fd", "/proc/self/fd", f"/proc/{os.getpid()}/fd"):
            refused(guard, f"{folder}/{stream.fileno()}")
        (person / "project/fd").symlink_to("/proc/self/fd")
        refused(guard, f"project/fd/{stream.fileno()}")


def test_hard_link_to_a_home_file_is_refused(guard, person):
    for number, path in enumerate(("hookline.db", ".env", "chats/telegram/7/USER.md")):
        os.link(person / HOME / path, person / f"project/innocent{number}.txt")
        refused(guard, f"project/innocent{number}.txt")
    assert [p.name for p in guard.walk("project")] == ["a.py"]


def test_hard_links_outside_home_pass(guard, person):
    os.link(person / "project/a.py", person / "project/b.py")
    with guard.open_read("project/b.py") as stream:
        assert stream.read() == b"a"


def test_walk_skips_home(guard, person):
    (person / "project/link").symlink_to(person / HOME / "SOUL.md")
    assert list(guard.walk(".")) == [person / "project/a.py"]


@pytest.mark.parametrize(
    "path",
    [f"old{HOME}/SOUL.md".replace("old", "backup/"), "copy/hookline.db", "hookline.db-wal",
     "x/hookline.db.bak", "hookline.db.gz", ".hookline-work/SOUL.md", "hookline-backup-1.tar.gz",
     "dump/hookline-20260101T000000.0-1.0.db", "hookline-20260101T000000.tar.zst",
     "x/hookline-20260101T000000.tar.zst.age"],
)  # fmt: skip
def test_copies_of_home_are_refused_anywhere(guard, path):
    refused(guard, path)


def test_configured_backup_folders_count_as_home(person):
    (person / HOME / "config.yaml").write_text(
        f"plugins:\n  backup: {{folder: {person}/safe, keep: 3}}\n"
        f"  insights:\n    export_to: ~/reports\n  files: {{backup_count: 2}}\n"
        f"  other: {{archive: [{person}]}}\n"
    )
    os.environ["HOME"], before = str(person), os.environ["HOME"]
    try:
        guard = PathGuard(person, [], person / HOME)
    finally:
        os.environ["HOME"] = before
    for path in ("safe/x.tar", "safe", "reports/all.json"):
        refused(guard, path)
    assert guard.check_path("project/a.py") is None


def test_other_profiles_and_restore_leftovers_count_as_home(person):
    home = person / HOME / "profiles/work"
    work = home / "chats/telegram/7/work"
    work.mkdir(parents=True)
    for place in (".work.restoring-1a2b/SOUL.md", "work.before-20260101T000000.0/config.yaml"):
        (home.parent / place).parent.mkdir()
        (home.parent / place).write_text("own")
    guard = PathGuard(work, [person], home)
    for path in (
        *("active-profile", "config.yaml", "profiles/play/SOUL.md", "profiles/work/SOUL.md"),
        *("profiles/.work.restoring-1a2b/SOUL.md", "profiles", ""),
        "profiles/work.before-20260101T000000.0/config.yaml",
    ):
        refused(guard, str(person / HOME / path))
    assert guard.check_path(str(work / "notes.md")) is None
    assert guard.check_path(str(person / "project/a.py")) is None

    (person / f"{HOME}.before-20260101T000000.0").mkdir()
    refused(PathGuard(person, [], person / HOME), f"{HOME}.before-20260101T000000.0/SOUL.md")


# --- what a chat may use -------------------------------------------------------------------------


def content(guard, path):
    with guard.open_read(path) as stream:
        return stream.read()


@pytest.fixture
def chat(person):
    work = person / HOME / "chats/telegram/7/work"
    return PathGuard(work, [], person / HOME)


def test_chat_reaches_only_its_own_folder(chat, person):
    with chat.open_write("deep/notes.md") as stream:
        stream.write(b"mine")
    assert content(chat, "deep/notes.md") == b"mine"
    other = person / HOME / "chats/telegram/8/work"
    other.mkdir(parents=True)
    (other / "a.md").write_text("theirs")
    for path in (
        "../USER.md",
        "../../8/work/a.md",
        str(other / "a.md"),
        "../../../../SOUL.md",
        "..",
    ):
        refused(chat, path)
    wide = PathGuard(chat.workspace, [person], person / HOME)
    for path in (str(other / "a.md"), str(person / HOME / "SOUL.md"), f"{HOME}/x", "hookline.db"):
        refused(wide, path)
    os.link(other / "a.md", chat.workspace / "b.md")
    refused(chat, "b.md")
    os.link(chat.workspace / "notes.md", chat.workspace / "c.md")
    assert chat.check_path("c.md") is None


def test_terminal_reaches_no_chat_folder(guard):
    refused(guard, f"{HOME}/chats/telegram/7/work/notes.md")


def test_home_name_that_grows_by_case_folding_keeps_chats_apart(tmp_path):
    home = tmp_path / "Straße/ﬃ"
    for chat in ("1", "2"):
        (home / "chats/x" / chat / "work").mkdir(parents=True)
    guard = PathGuard(home / "chats/x/1/work", [tmp_path], home)
    assert guard.check_path("a.md") is None
    for path in ("../../2/work/a.md", "../USER.md", str(home / "SOUL.md"), str(home)):
        refused(guard, path)


def test_letter_case_does_not_reach_another_chat(person):
    for name in ("AB", "ab"):
        (person / HOME / "chats/x" / name / "work").mkdir(parents=True, exist_ok=True)
    guard = PathGuard(person / HOME / "chats/x/AB/work", [person], person / HOME)
    refused(guard, str(person / HOME / "chats/x/ab/work/a"))


def test_attachment_is_readable_only_in_the_chat_that_received_it(chat, person):
    media = person / HOME / "media/telegram"
    mine, theirs = media / "0123456789abcdef-report.pdf", media / "fedcba9876543210-other.pdf"
    theirs.write_text("theirs")
    refused(chat, str(mine))
    chat.give(mine)
    assert content(chat, str(mine)) == b"own"
    with pytest.raises(PathRefused), chat.open_write(str(mine)):
        pass
    refused(chat, str(theirs))
    refused(chat, str(media))
    for path in ("SOUL.md", "chats/telegram/7/USER.md"):
        chat.give(person / HOME / path)
        refused(chat, str(person / HOME / path))


# --- mounts --------------------------------------------------------------------------------------

BWRAP = shutil.which("bwrap")


@pytest.mark.slow
@pytest.mark.skipif(not BWRAP, reason="bubblewrap makes the mounts")
@pytest.mark.parametrize("part", ["", "memories", "SOUL.md"])
def test_bind_mount_of_home_is_refused(person, part):
    at = person / "project/mounted"
    at.touch() if part == "SOUL.md" else at.mkdir()
    code = textwrap.dedent(f"""
        from pathlib import Path
        from hookline.io.paths import PathGuard
        guard = PathGuard(Path({str(person)!r}), [], Path({str(person / HOME)!r}))
        for path in ("project/mounted", "project/mounted/MEMORY.md", "project/mounted/x/y"):
            assert guard.check_path(path) is not None, path
        assert guard.check_path("project/a.py") is None
    """)
    argv = [BWRAP, "--dev-bind", "/", "/", "--bind", person / HOME / part, at, sys.executable, "-c"]
    done = subprocess.run([*argv, code], capture_output=True, text=True)
    if "bwrap:" in done.stderr:
        pytest.skip("this system gives no namespaces")
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.skipif(not BWRAP, reason="bubblewrap makes the mounts")
def test_bind_mount_of_a_parent_of_home_is_refused(person, tmp_path):
    at = tmp_path / "other"
    at.mkdir()
    code = textwrap.dedent(f"""
        from pathlib import Path
        from hookline.io.paths import PathGuard
        guard = PathGuard(Path({str(at)!r}), [], Path({str(person / HOME)!r}))
        assert guard.check_path("data/SOUL.md") is not None
        assert guard.check_path("project/a.py") is None
    """)
    (person / HOME).rename(person / "data")
    (person / HOME).symlink_to("data")
    argv = [BWRAP, "--dev-bind", "/", "/", "--bind", person, at, sys.executable, "-c", code]
    done = subprocess.run(argv, capture_output=True, text=True)
    if "bwrap:" in done.stderr:
        pytest.skip("this system gives no namespaces")
    assert done.returncode == 0, done.stderr


# --- anything at all -----------------------------------------------------------------------------

STEP = st.sampled_from(["", ".", "project/..", "missing/..", f"{HOME}/..", "project/back", "./."])


@given(
    before=st.lists(STEP, max_size=4).map("/".join),
    case=st.sampled_from([str, str.upper, str.title, str.swapcase]),
    sign=st.sampled_from(["", "\u200b", "\u2060", "\ufe0f"]),
    at=st.integers(0, 9),
    path=st.sampled_from(INSIDE),
    after=st.sampled_from(["", "/", "/.", "//", "/x/.."]),
)
def test_home_is_refused_in_any_generated_spelling(
    guard, person, before, case, sign, at, path, after
):
    back = person / "project/back"
    if not back.is_symlink():
        back.symlink_to(person)
    name = case(HOME)
    name = name[:at] + sign + name[at:]
    assert guard.check_path(f"{before}/{name}/{path}{after}".lstrip("/")) is not None


def test_folder_named_like_home_is_allowed(guard, person):
    for path in ("hookline/a.py", "src/hookline/db.py", "hooklines.db", "my-hookline.md"):
        assert guard.check_path(path) is None
    assert guard.check_path(str(Path(person, "hookline"))) is None
