"""What a sandboxed program may use up, and the shell line that sets it (getrlimit(2))."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hookline_toolmark import LIMIT

_MIB = 1_048_576
_KIB = 1_024


@dataclass(frozen=True, slots=True)
class Limits:
    """Of each process, but for ``processes`` and ``private_mb``, which are for all of them.

    processes: processes and threads at once; the kernel does not hold root to it.
    memory_mb: MiB of data, reserved address space not counted (``RLIMIT_DATA``).
    file_mb: MiB of the largest file that can be written.
    cpu_seconds: seconds of computing.
    private_mb: MiB that the private ``/tmp`` and home may hold from one call to the next.
    """

    processes: int = 512
    memory_mb: int = 4_096
    file_mb: int = 2_048
    cpu_seconds: int = 3_600
    private_mb: int = 2_048

    def values(self) -> dict[str, int]:
        """By the names of Python's ``resource``, in its units; the mark of tools among them."""
        return {
            "RLIMIT_MSGQUEUE": LIMIT,
            "RLIMIT_CORE": 0,
            "RLIMIT_NPROC": self.processes,
            "RLIMIT_DATA": self.memory_mb * _MIB,
            "RLIMIT_FSIZE": self.file_mb * _MIB,
            "RLIMIT_CPU": self.cpu_seconds,
        }

    def shell(self, bash: str, argv: Sequence[str]) -> list[str]:
        """The command line that sets them with ``bash`` and becomes ``argv``.

        A limit that is lower already stays as it is.
        """
        units = {
            "q": LIMIT,
            "c": 0,
            "u": self.processes,
            "d": self.memory_mb * _KIB,
            "f": self.file_mb * _KIB,
            "t": self.cpu_seconds,
        }
        lines = [f"ulimit -{flag} {value} 2>/dev/null" for flag, value in units.items()]
        return [bash, "--norc", "-c", "; ".join([*lines, 'exec "$@"']), "sandbox", *argv]
