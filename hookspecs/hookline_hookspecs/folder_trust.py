"""Folders that a person trusts, so that programs and settings in them are used.

Anyone may have written what a cloned repository holds. A plugin that would run a program of a
folder, or obey its settings, asks :class:`FolderTrust` first, and describes what it would use with
a :class:`FolderContentSource`, so that ``hookline trust`` can show it. Trust is given to that
content: when it changes, the folder has to be trusted again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from .questions import StoredQuestion
    from .turns import Session

TrustState: TypeAlias = Literal["trusted", "changed", "untrusted"]
"""``changed``: the folder is trusted, but not with the content that it has now."""
TRUST, NOT_NOW = "Trust this folder", "Not now"
"""The choices of the question whether a folder may be trusted."""


@dataclass(frozen=True, slots=True)
class FolderContent:
    """What a folder holds that is used only if the folder is trusted.

    Attributes:
        kind: what it is, such as ``bundles``; each kind is trusted for itself.
        digest: changes whenever the content does.
        lines: describe it to the person who decides, one fact each: programs, hosts, settings.
        record: text that is kept with the trust, by which the source can later say what changed.
    """

    kind: str
    digest: str
    lines: tuple[str, ...]
    record: str = ""


class FolderContentSource(Protocol):
    """Describes content of folders; add one with ``host.services.add(FolderContentSource, …)``."""

    def describe(self, folder: Path) -> FolderContent | None:
        """Return what ``folder`` holds of this source's kind, or None if it holds nothing."""
        return None


@dataclass(frozen=True, slots=True)
class TrustedFolder:
    """A trusted folder: its real path, and since when (Unix time in seconds)."""

    path: Path
    since: float


class FolderTrust(Protocol):
    """The folders that the person trusts. ``host.services[FolderTrust]`` is always available."""

    def state(self, folder: Path, content: FolderContent) -> TrustState:
        """Return whether ``content`` of exactly this folder may be used."""
        return "untrusted"

    def trusted_content(self, folder: Path, kind: str) -> FolderContent | None:
        """Return the content of a kind that this folder is trusted with, or None."""
        return None

    def folders(self) -> Sequence[TrustedFolder]:
        """Return every trusted folder, sorted by path."""
        return ()

    def trust(self, folder: Path, contents: Sequence[FolderContent]) -> None:
        """Trust a folder with these contents, which the person has seen.

        Raises:
            HooklineError: it cannot be stored.
        """

    def revoke(self, folder: Path) -> bool:
        """Trust a folder no longer; return False if it was not trusted.

        Raises:
            HooklineError: it cannot be stored.
        """
        return False

    def decline(self, folder: Path, contents: Sequence[FolderContent]) -> None:
        """Remember that the person does not trust these contents for now. Trust stays as it was.

        Raises:
            HooklineError: it cannot be stored.
        """

    def is_declined(self, folder: Path, contents: Sequence[FolderContent]) -> bool:
        """Whether the person was asked about exactly these contents and declined."""
        return False


class FolderQuestions(Protocol):
    """Asks whether a folder may be trusted, once for what it holds.

    ``host.services[FolderQuestions]`` is always available.
    """

    async def post(
        self, folder: Path, session: Session, *, asker: str = "", show: bool = False
    ) -> StoredQuestion | None:
        """Store the question and return it; None if the person has decided or nothing needs trust.

        The answer counts wherever it comes from; it is stored as ``hookline trust`` does.

        Args:
            folder: the real path.
            session: the session and chat in which the folder is used.
            asker: the user id of the person whose message began this, on the session's channel.
            show: also send it to the people who may answer it.

        Raises:
            HooklineError: it could not be stored.
        """
