"""Errors of snapshots. Their texts are shown to people."""

from __future__ import annotations

from hookline_hookspecs import HooklineError


class CheckpointError(HooklineError):
    """A snapshot could not be taken, found or restored."""


class GitFailed(CheckpointError):
    """git is missing or failed; the text quotes its error."""


class DiskFull(GitFailed):
    """The disk or quota is full."""


class TooLarge(CheckpointError):
    """The folder has more files or bytes than the limits allow."""
