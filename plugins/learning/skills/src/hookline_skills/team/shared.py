"""The team's skills as this home sees them: read from the store, judged, and placed on disk."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from hookline_hookspecs import HooklineError, Host, Origin, ToolError, crash
from hookline_hookspecs.skill_folders import SkillFolder
from hookline_teamskills import (
    Entry,
    GitStore,
    Ledger,
    Signer,
    TeamStore,
    Unreachable,
    Version,
    digest_of,
    digests,
)

from .. import names, safely
from ..config import SkillsConfig
from ..history import snapshot
from .cache import Cache
from .memory import Memory

GIT, TABLE = "git+", "postgres"
FRESH = 3.0
"""Seconds for which a look at a repository holds; the table is looked at each time."""
PATIENCE = 8.0
"""Seconds that a message waits for the store; then what is known holds."""
AWAY = 60.0
"""Seconds until a message waits again for a store that did not answer."""
TEAM = "team:"
"""Begins the source of an origin that is a member of the team."""


class Team:
    """What the team has approved, for the plugin of one home.

    Args:
        host: the plugin's.
        config: its settings; ``team`` names the store.
        root: where the home's own skills are.
        put_away: puts one of them away, given its files, and keeps them as a version.
    """

    def __init__(
        self,
        host: Host,
        config: SkillsConfig,
        root: Path,
        put_away: Callable[[str, Mapping[str, bytes]], Awaitable[None]],
    ) -> None:
        self._host = host
        self._trust = frozenset(config.trust)
        self._where = config.team or ""
        self._root = root
        self._put_away = put_away
        self.folder = host.storage.dir / "team"
        self.memory = Memory(self.folder)
        self.ledger = Ledger((), ())
        self.problems: tuple[str, ...] = ()
        """Sentences for a person about what of the store is not taken."""
        self.trouble = ""
        """Why the store could not be reached; empty if it could."""
        self._cache = Cache(self.folder / "cache")
        self._store: TeamStore | None = None
        self._tip: str | None = None
        self._looked = 0.0
        self._mutex = asyncio.Lock()
        self._loaded: dict[str, Version] = {}
        self._withheld: dict[str, str] = {}
        self._told: set[str] = set()

    @property
    def store(self) -> TeamStore:
        """The team's store."""
        if self._store is None:
            if self._where.startswith(GIT):
                url, _, branch = self._where.removeprefix(GIT).partition("#")
                self._store = GitStore(url, self.folder, branch or "main")
            else:
                from .table import TableStore

                self._store = TableStore(lambda: self._host.storage)
        return self._store

    def signer(self, name: str = "") -> Signer:
        """This home's member; ``name`` renames it. Raises ``BadKey``."""
        return Signer.open(self.folder / "member.json", name)

    def trusts(self, key: str) -> bool:
        """Whether approvals with this key count here."""
        return key in self._trust

    # What is loaded

    def folders(self) -> list[SkillFolder]:
        """Where the loaded versions are."""
        return [
            SkillFolder(self._cache.place_of(name, version.proposal.files), "", version.number)
            for name, version in self._loaded.items()
        ]

    def withheld(self) -> Mapping[str, str]:
        """Why skills that the team knows are not loaded, by name."""
        return self._withheld

    def complaints(self) -> list[str]:
        """What an operator has to know: what is not taken, and a store that does not answer."""
        told = [self.trouble] if self.trouble else []
        return [
            *told,
            *self.problems,
            *(f"{n} is left out: {w}" for n, w in self._withheld.items()),
        ]

    def origins(self) -> dict[str, tuple[Origin, ...]]:
        """Whose words the loaded skills are: a member's own, and what that one read."""
        return {name: origins_of(version.proposal) for name, version in self._loaded.items()}

    def set_base(self, name: str, number: int) -> None:
        """Note that this home's own skill is made from a version."""
        self.memory.set_base(name, number)

    async def refresh(self, *, now: bool = False) -> None:
        """Take in what has changed in the store; ``now`` without regard to the last look.

        A store that cannot be reached in time changes nothing; :attr:`trouble` says so then.
        """
        fresh = FRESH if self._where.startswith(GIT) else 0.0
        since = time.monotonic() - self._looked
        if not now and self._looked and since < (AWAY if self.trouble else fresh):
            return
        async with self._mutex:
            try:
                async with asyncio.timeout(PATIENCE):
                    await self._look()
                self.trouble = ""
            except (Unreachable, TimeoutError) as error:
                self._say(f"the team's skills are as they were last seen: {error or 'too slow'}")
                self.trouble = str(error) or "it does not answer"
                await self._without_store()
            self._looked = time.monotonic()

    async def read(self) -> str:
        """Read all of the store now and return its tip. Raises ``Unreachable``."""
        async with self._mutex:
            tip, entries, odd = await self.store.load()
            await self._take(tip, entries, odd)
            self.trouble, self._looked = "", time.monotonic()
        return tip

    async def files(self, version: Version) -> dict[str, bytes]:
        """The files of a version, compared with what was signed.

        Raises:
            Unreachable: they are not there, or not those that were signed.
        """
        files = await self.store.files(version.name, version.number)
        if digests(files) != dict(version.proposal.files):
            raise Unreachable(
                f"the files of {version.name} version {version.number} in the team's store are "
                "not those that were signed"
            )
        return files

    # Taking in

    async def _look(self) -> None:
        tip = await self.store.tip()
        if tip != self._tip or not await asyncio.to_thread(self._intact):
            await self._take(*await self.store.load())

    def _intact(self) -> bool:
        return all(self._cache.holds(n, v.proposal.files) for n, v in self._loaded.items())

    async def _without_store(self) -> None:
        """Judge what was fetched last, if nothing was judged yet."""
        if self._tip is None and isinstance(self.store, GitStore):
            try:
                await self._take(*await self.store.last())
            except Unreachable as error:
                self._say(str(error))

    async def _take(self, tip: str, entries: Sequence[Entry], odd: Sequence[str]) -> None:
        memory = self.memory
        bad = {name for name in {entry.name for entry in entries} if names.refusal(name)}
        odd = [*odd, *(f"{name[:80]!r} is no name of a skill" for name in sorted(bad))]
        entries = [entry for entry in entries if entry.name not in bad]
        ledger = Ledger(entries, self._trust, await asyncio.to_thread(memory.seen))
        loaded, withheld, problems = {}, {}, list(odd)
        for name in ledger.names():
            problems += [f"{name}: {sentence}" for sentence in ledger.refused(name)]
            reason = ledger.withheld(name)
            version = ledger.active(name)
            if version is not None and not reason:
                reason = await self._place(version)
            if reason:
                withheld[name] = f"of the team: {reason}"
            elif version is not None:
                loaded[name] = version
        await asyncio.to_thread(memory.see, ledger.seen())
        self.ledger, self._loaded, self._withheld = ledger, loaded, withheld
        self.problems, self._tip = tuple(problems), tip
        for sentence in (*problems, *(f"{n}: {why}" for n, why in withheld.items())):
            self._say(sentence)
        used = {self._cache.place_of(n, v.proposal.files) for n, v in loaded.items()}
        await asyncio.to_thread(self._cache.clear, used)
        await self._hand_over()

    async def _place(self, version: Version) -> str:
        """Place an approved version on disk; why it cannot be loaded, or an empty text."""
        name, wanted = version.name, version.proposal.files
        if await asyncio.to_thread(self._cache.holds, name, wanted):
            return ""
        try:
            files = await self.files(version)
            await asyncio.to_thread(self._cache.put, name, files)
        except (Unreachable, safely.BadPath, OSError) as error:
            return str(error)
        if not await asyncio.to_thread(self._cache.holds, name, wanted):
            return "its files could not be placed as they were signed"
        return ""

    async def _hand_over(self) -> None:
        """Put this home's own skill away where it is what the team has approved or revoked, so that
        later versions, and a revocation, hold here too."""
        root = self._root
        for name in self.ledger.names():
            taken = self.ledger.handed_over(name)
            active = self._loaded.get(name)
            if active is not None and self.memory.is_kept(name, active.number):
                continue
            if not taken or not (root / name).is_dir() or (root / name).is_symlink():
                continue
            files = await asyncio.to_thread(snapshot, root / name)
            if digest_of(digests(files)) not in taken:
                continue
            crash.point("team-before-hand-over")
            try:
                await self._put_away(name, files)
                await asyncio.to_thread(self.memory.set_base, name, self.ledger.head(name))
            except (OSError, ToolError) as error:
                self._say(f"{name}: the copy in skills/ stays: {error}")

    def _say(self, sentence: str) -> None:
        if sentence not in self._told:
            self._told.add(sentence)
            self._host.log.warning("team skills: %s", sentence)


def origins_of(entry: Entry) -> tuple[Origin, ...]:
    """Whose words a version is, for another home: its author's, and what was read from outside."""
    author = Origin("admin", f"{TEAM}{entry.author}")
    kinds = {"person": "person", "outside": "outside"}
    others = [Origin(kinds.get(k, "outside"), s) for k, s in entry.origins if k in kinds]  # type: ignore[arg-type]
    return (author, *others)


def need(team: Team | None) -> Team:
    """Return the team. Raises ``HooklineError`` if no store is set."""
    if team is None:
        raise HooklineError(
            "no team is set: put the store of your team's skills under plugins: skills: team: "
            "in config.yaml, as `postgres` or `git+ssh://…`, and its reviewers' keys under trust"
        )
    return team


async def signer_of(host: Host, name: str) -> Signer:
    """Return this home's member, whether a team is set or not. Raises ``BadKey``."""
    folder = host.storage.dir / "team"
    return await asyncio.to_thread(Signer.open, folder / "member.json", name)
