"""Delays Ctrl-C while a process or folder is being created."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def delay_interrupts() -> Iterator[None]:
    """Delay a Ctrl-C during the block until its end.

    Otherwise, a Ctrl-C while a process is started or a folder is created would leave it behind.
    Does nothing if Ctrl-C is ignored, or outside the main thread, which never receives it.
    """
    usual = signal.getsignal(signal.SIGINT)
    came: list[FrameType | None] = []
    try:
        if not callable(usual):
            raise ValueError
        signal.signal(signal.SIGINT, lambda _number, frame: came.append(frame))
    except ValueError:
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
    if came:
        usual(signal.SIGINT, came[0])
