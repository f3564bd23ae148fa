"""People whom another program let in (service ``Importer``): proposed here, never let in.

A proposal is a value of the plugin's storage. It opens nothing: an admin lets its person in by
name, as anybody else.
"""

from __future__ import annotations

from hookline_hookspecs import Host
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.importers import Item, Outcome, Receipt, State

from .config import EVERYBODY
from .people import People, Person, Role
from .wording import on_one_line

PREFIX = "proposed "
"""Of the keys under which proposals are kept."""


class PersonImporter:
    """Keeps proposals."""

    kinds = frozenset({"person"})

    def __init__(self, host: Host, people: People) -> None:
        self._host = host
        self._people = people

    async def look(self, item: Item) -> Outcome:
        """What :meth:`take` would do."""
        return await self._done(item, again=False, write=False)

    async def take(self, item: Item, *, again: bool = False) -> Outcome:
        """Propose the person."""
        return await self._done(item, again=again, write=True)

    async def _done(self, item: Item, *, again: bool, write: bool) -> Outcome:
        name = str(item.data["person"])
        who = Person.parse(name)
        shown = on_one_line(name)
        if who is None or not who.can_be_known or EVERYBODY in (who.user_id, who.channel):
            return Outcome("blocked", "people", f"{shown} is nobody in particular")
        if who.channel == TERMINAL:
            return Outcome("skipped", "people", "the terminal is the operator's")
        role = await self._people.role(who)
        if role is not Role.UNKNOWN:
            return Outcome("skipped", f"people: {shown}", f"known here already, as {role}")
        target = f"people: {shown}, proposed"
        if (await self._host.storage.kv.get(PREFIX + str(who))) is not None:
            state: State = "migrated" if again else "skipped"
            told = "" if again else "proposed already"
            return Outcome(state, target, told, {"person": str(who)})
        if not write:
            return Outcome("planned", target)
        row = {"from": item.source, "at": self._host.now()}
        await self._host.storage.kv.set(PREFIX + str(who), row)
        return Outcome("migrated", target, receipt={"person": str(who)})

    async def give_back(self, kind: str, receipt: Receipt) -> Outcome:
        """Forget the proposal, unless its person was let in or blocked."""
        who = Person.parse(receipt["person"])
        assert who is not None
        await self._host.storage.kv.delete(PREFIX + str(who))
        target = f"people: {on_one_line(str(who))}"
        if (role := await self._people.role(who)) is not Role.UNKNOWN:
            return Outcome("migrated", target, f"you made them {role} since")
        return Outcome("planned", target)


async def forget(host: Host, who: Person) -> bool:
    """Drop the proposal of a person; False if there is none."""
    found = await host.storage.kv.get(PREFIX + str(who)) is not None
    await host.storage.kv.delete(PREFIX + str(who))
    return found


async def proposed(host: Host, people: People) -> list[tuple[Person, str, float]]:
    """Everybody who is proposed and not known: the person, where from, and when in Unix seconds."""
    found = []
    for key in await host.storage.kv.keys(PREFIX):
        who, row = Person.parse(key.removeprefix(PREFIX)), await host.storage.kv.get(key)
        if who is not None and row and await people.role(who) is Role.UNKNOWN:
            found.append((who, str(row["from"]), float(row["at"])))
    return found
