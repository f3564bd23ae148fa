"""The team's skills in this home: read from the store, verified, and placed on disk."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from hookline_hookspecs import HooklineError, Host, Origin, ToolError, crash
from hookline_hookspecs.skill_folders import SkillFolder
from hookline_teamskills import (
    GitStore,
    Ledger,
    Signer,
    StoreUnreachable,
    TeamEntry,
    TeamStore,
    Version,
    combined_digest,
    digests,
)

from .. import names, safe_files
from ..config import SkillsConfig
from ..history import snapshot
from .cache import TeamCache
from .team_state import TeamState

GIT_PREFIX = "git+"
GIT_REFRESH_INTERVAL = 3.0
"""Seconds between two reads of a git repository; a database is read at each message."""
STORE_TIMEOUT = 8.0
"""Seconds that a message waits for the store before it continues with the skills known so far."""
RETRY_INTERVAL = 60.0
"""Seconds before a store that did not answer is tried again."""
MEMBER_PREFIX = "team:"
"""Prefix of an origin's source that is a member of the team."""


class TeamSkills:
    """The team's approved skills, loaded into one home.

    Args:
        config: the plugin's settings; ``team`` names the store.
        root: the folder of the home's own skills.
        hand_over: removes one of them, given its name and files, and keeps them as a version.
    """

    def __init__(
        self,
        host: Host,
        config: SkillsConfig,
        root: Path,
        hand_over: Callable[[str, Mapping[str, bytes]], Awaitable[None]],
    ) -> None:
        self._host = host
        self._trust = frozenset(config.trust)
        self._address = config.team or ""
        self._root = root
        self._hand_over = hand_over
        self.folder = host.storage.dir / "team"
        self.state = TeamState(self.folder)
        self.ledger = Ledger((), ())
        self.problems: tuple[str, ...] = ()
        """Sentences about entries of the store that are not accepted."""
        self.store_error = ""
        """Why the store could not be reached; empty if it was."""
        self._cache = TeamCache(self.folder / "cache")
        self._store: TeamStore | None = None
        self._tip: str | None = None
        self._last_refresh = 0.0
        self._mutex = asyncio.Lock()
        self._loaded: dict[str, Version] = {}
        self._withheld: dict[str, str] = {}
        self._warned: set[str] = set()

    @property
    def store(self) -> TeamStore:
        """The team's store."""
        if self._store is None:
            if self._address.startswith(GIT_PREFIX):
                url, _, branch = self._address.removeprefix(GIT_PREFIX).partition("#")
                self._store = GitStore(url, self.folder, branch or "main")
            else:
                from .table_store import TableStore

                self._store = TableStore(lambda: self._host.storage)
        return self._store

    def signer(self, name: str = "") -> Signer:
        """This home's member; ``name`` renames it. Raises ``InvalidKey``."""
        return Signer.open(self.folder / "member.json", name)

    def trusts(self, key: str) -> bool:
        """True if approvals signed with this key count here."""
        return key in self._trust

    # Loaded versions

    def folders(self) -> list[SkillFolder]:
        """The folders of the loaded versions."""
        return [
            SkillFolder(self._cache.folder_of(name, version.proposal.files), "", version.number)
            for name, version in self._loaded.items()
        ]

    def withheld(self) -> Mapping[str, str]:
        """Why skills of the team are not loaded, by name."""
        return self._withheld

    def describe_problems(self) -> list[str]:
        """Sentences for the operator: why the store or single skills are not used."""
        sentences = [self.store_error] if self.store_error else []
        sentences += self.problems
        sentences += [f"{name} is left out: {why}" for name, why in self._withheld.items()]
        return sentences

    def origins(self) -> dict[str, tuple[Origin, ...]]:
        """The origins of the loaded skills by name."""
        return {name: entry_origins(version.proposal) for name, version in self._loaded.items()}

    def set_base(self, name: str, number: int) -> None:
        """Record the team's version that this home's own skill was made from."""
        self.state.set_base(name, number)

    async def refresh(self, *, now: bool = False) -> None:
        """Load what changed in the store.

        If the store does not answer in time, nothing changes and :attr:`store_error` is set.

        Args:
            now: read it even if it was read a moment ago.
        """
        interval = GIT_REFRESH_INTERVAL if self._address.startswith(GIT_PREFIX) else 0.0
        if self.store_error:
            interval = RETRY_INTERVAL
        age = time.monotonic() - self._last_refresh
        if not now and self._last_refresh and age < interval:
            return
        async with self._mutex:
            try:
                async with asyncio.timeout(STORE_TIMEOUT):
                    await self._refresh_if_changed()
                self.store_error = ""
            except (StoreUnreachable, TimeoutError) as error:
                self._warn_once(
                    f"using the team's skills as last seen: {error or 'the store is too slow'}"
                )
                self.store_error = str(error) or "the store does not answer"
                await self._load_last_fetched()
            self._last_refresh = time.monotonic()

    async def read(self) -> str:
        """Read the whole store now and return its tip. Raises ``StoreUnreachable``."""
        async with self._mutex:
            tip, entries, problems = await self.store.load()
            await self._apply(tip, entries, problems)
            self.store_error = ""
            self._last_refresh = time.monotonic()
        return tip

    async def files(self, version: Version) -> dict[str, bytes]:
        """The files of a version, verified against their signed hashes.

        Raises:
            StoreUnreachable: they are missing or differ from what was signed.
        """
        files = await self.store.files(version.name, version.number)
        if digests(files) != dict(version.proposal.files):
            raise StoreUnreachable(
                f"the files of {version.name} version {version.number} in the team's store differ "
                "from what was signed"
            )
        return files

    # Loading

    async def _refresh_if_changed(self) -> None:
        tip = await self.store.tip()
        if tip != self._tip or not await asyncio.to_thread(self._intact):
            await self._apply(*await self.store.load())

    def _intact(self) -> bool:
        return all(self._cache.holds(n, v.proposal.files) for n, v in self._loaded.items())

    async def _load_last_fetched(self) -> None:
        """Load what a git store fetched last, if nothing is loaded yet."""
        if self._tip is None and isinstance(self.store, GitStore):
            try:
                await self._apply(*await self.store.load_copy())
            except StoreUnreachable as error:
                self._warn_once(str(error))

    async def _apply(self, tip: str, entries: Sequence[TeamEntry], problems: Sequence[str]) -> None:
        state = self.state
        bad = {name for name in {entry.name for entry in entries} if names.name_error(name)}
        found = [*problems, *(f"{name[:80]!r} is not a skill name" for name in sorted(bad))]
        entries = [entry for entry in entries if entry.name not in bad]
        ledger = Ledger(entries, self._trust, await asyncio.to_thread(state.seen))
        loaded: dict[str, Version] = {}
        withheld: dict[str, str] = {}
        for name in ledger.names():
            found += [f"{name}: {sentence}" for sentence in ledger.refused(name)]
            reason = ledger.withheld(name)
            version = ledger.active(name)
            if version is not None and not reason:
                reason = await self._ensure_placed(version)
            if reason:
                withheld[name] = f"of the team: {reason}"
            elif version is not None:
                loaded[name] = version
        await asyncio.to_thread(state.record_seen, ledger.seen())
        self.ledger = ledger
        self._loaded = loaded
        self._withheld = withheld
        self.problems = tuple(found)
        self._tip = tip
        for sentence in (*found, *(f"{n}: {why}" for n, why in withheld.items())):
            self._warn_once(sentence)
        used = {self._cache.folder_of(n, v.proposal.files) for n, v in loaded.items()}
        await asyncio.to_thread(self._cache.clear, used)
        await self._hand_over_skills()

    async def _ensure_placed(self, version: Version) -> str:
        """Place an approved version on disk; return why it cannot be loaded, or an empty text."""
        name, hashes = version.name, version.proposal.files
        if await asyncio.to_thread(self._cache.holds, name, hashes):
            return ""
        try:
            files = await self.files(version)
            await asyncio.to_thread(self._cache.put, name, files)
        except (StoreUnreachable, safe_files.BadPath, OSError) as error:
            return str(error)
        if not await asyncio.to_thread(self._cache.holds, name, hashes):
            return "its files could not be written as they were signed"
        return ""

    async def _hand_over_skills(self) -> None:
        """Remove this home's own skills that equal a version the team decided on, so that later
        versions and revocations apply here too."""
        root = self._root
        for name in self.ledger.names():
            decided = self.ledger.decided_digests(name)
            active = self._loaded.get(name)
            if active is not None and self.state.keeps_draft(name, active.number):
                continue
            if not decided or not (root / name).is_dir() or (root / name).is_symlink():
                continue
            files = await asyncio.to_thread(snapshot, root / name)
            if combined_digest(digests(files)) not in decided:
                continue
            crash.point("team-before-hand-over")
            try:
                await self._hand_over(name, files)
                await asyncio.to_thread(self.state.set_base, name, self.ledger.head(name))
            except (OSError, ToolError) as error:
                self._warn_once(f"{name}: the copy in skills/ could not be removed: {error}")

    def _warn_once(self, sentence: str) -> None:
        if sentence not in self._warned:
            self._warned.add(sentence)
            self._host.log.warning("team skills: %s", sentence)


def entry_origins(entry: TeamEntry) -> tuple[Origin, ...]:
    """The origins of a version for another home: its author, and the origins of its text."""
    author = Origin("admin", f"{MEMBER_PREFIX}{entry.author}")
    kinds = {"person": "person", "outside": "outside"}
    others = [Origin(kinds.get(k, "outside"), s) for k, s in entry.origins if k in kinds]  # type: ignore[arg-type]
    return (author, *others)


def require_team(team: TeamSkills | None) -> TeamSkills:
    """Return the team. Raises ``HooklineError`` if none is configured."""
    if team is None:
        raise HooklineError(
            "no team is configured: set plugins.skills.team in config.yaml to `postgres` or "
            "`git+ssh://…`, and plugins.skills.trust to the reviewers' keys"
        )
    return team


async def open_signer(host: Host, name: str) -> Signer:
    """Return this home's member, even without a team. Raises ``InvalidKey``."""
    folder = host.storage.dir / "team"
    return await asyncio.to_thread(Signer.open, folder / "member.json", name)
