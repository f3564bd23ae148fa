"""What can go wrong with a snapshot. Every text is a sentence for the person."""

from __future__ import annotations

from hookline_hookspecs import HooklineError


class CheckpointError(HooklineError):
    """A snapshot could not be taken, found or put back."""


class GitFailed(CheckpointError):
    """git is not there, or ended with an error; the text holds what it said."""


class DiskFull(GitFailed):
    """There is no room, or no more that may be written."""


class TooLarge(CheckpointError):
    """The folder holds more than is saved."""
