"""Back up and restore the home.

``hookline backup``. ``create`` works beside a running gateway. The others open no database, so that
they work where nothing else does.
"""

from __future__ import annotations

import getpass
import json as jsonlib
import os
import shlex
import sys
import tempfile
import time
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from hookline_hookspecs import Store
from hookline_hookspecs.cli import command_line, with_plugin

from .archive import (
    ENCRYPTED,
    ENDING,
    BackupError,
    Manifest,
    as_dict,
    backups,
    is_encrypted,
    writing,
)
from .contents import DATABASE, DUMP, contents_of
from .holding import resend as resend_held
from .restoring import Restored, alone, restore, undo
from .verifying import migrations_of, verify

if TYPE_CHECKING:
    from . import Backup


VARIABLE = "HOOKLINE_BACKUP_PASSPHRASE"
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
File = Annotated[Path, typer.Argument(metavar="FILE", help="The backup.")]

WORKS_WHEN_OFF = True
app = typer.Typer(no_args_is_help=True)


@app.command("create")
@with_plugin
async def create(
    plugin: Backup,
    out: Annotated[
        Path | None, typer.Option(help="The file to write; the home's backups/ by default.")
    ] = None,
    encrypt: Annotated[
        bool, typer.Option("--encrypt", help="Encrypt the backup with a passphrase.")
    ] = False,
    secrets: Annotated[
        bool, typer.Option("--secrets", help="Include secrets, unencrypted.")
    ] = False,
    json: Json = False,
) -> None:
    """Back up the home, except logs, locks and, unless encrypted, secrets."""
    made = datetime.now(UTC)
    path = out or _default(plugin, made, encrypted=encrypt)
    try:
        passphrase = _new_passphrase(plugin.host.env) if encrypt else None
        manifest, found = await _write(plugin, path, passphrase, made, secrets=secrets or encrypt)
    except BackupError as error:
        _fail(error)
    if json:
        _say(jsonlib.dumps({"file": str(path), **as_dict(manifest)}, ensure_ascii=False))
        return
    _say(f"{path}: {_counted(manifest.files)}, {_size(path)}")
    if found and not (secrets or encrypt):
        _say(
            f"Secrets were left out: {_listed(found)}. Add --encrypt or --secrets to include them."
        )
    elif found and not encrypt:
        _say(f"The backup includes secrets in plain text: {_listed(found)}. Keep the file safe.")
    if manifest.left_out:
        _say(f"Links and special files were left out: {_listed(manifest.left_out)}")


async def _write(
    plugin: Backup, path: Path, passphrase: str | None, made: datetime, *, secrets: bool
) -> tuple[Manifest, list[str]]:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    home = plugin.host.home
    with tempfile.TemporaryDirectory(prefix=".backup-", dir=path.parent) as folder:
        store = plugin.host.services[Store]
        is_here = store.dialect == "sqlite"
        snapshot = Path(folder) / (DATABASE if is_here else DUMP)
        await store.snapshot(snapshot)
        migrations = migrations_of(snapshot) if is_here else {}
        found = contents_of(home, plugin.host.paths, secrets=secrets)
        with writing(path, passphrase) as writer:
            writer.add(snapshot.name, snapshot)
            gone = [name for name in found.files if not writer.add(name, home / name)]
            left_out = (*found.left_out, *(name for name in gone if (home / name).exists()))
            manifest = Manifest(
                f"{made:%Y-%m-%dT%H:%M:%SZ}",
                version("hookline"),
                migrations,
                secrets,
                left_out,
                writer.files,
            )
            writer.close(manifest)
    return manifest, found.secrets


def _default(plugin: Backup, made: datetime, *, encrypted: bool) -> Path:
    folder = plugin.host.home / "backups"
    name = f"hookline-{made:%Y%m%dT%H%M%S}"
    ending = ENCRYPTED if encrypted else ENDING
    path, count = folder / f"{name}{ending}", 1
    while path.exists():
        count += 1
        path = folder / f"{name}-{count}{ending}"
    return path


@app.command("list")
def list_backups(json: Json = False) -> None:
    """List the backups in the home, oldest first."""
    rows = [
        {
            "file": str(path),
            "bytes": path.stat().st_size,
            "made": f"{datetime.fromtimestamp(path.stat().st_mtime, UTC):%Y-%m-%dT%H:%M:%SZ}",
            "encrypted": path.name.endswith(ENCRYPTED),
        }
        for path in backups(command_line().home)
    ]
    if json:
        _say(jsonlib.dumps(rows, ensure_ascii=False))
        return
    for row in rows:
        mark = "  encrypted" if row["encrypted"] else ""
        _say(f"{row['made']}  {_size(Path(str(row['file']))):>9}  {row['file']}{mark}")
    if not rows:
        _say("There are no backups yet. Run `hookline backup create` to make one.")


@app.command("verify")
def verify_backup(file: File, json: Json = False) -> None:
    """Check every file of a backup and its database; exit with 1 if one is damaged."""
    try:
        manifest = verify(file, _passphrase_of(file))
    except BackupError as error:
        if json:
            _say(jsonlib.dumps({"ok": False, "problem": str(error)}, ensure_ascii=False))
        _fail(error)
    if json:
        _say(jsonlib.dumps({"ok": True, **as_dict(manifest)}, ensure_ascii=False))
        return
    _say(
        f"{file} is intact: {len(manifest.files)} files and their database, made "
        f"{manifest.made} by hookline {manifest.hookline}."
    )


@app.command("restore")
def restore_backup(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="The backup.")] = None,
    to: Annotated[
        Path | None, typer.Option(metavar="HOME", help="Restore into this home instead.")
    ] = None,
    resend: Annotated[
        bool,
        typer.Option(
            "--resend", help="Also send and run what was open; without FILE, what is held."
        ),
    ] = False,
    back: Annotated[
        bool, typer.Option("--undo", help="Put back the home that a restore replaced.")
    ] = False,
) -> None:
    """Restore a home from a backup; the home that was there is kept beside it."""
    home = (to or command_line().home).expanduser().absolute()
    if (file is None and not (resend or back)) or (back and (file is not None or resend)):
        _say("hookline: give FILE, --undo or --resend", error=True)
        raise SystemExit(2)
    try:
        if back:
            _undo(home)
        elif file is None:
            _resend(home)
        else:
            passphrase = _passphrase_of(file)
            paths = command_line().plugin().host.paths
            done = restore(file, passphrase, home, paths, time.time(), resend=resend)
            _tell(done, home, _address_of(home))
    except BackupError as error:
        _fail(error)


def _address_of(home: Path) -> str:
    """What makes a command mean ``home``: nothing if it is the one that is meant without."""
    usual = Path("~/.hookline").expanduser().absolute()
    return "" if home == usual else f" --to {shlex.quote(str(home))}"


def _tell(done: Restored, home: Path, there: str) -> None:
    _say(f"Restored {home} to its state at {done.manifest.made}.")
    if done.before is not None:
        _say(
            f"The previous home is now {done.before}. "
            f"`hookline backup restore --undo{there}` "
            "swaps them."
        )
    if DUMP in done.manifest.files:
        _say(
            "Restore the database separately: stop all processes that use it, then run "
            f"`pg_restore --clean --if-exists --no-owner --dbname ADDRESS {home / DUMP}`."
        )
    if not done.manifest.secrets and not (home / ".env").exists():
        _say(f"The backup has no secrets. Put your keys into {home / '.env'}.")
    if str(done.held):
        _say(
            f"Held back, because they may have been sent or run since: {done.held}. "
            f"`hookline backup restore --resend{there}` releases them."
        )


def _undo(home: Path) -> None:
    after = undo(home)
    _say(f"{home} is back to its state before the restore; the restored home is now {after}.")


def _resend(home: Path) -> None:
    with alone(home):
        held = resend_held(home)
    _say(f"Continues at the next start: {held}." if str(held) else "Nothing is held back.")


def _passphrase_of(file: Path) -> str | None:
    if not is_encrypted(file):
        return None
    return os.environ.get(VARIABLE) or _asked(f"Passphrase of {file.name}: ")


def _new_passphrase(env: Mapping[str, str]) -> str:
    """Raises :class:`BackupError` if two are typed that differ, or none can be asked for."""
    if given := env.get(VARIABLE):
        return given
    first = _asked("Passphrase: ")
    if not first:
        raise BackupError("the passphrase is empty")
    if _asked("Repeat the passphrase: ") != first:
        raise BackupError("the passphrases differ; nothing was written")
    return first


def _asked(prompt: str) -> str:
    if not sys.stdin.isatty():
        raise BackupError(f"a passphrase is needed. Set {VARIABLE}, or run this in a terminal")
    return getpass.getpass(prompt)


def _listed(names: list[str] | tuple[str, ...]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more


def _counted(files: Collection[str]) -> str:
    return f"{len(files)} file{'' if len(files) == 1 else 's'}"


def _size(path: Path) -> str:
    size = float(path.stat().st_size)
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def _say(line: str, *, error: bool = False) -> None:
    print(line, file=sys.stderr if error else sys.stdout)


def _fail(error: Exception) -> NoReturn:
    _say(f"hookline: {error}", error=True)
    raise SystemExit(1)
