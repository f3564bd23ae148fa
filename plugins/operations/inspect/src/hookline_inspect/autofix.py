"""Applies the fixes of ``hookline doctor --fix``, which are always safe, and reports each."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from hookline_hookspecs import Host

PRIVATE_FOLDER_MODE, PRIVATE_FILE_MODE = 0o700, 0o600
OWNER_ONLY_FILES = ("config.yaml", ".env", "plugins.lock", "hookline.db", "logs/*.log")
"""Files in a home that only its owner may read."""
TEMPORARY_FILE = re.compile(
    r"\.config\.yaml\.new|(\.env|config\.yaml)\.\d+\.new|\.plugins\.lock\..+"
)
"""Temporary files that a process leaves in the home if it is killed while writing."""
TEMPORARY_FILE_SECONDS = 600.0
"""Older temporary files are not in use any more."""


def apply_fixes(host: Host) -> Iterator[str]:
    """Repair the home of ``host``; yield a sentence for each fix, successful or not."""
    home = host.home
    yield from (*_folders(host), *_permissions(home), *_temporary_files(home))


def _folders(host: Host) -> Iterator[str]:
    if not host.home.exists():
        yield from _attempt(
            f"created {host.home}", partial(host.home.mkdir, PRIVATE_FOLDER_MODE, parents=True)
        )
    workspace = Path(host.config.workspace).expanduser()
    if not workspace.exists() and workspace.parent.is_dir():
        yield from _attempt(f"created the workspace {workspace}", workspace.mkdir)


def _permissions(home: Path) -> Iterator[str]:
    if not home.is_dir():
        return
    modes = {home: PRIVATE_FOLDER_MODE}
    found = (file for name in OWNER_ONLY_FILES for file in home.glob(name))
    modes |= {file: PRIVATE_FILE_MODE for file in found if file.is_file()}
    for path, mode in modes.items():
        if path.stat().st_mode & 0o077:
            message = f"made {path} readable by its owner only (mode {mode:o})"
            yield from _attempt(message, partial(path.chmod, mode))


def _temporary_files(home: Path) -> Iterator[str]:
    for path in home.iterdir() if home.is_dir() else ():
        if (
            TEMPORARY_FILE.fullmatch(path.name)
            and path.stat().st_mtime < time.time() - TEMPORARY_FILE_SECONDS
        ):
            yield from _attempt(f"removed {path}, left behind by a killed process", path.unlink)


def _attempt(message: str, work: Callable[[], object]) -> Iterator[str]:
    try:
        work()
    except OSError as error:
        yield f"failed: {message}: {error.strerror or error}"
    else:
        yield message
