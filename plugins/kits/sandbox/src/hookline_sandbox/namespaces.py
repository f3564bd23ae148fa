"""Makes the command line of a sandbox with namespaces of its own, without bubblewrap's package."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from . import bubblewrap
from .launcher import inside, interpreter
from .limits import Limits
from .view import View


def probe() -> list[str]:
    """Return a command line that succeeds where users may create namespaces."""
    return [*_maker(None), *bubblewrap.probe_options(), "--", "/bin/sh", "-c", ":"]


def wrapped(
    argv: Sequence[str], folder: Path, view: View, limits: Limits, *, ends_together: bool = False
) -> list[str]:
    """Return the command line that runs ``argv`` in ``folder`` with ``view`` and ``limits``.

    ends_together: it also ends with the process that started it.
    """
    options = bubblewrap.options(argv, folder, view, limits, ends_together=ends_together)
    return [*_maker(bubblewrap.filter_file(view.private)), *options]


def _maker(filter_file: Path | None) -> list[str]:
    name = str(filter_file) if filter_file else ""
    return [str(interpreter()), "-I", "-S", "-c", inside("namespaces.main()"), name]
