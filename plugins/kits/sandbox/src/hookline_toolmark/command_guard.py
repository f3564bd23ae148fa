"""A guard of the command line: processes that a tool started may not administer Hookline.

Before a process runs turns:

- Secrets are removed from the environment, and overwritten in the kernel's copy of it, which
  ``ps eww`` and ``/proc/PID/environ`` show. They remain in this process's memory, in config.
- On Linux the process is no longer dumpable (prctl(2), ``PR_SET_DUMPABLE``): no other process of
  the account may trace it or read its memory, environment and open files, and it leaves no core
  dump. Its children lose the capabilities to trace it nevertheless (``CAP_SYS_PTRACE``) and to
  raise limits (``CAP_SYS_RESOURCE``), which matters only if it runs as root.
- It marks itself (see :mod:`hookline_toolmark`), so that every process that it starts is marked.

On macOS and Windows only the environment's own variables are removed: another process of the same
account may read the environment that the process was started with.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from hookline_hookspecs.errors import CommandError

from . import lower_limit
from .process_check import refusal

__all__ = ["ToolProcessGuard"]

_PR_SET_DUMPABLE, _PR_CAPBSET_DROP = 4, 24
_CAP_SYS_PTRACE, _CAP_SYS_RESOURCE = 19, 24
_SECRET_NAME = re.compile(
    r"(?:keys?|key_id|tokens?|secrets?|password|passwd|passphrase|pwd|_pat|dsn|credentials?"
    r"|_auth|cookie|webhook|webhook_url)\Z",
    re.IGNORECASE,
)
_PASSWORD_IN_URL = re.compile(r"://[^/\s:@]*:[^/\s@]+@")
_REFERENCE = re.compile(r"(?<!\$)\$\{([A-Za-z_]\w*)")
_KEPT = re.compile(
    r"(?:PATH|HOME|USER|LOGNAME|SHELL|PWD|OLDPWD|TERM|COLORTERM|TZ|LANG|LANGUAGE|HOSTNAME|DISPLAY"
    r"|TMPDIR|TEMP|TMP|SSH_AUTH_SOCK|VIRTUAL_ENV|HOOKLINE_HOME|LC_.*|XDG_.*|SSL_CERT_.*|PYTHON.*"
    r"|.*_proxy)\Z",
    re.IGNORECASE,
)
"""Variables that programs need to run. They are kept even if config refers to them."""


class ToolProcessGuard:
    """Refuses commands in processes that a tool started; protects those that run turns."""

    _is_hidden = False

    def refusal(self, arguments: Sequence[str]) -> str | None:
        """Return why ``hookline ARGUMENTS`` may not run in this process; None if it may."""
        return refusal(arguments) or None

    def before_runtime(self, config: Path, secrets: Container[str]) -> Mapping[str, str]:
        """Hide this process from its children and mark them; remove secrets from the environment.

        This removes variables that ``config`` refers to, whose value is among ``secrets``, or that
        look like a secret. Raises ``CommandError`` if a tool started this process.
        """
        if not ToolProcessGuard._is_hidden:
            if reason := refusal(["run"]):  # a command that a tool may run, but not with a runtime
                raise CommandError(reason)
            ToolProcessGuard._is_hidden = True
            _hide()
            lower_limit()
        return _remove_secrets(config, secrets)


def _remove_secrets(config: Path, secrets: Container[str]) -> dict[str, str]:
    text = ""
    with suppress(OSError):
        text = config.read_text("utf-8", "replace")
    referred = set(_REFERENCE.findall(text))
    removed = {
        name: value
        for name, value in os.environ.items()
        if not _KEPT.match(name)
        and (name in referred or value in secrets or _looks_secret(name, value))
    }
    if sys.platform == "linux":
        with suppress(OSError, ValueError):
            _overwrite({os.fsencode(name): os.fsencode(value) for name, value in removed.items()})
    for name in removed:
        del os.environ[name]
    return removed


def _looks_secret(name: str, value: str) -> bool:
    return bool(_SECRET_NAME.search(name) or _PASSWORD_IN_URL.search(value))


def _overwrite(variables: Mapping[bytes, bytes]) -> None:
    """Overwrite the values in the memory that the kernel shows as the environment."""
    import ctypes

    fields = Path("/proc/self/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    start, end = int(fields[47]), int(fields[48])  # env_start, env_end: 50 and 51 of proc(5)
    if not 0 < start < end:
        return
    at = start
    for entry in ctypes.string_at(start, end - start).split(b"\0"):
        name, _, value = entry.partition(b"=")
        if value and name in variables:
            ctypes.memset(at + len(name) + 1, 0, len(value))
        at += len(entry) + 1


def _hide() -> None:
    if sys.platform != "linux":
        return
    import ctypes

    with suppress(OSError, AttributeError):
        prctl = ctypes.CDLL(None).prctl
        prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
        for capability in (_CAP_SYS_PTRACE, _CAP_SYS_RESOURCE):
            prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
