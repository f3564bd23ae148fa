"""Resource limits of a sandboxed program, and the shell line that sets them (getrlimit(2))."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hookline_toolmark import LIMIT

_MIB = 1_048_576
_KIB = 1_024


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of each process, except ``processes`` and ``private_mb``, which are shared.

    processes: processes and threads at once; the kernel does not apply it to root.
    memory_mb: MiB of data, without reserved address space (``RLIMIT_DATA``).
    file_mb: MiB of the largest file that can be written.
    cpu_seconds: seconds of processor time.
    private_mb: MiB that the private ``/tmp`` and home may keep between two calls.
    """

    processes: int = 512
    memory_mb: int = 4_096
    file_mb: int = 2_048
    cpu_seconds: int = 3_600
    private_mb: int = 2_048

    def values(self) -> dict[str, int]:
        """Return them by name and in units of Python's ``resource``, with the mark of tools."""
        return {
            "RLIMIT_MSGQUEUE": LIMIT,
            "RLIMIT_CORE": 0,
            "RLIMIT_NPROC": self.processes,
            "RLIMIT_DATA": self.memory_mb * _MIB,
            "RLIMIT_FSIZE": self.file_mb * _MIB,
            "RLIMIT_CPU": self.cpu_seconds,
        }

    def shell(self, bash: str, argv: Sequence[str]) -> list[str]:
        """Return the command line that sets them with ``bash`` and becomes ``argv``.

        Limits that are already lower stay.
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
