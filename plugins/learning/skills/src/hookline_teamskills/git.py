"""Runs git isolated from all configuration, to store and transfer objects.

No setting of the user, the system or a folder applies: no hooks, filters or credential helpers; of
the variables ``GIT_…`` only the one for certificates is passed. It may use ssh with the user's keys
and known hosts, and never prompts.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from hookline_hookspecs.own_programs import own_path, own_program

from .team_store import StoreUnreachable

GIT_TIMEOUT = 60.0
_INHERITED = ("TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SSH_AUTH_SOCK")
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
"""The only configuration. ``safe.directory = *`` is safe: the operator chose the repository, and
its hooks do not run."""


class GitFailed(StoreUnreachable):
    """git failed; ``stderr`` is its full output there."""

    def __init__(self, sentence: str, stderr: str = "") -> None:
        super().__init__(sentence)
        self.stderr = stderr


def git(
    directory: Path,
    *arguments: str,
    data: bytes = b"",
    index: Path | None = None,
    codes: tuple[int, ...] = (0,),
) -> bytes:
    """Run git in the repository ``directory`` and return its output.

    Args:
        data: its standard input.
        index: an index file to use.
        codes: exit codes that count as success.

    Raises:
        GitFailed: git is missing, timed out, or ended with another exit code.
    """
    if (program := own_program("git")) is None:
        raise GitFailed("git is not installed, and the team's skills are in a git repository")
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    config = directory / "hookline.gitconfig"
    if not config.exists():
        temporary = config.with_suffix(f".{os.getpid()}")
        temporary.write_text(_CONFIG, "ascii")
        temporary.replace(config)
    command = [program, "--no-pager", f"--git-dir={directory}", *arguments]
    try:
        done = subprocess.run(
            command,
            input=data,
            capture_output=True,
            cwd=directory,
            env=_environment(directory, config, index),
            timeout=GIT_TIMEOUT,
            start_new_session=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise GitFailed(f"git {arguments[0]} took longer than {GIT_TIMEOUT:g} s") from None
    except OSError as error:
        raise GitFailed(f"git cannot be started: {error.strerror or error}") from None
    if done.returncode not in codes:
        stderr = done.stderr.decode("utf-8", "replace")
        raise GitFailed(f"git {arguments[0]} failed: {_error_line(stderr)}", stderr)
    return done.stdout


def _error_line(stderr: str) -> str:
    """The most telling line of git's error output."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    markers = ("fatal:", "error:", "rejected", "Permission denied", "Host key")
    marked = [line for line in lines if any(marker in line for marker in markers)]
    line = next(iter(marked or lines), "no reason given")
    return "".join(char for char in line[:300] if char.isprintable())


def _environment(directory: Path, config: Path, index: Path | None) -> dict[str, str]:
    names = (*_INHERITED, *_CERTIFICATES)
    found = {name: os.environ[name] for name in names if name in os.environ}
    found |= {
        "PATH": own_path(),
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
