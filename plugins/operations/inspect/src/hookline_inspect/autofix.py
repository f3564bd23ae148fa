"""``hookline doctor --fix``: applies the fixes that are always safe, and reports each."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from hookline_hookspecs import Host

PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
NOBODY_ELSES = ("config.yaml", ".env", "plugins.lock", "hookline.db", "logs/*.log")
"""Files of a home that only its owner may read."""
LEFT_OVER = re.compile(r"\.config\.yaml\.new|(\.env|config\.yaml)\.\d+\.new|\.plugins\.lock\..+")
"""Files that a process which was killed while it wrote leaves in the home."""
LEFT_OVER_SECONDS = 600.0
"""Age at which nothing can be writing them any more."""


def apply_fixes(host: Host) -> Iterator[str]:
    """Repair the home of ``host``; a sentence for each thing done or not possible."""
    home = host.home
    yield from (*_folders(host), *_permissions(home), *_left_over(home))


def _folders(host: Host) -> Iterator[str]:
    if not host.home.exists():
        yield from _done(
            f"made {host.home}", partial(host.home.mkdir, PRIVATE_FOLDER, parents=True)
        )
    workspace = Path(host.config.workspace).expanduser()
    if not workspace.exists() and workspace.parent.is_dir():
        yield from _done(f"made the workspace {workspace}", workspace.mkdir)


def _permissions(home: Path) -> Iterator[str]:
    if not home.is_dir():
        return
    wanted = {home: PRIVATE_FOLDER}
    found = (file for name in NOBODY_ELSES for file in home.glob(name))
    wanted |= {file: PRIVATE_FILE for file in found if file.is_file()}
    for path, mode in wanted.items():
        if path.stat().st_mode & 0o077:
            told = f"{path} is now readable by its owner only (mode {mode:o})"
            yield from _done(told, partial(path.chmod, mode))


def _left_over(home: Path) -> Iterator[str]:
    for path in home.iterdir() if home.is_dir() else ():
        if (
            LEFT_OVER.fullmatch(path.name)
            and path.stat().st_mtime < time.time() - LEFT_OVER_SECONDS
        ):
            yield from _done(f"removed {path}, left behind by a killed process", path.unlink)


def _done(told: str, work: Callable[[], object]) -> Iterator[str]:
    try:
        work()
    except OSError as error:
        yield f"not possible: {told}: {error.strerror or error}"
    else:
        yield told
