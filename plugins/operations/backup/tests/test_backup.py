"""Backups are complete, name what they leave out, and can be restored."""

from __future__ import annotations

import base64
import io
import json
import sqlite3
import tarfile
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import zstandard
from filelock import FileLock
from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import Home

Homes = Callable[[str], Home]


@pytest.mark.slow
def test_backup_restores_a_home(home: Home, homes: Homes) -> None:
    told = home.run("create")
    assert "5 files" in told, told
    assert ".env" in told
    assert "context" in told  # a link is not followed, and named
    other = homes("other")
    home.run("restore", str(home.newest()), "--to", str(other.folder))
    kept = {name: data for name, data in home.files().items() if name != ".env"}
    assert other.files() == kept
    assert not (other.folder / "logs").exists()
    assert other.words() == home.words() == ["first", "answer 0"]
    assert other.folder.stat().st_mode & 0o777 == 0o700
    assert (other.folder / "memories/MEMORY.md").stat().st_mode & 0o777 == 0o600
    assert (other.folder / "skills/brew/run.sh").stat().st_mode & 0o777 == 0o700
    assert other.say("goes on") == "answer 0"


@pytest.mark.slow
def test_secrets_are_included_only_on_request(home: Home, homes: Homes) -> None:
    home.run("create", "--secrets")
    home.run("restore", str(home.newest()), "--to", str(homes("plain").folder))
    assert (homes("plain").folder / ".env").read_text() == "OPENAI_API_KEY=sk-1\n"

    assert "HOOKLINE_BACKUP_PASSPHRASE" in home.run("create", "--encrypt", code=1)
    given_passphrase(home, "correct horse")
    home.run("create", "--encrypt")
    file = next(home.folder.glob("backups/*.age"))
    assert b"sk-1" not in file.read_bytes()
    assert "is intact" in home.run("verify", str(file))
    given_passphrase(home, "wrong")
    assert "wrong passphrase" in home.run("verify", str(file), code=1)
    given_passphrase(home, "")
    assert "a passphrase is needed" in home.run("restore", str(file), code=1)


@pytest.mark.slow
def test_plain_backup_contains_no_key_files_of_any_name(home: Home, homes: Homes) -> None:
    key = base64.b64encode(bytes(range(32))).decode() + "\n"
    member = json.dumps({"name": "me", "seed": bytes(range(32)).hex()})
    keys = {
        "keys/mine": key,  # plugins.vault.file
        "vault.key.new": key,
        "plugins/audit/key": key,
        "plugins/skills/team/member.json": member,
    }
    for name, text in keys.items():
        file = home.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    told = home.run("create")
    assert all(name in told for name in keys), told
    other = homes("other")
    home.run("restore", str(home.newest()), "--to", str(other.folder))
    assert not {*keys} & {*other.files()}
    (home.folder / "keys/mine").write_text("another" + key[7:])
    file = home.newest()
    home.close()
    other.run("restore", str(file), "--to", str(home.folder))
    assert (home.folder / "keys/mine").read_text().startswith("another")

    told = home.run("create", "--secrets")
    assert "The backup includes secrets in plain text: .env, keys/mine" in told
    with_keys = homes("with keys")
    home.run("restore", told.partition(": ")[0], "--to", str(with_keys.folder))
    assert {*keys} <= {*with_keys.files()}


def given_passphrase(home: Home, passphrase: str) -> None:
    """Start anew with the variable."""
    home.close()
    line = f"HOOKLINE_BACKUP_PASSPHRASE={passphrase!r}\n" if passphrase else ""
    (home.folder / ".env").write_text(f"OPENAI_API_KEY=sk-1\n{line}")


def test_restore_keeps_secrets_of_home_and_can_be_undone(home: Home) -> None:
    home.run("create")
    file = home.newest()
    home.say("second")
    (home.folder / "memories/MEMORY.md").write_text("likes coffee\n")
    (home.folder / ".env").write_text("OPENAI_API_KEY=sk-2\n")
    assert "open" in home.run("restore", str(file), code=1)  # this very process has it open
    home.close()

    restore = Home(home.folder.with_name("elsewhere"), home._make)
    restore.run("restore", str(file), "--to", str(home.folder))
    assert home.words() == ["first", "answer 0"]
    assert home.files()["memories/MEMORY.md"] == b"likes tea\n"
    assert home.files()[".env"] == b"OPENAI_API_KEY=sk-2\n"
    assert home.newest() == file  # the backups stay with the home

    restore.run("restore", "--undo", "--to", str(home.folder))
    assert home.words() == ["first", "answer 0", "second", "answer 1"]
    assert home.files()["memories/MEMORY.md"] == b"likes coffee\n"
    restore.run("restore", "--undo", "--to", str(home.folder))
    assert home.words() == ["first", "answer 0"]
    restore.close()


@pytest.mark.slow
def test_restore_leaves_profiles_unchanged(home: Home, homes: Homes) -> None:
    """Each is a home of its own: a restore neither takes it away nor makes it what it was."""
    work = home.folder / "profiles/work"
    work.mkdir(parents=True)
    (work / "SOUL.md").write_text("at work\n")
    home.run("create")
    file = home.newest()
    home.close()
    (work / "SOUL.md").write_text("still at work\n")
    (home.folder / "active-profile").write_text("work\n")
    restore = homes("elsewhere")

    def there() -> tuple[str, str]:
        return (work / "SOUL.md").read_text(), (home.folder / "active-profile").read_text()

    with FileLock(work / "gateway.lock"):
        told = restore.run("restore", str(file), "--to", str(home.folder), code=1)
    assert f"a gateway is running in {work}; stop it first" in told

    told = restore.run("restore", str(file), "--to", str(home.folder))
    assert there() == ("still at work\n", "work\n")
    assert f"restore --undo --to {home.folder}`" in told  # of that home, not of the one in use
    restore.run("restore", "--undo", "--to", str(home.folder))
    assert there() == ("still at work\n", "work\n")

    (before,) = home.folder.parent.glob("home.before-*")  # as if killed before they were moved
    (home.folder / "profiles").rename(before / "profiles")
    restore.run("restore", str(file), "--to", str(home.folder))
    assert there() == ("still at work\n", "work\n")


def test_restore_is_refused_while_gateway_runs(home: Home, homes: Homes) -> None:
    home.run("create")
    file = home.newest()
    home.close()
    with FileLock(home.folder / "gateway.lock"):
        told = homes("other").run("restore", str(file), "--to", str(home.folder), code=1)
    assert "a gateway is running in" in told


@pytest.mark.slow
def test_backup_during_writes_is_consistent(home: Home) -> None:
    stop = threading.Event()
    home.say("first")

    def write() -> None:
        with closing(sqlite3.connect(home.folder / "hookline.db", timeout=30)) as database:
            number = 0
            while not stop.is_set():
                number += 1
                with database:  # both or neither
                    for name in ("one", "two"):
                        database.execute(
                            "INSERT INTO usage (session_id, turn_id, model, purpose, input, "
                            "cache_read, cache_write, output, reasoning, created) "
                            "VALUES (?, ?, 'm', 'p', 0, 0, 0, 0, 0, 0)",
                            (name, str(number)),
                        )

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(3):
            home.run("create")
            home.run("verify", str(home.newest()))
    finally:
        stop.set()
        writer.join()
    with closing(sqlite3.connect(":memory:")) as database:
        packed = zstandard.ZstdDecompressor().stream_reader(home.newest().read_bytes())
        with tarfile.open(fileobj=packed, mode="r|") as tar:
            data = next(tar.extractfile(one).read() for one in tar if one.name == "hookline.db")  # type: ignore[union-attr]
        database.deserialize(data)
        counts = dict(
            database.execute(
                "SELECT session_id, COUNT(*) FROM usage GROUP BY session_id"
            ).fetchall()
        )
    assert counts["one"] == counts["two"] > 0


def test_damaged_backup_is_not_restored(home: Home, homes: Homes, tmp_path: Path) -> None:
    home.run("create")
    whole = home.newest().read_bytes()
    file = tmp_path / "broken.tar.zst"
    for data in (whole[:-1], whole[: len(whole) // 2], b"", b"\0" * 4096, whole[:-400]):
        file.write_bytes(data)
        told = home.run("verify", str(file), code=1)
        assert str(file) in told
        home.run("restore", str(file), "--to", str(homes("other").folder), code=1)
        assert not homes("other").folder.exists()
        assert [path.name for path in homes("other").folder.parent.iterdir()] == ["home"]


def repacked(data: bytes, change: Callable[[dict[str, bytes]], object]) -> bytes:
    """The backup ``data`` with other members."""
    found: dict[str, bytes] = {}
    with tarfile.open(
        fileobj=io.BytesIO(zstandard.ZstdDecompressor().stream_reader(data).read())
    ) as tar:
        for member in tar:
            found[member.name] = tar.extractfile(member).read()  # type: ignore[union-attr]
    change(found)
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tar:
        for name, content in found.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return bytes(zstandard.ZstdCompressor().compress(plain.getvalue()))


def newer(files: dict[str, bytes]) -> None:
    told = json.loads(files.pop("manifest.json"))
    files["manifest.json"] = json.dumps(told | {"hookline": "99.0"}).encode()


def escaping(files: dict[str, bytes]) -> None:
    manifest = files.pop("manifest.json")
    files["../evil"] = b"x"
    files["manifest.json"] = manifest


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda files: files.pop("memories/MEMORY.md"), "MEMORY.md is missing"),
        (lambda files: files.update({"memories/MEMORY.md": b"likes teA\n"}), "SHA-256 differs"),
        (lambda files: files.pop("manifest.json"), "it is incomplete"),
        (lambda files: files.update({"extra": b"x"}), "after the manifest"),
        (lambda files: files.update({"manifest.json": b"{"}), "was not written by hookline"),
        (newer, "Update hookline"),
        (escaping, "which no backup may contain"),
    ],
)
def test_changed_backup_is_detected(
    home: Home, tmp_path: Path, change: Callable[[dict[str, bytes]], object], told: str
) -> None:
    home.run("create")
    file = tmp_path / "changed.tar.zst"
    file.write_bytes(repacked(home.newest().read_bytes(), change))
    assert told in home.run("verify", str(file), code=1)
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize("length", [0, 40])
def test_truncated_backup_is_reported_as_ending_early(
    home: Home, tmp_path: Path, length: int
) -> None:
    home.run("create")
    file = tmp_path / "cut.tar.zst"
    file.write_bytes(home.newest().read_bytes()[:length])
    told = home.run("verify", str(file), code=1)
    assert "cut.tar.zst is damaged or not a backup (it ends early); use another one" in told


@pytest.mark.slow
@settings(max_examples=25)
@given(data=st.data())
def test_any_changed_byte_is_detected(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory, one_backup: bytes
) -> None:
    from hookline_backup.archive import BackupError, Manifest
    from hookline_backup.verification import verify

    place = data.draw(st.integers(0, len(one_backup) - 1))
    bit = data.draw(st.integers(0, 7))
    file = tmp_path_factory.mktemp("flipped") / "x.tar.zst"
    changed = bytearray(one_backup)
    changed[place] ^= 1 << bit
    file.write_bytes(bytes(changed))
    try:
        found = verify(file, None)
    except BackupError:
        return
    assert isinstance(found, Manifest)  # padding, or a time: every file's content was compared
    assert found.files == verify_whole(one_backup, file)


def verify_whole(data: bytes, file: Path) -> object:
    from hookline_backup.verification import verify

    file.write_bytes(data)
    return verify(file, None).files


@pytest.mark.slow
def test_restored_messages_questions_and_deliveries_are_held_until_resend(home: Home) -> None:
    home.close()
    with closing(sqlite3.connect(home.folder / "hookline.db")) as database, database:
        database.execute(
            "INSERT INTO outbox (id, session_id, channel, chat_id, body, state, due, created) "
            "VALUES ('r1', 'test', 'telegram', '1', '{}', 'pending', 0, 0)"
        )
        database.execute(
            "INSERT INTO inbox (id, channel, message_id, chat_id, body, received) "
            "VALUES ('i1', 'telegram', 'm1', '1', '{}', 0)"
        )
        database.execute(
            "INSERT INTO questions (id, kind, session_id, channel, chat_id, asker, turn_id, "
            "call_key, body, created) "
            "VALUES ('q1', 'approval', 'test', 'telegram', '1', '1', 't1', 'c1', '{}', 0)"
        )
    home.run("create")
    file, elsewhere = home.newest(), Home(home.folder.with_name("elsewhere"), home._make)
    home.close()

    def states() -> list[str]:
        with closing(sqlite3.connect(home.folder / "hookline.db")) as database:
            one = database.execute("SELECT state FROM outbox WHERE id = 'r1'").fetchone()
            other = database.execute("SELECT state FROM inbox WHERE id = 'i1'").fetchone()
            third = database.execute("SELECT state FROM questions WHERE id = 'q1'").fetchone()
        return [*one, *other, *third]

    told = elsewhere.run("restore", str(file), "--to", str(home.folder))
    assert "1 message, 1 question, 1 delivery" in told
    assert states() == ["held", "held", "held"]
    assert home.say("a new one") == "answer 0"
    home.close()
    assert "Continues" in elsewhere.run("restore", "--resend", "--to", str(home.folder))
    assert states() == ["pending", "new", "open"]
    assert "Nothing is held" in elsewhere.run("restore", "--resend", "--to", str(home.folder))
    elsewhere.run("restore", str(file), "--resend", "--to", str(home.folder))
    assert states() == ["pending", "new", "open"]
    elsewhere.close()


def test_message_after_restore_does_not_join_session_with_held_turn(home: Home) -> None:
    home.close()
    with closing(sqlite3.connect(home.folder / "hookline.db")) as database, database:
        database.execute(
            "INSERT INTO turns (id, session_id, number, started) VALUES ('t1', 'test', 9, 0)"
        )
    home.run("create")
    file, elsewhere = home.newest(), Home(home.folder.with_name("elsewhere"), home._make)
    home.close()
    assert "1 turn" in elsewhere.run("restore", str(file), "--to", str(home.folder))
    elsewhere.close()
    home.say("a new one")
    home.close()
    with closing(sqlite3.connect(home.folder / "hookline.db")) as database:
        (said,) = database.execute(
            "SELECT COUNT(*) FROM messages WHERE session_id = 'test' AND text = 'a new one'"
        ).fetchone()
    assert said == 0  # it began the session that follows
