"""Back up and restore the home.

``hookline backup``. ``create`` works while a gateway runs. The other commands do not open the
store, so they work even if Hookline does not start.
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
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from hookline_hookspecs import CommandError, Store
from hookline_hookspecs.cli import command_line, with_plugin

from .archive import (
    ENCRYPTED_SUFFIX,
    SUFFIX,
    BackupError,
    Manifest,
    as_dict,
    find_backups,
    is_encrypted,
    write_archive,
)
from .contents import DATABASE, DUMP, list_contents
from .held_work import release_held_work
from .restore import RestoreResult, exclusive_home, restore, undo
from .verification import migrations_of, verify

if TYPE_CHECKING:
    from . import Backup


ENVIRONMENT_VARIABLE = "HOOKLINE_BACKUP_PASSPHRASE"
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
File = Annotated[Path, typer.Argument(metavar="FILE", help="The backup.")]

WORKS_WHEN_OFF = True
app = typer.Typer(no_args_is_help=True)


@app.command("create")
@with_plugin
async def create(
    plugin: Backup,
    out: Annotated[
        Path | None,
        typer.Option(help="The file to write. Default: a new one in the home's backups/."),
    ] = None,
    encrypt: Annotated[
        bool, typer.Option("--encrypt", help="Encrypt the backup with a passphrase.")
    ] = False,
    secrets: Annotated[
        bool, typer.Option("--secrets", help="Include secrets, unencrypted.")
    ] = False,
    json: Json = False,
) -> None:
    """Back up the home. Leaves out logs, locks and, unless encrypted, secrets."""
    made = datetime.now(UTC)
    path = out or _default_path(plugin, made, encrypted=encrypt)
    try:
        passphrase = _new_passphrase(plugin.host.env) if encrypt else None
        manifest, found = await _write_backup(
            plugin, path, passphrase, made, secrets=secrets or encrypt
        )
    except BackupError as error:
        _exit_with_error(error)
    if json:
        _print(jsonlib.dumps({"file": str(path), **as_dict(manifest)}, ensure_ascii=False))
        return
    _print(f"{path}: {_count_files(manifest.files)}, {_size(path)}")
    if found and not (secrets or encrypt):
        _print(
            f"Secrets were left out: {_join_names(found)}. "
            "Add --encrypt or --secrets to include them."
        )
    elif found and not encrypt:
        _print(
            f"The backup includes secrets in plain text: {_join_names(found)}. Keep the file safe."
        )
    if manifest.left_out:
        _print(f"Links and special files were left out: {_join_names(manifest.left_out)}")


async def _write_backup(
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
        found = list_contents(home, plugin.host.paths, secrets=secrets)
        with write_archive(path, passphrase) as writer:
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


def _default_path(plugin: Backup, made: datetime, *, encrypted: bool) -> Path:
    folder = plugin.host.home / "backups"
    name = f"hookline-{made:%Y%m%dT%H%M%S}"
    ending = ENCRYPTED_SUFFIX if encrypted else SUFFIX
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
            "encrypted": path.name.endswith(ENCRYPTED_SUFFIX),
        }
        for path in find_backups(command_line().home)
    ]
    if json:
        _print(jsonlib.dumps(rows, ensure_ascii=False))
        return
    for row in rows:
        mark = "  encrypted" if row["encrypted"] else ""
        _print(f"{row['made']}  {_size(Path(str(row['file']))):>9}  {row['file']}{mark}")
    if not rows:
        _print("There are no backups yet. Run `hookline backup create` to make one.")


@app.command("verify")
def verify_backup(file: File, json: Json = False) -> None:
    """Check a backup's files and database. Exits with 1 if one is damaged."""
    try:
        manifest = verify(file, _passphrase_of(file))
    except BackupError as error:
        if json:
            _print(jsonlib.dumps({"ok": False, "problem": str(error)}, ensure_ascii=False))
        _exit_with_error(error)
    if json:
        _print(jsonlib.dumps({"ok": True, **as_dict(manifest)}, ensure_ascii=False))
        return
    count = len(manifest.files)
    _print(
        f"{file} is intact: {count} file{'s' if count != 1 else ''} and the database, made "
        f"{manifest.made} by hookline {manifest.hookline}."
    )


@app.command("restore")
def restore_backup(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="The backup.")] = None,
    to: Annotated[
        Path | None, typer.Option(metavar="HOME", help="Restore to this home instead.")
    ] = None,
    resend: Annotated[
        bool,
        typer.Option(
            "--resend", help="Also resume unfinished work. Without FILE: release held-back work."
        ),
    ] = False,
    back: Annotated[
        bool, typer.Option("--undo", help="Bring back the home that a restore replaced.")
    ] = False,
) -> None:
    """Restore a home from a backup. The previous home is kept beside it."""
    home = (to or command_line().home).expanduser().absolute()
    if (file is None and not (resend or back)) or (back and (file is not None or resend)):
        _print("hookline: Give FILE, --undo or --resend.", error=True)
        raise SystemExit(2)
    try:
        if back:
            _undo(home)
        elif file is None:
            _release(home)
        else:
            passphrase = _passphrase_of(file)
            paths = command_line().plugin().host.paths
            result = restore(file, passphrase, home, paths, time.time(), resend=resend)
            _report(result, home, _home_option(home))
    except BackupError as error:
        _exit_with_error(error)


def _home_option(home: Path) -> str:
    """The option that selects ``home`` in a command; empty for the default home."""
    usual = Path("~/.hookline").expanduser().absolute()
    return "" if home == usual else f" --to {shlex.quote(str(home))}"


def _report(result: RestoreResult, home: Path, option: str) -> None:
    _print(f"Restored {home} to its state at {result.manifest.made}.")
    if result.before is not None:
        _print(
            f"The previous home is now {result.before}. "
            f"`hookline backup restore --undo{option}` "
            "swaps them."
        )
    if DUMP in result.manifest.files:
        _print(
            "Restore the database separately: stop all processes that use it, then run "
            f"`pg_restore --clean --if-exists --no-owner --dbname ADDRESS {home / DUMP}`."
        )
    if not result.manifest.secrets and not (home / ".env").exists():
        _print(f"The backup has no secrets. Put your keys into {home / '.env'}.")
    if str(result.held):
        _print(
            f"Held back, because they may have been sent or run since: {result.held}. "
            f"`hookline backup restore --resend{option}` releases them."
        )


def _undo(home: Path) -> None:
    after = undo(home)
    _print(f"{home} is back to its state before the restore; the restored home is now {after}.")


def _release(home: Path) -> None:
    with exclusive_home(home):
        held = release_held_work(home)
    _print(f"Continues at the next start: {held}." if str(held) else "Nothing is held back.")


def _passphrase_of(file: Path) -> str | None:
    if not is_encrypted(file):
        return None
    env: Mapping[str, str] = os.environ
    with suppress(CommandError):  # without a config that can be read there is no .env either
        env = command_line().plugin().host.env
    return env.get(ENVIRONMENT_VARIABLE) or _ask_passphrase(f"Passphrase of {file.name}: ")


def _new_passphrase(env: Mapping[str, str]) -> str:
    """Ask twice for a passphrase. Raises :class:`BackupError` if they differ."""
    if given := env.get(ENVIRONMENT_VARIABLE):
        return given
    first = _ask_passphrase("Passphrase: ")
    if not first:
        raise BackupError("the passphrase is empty")
    if _ask_passphrase("Repeat the passphrase: ") != first:
        raise BackupError("the passphrases differ; nothing was written")
    return first


def _ask_passphrase(prompt: str) -> str:
    if not sys.stdin.isatty():
        raise BackupError(
            f"a passphrase is needed. Set {ENVIRONMENT_VARIABLE}, or run this in a terminal"
        )
    return getpass.getpass(prompt)


def _join_names(names: list[str] | tuple[str, ...]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more


def _count_files(files: Collection[str]) -> str:
    return f"{len(files)} file{'' if len(files) == 1 else 's'}"


def _size(path: Path) -> str:
    size = float(path.stat().st_size)
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def _print(line: str, *, error: bool = False) -> None:
    print(line, file=sys.stderr if error else sys.stdout)


def _exit_with_error(error: Exception) -> NoReturn:
    _print(f"hookline: {error}", error=True)
    raise SystemExit(1)
