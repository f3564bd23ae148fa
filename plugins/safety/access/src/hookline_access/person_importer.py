"""Imports people whom another program let in (service ``Importer``), as proposals.

A proposal is a value in the plugin's storage and gives no access: an admin lets the person in by
name.
"""

from __future__ import annotations

from hookline_hookspecs import Host
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.importers import Item, Outcome, Receipt, State

from .config import EVERYBODY
from .people import People, Person, Role
from .texts import on_one_line

PROPOSAL_PREFIX = "proposed "
"""Prefix of the storage keys of proposals."""


class PersonImporter:
    """Stores proposals."""

    kinds = frozenset({"person"})

    def __init__(self, host: Host, people: People) -> None:
        self._host = host
        self._people = people

    async def look(self, item: Item) -> Outcome:
        """Return what :meth:`take` would do."""
        return await self._propose(item, again=False, write=False)

    async def take(self, item: Item, *, again: bool = False) -> Outcome:
        """Propose the person."""
        return await self._propose(item, again=again, write=True)

    async def _propose(self, item: Item, *, again: bool, write: bool) -> Outcome:
        name = str(item.data["person"])
        who = Person.parse(name)
        shown = on_one_line(name)
        if who is None or not who.can_be_known or EVERYBODY in (who.user_id, who.channel):
            return Outcome("blocked", "people", f"{shown} does not name one person")
        if who.channel == TERMINAL:
            return Outcome("skipped", "people", "the terminal always belongs to the operator")
        role = await self._people.role(who)
        if role is not Role.UNKNOWN:
            return Outcome("skipped", f"people: {shown}", f"already known here as {role}")
        target = f"people: {shown}, proposed"
        if (await self._host.storage.kv.get(PROPOSAL_PREFIX + str(who))) is not None:
            state: State = "migrated" if again else "skipped"
            reason = "" if again else "already proposed"
            return Outcome(state, target, reason, {"person": str(who)})
        if not write:
            return Outcome("planned", target)
        row = {"from": item.source, "at": self._host.now()}
        await self._host.storage.kv.set(PROPOSAL_PREFIX + str(who), row)
        return Outcome("migrated", target, receipt={"person": str(who)})

    async def give_back(self, kind: str, receipt: Receipt) -> Outcome:
        """Forget the proposal, unless its person was let in or blocked."""
        who = Person.parse(receipt["person"])
        assert who is not None
        await self._host.storage.kv.delete(PROPOSAL_PREFIX + str(who))
        target = f"people: {on_one_line(str(who))}"
        if (role := await self._people.role(who)) is not Role.UNKNOWN:
            return Outcome("migrated", target, f"they have become {role} since")
        return Outcome("planned", target)


async def forget_proposal(host: Host, who: Person) -> bool:
    """Drop the proposal of a person; False if there is none."""
    found = await host.storage.kv.get(PROPOSAL_PREFIX + str(who)) is not None
    await host.storage.kv.delete(PROPOSAL_PREFIX + str(who))
    return found


async def list_proposals(host: Host, people: People) -> list[tuple[Person, str, float]]:
    """The proposed people without a role: the person, the source, and when (Unix seconds)."""
    found = []
    for key in await host.storage.kv.keys(PROPOSAL_PREFIX):
        who, row = Person.parse(key.removeprefix(PROPOSAL_PREFIX)), await host.storage.kv.get(key)
        if who is not None and row and await people.role(who) is Role.UNKNOWN:
            found.append((who, str(row["from"]), float(row["at"])))
    return found
