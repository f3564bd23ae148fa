"""git as a program that stores objects and moves them, and nothing else of git.

No setting of the person, of the system or of a folder reaches it: no hooks, filters, credential
helpers, and of the variables named ``GIT_…`` only the one that names certificates. It may use ssh,
with the person's own keys and known hosts, and never asks.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from .store import Unreachable

SECONDS = 60.0
_INHERITED = ("PATH", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SSH_AUTH_SOCK")
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "HTTPS_PROXY", "https_proxy")
_SSH = "ssh -oBatchMode=yes -oStrictHostKeyChecking=yes -oConnectTimeout=10"
_CONFIG = """\
[core]
\thooksPath = /dev/null
\tfsmonitor = false
\tattributesFile = /dev/null
[gc]
\tauto = 0
[receive]
\tautogc = false
\tfsckObjects = true
[fetch]
\tfsckObjects = true
[safe]
\tdirectory = *
[init]
\tdefaultBranch = main
"""
"""The only configuration. ``safe.directory`` may be all: the operator named the repository, and
none of its hooks runs."""


class GitFailed(Unreachable):
    """git ended with an error; ``said`` is all that it said."""

    def __init__(self, sentence: str, said: str = "") -> None:
        super().__init__(sentence)
        self.said = said


def git(
    directory: Path,
    *arguments: str,
    data: bytes = b"",
    index: Path | None = None,
    codes: tuple[int, ...] = (0,),
) -> bytes:
    """Return what git prints when it reads ``data``, in the repository ``directory``.

    ``index`` is a file for an index; ``codes`` are the exit codes of success. Raises ``GitFailed``.
    """
    if shutil.which("git") is None:
        raise GitFailed("git is not installed, and the team's skills are in a git repository")
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    config = directory / "hookline.gitconfig"
    if not config.exists():
        made = config.with_suffix(f".{os.getpid()}")
        made.write_text(_CONFIG, "ascii")
        made.replace(config)
    command = ["git", "--no-pager", f"--git-dir={directory}", *arguments]
    try:
        done = subprocess.run(
            command,
            input=data,
            capture_output=True,
            cwd=directory,
            env=_environment(directory, config, index),
            timeout=SECONDS,
            start_new_session=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise GitFailed(f"git {arguments[0]} took longer than {SECONDS:g} s") from None
    except OSError as error:
        raise GitFailed(f"git cannot be started: {error.strerror or error}") from None
    if done.returncode not in codes:
        said = done.stderr.decode("utf-8", "replace")
        raise GitFailed(f"git {arguments[0]} failed: {_complaint(said)}", said)
    return done.stdout


def _complaint(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    wanted = ("fatal:", "error:", "rejected", "Permission denied", "Host key")
    told = next((line for line in lines if any(word in line for word in wanted)), "")
    return "".join(
        c for c in (told or next(iter(lines), "it gave no reason"))[:300] if c.isprintable()
    )


def _environment(directory: Path, config: Path, index: Path | None) -> dict[str, str]:
    names = (*_INHERITED, *_CERTIFICATES)
    found = {name: os.environ[name] for name in names if name in os.environ}
    found |= {
        "HOME": str(directory),
        "XDG_CONFIG_HOME": str(directory),
        "LC_ALL": "C",
        "GIT_CONFIG_GLOBAL": str(config),
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": "file:ssh:https",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",
        "GIT_SSH_COMMAND": _SSH,
    }
    for role in ("AUTHOR", "COMMITTER"):
        found |= {f"GIT_{role}_NAME": "hookline", f"GIT_{role}_EMAIL": "hookline@localhost"}
    return found if index is None else found | {"GIT_INDEX_FILE": str(index)}
