"""``hookline backup``: create, list, verify, restore.

``create`` works beside a running gateway. The others open no database, so that they work where
nothing else does.
"""

from __future__ import annotations

import getpass
import json as jsonlib
import shlex
import sys
import tempfile
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from hookline_hookspecs import Host, Store
from hookline_hookspecs.hooks.boot import RegisterCli

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

VARIABLE = "HOOKLINE_BACKUP_PASSPHRASE"
Json = Annotated[bool, typer.Option("--json", help="JSON.")]
File = Annotated[Path, typer.Argument(metavar="FILE", help="The backup.")]


class Commands:
    """One method for each command."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def register(self, register: RegisterCli) -> None:
        """Register ``backup create|list|verify|restore``."""
        register("backup create", self.create, help="Back up the home, also while a gateway runs.")
        register("backup list", self.list_, help="The backups in the home, oldest first.")
        register(
            "backup verify", self.verify, help="Check every file of a backup, and its database."
        )
        register("backup restore", self.restore, help="Make the home what a backup holds.")

    async def create(
        self,
        out: Annotated[
            Path | None, typer.Option(help="Where to; else the home's backups/.")
        ] = None,
        encrypt: Annotated[
            bool, typer.Option("--encrypt", help="Encrypt it by a passphrase.")
        ] = False,
        secrets: Annotated[bool, typer.Option("--secrets", help="Hold keys, unencrypted.")] = False,
        json: Json = False,
    ) -> None:
        """Back up the home: everything but logs, locks and, unless it is encrypted, secrets."""
        made = datetime.now(UTC)
        path = out or self._default(made, encrypted=encrypt)
        try:
            passphrase = _new_passphrase(self._host.env) if encrypt else None
            manifest, found = await self._write(path, passphrase, made, secrets=secrets or encrypt)
        except BackupError as error:
            _fail(error)
        if json:
            _say(jsonlib.dumps({"file": str(path), **as_dict(manifest)}, ensure_ascii=False))
            return
        _say(f"{path}: {_counted(manifest.files)}, {_size(path)}")
        if found and not (secrets or encrypt):
            _say(f"Secrets are left out: {_listed(found)}. --encrypt or --secrets keeps them, too.")
        elif found and not encrypt:
            _say(f"Secrets are in it as they are: {_listed(found)}. Who has the file has them.")
        if manifest.left_out:
            _say(f"Links and special files are left out: {_listed(manifest.left_out)}")

    async def _write(
        self, path: Path, passphrase: str | None, made: datetime, *, secrets: bool
    ) -> tuple[Manifest, list[str]]:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        home = self._host.home
        with tempfile.TemporaryDirectory(prefix=".backup-", dir=path.parent) as folder:
            store = self._host.services[Store]
            is_here = store.dialect == "sqlite"
            snapshot = Path(folder) / (DATABASE if is_here else DUMP)
            await store.snapshot(snapshot)
            migrations = migrations_of(snapshot) if is_here else {}
            found = contents_of(home, self._host.paths, secrets=secrets)
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

    def _default(self, made: datetime, *, encrypted: bool) -> Path:
        folder = self._host.home / "backups"
        name = f"hookline-{made:%Y%m%dT%H%M%S}"
        ending = ENCRYPTED if encrypted else ENDING
        path, count = folder / f"{name}{ending}", 1
        while path.exists():
            count += 1
            path = folder / f"{name}-{count}{ending}"
        return path

    def list_(self, json: Json = False) -> None:
        """The backups in the home's folder, oldest first."""
        rows = [
            {
                "file": str(path),
                "bytes": path.stat().st_size,
                "made": f"{datetime.fromtimestamp(path.stat().st_mtime, UTC):%Y-%m-%dT%H:%M:%SZ}",
                "encrypted": path.name.endswith(ENCRYPTED),
            }
            for path in backups(self._host.home)
        ]
        if json:
            _say(jsonlib.dumps(rows, ensure_ascii=False))
            return
        for row in rows:
            mark = "  encrypted" if row["encrypted"] else ""
            _say(f"{row['made']}  {_size(Path(str(row['file']))):>9}  {row['file']}{mark}")
        if not rows:
            _say("There are no backups yet; `hookline backup create` makes one.")

    def verify(self, file: File, json: Json = False) -> None:
        """Check every file of a backup, and its database; exit 1 if anything is wrong."""
        try:
            manifest = verify(file, _passphrase_of(file, self._host.env))
        except BackupError as error:
            if json:
                _say(jsonlib.dumps({"ok": False, "problem": str(error)}, ensure_ascii=False))
            _fail(error)
        if json:
            _say(jsonlib.dumps({"ok": True, **as_dict(manifest)}, ensure_ascii=False))
            return
        _say(
            f"{file} is whole: {len(manifest.files)} files and their database, made "
            f"{manifest.made} by hookline {manifest.hookline}."
        )

    def restore(
        self,
        file: Annotated[Path | None, typer.Argument(metavar="FILE", help="The backup.")] = None,
        to: Annotated[Path | None, typer.Option(metavar="HOME", help="Another home.")] = None,
        resend: Annotated[
            bool, typer.Option("--resend", help="Send and run what was open; alone: what is held.")
        ] = False,
        back: Annotated[bool, typer.Option("--undo", help="Put back what was replaced.")] = False,
    ) -> None:
        """Make the home what a backup holds; the home that was there stays beside it."""
        home = (to or self._host.home).expanduser().absolute()
        if (file is None and not (resend or back)) or (back and (file is not None or resend)):
            _say("hookline: give a FILE, or --undo, or --resend alone", error=True)
            raise SystemExit(2)
        try:
            if back:
                _undo(home)
            elif file is None:
                _resend(home)
            else:
                passphrase = _passphrase_of(file, self._host.env)
                done = restore(
                    file, passphrase, home, self._host.paths, self._host.now(), resend=resend
                )
                _tell(done, home, _address_of(home))
        except BackupError as error:
            _fail(error)


def _address_of(home: Path) -> str:
    """What makes a command mean ``home``: nothing if it is the one that is meant without."""
    usual = Path("~/.hookline").expanduser().absolute()
    return "" if home == usual else f" --to {shlex.quote(str(home))}"


def _tell(done: Restored, home: Path, there: str) -> None:
    _say(f"{home} is what it was at {done.manifest.made}.")
    if done.before is not None:
        _say(
            f"The home that was there is {done.before}; `hookline backup restore --undo{there}` "
            "swaps them."
        )
    if DUMP in done.manifest.files:
        _say(
            "Its database is another matter: end all processes that use it, then `pg_restore "
            f"--clean --if-exists --no-owner --dbname ADDRESS {home / DUMP}` puts it back."
        )
    if not done.manifest.secrets and not (home / ".env").exists():
        _say(f"The backup holds no secrets: put your keys into {home / '.env'}.")
    if str(done.held):
        _say(
            f"Held, because they may have been sent or run since: {done.held}. "
            f"`hookline backup restore --resend{there}` lets them go on."
        )


def _undo(home: Path) -> None:
    after = undo(home)
    _say(f"{home} is what it was before the restore; what was restored is {after}.")


def _resend(home: Path) -> None:
    with alone(home):
        held = resend_held(home)
    _say(f"Goes on at the next start: {held}." if str(held) else "Nothing is held.")


def _passphrase_of(file: Path, env: Mapping[str, str]) -> str | None:
    if not is_encrypted(file):
        return None
    return env.get(VARIABLE) or _asked(f"Passphrase of {file.name}: ")


def _new_passphrase(env: Mapping[str, str]) -> str:
    """Raises :class:`BackupError` if two are typed that differ, or none can be asked for."""
    if given := env.get(VARIABLE):
        return given
    first = _asked("Passphrase: ")
    if not first:
        raise BackupError("the passphrase is empty")
    if _asked("Once more: ") != first:
        raise BackupError("the two passphrases differ; nothing was written")
    return first


def _asked(prompt: str) -> str:
    if not sys.stdin.isatty():
        raise BackupError(f"a passphrase is needed; set {VARIABLE}, or run this in a terminal")
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
