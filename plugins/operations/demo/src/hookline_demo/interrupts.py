"""Ctrl-C, held back while something is made that somebody must be able to end."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def held() -> Iterator[None]:
    """A Ctrl-C during the block takes effect at its end.

    Without it, one that comes while a process is started leaves a process that nobody knows, and
    one that comes while a folder is made leaves the folder. Does nothing where Ctrl-C is ignored,
    and outside the main thread, where none arrives.
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
